import { native } from '../addon.js'
import { NO_OPTIONS, check, checked, expect } from '../arguments.js'
import { type Failure, errorOf } from '../binding/errors.js'
import type { NativeRunRecorder, RecorderGroup } from '../binding/native.js'
import { parse, stringify, queueMicrotask } from '../builtins.js'
import { OWNER_ONLY, checkMode } from '../mode.js'
import type { RecordingOwner, RecordingWarning } from '../recording-warning.js'
import { Writing, type WriteFailure, ending, absolute, thisProcess, ownerOf, shownOwner } from '../writing.js'
import type { RunEventKind } from './events.js'
import type { RunState } from './state.js'
import { type Workflow, checkWorkflow } from './workflow.js'
// Only for links in the comments.
import type { RecordingError, RecordingWarningCode } from '../recording-warning.js'
import type { RunError } from './error.js'
import type { replayRun, verifyRun } from './replay.js'

/** Configuration of a {@link RunRecorder}. If a field is wrong or missing, the constructor throws a `TypeError` that names it. */
export interface RunRecorderConfig {
  /**
   * The run directory. It is created, with its parents. Unless `resume` is set, it must not contain a log yet: the constructor then throws an error
   * with the code `EEXIST`.
   */
  directory: string
  /** Non-empty. State hashes do not depend on it, so that two equal executions have equal hashes. */
  runId: string
  /**
   * The workflow that is executed. It is stored in `workflow.json` as it was passed, and in `dag.json` as the graph that it compiles to (section
   * 7).
   */
  workflow: Workflow
  /**
   * The rule by which tasks are assigned to workers (section 8). The recorder only records assignments; {@link verifyRun} checks them against this
   * rule.
   */
  scheduler: 'round-robin' | 'least-loaded' | 'external'
  /** The capabilities of the run as a whole: non-empty strings. Default: none; with `resume`, the recorded ones. */
  capabilities?: string[] | undefined
  /**
   * Resume the run in `directory`, if there is one. The log is replayed first, with every hash verified, on the calling thread: about a second per
   * 100 MB. `workflow`, `runId`, `scheduler` and, if given, `capabilities` must be those of the recorded run. Default `false`.
   *
   * A last line that was torn by a crash is cut off, and so is everything from a hole on that a power cut has left in the log; `onWarning` is
   * called with the code `TornTail`. Complete lines after a hole are kept in `events.cath-log.cut-<offset>`. A log without a complete event is
   * started anew. A damaged log is refused, as by {@link replayRun}, and not changed.
   */
  resume?: boolean | undefined
  /**
   * What a resolved `flush()`, and a written blob or snapshot, guarantees. `'os'` (default): the bytes are with the operating system, and survive
   * the death of the process. `'fsync'`: they are on stable storage, and survive a power cut.
   */
  durability?: 'os' | 'fsync' | undefined
  /**
   * The permissions of the log if this recorder creates it, less the umask of the process: from `0o600` to `0o777`, and the owner must be able to read
   * and write. `directory` and those for blobs and snapshots, if the recorder creates them, can be entered by whoever can read the log. Default `0o600`,
   * and so `0o700` for the directories: no one else can read the run. What exists keeps its permissions. Without effect on Windows.
   */
  mode?: number | undefined
  /**
   * Called on the JavaScript thread: at most once after writing has ended because of an error, as for sessions (see {@link RecordingWarningCode};
   * `eventsDropped` counts the events that were appended until then and are not in the log), and with `resume` once with the code `TornTail` if
   * there was a torn line; once with the code `LockUnsupported` if the file system has no locks, so that nothing prevents a second recorder. After
   * these two, recording continues. Without it writing ends silently; see `isActive()`.
   */
  onWarning?: ((warning: RecordingWarning) => void) | undefined
}

/** An event to append. */
export interface RunEventInput {
  /** The kind of event (section 4). Only the constructor records RunCreated. */
  kind: RunEventKind
  /** The graph node concerned. If it is omitted or `null`, it is the node of the payload's `task`; without a task, none. */
  node?: string | null | undefined
  /**
   * Id of the event that caused this one, `evt_<logical time>`; it must exist. If it is omitted or `null`, it is the event that section 6 implies
   * for the kind or, if that does not exist, the previous event.
   */
  parent?: string | null | undefined
  /** The fields that section 4 lists for the kind, and any others, which are recorded as they are. */
  payload: Record<string, unknown>
}

/**
 * The codes of the errors that a {@link RunRecorder} throws or rejects with, in addition to system codes (`ENOSPC`, `EACCES` …: these errors have
 * `errno`, `syscall` and `path`, as Node's have).
 *
 * | code | from | means |
 * |---|---|---|
 * | `EEXIST` | constructor | the directory contains a log, and `resume` is not set |
 * | `ERUNLOCKED` | constructor | another live recorder, of any process, has the log open; `owner` is its process, if that can be read |
 * | `WorkflowInvalid` | constructor | the workflow is not a valid graph: a cycle, a duplicate id, a dependency on an unknown node |
 * | `DagMismatch` | constructor | with `resume`: the recorded run has another graph |
 * | `RunMismatch` | constructor | with `resume`: the recorded run has another id, scheduler or capabilities |
 * | `RunSealed` | constructor | the directory is a bundle: it has a `manifest.json` |
 * | any of {@link RunError} | constructor | with `resume`: the log is damaged |
 * | `UnknownKind` | append | the kind does not exist |
 * | `MissingField`, `InvalidField` | append | a field of the payload, or the node, is missing or invalid |
 * | `IllegalTransition` | append | the state does not allow the event |
 * | `ParentMissing` | append | `parent` is not the id of an earlier event |
 * | `AfterEnd` | append | the run has ended: only SnapshotCreated and BlobStored may follow |
 * | `StateMismatch` | append | the state that SnapshotRestored names is not the current one |
 * | `TooLarge` | append, snapshot | the line would be longer than 16 MiB, or the snapshot than 1 GiB |
 * | `InvalidPrivateKey` | snapshot | `signWith` is not an Ed25519 private key |
 * | `RecorderDisposed` | append, putBlob, snapshot | `dispose()` was called |
 */
export type RunRecorderErrorCode =
  | 'EEXIST'
  | 'ERUNLOCKED'
  | 'WorkflowInvalid'
  | 'DagMismatch'
  | 'RunMismatch'
  | 'RunSealed'
  | 'UnknownKind'
  | 'MissingField'
  | 'InvalidField'
  | 'IllegalTransition'
  | 'ParentMissing'
  | 'AfterEnd'
  | 'StateMismatch'
  | 'TooLarge'
  | 'InvalidPrivateKey'
  | 'RecorderDisposed'

/** The errors that a {@link RunRecorder} throws or rejects with. Arguments of the wrong type throw a `TypeError` instead. */
export interface RunRecorderError extends Error {
  /** A {@link RunRecorderErrorCode}, another code of {@link RunError}, or a system code. */
  code: RunRecorderErrorCode | (string & {})
  /** The logical time that the refused event would have had, or that of the damaged event. */
  time?: number
  /** The id of that event. */
  eventId?: string
  /** The expected value, if the error is about a value. */
  expected?: string
  /** The value that was found. */
  found?: string
  /** The system's number for its error, negative as in Node. */
  errno?: number
  /** The system call that failed. */
  syscall?: string
  /** The file concerned. */
  path?: string
  /** With `ERUNLOCKED`: the process that has the log open, if that can be read. */
  owner?: RecordingOwner
}

/** Why the addon opened no recorder. */
interface OpenFailure extends Failure {
  path: string
  /** With `ERUNLOCKED`: the content of the lock file. */
  owner?: string
}

/** The addon's description of a snapshot, or its error. */
interface Snapshot {
  error?: Failure
  snapshotId: string
  logicalTime: number
  stateHash: string
  contentHash: string
}

/** The numbers of the addon for kinds, which are cheaper to pass than names. */
const KINDS = new Map(native.runEventKinds().map((kind, number) => [kind, number] as const))
const SCHEDULERS = ['round-robin', 'least-loaded', 'external']

/**
 * Records one run to one directory (section 1): its log, its graph, its snapshots and blobs.
 *
 * The constructor prepares the directory on the calling thread and records RunCreated. After that, recording works as for sessions: each event is
 * checked against the state and chained at once, and written by a background thread in batches. The cost of an event does not depend on the size of
 * the graph. Appended events are written even if the process ends without `flush()` or `dispose()`, and the recorder does not keep the process
 * running.
 *
 * While the recorder is open, the log is locked, also for other processes. The system releases the lock when its owner ends for whatever reason.
 *
 * A write error is never thrown. It ends the writing, but not the recorder: `append` still checks events and keeps the state in memory,
 * `isActive()` returns `false`, and `onWarning` is called with the reason. The log then ends with a complete event and can be resumed.
 *
 * @example
 * ```ts
 * import { mkdtempSync } from 'node:fs';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { RunRecorder } from 'session-tape';
 *
 * const recorder = new RunRecorder({
 *   directory: join(mkdtempSync(join(tmpdir(), 'runs-')), 'release-7.cath-bundle'),
 *   runId: 'release-7',
 *   workflow: { name: 'release', version: '1', nodes: [{ id: 'build', kind: 'task' }] },
 *   scheduler: 'round-robin',
 *   onWarning: (warning) => console.error('not recording any more:', warning.message),
 * });
 * recorder.append({ kind: 'RunStarted', payload: { workers: [{ id: 'w1', capabilities: [] }] } });
 * recorder.append({ kind: 'NodeScheduled', payload: { task: 'build#1', dependsOn: [] } });
 * const { eventId } = recorder.append({ kind: 'TaskAssigned', payload: { task: 'build#1', worker: 'w1' } });
 * console.log(eventId); // evt_3
 * try {
 *   recorder.append({ kind: 'NodeCompleted', payload: { task: 'build#1', outputHash: recorder.putBlob('ok') } });
 * } catch (error) {
 *   console.log((error as { code: string }).code); // IllegalTransition
 * }
 * const { snapshotId } = await recorder.snapshot();
 * console.log(snapshotId); // snap_3
 * await recorder.dispose();
 * ```
 */
export class RunRecorder {
  #native: NativeRunRecorder
  #writing: Writing<NativeRunRecorder>
  #snapshots = new Set<Promise<unknown>>()
  #closed = false
  #disposed: Promise<void> | undefined

  /**
   * Prepares the directory and records RunCreated; with `resume`, continues after the last event. The directory is
   * prepared synchronously; the event is written in the background, like all others.
   *
   * @throws TypeError - If a field of `config` is missing or of the wrong type; the message names it.
   * @throws {@link RunRecorderError} - If the workflow, the directory or the log in it can't be used.
   */
  constructor(config: RunRecorderConfig) {
    checkConfig(config)
    this.#writing = new Writing(
      (group, id) => open(group, id, config),
      config.onWarning,
      (failure) => this.#failed(failure),
    )
    this.#native = this.#writing.recorder
    const torn = this.#native.tornBytes()
    if (torn > 0) queueMicrotask(() => this.#writing.callOnWarning(tornWarning(this.#native.path(), torn)))
    const unlocked = this.#native.unlocked()
    if (unlocked)
      queueMicrotask(() => this.#writing.callOnWarning(unlockedWarning(this.#native.path(), parse<Failure>(unlocked))))
  }

  /**
   * Records an event.
   *
   * The payload is serialised synchronously, exactly as `JSON.stringify` would: changing the object afterwards has no effect. A refused
   * event uses no logical time and does not change the state or the log.
   *
   * @returns The event's id and its logical time. RunCreated has 0, and each further event one more.
   * @throws {@link RunRecorderError} - If the event is not legal; see {@link RunRecorderErrorCode}.
   * @throws TypeError - If a field of `event` is of the wrong type; and what `JSON.stringify` throws (a cycle, a BigInt).
   */
  append(event: RunEventInput): { eventId: string; logicalTime: number } {
    if (this.#closed) throw disposedError()
    check.object(event, 'event')
    const { kind, node, parent, payload } = event
    check.string(kind, 'event.kind')
    checkOptionalId(node, 'event.node')
    checkOptionalId(parent, 'event.parent')
    check.object(payload, 'event.payload')
    const text = stringify(payload)
    // A `toJSON` method of the payload may return anything, and may have disposed of this recorder.
    expect(typeof text === 'string' && text[0] === '{', 'event.payload', 'an object, also as JSON', text)
    if (this.#closed) throw disposedError()
    return this.#record(kind, node, parent, text)
  }

  #record(
    kind: RunEventKind,
    node: string | null | undefined,
    parent: string | null | undefined,
    payload: string,
  ): { eventId: string; logicalTime: number } {
    const number = KINDS.get(kind)
    if (number === undefined) throw errorOf(parse<Failure>(this.#native.unknownKind(kind)))
    const logicalTime = this.#native.append(number, node, parent, payload, Date.now())
    if (ending.hasBegun) this.#writing.warn()
    if (logicalTime === null) throw errorOf(parse<Failure>(this.#native.takeRefusal()!))
    return { eventId: `evt_${logicalTime}`, logicalTime }
  }

  /**
   * Stores bytes under their hash, synchronously and atomically; a blob that already exists is not written again. Records no event:
   * appending one that names the hash, or BlobStored, is up to the caller.
   *
   * @param data - The bytes; a string is encoded as UTF-8.
   * @param mediaType - The media type, for the caller's BlobStored; it is not stored.
   * @returns The SHA-256 of the bytes, in lower-case hex.
   * @throws {@link RunRecorderError} - If the bytes can't be written.
   */
  putBlob(data: Uint8Array | string, mediaType?: string): string {
    // Loaded on first use, because loading it takes Bun milliseconds.
    const { types } = require('node:util') as typeof import('node:util')
    expect(typeof data === 'string' || types.isUint8Array(data), 'data', 'a string or a Uint8Array', data)
    check.optional(mediaType, 'mediaType', 'string')
    if (this.#closed) throw disposedError()
    const hash = this.#native.putBlob(data)
    if (hash === null) throw errorOf(parse<Failure>(this.#native.takeRefusal()!))
    return hash
  }

  /**
   * Takes a snapshot of the state at the time of the call. Flushes the log, writes the file off the JavaScript thread, and then
   * appends SnapshotCreated. Concurrent calls are allowed.
   *
   * @param options - `signWith`: an Ed25519 private key in PEM (PKCS#8), as Node's `crypto` exports it. Without it the snapshot is not
   * signed.
   * @returns The snapshot's id, the logical time after which it was taken, and the hash of its content. Rejects with a
   * {@link RunRecorderError}, and writes no snapshot, if the key is invalid or the log or the file can't be written.
   */
  snapshot(
    options: { signWith?: string | undefined } = NO_OPTIONS,
  ): Promise<{ snapshotId: string; logicalTime: number; contentHash: string }> {
    const { signWith } = checked<typeof options>(options, { signWith: 'string?' })
    if (this.#closed) return Promise.reject(disposedError())
    const taken = this.#takeSnapshot(signWith)
    // `dispose` waits for the snapshot, even if it fails.
    const settled: Promise<unknown> = taken
      .then(
        () => {},
        () => {},
      )
      .then(() => this.#snapshots.delete(settled))
    this.#snapshots.add(settled)
    return taken
  }

  async #takeSnapshot(
    signWith: string | undefined,
  ): Promise<{ snapshotId: string; logicalTime: number; contentHash: string }> {
    const { error, snapshotId, logicalTime, stateHash, contentHash } = parse<Snapshot>(
      await this.#native.snapshot(signWith),
    )
    if (error) throw errorOf(error)
    this.#record(
      'SnapshotCreated',
      undefined,
      undefined,
      stringify({ snapshot: snapshotId, stateHash, at: logicalTime }),
    )
    return { snapshotId, logicalTime, contentHash }
  }

  /** Returns the state after the last event, whether or not that event has been written. Each call returns a new object. */
  state(): RunState {
    return parse(this.#native.state()) as RunState
  }

  /**
   * Resolves when everything appended before the call is in the log or, with `durability: 'fsync'`, on stable storage.
   *
   * @returns Resolves at once if nothing is pending or `onWarning` was already called for a failure. Rejects with a {@link RecordingError} if
   * writing failed for a reason that is not a {@link RecordingWarningCode} and events that were appended before the call are lost, whether the
   * failure came before or after the call; `onWarning` is called in either case.
   */
  flush(): Promise<void> {
    return this.#writing.flush()
  }

  /** `true` from construction until `dispose()` or a write failure. */
  isActive(): boolean {
    return !this.#closed && this.#native.isActive()
  }

  /**
   * Ends recording: no more events are accepted, those appended before are still written, and snapshots in progress are finished.
   *
   * A program that does not await it loses nothing.
   *
   * @returns Resolves when the log is closed and its lock released. Further calls return the same promise.
   */
  dispose(): Promise<void> {
    if (!this.#disposed) {
      this.#closed = true
      this.#disposed = this.#snapshots.size === 0 ? this.#writing.dispose() : this.#disposeAfterSnapshots()
    }
    return this.#disposed
  }

  async #disposeAfterSnapshots(): Promise<void> {
    await Promise.all(this.#snapshots)
    await this.#writing.dispose()
  }

  /** Returns the warning about a failure. */
  #failed({ code, message }: WriteFailure): RecordingWarning {
    const filePath = this.#native.path()
    // More events may have been appended since the writer failed.
    const eventsDropped = this.#native.missing()
    const events = eventsDropped === 1 ? '1 event was' : `${eventsDropped} events were`
    return {
      code,
      message: `Recording stopped: ${message}. ${events} not written to '${filePath}'. The run goes on without a recording.`,
      filePath,
      eventsDropped,
    }
  }
}

function checkConfig(config: RunRecorderConfig): void {
  check.object(config, 'config')
  for (const field of ['directory', 'runId'] as const) check.filledString(config[field], `config.${field}`)
  checkWorkflow(config.workflow, 'config.workflow')
  check.oneOf(config.scheduler, 'config.scheduler', SCHEDULERS)
  if (config.capabilities !== undefined) check.filledStrings(config.capabilities, 'config.capabilities')
  check.optional(config.resume, 'config.resume', 'boolean')
  if (config.durability !== undefined) check.oneOf(config.durability, 'config.durability', ['os', 'fsync'])
  check.optional(config.onWarning, 'config.onWarning', 'function')
  checkMode(config.mode, 'config.mode')
}

function checkOptionalId(value: unknown, name: string): void {
  expect(
    value === undefined || value === null || typeof value === 'string',
    name,
    'a string or null, if it is given',
    value,
  )
}

/** Opens the addon's recorder. Throws an Error if the run, its directory or its log does not allow it. */
function open(
  group: RecorderGroup,
  id: number,
  { directory, runId, workflow, scheduler, capabilities, resume, durability, mode }: RunRecorderConfig,
): NativeRunRecorder {
  const opened = native.openRunRecorder(group, {
    id,
    directory: absolute(directory),
    runId,
    workflow: stringify(workflow),
    scheduler,
    capabilities: capabilities && stringify(capabilities),
    resume: resume === true,
    mode: mode ?? OWNER_ONLY,
    fsync: durability === 'fsync',
    owner: thisProcess(),
    now: Date.now(),
  })
  if (typeof opened !== 'string') return opened
  const failure = parse<OpenFailure>(opened)
  throw errorOf(failure.code === 'ERUNLOCKED' ? lockedFailure(failure) : failure)
}

function lockedFailure({ code, path, ...failure }: OpenFailure): Failure & { path: string; owner?: RecordingOwner } {
  const owner = ownerOf(failure)
  const message = `The run is being recorded by ${shownOwner(owner)}: '${path}'. A log has one recorder at a time.`
  return { code, message, path, ...(owner && { owner }) }
}

function tornWarning(filePath: string, bytes: number): RecordingWarning {
  const message = `The last line of '${filePath}' was torn: its ${bytes} bytes were cut off. The event in it was never flushed.`
  return { code: 'TornTail', message, filePath, eventsDropped: 1 }
}

function unlockedWarning(filePath: string, { message }: Failure): RecordingWarning {
  const text = `'${filePath}' is recorded to without a lock, since its file system has none: ${message}. Do not record to it twice.`
  return { code: 'LockUnsupported', message: text, filePath, eventsDropped: 0 }
}

function disposedError(): Error {
  return errorOf({ message: 'The recorder is disposed: it takes nothing any more.', code: 'RecorderDisposed' })
}
