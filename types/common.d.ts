// Types that several domains share: progress, and the warnings and errors of both recorders.

// Only for links in the comments.
import type { SessionRecordingService, SessionRecordingServiceConfig } from './session.js';

/** How far a long operation is. */
export interface Progress {
  /** Bytes dealt with so far. */
  bytes: number;
  /** Bytes in all. */
  total: number;
  /** Files dealt with so far, where there are several. */
  files?: number;
}

/**
 * The `code`s of {@link RecordingWarning} after which a CLI simply goes on without a recording (recording rule 6);
 * a `flush()` that was called before the warning resolves.
 *
 * | code | means |
 * |---|---|
 * | `ENOSPC`, `EDQUOT` | the disk or the quota is full |
 * | `EROFS` | the file system is read-only |
 * | `EACCES`, `EPERM` | the file or its directory may not be written |
 * | `ENOENT`, `ENOTDIR` | the file was deleted, or its directory is none |
 * | `ESESSIONLOCKED` | with `exclusive`: another live recorder holds the file |
 */
export type RecordingWarningCode =
  | 'ENOSPC'
  | 'EDQUOT'
  | 'EROFS'
  | 'EACCES'
  | 'EPERM'
  | 'ENOENT'
  | 'ENOTDIR'
  | 'ESESSIONLOCKED';

/** Why recording ended before `dispose()`. */
export interface RecordingWarning {
  /** A {@link RecordingWarningCode}, or the system's code of any other write error (`EIO`, `EFBIG` …), for which a `flush()` that was called before the warning rejects. */
  code: RecordingWarningCode | (string & {});
  /** In words, for a person. */
  message: string;
  /** The session file; `null` when it failed before there was one. */
  filePath: string | null;
  /** Records that were enqueued until now and are not in the file, also those that came when writing had failed already. */
  eventsDropped: number;
  /** With the code `ESESSIONLOCKED`: who records to the file, as far as that can be read. */
  owner?: RecordingOwner;
}

/** A process that has a session file for itself; see `exclusive` of {@link SessionRecordingServiceConfig}. */
export interface RecordingOwner {
  /** Process id, on `host`. */
  pid: number;
  /** When the process started: ISO-8601, UTC, milliseconds. */
  startTime: string;
  /** Host name. */
  host: string;
}

/**
 * What {@link SessionRecordingService.flush} rejects with: shaped as Node's own file system errors are.
 */
export interface RecordingError extends Error {
  /** For instance `EIO`. */
  code: string;
  /** The system's number for it, negative as in Node. */
  errno: number;
  /** The call that failed: `open`, `write`, `fsync` … */
  syscall: string;
  /** The session file. */
  path: string;
}
