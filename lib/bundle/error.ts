import type { Failure } from '../binding/errors.js'
import type { JobKind } from '../binding/job.js'
import { define, own, withFields } from '../builtins.js'

/**
 * The codes of {@link BundleProblem} and {@link BundleError}: faults of a bundle, and requests that can't be met. Later releases may add codes.
 *
 * What each means and what to do about it: https://github.com/session-tape/session-tape/blob/main/docs/errors.md
 */
export type BundleCode =
  | 'AbsolutePath'
  | 'ParentPath'
  | 'DriveLetter'
  | 'NulInPath'
  | 'BackslashInPath'
  | 'NotUtf8Path'
  | 'ReservedName'
  | 'InvalidPath'
  | 'DuplicatePath'
  | 'CaseCollision'
  | 'Link'
  | 'Device'
  | 'UnsupportedEntry'
  | 'NotABundle'
  | 'ArchiveCorrupt'
  | 'Truncated'
  | 'TrailingBytes'
  | 'WindowTooLarge'
  | 'LineTooLong'
  | 'BlobTooLarge'
  | 'FileTooLarge'
  | 'TooManyFiles'
  | 'ExpansionTooLarge'
  | 'TotalTooLarge'
  | 'ManifestMissing'
  | 'ManifestInvalid'
  | 'UnsupportedVersion'
  | 'BundleIdMismatch'
  | 'NotInManifest'
  | 'FileMissing'
  | 'WrongSize'
  | 'WrongHash'
  | 'ChecksumsMismatch'
  | 'BlobNameMismatch'
  | 'BlobMissing'
  | 'MediaMissing'
  | 'MediaCorrupt'
  | 'LogInvalid'
  | 'WrongCount'
  | 'WrongHead'
  | 'RedactionMismatch'
  | 'RedactionsInvalid'
  | 'MetadataInvalid'
  | 'SnapshotInvalid'
  | 'SignatureMissing'
  | 'SignatureMalformed'
  | 'SignatureNotTrusted'
  | 'TooManyProblems'
  | 'SourceInvalid'
  | 'SourceChanged'
  | 'SnapshotNotFound'
  | 'DestinationExists'
  | 'RedactionConflict'
  | 'InvalidRule'
  | 'InvalidOption'
  | 'SystemError'
  | 'Cancelled'

/** A fault of a bundle. */
export interface BundleProblem {
  /** A {@link BundleCode}. */
  code: BundleCode | (string & {})
  /** The file of the bundle concerned. Absent if the fault concerns no single file. */
  path?: string
  /** A message in one line: what was found, where, and what to do. */
  message: string
}

/** The errors that the functions for bundles reject with, except after an abort. `name` is `'BundleError'`. */
export interface BundleError extends Error {
  /** A {@link BundleCode}, or a system code (`ENOSPC`, `EACCES` …: these errors have `errno` and `syscall`). */
  code: BundleCode | (string & {})
  /** The file concerned: its path in the bundle or, with a system code, its path in the file system. */
  path?: string
  /** If a bundle was refused: all its problems. `code` and `path` are those of the first. */
  problems?: BundleProblem[]
  /** The system's number for its error, negative as in Node. */
  errno?: number
  /** The system call that failed. */
  syscall?: string
}

/** The error of an operation on a bundle, with all fields of the addon's error as own properties. @internal */
export class BundleError extends Error {
  constructor({ message, ...fields }: Failure) {
    super(message)
    withFields(this, fields)
  }
}
define(BundleError.prototype, 'name', { ...own('BundleError'), enumerable: false })

/** @internal */
export const BUNDLE: JobKind = {
  panicCode: 'EBUNDLEPANIC',
  doing: 'working on a bundle',
  errorOf: (failure) => new BundleError(failure),
  cleansUp: true,
}
