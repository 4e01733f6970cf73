import fs = require('node:fs/promises')
import path = require('node:path')

const EXTENSION = '.jsonl'

/** The end of the names of receipts, which an import puts next to sessions. */
const RECEIPT = '.receipt.jsonl'

/** The paths in a directory that have the extension of session files, sorted. Rejects with Node's own error. */
export async function sessionFilesIn(directory: string): Promise<string[]> {
  const names = (await fs.readdir(directory)).filter((name) => name.endsWith(EXTENSION) && !name.endsWith(RECEIPT))
  // The directory is normalised once rather than with `path.join` for each of thousands of names.
  const before = path.normalize(`${directory}${path.sep}${EXTENSION}`).slice(0, -EXTENSION.length)
  return names.sort().map((name) => before + name)
}
