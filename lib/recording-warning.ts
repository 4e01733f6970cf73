// What both recorders report: why recording ended, and why a flush failed.

// Only for links in the comments.
import type { SessionRecordingServiceConfig } from './session/recorder-config.js'
import type { SessionRecordingService } from './session/recorder.js'

/**
 * The `code`s of {@link RecordingWarning} after which a CLI simply continues without a recording (recording rule 6). A `flush()` that was called
 * before the warning then resolves.
 *
 * | code | means |
 * |---|---|
 * | `ENOSPC`, `EDQUOT` | the disk or the quota is full |
 * | `EROFS` | the file system is read-only |
 * | `EACCES`, `EPERM` | the file or its directory may not be written |
 * | `ENOENT`, `ENOTDIR` | the file was deleted, or a parent of it is not a directory |
 * | `ESESSIONLOCKED` | with `exclusive`: another live recorder holds the file |
 * | `SessionLockLost` | the session lock that the recorder owned is gone or another program has it |
 */
export type RecordingWarningCode =
  | 'ENOSPC'
  | 'EDQUOT'
  | 'EROFS'
  | 'EACCES'
  | 'EPERM'
  | 'ENOENT'
  | 'ENOTDIR'
  | 'ESESSIONLOCKED'
  | 'SessionLockLost'

/** Why recording ended before `dispose()`; or, with the codes `ObserverFailed` and `ProviderModelFailed`, what failed although recording goes on. */
export interface RecordingWarning {
  /** A {@link RecordingWarningCode}, `FileReplaced` if the file is not the one that was recorded to, `SequenceExhausted`, `ObserverFailed`, `ProviderModelFailed`, or the system's code of any other write error (`EIO`, `EFBIG` …), for which a `flush()` that was called before the warning rejects. */
  code: RecordingWarningCode | (string & {})
  /** A message for people. */
  message: string
  /** The session file; `null` if recording failed before the file was created. */
  filePath: string | null
  /** Number of records that were enqueued so far and are not in the file, including those that were enqueued after writing had failed. */
  eventsDropped: number
  /** With the code `ESESSIONLOCKED`: the process that records to the file. Absent if it can't be determined. */
  owner?: RecordingOwner
  /** With the codes `ObserverFailed` and `ProviderModelFailed`: what the function threw. */
  cause?: unknown
}

/** A process that holds the lock of a session file; see `exclusive` of {@link SessionRecordingServiceConfig}. */
export interface RecordingOwner {
  /** Process id, on `host`. */
  pid: number
  /** When the process started: ISO-8601, UTC, milliseconds. */
  startTime: string
  /** Host name. */
  host: string
}

/** The errors that {@link SessionRecordingService.flush} rejects with. They have the fields of Node's own file system errors. */
export interface RecordingError extends Error {
  /** The code of the error, for instance `EIO`. */
  code: string
  /** The system's number for the error, negative as in Node; 0 if it has none (`FileReplaced`). */
  errno: number
  /** The system call that failed: `open`, `write`, `fsync` … */
  syscall: string
  /** The session file. */
  path: string
}
