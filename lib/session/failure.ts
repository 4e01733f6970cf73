// Failures: operations on sessions that were not carried out, with a reason that the caller shows to a user.

import type { SessionLock } from '../locks/handle.js'
import { SessionLockedError } from '../locks/locked-error.js'
import { acquireSessionLock } from '../locks/session-lock.js'
import { isOfSystem } from '../system-error.js'
import type { SessionSummary, SkippedSession } from './summary.js'

/**
 * Why a reference could not be resolved, or an operation was not carried out. `error` is a message for the user.
 *
 * | code | means |
 * |---|---|
 * | `NoSessions` | the project has no sessions |
 * | `NotFound`, `IndexOutOfRange`, `Ambiguous` | the reference matches no session, is a number beyond the list, or matches several |
 * | `Locked`, `AllLocked` | the session, or every session, is in use |
 * | `LockFailed` | the lock could not be kept, or the session has an id that no lock can have |
 * | `ReplayFailed`, `SequenceCorrupt` | the session does not replay, or its sequence numbers are not ascending |
 * | `CheckpointsBlock` | the session has checkpoints that are not deleted |
 * | `CheckpointGone` | the checkpoint does not exist or is deleted |
 * | `NothingToFork` | the history is empty at the checkpoint |
 * | `System` | the system reported an error; its message is in `error` |
 */
export type SessionFailureCode =
  | 'NoSessions'
  | 'NotFound'
  | 'IndexOutOfRange'
  | 'Ambiguous'
  | 'Locked'
  | 'AllLocked'
  | 'LockFailed'
  | 'ReplayFailed'
  | 'SequenceCorrupt'
  | 'CheckpointsBlock'
  | 'CheckpointGone'
  | 'NothingToFork'
  | 'System'

/** A reference that could not be resolved. */
export interface ReferenceFailure {
  /** The reason, as a message for the user. */
  error: string
  code: SessionFailureCode
}

/** An operation that was not carried out. */
export interface SessionFailure extends ReferenceFailure {
  ok: false
  /** Of `deleteSession`: the files of the project that were passed over because they can't be read. Absent if there are none. */
  unreadable?: SkippedSession[]
  /** Of `resumeSession`, always: the files that were passed over, as in its result. */
  skippedRecordings?: SkippedSession[]
}

/** @internal */
export function failure(error: string, code: SessionFailureCode): SessionFailure {
  return { ok: false, error, code }
}

/** How many files a message names. */
const MAX_NAMED = 5

/** @internal */
export const NO_SESSIONS = 'No sessions found for this project'

/** The failure to resume any session. Names the files that can't be read: one of them may be the session that seems to be gone. @internal */
export function nothingToResume(unreadable: SkippedSession[]): SessionFailure {
  if (unreadable.length === 0) return failure(NO_SESSIONS, 'NoSessions')
  const named = unreadable.slice(0, MAX_NAMED).map(({ filePath, reason }) => `${filePath}: ${reason}`)
  if (unreadable.length > MAX_NAMED) named.push(`and ${unreadable.length - MAX_NAMED} more`)
  return failure(`${NO_SESSIONS}; skipped unreadable recordings: ${named.join('; ')}`, 'NoSessions')
}

type Located = Pick<SessionSummary, 'sessionId' | 'filePath'>

/**
 * For each other file with the id of a session, a warning: as after a conflict of two synchronised directories, one of them may have what the other lacks.
 *
 * @internal
 */
export function namesakesOf(
  { sessionId, filePath }: Located,
  sessions: Located[],
  done: 'resumed' | 'deleted',
): string[] {
  const others = sessions.filter((other) => other.sessionId === sessionId && other.filePath !== filePath)
  return others.map((other) => `Session ${sessionId} is also in '${other.filePath}'. '${filePath}' was ${done}`)
}

/** Why an operation was not carried out. If the system did not let a lock be written, the promise of the operation rejects with its `error`. @internal */
export interface Refusal {
  failed: SessionFailure
  error?: unknown
}

/** The failure, unless it is the system's: then its error is thrown. @internal */
export function failureOf({ failed, error }: Refusal): SessionFailure {
  if (error !== undefined) throw error
  return failed
}

/** A lock, or why there is none. */
type Locking = { lock: SessionLock; failed?: undefined } | ({ lock?: undefined } & Refusal)

/**
 * Locks a session. The text of the failure is `busy` if the session is already locked; otherwise the error follows `prefix`.
 *
 * @internal
 */
export async function lockSession(chatsDir: string, sessionId: string, busy: string, prefix: string): Promise<Locking> {
  try {
    return { lock: await acquireSessionLock(chatsDir, sessionId) }
  } catch (error) {
    if (error instanceof SessionLockedError) return { failed: failure(busy, 'Locked') }
    const failed = failure(`${prefix}${(error as Error).message}`, 'LockFailed')
    return isOfSystem(error) ? { failed, error } : { failed }
  }
}
