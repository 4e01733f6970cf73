import fs = require('node:fs')
import { native } from '../addon.js'
import { NO_OPTIONS, type Shape, WORK, check, checked, expect } from '../arguments.js'
import { bundles } from '../binding/bundles.js'
import { SESSION, runJob } from '../binding/job.js'
import type { NativeBundles, NativeJob, NativeReplayOptions } from '../binding/native.js'
import type { Progress } from '../progress.js'
import { Assembly, type ReplayDone } from './assembly.js'
import { mapItems } from './item-map.js'
import type { IContent, ItemMap } from './records.js'
import type { ReplayResult } from './replay-result.js'
// Only for links in the comments.
import type { verifyBundle } from '../bundle/bundle.js'
import type { openSession } from './open.js'

/** Options of {@link replaySession} and {@link openSession}. */
export interface ReplayOptions {
  /**
   * Stop before the first event with a larger `seq`. The result is the session as it was at that point, for example to fork from it. Default: the
   * whole file.
   */
  throughSeq?: number | undefined
  /**
   * Apply stricter checks (replay rules 21 to 23). Default `false`.
   *
   * A line whose `v` is not 1 or 2 ends the replay (`Unsupported recording version V at line N`). A line whose `seq` is not a safe integer ≥ 0 is skipped (`Line N: malformed sequence number, skipping`) and not counted as an event;
   * `lastSeq` is the largest `seq` instead of the last; the `session_start` must have a `provider` and a `model`, which may be empty, and a
   * non-empty `startTime` (`Invalid session_start: missing or malformed required fields`); an item must have one of the three speakers and an array of `blocks`.
   */
  strict?: boolean | undefined
  /** Add `timestamp` and `seq` to each entry of `sessionEvents`. Default `false`. */
  auditTrail?: boolean | undefined
  /** Aborting it stops the work; the promise rejects with the signal's `reason`. */
  signal?: AbortSignal | undefined
  /** Applied to every item of a result. If it throws, the promise rejects with its error. */
  map?: ItemMap<any> | undefined
  /**
   * Which conversation of another program's session to read: the `sessionId` or `agentId` of one that `listConversations` lists. Needed if there are
   * several equal ones. Default: that of the file itself. A native session has none: with this option its replay fails with `No conversation X`.
   */
  conversation?: string | undefined
  /** Called on the JavaScript thread periodically while a large file is scanned, and once at the end with the total. */
  onProgress?: ((progress: Progress) => void) | undefined
}

/** Starts a job of the addon that replays. */
type Start = (
  bundles: NativeBundles,
  path: string,
  options: NativeReplayOptions,
  onReady: () => void,
) => NativeJob | Promise<NativeJob>

/**
 * Replays a session file.
 *
 * Resolves to a {@link ReplayResult} whatever the file contains, including torn, corrupt and foreign lines. For a file that can't be read, the
 * result is a failure with `error`, not a rejection. Reading happens off the JavaScript thread; memory is bounded by a buffer and the remaining
 * items, which are passed in batches between turns of the event loop. Strings of an item that are shorter than 4 KiB may share memory with those of
 * neighbouring items: keeping one of them keeps up to 256 KiB.
 *
 * Lines appended while the file is read are not part of the result. What is no regular file, such as a pipe (`/dev/stdin`, a named
 * pipe), a socket or a device, is a failure at once (`EINVAL`): write its content to a file first. An abort also ends reading a single line, however
 * long.
 *
 * A bundle is verified first, as by {@link verifyBundle}; an archive is unpacked to a temporary directory, which is removed before the promise
 * settles. `onProgress` then reports reading the session's file, not verifying or unpacking.
 *
 * The session of another program that `detectSessionFormat` knows is converted first (docs/agents.md), and replayed as what it becomes. `throughSeq`
 * counts the converted events, whose numbers depend only on the file's bytes. Warnings of the conversion come first in `warnings`.
 *
 * @typeParam C - The CLI's own content item. Not checked beyond a non-empty `speaker`; with `strict`, one of the three speakers and an array of
 * `blocks`.
 * @param filePath - The session file, a session's bundle, or a session of another program.
 * @param expectedProjectHash - Refuse a session of another project (`Project hash mismatch: …`). Default: any project.
 * @returns A result with `ok: false` if the file is missing or can't be replayed. Rejects with the reason of an aborted `options.signal`, with the error that `options.onProgress` throws, and for a bug in session-tape
 * with an `Error` whose `code` is `ESESSIONPANIC` and whose `cause` has the message of the addon; in no other case.
 * @throws TypeError - At once, if an argument is of the wrong type.
 *
 * @example
 * ```ts
 * import { replaySession } from 'session-tape';
 *
 * const replay = await replaySession('no-such-session.jsonl');
 * if (replay.ok) {
 *   console.log(replay.history.length, 'items of', replay.metadata.sessionId);
 * } else {
 *   console.log(replay.error); // Failed to read file: ENOENT: no such file or directory, open 'no-such-session.jsonl'
 * }
 * ```
 */
export function replaySession<C = IContent>(
  filePath: string,
  expectedProjectHash?: string,
  options?: ReplayOptions,
): Promise<ReplayResult<C>> {
  return replayAny(filePath, expectedProjectHash, checkedOptions(filePath, expectedProjectHash, options))
}

async function replayAny<C>(
  filePath: string,
  expectedProjectHash: string | undefined,
  options: ReplayOptions,
): Promise<ReplayResult<C>> {
  return (await replayWhole<C>(filePath, expectedProjectHash, options, true)).result
}

/**
 * A replay for those who write to the file.
 *
 * @internal
 */
export interface NativeReplayed<C> {
  result: ReplayResult<C>
  /** The joined hashes of the items, unless those were mapped. */
  hashes?: string | undefined
}

/**
 * Replays a session as {@link replaySession} does, but no session of another program: for those who write to the file.
 *
 * @internal
 */
export function replayNative<C>(
  filePath: string,
  expectedProjectHash: string,
  options: ReplayOptions,
): Promise<NativeReplayed<C>> {
  return replayWhole(filePath, expectedProjectHash, options, false)
}

async function replayWhole<C>(
  filePath: string,
  expectedProjectHash: string | undefined,
  options: ReplayOptions,
  foreign: boolean,
): Promise<NativeReplayed<C>> {
  const { result, invalidated, hashes } = await replay<C>(
    native.startReplay,
    filePath,
    expectedProjectHash,
    options,
    foreign,
  )
  if (options.map !== undefined && result.ok) mapItems(result.history, options.map, invalidated)
  return { result, hashes }
}

const REPLAY_OPTIONS: Shape<ReplayOptions> = {
  throughSeq(seq: unknown, name: string) {
    expect(seq === undefined || (typeof seq === 'number' && !Number.isNaN(seq)), name, 'a number, if it is given', seq)
  },
  auditTrail: 'boolean?',
  strict: 'boolean?',
  map: 'function?',
  conversation: 'string?',
  ...WORK,
}

/** Checks the arguments of a replay, and copies its options, which the caller may change while the file is read. @internal */
export function checkedOptions(
  filePath: string,
  expectedProjectHash: string | undefined,
  options: ReplayOptions = NO_OPTIONS,
): ReplayOptions {
  check.string(filePath, 'filePath')
  check.optional(expectedProjectHash, 'expectedProjectHash', 'string')
  return checked(options, REPLAY_OPTIONS)
}

/**
 * Replays a file. The arguments must be checked already; `start` is the addon's function that starts the job. Resolves to the result with its items
 * as they are in the file, and for an opened session also to the length of its history, which the result does not contain.
 *
 * @internal
 */
export async function replay<C>(
  start: Start,
  filePath: string,
  expectedProjectHash: string | undefined,
  options: ReplayOptions = NO_OPTIONS,
  foreign = true,
): Promise<NativeReplayed<C> & { historyLength: number; invalidated: number[] }> {
  const { signal, onProgress } = options
  if (signal?.aborted) throw signal.reason
  const assembly = new Assembly<C>()
  if (filePath.includes('\0')) {
    return {
      result: assembly.result(assembly.fail(`Failed to read file: ${openError(filePath)}`)),
      historyLength: 0,
      invalidated: [],
    }
  }
  const wanted = wantedOf(expectedProjectHash, options, foreign)
  const begin = (onReady: () => void) => start(bundles, filePath, wanted, onReady)
  const done = await runJob<ReplayDone>(SESSION, begin, { signal, onProgress, takeBatch: assembly.add })
  return {
    result: assembly.result(done),
    historyLength: done.historyLength ?? 0,
    invalidated: assembly.invalidated,
    hashes: assembly.hashes,
  }
}

/** The options for the addon. */
function wantedOf(
  projectHash: string | undefined,
  { throughSeq, auditTrail, strict, conversation, signal, onProgress, map }: ReplayOptions,
  foreign: boolean,
): NativeReplayOptions {
  return {
    projectHash,
    throughSeq,
    auditTrail: auditTrail === true,
    progress: onProgress !== undefined,
    stoppable: signal !== undefined,
    strict: strict === true,
    foreign,
    conversation,
    hashes: !foreign && map === undefined,
  }
}

/** Node's error message for a path with a NUL. */
function openError(filePath: string): string {
  try {
    fs.closeSync(fs.openSync(filePath, 'r'))
    return 'the path has a NUL'
  } catch (error) {
    return (error as Error).message
  }
}
