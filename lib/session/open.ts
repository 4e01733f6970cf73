import { native } from '../addon.js'
import { NO_OPTIONS, type Shape, check, checked } from '../arguments.js'
import { SESSION, runJob } from '../binding/job.js'
import type { NativeBundles, NativeReplay, NativeReplayOptions } from '../binding/native.js'
import { hasOwn, withFields } from '../builtins.js'
import { Assembly, type ReplayDone } from './assembly.js'
import type { Checkpoint } from './checkpoints.js'
import { mapItems } from './item-map.js'
import type {
  IContent,
  ItemMap,
  SemanticMediaPurgeFrontier,
  SessionEventPayload,
  SessionForkedPayload,
} from './records.js'
import type { ReplayFailure, ReplaySuccess, SessionMetadata } from './replay-result.js'
import { type ReplayOptions, checkedOptions, replay } from './replay.js'
// Only for links in the comments.
import type { replaySession } from './replay.js'

/**
 * A session whose items are read on demand. Iterating it yields the whole history, in order, with one page in memory at a
 * time.
 */
export interface SessionHandle<C = IContent> extends AsyncIterable<C> {
  readonly metadata: SessionMetadata
  /** As in {@link ReplaySuccess}. */
  readonly lastSeq: number
  /** As in {@link ReplaySuccess}. */
  readonly eventCount: number
  /** As in {@link ReplaySuccess}. */
  readonly warnings: string[]
  /** As in {@link ReplaySuccess}. */
  readonly sessionEvents: SessionEventPayload[]
  /** As in {@link ReplaySuccess}. */
  readonly sequenceCorrupt: boolean
  /** As in {@link ReplaySuccess}. */
  readonly checkpoints: Checkpoint[]
  /** As in {@link ReplaySuccess}. */
  readonly sessionName?: string | null
  /** As in {@link ReplaySuccess}. */
  readonly ancestry?: SessionForkedPayload
  /** As in {@link ReplaySuccess}. */
  readonly semanticMediaPurgeFrontier?: SemanticMediaPurgeFrontier
  /** As in {@link ReplaySuccess}. */
  readonly unknownEvents?: Record<string, number>
  /** Number of items in the history: the length of `history` that {@link replaySession} would return. */
  readonly historyLength: number
  /**
   * Reads the items from `from` up to, but not including, `to`; negative numbers count from the end, as in `Array.slice`.
   *
   * @param from - Default 0.
   * @param to - Default `historyLength`.
   * @returns The items. Rejects with an `Error` whose `code` is `ESESSIONCLOSED` after `close()`, or `ESESSIONREAD` if the file can no longer be
   * read or no longer has an item at that place. An edit in place that still parses is not detected.
   */
  items(from?: number, to?: number): Promise<C[]>
  /**
   * Yields the items from `from` up to, but not including, `to`, in order, counted as in {@link items}. Reads a page of at most a megabyte at a time, so
   * that the memory that it takes depends on the longest item only.
   *
   * @returns Throws, on the way, as {@link items} rejects.
   * @throws TypeError - At once, if an argument is of the wrong type.
   */
  rows(range?: { from?: number | undefined; to?: number | undefined }): AsyncGenerator<C, void, undefined>
  /** Releases the file and the memory, and removes the unpacked files of a bundle. Afterwards no items can be read; a second call does nothing. */
  close(): void
}

/** A session that {@link openSession} has opened. */
export type OpenedSession<C = IContent> = SessionHandle<C>

/** How many items an iteration reads at a time, and how many bytes of them, as they are in the file; of a longer item, all. */
const PAGE = 100
const PAGE_BYTES = 1 << 20

/** Opens a session of checked arguments. Those who write to its file do not open sessions of other programs. @internal */
export async function open<C>(
  filePath: string,
  expectedProjectHash: string | undefined,
  options: ReplayOptions | undefined,
  foreign = true,
): Promise<{ ok: true; session: SessionHandle<C> } | ReplayFailure> {
  let opened: NativeReplay | undefined
  const map = options?.map
  const start = (bundles: NativeBundles, path: string, wanted: NativeReplayOptions, onReady: () => void) => {
    opened = native.openReplay(bundles, path, wanted, onReady)
    return opened.job()!
  }
  let isOpen = false
  try {
    const { result, historyLength, invalidated } = await replay<C>(
      start,
      filePath,
      expectedProjectHash,
      options,
      foreign,
    )
    if (!result.ok) return result
    isOpen = true
    return { ok: true, session: new OpenSession<C>(opened!, result, historyLength, map, invalidated) }
  } finally {
    // An opening may be aborted after its replay has finished. The caller gets no handle then, and cannot close the file.
    if (!isOpen) opened?.close()
  }
}

/**
 * Opens a session without building its history: a CLI that shows the last items of a long session needs only those.
 *
 * The arguments, failures and rejections are those of {@link replaySession}. The unpacked files of an archive stay until `close()`,
 * until the handle is garbage-collected, or until the process ends other than by a signal.
 *
 * @returns A handle to close, or the failure.
 * @throws TypeError - At once, if an argument is of the wrong type.
 *
 * @example
 * ```ts
 * import { mkdtempSync } from 'node:fs';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { openSession, SessionRecordingService } from 'session-tape';
 *
 * const recorder = new SessionRecordingService({
 *   sessionId: 'a1b2c3d4-0001', projectHash: 'my-project', chatsDir: mkdtempSync(join(tmpdir(), 'chats-')),
 *   workspaceDirs: [process.cwd()], provider: 'acme', model: 'acme-large',
 * });
 * for (const text of ['one', 'two', 'three']) recorder.recordContent({ speaker: 'human', blocks: [{ type: 'text', text }] });
 * await recorder.dispose();
 *
 * const opened = await openSession(recorder.getFilePath()!, 'my-project');
 * if (!opened.ok) throw new Error(opened.error);
 * const lastTwo = await opened.session.items(-2);
 * console.log(lastTwo.length); // 2: of three
 * opened.session.close();
 * ```
 */
export function openSession<C = IContent>(
  filePath: string,
  expectedProjectHash?: string,
  options?: ReplayOptions,
): Promise<{ ok: true; session: SessionHandle<C> } | ReplayFailure> {
  return open(filePath, expectedProjectHash, checkedOptions(filePath, expectedProjectHash, options))
}

/** Makes the handle of an open replay. */
const OpenSession: new <C>(
  replay: NativeReplay,
  result: ReplaySuccess<C>,
  historyLength: number,
  map: ItemMap<C> | undefined,
  invalidated: number[],
) => SessionHandle<C> = class SessionHandle<C> {
  declare readonly metadata: SessionMetadata
  declare readonly lastSeq: number
  declare readonly eventCount: number
  declare readonly warnings: string[]
  declare readonly sessionEvents: SessionEventPayload[]
  declare readonly historyLength: number
  declare readonly sequenceCorrupt: boolean
  declare readonly checkpoints: Checkpoint[]
  declare readonly sessionName?: string | null
  declare readonly ancestry?: SessionForkedPayload
  declare readonly semanticMediaPurgeFrontier?: SemanticMediaPurgeFrontier
  declare readonly unknownEvents?: Record<string, number>
  #replay: NativeReplay | undefined
  #map: ItemMap<C> | undefined
  #invalidated: number[]

  constructor(
    replay: NativeReplay,
    result: ReplaySuccess<C>,
    historyLength: number,
    map: ItemMap<C> | undefined,
    invalidated: number[],
  ) {
    this.#replay = replay
    this.#map = map
    this.#invalidated = invalidated
    const { metadata, lastSeq, eventCount, warnings, sessionEvents, sequenceCorrupt, checkpoints } = result
    withFields(this, {
      metadata,
      lastSeq,
      eventCount,
      warnings,
      sessionEvents,
      historyLength,
      sequenceCorrupt,
      checkpoints,
    })
    if (hasOwn(result, 'sessionName')) withFields(this, { sessionName: result.sessionName })
    if (hasOwn(result, 'ancestry')) withFields(this, { ancestry: result.ancestry })
    const { semanticMediaPurgeFrontier, unknownEvents } = result
    if (semanticMediaPurgeFrontier !== undefined) withFields(this, { semanticMediaPurgeFrontier })
    if (unknownEvents !== undefined) withFields(this, { unknownEvents })
  }

  items(from?: number, to?: number): Promise<C[]> {
    check.optional(from, 'from', 'number')
    check.optional(to, 'to', 'number')
    const start = index(from, 0, this.historyLength)
    const end = index(to, this.historyLength, this.historyLength)
    return this.#read(start, Math.max(start, end))
  }

  async #read(start: number, end: number): Promise<C[]> {
    if (!this.#replay) throw closedError()
    const begin = (onReady: () => void) => {
      const job = this.#replay?.items(start, end, onReady) ?? null
      if (job === null) throw closedError()
      return job
    }
    const assembly = new Assembly<C>()
    const done = await runJob<ReplayDone>(SESSION, begin, { takeBatch: assembly.add })
    const read = assembly.result(done)
    if (!read.ok) throw readError(read.error)
    if (this.#map !== undefined) mapItems(assembly.history, this.#map, this.#invalidated, start)
    return assembly.history
  }

  close(): void {
    this.#replay?.close()
    this.#replay = undefined
  }

  [Symbol.asyncIterator](): AsyncGenerator<C, void, undefined> {
    return this.rows()
  }

  rows(range: { from?: number | undefined; to?: number | undefined } = NO_OPTIONS): AsyncGenerator<C, void, undefined> {
    const { from, to } = checked<typeof range>(range, ROWS, 'range')
    return this.#pages(index(from, 0, this.historyLength), index(to, this.historyLength, this.historyLength))
  }

  async *#pages(from: number, to: number): AsyncGenerator<C, void, undefined> {
    for (let start = from; start < to; ) {
      const end = this.#replay?.pageEnd(start, Math.min(start + PAGE, to), PAGE_BYTES) ?? start
      yield* await this.#read(start, end)
      start = end
    }
  }
}

const ROWS: Shape<{ from?: number | undefined; to?: number | undefined }> = { from: 'number?', to: 'number?' }

/** Resolves an index like `Array.prototype.slice`: negative ones count from the end, and the result is clamped. */
function index(value: number | undefined, otherwise: number, length: number): number {
  if (value === undefined) return otherwise
  const whole = Math.trunc(value) || 0
  return whole < 0 ? Math.max(0, length + whole) : Math.min(whole, length)
}

function closedError(): Error {
  return withFields(new Error('The session is closed: items can be read before close() only'), {
    code: 'ESESSIONCLOSED',
  })
}

function readError(message: string): Error {
  return withFields(new Error(message), { code: 'ESESSIONREAD' })
}
