// Lists the sessions of a directory by reading their first lines.

import path = require('node:path')
import { native } from '../addon.js'
import { NO_OPTIONS, check, checked } from '../arguments.js'
import { hasOwn } from '../builtins.js'
import { hasCode } from '../system-error.js'
import { sessionFilesIn } from './directory.js'
import { checkKinds, kindsOf, ofKinds } from './kind.js'
import type { SessionKind, SessionStartPayload } from './records.js'
import { readShared } from './header.js'
import { newestFirst } from './order.js'
import type { SessionSummary, SkippedSession } from './summary.js'

/** @internal */
export interface Listing {
  sessions: SessionSummary[]
  unreadable: SkippedSession[]
}

/** A file of a directory. @internal */
export interface Entry {
  /** The project hash, which may be any value. */
  hash: unknown
  session: SessionSummary | undefined
  unreadable: SkippedSession | undefined
}

/** The header, the size and the time of modification of a file, and the size of an archive. */
type Whole = [header: object, fileSize: number, lastModified: number, archivedBytes?: number]

/** What was found in a file. A header alone lacks what a session must have. A string is the reason why there is no header. */
type Summary = Whole | [header: object] | string

/** The prefix of the names of files that recorders create. */
const RECORDED = 'session-'

/**
 * Lists the sessions of a directory, the newest first: sorted by the time of modification in milliseconds, then by `sessionId` as `localeCompare`
 * compares, by `startTime`, and by file name, with the number in it (`-2`, `-3` …) compared as a number; each in descending order.
 *
 * Reads the first line of each file, however long it is; of a long one it keeps only what it returns in memory. A session whose header lacks what strict
 * replays require (`sessionId`, `projectHash` and `startTime` are strings that are not empty, `provider` and `model` are strings) is unreadable.
 *
 * @param chatsDir - The directory that the recorder was given as `chatsDir`. Its `.jsonl` files are read, and the archives (`.jsonl.zst`) of
 * sessions that have no such file, except for those in subdirectories.
 * @param options - `projectHash`: list only the sessions of that project. `kinds`: of which kinds, by default only `'main'`: the sessions of
 * sub-agents are left out.
 * @returns The sessions, and the files that are not sessions or could not be read, except for those of other projects, each with the
 * {@link SkippedSession.reason | reason}. A directory that can't be read is such an entry itself. Never rejects.
 * @throws TypeError - At once, if an argument is of the wrong type.
 *
 * @example
 * ```ts
 * import { listSessions } from 'session-tape';
 *
 * const { sessions, unreadable } = await listSessions('no-such-directory');
 * for (const { startTime, model, filePath } of sessions) console.log(startTime, model, filePath);
 * console.log(unreadable[0]!.reason.slice(0, 6)); // ENOENT
 * ```
 */
export function listSessions(
  chatsDir: string,
  options: { projectHash?: string | undefined; kinds?: readonly SessionKind[] | undefined } = NO_OPTIONS,
): Promise<{
  sessions: SessionSummary[]
  unreadable: SkippedSession[]
}> {
  check.filledString(chatsDir, 'chatsDir')
  const { projectHash, kinds } = checked<typeof options>(options, { projectHash: 'string?', kinds: checkKinds })
  return list(chatsDir, projectHash, kindsOf(kinds))
}

/** Lists the sessions of a directory, of one project or of all, and the files that do not contain a session. @internal */
export async function list(
  chatsDir: string,
  projectHash: string | undefined,
  kinds: readonly SessionKind[],
): Promise<Listing> {
  let filePaths: string[]
  try {
    filePaths = await sessionFilesIn(chatsDir)
  } catch (error) {
    return { sessions: [], unreadable: [{ filePath: chatsDir, reason: (error as Error).message }] }
  }
  const { sessions, unreadable } = sorted(ofProject(await readEntries(filePaths), projectHash))
  return { sessions: ofKinds(sessions, kinds), unreadable }
}

/** Lists sessions of any project and kind among files. @internal */
export async function listFiles(filePaths: string[]): Promise<Listing> {
  return sorted(await readEntries(filePaths))
}

/**
 * Lists the sessions of a project, of any kind, among the files that recorders create, and as unreadable the files that may belong to the project but do not
 * contain a session. A directory that does not exist is empty. Rejects with the system's error if it cannot be read for another reason.
 *
 * @internal
 */
export async function listProject(chatsDir: string, projectHash: string): Promise<Listing> {
  return sorted(ofProject(await readEntries(await recordedFilesIn(chatsDir)), projectHash))
}

/** What has a malformed hash, or none, may be of this project. */
function ofProject(entries: Entry[], projectHash: string | undefined): Entry[] {
  return entries.filter(({ hash }) => projectHash === undefined || hash === projectHash || !isFilled(hash))
}

async function recordedFilesIn(chatsDir: string): Promise<string[]> {
  try {
    return (await sessionFilesIn(chatsDir)).filter((filePath) => path.basename(filePath).startsWith(RECORDED))
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return []
    throw error
  }
}

/** Whether a file begins as a session of this format. @internal */
export function isNative({ hash }: Entry): boolean {
  return hash !== NO_HEADER
}

/** Reads the headers of files. Resolves to an entry for each. @internal */
export function readEntries(filePaths: string[]): Promise<Entry[]> {
  return readShared(filePaths, (share) => native.readSummaries(share.join('\0')), entryOf)
}

function sorted(entries: Entry[]): Listing {
  return {
    sessions: entries
      .map(({ session }) => session)
      .filter((session) => session !== undefined)
      .sort(newestFirst),
    unreadable: entries.map(({ unreadable }) => unreadable).filter((unreadable) => unreadable !== undefined),
  }
}

/** Placeholder for the project hash of a file without a readable header. */
const NO_HEADER = Symbol('no header')

/** Returns the entry of a file, with the session or the reason why it is unreadable. */
function entryOf(found: Summary, filePath: string): Entry {
  if (typeof found === 'string') return { hash: NO_HEADER, session: undefined, unreadable: { filePath, reason: found } }
  const payload = found[0]
  const hash = own(payload, 'projectHash')
  if (found.length === 1) {
    const id = own(payload, 'sessionId')
    return {
      hash,
      session: undefined,
      unreadable: { filePath, ...(isFilled(id) && { sessionId: id }), reason: INVALID },
    }
  }
  const file = fileOf(filePath, found)
  return { hash, session: summaryOf(payload, file), unreadable: undefined }
}

/** What a summary says about the file. */
type FileFields = Pick<
  SessionSummary,
  'filePath' | 'fileSize' | 'lastModified' | 'archived' | 'bytes' | 'archivedBytes'
>

function fileOf(filePath: string, [, fileSize, lastModified, archivedBytes]: Whole): FileFields {
  const file = { filePath, fileSize, lastModified: new Date(lastModified) }
  return archivedBytes === undefined ? file : { ...file, archived: true, bytes: fileSize, archivedBytes }
}

/** The error with which a strict replay would refuse the session. */
const INVALID = 'Invalid session_start: missing or malformed required fields'

function summaryOf(payload: object, file: FileFields): SessionSummary {
  const cwd = own(payload, 'cwd')
  const { sessionId, projectHash, provider, model, startTime } = payload as SessionStartPayload
  return {
    sessionId,
    projectHash,
    workspaceDirs: strings(own(payload, 'workspaceDirs')),
    ...(typeof cwd === 'string' ? { cwd } : undefined),
    provider,
    model,
    startTime,
    ...kindFieldsOf(payload),
    createdAt: startTime,
    ...file,
  }
}

/** What the header says about the kind of the session. */
function kindFieldsOf(payload: object): Pick<SessionSummary, 'kind' | 'parentSessionId'> {
  const kind = own(payload, 'kind')
  const parentSessionId = own(payload, 'parentSessionId')
  return {
    ...(kind === 'subagent' || kind === 'main' ? { kind } : undefined),
    ...(typeof parentSessionId === 'string' ? { parentSessionId } : undefined),
  }
}

/** Returns a member of a parsed object. Inherited members were not in the text. */
function own(parsed: object, name: string): unknown {
  return hasOwn(parsed, name) ? (parsed as Record<string, unknown>)[name] : undefined
}

function strings(value: unknown): string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string') ? value : []
}

function isFilled(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
