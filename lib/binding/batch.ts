import type { Progress } from '../progress.js'
import type { Failure } from './errors.js'

/** What a job sends: the members depend on the job. */
export interface Batch extends Partial<Progress>, Partial<End>, Partial<TapeBatch>, Partial<LineBatch> {
  /** Pieces of a large result (pieces.ts). */
  partial?: object
  into?: (string | number)[]
  elements?: unknown[]
  members?: object
  whole?: true
  /** Of a scan of many sessions: each the index of a file and, unless it is too long, the description of its replay. */
  described?: [index: number, description: object | null, unread?: 'nothing' | 'lastLine' | 'more'][]
  /** Of a search: the files that hits are in, each with the session's id, the number of its hits, and what became of the file; and the hits. */
  parts?: [
    file: number,
    sessionId: string | null,
    hits: number,
    fate: number | string | false | null,
    archived: boolean,
  ][]
  hits?: unknown[][]
}

/** Consecutive lines of a session. Their records are on the tape. */
export interface LineBatch {
  /** The number of the first line. */
  line: number
  /** The numbers of the lines, unless they follow one another. */
  lines?: number[]
  offsets: number[]
  lengths: number[]
  /** A letter for each line. */
  statuses: string
  /** A letter for each line: whether its item is in the history at the end, if that was asked for. */
  histories: string
  /** What the lines do to the history, if that was asked for: four numbers for each change, the index of its line among these and those of the change. */
  changes?: number[]
  /** Whether these are the last lines. */
  last: boolean
  /** Why the session ends with a torn line, if it is a damaged archive. */
  damage?: string
}

/** The last batch of a job has one of these. */
export interface End {
  done: unknown
  error: Failure
  cancelled: Failure
  panicked: unknown
}

/** Values on the tape of the job (tape-reader.ts). */
export interface TapeBatch {
  /** Number of items of the history that remain of those that earlier batches brought. */
  keep: number
  names: string[]
  /** The new shapes: for each, the number of the one that it extends, and its additional key. */
  shapes: (number | string)[]
  /** Whether there are strings with characters beyond U+00FF. */
  wide: boolean
  /** How many values to append to each list. */
  items: number
  events: number
  checkpoints: number
  results: number
}
