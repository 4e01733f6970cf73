import { native } from '../addon.js'
import { NO_OPTIONS, check, checked } from '../arguments.js'
import { PREVIEW, runJob } from '../binding/job.js'

/** The beginning of a session; see {@link readSessionPreview}. */
export interface SessionPreview {
  /** Whether there is at least one `content` record. */
  hasContent: boolean
  /** The text blocks of the first human item that has text, concatenated. `null` if there is no such item. */
  firstUserMessage: string | null
}

/** The default maximum length of the first user message, in UTF-16 code units. */
const LENGTH = 120

/**
 * Reads the beginning of a session, for a list of sessions. Stops reading as soon as the result is known. Considers what was recorded, regardless
 * of later compressions and rewinds; skips lines, items and blocks of another form.
 *
 * @param filePath - The session file, or the directory of a session's bundle, which is not verified.
 * @param options - `length`: maximum length of `firstUserMessage` in UTF-16 code units; a surrogate pair is never split. Default 120.
 * `signal`: aborting it stops reading; the promise rejects with the signal's `reason`.
 * @returns Rejects only if the signal is aborted. For a file that cannot be read: `{ hasContent: false, firstUserMessage: null }`. Pipes are not
 * read.
 * @throws TypeError - At once, if an argument is of the wrong type, or `length` is not a safe integer ≥ 0.
 *
 * @example
 * ```ts
 * import { readSessionPreview } from 'session-tape';
 *
 * const { hasContent, firstUserMessage } = await readSessionPreview('no-such-session.jsonl', { length: 40 });
 * console.log(hasContent, firstUserMessage ?? '(no message)'); // false (no message)
 * ```
 */
export function readSessionPreview(
  filePath: string,
  options: { length?: number | undefined; signal?: AbortSignal | undefined } = NO_OPTIONS,
): Promise<SessionPreview> {
  check.string(filePath, 'filePath')
  const { length = LENGTH, signal } = checked<typeof options>(options, { length: 'safeCount?', signal: 'signal?' })
  return runJob(PREVIEW, (onReady) => native.startSessionPreview(filePath, length, onReady), { signal })
}

/**
 * Reads the last title in a session file: that of the last valid `session_metadata` that has the key `title`, whatever else is in the file.
 *
 * The file is searched from its end, on all cores, and is not kept in memory.
 *
 * @param filePath - The session file, or the directory of a session's bundle, which is not verified.
 * @param options - `signal`: aborting it stops the search; the promise rejects with the signal's `reason`.
 * @returns The title. `null` if there is explicitly no title; `undefined` if no title was recorded or the file cannot be read. Rejects only if the
 * signal is aborted. Pipes are not read.
 * @throws TypeError - At once, if an argument is of the wrong type.
 */
export function readSessionTitle(
  filePath: string,
  options: { signal?: AbortSignal | undefined } = NO_OPTIONS,
): Promise<string | null | undefined> {
  check.string(filePath, 'filePath')
  const { signal } = checked<typeof options>(options, { signal: 'signal?' })
  return readTitle(filePath, signal)
}

async function readTitle(filePath: string, signal: AbortSignal | undefined): Promise<string | null | undefined> {
  const title = await runJob<string | null | false>(PREVIEW, (onReady) => native.startSessionTitle(filePath, onReady), {
    signal,
  })
  return title === false ? undefined : title
}
