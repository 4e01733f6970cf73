'use strict'

// The content of locks and guards, and how they are read. Other versions write such files too, so their content is not trusted.

const fs = require('node:fs/promises')
const { closeSync, constants, fstatSync, openSync, readSync } = require('node:fs')
const { parse, plainJson } = require('../builtins.js')
const { HELD } = require('./system-lock.js')
const { isAbsence } = require('../system-error.js')

/** The size in bytes above which a file is not read. A lock is far smaller. */
const LARGEST = 65_536

/** Without O_NONBLOCK, a pipe in the lock's place would block a thread until something opens its other end. */
const READ = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)
const WRITE = constants.O_RDWR | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

/** Inode numbers can exceed the range that a number represents exactly. */
const EXACT = Object.freeze({ __proto__: null, bigint: true })

const NANOSECONDS = 1_000_000n

/** The content of a lock or a guard of this process, as of `now`. `isHeld`: the system holds a lock on the file too. */
function contentOf(sessionId, ownerToken, now, isHeld) {
  const owner = { pid: process.pid, timestamp: new Date(now).toISOString(), sessionId, ownerToken }
  return Buffer.from(plainJson(isHeld ? { ...owner, held: HELD } : owner))
}

/**
 * Describes the file at a path. Resolves to `null` if there is none. `bytes` is `null` if it is not a regular file, is too large or cannot be read;
 * `record` is `null` unless the content is a JSON object. Never rejects.
 */
async function readLockFile(filePath) {
  let handle
  try {
    handle = await fs.open(filePath, READ)
    return await readOpened(handle)
  } catch {
    return statOnly(filePath)
  } finally {
    await handle?.close().catch(() => {})
  }
}

async function readOpened(handle) {
  const stat = await handle.stat(EXACT)
  const isReadable = stat.isFile() && stat.size <= LARGEST
  return found(stat, isReadable ? await bytesOf(handle, Number(stat.size)) : null)
}

async function bytesOf(handle, size) {
  const buffer = Buffer.alloc(size)
  if (size === 0) return buffer
  const { bytesRead } = await handle.read(buffer, 0, size, 0)
  return buffer.subarray(0, bytesRead)
}

/** The same as `readLockFile`, on this thread, except that a file that cannot be read gives `undefined`. */
function readLockFileNow(filePath) {
  let fd
  try {
    fd = openSync(filePath, READ)
    const stat = fstatSync(fd, EXACT)
    const buffer = Buffer.alloc(stat.isFile() && stat.size <= LARGEST ? Number(stat.size) : 0)
    return found(stat, buffer.subarray(0, readSync(fd, buffer, 0, buffer.length, 0)))
  } catch (error) {
    return isAbsence(error) ? null : undefined
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

/** Describes a file that cannot be opened. */
async function statOnly(filePath) {
  try {
    return found(await fs.lstat(filePath, EXACT), null)
  } catch (error) {
    return isAbsence(error) ? null : { __proto__: null, ...UNKNOWN }
  }
}

/** The description if it cannot be determined whether there is a file. */
const UNKNOWN = { isFile: false, dev: null, ino: null, changedNs: 0n, modified: NaN, bytes: null, isJson: false, record: null }

function found(stat, bytes) {
  return {
    __proto__: null,
    isFile: stat.isFile(),
    dev: stat.dev,
    ino: stat.ino,
    /** Last change of the inode, links to it included. */
    changedNs: stat.ctimeNs,
    /** Last modification of the content, in milliseconds. */
    modified: Number(stat.mtimeNs / NANOSECONDS),
    bytes,
    ...parsed(bytes),
  }
}

function parsed(bytes) {
  try {
    const value = bytes === null ? undefined : parse(bytes.toString())
    const isRecord = typeof value === 'object' && value !== null
    return { isJson: value !== undefined, record: isRecord ? Object.setPrototypeOf(value, null) : null }
  } catch {
    return { isJson: false, record: null }
  }
}

function isSameInode(a, b) {
  return a.dev === b.dev && a.ino === b.ino
}

/** Whether two readings of a path found the same file with the same content. */
function isSameFile(a, b) {
  if (!isSameInode(a, b)) return false
  return a.bytes === null || b.bytes === null ? a.bytes === b.bytes && a.changedNs === b.changedNs : a.bytes.equals(b.bytes)
}

module.exports = { EXACT, WRITE, contentOf, readLockFile, readLockFileNow, readOpened, isSameInode, isSameFile }
