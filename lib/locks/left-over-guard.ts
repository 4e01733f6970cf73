// Guards whose owner ended before it removed them. Several processes may find the same one; if two removed it, the second could remove the guard
// that a third had taken in between.

import fs = require('node:fs/promises')
import crypto = require('node:crypto')
import { EXACT, type LockFile, readLockFile, isSameInode, isSameFile } from './lock-file.js'
import { guardPathOf, temporaryPathOf } from './path.js'
import { hasPid, isDead, isOlderThan } from './staleness.js'
import { hasCode, isAbsence } from '../system-error.js'
import { look } from './system-lock.js'
import { linkTo, refusesLinks, removeQuietly } from './temporary-file.js'
import { isOfThisThread } from './thread.js'

const { createHash } = crypto

/** An upper bound for the duration of an operation under a guard, in milliseconds. */
const MAX_AGE_MS = 10 * 60 * 1000

/** The age of a mark, in nanoseconds, from which the process that created it must have ended. */
const MARK_AGE_NS = 5n * 60n * 1_000_000_000n

/** How long an inode that is both lock and guard must have been unchanged for the guard to be left over, in nanoseconds. */
const AT_REST_NS = 250_000_000n

/**
 * `'gone'`: there is no guard (any more). `'kept'`: it is not left over or cannot be removed. `'marked'`: another process has begun to remove it.
 */
type Outcome = 'gone' | 'kept' | 'marked'

/** Removes the guard of a lock if it is left over. `now` is the time of the file system in nanoseconds. Never rejects. */
export async function removeLeftOverGuard(lockPath: string, now: bigint): Promise<Outcome> {
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

/** Whether {@link removeLeftOverGuard} would remove the guard of a lock. */
export async function isLeftOverGuard(lockPath: string, now: bigint): Promise<boolean> {
  const guard = await readLockFile(guardPathOf(lockPath))
  return guard !== null && guard.bytes !== null && (await isLeftOver(guard, lockPath, now))
}

async function isLeftOver(guard: LockFile, lockPath: string, now: bigint): Promise<boolean> {
  // Earlier versions link the lock itself to the guard's name.
  if (await hasInodeOf(guard, lockPath)) return now - guard.changedNs >= AT_REST_NS
  if (isOfThisThread(guard)) return false
  const found = await look(guardPathOf(lockPath), guard)
  if (found !== 'unknown') return found === 'free'
  return (hasPid(guard) && isDead(guard.record.pid)) || isOlderThan(guard, MAX_AGE_MS)
}

async function hasInodeOf(guard: LockFile, lockPath: string): Promise<boolean> {
  try {
    return isSameInode(guard, await fs.lstat(lockPath, EXACT))
  } catch {
    return false
  }
}

/**
 * Only one process can link the guard to its mark; the others leave the guard alone. The mark is removed last, so that this holds until the guard
 * is gone.
 */
async function removeMarked(guard: LockFile, guardPath: string, markPath: string, now: bigint): Promise<Outcome> {
  // Meanwhile another process may have removed the guard, and a third taken it, with the same inode if that is the lock's.
  if (!(await isAtRest(guardPath, guard))) return 'kept'
  const marking = await mark(guardPath, markPath)
  if (marking === 'taken') {
    if (now - guard.changedNs >= MARK_AGE_NS) await removeOldMark(guard, markPath, now)
    return 'marked'
  }
  try {
    const marked = await readLockFile(marking === 'linked' ? markPath : guardPath)
    if (marked === null || !isSameFile(marked, guard)) return 'kept'
    await fs.unlink(guardPath)
    return 'gone'
  } finally {
    await removeQuietly(markPath)
  }
}

/** Creates the mark. On a file system without links it is a file of its own. */
async function mark(guardPath: string, markPath: string): Promise<'linked' | 'created' | 'taken'> {
  try {
    return (await linkTo(guardPath, markPath)) ? 'linked' : 'taken'
  } catch (error) {
    if (!refusesLinks(error)) throw error
    return (await createEmpty(markPath)) ? 'created' : 'taken'
  }
}

async function createEmpty(filePath: string): Promise<boolean> {
  try {
    await (await fs.open(filePath, 'wx')).close()
    return true
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false
    throw error
  }
}

/** Linking a mark changes the guard's inode, so such a mark is not younger than the inode's last change. */
async function removeOldMark(guard: LockFile, markPath: string, now: bigint): Promise<void> {
  const { dev, ino, ctimeNs } = await fs.lstat(markPath, EXACT)
  const isOld = isSameInode(guard, { dev, ino }) ? ctimeNs === guard.changedNs : now - ctimeNs >= MARK_AGE_NS
  if (isOld) await removeQuietly(markPath)
}

/** Whether a path still leads to the inode of a file that was read, unchanged since. */
async function isAtRest(filePath: string, file: LockFile): Promise<boolean> {
  const { dev, ino, ctimeNs } = await fs.lstat(filePath, EXACT)
  return isSameInode(file, { dev, ino }) && ctimeNs === file.changedNs
}

/** A UUID derived from the content of a guard, and thus the same in all processes that find that guard. */
function uuidOf(bytes: Buffer): string {
  const hex = createHash('sha256').update(bytes).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`
}
