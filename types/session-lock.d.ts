// Session locks, which keep a session to one process, whether or not the session has a file.

// Only for links in the comments.
import type { SessionRecordingService, SessionRecordingServiceConfig } from './session.js';

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
  readonly lockPath: string;
  /**
   * Reads the lock file and checks that it is still this lock.
   *
   * @returns `false` also if the file cannot be read. Never rejects.
   */
  ownsLock(): Promise<boolean>;
  /**
   * Removes the lock file if it is still this lock. Further calls have no effect.
   *
   * Waits up to three seconds if another process is examining the lock at that moment. If the file cannot be removed by then, it is removed later,
   * as soon as that is possible while this process runs.
   *
   * @returns Never rejects.
   */
  release(): Promise<void>;
}

/**
 * The session is locked already, by another process, another thread, or a lock of this thread. The message is
 * `Session is in use by another process`.
 */
export declare class SessionLockedError extends Error {
  readonly name: 'SessionLockedError';
  readonly code: 'ESESSIONLOCKED';
}

/**
 * The path of a session's lock file.
 *
 * @param chatsDir - The directory of the session files; a separator at its end makes no difference.
 * @throws Error - `Unsafe session ID rejected: "…"` unless the id consists of 1 to 256 ASCII letters, digits, `-` and `_`.
 */
export declare function sessionLockPath(chatsDir: string, sessionId: string): string;

/**
 * The path of the lock that a session file's name denotes: of the id between `session-` and `.jsonl`, in the directory of the file. Reads nothing.
 *
 * The names that a {@link SessionRecordingService} gives contain a time and the beginning of the id, not the id: for such a file the lock is that of
 * {@link sessionLockPath} with the `sessionId` of its header.
 *
 * @throws Error - `Cannot extract session ID from path: …` unless the file's name is `session-….jsonl`; the error of {@link sessionLockPath} for an
 * unsafe id.
 */
export declare function sessionLockPathOf(filePath: string): string;

/**
 * Locks a session. The lock file appears with its complete content or not at all; the directory is created when needed. A stale lock is replaced:
 * its process no longer exists. For locks of other programs, and on file systems that lock no files, the pid decides, or a timestamp that is more
 * than 48 hours old.
 *
 * On a file system without hard links, a reader may find a new lock file empty for a moment; if the process is killed in that moment, the file counts
 * as a lock for 48 hours.
 *
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
 *
 * @returns Rejects with a {@link SessionLockedError} if the session is locked, also by this process; with the error of {@link sessionLockPath} for
 * an unsafe id; otherwise with the system's error, such as `EACCES`, or `ENOTDIR` if `chatsDir` is a file.
 */
export declare function acquireSessionLock(chatsDir: string, sessionId: string): Promise<SessionLock>;

/**
 * Whether a running process holds the lock of a session. A lock file that cannot be read counts as held.
 *
 * @returns Rejects with the error of {@link sessionLockPath} for an unsafe id.
 */
export declare function isSessionLocked(chatsDir: string, sessionId: string): Promise<boolean>;

/**
 * Whether the process that owns a lock file no longer exists. `false` if that cannot be determined, or if there is no such file.
 *
 * @param options - `pidReuse`: also consider a lock stale after 48 hours, even if a process with its pid exists; for a file that cannot be
 * parsed, 48 hours after its last modification. Default `false`. Makes no difference to a lock that the system holds too.
 * @returns Never rejects.
 */
export declare function isLockStale(lockPath: string, options?: { pidReuse?: boolean | undefined }): Promise<boolean>;

/**
 * Removes the lock of a session if it is stale, as {@link isLockStale} determines with `pidReuse`.
 *
 * @returns Whether it was removed. Rejects with the error of {@link sessionLockPath} for an unsafe id.
 */
export declare function removeStaleLock(chatsDir: string, sessionId: string): Promise<boolean>;

/**
 * Removes the stale locks of a directory, the temporary files that interrupted processes left there, and the snapshots next to sessions that no longer
 * exist. No other file is touched.
 *
 * @returns The number of locks removed; 0 if the directory cannot be read. Never rejects.
 */
export declare function cleanUpLocks(chatsDir: string): Promise<number>;
