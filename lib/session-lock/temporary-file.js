'use strict'

// The temporary file of a lock or a guard. It gets its complete content before it is linked to its final name, so that no reader ever sees partial
// content, and only one of several programs succeeds.

const fs = require('node:fs/promises')
const { fsync } = require('node:fs')
const { randomUUID } = require('node:crypto')
const { EXACT } = require('./lock-file.js')
const { temporaryPathOf } = require('./path.js')
const { hasCode } = require('./system-error.js')
const { elapsed } = require('./waiting.js')

const NANOSECONDS = 1e6

/**
 * Syncs a file. Does not use the handle's method, because Yarn's Plug'n'Play replaces it by one that throws, nor `promisify`, because that collects
 * arguments in an array, whose elements setters on `Array.prototype` would receive.
 */
const sync = ({ fd }) => new Promise((resolve, reject) => fsync(fd, (error) => (error ? reject(error) : resolve())))

/**
 * Writes and syncs a temporary file of a lock. `now()` returns the time of its file system in nanoseconds, in which changes of inodes are recorded,
 * and from which the clock of the process may differ. If writing fails, rejects with the system's error and leaves no file.
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

/** Writes in a loop, because the system may write less than requested. */
async function writeAll(handle, content) {
  for (let written = 0; written < content.length; ) {
    const { bytesWritten } = await handle.write(content, written, content.length - written, written)
    written += bytesWritten
  }
}

/** Links a file to a name. Resolves to `false` if the name is taken. */
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
