'use strict'

// A lock or a guard before it is published: a file with its whole content, which is then linked to the name that counts. No reader ever sees a
// half of it, and of several programs the file system lets one link.

const fs = require('node:fs/promises')
const { randomUUID } = require('node:crypto')
const { EXACT } = require('./lock-file.js')
const { temporaryPathOf } = require('./path.js')
const { elapsed } = require('./waiting.js')

const NANOSECONDS = 1e6

/**
 * Writes and syncs a temporary file of a lock. `now()` is the time of its file system in nanoseconds, in which changes of inodes are counted:
 * the clock of the process may be another. Rejects with the system's error, and leaves no file then.
 */
async function writeTemporary(lockPath, content) {
  const filePath = temporaryPathOf(lockPath, randomUUID())
  const handle = await fs.open(filePath, 'wx')
  try {
    const { dev, ino, ctimeNs } = await writeTo(handle, content)
    const start = elapsed()
    return { filePath, dev, ino, now: () => ctimeNs + BigInt(Math.round((elapsed() - start) * NANOSECONDS)) }
  } catch (error) {
    await removeQuietly(filePath)
    throw error
  }
}

async function writeTo(handle, content) {
  try {
    await handle.writeFile(content)
    await handle.sync()
    return await handle.stat(EXACT)
  } finally {
    await handle.close()
  }
}

/** Links a file to a name. Resolves to `false` if there is something of that name. */
async function linkTo(filePath, name) {
  try {
    await fs.link(filePath, name)
    return true
  } catch (error) {
    if (error?.code === 'EEXIST') return false
    throw error
  }
}

/** Removes a file if it can be removed. Resolves to whether it was. */
function removeQuietly(filePath) {
  return fs.unlink(filePath).then(
    () => true,
    () => false,
  )
}

module.exports = { writeTemporary, linkTo, removeQuietly }
