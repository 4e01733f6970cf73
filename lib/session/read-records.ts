import { native } from '../addon.js'
import { NO_OPTIONS, type Shape, check, checkEach, checked, expect, unlessMissing } from '../arguments.js'
import type { Batch, LineBatch, TapeBatch } from '../binding/batch.js'
import { bundles } from '../binding/bundles.js'
import { type JobOptions, SESSION, runJob } from '../binding/job.js'
import type { NativeJob } from '../binding/native.js'
import { type Page, elementsOfPages } from '../binding/pages.js'
import { appendValues } from '../binding/tape-reader.js'
import type { SessionEventType, SessionRecordLine } from './records.js'
// Only for links in the comments.
import type { BundleCode } from '../bundle/error.js'
import type { readRunEvents } from '../run/events.js'
import type { ReplayOptions } from './replay.js'

/** Where a line is in the file of a session. */
export interface SessionLinePlace {
  /** Its number, from 1. Blank lines count. */
  line: number
  /** The offset of its first byte in the file: in line 1, after a byte order mark. */
  offset: number
}

/**
 * What a line does to neighbouring items of the history: `removed` of them give way to `added` ones of the line, and `behind` follow them up to the end
 * of the history.
 *
 * On a list, that is `items.splice(items.length - behind - removed, removed, ...added)`. A `chronology_bind` that only gives an item another marker
 * has a change that removes and adds none; the item is the first of those behind.
 */
export interface HistoryChange {
  /** How many items go. */
  removed: number
  /** How many items of the line take their place. */
  added: number
  /** How many items follow that place: 0 at the end of the history. */
  behind: number
}

/** What {@link readSessionRecords} yields for each line, whatever is in it. */
export interface SessionLineBase extends SessionLinePlace {
  /** Its length in bytes, without its ending: `\n`, or `\r\n`. */
  length: number
  /**
   * With `history: true`, for a line that adds an item to the history: whether the item is still there at the end of the file, after all
   * compressions and rewinds. Otherwise absent.
   */
  inHistory?: boolean
  /**
   * With `changes: true`, for a line that has an effect on the history: what it does to it. Several changes, of an edit through keys, are in the order
   * of the history, so that none moves what is behind a later one. Absent for a line without an effect, such as a rewind of nothing, or an edit
   * that names no item of the history.
   */
  changes?: HistoryChange[]
  /** For the torn line with which a damaged archive ends: `The archive is damaged after N bytes`. Otherwise absent. */
  warning?: string
}

/**
 * A line of a session, as {@link readSessionRecords} yields it. `status` says how a replay reads it, with the rules of the file format; `record` is its
 * value, as `JSON.parse` returns it.
 *
 * | `status` | means | `record` |
 * |---|---|---|
 * | `'ok'` | an event of a known type | an object |
 * | `'malformed'` | an event of a known type whose payload does not fit (replay rules 9, 10 and 17); with `strict`, also any line without a valid `seq` | any JSON value |
 * | `'unknown'` | an event of another type, or of none (replay rule 11) | any JSON value |
 * | `'unparseable'` | not JSON, or longer than any JavaScript string (512 MiB) | `null` |
 * | `'torn'` | the same, but the last line of the file, as a crash in the middle of a write leaves it (replay rule 13) | `null` |
 * | `null` | a blank line, or `null`, which a replay skips (replay rules 4 and 5) | `null` |
 *
 * A `session_start` that is not on line 1 is `'ok'`, though a replay skips it. An event of a known type has no other member for certain than its
 * `type`: `v`, `seq` and `ts` are as they were recorded.
 */
export type SessionLine =
  | (SessionLineBase & { status: 'ok'; record: SessionRecordLine })
  | (SessionLineBase & { status: 'malformed' | 'unknown'; record: unknown })
  | (SessionLineBase & { status: 'unparseable' | 'torn' | null; record: null })

/** Options of {@link readSessionRecords}. */
export interface SessionRecordsOptions {
  /** Yield `inHistory`, for which the file is first read once to its end. Default `false`. */
  history?: boolean | undefined
  /**
   * Yield `changes`, from which the history at every line follows, and for each item the line that took it away. Keeps 8 bytes for each item of the
   * history and, once events have edited items, some 150. With `from`, the lines before it are read too, but only once a line does more than append
   * an item. Default `false`.
   */
  changes?: boolean | undefined
  /** Read lines as {@link ReplayOptions.strict} does. Default `false`. */
  strict?: boolean | undefined
  /** Yield only records whose `type` is one of these, whatever their status. The others cost little. Default: all lines. */
  types?: (SessionEventType | (string & {}))[] | undefined
  /**
   * Begin with this line, as an earlier call has yielded it: to read on where that call ended, or a line on its own. Nothing before it is read, except for `history` and `changes`. If no
   * line begins at the offset, the next one that begins is taken for it. So the one behind a line is at `{ line: line + 1, offset: offset + length + 1 }`,
   * whatever that line ends with; a `'torn'` line is read again once it is complete.
   */
  from?: SessionLinePlace | undefined
  /** Aborting it stops the work, also that of opening a bundle; the iterator throws the signal's `reason` instead of its next line. */
  signal?: AbortSignal | undefined
}

/** The statuses by their letters (src/session_records.rs). */
const STATUSES: Record<string, SessionLine['status']> = {
  o: 'ok',
  m: 'malformed',
  u: 'unknown',
  p: 'unparseable',
  t: 'torn',
  '-': null,
}

const BEGINNING: Readonly<SessionLinePlace> = Object.freeze({ line: 1, offset: 0 })

/**
 * Reads the lines of a session one by one, in the order of the file: the twin of {@link readRunEvents}.
 *
 * Damage is data: every line is yielded, with its status. A file without a `session_start` is read like any other, and an empty one has no lines.
 * The lines are those that the file had when it was opened; what is appended later is left for another call, see
 * {@link SessionRecordsOptions.from}.
 *
 * Works off the JavaScript thread, reads ahead by at most one batch of some 256 KiB, and reads nothing before the first line is requested. The memory
 * does not depend on the size of the file, but on that of its longest line. Strings of neighbouring records may share memory: one that is kept
 * keeps some 256 KiB at most. The file is closed at its end, after an error, and when the iteration ends early. An iterator can be iterated
 * only once.
 *
 * @param path - The session file, or a bundle of a session, which is verified before its first line is yielded; the unpacked files of an archive stay
 * until the iteration ends.
 * @returns If the file can't be read, the iterator yields the lines before that place and then throws an `Error` with the `code`, `errno`, `syscall` and
 * `path` of Node's own errors; `ESESSIONREAD` if the file has become shorter while it was read, or has several conversations; a {@link BundleCode}, with all `problems`, for a bundle
 * that does not verify, or is that of a run; `ESESSIONPANIC` for a bug in session-tape.
 * @throws TypeError - At once, if an argument is of the wrong type.
 *
 * @example
 * ```ts
 * import { mkdtempSync } from 'node:fs';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { readSessionRecords, SessionRecordingService } from 'session-tape';
 *
 * const recorder = new SessionRecordingService({
 *   sessionId: 'a1b2c3d4-0001', projectHash: 'my-project', chatsDir: mkdtempSync(join(tmpdir(), 'chats-')),
 *   workspaceDirs: [], provider: 'acme', model: 'acme-large',
 * });
 * for (const text of ['one', 'two']) recorder.recordContent({ speaker: 'human', blocks: [{ type: 'text', text }] });
 * recorder.recordRewind(1);
 * await recorder.flush();
 *
 * let next = { line: 1, offset: 0 };
 * for await (const { line, offset, length, status, record, inHistory } of readSessionRecords(recorder.getFilePath()!, { history: true })) {
 *   if (status === 'ok') console.log(line, record.type, inHistory ?? ''); // 3 content false
 *   next = { line: line + 1, offset: offset + length + 1 };
 * }
 *
 * recorder.recordContent({ speaker: 'human', blocks: [{ type: 'text', text: 'three' }] });
 * await recorder.dispose();
 * for await (const { line } of readSessionRecords(recorder.getFilePath()!, { from: next })) console.log('new:', line); // new: 5
 * ```
 */
export function readSessionRecords(
  path: string,
  options: SessionRecordsOptions = NO_OPTIONS,
): AsyncGenerator<SessionLine, void, undefined> {
  check.string(path, 'path')
  const { strict, history, changes, types, from = BEGINNING, signal } = checked(options, RECORDS_OPTIONS)
  const { line, offset } = from
  const wanted = {
    strict: strict === true,
    history: history === true,
    changes: changes === true,
    types: types?.slice(),
    line,
    offset,
  }
  return elementsOfPages(SESSION, () => native.readSessionRecords(bundles, path, wanted), readPage, signal)
}

const RECORDS_OPTIONS: Shape<SessionRecordsOptions> = {
  strict: 'boolean?',
  history: 'boolean?',
  changes: 'boolean?',
  signal: 'signal?',
  from: unlessMissing(checkFrom),
  types: unlessMissing(checkTypes),
}

function checkTypes(types: unknown, name: string): void {
  expect(Array.isArray(types), name, 'an array', types)
  checkEach(types, name, check.string)
}

function checkFrom(from: SessionLinePlace, name: string): void {
  check.object(from, name)
  const { line, offset } = from
  expect(Number.isSafeInteger(line) && line > 0, `${name}.line`, 'a safe integer, 1 or more', line)
  check.safeCount(offset, `${name}.offset`)
}

async function readPage(start: (onReady: () => void) => NativeJob, { signal }: JobOptions): Promise<Page<SessionLine>> {
  let page: Page<SessionLine> | undefined
  const takeBatch = (batch: Batch, job: NativeJob): undefined => {
    page = pageOf(batch, job)
  }
  await runJob(SESSION, start, { signal, takeBatch })
  return page!
}

/**
 * The lines in a batch, to be taken in order. Their records are on the tape of the job, and are built when the first line is taken, while the next page is
 * read.
 */
function pageOf(batch: Batch, job: NativeJob): Page<SessionLine> | undefined {
  if (!hasLines(batch)) return undefined
  const { line: first, lines, offsets, lengths, statuses, histories, changes, last, damage } = batch
  let records: unknown[] | undefined
  let next = 0
  let nextChange = 0
  const at = (index: number) => {
    records ??= recordsOf(batch, job)
    const status = STATUSES[statuses[index]!]
    const hasRecord = status === 'ok' || status === 'malformed' || status === 'unknown'
    const record = hasRecord ? records[next++] : null
    const line = lines === undefined ? first + index : lines[index]
    const offset = offsets[index]
    const length = lengths[index]
    const mark = histories[index]
    const found =
      mark === '-'
        ? { line, offset, length, record, status }
        : { line, offset, length, record, status, inHistory: mark === '1' }
    if (changes !== undefined && changes[nextChange] === index) {
      const own = changesOf(changes, nextChange)
      nextChange += 4 * own.length
      ;(found as SessionLineBase).changes = own
    }
    if (status === 'torn' && damage !== undefined) (found as SessionLineBase).warning = damage
    return found as SessionLine
  }
  return { length: offsets.length, at, isLast: last }
}

/** The changes of one line, the first of which is at `from`. */
function changesOf(numbers: number[], from: number): HistoryChange[] {
  const changes: HistoryChange[] = []
  for (let at = from; numbers[at] === numbers[from]; at += 4)
    changes.push({ removed: numbers[at + 1]!, added: numbers[at + 2]!, behind: numbers[at + 3]! })
  return changes
}

function hasLines(batch: Batch): batch is Batch & LineBatch {
  return batch.statuses !== undefined
}

function recordsOf(batch: Batch, job: NativeJob): unknown[] {
  const records: unknown[] = []
  if (batch.names !== undefined) appendValues(job, batch as TapeBatch, records, [], [], [])
  return records
}
