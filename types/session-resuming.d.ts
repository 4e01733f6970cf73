// Resuming, forking and deleting sessions.

import type { SnapshotOptions } from './session-finding.js';
import type { SessionLock } from './session-lock.js';
import type { SessionFailure } from './session-reference.js';
import type { IContent, SessionMetadata, SessionRecordingService, SessionRecordingServiceConfig } from './session.js';
// Only for links in the comments.
import type { ContinueTarget } from './session-finding.js';
import type { resolveSessionRef } from './session-reference.js';

/** Options for the recorder that one of the functions below creates; as in {@link SessionRecordingServiceConfig}. */
export type RecorderOptions = Pick<
  SessionRecordingServiceConfig,
  'cwd' | 'fileName' | 'onWarning' | 'durability' | 'exclusive' | 'mode'
>;

/** A `continueRef`: the newest session that is not in use and can be resumed. */
export declare const CONTINUE_LATEST: '__CONTINUE_LATEST__';

/** The session to resume, and the settings to resume it with. */
export interface ResumeRequest extends SnapshotOptions {
  /** A reference as for {@link resolveSessionRef}; if that finds none, a session's name; or {@link CONTINUE_LATEST}. */
  continueRef: string;
  projectHash: string;
  chatsDir: string;
  /** Provider from now on; recorded if it differs from the session's. Not empty. */
  currentProvider: string;
  /** Model from now on; recorded if it differs from the session's. */
  currentModel: string;
  workspaceDirs: string[];
  /** Options of the recorder that continues the session. */
  recorder?: RecorderOptions | undefined;
}

/** A resumed session. */
export interface ResumeResult<C = IContent> {
  ok: true;
  history: C[];
  /** The metadata as replayed, before a change of provider or model by the request. */
  metadata: SessionMetadata;
  /** Appends to the session's file and owns the lock. */
  recording: SessionRecordingService<C>;
  /** The lock that `recording` owns. Releasing it twice is harmless. */
  lockHandle: SessionLock;
  /**
   * A warning for each session that {@link CONTINUE_LATEST} skipped, except for those in use, and for each other file with the id of the session,
   * followed by the warnings of the replay.
   */
  warnings: string[];
}

/**
 * Locks a session, replays it strictly, and returns its history with a recorder that appends to its file. Looks only at files named
 * `session-*.jsonl`.
 *
 * The recorder records a change of provider or model, and that the session was resumed. Nothing is flushed.
 *
 * @returns After a failure no lock is held. Rejects only if the directory exists but cannot be read.
 * @throws TypeError - At once, if an argument is of the wrong type.
 *
 * @example
 * ```ts
 * import { CONTINUE_LATEST, resumeSession } from 'session-tape';
 *
 * const resumed = await resumeSession({
 *   continueRef: CONTINUE_LATEST, projectHash: 'a-project', chatsDir: 'no-such-directory',
 *   currentProvider: 'acme', currentModel: 'acme-large', workspaceDirs: [process.cwd()],
 * });
 * if (resumed.ok) await resumed.recording.dispose();
 * else console.log(resumed.code, resumed.error); // NoSessions No sessions found for this project
 * ```
 */
export declare function resumeSession<C = IContent>(request: ResumeRequest): Promise<ResumeResult<C> | SessionFailure>;

/** Options of {@link deleteSession}. */
export interface DeleteOptions {
  /** Accept `ref` only as a complete session id. Default `false`. */
  exact?: boolean | undefined;
  /** The directory of the session's snapshot, if it is not next to the file. */
  snapshotDir?: string | undefined;
}

/**
 * Locks a session and deletes its file, together with everything that session-tape keeps next to it.
 *
 * @param ref - As for {@link resolveSessionRef}.
 * @returns A failure if the session is in use, has checkpoints that are not deleted, or does not replay (its checkpoints are then unknown). `warnings`
 * name other files with the id of the deleted session, which stay; there are none without such files. Rejects only if the directory exists but cannot be read.
 * @throws TypeError - At once, if an argument is of the wrong type.
 */
export declare function deleteSession(
  ref: string,
  chatsDir: string,
  projectHash: string,
  options?: DeleteOptions,
): Promise<{ ok: true; deletedSessionId: string; warnings?: string[] } | SessionFailure>;

/** Options of {@link forkSession}. */
export interface ForkOptions<C = IContent> extends SnapshotOptions {
  /** Directory of the source and of the new session. */
  chatsDir: string;
  projectHash: string;
  /** Not empty: otherwise the new session would not replay strictly. */
  provider: string;
  /** Not empty: otherwise the new session would not replay strictly. */
  model: string;
  workspaceDirs: string[];
  /**
   * The recorder of the source session, if it is open in this process and owns the lock. The source is then flushed and not locked again.
   * Default: the source is locked while it is read.
   */
  source?: SessionRecordingService<C> | null | undefined;
  /** Options of the recorder of the new session. */
  recorder?: RecorderOptions | undefined;
}

/** The checkpoint to fork from; a {@link ContinueTarget} of kind `'checkpoint'` is one. */
export interface ForkTarget {
  checkpointId: string;
  /** Used in messages only: the current name and position are read from the source. */
  checkpointName: string;
  source: { sessionId: string; filePath: string };
}

/** A new session, ready to be continued. */
export type ForkResult<C = IContent> = Omit<ResumeResult<C>, 'warnings'>;

/**
 * Creates a new session from another session's history up to a checkpoint. The new session is independent of the source: it has its own copy of the
 * history, a lock, and a recorder. Its file appears with its complete content or not at all.
 *
 * @returns A failure leaves neither file nor lock behind.
 * @throws TypeError - At once, if an argument is of the wrong type.
 */
export declare function forkSession<C = IContent>(
  target: ForkTarget,
  options: ForkOptions<C>,
): Promise<ForkResult<C> | SessionFailure>;
