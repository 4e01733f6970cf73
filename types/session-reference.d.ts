// References: what a user types to denote a session or a checkpoint.

/**
 * Why a reference could not be resolved, or an operation was not carried out. `error` is a message for the user.
 *
 * | code | means |
 * |---|---|
 * | `NoSessions` | the project has no sessions |
 * | `NotFound`, `IndexOutOfRange`, `Ambiguous` | the reference matches no session, is a number beyond the list, or matches several |
 * | `Locked`, `AllLocked` | the session, or every session, is in use |
 * | `LockFailed` | the lock could not be created or kept |
 * | `ReplayFailed`, `SequenceCorrupt` | the session does not replay, or its sequence numbers are not ascending |
 * | `CheckpointsBlock` | the session has checkpoints that are not deleted |
 * | `CheckpointGone` | the checkpoint does not exist or is deleted |
 * | `NothingToFork` | the history is empty at the checkpoint |
 * | `System` | the system reported an error; its message is in `error` |
 */
export type SessionFailureCode =
  | 'NoSessions' | 'NotFound' | 'IndexOutOfRange' | 'Ambiguous'
  | 'Locked' | 'AllLocked' | 'LockFailed'
  | 'ReplayFailed' | 'SequenceCorrupt'
  | 'CheckpointsBlock' | 'CheckpointGone' | 'NothingToFork' | 'System';

/** A reference that could not be resolved. */
export interface ReferenceFailure {
  /** The reason, as a message for the user. */
  error: string;
  code: SessionFailureCode;
}

/** An operation that was not carried out. */
export interface SessionFailure extends ReferenceFailure {
  ok: false;
}

/** The fields of a target that {@link resolveContinueRef} reads. */
export type NamedTarget =
  | { kind: 'session'; session: { sessionId: string; name?: string | null | undefined } }
  | { kind: 'checkpoint'; checkpointId: string; checkpointName: string };

/**
 * Finds the target that a reference denotes: the id of a checkpoint; the name of a session or checkpoint, or the id of a session; `latest`, the
 * first session; otherwise the session that {@link resolveSessionRef} finds.
 *
 * @param targets - Sessions and checkpoints, the sessions in the order of a list.
 * @throws TypeError - If an argument is of the wrong type.
 *
 * @example
 * ```ts
 * import { resolveContinueRef } from 'session-tape';
 *
 * const targets = [
 *   { kind: 'session' as const, session: { sessionId: 'a1b2', name: 'refactoring' } },
 *   { kind: 'checkpoint' as const, checkpointId: 'c-1', checkpointName: 'before the merge' },
 * ];
 * const found = resolveContinueRef('before the merge', targets);
 * console.log('target' in found ? found.target.kind : found.error); // checkpoint
 * ```
 */
export declare function resolveContinueRef<T extends NamedTarget>(
  ref: string,
  targets: readonly T[],
): { target: T } | ReferenceFailure;

/**
 * Finds the session that a reference denotes: by its id, by its position in the list (counted from 1), or by the beginning of its id, in this
 * order. A reference of digits only is never the beginning of an id; an empty one is the beginning of every id.
 *
 * @throws TypeError - If an argument is of the wrong type.
 */
export declare function resolveSessionRef<S extends { sessionId: string }>(
  ref: string,
  sessions: readonly S[],
): { session: S } | ReferenceFailure;

/**
 * Checks a name for a session or checkpoint and removes surrounding white space.
 *
 * @returns The trimmed name.
 * @throws Error - `Name must not be empty`; `Name 'x' is reserved` for `latest` and for names of digits only, which mean something else as
 * references.
 * @throws TypeError - If `name` is not a string.
 */
export declare function checkSessionName(name: string): string;
