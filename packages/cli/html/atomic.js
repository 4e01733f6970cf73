'use strict'

const { open, rename, rm, stat, writeFile } = require('node:fs/promises')
const { randomBytes } = require('node:crypto')
const path = require('node:path')
const { likeBefore } = require('../like-before.js')

/**
 * Writes a file atomically: readers see either the old or the complete new content.
 *
 * @type {(outPath: string, bytes: Uint8Array, signal?: AbortSignal) => Promise<void>}
 */
async function writeAtomically(outPath, bytes, signal) {
  const found = await stat(outPath).catch((error) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  // A pipe or a device, such as /dev/stdout, is written to directly: it must not be replaced by a file.
  if (found && !found.isFile() && !found.isDirectory()) return writeFile(outPath, bytes, { signal })
  const beside = path.join(path.dirname(outPath), `.${path.basename(outPath)}.${randomBytes(6).toString('hex')}.tmp`)
  try {
    await writeSynced(beside, bytes, signal)
    signal?.throwIfAborted()
    // A page can be made again: it is written also where the system keeps the owner to itself.
    if (found) await likeBefore(beside, found).catch(() => {})
    await rename(beside, outPath)
  } catch (error) {
    await rm(beside, { force: true })
    throw signal?.aborted ? signal.reason : error
  }
}

/** @type {(file: string, bytes: Uint8Array, signal: AbortSignal | undefined) => Promise<void>} */
async function writeSynced(file, bytes, signal) {
  const handle = await open(file, 'wx')
  try {
    await handle.writeFile(bytes, { signal })
    // Without the sync, a power cut after the rename could leave an empty file in place of the old one.
    await handle.sync()
  } finally {
    await handle.close()
  }
}

module.exports = { writeAtomically }
