// The handles of locks that callers have, and the locks behind them.

import type { HeldLock } from './held-lock.js'
// Only for links in the comments.
import type { SessionRecordingServiceConfig } from '../session/recorder-config.js'
import type { acquireSessionLock, sessionLockPath } from './session-lock.js'

/**
 * A lock on a session, whether or not the session has a file yet: the file `<chatsDir>/<sessionId>.lock`, which contains
 * `{ pid, timestamp, sessionId, ownerToken, held }`. It excludes every program that uses this protocol. Renewed hourly while it is held.
 *
 * The operating system holds the file too (`held` is `"flock"`), where its file system has such locks: the lock ends with its process, whatever becomes
 * of the pid, and counts for as long as that lives, in whatever pid namespace.
 *
 * Its functions can be called detached from it. It does not keep the process running. A process that ends without releasing a lock leaves the file;
 * the next {@link acquireSessionLock} replaces it.
 *
 * Not related to `exclusive` of {@link SessionRecordingServiceConfig}, which locks a file rather than a session id.
 */
export interface SessionLock {
  /** The path of the lock file, as {@link sessionLockPath} gives it. */
  readonly lockPath: string
  /**
   * Reads the lock file and checks that it is still this lock.
   *
   * @returns `false` also if the file cannot be read. Never rejects.
   */
  ownsLock(): Promise<boolean>
  /**
   * Removes the lock file if it is still this lock. Further calls have no effect.
   *
   * Waits up to three seconds if another process is examining the lock at that moment. If the file cannot be removed by then, it is removed later,
   * as soon as that is possible while this process runs.
   *
   * @returns Never rejects.
   */
  release(): Promise<void>
}

const locksOf = new WeakMap<SessionLock['release'], HeldLock>()

/** The handle of a lock. Its functions can be called detached from it, and a copy of it is as good. @internal */
export function handleOf(lockPath: string, held: HeldLock): SessionLock {
  const release = () => held.release()
  locksOf.set(release, held)
  return { lockPath, ownsLock: () => held.ownsLock(), release }
}

/** A handle of the same lock that first calls `close` when it is released. @internal */
export function closingHandleOf({ lockPath, ownsLock, release }: SessionLock, close: () => void): SessionLock {
  const closing = () => {
    close()
    return release()
  }
  const held = locksOf.get(release)
  if (held !== undefined) locksOf.set(closing, held)
  return { lockPath, ownsLock, release: closing }
}

/** The lock behind a handle, or `undefined` if a caller has made the handle. @internal */
export function heldLockOf({ release }: SessionLock): HeldLock | undefined {
  return locksOf.get(release)
}
