import path = require('node:path')
import { NO_OPTIONS, check, checkNoOptions, checked } from '../arguments.js'
import { acquire } from './acquire.js'
import { cleanUp } from './clean-up.js'
import { type SessionLock, handleOf, heldLockOf } from './handle.js'
import { readLockFile } from './lock-file.js'
import { lockPathOf, lockPathOfFile } from './path.js'
import { removeIfStale } from './removal.js'
import { isStale } from './staleness.js'
// Only for links in the comments.
import type { SessionLockedError } from './locked-error.js'
import type { SessionRecordingService } from '../session/recorder.js'

/**
 * The path of a session's lock file.
 *
 * @param chatsDir - The directory of the session files; a separator at its end makes no difference.
 * @throws Error - `Unsafe session ID rejected: "…"` unless the id consists of 1 to 256 ASCII letters, digits, `-` and `_`.
 */
export function sessionLockPath(chatsDir: string, sessionId: string): string {
  checkPlace(chatsDir, sessionId)
  return lockPathOf(chatsDir, sessionId)
}

/**
 * The path of the lock that a session file's name denotes: of the id between `session-` and `.jsonl`, in the directory of the file. Reads nothing.
 *
 * The names that a {@link SessionRecordingService} gives contain a time and the beginning of the id, not the id: for such a file the lock is that of
 * {@link sessionLockPath} with the `sessionId` of its header.
 *
 * @throws Error - `Cannot extract session ID from path: …` unless the file's name is `session-….jsonl`; the error of {@link sessionLockPath} for an
 * unsafe id.
 */
export function sessionLockPathOf(filePath: string): string {
  check.filledString(filePath, 'filePath')
  return lockPathOfFile(filePath)
}

/**
 * Locks a session. The lock file appears with its complete content or not at all; the directory is created when needed. A stale lock is replaced:
 * its process no longer exists. For locks of other programs, and on file systems that lock no files, the pid decides, or a timestamp that is more
 * than 48 hours old.
 *
 * On a file system without hard links, a reader may find a new lock file empty for a moment; if the process is killed in that moment, the file counts
 * as a lock for 48 hours.
 *
 * @returns Rejects with a {@link SessionLockedError} if the session is locked, also by this process; with the error of {@link sessionLockPath} for
 * an unsafe id; otherwise with the system's error, such as `EACCES`, or `ENOTDIR` if `chatsDir` is a file.
 *
 * @example
 * ```ts
 * import { mkdtempSync } from 'node:fs';
 * import { acquireSessionLock, SessionLockedError } from 'session-tape';
 *
 * const chatsDir = mkdtempSync('chats-');
 * const lock = await acquireSessionLock(chatsDir, 'f3a91c22-demo');
 * try {
 *   await acquireSessionLock(chatsDir, 'f3a91c22-demo');
 * } catch (error) {
 *   if (!(error instanceof SessionLockedError)) throw error;
 *   console.log(error.message); // Session is in use by another process
 * }
 * await lock.release();
 * ```
 */
export function acquireSessionLock(chatsDir: string, sessionId: string): Promise<SessionLock> {
  checkPlace(chatsDir, sessionId)
  return acquired(chatsDir, sessionId)
}

/** Locks a session for a job of the addon. A worker that is terminated meanwhile releases it, when the job has cleaned up. @internal */
export async function lockForJob(chatsDir: string, sessionId: string): Promise<SessionLock> {
  const lock = await acquired(chatsDir, sessionId)
  heldLockOf(lock)?.endWithEnvironment()
  return lock
}

/** Resolves to the handle, whose functions can be called detached from it. */
async function acquired(chatsDir: string, sessionId: string): Promise<SessionLock> {
  const lockPath = lockPathOf(chatsDir, sessionId)
  return handleOf(lockPath, await acquire(path.resolve(lockPath), sessionId))
}

/**
 * Whether a running process holds the lock of a session. A lock file that cannot be read counts as held.
 *
 * @returns Rejects with the error of {@link sessionLockPath} for an unsafe id.
 */
export function isSessionLocked(chatsDir: string, sessionId: string): Promise<boolean> {
  checkPlace(chatsDir, sessionId)
  return isLocked(chatsDir, sessionId)
}

async function isLocked(chatsDir: string, sessionId: string): Promise<boolean> {
  const lockPath = lockPathOf(chatsDir, sessionId)
  const file = await readLockFile(lockPath)
  return file !== null && !(await isStale(lockPath, file, false))
}

/**
 * Whether the process that owns a lock file no longer exists. `false` if that cannot be determined, or if there is no such file.
 *
 * @param options - `pidReuse`: also consider a lock stale after 48 hours, even if a process with its pid exists; for a file that cannot be
 * parsed, 48 hours after its last modification. Default `false`. Makes no difference to a lock that the system holds too.
 * @returns Never rejects.
 */
export function isLockStale(
  lockPath: string,
  options: { pidReuse?: boolean | undefined } = NO_OPTIONS,
): Promise<boolean> {
  check.filledString(lockPath, 'lockPath')
  const { pidReuse } = checked<typeof options>(options, { pidReuse: 'boolean?' })
  return isFileStale(lockPath, pidReuse === true)
}

async function isFileStale(lockPath: string, pidReuse: boolean): Promise<boolean> {
  const file = await readLockFile(lockPath)
  return file !== null && (await isStale(lockPath, file, pidReuse))
}

/**
 * Removes the lock of a session if it is stale, as {@link isLockStale} determines with `pidReuse`.
 *
 * @returns Whether it was removed. Rejects with the error of {@link sessionLockPath} for an unsafe id.
 */
export function removeStaleLock(chatsDir: string, sessionId: string): Promise<boolean> {
  checkPlace(chatsDir, sessionId)
  checkNoOptions(arguments[2])
  return removeStale(chatsDir, sessionId)
}

async function removeStale(chatsDir: string, sessionId: string): Promise<boolean> {
  return removeIfStale(path.resolve(lockPathOf(chatsDir, sessionId)), sessionId)
}

/**
 * Removes the stale locks of a directory, the temporary files that interrupted processes left there, and the snapshots, receipts and lists of media next
 * to sessions that no longer exist. No other file is touched: the lock file of another program, such as `composer.lock`, has no number `pid` with a string `timestamp` or
 * `sessionId`.
 *
 * @returns The number of locks removed; 0 if the directory cannot be read. Never rejects.
 */
export function cleanUpLocks(chatsDir: string): Promise<number> {
  check.filledString(chatsDir, 'chatsDir')
  checkNoOptions(arguments[1])
  return cleaned(path.resolve(chatsDir))
}

async function cleaned(directory: string): Promise<number> {
  return (await cleanUp(directory)).locks.length
}

/** Does not check whether the id is safe: functions that return a promise reject for an unsafe id instead of throwing. */
function checkPlace(chatsDir: string, sessionId: string): void {
  check.filledString(chatsDir, 'chatsDir')
  check.string(sessionId, 'sessionId')
}
