'use strict'

// A lock or a guard before it is published: a file with its whole content, which is then linked to the name that counts. No reader ever sees a
// half of it, and of several programs the file system lets one link.

const fs = require('node:fs/promises')
const { fsync } = require('node:fs')
const { randomUUID } = require('node:crypto')
const { EXACT } = require('./lock-file.js')
const { temporaryPathOf } = require('./path.js')
const { hasCode } = require('./system-error.js')
const { elapsed } = require('./waiting.js')

const NANOSECONDS = 1e6

/**
 * Not the method of the handle: the one that Yarn's Plug'n'Play puts in its place throws. And not by `promisify`, which collects arguments in an
 * array, where setters on `Array.prototype` get them.
 */
const sync = ({ fd }) => new Promise((resolve, reject) => fsync(fd, (error) => (error ? reject(error) : resolve())))

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
    await writeAll(handle, content)
    await sync(handle)
    return await handle.stat(EXACT)
  } finally {
    await handle.close()
  }
}

/** The system may take less than the whole at a time. */
async function writeAll(handle, content) {
  for (let written = 0; written < content.length; ) {
    const { bytesWritten } = await handle.write(content, written, content.length - written, written)
    written += bytesWritten
  }
}

/** Links a file to a name. Resolves to `false` if there is something of that name. */
async function linkTo(filePath, name) {
  try {
    await fs.link(filePath, name)
    return true
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false
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
