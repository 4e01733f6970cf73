// Finds the files of a search and their order.

import path = require('node:path')
import { native } from '../addon.js'
import type { End } from '../binding/batch.js'
import { HEADERS, resultOf } from '../binding/job.js'
import { parse } from '../builtins.js'
import { archiveOf } from '../session/archive-name.js'
import { readEntries } from '../session/list.js'
import { newestFirst } from '../session/order.js'
import type { SkippedSession } from '../session/summary.js'

/** A file to be searched. */
export interface SearchFile {
  filePath: string
  /** Whether the caller has named it, rather than its directory. */
  isNamed: boolean
  size: number
  /** When it was last written, in milliseconds. */
  modified: number
}

/** What the addon finds at a path (src/search.rs). */
type Found =
  | [size: number, modified: number, isStandIn: boolean]
  | { files: [name: string, size: number, modified: number][] }
  | string

/**
 * Finds the session files at these paths: first those that are named, in their order, then those of the directories, last modified first; of several that
 * were modified in the same millisecond in no order yet. A file is found once. Adds paths that can't be read to `unreadable`.
 */
export async function findFiles(where: string[], unreadable: SkippedSession[]): Promise<SearchFile[]> {
  if (where.length === 0) return []
  const found = resultOf<Found[]>(HEADERS, parse<End>(await native.findSessionFiles(where.join('\0'))))
  const named: SearchFile[] = []
  const listed: SearchFile[] = []
  const known = new Set<string>()
  // A single path finds no file twice, and ten thousand names would hold up the event loop.
  const mayRepeat = where.length > 1
  /** Adds a file, unless it is known. */
  const add = (files: SearchFile[], file: SearchFile, absolute: string): void => {
    if (mayRepeat && known.has(absolute)) return
    if (mayRepeat) known.add(absolute)
    files.push(file)
  }
  for (let index = 0; index < where.length; index++) {
    const given = where[index]!
    const one = found[index]!
    if (typeof one === 'string') unreadable.push({ filePath: given, reason: one })
    else if (Array.isArray(one)) {
      const absolute = path.resolve(given)
      add(
        named,
        { filePath: given, isNamed: true, size: one[0], modified: one[1] },
        one[2] ? archiveOf(absolute) : absolute,
      )
    }
  }
  for (let index = 0; index < where.length; index++) {
    const one = found[index]!
    if (typeof one === 'string' || Array.isArray(one)) continue
    // The directory is normalised once rather than with `path.join` for each of thousands of names.
    const before = path.normalize(`${where[index]!}${path.sep}x`).slice(0, -1)
    const absolute = path.resolve(where[index]!, 'x').slice(0, -1)
    for (let at = 0; at < one.files.length; at++) {
      const file = one.files[at]!
      add(
        listed,
        { filePath: before + file[0], isNamed: false, size: file[1], modified: file[2] },
        mayRepeat ? absolute + file[0] : '',
      )
    }
  }
  return [...named, ...listed.sort((a, b) => b.modified - a.modified)]
}

/** Puts files that were modified in the same millisecond into the order of `listSessions`; those without a session follow, sorted by their paths. */
export async function inOrder(files: SearchFile[]): Promise<SearchFile[]> {
  const tied = files.filter((file, index) => isTied(files[index - 1], file) || isTied(file, files[index + 1]))
  if (tied.length === 0) return files
  const entries = await readEntries(tied.map(({ filePath }) => filePath))
  const sessions = new Map(tied.map((file, index) => [file, entries[index]!.session]))
  return files.slice().sort((a, b) => {
    if (!isTied(a, b)) return a.isNamed || b.isNamed ? Number(b.isNamed) - Number(a.isNamed) : b.modified - a.modified
    const first = sessions.get(a)
    const second = sessions.get(b)
    if (first && second) return newestFirst({ ...first, lastModified: ANY_TIME }, { ...second, lastModified: ANY_TIME })
    return Number(first === undefined) - Number(second === undefined) || (a.filePath < b.filePath ? -1 : 1)
  })
}

/** The time of files that were listed with the same one, whatever it is now. */
const ANY_TIME = new Date(0)

/** The end of the first files, at least `count`, that are not tied with the one behind them. */
export function endOfFirst(files: SearchFile[], count: number): number {
  let end = Math.min(count, files.length)
  while (end < files.length && isTied(files[end - 1], files[end])) end++
  return end
}

function isTied(one: SearchFile | undefined, other: SearchFile | undefined): boolean {
  return one !== undefined && other !== undefined && !one.isNamed && !other.isNamed && one.modified === other.modified
}
