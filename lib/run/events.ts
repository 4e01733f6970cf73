import { native } from '../addon.js'
import { NO_OPTIONS, type Shape, check, checkEach, checked, expect, unlessMissing } from '../arguments.js'
import { bundles } from '../binding/bundles.js'
import { type Failure, errorOf } from '../binding/errors.js'
import { type JobOptions, RUN, runJob } from '../binding/job.js'
import type { NativeJob } from '../binding/native.js'
import { type Page, elementsOfPages } from '../binding/pages.js'
// Only for links in the comments.
import type { exportBundle, importBundle, verifyBundle } from '../bundle/bundle.js'
import type { RunError } from './error.js'
import type { replayRun, verifyRun } from './replay.js'

/**
 * The kinds of a run's events. Their payloads, effects and transitions are in sections 4 and 5 of the format's documentation, to
 * which all section numbers in this file refer: https://github.com/session-tape/session-tape/blob/main/docs/run-format.md
 */
export type RunEventKind =
  | 'RunCreated'
  | 'RunStarted'
  | 'RunCompleted'
  | 'RunFailed'
  | 'NodeScheduled'
  | 'NodeStarted'
  | 'NodeCompleted'
  | 'NodeFailed'
  | 'NodeSkipped'
  | 'ToolInvoked'
  | 'ToolCompleted'
  | 'ToolFailed'
  | 'ToolTimedOut'
  | 'CapabilityCheck'
  | 'PolicyDecision'
  | 'TaskAssigned'
  | 'TaskAccepted'
  | 'TaskRejected'
  | 'SnapshotCreated'
  | 'SnapshotRestored'
  | 'BlobStored'
  | 'Heartbeat'
  | 'Error'

/** An event of a run, as {@link readRunEvents} yields it. */
export interface RunEvent {
  /** `evt_<logicalTime>`. */
  eventId: string
  /** 0, 1, 2 … without gaps. */
  logicalTime: number
  /** Wall clock, ISO-8601, UTC. For people; nothing is ordered by it. */
  ts: string
  kind: RunEventKind
  /** The graph node concerned; `null` if there is none. */
  node: string | null
  /** Id of the event that caused this one; `null` for RunCreated only. */
  parent: string | null
  /** As `JSON.parse` returns it: the fields of the kind (section 4), and any others that were recorded. */
  payload: Record<string, unknown>
  /** SHA-256 in hex of salt and payload. */
  payloadHash: string
  /** Hash of the state after this event. */
  stateHash: string
  /** Hash of the line and, through the hash of the previous line, of the whole log up to it. */
  hash: string
}

/** Options of {@link readRunEvents}. */
export interface RunEventsOptions {
  /** Logical time of the first event, which is found without reading the log before it. Default: 0. */
  from?: number | undefined
  /** Logical time of the last event. If it is `Infinity` or beyond the end, it is the log's last event, which is the default. */
  to?: number | undefined
  /** Yield only events of these kinds. The others are read and checked, too. Default: all. */
  kinds?: RunEventKind[] | undefined
  /**
   * `path` is the directory of a bundle that {@link verifyBundle} found to be fine, or that {@link importBundle} made, and has not been changed since:
   * it is not verified again. Default: `false`.
   */
  verifiedBundle?: boolean | undefined
  /** Aborting it stops the work, also that of opening a bundle; the iterator throws the signal's `reason` instead of its next event. */
  signal?: AbortSignal | undefined
}

/** Consecutive events, and whether they are the last ones. */
interface Events {
  events: RunEvent[]
  last?: boolean
  error?: Failure
}

const KINDS = native.runEventKinds()

/**
 * Reads a run's events one by one: the event trace.
 *
 * Checks that each event, including those that `kinds` leaves out, is a line in canonical form, in its place, of a known kind and with all its
 * fields. Does not check hashes: {@link replayRun} and {@link verifyRun} do that.
 *
 * Reads ahead by at most one batch of a few hundred events, and reads nothing before the first event is requested. The log is closed at its end,
 * after an error, and when the iteration ends early. An iterator can be iterated only once: call the function again for another iteration.
 *
 * A bundle is verified before its first event is yielded; the unpacked files of an archive stay until the log is closed. A partial bundle
 * has only the events after its snapshot.
 *
 * @param path - The run's directory, or its bundle: see {@link exportBundle}.
 * @returns If the log is damaged or can't be read, the iterator yields the events before that place and then throws an `Error` with the
 * fields of {@link RunError}.
 * @throws TypeError - At once, if an argument is of the wrong type.
 *
 * @example
 * ```ts
 * import { readRunEvents } from 'session-tape';
 *
 * try {
 *   for await (const { eventId, kind, node } of readRunEvents('no-such-run.cath-bundle', { kinds: ['NodeFailed'] })) {
 *     console.log(eventId, kind, node);
 *   }
 * } catch (error) {
 *   console.log((error as { code: string }).code); // ENOENT
 * }
 * ```
 */
export function readRunEvents(
  path: string,
  options: RunEventsOptions = NO_OPTIONS,
): AsyncGenerator<RunEvent, void, undefined> {
  check.string(path, 'path')
  const { from = 0, to = Infinity, kinds, verifiedBundle = false, signal } = checked(options, EVENTS_OPTIONS)
  const range = kinds?.slice()
  return elementsOfPages(
    RUN,
    () => native.readRunEvents(bundles, path, verifiedBundle, from, to, range),
    readPage,
    signal,
  )
}

const EVENTS_OPTIONS: Shape<RunEventsOptions> = {
  signal: 'signal?',
  verifiedBundle: 'boolean?',
  from: 'time?',
  to: 'time?',
  kinds: unlessMissing(checkKinds),
}

function checkKinds(kinds: unknown, name: string): void {
  expect(Array.isArray(kinds), name, 'an array', kinds)
  checkEach(kinds, name, (kind, place) => check.oneOf(kind, place, KINDS))
}

async function readPage(start: (onReady: () => void) => NativeJob, options: JobOptions): Promise<Page<RunEvent>> {
  const { events, last, error } = (await runJob(RUN, start, options)) as Events
  const at = (index: number) => events[index]!
  return { length: events.length, at, isLast: last === true || error !== undefined, error: error && errorOf(error) }
}
