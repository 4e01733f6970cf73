import { native } from '../addon.js'
import { NO_OPTIONS, type Shape, WORK, check, checkEach, checked, expect, unlessMissing } from '../arguments.js'
import type { Batch } from '../binding/batch.js'
import { type JobOptions, SEARCH, runJob } from '../binding/job.js'
import type { NativeJob, NativePages, NativeSearchOptions } from '../binding/native.js'
import { type Page, elementsOfPages } from '../binding/pages.js'
import { RealDate, elapsed } from '../builtins.js'
import type { Progress } from '../progress.js'
import type { SessionEventType } from '../session/records.js'
import type { SkippedSession } from '../session/summary.js'
import { type SearchFile, endOfFirst, findFiles, inOrder } from './files.js'
// Only for links in the comments.
import type { listSessions } from '../session/list.js'

/**
 * The kinds of strings that {@link searchSessions} looks at.
 *
 * | field | strings |
 * |---|---|
 * | `'text'` | `text` of text blocks |
 * | `'code'` | `code` of code blocks |
 * | `'thinking'` | `thought` of thinking blocks |
 * | `'tool_call'` | `name` of tool calls, and every string in their `parameters`, at any depth (values, not keys) |
 * | `'tool_response'` | `toolName` and `error` of tool responses, and `result`, or every string in it |
 * | `'session_event'` | `message` of session events |
 * | `'name'` | titles, names of the session and names of its checkpoints |
 */
export type SearchField = 'text' | 'code' | 'thinking' | 'tool_call' | 'tool_response' | 'session_event' | 'name'

/** Options of {@link searchSessions}. */
export interface SearchOptions {
  /**
   * Whether the query is a regular expression, in the syntax of https://docs.rs/regex/latest/regex/#syntax, rather than a literal. It is matched with the
   * whole string, in linear time: `.` does not match `\n`; `^` and `$` are the beginning and the end of the string, unless `(?m)` is set. Default `false`.
   */
  regex?: boolean | undefined
  /**
   * Whether upper and lower case differ. Default `'smart'`: only if the query has an uppercase letter; those in the escapes of a
   * regular expression, like `\S`, do not count. Where they do not differ, characters match as in `/…/iu`.
   */
  case?: 'smart' | 'sensitive' | 'insensitive' | undefined
  /** Search only these fields. Default: all. */
  fields?: SearchField[] | undefined
  /** Search only items of this speaker. */
  speaker?: 'human' | 'ai' | 'tool' | undefined
  /** Search only calls and responses of the tool with this name. */
  tool?: string | undefined
  /** Search only sessions of this project. */
  projectHash?: string | undefined
  /**
   * Search only records whose `ts` is not before this time: a `Date`, or a string that `Date.parse` accepts. A record whose `ts` it does not accept is
   * left out.
   */
  since?: string | Date | undefined
  /** Search only records whose `ts` is not after this time, as for `since`. */
  until?: string | Date | undefined
  /**
   * `'all'` searches every item that was recorded; `'current'` leaves out items that compressions and rewinds have taken out of the history. Session
   * events and names are searched either way. Default `'all'`.
   */
  history?: 'all' | 'current' | undefined
  /** Number of UTF-16 units kept on each side of the first match. Default 60. */
  context?: number | undefined
  /** Stop after this number of hits. Default: no limit. */
  limit?: number | undefined
  /** Aborting it stops the search at once; the iterator throws the signal's `reason` instead of its next hit. */
  signal?: AbortSignal | undefined
  /** Is called now and then, and at the end, while hits are requested: with the bytes and files searched so far. */
  onProgress?: ((progress: Progress) => void) | undefined
}

/** A string that matches, as {@link searchSessions} yields it. */
export interface SessionHit {
  /** The file as it was given or found; of a file that was given, but of which only the archive exists, that file. */
  filePath: string
  /** The id of the session; `null` if the file does not begin with a valid `session_start`. */
  sessionId: string | null
  /** Whether the session is archived. */
  archived: boolean
  /** The number of the line in the file, from 1; of the session of another program, in what it becomes. */
  line: number
  /** The `seq` of the record; `null` if that is not a number. */
  seq: number | null
  /** The `ts` of the record; `null` if that is not a string. */
  ts: string | null
  type: SessionEventType
  /** Who the item is from; `null` for what is no item, and for an item of any other speaker. */
  speaker: 'human' | 'ai' | 'tool' | null
  field: SearchField
  /** The name of the tool, for the strings of its calls and responses; otherwise `null`. */
  tool: string | null
  /** JSON pointer (RFC 6901) of the string in the record's payload, like `/content/blocks/0/text`. */
  pointer: string
  /**
   * The text around the first match, with up to `context` UTF-16 units on each side of it. A surrogate pair that would be cut in two there is left out;
   * if a match begins or ends in the middle of a pair, it is kept whole.
   */
  snippet: string
  /** The matches that are wholly in the snippet: start and end in UTF-16 units. The first is the first match of the string. */
  ranges: [start: number, end: number][]
  /** Number of matches in the whole string, without overlaps. */
  matches: number
  /** Whether the item is in the history at the end of the file; `null` for what is no item. */
  inHistory: boolean | null
}

/** What was searched so far. */
export interface SearchSummary {
  /** Number of files searched, with or without a hit, whether they are sessions or not. */
  sessions: number
  /** Their size in bytes, when they were opened; that of the session, if it is archived. A file is counted when it was searched to its end. */
  bytes: number
  /** Number of hits that were yielded. */
  hits: number
  /** Directories and files that can't be read. */
  unreadable: SkippedSession[]
}

/** The search that {@link searchSessions} returns: iterate over its hits. It can be iterated only once. */
export interface SessionSearch extends AsyncIterable<SessionHit> {
  /** What was searched so far; final after the last hit. */
  readonly summary: SearchSummary
}

const FIELDS: readonly SearchField[] = Object.freeze([
  'text',
  'code',
  'thinking',
  'tool_call',
  'tool_response',
  'session_event',
  'name',
])

/** Default for `SearchOptions.context`. */
const CONTEXT = 60

/** The first files are put in order, and searched, before the others are; and those so many at a time, as each time takes one turn of the event loop. */
const FIRST_FILES = 64
const NEXT_FILES = 2048

/** The minimum time between two reports of progress, in milliseconds. */
const PROGRESS_MS = 100

/**
 * Searches the strings of sessions: what was said, thought, called and returned, as it was before it was written as JSON.
 *
 * Which lines count is decided as in a replay: damaged lines and malformed records are passed over, and a file that is no session is searched all the
 * same. Nothing in a file makes the iteration throw. A hit is one string that matches; its order is that of the sessions, newest first as in
 * {@link listSessions}, then of the lines, then of the strings in the record, as `JSON.parse` orders its members.
 *
 * Works off the JavaScript thread, on all cores, and only a few files ahead of the consumer. Opens nothing before the first hit is requested. Breaking out of
 * the loop ends the search and closes its files. A file that grows is searched up to the size that it had when it was opened; one that disappears is left
 * out. The memory does not depend on the size of the files, but on that of their longest line.
 *
 * @param where - Directories, whose sessions are searched, archived ones and those of other programs too, except for those in subdirectories; and files,
 * of other programs also `PATH#CONVERSATION`. Files come first, in the given order, then those of all directories together. A file that is given twice is
 * searched once. Files of a directory that were modified in the same millisecond and are no sessions follow those that are.
 * @param query - A literal, found as by `String.prototype.indexOf`, or a regular expression. A lone surrogate in it matches itself; in a regular
 * expression the characters U+10F800 to U+10FFFF stand for lone surrogates too.
 * @returns A search that yields the hits. It throws the `reason` of an aborted signal, the error that `onProgress` threw, or an error with the code
 * `ESESSIONPANIC` for a bug in session-tape.
 * @throws TypeError - At once, if an argument is of the wrong type, the query is empty, a field is unknown, or a regular expression does not compile: then
 * the message says where.
 *
 * @example
 * ```ts
 * import { searchSessions } from 'session-tape';
 *
 * const search = searchSessions('no-such-directory', 'parser', { speaker: 'human', limit: 20 });
 * for await (const { filePath, line, snippet } of search) console.log(`${filePath}:${line} ${snippet}`);
 * console.log(search.summary.hits, search.summary.unreadable.length); // 0 1
 * ```
 */
export function searchSessions(
  where: string | string[],
  query: string,
  options: SearchOptions = NO_OPTIONS,
): SessionSearch {
  const paths = typeof where === 'string' ? [where] : where
  check.filledStrings(paths, 'where')
  checkEach(paths, 'where', (path, name) => expect(!path.includes('\0'), name, 'a path without null characters', path))
  check.filledString(query, 'query')
  return searchOf(new Wanted(paths.slice(), query, options))
}

const anyOf = (...choices: string[]) => unlessMissing((value, name) => check.oneOf(value, name, choices))

const SEARCH_OPTIONS: Shape<SearchOptions> = {
  regex: 'boolean?',
  case: anyOf('smart', 'sensitive', 'insensitive'),
  fields: unlessMissing((fields, where) => {
    expect(Array.isArray(fields), where, 'an array', fields)
    checkEach(fields, where, (field, name) => check.oneOf(field, name, FIELDS))
  }),
  speaker: anyOf('human', 'ai', 'tool'),
  tool: 'string?',
  projectHash: 'string?',
  history: anyOf('all', 'current'),
  context: 'safeCount?',
  limit: (limit, name) => limit === Infinity || unlessMissing(check.safeCount)(limit, name),
  since: 'any?',
  until: 'any?',
  ...WORK,
}

/** The arguments of a search, checked and copied: the caller may change them. */
class Wanted {
  readonly where: string[]
  readonly native: NativeSearchOptions
  readonly since: number
  readonly until: number
  readonly limit: number
  readonly signal: AbortSignal | undefined
  readonly onProgress: ((progress: Progress) => void) | undefined

  constructor(where: string[], query: string, options: SearchOptions) {
    const asked = checked(options, SEARCH_OPTIONS)
    const { regex, case: letters = 'smart', fields = FIELDS, speaker, tool, projectHash, history = 'all' } = asked
    const { since, until, context = CONTEXT, limit = Infinity, signal, onProgress } = asked
    this.where = where
    this.since = timeOf(since, 'options.since', -Infinity)
    this.until = timeOf(until, 'options.until', Infinity)
    this.limit = limit
    this.signal = signal
    this.onProgress = onProgress
    const fault = native.searchQueryFault(query, regex === true, letters)
    expect(fault === null, 'query', `a ${regex === true ? 'regular expression' : 'query'} (${fault})`, query)
    const isCurrent = history === 'current'
    this.native = {
      query,
      regex: regex === true,
      case: letters,
      fields: fields.slice(),
      speaker,
      tool,
      projectHash,
      timed: this.isTimed,
      since: boundOf(this.since),
      until: boundOf(this.until),
      current: isCurrent,
      context,
      // Hits that are found may yet be left out.
      limit: isCurrent || this.isTimed ? Infinity : limit,
    }
  }

  get isTimed(): boolean {
    return this.since !== -Infinity || this.until !== Infinity
  }

  wants({ ts }: SessionHit): boolean {
    if (!this.isTimed) return true
    const time = ts === null ? NaN : RealDate.parse(ts)
    return time >= this.since && time <= this.until
  }
}

function timeOf(value: unknown, name: string, otherwise: number): number {
  if (value === undefined) return otherwise
  const time = value instanceof RealDate ? value.getTime() : typeof value === 'string' ? RealDate.parse(value) : NaN
  expect(!Number.isNaN(time), name, 'a valid date, or a string with one', value)
  return time
}

/** A time as records have it. Undefined if no usual record has it. */
function boundOf(time: number): string | undefined {
  if (Math.abs(time) === Infinity) return undefined
  const text = new RealDate(time).toISOString()
  return text.length === '2026-02-11T16:00:00.000Z'.length ? text : undefined
}

/** Hits of one file, and what became of it: as in src/search.rs. */
interface Part {
  file: number
  hits: SessionHit[]
  fate: number | string | false | null
}

function searchOf(wanted: Wanted): SessionSearch {
  const search = new Search(wanted)
  const hits = search.hits()
  const iterator: AsyncIterableIterator<SessionHit, void, undefined> = {
    next: () => hits.next(),
    return: () => {
      // A request that is under way would first have to find a hit.
      search.stop()
      return hits.return()
    },
    throw: (error) => {
      search.stop()
      return hits.throw(error)
    },
    [Symbol.asyncIterator]: () => iterator,
  }
  return { summary: search.summary, [Symbol.asyncIterator]: () => iterator }
}

class Search {
  readonly summary: SearchSummary = { sessions: 0, bytes: 0, hits: 0, unreadable: [] }
  #wanted: Wanted
  #isStopped = false
  /** The addon's search in the current files. */
  #native: NativePages | undefined
  #progress = { bytes: 0, total: 0, files: 0 }
  #reportedAt = elapsed()

  constructor(wanted: Wanted) {
    this.#wanted = wanted
  }

  stop(): void {
    this.#isStopped = true
    this.#native?.stop()
  }

  async *hits(): AsyncGenerator<SessionHit, void, undefined> {
    const { where, signal, limit } = this.#wanted
    if (signal?.aborted) throw signal.reason
    if (limit === 0) return
    const files = await findFiles(where, this.summary.unreadable)
    for (let index = 0; index < files.length; index++) this.#progress.total += files[index]!.size
    for (let from = 0, end = 0; from < files.length && !this.#isOver; from = end) {
      end = endOfFirst(files, from + (from === 0 ? FIRST_FILES : NEXT_FILES))
      yield* this.#hitsIn(await inOrder(files.slice(from, end)))
    }
    if (!this.#isOver) this.#report(true)
  }

  get #isOver(): boolean {
    return this.#isStopped || this.summary.hits >= this.#wanted.limit
  }

  async *#hitsIn(files: SearchFile[]): AsyncGenerator<SessionHit, void, undefined> {
    const { signal } = this.#wanted
    if (signal?.aborted) throw signal.reason
    if (files.length === 0 || this.#isStopped) return
    let counted = -1
    const count = (file: number): void => {
      if (file === counted) return
      counted = file
      this.summary.sessions++
    }
    const readPage = (start: (onReady: () => void) => NativeJob, options: JobOptions) => pageOf(files, start, options)
    for await (const { file, hits, fate } of elementsOfPages(
      SEARCH,
      () => this.#open(files),
      readPage,
      signal,
      false,
    )) {
      for (let index = 0; index < hits.length; index++) {
        const hit = hits[index]!
        if (!this.#wanted.wants(hit)) continue
        count(file)
        this.summary.hits++
        if (index === hits.length - 1) this.#settle(files[file]!, fate, () => count(file))
        yield hit
        if (signal?.aborted) throw signal.reason
        if (this.#isOver) return
      }
      const isSettled = hits.length > 0 && this.#wanted.wants(hits[hits.length - 1]!)
      if (!isSettled) this.#settle(files[file]!, fate, () => count(file))
      this.#report(false)
    }
  }

  #open(files: SearchFile[]): NativePages {
    const paths = files.map(({ filePath }) => filePath)
    const sizes = Float64Array.from(files, ({ size }) => size)
    return (this.#native = native.searchSessions(paths.join('\0'), sizes, this.#wanted.native))
  }

  /** Notes what became of a file, unless there are more hits in it. */
  #settle({ filePath, size }: SearchFile, fate: Part['fate'], count: () => void): void {
    if (fate === null) return
    if (typeof fate === 'number') {
      count()
      this.summary.bytes += fate
    }
    if (typeof fate === 'string') this.summary.unreadable.push({ filePath, reason: fate })
    this.#progress.files++
    this.#progress.bytes += size
  }

  #report(isLast: boolean): void {
    const time = elapsed()
    if (!isLast && time - this.#reportedAt < PROGRESS_MS) return
    this.#reportedAt = time
    this.#wanted.onProgress?.({ ...this.#progress })
  }
}

async function pageOf(
  files: SearchFile[],
  start: (onReady: () => void) => NativeJob,
  { signal }: JobOptions,
): Promise<Page<Part>> {
  let page: Page<Part> | undefined
  const takeBatch = ({ parts = [], hits = [], last = true }: Batch): undefined => {
    let next = 0
    const at = (index: number): Part => {
      const part = parts[index]!
      const file = { filePath: files[part[0]]!.filePath, sessionId: part[1], archived: part[4] }
      const found: SessionHit[] = []
      for (const end = next + part[2]; next < end; next++) found.push(hitOf(file, hits[next]!))
      return { file: part[0], hits: found, fate: part[3] }
    }
    page = { length: parts.length, at, isLast: last }
  }
  await runJob(SEARCH, start, { signal, takeBatch })
  return page!
}

/** A hit in the order of the members of `SessionHit` (src/search.rs). */
type HitBatch = [
  line: number,
  seq: number | null,
  ts: string | null,
  type: SessionEventType,
  speaker: SessionHit['speaker'],
  field: SearchField,
  tool: string | null,
  pointer: string,
  snippet: string,
  ranges: [start: number, end: number][],
  matches: number,
  inHistory: boolean | null,
]

function hitOf(
  { filePath, sessionId, archived }: Pick<SessionHit, 'filePath' | 'sessionId' | 'archived'>,
  hit: unknown[],
): SessionHit {
  const found = hit as HitBatch
  return {
    filePath,
    sessionId,
    archived,
    line: found[0],
    seq: found[1],
    ts: found[2],
    type: found[3],
    speaker: found[4],
    field: found[5],
    tool: found[6],
    pointer: found[7],
    snippet: found[8],
    ranges: found[9],
    matches: found[10],
    inHistory: found[11],
  }
}
