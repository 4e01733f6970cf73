// THIRD-PARTY-NOTICES of a platform package: a list of what is linked into its addon, then each licence once, with those it is for.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { ROOT } from '../platforms/commands.mjs';
import { idOf, licencesOfC } from './linked.mjs';

export const NOTICES = 'THIRD-PARTY-NOTICES';
const RULE = '-'.repeat(80);

export const noticesPath = ({ name }) => join(ROOT, 'npm', name, NOTICES);

/** @param {{ title: string, text: string }[]} notices */
export function noticesText({ name }, notices) {
  const titles = [...new Set(notices.map(({ title }) => title))];
  const head = [`session-tape.${name}.node contains, besides session-tape itself:`, '', ...titles.map((title) => `- ${title}`)];
  const licences = [...titlesByText(notices)].map(([text, users]) => [RULE, `The licence of ${users.join(', ')}:`, '', text].join('\n'));
  return `${[head.join('\n'), ...licences].join('\n\n')}\n`;
}

/** The same licence may come with different ends of lines, and with white space at them. */
function titlesByText(notices) {
  const users = new Map();
  for (const { title, text } of notices) {
    const normal = text.replace(/[^\S\n]+$/gm, '');
    users.set(normal, [...(users.get(normal) ?? []), title]);
  }
  return users;
}

/**
 * What is linked and not in the file.
 * @param {{ name: string }} target
 * @param {{ name: string, version: string, directory: string }[]} crates of the target
 * @returns {string[]}
 */
export function missingNotices(target, crates) {
  const path = noticesPath(target);
  if (!existsSync(path)) return [`npm/${target.name}/${NOTICES}`];
  const text = readFileSync(path, 'utf8');
  const titles = crates.flatMap((crate) => [idOf(crate), ...licencesOfC(crate).map(() => `the C code in ${idOf(crate)}`)]);
  return titles.filter((title) => !isListed(title, text));
}

/** It has to be in the list and with a licence. */
const isListed = (title, text) =>
  text.includes(`\n- ${title}\n`) && text.split('\n').some((line) => line.startsWith('The licence of ') && line.slice(15, -1).split(', ').includes(title));
