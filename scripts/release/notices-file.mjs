// THIRD-PARTY-NOTICES of a package: a list of what is linked into its addon or bundled with it, then each licence once, with the items that it
// covers.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { ROOT } from '../platforms/commands.mjs'
import { idOf, licencesOfC, titleOfC } from './linked.mjs'

export const NOTICES = 'THIRD-PARTY-NOTICES'
const RULE = '-'.repeat(80)
const ITEM = '- '
const LICENCE = 'The licence of '

export const noticesPath = ({ name }) => join(ROOT, 'npm', name, NOTICES)

/**
 * @param {string} file the file or folder that contains the items
 * @param {{ title: string, text: string }[]} notices
 */
export function noticesText(file, notices) {
  const titles = [...new Set(notices.map(({ title }) => title))]
  const head = [`${file} contains, besides session-tape itself:`, '', ...titles.map((title) => ITEM + title)]
  const licences = [...titlesByText(notices)].map(([text, users]) =>
    [RULE, `${LICENCE}${users.join(', ')}:`, '', text].join('\n'),
  )
  return `${[head.join('\n'), ...licences].join('\n\n')}\n`
}

/** Groups titles by licence text, ignoring white space at the ends of lines. */
function titlesByText(notices) {
  const users = new Map()
  for (const { title, text } of notices) {
    const normal = text.replace(/[^\S\n]+$/gm, '')
    users.set(normal, [...(users.get(normal) ?? []), title])
  }
  return users
}

/**
 * What is linked into the addon but not covered by its file.
 * @param {{ name: string }} target
 * @param {{ name: string, version: string, directory: string }[]} crates of the target
 * @returns {string[]}
 */
export function missingNotices(target, crates) {
  const path = noticesPath(target)
  return existsSync(path)
    ? missingIn(readFileSync(path, 'utf8'), crates)
    : [`all that is linked: there is no ${NOTICES}`]
}

/** What is missing from the list of such a file, or has no licence in it. */
export function missingIn(text, crates) {
  const lines = text.split('\n')
  const listed = new Set(lines.filter((line) => line.startsWith(ITEM)).map((line) => line.slice(ITEM.length)))
  const licensed = new Set(
    lines.filter((line) => line.startsWith(LICENCE)).flatMap((line) => line.slice(LICENCE.length, -1).split(', ')),
  )
  return crates.flatMap(titlesOf).filter((title) => !listed.has(title) || !licensed.has(title))
}

const titlesOf = (crate) => [idOf(crate), ...licencesOfC(crate).map(() => titleOfC(crate))]
