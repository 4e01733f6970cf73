import { native } from '../addon.js'
import { NO_OPTIONS, type Shape, WORK, check, checked, unlessMissing } from '../arguments.js'
import { bundles } from '../binding/bundles.js'
import { RUN, runJob } from '../binding/job.js'
import type { NativeRunReplayOptions } from '../binding/native.js'
import { checkKeys } from '../keys.js'
import type { Progress } from '../progress.js'
import type { RunError } from './error.js'
import type { RunState } from './state.js'
// Only for links in the comments.
import type { exportBundle, importBundle, verifyBundle } from '../bundle/bundle.js'

/** A run that was replayed. */
export interface RunReplaySuccess {
  ok: true
  /** The state after the last event, or after `until`. */
  state: RunState
  /** Number of events that led to the state, including those before the snapshot. */
  eventCount: number
  /** Id of the snapshot from which the replay began; `null` if it began with the first event. */
  fromSnapshot: string | null
  /** The number of events and bytes that were read of the log, without those before the snapshot, and the time that this took. */
  metrics: { events: number; bytes: number; seconds: number }
  /**
   * Warnings about snapshots that were not used, with the reason, about a torn last line, and about a hole left by a power cut. Empty for an intact
   * run.
   */
  warnings: string[]
}

/** A run that can't be replayed. */
export interface RunReplayFailure {
  ok: false
  /** The error of the earliest faulty event. */
  error: RunError
  /** The state before that event, which is the last valid one. `null` if there is none. */
  state: RunState | null
  /** As in {@link RunReplaySuccess}. */
  warnings: string[]
}

/** The result of a replay, discriminated by `ok`. */
export type RunReplayResult = RunReplaySuccess | RunReplayFailure

/** Options of {@link replayRun}. */
export interface RunReplayOptions {
  /**
   * Begin with a snapshot: the one with this id (`snap_<logical time>`), the one in this file (`snap_<logical time>.cath-snap`, in any directory; a
   * name without a directory is that of one of the run's own), or the newest. If it can't be used (missing, damaged, of another run, not signed by
   * a trusted key, later than `until`), there is a warning, and the replay begins with the run's next older snapshot, or at the beginning if there
   * is none. Default: the beginning.
   */
  fromSnapshot?: string | 'latest' | undefined
  /** Logical time of the last event to apply. If it is `Infinity` or beyond the end, all events are applied, which is the default. */
  until?: number | undefined
  /**
   * How much of the replayed events is verified:
   *
   * - `'none'`: each line is in canonical form, in its place and has all fields, and the state allows the event.
   * - `'chain'` (default): also the hashes of each line and payload. Any changed byte of the log is detected.
   * - `'full'`: also the hash of the state after each event, the scheduler's decisions, the outputs of tools, and stored blobs.
   */
  verify?: 'none' | 'chain' | 'full' | undefined
  /**
   * Ed25519 public keys in PEM (SPKI), as Node's `crypto` exports them. If there are any, a snapshot counts only if one of them signed it, or
   * signed the manifest of the bundle that contains it; a signed bundle counts only if one of them signed it. A partial bundle whose snapshot does
   * not count can't be replayed: `SnapshotInvalid`. Default: none, so that signatures are not checked.
   */
  trustedKeys?: string[] | undefined
  /**
   * `path` is the directory of a bundle that {@link verifyBundle} found to be fine, or that {@link importBundle} made, and has not been changed since:
   * it is not verified again. Default: `false`.
   */
  verifiedBundle?: boolean | undefined
  /** Aborting it stops the work; the promise rejects with the signal's `reason`. */
  signal?: AbortSignal | undefined
  /** Called on the JavaScript thread periodically while a large log is read, and once at the end with the total. */
  onProgress?: ((progress: Progress) => void) | undefined
}

/** The result of one of the checks of {@link verifyRun}. */
export interface Check {
  /** Number of items that were checked, including those that failed. */
  checked: number
  /** Number of checked items that failed. */
  failed: number
  /** Number of items that could not be checked, because there is no state, or the required data is missing or was redacted. */
  unverifiable: number
  /** The error of the earliest failed item. Absent if none failed. */
  firstFailure?: RunError
}

/**
 * Result of {@link verifyRun}. A flag is `true` only if something was checked, nothing failed and nothing was unverifiable: a run
 * without tools has `outputHashesMatch: false`, and `outputHashes.checked` says why.
 */
export interface RunVerification {
  /** The log is complete and no check failed or was unverifiable. A run without outputs or snapshots can be `ok`. */
  ok: boolean
  /** `workflow.json` compiles to the bytes of `dag.json`, whose hash RunCreated names, and has the name and version that RunCreated gives. */
  dagMatch: boolean
  /** Each TaskAssigned is the decision of the run's scheduler in the state before it; with `external`, it was a legal transition. */
  scheduleMatch: boolean
  /** The state after each event has the recorded hash. */
  stateHashesMatch: boolean
  /** The raw blob of each ToolCompleted matches `rawHash`, and its normalised form `outputHash`. */
  outputHashesMatch: boolean
  /**
   * The check of the lines: their form, place and hashes, and whether the state allows their events. Unverifiable: complete lines after a hole in
   * the log.
   */
  chain: Check
  /** The check behind `dagMatch`: one item for the run. Unverifiable without `workflow.json`. */
  dag: Check
  /** The check behind `scheduleMatch`: one item per TaskAssigned. */
  schedule: Check
  /** The check behind `stateHashesMatch`: one item per event. A SnapshotRestored that claims another state than the one before it fails as well. */
  stateHashes: Check
  /** The check behind `outputHashesMatch`: one item per ToolCompleted. */
  outputHashes: Check
  /** The check of stored blobs: one item per BlobStored, whose blob must have its hash and its size. */
  blobs: Check
  /** The check of the snapshot files: whether a replay could begin with them. */
  snapshots: Check
}

/** Options of {@link verifyRun}. */
export interface RunVerifyOptions {
  /** As in {@link RunReplayOptions}: if there are any, each snapshot must be signed by one of them, or be in a bundle that is. */
  trustedKeys?: string[] | undefined
  /**
   * `path` is the directory of a bundle that {@link verifyBundle} found to be fine, or that {@link importBundle} made, and has not been changed since:
   * it is not verified again. Default: `false`.
   */
  verifiedBundle?: boolean | undefined
  /** Aborting it stops the work; the promise rejects with the signal's `reason`. */
  signal?: AbortSignal | undefined
  /** Called on the JavaScript thread periodically while a large log is read, and once at the end with the total. */
  onProgress?: ((progress: Progress) => void) | undefined
}

const DEPTHS = ['none', 'chain', 'full']

/**
 * Replays a run, and returns its state after the last event or after any other.
 *
 * Works off the JavaScript thread, in memory bounded by the state and a window of the log. An incomplete last line is not part
 * of the run, and not an error.
 *
 * A bundle is verified first, as by {@link verifyBundle}, including its signature with `trustedKeys`: only files that match its manifest are
 * replayed. An archive is unpacked to a temporary directory, which is removed before the promise settles (or shortly after, if it settles because
 * of an abort). `onProgress` then reports bytes of the bundle, half of them for its verification.
 *
 * @param path - The run's directory, or its bundle: see {@link exportBundle}.
 * @returns Resolves whatever the run contains: a damaged or unreadable run gives `ok: false` and a {@link RunError}. Rejects with the reason of an
 * aborted `options.signal`, with the error that `options.onProgress` throws, and for a bug in session-tape with an `Error` whose `code` is
 * `ERUNPANIC` and whose `cause` has the message of the addon; in no other case.
 * @throws TypeError - At once, if an argument is of the wrong type, or a trusted key is not a public key.
 *
 * @example
 * ```ts
 * import { replayRun } from 'session-tape';
 *
 * const run = await replayRun('no-such-run.cath-bundle', { fromSnapshot: 'latest' });
 * if (run.ok) {
 *   console.log(run.state.coordinator.completedNodes, 'after', run.eventCount, 'events');
 * } else {
 *   console.log(run.error.code); // ENOENT
 * }
 * ```
 */
export function replayRun(path: string, options: RunReplayOptions = NO_OPTIONS): Promise<RunReplayResult> {
  check.string(path, 'path')
  const {
    fromSnapshot,
    until,
    verify = 'chain',
    trustedKeys = [],
    verifiedBundle = false,
    signal,
    onProgress,
  } = checked(options, REPLAY_OPTIONS)
  const wanted: NativeRunReplayOptions = {
    fromSnapshot,
    until,
    verify,
    trustedKeys: trustedKeys.slice(),
    progress: onProgress !== undefined,
  }
  const start = (onReady: () => void) => native.startRunReplay(bundles, path, verifiedBundle, wanted, onReady)
  return runJob(RUN, start, { signal, onProgress })
}

/**
 * Verifies a run: recomputes everything that can be recomputed, and counts the differences from the recording.
 *
 * Continues after a failure where later checks are still meaningful. Works off the JavaScript thread, on two cores if available, in memory
 * bounded by the state and a window of the log.
 *
 * @param path - The run's directory, or its bundle: see {@link exportBundle}.
 * @returns Resolves whatever the run contains. For a run that can't be read, `chain.firstFailure` has the system's code. Rejects as
 * {@link replayRun} does.
 * @throws TypeError - At once, if an argument is of the wrong type, or a trusted key is not a public key.
 *
 * @example
 * ```ts
 * import { verifyRun } from 'session-tape';
 *
 * const { ok, chain } = await verifyRun('no-such-run.cath-bundle');
 * console.log(ok ? 'as it was recorded' : chain.firstFailure?.code); // ENOENT
 * ```
 */
export function verifyRun(path: string, options: RunVerifyOptions = NO_OPTIONS): Promise<RunVerification> {
  check.string(path, 'path')
  const { trustedKeys = [], verifiedBundle = false, signal, onProgress } = checked(options, VERIFY_OPTIONS)
  const keys = trustedKeys.slice()
  const start = (onReady: () => void) =>
    native.startRunVerification(bundles, path, verifiedBundle, keys, onProgress !== undefined, onReady)
  return runJob(RUN, start, { signal, onProgress })
}

const VERIFY_OPTIONS: Shape<RunVerifyOptions> = {
  ...WORK,
  verifiedBundle: 'boolean?',
  trustedKeys: unlessMissing(checkKeys),
}
const REPLAY_OPTIONS: Shape<RunReplayOptions> = {
  ...VERIFY_OPTIONS,
  fromSnapshot: 'string?',
  until: 'time?',
  verify: unlessMissing((depth, name) => check.oneOf(depth, name, DEPTHS)),
}
