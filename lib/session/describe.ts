// Describes the sessions of a directory: a listing, with the reports of their replays.

import { NO_OPTIONS, type Shape, WORK, check, checked } from '../arguments.js'
import { hasOwn } from '../builtins.js'
import type { Checkpoint } from './checkpoints.js'
import { checkKinds, kindsOf, ofKinds } from './kind.js'
import { list, listProject } from './list.js'
import type { SemanticMediaPurgeFrontier, SessionForkedPayload } from './records.js'
import type { SessionMetadata } from './replay-result.js'
import { type Report, type SessionReport, isFailed, scan } from './scan.js'
import type { ScanOptions } from './scan-options.js'
import type { SessionSummary, SkippedSession } from './summary.js'
// Only for links in the comments.
import type { listSessions } from './list.js'
import type { ReplaySuccess } from './replay-result.js'

/** Options of {@link describeSessions}. */
export interface DescribeOptions extends ScanOptions {
  /** Only the sessions of this project. */
  projectHash?: string | undefined
}

/** A session and what a strict replay reports about it, without its history. */
export interface SessionOverview extends SessionSummary {
  /** The metadata at the end of the file; `provider`, `model` and `workspaceDirs` of the summary itself are those of `session_start`. */
  metadata: SessionMetadata
  /** The largest `seq`. */
  lastSeq: number
  /** As in {@link ReplaySuccess}. */
  sequenceCorrupt: boolean
  /** As in {@link ReplaySuccess}. */
  eventCount: number
  /** Number of items in the history. */
  historyLength: number
  /** As in {@link ReplaySuccess}: deleted ones included. */
  checkpoints: Checkpoint[]
  /** As in {@link ReplaySuccess}. Absent for a session that is not a fork. */
  ancestry?: SessionForkedPayload
  /** As in {@link ReplaySuccess}. Absent if there is none. */
  semanticMediaPurgeFrontier?: SemanticMediaPurgeFrontier
  /** As in {@link ReplaySuccess}; empty if all are known. */
  unknownEvents: Record<string, number>
  /** As in {@link ReplaySuccess}. */
  warnings: string[]
}

/** What a user can continue: a session, or a checkpoint, from which a new session is forked. */
export type ContinueTarget =
  | { kind: 'session'; session: SessionSummary }
  | { kind: 'checkpoint'; source: SessionSummary; checkpointId: string; checkpointName: string; sequence: number }

/** A session of a listing, with the report of the scan of its file. @internal */
export interface ScannedSession<R extends Report = Report> {
  session: SessionSummary
  report: R
}

const SCAN_OPTIONS: Shape<ScanOptions> = { ...WORK, kinds: checkKinds }
const DESCRIBE_OPTIONS: Shape<DescribeOptions> = { ...SCAN_OPTIONS, projectHash: 'string?' }

/** Why a session that replays cannot be continued. @internal */
export const SEQUENCE_CORRUPT = 'recording has non-monotonic sequences'

/**
 * Lists the sessions of a directory as {@link listSessions} does, and scans each file to its end, strictly, on all cores. Builds no item of a
 * history, and keeps of long lines only what it returns in memory.
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
 * const { sessions } = await describeSessions('no-such-directory');
 * for (const { name, title, historyLength, metadata } of sessions) console.log(name ?? title, historyLength, metadata.model);
 * console.log(sessions.length); // 0
 * ```
 */
export function describeSessions(
  chatsDir: string,
  options: DescribeOptions = NO_OPTIONS,
): Promise<{ sessions: SessionOverview[]; unreadable: SkippedSession[] }> {
  check.filledString(chatsDir, 'chatsDir')
  const { projectHash, ...wanted } = checked(options, DESCRIBE_OPTIONS)
  return describe(chatsDir, projectHash, captured(wanted))
}

async function describe(
  chatsDir: string,
  projectHash: string | undefined,
  options: ScanOptions,
): Promise<{ sessions: SessionOverview[]; unreadable: SkippedSession[] }> {
  const { sessions, unreadable } = await list(chatsDir, projectHash, kindsOf(options.kinds))
  const described = await scanSessions(sessions, projectHash, options)
  const overviews: SessionOverview[] = []
  for (const { session, report } of described) {
    if (isFailed(report)) unreadable.push(skip(session, report.error))
    else overviews.push(overviewOf(session, report))
  }
  return { sessions: overviews, unreadable }
}

/**
 * Lists what a user can continue: the sessions of a project, the newest first, followed by their checkpoints that are not deleted, session by
 * session, in the order of their positions. Looks only at files named `session-*.jsonl`.
 *
 * @param projectHash - Files of another project are neither listed nor skipped.
 * @returns A session that does not replay or is `sequenceCorrupt` is in `unreadable` instead, as is a file without a usable header; `skipped` is the
 * same list. A directory that does not exist has no targets. Rejects with the system's error if the directory cannot be read for another reason, with the `reason` of an
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
export function listContinueTargets(
  chatsDir: string,
  projectHash: string,
  options: ScanOptions = NO_OPTIONS,
): Promise<{ targets: ContinueTarget[]; skipped: SkippedSession[]; unreadable: SkippedSession[] }> {
  check.filledString(chatsDir, 'chatsDir')
  check.filledString(projectHash, 'projectHash')
  return continueTargets(chatsDir, projectHash, captured(checked(options, SCAN_OPTIONS)))
}

async function continueTargets(
  chatsDir: string,
  projectHash: string,
  options: ScanOptions,
): Promise<{ targets: ContinueTarget[]; skipped: SkippedSession[]; unreadable: SkippedSession[] }> {
  const { sessions, unreadable } = await listProject(chatsDir, projectHash)
  const { usable, skipped } = usableOf(
    await scanSessions(ofKinds(sessions, kindsOf(options.kinds)), projectHash, options),
    unreadable,
  )
  const targets: ContinueTarget[] = []
  for (const { session } of usable) targets.push({ kind: 'session', session })
  for (const { session, report } of usable) {
    for (const { checkpointId, name, sequence } of liveCheckpoints(report.checkpoints)) {
      targets.push({ kind: 'checkpoint', source: session, checkpointId, checkpointName: name, sequence })
    }
  }
  return { targets, skipped, unreadable: skipped }
}

/** Copies the kinds, because the caller may change them while the directory is listed. */
function captured(options: ScanOptions): ScanOptions {
  return { ...options, kinds: kindsOf(options.kinds) }
}

/**
 * Returns the sessions that can be continued, in the given order, each as a summary with title and name, and with the report of its replay. Adds
 * the others to `skipped`, with the reason.
 *
 * @internal
 */
export function usableOf(
  described: ScannedSession[],
  skipped: SkippedSession[],
): { usable: ScannedSession<SessionReport>[]; skipped: SkippedSession[] } {
  const usable: ScannedSession<SessionReport>[] = []
  for (const { session, report } of described) {
    if (isFailed(report)) skipped.push(skip(session, report.error))
    else if (report.sequenceCorrupt) skipped.push(skip(session, SEQUENCE_CORRUPT))
    else usable.push({ session: presented(session, report), report })
  }
  return { usable, skipped }
}

/** Resolves to each session with the report of the scan of its file. @internal */
export async function scanSessions(
  sessions: SessionSummary[],
  projectHash: string | undefined,
  options: ScanOptions,
): Promise<ScannedSession[]> {
  const reports = await scan(
    sessions.map(({ filePath }) => filePath),
    projectHash,
    options,
  )
  return sessions.map((session, index) => ({ session, report: reports[index]! }))
}

/** @internal */
export function skip({ filePath, sessionId }: SessionSummary, reason: string): SkippedSession {
  return { filePath, sessionId, reason }
}

/** Returns a summary with the title and the name of the session, if it has them. */
function presented(session: SessionSummary, report: SessionReport): SessionSummary {
  return {
    ...session,
    ...(hasOwn(report.metadata, 'title') && { title: report.metadata.title }),
    ...(hasOwn(report, 'name') && { name: report.name }),
  }
}

function overviewOf(session: SessionSummary, report: SessionReport): SessionOverview {
  const { metadata, lastSeq, sequenceCorrupt, eventCount, historyLength, checkpoints, warnings, unknownEvents } = report
  return {
    ...presented(session, report),
    metadata,
    lastSeq,
    sequenceCorrupt,
    eventCount,
    historyLength,
    checkpoints,
    ...(hasOwn(report, 'ancestry') && { ancestry: report.ancestry }),
    ...(hasOwn(report, 'semanticMediaPurgeFrontier') && {
      semanticMediaPurgeFrontier: report.semanticMediaPurgeFrontier,
    }),
    unknownEvents,
    warnings,
  }
}

/** @internal */
export function liveCheckpoints(checkpoints: Checkpoint[]): Checkpoint[] {
  return checkpoints.filter(({ deleted }) => !deleted)
}
