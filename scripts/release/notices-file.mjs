// THIRD-PARTY-NOTICES of a package: a list of what is linked into its addon, or bundled with it, then each licence once, with those it is for.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { ROOT } from '../platforms/commands.mjs';
import { idOf, licencesOfC, titleOfC } from './linked.mjs';

export const NOTICES = 'THIRD-PARTY-NOTICES';
const RULE = '-'.repeat(80);
const ITEM = '- ';
const LICENCE = 'The licence of ';

export const noticesPath = ({ name }) => join(ROOT, 'npm', name, NOTICES);

/**
 * @param {string} file what contains it all
 * @param {{ title: string, text: string }[]} notices
 */
export function noticesText(file, notices) {
  const titles = [...new Set(notices.map(({ title }) => title))];
  const head = [`${file} contains, besides session-tape itself:`, '', ...titles.map((title) => ITEM + title)];
  const licences = [...titlesByText(notices)].map(([text, users]) => [RULE, `${LICENCE}${users.join(', ')}:`, '', text].join('\n'));
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
 * What is linked into the addon and not in the file.
 * @param {{ name: string }} target
 * @param {{ name: string, version: string, directory: string }[]} crates of the target
 * @returns {string[]}
 */
export function missingNotices(target, crates) {
  const path = noticesPath(target);
  return existsSync(path) ? missingIn(readFileSync(path, 'utf8'), crates) : [`all that is linked: there is no ${NOTICES}`];
}

/** What is not in the list of such a file, or in it without a licence. */
export function missingIn(text, crates) {
  const lines = text.split('\n');
  const listed = new Set(lines.filter((line) => line.startsWith(ITEM)).map((line) => line.slice(ITEM.length)));
  const licensed = new Set(lines.filter((line) => line.startsWith(LICENCE)).flatMap((line) => line.slice(LICENCE.length, -1).split(', ')));
  return crates.flatMap(titlesOf).filter((title) => !listed.has(title) || !licensed.has(title));
}

const titlesOf = (crate) => [idOf(crate), ...licencesOfC(crate).map(() => titleOfC(crate))];
