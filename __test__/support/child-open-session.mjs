/**
 * Opens a session, spoils its file and reads items. The process must end by itself. Arguments: job, file.
 */
import { statSync, truncateSync, writeFileSync } from 'node:fs'
import { openSession } from '../../index.js'

const [job, filePath] = process.argv.slice(2)
const opened = await openSession(filePath)
const { session } = opened

const spoilers = {
  nothing() {},
  /** Overwrites every byte and keeps the size. */
  overwritten: () => writeFileSync(filePath, Buffer.alloc(statSync(filePath).size, 'x')),
  truncated: () => truncateSync(filePath, 1000),
}
spoilers[job]()

const codes = []
for (const range of [[], [0, 1], [-1]]) {
  try {
    codes.push((await session.items(...range)).length)
  } catch (error) {
    codes.push(error.code ?? String(error))
  }
}
console.log(JSON.stringify(codes))
