'use strict'

// Guards whose owner ended before it removed them. Several processes may find the same one; if two removed it, the second could remove the guard
// that a third had taken in between.

const fs = require('node:fs/promises')
const { createHash } = require('node:crypto')
const { EXACT, readLockFile, isSameInode, isSameFile } = require('./lock-file.js')
const { guardPathOf, temporaryPathOf } = require('./path.js')
const { hasPid, isDead, isOlderThan } = require('./staleness.js')
const { isAbsence } = require('./system-error.js')
const { linkTo, removeQuietly } = require('./temporary-file.js')
const { isOfThisThread } = require('./thread.js')

/** No operation under a guard takes longer than that. */
const LONGEST_MS = 10 * 60 * 1000

/** The process that made a mark that old has ended. */
const MARK_AGE_NS = 5n * 60n * 1_000_000_000n

/** For so long nothing happens to the inode of a lock that is its own guard, unless the guard's owner has ended. */
const AT_REST_NS = 250_000_000n

/**
 * Removes the guard of a lock if it is left over. `now` is the time of the file system in nanoseconds.
 *
 * Resolves to `'gone'` if there is no guard now, `'kept'` if it is not left over or cannot be removed, and `'marked'` if another process has
 * begun to remove it. Never rejects.
 */
async function removeLeftOverGuard(lockPath, now) {
  const guardPath = guardPathOf(lockPath)
  const guard = await readLockFile(guardPath)
  if (guard === null) return 'gone'
  if (guard.bytes === null || !(await isLeftOver(guard, lockPath, now))) return 'kept'
  try {
    return await removeMarked(guard, guardPath, temporaryPathOf(lockPath, uuidOf(guard.bytes)), now)
  } catch (error) {
    return isAbsence(error) ? 'gone' : 'kept'
  }
}

async function isLeftOver(guard, lockPath, now) {
  // Programs of earlier versions link the lock itself to the guard's name.
  if (await hasInodeOf(guard, lockPath)) return now - guard.changedNs >= AT_REST_NS
  if (isOfThisThread(guard)) return false
  return (hasPid(guard) && isDead(guard.record.pid)) || isOlderThan(guard, LONGEST_MS)
}

async function hasInodeOf(guard, lockPath) {
  try {
    return isSameInode(guard, await fs.lstat(lockPath, EXACT))
  } catch {
    return false
  }
}

/** One process can link the guard to its mark; the others leave it alone. The mark is removed last, so that it stays so until the guard is gone. */
async function removeMarked(guard, guardPath, markPath, now) {
  // Another process may have removed it since, and a third taken it: under the same inode if that is the lock's.
  if (!(await isAtRest(guardPath, guard))) return 'kept'
  if (!(await linkTo(guardPath, markPath))) {
    if (now - guard.changedNs >= MARK_AGE_NS) await removeOldMark(guard, markPath)
    return 'marked'
  }
  try {
    const marked = await readLockFile(markPath)
    if (marked === null || !isSameFile(marked, guard)) return 'kept'
    await fs.unlink(guardPath)
    return 'gone'
  } finally {
    await removeQuietly(markPath)
  }
}

/** A mark is a change of the guard's inode, so it is not younger than the last one. */
async function removeOldMark(guard, markPath) {
  if (await isAtRest(markPath, guard)) await removeQuietly(markPath)
}

/** Whether a path is still the inode of a file that was read, and nothing has happened to it since. */
async function isAtRest(filePath, file) {
  const { dev, ino, ctimeNs } = await fs.lstat(filePath, EXACT)
  return isSameInode(file, { dev, ino }) && ctimeNs === file.changedNs
}

/** The same for all processes that find the same guard. */
function uuidOf(bytes) {
  const hex = createHash('sha256').update(bytes).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`
}

module.exports = { removeLeftOverGuard }
