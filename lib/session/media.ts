// Reads the references to media of a session, and checks the objects that they name.

import { native } from '../addon.js'
import { NO_OPTIONS, type Shape, check, checked } from '../arguments.js'
import { bundles } from '../binding/bundles.js'
import { type Failure, errorOf } from '../binding/errors.js'
import { type JobOptions, SESSION, runJob } from '../binding/job.js'
import type { NativeJob } from '../binding/native.js'
import { type Page, elementsOfPages } from '../binding/pages.js'
// Only for links in the comments.
import type { readSessionRecords } from './read-records.js'
import type { MediaReference } from './records.js'

/** An object that a {@link MediaReference} of a session names. */
export interface SessionMedia {
  /** Its id: `sha256:` and the hash of its bytes in hex. */
  contentId: string
  /** `seq` of the record that has the reference; `null` if that is no number. */
  seq: number | null
  /** Its line in the file, from 1. */
  line: number
  /** What the object is to the reference. */
  role: 'original' | 'selected'
  /** Its size in bytes, as the reference says. */
  byteLength: number
  /** Its type, as the reference says. */
  mimeType: string
}

/** Options of {@link readSessionMedia}. */
export interface SessionMediaOptions {
  /** Aborting it stops the work; the iterator throws the signal's `reason` instead of its next element. */
  signal?: AbortSignal | undefined
}

/** Options of {@link verifySessionMedia}. */
export interface VerifySessionMediaOptions {
  /**
   * The store: the directory that has `objects/sha256`. Default: `media` beside the directory of the session, if that has it; of a bundle, first the bundle
   * itself.
   */
  mediaDir?: string | undefined
  /** Aborting it stops the work; the promise rejects with the signal's `reason`. */
  signal?: AbortSignal | undefined
}

/** Result of {@link verifySessionMedia}. Each object counts once. */
export interface SessionMediaVerification {
  /** Number of objects that the store has. */
  present: number
  /** Ids of the objects that it does not have. */
  missing: string[]
  /** Ids of the objects whose file has another size than a reference says, or other bytes. */
  corrupt: string[]
}

/** Consecutive objects, and whether they are the last ones. */
interface Entries {
  entries: SessionMedia[]
  last?: boolean
  error?: Failure
}

/**
 * Reads which media a session refers to: for each reference its original and its selected object, also if these are the same, in the order of the file.
 * For hosts that delete from their store what no session names.
 *
 * All lines count, also those whose items a rewind has taken back. A block that is not what a {@link MediaReference} must be is no reference. The bytes of
 * the media are not read. Works off the JavaScript thread, reads nothing before the first element is requested, and takes memory for two batches of some
 * 256 KiB, and for the longest line.
 *
 * @param path - A session's file, its archive, or a bundle of a session, which is verified first.
 * @returns If the file can't be read, the iterator yields what is before that place and then throws what {@link readSessionRecords} throws.
 * @throws TypeError - At once, if an argument is of the wrong type.
 *
 * @example
 * ```ts
 * import { mkdtempSync } from 'node:fs';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { readSessionMedia, SessionRecordingService } from 'session-tape';
 *
 * const recorder = new SessionRecordingService({
 *   sessionId: 'a1b2c3d4-0001', projectHash: 'my-project', chatsDir: mkdtempSync(join(tmpdir(), 'chats-')),
 *   workspaceDirs: [], provider: 'acme', model: 'acme-large',
 * });
 * const object = { contentId: `sha256:${'0'.repeat(64)}`, mimeType: 'image/png', byteLength: 3, normalizedBase64Length: 4 };
 * recorder.recordContent({ speaker: 'human', blocks: [{
 *   type: 'media', encoding: 'reference', ...object, originalContentId: object.contentId, selectedContentId: object.contentId,
 *   originalObject: object, selectedObject: object,
 * }] });
 * await recorder.dispose();
 *
 * for await (const { line, role, byteLength } of readSessionMedia(recorder.getFilePath()!)) console.log(line, role, byteLength);
 * // 2 original 3
 * // 2 selected 3
 * ```
 */
export function readSessionMedia(
  path: string,
  options: SessionMediaOptions = NO_OPTIONS,
): AsyncGenerator<SessionMedia, void, undefined> {
  check.string(path, 'path')
  const { signal } = checked(options, READ_OPTIONS)
  return elementsOfPages(SESSION, () => native.readSessionMedia(bundles, path), readPage, signal)
}

/**
 * Checks that a store has every object that a session refers to, by size and hash.
 *
 * @param path - A session's file, its archive, or a bundle of a session, which is verified first.
 * @returns Rejects with what {@link readSessionRecords} throws if the session can't be read, and with the system's error if an object can't be.
 * @throws TypeError - At once, if an argument is of the wrong type.
 *
 * @example
 * ```ts
 * import { mkdtempSync, writeFileSync } from 'node:fs';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { verifySessionMedia } from 'session-tape';
 *
 * const path = join(mkdtempSync(join(tmpdir(), 'chats-')), 'session.jsonl');
 * writeFileSync(path, '');
 * console.log(await verifySessionMedia(path)); // { present: 0, missing: [], corrupt: [] }
 * ```
 */
export function verifySessionMedia(
  path: string,
  options: VerifySessionMediaOptions = NO_OPTIONS,
): Promise<SessionMediaVerification> {
  check.string(path, 'path')
  const { mediaDir, signal } = checked(options, VERIFY_OPTIONS)
  return runJob(SESSION, (onReady) => native.verifySessionMedia(bundles, path, mediaDir, onReady), { signal })
}

const READ_OPTIONS: Shape<SessionMediaOptions> = { signal: 'signal?' }
const VERIFY_OPTIONS: Shape<VerifySessionMediaOptions> = { mediaDir: 'filledString?', signal: 'signal?' }

async function readPage(start: (onReady: () => void) => NativeJob, options: JobOptions): Promise<Page<SessionMedia>> {
  const { entries, last, error } = (await runJob(SESSION, start, options)) as Entries
  const at = (index: number) => entries[index]!
  return { length: entries.length, at, isLast: last === true || error !== undefined, error: error && errorOf(error) }
}
