import { native } from '../addon.js'
import { NO_OPTIONS, type Shape, WORK, check, checked, checkedStrictly, expect } from '../arguments.js'
import { bundlesToWrite } from '../binding/bundles.js'
import { errorOf } from '../binding/errors.js'
import { type JobKind, runJob } from '../binding/job.js'
import type { NativeJob } from '../binding/native.js'
import { isSafeId } from '../locks/path.js'
import type { Progress } from '../progress.js'
import type { SessionRecordLine } from '../session/records.js'
// Only for links in the comments.
import type { replaySession } from '../session/replay.js'

/** A format of sessions of other programs that this package reads. */
export type ForeignFormat = 'claude' | 'codex' | 'gemini' | 'pi' | 'atif' | 'opencode' | 'qwen' | 'cursor'

/** Why a record is not in the converted session. docs/agents.md describes the reasons. */
export type DropReason =
  | 'unparseable'
  | 'not-an-object'
  | 'too-large-to-keep'
  | 'too-large'
  | 'echo'
  | 'repeat'
  | 'duplicate-uuid'
  | 'marker'
  | 'unchanged'
  | 'timestamp-only'
  | 'progress'
  | 'queue'
  | 'telemetry'
  | 'bulk'
  | 'empty'
  | 'ignored'
  | 'no-usage'
  | 'no-message'
  | 'no-effect'
  | 'sub-agent'
  | 'other-lane'
  | 'other-conversation'
  | 'foreign-title'
  | 'secret'

/** A conversation in a session of another program. */
export interface ForeignConversation {
  /** The id of the session. Empty if the source has none. */
  sessionId: string
  /** The id of the sub-agent, if it is the conversation of one. */
  agentId?: string
  /** Its title, if it has one. */
  title?: string
  /** The time of its first record, as ISO-8601 in UTC with milliseconds. */
  startTime: string
  /** Number of its records. */
  records: number
}

/** Options of {@link importSession}. */
export interface ImportOptions {
  /** The directory of the session's file. Created with its parents. */
  chatsDir: string
  /** The hash of the project. */
  projectHash: string
  /** The directories of the session. Default: what the source says. */
  workspaceDirs?: string[] | undefined
  /**
   * The id of the session: 1 to 256 of the characters `A-Z a-z 0-9 _ -`. Default: that of the source, whose other characters become `_`; a random UUID
   * if it has none.
   */
  sessionId?: string | undefined
  /** The `sessionId` or `agentId` of one of {@link listConversations}. Needed if there are several equal ones. */
  conversation?: string | undefined
  /** Where the receipt goes. Nothing is ever replaced. Default: `<session file>.receipt.jsonl`. */
  receipt?: string | undefined
  /** Aborting it stops the import. The promise rejects with the signal's `reason` once nothing is left behind. */
  signal?: AbortSignal | undefined
  /** Called on the JavaScript thread at most ten times a second, and once at the end with the total. Throwing from it stops the import. */
  onProgress?: ((progress: Progress) => void) | undefined
}

/** What became of all records of a source: line 1 of its receipt. `records` is always the sum of `mapped`, `kept` and `dropped`. */
export interface ReceiptSummary {
  /** The format of the source. */
  format: ForeignFormat
  /** The id of the session. */
  sessionId: string
  /** The version of the program that wrote the source: the first one, if it states several. Absent if it states none. */
  sourceVersion?: string
  /** SHA-256 of the source, in hex. Of a compressed source, that of its content. */
  sourceSha256: string
  /** Size of the source in bytes. */
  sourceBytes: number
  /** Number of records. */
  records: number
  /** Number of records that events of the session carry. */
  mapped: number
  /** Number of records that are in the session as they are, as `raw` of a `session_event`. */
  kept: number
  /** Number of records that are not in the session. */
  dropped: number
  /** Number of dropped records for each {@link DropReason}. */
  droppedBy: Record<string, number>
  /** Number of mapped records with a field that no event carries, for each such field (`assistant.gitBranch`). */
  omittedFields: Record<string, number>
  /** What a user should know about the source, at most 100 texts. */
  warnings: string[]
}

/** What became of a record: a line of a receipt. */
export interface ReceiptEntry {
  /** The physical line of its first byte, from 1. */
  line: number
  /** The offset of its first byte in the source. Of a compressed source, in its content. */
  offset: number
  /** Its length in bytes, without the ending of its line. */
  length: number
  /** SHA-256 of its bytes, in hex. */
  sha256: string
  /** Whether events carry it, a `session_event` has all of it, or it is not in the session. */
  fate: 'mapped' | 'kept' | 'dropped'
  /** The numbers of the events that carry it, ascending. Absent for a record that was dropped. */
  seqs?: number[]
  /** Why it was dropped. */
  reason?: DropReason
}

/** Options of {@link listConversations}. */
export interface ListConversationsOptions {
  /** Aborting it stops the work; the promise rejects with the signal's `reason`. */
  signal?: AbortSignal | undefined
}

const FOREIGN: JobKind = {
  panicCode: 'ESESSIONPANIC',
  doing: "reading another program's session",
  errorOf,
  cleansUp: false,
}
const IMPORT: JobKind = { ...FOREIGN, doing: "importing another program's session", cleansUp: true }

/**
 * Detects what a file is, from its content; its name never counts. At most 4 MiB are read.
 *
 * @param path - Any file. It may be compressed with zstd.
 * @returns `'native'` for a session of this package, the format of a session of another program, or `null` for anything else. Rejects with an `Error` that
 * has the `code` of Node's own errors if the file can't be read.
 * @throws TypeError - At once, if `path` is not a string.
 *
 * @example
 * ```ts
 * import { writeFileSync } from 'node:fs';
 * import { detectSessionFormat } from 'session-tape';
 *
 * writeFileSync('notes.md', 'Buy milk');
 * console.log(await detectSessionFormat('notes.md')); // null
 * ```
 */
export function detectSessionFormat(path: string): Promise<'native' | ForeignFormat | null> {
  check.string(path, 'path')
  return runJob<'native' | ForeignFormat | null>(FOREIGN, (onReady) => native.startDetection(path, onReady))
}

/**
 * Lists the conversations in a session of another program: one, or several (sub-agents in the same file, storage of several sessions), in the order of
 * their first records. Reads the file once.
 *
 * @param path - The session.
 * @returns Rejects with an `Error` whose `code` is `EFOREIGNFORMAT` if the file is a native session or none that is known, or that of Node's own errors; with
 * the reason of an aborted `options.signal`.
 * @throws TypeError - At once, if an argument is of the wrong type.
 */
export function listConversations(
  path: string,
  options: ListConversationsOptions = NO_OPTIONS,
): Promise<{ format: ForeignFormat; conversations: ForeignConversation[] }> {
  check.string(path, 'path')
  const { signal } = checked(options, { signal: 'signal?' })
  return runJob<{ format: ForeignFormat; conversations: ForeignConversation[] }>(
    FOREIGN,
    (onReady) => native.startListing(path, onReady),
    {
      signal,
    },
  )
}

const IMPORT_OPTIONS: Shape<ImportOptions> = {
  chatsDir: 'filledString',
  projectHash: 'filledString',
  workspaceDirs(dirs: unknown, name: string) {
    const areTexts = dirs === undefined || (Array.isArray(dirs) && dirs.every((one) => typeof one === 'string'))
    expect(areTexts, name, 'an array of strings, if it is given', dirs)
  },
  sessionId(id: unknown, name: string) {
    expect(id === undefined || isSafeId(id), name, '1 to 256 of the characters A-Z a-z 0-9 _ -, if it is given', id)
  },
  conversation: 'string?',
  receipt: 'string?',
  ...WORK,
}

/**
 * Writes a native session from a session of another program, from which a CLI can resume, and a receipt that says for every record of the source where it
 * went (docs/agents.md). Both appear whole or not at all; nothing is replaced.
 *
 * The file has the name that a recorder gives, with the source's start time. If the source has no title, the first line of the first text of a person
 * becomes one.
 *
 * @param path - The session of another program.
 * @returns `lastSeq` is the number of the last event. Rejects with an `Error` whose `code` is `EFOREIGNFORMAT` for a native session or none that is known;
 * `EFOREIGNMANY`, with the ids as `conversations`, if one must be chosen, or there is none with the chosen id; `EFOREIGNEMPTY` if no record is part of a
 * conversation; `ESESSIONEXISTS`, with the `path` of that session, if `chatsDir` has one with the id; or the `code` of Node's own errors; with the reason of
 * an aborted `options.signal`; with what `options.onProgress` throws.
 * @throws TypeError - At once, if an argument is of the wrong type.
 */
export function importSession(
  path: string,
  options: ImportOptions,
): Promise<{ filePath: string; receiptPath: string; lastSeq: number; summary: ReceiptSummary }> {
  check.string(path, 'path')
  const { signal, onProgress, ...rest } = checkedStrictly(options, IMPORT_OPTIONS)
  const wanted = { ...rest, progress: onProgress !== undefined }
  const start = (onReady: () => void): NativeJob => native.startForeignImport(bundlesToWrite(), path, wanted, onReady)
  return runJob<{ filePath: string; receiptPath: string; lastSeq: number; summary: ReceiptSummary }>(IMPORT, start, {
    signal,
    onProgress,
  })
}

/** Options of {@link convertSession}. */
export interface ConvertOptions {
  /** The `sessionId` or `agentId` of one of {@link listConversations}. Needed if there are several equal ones. */
  conversation?: string | undefined
}

interface Page {
  rows: { entry: ReceiptEntry; events: SessionRecordLine[] }[]
  summary?: ReceiptSummary
}

/**
 * Converts a session of another program without writing it: yields an object for each of its records, in the order of the source, with what became of
 * it, and the native events. Every event is yielded once, in the order of `seq`, with the first record behind which it is complete; `entry.seqs` names all
 * events that carry the record. The events together are what {@link replaySession} reads.
 *
 * Nothing is read before the first object is requested. The source is then converted to a temporary file, which ends with the iteration.
 *
 * @param path - The session of another program.
 * @returns The iteration returns the {@link ReceiptSummary}. It throws the errors that {@link importSession} rejects with, as far as they are about the source.
 * @throws TypeError - At once, if an argument is of the wrong type.
 */
export function convertSession(
  path: string,
  options: ConvertOptions = NO_OPTIONS,
): AsyncGenerator<{ entry: ReceiptEntry; events: SessionRecordLine[] }, ReceiptSummary, undefined> {
  check.string(path, 'path')
  const { conversation } = checked(options, { conversation: 'string?' })
  return converted(path, conversation)
}

async function* converted(
  path: string,
  conversation: string | undefined,
): AsyncGenerator<{ entry: ReceiptEntry; events: SessionRecordLine[] }, ReceiptSummary, undefined> {
  const conversion = new native.NativeConversion(path, conversation)
  try {
    for (;;) {
      const { rows, summary } = await runJob<Page>(FOREIGN, (onReady) => conversion.next(onReady))
      yield* rows
      if (summary !== undefined) return summary
    }
  } finally {
    conversion.close()
  }
}
