// Finding sessions: the sessions of a directory, and those that a user can continue.

import type { Progress } from './common.js';
import type { Checkpoint, SessionForkedPayload, SessionMetadata, SessionSummary } from './session.js';
// Only for links in the comments.
import type { listSessions, ReplayOptions, replaySession, ReplaySuccess } from './session.js';

/** Whether and where snapshots are kept. */
export interface SnapshotOptions {
  /** As in {@link ReplayOptions}: keep and use a snapshot of each file. Default `false`. */
  snapshot?: boolean | undefined;
  /** As in {@link ReplayOptions}: the directory for snapshots. Has no effect without `snapshot: true`. */
  snapshotDir?: string | undefined;
}

/** Options of functions that scan all sessions of a directory. */
export interface ScanOptions extends SnapshotOptions {
  /** Aborting it stops the scan; the promise rejects with the signal's `reason`. */
  signal?: AbortSignal | undefined;
  /** Called on the JavaScript thread, at most ten times a second, and once at the end. If it throws, the promise rejects with that error. */
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** Options of {@link describeSessions}. */
export interface DescribeOptions extends ScanOptions {
  /** Only the sessions of this project. */
  projectHash?: string | undefined;
}

/** A session and what a strict replay reports about it, without its history. */
export interface SessionOverview extends SessionSummary {
  /** The metadata at the end of the file; `provider`, `model` and `workspaceDirs` of the summary itself are those of `session_start`. */
  metadata: SessionMetadata;
  /** The largest `seq`. */
  lastSeq: number;
  /** As in {@link ReplaySuccess}. */
  sequenceCorrupt: boolean;
  /** As in {@link ReplaySuccess}. */
  eventCount: number;
  /** Number of items in the history. */
  historyLength: number;
  /** As in {@link ReplaySuccess}: deleted ones included. */
  checkpoints: Checkpoint[];
  /** As in {@link ReplaySuccess}. Absent for a session that is not a fork. */
  ancestry?: SessionForkedPayload;
  /** As in {@link ReplaySuccess}. */
  warnings: string[];
}

/** A session file that was left out of a result, and why. */
export interface SkippedSession {
  filePath: string;
  /** The `error` of a strict {@link replaySession}, or the system's message. */
  reason: string;
}

/**
 * Lists the sessions of a directory as {@link listSessions} does, and scans each file to its end, strictly, on all cores. Builds no item of a
 * history. If snapshots are kept, only what was appended since the last scan of a file is read.
 *
 * @param chatsDir - As for {@link listSessions}.
 * @returns The sessions in the order of {@link listSessions}. A session that does not replay is in `unreadable`, with the reason, after those that
 * {@link listSessions} reports there. Rejects with the `reason` of an aborted signal, with the error that `onProgress` threw, or with an error with
 * the code `ESESSIONPANIC`.
 * @throws TypeError - At once, if an argument is of the wrong type.
 *
 * @example
 * ```ts
 * import { describeSessions } from 'session-tape';
 *
 * const { sessions } = await describeSessions('no-such-directory', { snapshot: true });
 * for (const { name, title, historyLength, metadata } of sessions) console.log(name ?? title, historyLength, metadata.model);
 * console.log(sessions.length); // 0
 * ```
 */
export declare function describeSessions(
  chatsDir: string,
  options?: DescribeOptions,
): Promise<{ sessions: SessionOverview[]; unreadable: SkippedSession[] }>;

/** What a user can continue: a session, or a checkpoint, from which a new session is forked. */
export type ContinueTarget =
  | { kind: 'session'; session: SessionSummary }
  | { kind: 'checkpoint'; source: SessionSummary; checkpointId: string; checkpointName: string; sequence: number };

/**
 * Lists what a user can continue: the sessions of a project, the newest first, followed by their checkpoints that are not deleted, session by
 * session, in the order of their positions. Looks only at files named `session-*.jsonl`.
 *
 * @param projectHash - Files of another project, or without one, are neither listed nor skipped.
 * @returns A session that does not replay or is `sequenceCorrupt` is in `skipped` instead, as is a file without a usable header. A directory that
 * does not exist has no targets. Rejects with the system's error if the directory cannot be read for another reason, with the `reason` of an
 * aborted signal, with the error that `onProgress` threw, or with an error with the code `ESESSIONPANIC`.
 * @throws TypeError - At once, if an argument is of the wrong type.
 *
 * @example
 * ```ts
 * import { listContinueTargets, resolveContinueRef } from 'session-tape';
 *
 * const { targets } = await listContinueTargets('no-such-directory', 'a-project');
 * const found = resolveContinueRef('latest', targets);
 * console.log('error' in found && found.error); // Session not found for this project: latest
 * ```
 */
export declare function listContinueTargets(
  chatsDir: string,
  projectHash: string,
  options?: ScanOptions,
): Promise<{ targets: ContinueTarget[]; skipped: SkippedSession[] }>;
