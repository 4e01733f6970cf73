import os = require('node:os')
import { native } from '../addon.js'
import { check, expect } from '../arguments.js'
import type { End } from '../binding/batch.js'
import { HEADERS, resultOf } from '../binding/job.js'
import { parse } from '../builtins.js'
import { sessionFilesIn } from './directory.js'
import type { SessionStartPayload } from './records.js'
// Only for links in the comments.
import type { listSessions } from './list.js'
import type { openSession } from './open.js'

/** A file in a directory, as {@link readSessionHeaders} returns it. */
export interface SessionFileHeader {
  /** The directory as it was passed, joined with the file's name: `path.join(directory, name)`. */
  filePath: string
  /** The header, as {@link readSessionHeader} returns it; `null` if the file has none. */
  header: SessionStartPayload | null
}

type Header = SessionStartPayload | null

/** A function of the addon that reads many files. Its result has an element for each of the first of them, at least for one. */
type Read = (filePaths: string[]) => Promise<string>

/** The number of files per call of the addon, which reads them on one thread. Their headers are parsed in one turn of the event loop. */
const SHARE = 64

/** The number of concurrent calls. Node's thread pool has four threads by default. */
const MAX_CONCURRENT_SHARES = Math.max(4, os.availableParallelism())

/**
 * Reads only the `session_start` of a session file, for a list of sessions to resume.
 *
 * Reads the first line only, at most 1 MiB. Returns the payload as it is in the file; its fields are not checked.
 *
 * Another thread reads, so the JavaScript thread does not block. For many files, {@link readSessionHeaders} is much faster than one call each.
 *
 * @param filePath - The session file, or the directory of a session's bundle, which is not verified. The header of an archive can't be read
 * without unpacking it: use {@link openSession}.
 * @returns The header, or `null` if there is none: the file can't be read or is empty, or its first line does not parse, is not a `session_start`,
 * is longer than 1 MiB, or has a payload that is not an object (an array does not count as one). Never rejects.
 * @throws TypeError - At once, if `filePath` is not a string.
 *
 * @example
 * ```ts
 * import { readSessionHeader } from 'session-tape';
 *
 * const header = await readSessionHeader('no-such-session.jsonl');
 * console.log(header === null ? 'not a session' : header.startTime);
 * ```
 */
export function readSessionHeader(filePath: string): Promise<SessionStartPayload | null> {
  check.string(filePath, 'filePath')
  return readOne(filePath)
}

async function readOne(filePath: string): Promise<Header> {
  return resultOf<Header[]>(HEADERS, parse<End>(await native.readHeaders([filePath])))[0] as Header
}

/**
 * {@link readSessionHeader} for many files at once, in parallel.
 *
 * @param filePaths - The session files.
 * @returns One entry per path, in the order of the paths; `null` for a file without a header. A bad file does not affect the others, and the
 * promise never rejects.
 * @throws TypeError - At once, if `filePaths` is neither an array of strings nor a string.
 */
export function readSessionHeaders(filePaths: string[]): Promise<(SessionStartPayload | null)[]>
/**
 * {@link readSessionHeader} for every session file in a directory, in parallel.
 *
 * Reads the entries whose names end in `.jsonl` or `.jsonl.zst`, links included, and does not descend into directories. A pipe or a directory with
 * such a name has no header and does not block. {@link listSessions} returns more: size, time and what is wrong with a file.
 *
 * @param directory - The directory that the recorder was given as `chatsDir`.
 * @returns One entry per file, sorted by file name (by UTF-16 code units, as `Array.sort` does). Rejects with Node's own error if the directory
 * can't be read (`ENOENT`, `ENOTDIR`, `EACCES` …), never because of a file in it.
 * @throws TypeError - At once, if the argument is neither a string nor an array of strings.
 *
 * @example
 * ```ts
 * import { mkdtempSync, writeFileSync } from 'node:fs';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { readSessionHeaders } from 'session-tape';
 *
 * const directory = mkdtempSync(join(tmpdir(), 'chats-'));
 * writeFileSync(join(directory, 'not-a-session.jsonl'), 'hello');
 *
 * for (const { filePath, header } of await readSessionHeaders(directory)) {
 *   console.log(header === null ? 'no session' : `${header.startTime} ${filePath}`); // no session
 * }
 * ```
 */
export function readSessionHeaders(directory: string): Promise<SessionFileHeader[]>
export function readSessionHeaders(files: string[] | string): Promise<Header[] | SessionFileHeader[]> {
  if (typeof files === 'string') return readDirectory(files)
  const areStrings = Array.isArray(files) && files.every((one) => typeof one === 'string')
  expect(areStrings, 'filePaths', 'an array of strings, or the path of a directory', files)
  return readShared(files, native.readHeaders, (header: Header) => header)
}

async function readDirectory(directory: string): Promise<SessionFileHeader[]> {
  return readShared(await sessionFilesIn(directory), native.readHeaders, (header: Header, filePath) => ({
    filePath,
    header,
  }))
}

/** Reads files with `read`, in concurrent shares, and returns the results in the order of the files, mapped by `each`. @internal */
export async function readShared<F, T>(
  filePaths: string[],
  read: Read,
  each: (found: F, filePath: string) => T,
): Promise<T[]> {
  // The caller may change the array in the meantime.
  const paths = filePaths.slice()
  const all = paths.map((): T | undefined => undefined)
  let next = 0
  async function readOn(): Promise<void> {
    while (next < paths.length) {
      const start = next
      const share = paths.slice(start, (next += SHARE))
      await readShare<F>(share, read, (found, index) => {
        all[start + index] = each(found, share[index]!)
      })
    }
  }
  await Promise.all(Array.from({ length: MAX_CONCURRENT_SHARES }, readOn))
  return all as T[]
}

/** Reads the files of a share, in several calls if their headers are too large for one string. */
async function readShare<F>(share: string[], read: Read, take: (found: F, index: number) => void): Promise<void> {
  for (let count = 0; count < share.length; ) {
    const found = resultOf<F[]>(HEADERS, parse<End>(await read(share.slice(count))))
    for (let index = 0; index < found.length; index++) take(found[index]!, count++)
  }
}
