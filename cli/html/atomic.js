'use strict'

const { open, rename, rm, stat, writeFile } = require('node:fs/promises')
const { randomBytes } = require('node:crypto')
const path = require('node:path')

/** Writes a file atomically: a reader sees the old content or all of the new. */
async function writeAtomically(outPath, bytes, signal) {
  const found = await stat(outPath).catch((error) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  // A pipe or a device can't be replaced and must not be: /dev/stdout is to be written to.
  if (found && !found.isFile() && !found.isDirectory()) return writeFile(outPath, bytes, { signal })
  const beside = path.join(path.dirname(outPath), `.${path.basename(outPath)}.${randomBytes(6).toString('hex')}.tmp`)
  try {
    await writeSynced(beside, bytes, signal)
    signal?.throwIfAborted()
    await rename(beside, outPath)
  } catch (error) {
    await rm(beside, { force: true })
    throw signal?.aborted ? signal.reason : error
  }
}

async function writeSynced(file, bytes, signal) {
  const handle = await open(file, 'wx')
  try {
    await handle.writeFile(bytes, { signal })
    // Renamed first and written later, a power cut would leave an empty page in place of the old one.
    await handle.sync()
  } finally {
    await handle.close()
  }
}

module.exports = { writeAtomically }
