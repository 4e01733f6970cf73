import { native } from '../addon.js'
import { check, checkedStrictly, expect } from '../arguments.js'
import { bundlesToWrite } from '../binding/bundles.js'
import { errorOf } from '../binding/errors.js'
import { type JobKind, runJob } from '../binding/job.js'
// Only for links in the comments.
import type { BundleCode } from '../bundle/error.js'

/** Options of {@link exportSession}. */
export interface ExportSessionOptions {
  /** The format: ATIF v1.8, the Agent Trajectory Interchange Format. */
  format: 'atif'
  /** Which conversation of another program's session to write. Needed if there are several equal ones. Default: that of the file itself. */
  conversation?: string | undefined
  /**
   * Aborting it stops the export. The promise rejects with the signal's `reason` once all temporary files are removed; if the document is already at its
   * destination, it resolves.
   */
  signal?: AbortSignal | undefined
}

/** What {@link exportSession} has written. */
export interface ExportedSession {
  /** Number of steps of the document. */
  steps: number
  /** Number of files in the directory `<dest>.media`. 0 if there is no such directory. */
  media: number
  /** If the session is an archive that is damaged: `The archive is damaged after N bytes`. What is behind that is not exported. Otherwise absent. */
  warnings?: string[]
}

const EXPORT: JobKind = { panicCode: 'ESESSIONPANIC', doing: 'exporting a session', errorOf, cleansUp: true }

/**
 * Writes the history of a session, as it is at the end of the file, in the format of another program.
 *
 * A prompt becomes a step of the `user`, a response a step of the `agent` with its calls, and a result goes to the step of its call. Base64 media become
 * files `<dest>.media/<n>.<ext>`, which the document names by relative paths, as do images that the session refers to, from the store beside its directory or
 * from its bundle; a reference whose image is not there stays in `extra`. Nothing is redacted: what a provider knows an image by (`providerFiles`,
 * `providerFileIds`: hashes of keys, ids of files) is in the document, too. For a document to give away, export a bundle, which is redacted, and pass that as `path`. What ATIF has no place for is in `extra.session_tape` of the same step,
 * call or result. Items that rewinds and compactions have removed are left out; `notes` has their number.
 *
 * The document is written next to its destination under a temporary name, and renamed when it is complete and on stable storage. A failure or an abort
 * leaves no files, and nothing that exists is replaced. The session is read twice, and one item at a time is in memory.
 *
 * @param path - The session's file, native or another program's, or the bundle of a session, which is verified first.
 * @param dest - A path that does not exist yet.
 * @returns The numbers of steps and of files. Rejects with an `Error` whose `code` is `EFOREIGNEMPTY` if the history is empty, since ATIF requires a
 * step; `EFOREIGNFORMAT` if the file is neither a native session nor one of a known format; `EFOREIGNMANY` if it has several conversations and none was
 * chosen; a {@link BundleCode}, with all `problems`, for a bundle that does not verify
 * or is that of a run; a code of the system, with `errno`, `syscall` and `path` (`EEXIST` if there is something at `dest` or `<dest>.media`);
 * `ESESSIONREAD` if the file was changed while it was read; `ESESSIONPANIC` for a bug in session-tape. Also rejects with the reason of an aborted
 * `options.signal`.
 * @throws TypeError - At once, if an argument is of the wrong type.
 *
 * @example
 * ```ts
 * import { exportSession } from 'session-tape';
 *
 * try {
 *   await exportSession('no-such-session.jsonl', 'trajectory.json', { format: 'atif' });
 * } catch (error) {
 *   console.log((error as { code: string }).code); // ENOENT
 * }
 * ```
 */
export function exportSession(path: string, dest: string, options: ExportSessionOptions): Promise<ExportedSession> {
  check.filledString(path, 'path')
  check.filledString(dest, 'dest')
  const isFormat = (format: unknown, name: string) => expect(format === 'atif', name, "'atif'", format)
  const { conversation, signal } = checkedStrictly(options, {
    format: isFormat,
    conversation: 'string?',
    signal: 'signal?',
  })
  return runJob<ExportedSession>(
    EXPORT,
    (onReady) => native.startAtifExport(bundlesToWrite(), path, dest, conversation, onReady),
    { signal },
  )
}
