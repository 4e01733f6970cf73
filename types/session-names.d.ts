// The names of a project: its sessions and checkpoints have one namespace.

import type { SnapshotOptions } from './session-finding.js';
import type { Checkpoint, IContent, SessionRecordingService } from './session.js';
// Only for links in the comments.
import type { checkSessionName } from './session-reference.js';

/** A session without an open recorder. */
export interface ClosedSession {
  filePath: string;
  chatsDir: string;
  /** `sessionId` of its `session_start`. */
  sessionId: string;
}

/** The session to work on: the recorder that has it open and owns its lock, or the location of a closed one, which is locked for the operation. */
export type SessionPlace<C = IContent> = SessionRecordingService<C> | ClosedSession;

/** Options of functions that give a name. */
export interface NameOptions extends SnapshotOptions {
  /**
   * Take the name from its current holder: a checkpoint is deleted, a session loses its name. If the operation fails, all names stay as they were.
   * Default `false`: a name in use is an error.
   */
  overwrite?: boolean | undefined;
}

/**
 * A lock that the functions below need could not be acquired: `Session <id> is in use by another process`, or
 * `Failed to acquire lock for session <id>: …`. `cause` is the reason.
 */
export declare class CheckpointLockError extends Error {
  readonly name: 'CheckpointLockError';
}

/**
 * Lists the checkpoints of a session that are not deleted, in ascending order of `sequence`.
 *
 * @returns Rejects with an `Error` if the session does not replay.
 * @throws TypeError - At once, if an argument is of the wrong type.
 */
export declare function listCheckpoints(
  filePath: string,
  projectHash: string,
  options?: SnapshotOptions,
): Promise<Checkpoint[]>;

/**
 * Creates a checkpoint whose name is unique among the sessions and checkpoints of the project, even if other processes give names at the same time.
 *
 * @returns Rejects with an `Error`: `Name 'x' already exists` (also with `overwrite`, if `x` is an id), `Name 'x' changed while acquiring locks`,
 * `Active recording does not own its live session lock`, the errors of {@link checkSessionName} and of the recorder's method, the error of a
 * replay; with a {@link CheckpointLockError}; with an `AggregateError`, `Checkpoint overwrite rollback failed`, if undoing a failed overwrite
 * failed as well.
 * @throws TypeError - At once, if an argument is of the wrong type.
 *
 * @example
 * ```ts
 * import { createCheckpoint, SessionRecordingService } from 'session-tape';
 *
 * const recorder = await SessionRecordingService.createLocked({
 *   sessionId: 'b7d20c11-demo', projectHash: 'a-project', chatsDir: 'chats', workspaceDirs: [], provider: 'acme', model: 'acme-large',
 * });
 * recorder.recordContent({ speaker: 'human', blocks: [{ type: 'text', text: 'Hello' }] });
 * const { name, sequence } = await createCheckpoint(recorder, 'a-project', ' before the merge ', { overwrite: true });
 * console.log(name, sequence); // before the merge 3
 * await recorder.dispose();
 * ```
 */
export declare function createCheckpoint<C = IContent>(
  place: SessionPlace<C>,
  projectHash: string,
  name: string,
  options?: NameOptions,
): Promise<{ checkpointId: string; name: string; sequence: number }>;

/** Renames a checkpoint; rejects as {@link createCheckpoint} does, and with `Checkpoint <id> not found or deleted`. */
export declare function renameCheckpoint<C = IContent>(
  place: SessionPlace<C>,
  projectHash: string,
  checkpointId: string,
  name: string,
  options?: NameOptions,
): Promise<void>;

/** Deletes a checkpoint. Sessions forked from it are not affected. Rejects with `Checkpoint <id> not found or deleted` if it does not exist. */
export declare function deleteCheckpoint<C = IContent>(
  place: SessionPlace<C>,
  projectHash: string,
  checkpointId: string,
): Promise<void>;

/** Names a session; rejects as {@link createCheckpoint} does. `null` removes the name. */
export declare function nameSession<C = IContent>(
  place: SessionPlace<C>,
  projectHash: string,
  name: string | null,
  options?: NameOptions,
): Promise<void>;
