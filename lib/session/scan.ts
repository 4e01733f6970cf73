// Scans many sessions to their ends: one job of the addon, on all cores, which builds no item of any history.

import { native } from '../addon.js'
import type { Batch } from '../binding/batch.js'
import { SESSION, runJob } from '../binding/job.js'
import { hasOwn, elapsed } from '../builtins.js'
import type { Progress } from '../progress.js'
import { type Message, type UnknownEvents, messageText, unknownEventsOf } from './assembly.js'
import { openSession } from './open.js'
import type { SessionForkedPayload } from './records.js'
import type { ReplaySuccess } from './replay-result.js'
import type { ScanOptions } from './scan-options.js'

/** What a strict replay reports about a session, except for its history and session events. */
export interface SessionReport
  extends Pick<
    ReplaySuccess,
    | 'metadata'
    | 'lastSeq'
    | 'sequenceCorrupt'
    | 'eventCount'
    | 'checkpoints'
    | 'semanticMediaPurgeFrontier'
    | 'warnings'
  > {
  historyLength: number
  /** What of the file was not read: nothing, a last line that is no JSON, or more, such as what is behind the damage of an archive. */
  unread?: 'nothing' | 'lastLine' | 'more'
  name?: string | null
  ancestry?: SessionForkedPayload
  unknownEvents: Record<string, number>
}

/** Why a session does not replay. */
export interface FailedReport {
  error: string
}

export type Report = SessionReport | FailedReport

/** A report as the addon sends it. */
type Described = DescribedSession | DescribedFailure
type DescribedSession = Omit<SessionReport, 'warnings' | 'unknownEvents'> & {
  warnings: Message[]
  unknownEvents: UnknownEvents
}
type DescribedFailure = { error: Message }

function isFailure(described: Described): described is DescribedFailure {
  return hasOwn(described, 'error')
}

export function isFailed(report: Report): report is FailedReport {
  return hasOwn(report, 'error')
}

/** The minimum time between two reports of progress, in milliseconds. */
const PROGRESS_MS = 100

/**
 * Replays files strictly; with a `projectHash`, a session of another project is an error. Resolves to a report for each file, in order. The caller
 * must have checked `options`.
 */
export async function scan(
  filePaths: string[],
  projectHash: string | undefined,
  options: ScanOptions,
): Promise<Report[]> {
  const { signal, onProgress } = options
  const found = filePaths.map((): Report | undefined => undefined)
  const unread: SessionReport['unread'][] = []
  const takeBatch = ({ described }: Batch): undefined => {
    // The last batch of a failed job has no reports.
    if (described === undefined) return
    for (let at = 0; at < described.length; at++) {
      const [index, report, rest] = described[at]!
      // A description that was too long for a batch is missing.
      if (report !== null) found[index] = reportOf(report as Described)
      unread[index] = rest
    }
  }
  const begin = (onReady: () => void) => native.describeSessions(filePaths, projectHash, onReady)
  const progress = new ScanProgress(onProgress, filePaths.length)
  const report = onProgress && ((done: Progress) => progress.report(done))
  await runJob(SESSION, begin, { signal, onProgress: report, takeBatch })
  for (let index = 0; index < found.length; index++) {
    const report = (found[index] ??= await scanFile(filePaths[index]!, projectHash, signal))
    if (!isFailed(report)) report.unread = unread[index] ?? 'more'
  }
  progress.end()
  // `onProgress` may have aborted the signal.
  if (signal?.aborted) throw signal.reason
  return found as Report[]
}

function reportOf(described: Described): Report {
  if (isFailure(described)) return { error: messageText(described.error) }
  return {
    ...described,
    warnings: described.warnings.map(messageText),
    unknownEvents: unknownEventsOf(described.unknownEvents),
  }
}

/** Returns the report on one file, whatever its size. */
export async function scanFile(
  filePath: string,
  projectHash: string | undefined,
  signal?: AbortSignal,
): Promise<Report> {
  const opened = await openSession(filePath, projectHash, { signal, strict: true })
  if (!opened.ok) return { error: opened.error }
  const { session } = opened
  session.close()
  const {
    metadata,
    lastSeq,
    sequenceCorrupt,
    eventCount,
    historyLength,
    checkpoints,
    warnings,
    unknownEvents,
    sessionName,
    ancestry,
  } = session
  return {
    metadata,
    lastSeq,
    sequenceCorrupt,
    eventCount,
    historyLength,
    checkpoints,
    warnings,
    unknownEvents: unknownEvents ?? {},
    ...(hasOwn(session, 'semanticMediaPurgeFrontier') && {
      semanticMediaPurgeFrontier: session.semanticMediaPurgeFrontier,
    }),
    ...(sessionName !== undefined && { name: sessionName }),
    ...(ancestry !== undefined && { ancestry }),
  }
}

/** Calls `onProgress` at intervals of at least `PROGRESS_MS`, and once at the end. */
class ScanProgress {
  #onProgress: ((progress: Progress) => void) | undefined
  #files: number
  #reportedAt = -Infinity
  #last: Progress | undefined

  constructor(onProgress: ((progress: Progress) => void) | undefined, files: number) {
    this.#onProgress = onProgress
    this.#files = files
  }

  /** Does not report the end, because some files may have to be scanned again. */
  report(progress: Progress): void {
    this.#last = progress
    const time = elapsed()
    if (progress.files === this.#files || time - this.#reportedAt < PROGRESS_MS) return
    this.#reportedAt = time
    this.#onProgress?.(progress)
  }

  end(): void {
    this.#onProgress?.(this.#last!)
  }
}
