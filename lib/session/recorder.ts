import { native } from '../addon.js'
import { check, checkEach, checked, expect, NO_OPTIONS } from '../arguments.js'
import type { NativeBatch, NativeRecorder, NativeTail, RecorderGroup } from '../binding/native.js'
import { stringify, queueMicrotask, withFields } from '../builtins.js'
import type { SessionLock } from '../locks/handle.js'
import type { HeldLock } from '../locks/held-lock.js'
import { attempt, bindMethods } from '../methods.js'
import { OWNER_ONLY } from '../mode.js'
import type { RecordingWarning } from '../recording-warning.js'
import { timestamp } from '../timestamp.js'
import { turns, beginTurn } from '../turns.js'
import { Writing, type WriteFailure, ending, absolute, thisProcess, writeError } from '../writing.js'
import { DEFAULT_MAX_QUEUE_BYTES } from '../constants.js'
import type { Commits } from './commits.js'
import { expectLine } from './line-limit.js'
import { nameOf, startPayload } from './new-session.js'
import { Numbers } from './numbers.js'
import {
  type Commit,
  type ContentBatch,
  type Reconciliation,
  type SessionRecordingServiceConfig,
  checkConfig,
} from './recorder-config.js'
import type {
  ChronologyBindPayload,
  CompressionDetailPayload,
  DensityMutationPayload,
  IContent,
  SemanticMediaPurgeFrontier,
  SemanticMediaPurgePayload,
  SessionEventType,
  SessionForkedPayload,
  SessionRecordLine,
  SyntheticInsertPayload,
} from './records.js'
import { hostFailed, stopped } from './recorder-warnings.js'
import type { Streams } from './streams.js'
import { Watermark } from './watermark.js'
// Only for links in the comments.
import type { SessionLockedError } from '../locks/locked-error.js'
import type { RecordingError, RecordingWarningCode } from '../recording-warning.js'

const KNOWN_TYPES = new Map(
  ['content', 'compressed', 'rewind', 'provider_switch', 'session_event', 'directories_changed'].map((type, index) => [
    type,
    index,
  ]),
)
/** The types whose first record creates the file. */
const CREATING = new Set(['content', 'session_metadata', 'session_named', 'semantic_media_purge'])
const SEVERITIES = ['info', 'warning', 'error']

/** How long nothing may have been recorded before the recorder looks, first of all, whether its lock is still its own: the machine may have slept. */
const LOOK_AFTER_MS = 60 * 60 * 1000

const NO_BATCH = 'Cannot record content batch: recording is not active'

let disposedOf: (recorder: object) => Promise<void> | undefined
/**
 * Sets the history that the file of a recorder gives: that of a replay. The joined hashes of the items in the file are missing if the items were
 * mapped. @internal
 */
export let setHistoryOf: (recorder: object, items: readonly unknown[], hashes: string | undefined) => void

/**
 * Records one session to one append-only JSONL file.
 *
 * Recording is synchronous and cheap: the payload is serialised at once, exactly as `JSON.stringify` would, and
 * written by a background thread in batches. Nothing touches the disk before the first content, title or name, or a commit, so a session
 * without any leaves no file. A write error never throws into the CLI: it ends recording and calls
 * `onWarning` (recording rule 6).
 *
 * Enqueued records are written even if the process ends without `flush()` or `dispose()`. The recorder does not keep the process running.
 *
 * All methods can be called detached from the recorder: `const { recordContent } = recorder`.
 *
 * @typeParam C - The CLI's own content item.
 *
 * @example
 * ```ts
 * import { mkdtempSync, readFileSync } from 'node:fs';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { SessionRecordingService } from 'session-tape';
 *
 * const recorder = new SessionRecordingService({
 *   sessionId: 'a1b2c3d4-0001',
 *   projectHash: 'my-project',
 *   chatsDir: mkdtempSync(join(tmpdir(), 'chats-')),
 *   workspaceDirs: [process.cwd()],
 *   provider: 'acme',
 *   model: 'acme-large',
 *   onWarning: (warning) => console.error('not recording any more:', warning.message),
 * });
 * recorder.recordContent({ speaker: 'human', blocks: [{ type: 'text', text: 'Hello' }] });
 * await recorder.flush();
 * const lines = readFileSync(recorder.getFilePath()!, 'utf8').trimEnd().split('\n');
 * console.log(lines.length); // 2: session_start and content
 * await recorder.dispose();
 * ```
 */
export class SessionRecordingService<C = IContent> {
  static {
    disposedOf = (recorder) => (#disposed in recorder ? recorder.#disposed : undefined)
    setHistoryOf = (recorder, items, hashes) => {
      if (!(#native in recorder)) return
      if (hashes !== undefined) reconciling().noteHashes(items, hashes)
      recorder.#recorded = undefined
      recorder.#native.setHistory(hashes ?? reconciling().hashesOf(items, 'map(item)'))
    }
  }

  #native: NativeRecorder
  /** Records an event of a known type. */
  #record: ReturnType<NativeRecorder['recording']>
  #writing: Writing<NativeRecorder>
  #config: Pick<SessionRecordingServiceConfig, 'sessionId' | 'projectHash' | 'chatsDir'>
  /** False after `dispose` and after the warning about a failure. */
  #active = true
  #title: string | null | undefined
  /** The turn of the event loop in which the last event was recorded. */
  #turn = -1
  #lock: SessionLock | null = null
  /** The lock behind the handle, unless a caller has made that. */
  #heldLock: HeldLock | undefined
  #recordedAt = NaN
  #disposed: Promise<void> | undefined
  #maxQueueBytes: number
  /** Whether what does not fit into the queue is refused. */
  #refusesBeyond: boolean
  /** The record that is about to be recorded must fit into the queue. */
  #isLimited = false
  #watermark = new Watermark((cause) => this.#hostFailed('ObserverFailed', cause))
  /** The beginning of the file, until its provider and model are resolved. */
  #start: { payload: string; now: number; resolve: () => unknown } | undefined
  /** The records that are written in parts. */
  #streams: Streams | undefined
  /** Flushes that have not settled. */
  #flushes = 0
  /** The items of the batch that was published last. */
  #batch: object | undefined
  /** Another one for each file. */
  #file = {}
  #commits: Commits | undefined
  #numbers = new Numbers()
  #failure: WriteFailure | undefined
  /** The numbers of the records of items, until the history of the file is known. */
  #recorded: WeakMap<object, number> | undefined = new WeakMap()

  /**
   * Locks the session, then constructs a recorder of the class that it is called on. The recorder holds the lock until {@link dispose}.
   *
   * @returns Rejects with a {@link SessionLockedError} if the session is locked already, with the system's error if the lock cannot be
   * created, and with a `TypeError` for an invalid configuration. A rejection leaves no lock behind.
   */
  static async createLocked<S extends SessionRecordingService<any>>(
    this: new (
      config: SessionRecordingServiceConfig,
    ) => S,
    config: SessionRecordingServiceConfig,
  ): Promise<S> {
    checkConfig(config)
    const { acquireSessionLock } = require('../locks/session-lock.js') as typeof import('../locks/session-lock.js')
    const lock = await acquireSessionLock(config.chatsDir, config.sessionId)
    try {
      const recorder = new this(config)
      recorder.adoptLock(lock)
      return recorder
    } catch (error) {
      await lock.release()
      throw error
    }
  }

  /**
   * Buffers `session_start`; does not access the disk.
   *
   * @throws TypeError - If a field of `config` is missing or of the wrong type; the message names it.
   */
  constructor(config: SessionRecordingServiceConfig) {
    checkConfig(config)
    const { sessionId, projectHash, chatsDir, onWarning, durability, exclusive, mode } = config
    this.#maxQueueBytes = config.maxQueueBytes ?? DEFAULT_MAX_QUEUE_BYTES
    this.#refusesBeyond = config.onQueueLimit === 'throw'
    const now = Date.now()
    const { nameHasSeconds, idPrefix } = nameOf(config)
    const payload = startPayload(config, timestamp(now))
    if (config.resolveProviderModel !== undefined) this.#start = { payload, now, resolve: config.resolveProviderModel }
    this.#config = { sessionId, projectHash, chatsDir }
    bindMethods(this, METHODS)
    const open = (group: RecorderGroup, id: number) =>
      new native.NativeRecorder(group, {
        id,
        chatsDir: absolute(chatsDir),
        nameHasSeconds,
        idPrefix,
        mode: mode ?? OWNER_ONLY,
        fsync: durability === 'fsync',
        exclusiveOwner: exclusive ? thisProcess() : undefined,
        hasSeam: config.appendFile !== undefined,
        startPayload: payload,
        now,
      })
    this.#writing = new Writing(open, onWarning, (failure) => this.#failed(failure), config.appendFile)
    this.#native = this.#writing.recorder
    this.#record = this.#native.recording()
    if (config.onCommitWatermark !== undefined) this.#listen(config.onCommitWatermark)
  }

  /**
   * Records an event of any type, whether or not replay knows it. `content`, `session_metadata`, `session_named` and `semantic_media_purge` create
   * the file if there is none yet; events of other types wait for it.
   *
   * The payload is serialised synchronously: changing the object afterwards has no effect on the file.
   *
   * @param type - A non-empty string.
   * @param payload - A value that `JSON.stringify` accepts.
   * @returns The record as it is in the file, except that its `payload` is the object that was passed in. `null` if the recorder is not active or
   * the file cannot be created. If there is no file yet, a later {@link initializeForResume} renumbers the record, but not this object.
   * @throws TypeError - If `type` is not a non-empty string, or if `JSON.stringify` throws (for a cycle or a BigInt), with its error. No `seq` is
   * used up then.
   * @throws Error - With the code `RecordTooLong`, if the line would be longer than 536,870,888 bytes, the longest that a replay reads; a text that
   * is too long for a string is the `RangeError` of `JSON.stringify`. No `seq` is used up.
   */
  enqueue(type: SessionEventType | (string & {}), payload: unknown): SessionRecordLine | null {
    if (!this.#active) return null
    check.filledString(type, 'type')
    const isLimited = this.#isLimited && type === 'content'
    this.#isLimited = false
    const text = stringify(payload)
    expectLine(type, text)
    const known = KNOWN_TYPES.get(type)
    const now = Date.now()
    const limited = isLimited ? this.#expectRoom(this.#native.prepare([text], now)) : undefined
    if (this.#start !== undefined && CREATING.has(type)) this.#resolveStart()
    if (this.#heldLock !== undefined) this.#expectLock(now)
    if (this.#turn !== turns.current) this.#turn = beginTurn(this.#native)
    const told =
      limited !== undefined
        ? this.#native.recordPrepared(limited, now, false)
        : known === undefined
          ? this.#native.recordOther(stringify(type), text, now)
          : this.#record(known, text, now)
    if (ending.hasBegun) this.#writing.warn()
    if (told === told) {
      // The number of a line of version 2 comes as a negative one.
      const line: SessionRecordLine = {
        v: told < 0 ? 2 : 1,
        seq: told < 0 ? -told : told,
        ts: timestamp(now),
        type: type as SessionEventType,
        payload,
      }
      if (this.#numbers.isWaiting) this.#noteWaiting(line)
      return line
    }
    // The file could not be created. `enqueue` does not throw for that, and must not call `onWarning` synchronously.
    queueMicrotask(() => this.#writing.warn())
    return null
  }

  #noteWaiting(line: SessionRecordLine): void {
    if (this.#isStreaming() || this.#native.path() === null) this.#numbers.note(line)
    else this.#beginFile()
  }

  /** What waited for the file's creation waits no longer, if it was created. */
  #noteFile(): void {
    if (this.#numbers.isWaiting && !this.#isStreaming() && this.#native.path() !== null) this.#beginFile()
  }

  /** The file exists, and nothing waits for a record that is written in parts. */
  #beginFile(): void {
    this.#numbers.end()
    this.#commits?.begin()
  }

  /** The numbers of what waits change by `shift`, those beyond `after`. */
  #renumber(shift: number, after = -Infinity): void {
    this.#numbers.change(shift, after)
    this.#commits?.renumber(shift, after)
  }

  /**
   * Records an event as {@link enqueue} does, and resolves when it is in the file or, with `durability: 'fsync'`, on stable storage. Commits of one
   * turn of the event loop share one write. An event of any type creates the file if there is none yet, with what was recorded before it.
   *
   * While more than `maxQueueBytes` of the configuration wait to be written, the record waits for room; it gets its number, and its place among the
   * records of {@link enqueue}, only then. Commits keep their order. The payload is serialised at once.
   *
   * The promise holds the process open.
   *
   * @param type - A non-empty string.
   * @param payload - A value that `JSON.stringify` accepts.
   * @returns The record's number and the end of its line. Promises of commits resolve in the order of the numbers, each in a microtask of its own.
   * Rejects with a {@link RecordingError} if the record could not be written, for whatever reason; then all later commits reject likewise. Rejects
   * with an `Error` if the recorder was disposed of before.
   * @throws TypeError - At once, as {@link enqueue}.
   *
   * @example
   * ```ts
   * import { mkdtempSync, statSync } from 'node:fs';
   * import { tmpdir } from 'node:os';
   * import { join } from 'node:path';
   * import { SessionRecordingService } from 'session-tape';
   *
   * const recorder = new SessionRecordingService({
   *   sessionId: 'a1b2c3d4-0001', projectHash: 'my-project', chatsDir: mkdtempSync(join(tmpdir(), 'chats-')),
   *   workspaceDirs: [process.cwd()], provider: 'acme', model: 'acme-large',
   * });
   * const { seq, byteOffset } = await recorder.commit('content', { content: { speaker: 'human', blocks: [] } });
   * console.log(seq, byteOffset === statSync(recorder.getFilePath()!).size); // 2 true
   * await recorder.dispose();
   * ```
   */
  commit(type: SessionEventType | (string & {}), payload: unknown): Promise<Commit> {
    check.filledString(type, 'type')
    const text = stringify(payload)
    expectLine(type, text)
    if (!this.#active) return Promise.reject(this.#refusal())
    return this.#acknowledgements().commit(type, text)
  }

  /**
   * Resolves when a record that {@link enqueue} returned is in the file, as {@link commit} does; at once if it is already. A record that waits for the
   * file's creation goes on waiting, and holds no process open.
   *
   * @param line - A record of this recorder and its current file. `null`, which `enqueue` returns when recording has ended, rejects.
   * @returns As {@link commit}. Rejects with an `Error` if the recorder has no such record.
   * @throws TypeError - If `line` is neither an object with a number `seq`, nor `null`.
   */
  waitForCommit(line: SessionRecordLine | null): Promise<Commit> {
    if (line === null) return this.#active ? this.#acknowledgements().wait(Infinity) : Promise.reject(this.#refusal())
    check.object(line, 'line')
    check.finiteNumber(line.seq, 'line.seq')
    const seq = this.#numbers.of(line)
    if (!this.#native.hasRecorded(seq))
      return Promise.reject(new Error(`The recorder has no record with the seq ${line.seq} in its file`))
    const byteOffset = this.#native.lineEnd(seq)
    // While it records, in the order of the other waits of the turn.
    if (byteOffset === byteOffset && !this.#active && this.#commits === undefined)
      return Promise.resolve({ seq, byteOffset })
    if (!this.#active && byteOffset !== byteOffset) return Promise.reject(this.#refusal())
    return this.#acknowledgements().wait(seq)
  }

  /**
   * Resolves when the record with this number is in the file, as {@link waitForCommit} does.
   *
   * @param seq - That of a record of this recorder and its current file, or of the session that it has resumed: then it resolves at once, and
   * `byteOffset`
   * is NaN, because this recorder has not written it.
   * @returns As {@link commit}. Rejects with an `Error` if the recorder has no such record, also if it is rolled back meanwhile.
   * @throws TypeError - If `seq` is not a safe integer ≥ 0.
   */
  waitForCommitSequence(seq: number): Promise<Commit> {
    check.safeCount(seq, 'seq')
    const isBefore = seq > 0 && this.#native.path() !== null && seq <= this.#native.followedNumber()
    return isBefore ? Promise.resolve({ seq, byteOffset: NaN }) : this.waitForCommit({ seq } as SessionRecordLine)
  }

  /** The number of the last record that was enqueued, whether or not it is in the file; 1 for a new session, the `lastSeq` of a resumed one. */
  getLastEnqueuedSequence(): number {
    return this.#native.lastNumber()
  }

  /**
   * Calls `listener` as the option of this name of the configuration is called: after each batch, with the last record that is in the file. The
   * first call may be for a batch that was written before. A listener that throws does not keep others from being called, and is reported as the option is: the
   * first failure of any observer, once.
   *
   * @returns Ends that. A listener that was passed twice is called twice.
   * @throws TypeError - If `listener` is not a function.
   */
  onCommitWatermark(listener: (commit: Commit) => void): () => void {
    expect(typeof listener === 'function', 'listener', 'a function', listener)
    return this.#listen(listener)
  }

  #listen(listener: (commit: Commit) => void): () => void {
    const remove = this.#watermark.add(listener)
    this.#acknowledgements().observe()
    return remove
  }

  #acknowledgements(): Commits {
    if (this.#commits === undefined) {
      const { Commits } = require('./commits.js') as typeof import('./commits.js')
      const observed = (commit: Commit): void => this.#watermark.call(commit)
      const record = (type: string, text: string): number | null => this.#recordWatched(type, text)
      const hasFile = (): boolean => !this.#numbers.isWaiting || this.#native.path() !== null
      this.#commits = new Commits({ native: this.#native, record, hasFile, observed })
      this.#writing.commits = this.#commits
    }
    return this.#commits
  }

  #recordWatched(type: string, text: string): number | null {
    const now = Date.now()
    this.#resolveStart()
    if (this.#heldLock !== undefined) this.#expectLock(now)
    // Its acknowledgement comes in a later turn, which ends this one.
    const seq = this.#native.recordWatched(stringify(type), text, now, ending.hasBegun ? Infinity : this.#maxQueueBytes)
    if (ending.hasBegun) this.#writing.warn()
    if (seq !== null && seq !== seq) queueMicrotask(() => this.#writing.warn())
    this.#noteFile()
    return seq
  }

  /** Recording goes on, although a function of the host has failed. */
  #hostFailed(code: 'ObserverFailed' | 'ProviderModelFailed', cause: unknown): void {
    this.#writing.callOnWarning(hostFailed(code, cause, this.getFilePath()))
  }

  /** Throws if a batch has no room in the queue. */
  #expectRoom(batch: NativeBatch): NativeBatch {
    const [pending, added] = this.#native.weigh(batch) as [number, number]
    if (pending + added <= this.#maxQueueBytes) return batch
    const message = `Session recording queue byte limit exceeded: ${pending} + ${added} > ${this.#maxQueueBytes}`
    throw withFields(new Error(message), { code: 'QueueLimitExceeded' })
  }

  /** What comes before anything is recorded, but for `enqueue`, which does the same in line. Returns the time. */
  #begin(): number {
    this.#resolveStart()
    const now = Date.now()
    if (this.#heldLock !== undefined) this.#expectLock(now)
    if (this.#turn !== turns.current) this.#turn = beginTurn(this.#native)
    return now
  }

  /** Before a record that creates the file: its first line has the provider and the model of this moment. */
  #resolveStart(): void {
    const start = this.#start
    if (start === undefined || !this.#native.isActive()) return
    this.#start = undefined
    const { resolved } = require('./provider-model.js') as typeof import('./provider-model.js')
    const { payload, failure } = resolved(start.payload, start.resolve)
    if (failure === undefined) return this.#native.setStart(payload, start.now)
    const warn = (): void => this.#hostFailed('ProviderModelFailed', failure.cause)
    // Recording must not call it synchronously; at the end of the process nothing comes later.
    if (ending.hasBegun) warn()
    else queueMicrotask(warn)
  }

  /** Whether the program waits for what was recorded. Not whether the writer is at work: that would depend on how fast it is. */
  #isDraining(): boolean {
    return (
      this.#flushes > 0 ||
      this.#streams?.isPending() === true ||
      this.#writing.isAppending ||
      this.#commits?.isAwaiting() === true
    )
  }

  /** Why nothing more is recorded. */
  #refusal(): Error {
    return this.#failure === undefined ? new Error('Cannot commit: recording is not active') : writeError(this.#failure)
  }

  /**
   * Records a `content`. The first one creates the file (recording rule 3).
   *
   * @throws TypeError - If `content` is not an object; and as {@link enqueue}.
   * @throws Error - `Session recording queue byte limit exceeded: PENDING + NEW > LIMIT`, with the code `QueueLimitExceeded`, with
   * `onQueueLimit: 'throw'`. Nothing is recorded then, and no number used up.
   */
  recordContent(content: C): void {
    check.object(content, 'content')
    const payload = { content }
    this.#isLimited = this.#refusesBeyond
    let line: SessionRecordLine | null
    try {
      line = this.enqueue('content', payload)
    } finally {
      this.#isLimited = false
    }
    // A subclass may have recorded something else.
    if (line?.payload === payload) this.#recorded?.set(content as object, line.seq)
  }

  /**
   * Serialises items that are to be recorded together, as {@link recordContent} would record each, or not at all: a program that changes its own
   * state
   * with them can take both back.
   *
   * @throws Error - `Cannot record content batch: recording is not active`; `Cannot record content batch while recording is draining` while the
   * promise of a flush, a commit, a wait for one or a purge from a stream has not settled, or `appendFile` of the configuration runs. Records that
   * are enqueued, and no promise waits for, do not matter, whether or not they are written.
   * `Session recording queue byte limit exceeded: PENDING + NEW > LIMIT`, whatever `onQueueLimit` is.
   * @throws TypeError - If `items` is not an array of objects; and as {@link enqueue}.
   *
   * @example
   * ```ts
   * import { mkdtempSync } from 'node:fs';
   * import { tmpdir } from 'node:os';
   * import { join } from 'node:path';
   * import { SessionRecordingService } from 'session-tape';
   *
   * const recorder = new SessionRecordingService({
   *   sessionId: 'a1b2c3d4-0001', projectHash: 'my-project', chatsDir: mkdtempSync(join(tmpdir(), 'chats-')),
   *   workspaceDirs: [process.cwd()], provider: 'acme', model: 'acme-large',
   * });
   * const batch = recorder.prepareContentBatch([{ speaker: 'human', blocks: [] }, { speaker: 'ai', blocks: [] }]);
   * batch.publish();
   * console.log(recorder.getLastEnqueuedSequence()); // 3
   * batch.rollback();
   * console.log(recorder.getLastEnqueuedSequence(), recorder.getFilePath()); // 1 null
   * await recorder.dispose();
   * ```
   */
  prepareContentBatch(items: readonly C[]): ContentBatch {
    expect(Array.isArray(items), 'items', 'an array', items)
    checkEach(items, 'items', check.object)
    if (!this.isActive()) throw new Error(NO_BATCH)
    if (this.#isDraining()) throw new Error('Cannot record content batch while recording is draining')
    const of = items.slice() as (C & object)[]
    const texts = of.map((content) => stringify({ content }))
    texts.forEach((text) => expectLine('content', text))
    const batch = this.#expectRoom(this.#native.prepare(texts, Date.now()))
    const { contentBatch } = require('./content-batch.js') as typeof import('./content-batch.js')
    const file = this.#file
    let last = NaN
    return contentBatch({
      publish: () => {
        if (this.#file !== file)
          throw new Error('Cannot publish content batch: another file was resumed after it was prepared')
        last = this.#publish(batch, of)
      },
      rollBack: () => this.#rollBack(last, of),
      finalize: () => {
        if (this.#batch === of) this.#native.finalize(last)
        this.#noteFile()
      },
    })
  }

  /** Returns the number of the last item. */
  #publish(batch: NativeBatch, items: readonly object[]): number {
    if (!this.isActive()) throw new Error(NO_BATCH)
    if (this.#refusesBeyond) this.#expectRoom(batch)
    if (items.length === 0) return NaN
    const told = this.#native.recordPrepared(batch, this.#begin(), true)
    if (ending.hasBegun) this.#writing.warn()
    if (told !== told) {
      queueMicrotask(() => this.#writing.warn())
      throw new Error(NO_BATCH)
    }
    const first = Math.abs(told) - items.length + 1
    items.forEach((item, index) => this.#recorded?.set(item, first + index))
    this.#batch = items
    return Math.abs(told)
  }

  #rollBack(last: number, items: readonly object[]): void {
    if (items.length === 0) return
    // Another batch may end with the same number, after this one was rolled back or in another file.
    const why = this.#batch === items ? this.#native.rollBack(last) : 'another record was recorded after it'
    if (why !== null) throw new Error(`Cannot roll back content batch: ${why}`)
    items.forEach((item) => this.#recorded?.delete(item))
    this.#commits?.takeBack(this.#native.lastNumber())
  }

  /**
   * Records that the history was replaced by a summary.
   *
   * @param itemsCompressed - Number of items that the summary replaces; a finite number.
   * @throws TypeError - If an argument is of the wrong type; and as {@link enqueue}.
   */
  recordCompressed(summary: C, itemsCompressed: number): void {
    check.object(summary, 'summary')
    check.finiteNumber(itemsCompressed, 'itemsCompressed')
    this.enqueue('compressed', { summary, itemsCompressed })
  }

  /**
   * Records that the last items of the history were removed.
   *
   * @param itemsRemoved - A finite number ≥ 0.
   * @param cutSeq - The key of the first item that was removed: if the history has an item with this key, it is cut before it, whatever
   * `itemsRemoved` is. A safe integer ≥ 0.
   * @throws TypeError - If an argument is anything else.
   */
  recordRewind(itemsRemoved: number, cutSeq?: number): void {
    check.count(itemsRemoved, 'itemsRemoved')
    if (cutSeq !== undefined) check.safeCount(cutSeq, 'cutSeq')
    this.enqueue('rewind', cutSeq === undefined ? { itemsRemoved } : { itemsRemoved, cutSeq })
  }

  /**
   * Records that items were removed or replaced by their keys. A replacement gets the marker of the item that it replaces.
   *
   * @throws TypeError - If a key is not a safe integer ≥ 0, or a replacement not an object; and as {@link enqueue}.
   */
  recordDensityChange(change: DensityMutationPayload<C>): void {
    this.enqueue('density_mutation', edits().densityMutation(change))
  }

  /**
   * Records that an item was inserted after the first one with the key `afterSeq`. Replay skips the record if no item has that key.
   *
   * @throws TypeError - If a key is not a safe integer ≥ 0, or `content` not an object; and as {@link enqueue}.
   */
  recordSyntheticInsert(insert: SyntheticInsertPayload<C>): void {
    this.enqueue('synthetic_insert', edits().syntheticInsert(insert))
  }

  /**
   * Records what a compression covered. The history does not change.
   *
   * @throws TypeError - If a field is not a finite number.
   */
  recordCompressionDetail(detail: CompressionDetailPayload): void {
    this.enqueue('compression_detail', edits().compressionDetail(detail))
  }

  /**
   * Records that the item at an index got a marker, and `content` in its place if that is given. Replay skips the record if the history has no such
   * index.
   *
   * @throws TypeError - If a number is not a safe integer ≥ 0, or another field of the wrong type; and as {@link enqueue}.
   */
  recordChronologyBind(bind: ChronologyBindPayload<C>): void {
    this.enqueue('chronology_bind', edits().chronologyBind(bind))
  }

  /**
   * Records that media were purged from the history, which became `history`. Creates the file if there is none yet. The line has version 2: a
   * program that does not know the event refuses the session instead of resuming it with a wrong history.
   *
   * @throws TypeError - If `history` is not an array of objects, or `frontier` is not in it; and as {@link enqueue}.
   */
  recordSemanticMediaPurge(history: readonly C[], frontier: SemanticMediaPurgeFrontier): void
  /** The same, with history and frontier as one object. */
  recordSemanticMediaPurge(purge: SemanticMediaPurgePayload<C>): void
  recordSemanticMediaPurge(
    purge: SemanticMediaPurgePayload<C> | readonly C[],
    frontier?: SemanticMediaPurgeFrontier,
  ): void {
    this.enqueue('semantic_media_purge', edits().semanticMediaPurge(purge, frontier))
  }

  /**
   * Records the same from a stream, which is never held: the line is written in pieces of at most 256 KiB. The record has its number and its place,
   * and creates the file, when this is called. What is recorded afterwards gets its number at once and waits, also another record from a stream; so
   * do {@link flush} and commits. Unlike that, nothing is written of a record that is not completed: if the stream throws or is aborted, the file
   * is cut back to the record before, or removed if this record has made it and nothing else needs it, and what has waited moves up by one number
   * ({@link waitForCommit} follows it). {@link dispose} waits for the rows, and aborts the record if none has come for 2 s. If the process is killed
   * meanwhile, the file has a torn last line; what waits is lost then, and written if the process ends in another way.
   *
   * @param rows - The items of the history. A synchronous iterable will do.
   * @param frontier - A block of the history, or 0 and 0 if it is empty.
   * @param options - `signal` aborts the record, also the wait for the next row.
   * @returns Resolves as {@link commit}. Rejects with what the stream throws; with the signal's reason; with a `TypeError` if a row is not an object
   * or `frontier` is not in the history; with an `Error` with the code `RecordTooLong` if the line would be longer than 536,870,888 bytes, the
   * longest that a replay reads; with a {@link RecordingError} if writing fails, which ends the recording; with an `Error` if the recorder is not active,
   * or is disposed of before the record is complete.
   * @throws TypeError - If an argument is of the wrong type.
   */
  recordSemanticMediaPurgeRows(
    rows: AsyncIterable<C> | Iterable<C>,
    frontier: SemanticMediaPurgeFrontier,
    options: { signal?: AbortSignal | undefined } = NO_OPTIONS,
  ): Promise<Commit> {
    const { checkRows, checkFrontier, writePurge } = require('./purge-rows.js') as typeof import('./purge-rows.js')
    checkRows(rows)
    const at = checkFrontier(frontier)
    const { signal } = checked<{ signal?: AbortSignal | undefined }>(options, { signal: 'signal?' })
    if (!this.#active) return Promise.reject(this.#refusal())
    if (this.#streams === undefined) this.#streams = this.#newStreams()
    return this.#streams.record('semantic_media_purge', signal, (line, ending) => writePurge(rows, at, ending, line))
  }

  #newStreams(): Streams {
    const { Streams } = require('./streams.js') as typeof import('./streams.js')
    return new Streams({
      native: this.#native,
      begin: (type) => this.#beginStream(type),
      flush: () => this.#writing.flush(),
      wait: (seq, settling) => this.#acknowledgements().waitWith(seq, settling),
      ended: (seq, keepsNumber) => this.#endStream(seq, keepsNumber),
      refusal: () => {
        this.#writing.warn()
        return this.#refusal()
      },
    })
  }

  #isStreaming(): boolean {
    return this.#streams?.isRunning() === true
  }

  #beginStream(type: string): number | null {
    const seq = this.#native.beginStream(stringify(type), this.#begin())
    if (seq !== null) this.#numbers.begin()
    return seq
  }

  /** What has waited for the record is about to be written, or waits for the file again that the record has not made after all. */
  #endStream(seq: number, keepsNumber: boolean): void {
    if (!keepsNumber) {
      this.#renumber(-1, seq)
      this.#recorded &&= new WeakMap()
    }
    this.#noteFile()
    this.#turn = beginTurn(this.#native)
    this.#writing.settle()
  }

  /**
   * Records that another provider or model answers from here on.
   *
   * @param provider - Non-empty.
   * @param model - If empty, the model does not change.
   * @throws TypeError - If `provider` is not a non-empty string, or `model` is not a string.
   */
  recordProviderSwitch(provider: string, model: string): void {
    check.filledString(provider, 'provider')
    check.string(model, 'model')
    this.enqueue('provider_switch', { provider, model })
  }

  /**
   * Records a note about the session, which replay does not add to the history.
   *
   * @throws TypeError - If an argument is of the wrong type.
   */
  recordSessionEvent(severity: 'info' | 'warning' | 'error', message: string): void {
    check.oneOf(severity, 'severity', SEVERITIES)
    check.string(message, 'message')
    this.enqueue('session_event', { severity, message })
  }

  /**
   * Records that the workspace directories changed.
   *
   * @throws TypeError - If `directories` is not an array of strings.
   */
  recordDirectoriesChanged(directories: string[]): void {
    check.strings(directories, 'directories')
    this.enqueue('directories_changed', { directories })
  }

  /**
   * Makes the file right, whatever was recorded or missed: compares `items`, the history that the program has, with what a strict replay of the file
   * would give, and records the smallest tail that makes them equal. Records nothing if they are. Creates the file if there is none yet, also for no
   * items: after the call there is one that gives `items`. Call it at the end of a turn.
   *
   * An item that has changed and has a key is replaced in place, if that is possible for all items that have changed; otherwise the history is
   * rewound to the first difference, and the items from there on are recorded again. Items are compared as `JSON.stringify` prints them, key order
   * included. An object counts as it was when it was recorded by {@link recordContent}, resumed, or first compared: that it was changed in place later is
   * noticed only if the file has something else in its place.
   *
   * The first call reads the file on the JavaScript thread, unless the session was resumed by {@link resumeSession} or forked; the recorder keeps
   * about 24 bytes an item from then on, and some 150 once an item was named by its key. Items that were seen before take less than 2 µs each. Does
   * nothing if the recorder is not active.
   *
   * @returns How many items were removed, added and replaced.
   * @throws Error - `Cannot reconcile: …` if the file can't be replayed, or a record is being written in parts.
   * @throws TypeError - If `items` is not an array of items with one of the three speakers and an array of blocks.
   */
  reconcile(items: readonly C[]): Reconciliation {
    expect(Array.isArray(items), 'items', 'an array', items)
    if (this.#isStreaming()) throw new Error('Cannot reconcile: a record is being written in parts')
    if (this.isActive()) this.#readHistory(items)
    const isNew = new Uint8Array(items.length)
    const hashes = reconciling().hashesOf(items, 'items', isNew)
    if (!this.isActive()) return { removed: 0, added: 0, replaced: 0 }
    const { removed, cut, replaced, keys, appendedFrom } = this.#tailTo(items, hashes, isNew)
    if (removed > 0) this.recordRewind(removed, cut)
    if (replaced.length > 0) {
      const replacements = replaced.map((index, at) => ({ replacedSeq: keys[at]!, replacement: items[index]! }))
      this.recordDensityChange({ removedSeqs: [], replacements })
    }
    for (let index = appendedFrom; index < items.length; index++) this.recordContent(items[index]!)
    if (this.#numbers.isWaiting) this.#ensureFile()
    return { removed, added: items.length - appendedFrom, replaced: replaced.length }
  }

  #ensureFile(): void {
    this.#native.ensureFile(this.#begin())
    this.#noteFile()
    if (!this.#native.isActive()) queueMicrotask(() => this.#writing.warn())
  }

  /** Reads what the file gives, before the first comparison: items that it has as they were recorded need not be serialised. */
  #readHistory(items: readonly C[]): void {
    const recorded = this.#recorded
    if (recorded === undefined) return
    const history = this.#reconciling(() => this.#native.readHistory())
    // Before there is a file, nothing is known.
    if (history === null && this.#numbers.isWaiting) return
    this.#recorded = undefined
    if (history !== null) reconciling().noteRecorded(items, recorded, history)
  }

  #tailTo(items: readonly C[], hashes: string, isNew: Uint8Array): NativeTail {
    const tail = this.#reconciling(() => this.#native.tailTo(hashes))
    if (!reconciling().hashAgain(items, isNew, tail)) return tail
    return this.#reconciling(() => this.#native.tailTo(reconciling().hashesOf(items, 'items')))
  }

  #reconciling<T>(step: () => T): T {
    try {
      return step()
    } catch (error) {
      throw new Error(`Cannot reconcile: ${(error as Error).message}`)
    }
  }

  /**
   * Records a title, or `null` for no title. Creates the file if there is none yet. Does nothing if the recorder is not active.
   *
   * @throws TypeError - If `title` is neither a string nor `null`.
   */
  recordSessionMetadata(title: string | null): void {
    check.stringOrNull(title, 'title')
    if (!this.isActive()) return
    this.#title = title
    this.enqueue('session_metadata', { title })
  }

  /**
   * The title that was last recorded by {@link recordSessionMetadata} or passed to {@link initializeForResume}; `undefined` if neither happened.
   */
  getSessionMetadataTitle(): string | null | undefined {
    return this.#title
  }

  /**
   * Records which checkpoint the session was forked from.
   *
   * @throws Error - `Cannot record session fork: recording is inactive`.
   * @throws TypeError - If a field is missing or of the wrong type.
   */
  recordSessionFork(fork: SessionForkedPayload): void {
    check.object(fork, 'fork')
    check.string(fork.parentSessionId, 'fork.parentSessionId')
    check.safeCount(fork.parentSequence, 'fork.parentSequence')
    check.filledString(fork.checkpointId, 'fork.checkpointId')
    check.string(fork.checkpointName, 'fork.checkpointName')
    if (!this.isActive()) throw new Error('Cannot record session fork: recording is inactive')
    this.enqueue('session_forked', fork)
  }

  /**
   * Records a checkpoint of the current history and resolves when it is in the file. Does not check whether the name is in use.
   *
   * @param name - Not blank; surrounding white space is removed.
   * @returns `sequence` is the record's `seq`. Rejects with an `Error` whose message begins with `Cannot create checkpoint: ` if recording has
   * ended, the history is empty, the name is blank, or the file does not replay or is `sequenceCorrupt`.
   * @throws TypeError - If `name` is not a string.
   */
  createCheckpoint(name: string): Promise<{ checkpointId: string; name: string; sequence: number }> {
    check.string(name, 'name')
    return durable().createCheckpoint(this, name)
  }

  /**
   * Records a new name for a checkpoint and resolves when it is in the file. Does not check whether the checkpoint exists.
   *
   * @returns Rejects with an `Error` whose message begins with `Cannot rename checkpoint: ` if recording has ended, there is no file yet, or the
   * name is blank.
   * @throws TypeError - If `checkpointId` is not a non-empty string or `name` not a string.
   */
  renameCheckpoint(checkpointId: string, name: string): Promise<void> {
    check.filledString(checkpointId, 'checkpointId')
    check.string(name, 'name')
    return durable().renameCheckpoint(this, checkpointId, name)
  }

  /**
   * Records the deletion of a checkpoint and resolves when it is in the file. Does not check whether the checkpoint exists.
   *
   * @returns Rejects with an `Error` whose message begins with `Cannot delete checkpoint: ` if recording has ended or there is no file yet.
   * @throws TypeError - If `checkpointId` is not a non-empty string.
   */
  deleteCheckpoint(checkpointId: string): Promise<void> {
    check.filledString(checkpointId, 'checkpointId')
    return durable().deleteCheckpoint(this, checkpointId)
  }

  /**
   * Records the session's name, or `null` to remove it, and resolves when it is in the file. Creates the file if there is none yet. Does not
   * check whether the name is in use.
   *
   * @returns Rejects with an `Error` whose message begins with `Cannot set session name: ` if recording has ended or the name is blank.
   * @throws TypeError - If `name` is neither a string nor `null`.
   */
  setSessionName(name: string | null): Promise<void> {
    check.stringOrNull(name, 'name')
    return durable().setSessionName(this, name)
  }

  /**
   * Resolves when everything enqueued before the call is in the file or, with `durability: 'fsync'`, on stable storage; concurrent flushes share
   * one sync. If anything enqueued before the call was lost, {@link isActive} returns `false` when the promise settles.
   *
   * @returns Resolves at once if nothing is pending, before the first `content` (buffered events stay buffered), and if the recorder is not active.
   * Rejects with a {@link RecordingError} if writing failed for a reason that is not a {@link RecordingWarningCode} and records that were enqueued
   * before the call are lost, whether the failure came before or after the call; `onWarning` is called in either case. After `onWarning` was
   * called, flushes resolve at once.
   */
  async flush(): Promise<void> {
    this.#flushes++
    try {
      if (this.#streams?.isPending() === true && this.#failure === undefined) await this.#flushBehind(this.#streams)
      else await this.#flushAdmitted(this.#commits?.admitted())
    } finally {
      this.#flushes--
    }
  }

  async #flushAdmitted(admitted: Promise<void> | undefined): Promise<void> {
    if (admitted !== undefined) await admitted
    await this.#writing.flush()
  }

  /** What was recorded by now may wait for records that are written in parts: `onWarning` may report its loss before it is queued. */
  async #flushBehind(streams: Streams): Promise<void> {
    const last = this.#native.lastNumber()
    const admitted = this.#commits?.admitted()
    const dropped = await streams.ended()
    await this.#flushAdmitted(admitted)
    const isWritten = this.#native.acknowledged() >= last - dropped
    if (this.#failure !== undefined && !this.#failure.isEnvironmental && !isWritten) throw writeError(this.#failure)
  }

  /** `true` from construction until `dispose()` or a failure. */
  isActive(): boolean {
    return this.#active && this.#native.isActive()
  }

  /**
   * The session file. `null` before the first content, title or name, a {@link commit} or {@link reconcile} has created it, or
   * {@link initializeForResume} has named it.
   */
  getFilePath(): string | null {
    return this.#native.path()
  }

  /** The `sessionId` of the configuration. */
  getSessionId(): string {
    return this.#config.sessionId
  }

  /** The `chatsDir` of the configuration. */
  getChatsDir(): string {
    return this.#config.chatsDir
  }

  /** The `projectHash` of the configuration. */
  getProjectHash(): string {
    return this.#config.projectHash
  }

  /**
   * Continues recording in an existing file: records are appended to it, the next `seq` is `lastSeq + 1`, and there is no second `session_start`. After a
   * `lastSeq` that no recorder writes, a fraction or less than 0, it is the next integer, at least 2, so that strict replays give all records. A torn last line stays as it is, with a new line after it (recording rule 7).
   *
   * Events that were buffered before the call, except for `session_start`, are kept and numbered after `lastSeq`. From now on events are written to
   * disk without waiting for a `content`.
   *
   * @param filePath - The session file, as replayed.
   * @param lastSeq - `lastSeq` of the replay.
   * @param title - The session's title, for {@link getSessionMetadataTitle}. `undefined` changes nothing.
   * @throws Error - If a record is being written in parts.
   * @throws TypeError - If `filePath` is not a non-empty string, `lastSeq` is not a finite number, or `title` is neither a string, `null` nor
   * `undefined`.
   *
   * @example
   * ```ts
   * import { mkdtempSync } from 'node:fs';
   * import { tmpdir } from 'node:os';
   * import { join } from 'node:path';
   * import { replaySession, SessionRecordingService } from 'session-tape';
   *
   * const config = {
   *   sessionId: 'a1b2c3d4-0001', projectHash: 'my-project', chatsDir: mkdtempSync(join(tmpdir(), 'chats-')),
   *   workspaceDirs: [process.cwd()], provider: 'acme', model: 'acme-large',
   * };
   * const first = new SessionRecordingService(config);
   * first.recordContent({ speaker: 'human', blocks: [{ type: 'text', text: 'Hello' }] });
   * await first.dispose();
   *
   * const filePath = first.getFilePath()!;
   * const replay = await replaySession(filePath, 'my-project');
   * if (!replay.ok) throw new Error(replay.error);
   * const second = new SessionRecordingService(config);
   * second.initializeForResume(filePath, replay.lastSeq);
   * second.recordContent({ speaker: 'ai', blocks: [{ type: 'text', text: 'Welcome back' }] });
   * await second.dispose();
   * ```
   */
  initializeForResume(filePath: string, lastSeq: number, title?: string | null): void {
    check.filledString(filePath, 'filePath')
    check.finiteNumber(lastSeq, 'lastSeq')
    if (title !== undefined) {
      check.stringOrNull(title, 'title')
      this.#title = title
    }
    if (this.#isStreaming()) throw new Error('Cannot resume: a record is being written in parts')
    this.#noteFile()
    this.#start = undefined
    this.#batch = undefined
    this.#file = {}
    if (!this.#numbers.isWaiting) this.#commits?.leaveFile()
    const followed = this.#native.resume(absolute(filePath), lastSeq)
    if (this.#numbers.isWaiting) {
      // The session_start, with the number 1, is dropped.
      this.#renumber((followed ?? lastSeq) - 1)
      this.#beginFile()
    }
    this.#recorded = new WeakMap()
    if (followed === null) queueMicrotask(() => this.#writing.warn())
  }

  /**
   * Takes ownership of a lock; {@link dispose} releases it.
   *
   * @throws Error - `Session recording already owns a lock`; or if the recorder was disposed of, because it would never release the lock.
   * @throws TypeError - If `lock` is not a {@link SessionLock}.
   */
  adoptLock(lock: SessionLock): void {
    check.lock(lock, 'lock')
    if (this.#lock) throw new Error('Session recording already owns a lock')
    if (this.#disposed) throw new Error('Session recording has ended and would never release the lock')
    this.#lock = lock
    const { heldLockOf } = require('../locks/handle.js') as typeof import('../locks/handle.js')
    this.#watch(heldLockOf(lock))
  }

  /** Ends the recording when the lock is found to be lost. The reference is weak, so that recorders without references are collected. */
  #watch(heldLock: HeldLock | undefined): void {
    if (heldLock === undefined) return
    this.#heldLock = heldLock
    this.#recordedAt = Date.now()
    const recorder = new WeakRef(this)
    heldLock.whenLost(() => {
      const live = recorder.deref()
      if (live !== undefined) live.#native.loseLock(heldLock.path)
    })
  }

  #expectLock(now: number): void {
    if (now - this.#recordedAt >= LOOK_AFTER_MS) this.#heldLock?.lookNow()
    this.#recordedAt = now
  }

  /** Whether the recorder is active, records this session, and owns a lock. */
  ownsLockFor(sessionId: string): boolean {
    return this.#lock !== null && this.#config.sessionId === sessionId && this.isActive()
  }

  /** The recorder's lock. `null` if it has none or is not active. A recorder that failed keeps its lock until {@link dispose}. */
  getOwnedLockHandle(): SessionLock | null {
    return this.isActive() ? this.#lock : null
  }

  /**
   * Calls {@link flush} and ends recording: the recorder is inactive at once, everything enqueued before is still written, then the file is closed
   * and the lock released. A {@link recordSemanticMediaPurgeRows} whose promise has not settled is aborted: await it before.
   *
   * A CLI that does not await it loses nothing. If nothing has created the file, there is none, and what waited for it is dropped.
   *
   * @returns Settles when the file is closed and the lock released. Rejects if that `flush()` rejects, with the same reason. A rejection without a
   * handler is not reported as unhandled. Further calls return the same promise.
   */
  dispose(): Promise<void> {
    if (!this.#disposed) {
      // The caller may handle a rejection, but one that is not awaited must not end the process.
      this.#disposed = this.#end()
      this.#disposed.catch(() => {})
    }
    return this.#disposed
  }

  async #end(): Promise<void> {
    const flushed = attempt(() => this.flush())
    this.#active = false
    try {
      await this.#streams?.conclude(new Error('Recording has ended before the record was complete'))
      await this.#commits?.admitted()
      await this.#writing.dispose()
      this.#commits?.end(this.#refusal())
      await this.#commits?.settled()
      await flushed
    } finally {
      await this.#lock?.release()
    }
  }

  /**
   * Number of records that are enqueued, or buffered before the first `content`, and not yet in the file. A record counts until the event loop has
   * turned after it was written, or until it is acknowledged by a flush or a commit.
   */
  getPendingRecordCount(): number {
    return this.#native.pendingRecords()
  }

  /** Size of those records in bytes, as they will be in the file. */
  getPendingByteCount(): number {
    return this.#native.pendingBytes()
  }

  /** Ends the recording after a failure, and returns the warning. */
  #failed(failure: WriteFailure): RecordingWarning {
    this.#active = false
    this.#failure = failure
    this.#commits?.end(writeError(failure))
    // More events may have been enqueued since the writer failed.
    return stopped(failure, this.getFilePath(), this.#native.missing())
  }
}

/** The comparison of histories, loaded on first use. */
function reconciling(): typeof import('./reconciling.js') {
  return require('./reconciling.js')
}

/** The payloads of events that edit the history, loaded on first use. */
function edits(): typeof import('./edits.js') {
  return require('./edits.js')
}

/** Operations that few recorders use, loaded on first use. */
function durable(): typeof import('./durable-operations.js') {
  return require('./durable-operations.js')
}

/**
 * Waits until a recorder that was disposed of has written its last record and released its lock. Resolves at once for a recorder that was not;
 * never rejects.
 *
 * @internal
 */
export async function endOf(recorder: object): Promise<void> {
  try {
    await disposedOf(recorder)
  } catch {
    // The caller of `dispose` gets the error.
  }
}

const METHODS = Object.getOwnPropertyNames(SessionRecordingService.prototype).filter((name) => name !== 'constructor')
