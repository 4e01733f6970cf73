import { check, expect } from '../arguments.js'
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
   * `isActive()`. Also called, once, if `onCommitWatermark` fails; recording goes on then.
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
   * read and write. Default `0o600`: no one else can read it, as with its snapshot. A file that exists keeps its permissions. Without effect on Windows.
   */
  mode?: number | undefined
  /**
   * Called on the JavaScript thread after each batch of records that was written, with the last record that is in the file (with
   * `durability: 'fsync'`, on stable storage: each batch is synced then). If it throws, or returns a promise that rejects, recording goes on, and
   * `onWarning` is called once with the code `ObserverFailed`.
   */
  onCommitWatermark?: ((commit: Commit) => void) | undefined
  /**
   * How many bytes may wait to be written before {@link SessionRecordingService.commit} waits for room; a single record may be larger. A positive
   * integer, or `Infinity` for no limit. Other records never wait. Default {@link DEFAULT_MAX_QUEUE_BYTES}.
   */
  maxQueueBytes?: number | undefined
}

/** A record that is in the file. */
export interface Commit {
  /** The number of the record. */
  seq: number
  /** The offset in the file behind the record's line, `\n` included, when it was written. */
  byteOffset: number
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
  'cwd' | 'fileName' | 'onWarning' | 'durability' | 'exclusive' | 'mode' | 'onCommitWatermark' | 'maxQueueBytes'
>

const FILE_NAMES = ['minutes', 'seconds']

/** @internal */
export function checkConfig(config: SessionRecordingServiceConfig): void {
  check.object(config, 'config')
  for (const field of ['sessionId', 'projectHash', 'chatsDir'] as const) check.filledString(config[field], `config.${field}`)
  check.strings(config.workspaceDirs, 'config.workspaceDirs')
  for (const field of ['provider', 'model'] as const) check.string(config[field], `config.${field}`)
  if (config.kind !== undefined) check.oneOf(config.kind, 'config.kind', KINDS)
  if (config.parentSessionId !== undefined) check.filledString(config.parentSessionId, 'config.parentSessionId')
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
  const { maxQueueBytes } = options
  const isLimit = maxQueueBytes === undefined || maxQueueBytes === Infinity || (Number.isSafeInteger(maxQueueBytes) && maxQueueBytes > 0)
  expect(isLimit, `${name}.maxQueueBytes`, 'a positive integer or Infinity', maxQueueBytes)
}
