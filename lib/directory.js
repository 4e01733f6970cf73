'use strict'

const fs = require('node:fs/promises')
const path = require('node:path')

const EXTENSION = '.jsonl'

/** The paths of what is named as a session file in a directory, in the order of the names. Rejects with Node's own error. */
async function sessionFilesIn(directory) {
  const names = (await fs.readdir(directory)).filter((name) => name.endsWith(EXTENSION))
  // Normalised once, and not again for each of thousands of names. As `path.join` does it, without the array that it fills.
  const before = path.normalize(`${directory}${path.sep}${EXTENSION}`).slice(0, -EXTENSION.length)
  return names.sort().map((name) => before + name)
}

module.exports = { sessionFilesIn }
