import fs = require('node:fs/promises')
import path = require('node:path')
import { isSessionName, sessionOf } from './archive-name.js'

/** The end of the names of receipts, which an import puts next to sessions. */
const RECEIPT = '.receipt.jsonl'

/**
 * The session files in a directory, sorted: those with the extension of session files, and the archives of others. Rejects with Node's own error.
 */
export async function sessionFilesIn(directory: string): Promise<string[]> {
  return pathsIn(directory, (await fs.readdir(directory)).filter(isSessionFileName))
}

/** Whether a listing reads a file with this name. */
export function isSessionFileName(name: string): boolean {
  return isSessionName(name) && !name.endsWith(RECEIPT)
}

/** The paths of session files with these names, sorted, without the archives of sessions whose files are there too. */
export function pathsIn(directory: string, names: string[]): string[] {
  // The directory is normalised once rather than with `path.join` for each of thousands of names.
  const before = path.normalize(`${directory}${path.sep}x`).slice(0, -1)
  const sorted = names.sort()
  const isArchive = (name: string) => sessionOf(name) !== null
  const all = sorted.some(isArchive) ? new Set(sorted) : null
  const counts = (name: string) => all === null || !isArchive(name) || !all.has(sessionOf(name)!)
  return sorted.filter(counts).map((name) => before + name)
}
