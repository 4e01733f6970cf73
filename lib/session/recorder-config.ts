import { check } from '../arguments.js'
import { withFields } from '../builtins.js'
import { checkMode } from '../mode.js'
import type { RecordingWarning } from '../recording-warning.js'
import { KINDS } from './kind.js'
import type { SessionKind } from './records.js'
// Only for links in the comments.
import type { DEFAULT_MAX_QUEUE_BYTES } from '../constants.js'
import type { SessionRecordingService } from './recorder.js'
import type { SessionStartPayload } from './records.js'

/** Configuration of a {@link SessionRecordingService}. If a field is wrong or missing, the constructor throws a `TypeError` that names it. */
export interface SessionRecordingServiceConfig {
  /** Non-empty; its first characters become part of the file's name, see {@link fileName}. */
  sessionId: string
  /** Non-empty; see {@link SessionStartPayload}. */
  projectHash: string
  /** The directory for session files. Created, with its parents, when the first content, title or name is recorded. */
  chatsDir: string
  /** Absolute directories the session works in. */
  workspaceDirs: string[]
  /** Absolute directory that the CLI works from; recorded in `session_start`. */
  cwd?: string | undefined
  /** Name of the model provider. */
  provider: string
  /** Name of the model. */
  model: string
  /** Whose session it is; recorded in `session_start`. Listings leave out the sessions of sub-agents. Default: not recorded, which means `'main'`. */
  kind?: SessionKind | undefined
  /** Id of the session whose sub-agent this one's is; recorded in `session_start`. That session's deletion deletes this one too. */
  parentSessionId?: string | undefined
  /**
   * Form of the file's name, in UTC. `'minutes'` (default): `session-<YYYY-MM-DDTHH-MM>-<first 8 characters of sessionId>.jsonl`;
   * `'seconds'`: `session-<YYYY-MM-DDTHH-MM-SS>-<first 12>.jsonl`. If the name is taken, `-2`, `-3` … precedes the id part.
   */
  fileName?: 'minutes' | 'seconds' | undefined
  /**
   * Called at most once, on the JavaScript thread, after recording has ended because of an error. Without it recording ends silently; see
   * `isActive()`. Also called, once each, if an observer of commits or `resolveProviderModel` fails; recording goes on then.
   */
  onWarning?: ((warning: RecordingWarning) => void) | undefined
  /**
   * What a resolved `flush()` guarantees. `'os'` (default): the bytes are with the operating system, and survive the death of the process.
   * `'fsync'`: they are on stable storage, and survive a power cut.
   */
  durability?: 'os' | 'fsync' | undefined
  /**
   * Allow only one recorder per file, also across processes: a second exclusive recorder records nothing and calls `onWarning` with the code
   * `ESESSIONLOCKED` and the `owner`. The lock is a system lock on a file next to the session file (`<file>.lock`), which the system releases when
   * its owner ends for whatever reason. A lock file that is left over does not block. Symbolic links to the session file share its lock, hard links
   * do not. Default `false`.
   */
  exclusive?: boolean | undefined
  /**
   * The permissions of the file if this recorder creates it, less the umask of the process: from `0o600` to `0o777`, and the owner must be able to
   * read and write. Default `0o600`: no one else can read it. A file that exists keeps its permissions. Without effect on Windows.
   */
  mode?: number | undefined
  /**
   * Called on the JavaScript thread after each batch of records that was written, with the last record that is in the file (with
   * `durability: 'fsync'`, on stable storage: each batch is synced then). If it throws, or returns a promise that rejects, recording goes on, and
   * `onWarning` is called once with the code `ObserverFailed`.
   */
  onCommitWatermark?: ((commit: Commit) => void) | undefined
  /**
   * How many bytes may wait to be written, see {@link onQueueLimit}. A safe integer ≥ 0, or `Infinity` for no limit. Default
   * {@link DEFAULT_MAX_QUEUE_BYTES}.
   */
  maxQueueBytes?: number | undefined
  /**
   * What happens to a record with which more than `maxQueueBytes` would wait. `'wait'` (default): {@link SessionRecordingService.commit} waits for
   * room,
   * and a single record may be larger than the queue; other records never wait and are never refused. `'throw'`: besides,
   * {@link SessionRecordingService.recordContent} and {@link ContentBatch.publish} throw, and record nothing. What waits is what
   * {@link SessionRecordingService.getPendingByteCount} counts. {@link SessionRecordingService.prepareContentBatch}, which can't wait, throws in
   * either case.
   */
  onQueueLimit?: 'throw' | 'wait' | undefined
  /**
   * Returns provider and model for `session_start`, in the place of those of the configuration. Called once, synchronously, when the file is made;
   * never
   * if the recorder resumes one. If it throws, or returns anything else, a promise included, the values of the configuration are recorded, and
   * `onWarning` is
   * called with the code `ProviderModelFailed`; recording goes on. It must not record.
   */
  resolveProviderModel?: (() => { provider: string; model: string }) | undefined
  /**
   * A seam for a host's tests: appends to the file in the place of the system. Batches go through it, one at a time, as text that ends in whole
   * lines, but
   * for the pieces of {@link SessionRecordingService.recordSemanticMediaPurgeRows}. It may return a promise, which is awaited; its errors are those
   * of the disk:
   * `EINTR` is tried again, any other ends the recording. Pending commits, and flushes that report such errors, reject with the very error.
   *
   * What docs/durability.md promises is then up to the function: nothing is synced, a torn batch is not cut back, a file that was replaced is not
   * noticed, and
   * what has not been passed to it when the process ends is lost. The file itself is still created by the recorder.
   */
  appendFile?: ((path: string, data: string, encoding: 'utf-8') => Promise<void> | void) | undefined
}

/** A record that is in the file. */
export interface Commit {
  /** The number of the record. */
  seq: number
  /** The offset in the file behind the record's line, `\n` included, when it was written. */
  byteOffset: number
}

/** Items that a recorder has serialised, to be recorded together. Each method works once, in the order of this list. */
export interface ContentBatch {
  /**
   * Records all items, or none. Their numbers follow that of the last record. They are written when the batch is finalized, when something else is
   * recorded, by a flush, a commit, `dispose()` or the end of the process.
   *
   * @throws Error - `Cannot record content batch: recording is not active`; `Session recording queue byte limit exceeded: …` with
   * `onQueueLimit: 'throw'`; or if the batch was published or dropped before, or `initializeForResume` was called since it was prepared.
   */
  publish(): void
  /**
   * Takes the items back: the numbers, the queue and the file are as they were before {@link publish}; a file that was created for them is removed,
   * and
   * what had waited for it waits again. If they are written already, the file is cut back. Before {@link publish} it drops the batch.
   *
   * @throws Error - If something else was recorded since, also by `initializeForResume`; if the batch was finalized or rolled back; if another
   * program has appended
   * to the file; or if the file can't be cut. Nothing has changed then.
   */
  rollback(): void
  /**
   * The items stay.
   *
   * @throws Error - If the batch is not published, was finalized or rolled back.
   */
  finalize(): void
}

/** What {@link SessionRecordingService.reconcile} has recorded. */
export interface Reconciliation {
  /** Number of items that were taken from the end of the history in the file. */
  removed: number
  /** Number of items that were appended to it. */
  added: number
  /** Number of items that were replaced where they were. */
  replaced: number
}

/** Options for the recorder that `resumeSession` or `forkSession` creates; as in {@link SessionRecordingServiceConfig}. */
export type RecorderOptions = Pick<
  SessionRecordingServiceConfig,
  | 'cwd'
  | 'fileName'
  | 'onWarning'
  | 'durability'
  | 'exclusive'
  | 'mode'
  | 'onCommitWatermark'
  | 'maxQueueBytes'
  | 'onQueueLimit'
  | 'appendFile'
>

const FILE_NAMES = ['minutes', 'seconds']

/** @internal */
export function checkConfig(config: SessionRecordingServiceConfig): void {
  check.object(config, 'config')
  for (const field of ['sessionId', 'projectHash', 'chatsDir'] as const)
    check.filledString(config[field], `config.${field}`)
  check.strings(config.workspaceDirs, 'config.workspaceDirs')
  for (const field of ['provider', 'model'] as const) check.string(config[field], `config.${field}`)
  if (config.kind !== undefined) check.oneOf(config.kind, 'config.kind', KINDS)
  if (config.parentSessionId !== undefined) check.filledString(config.parentSessionId, 'config.parentSessionId')
  check.optional(config.resolveProviderModel, 'config.resolveProviderModel', 'function')
  checkRecorderOptions(config, 'config')
}

/** Checks the options that a caller can set for a recorder that this library creates. @internal */
export function checkRecorderOptions(options: RecorderOptions, name: string): void {
  check.object(options, name)
  check.optional(options.cwd, `${name}.cwd`, 'string')
  if (options.fileName !== undefined) check.oneOf(options.fileName, `${name}.fileName`, FILE_NAMES)
  check.optional(options.onWarning, `${name}.onWarning`, 'function')
  if (options.durability !== undefined) check.oneOf(options.durability, `${name}.durability`, ['os', 'fsync'])
  check.optional(options.exclusive, `${name}.exclusive`, 'boolean')
  checkMode(options.mode, `${name}.mode`)
  check.optional(options.onCommitWatermark, `${name}.onCommitWatermark`, 'function')
  check.optional(options.appendFile, `${name}.appendFile`, 'function')
  if (options.onQueueLimit !== undefined) check.oneOf(options.onQueueLimit, `${name}.onQueueLimit`, ['throw', 'wait'])
  const { maxQueueBytes } = options
  if (
    maxQueueBytes === undefined ||
    maxQueueBytes === Infinity ||
    (Number.isSafeInteger(maxQueueBytes) && maxQueueBytes >= 0)
  )
    return
  const message = 'Session recording queue byte limit must be a non-negative safe integer or Infinity'
  throw withFields(new TypeError(message), { code: 'ERR_INVALID_ARG_TYPE' })
}
