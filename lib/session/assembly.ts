import type { Batch, TapeBatch } from '../binding/batch.js'
import type { NativeJob } from '../binding/native.js'
import { appendValues } from '../binding/tape-reader.js'
import { define, hasOwn, own, stringify } from '../builtins.js'
import type { Checkpoint } from './checkpoints.js'
import type { SemanticMediaPurgeFrontier, SessionEventPayload, SessionForkedPayload } from './records.js'
import type { ReplayFailure, ReplaySuccess, SessionMetadata } from './replay-result.js'

/** A message: a string, or parts to be joined, in which values other than strings are shown as JSON. */
export type Message = string | unknown[]

/** The result of the job of a replay; the rest is on its tapes. */
export interface ReplayDone {
  failed?: boolean
  lastSeq: number
  eventCount: number
  sequenceCorrupt: boolean
  isNamed?: boolean
  isFork?: boolean
  isPurged?: boolean
  isStrict?: boolean
  /** Indices of the items whose responses that a provider has stored are invalid. */
  invalidated?: number[]
  /** The joined hashes of the items, if they were asked for and could be read. */
  hashes?: string
  /** Of an opened session, whose history is not on a tape. */
  historyLength?: number
}

/** Collects the result of a replay from its batches. */
export class Assembly<C> {
  #history: C[] = []
  #sessionEvents: SessionEventPayload[] = []
  #checkpoints: Checkpoint[] = []
  /**
   * The metadata, then the session's name, its ancestry and the frontier of its last purge, if it has them, and the unknown events of a strict replay
   * or, if the replay failed, the error; then the warnings. Errors and warnings are input of `messageText`.
   */
  #results: unknown[] = []
  /** Indices of the items whose responses that a provider has stored are invalid. Known once there is a result. */
  invalidated: number[] = []
  /** The joined hashes of the items, if they were asked for. Known once there is a result. */
  hashes: string | undefined

  /** Adds a batch, whose tape is read from the job. Returns an early end of the job if a value can't be read. */
  add = (batch: Batch, job: NativeJob): object | undefined => {
    // Remove items of earlier batches that a later line of the file removed from the history.
    if (batch.keep !== undefined && batch.keep < this.#history.length) this.#history.length = batch.keep
    if (batch.names === undefined) return undefined
    try {
      appendValues(job, batch as TapeBatch, this.#history, this.#sessionEvents, this.#checkpoints, this.#results)
    } catch (error) {
      // Values are read from the file again after the scan, and the file may have been changed in between.
      if (error instanceof SyntaxError) return this.fail(CHANGED)
      throw error
    }
    return undefined
  }

  /** Makes the replay fail with an error message. Returns the end of the job. */
  fail(message: string): { failed: true } {
    this.#results = [message]
    return { failed: true }
  }

  get history(): C[] {
    return this.#history
  }

  /** The result of the replay. `done` is the result of its job. */
  result(done: object): ReplaySuccess<C> | ReplayFailure {
    const { failed, lastSeq, eventCount, sequenceCorrupt, isNamed, isFork, isPurged, isStrict, invalidated, hashes } =
      done as ReplayDone
    this.invalidated = invalidated ?? []
    this.hashes = hashes
    const results = this.#results
    if (failed)
      return {
        ok: false,
        error: messageText(results[0] as Message),
        warnings: (results as Message[]).slice(1).map(messageText),
      }
    let at = 1
    const optional = {
      ...(isStrict && ABSENT),
      ...(isNamed && { sessionName: results[at++] as string | null }),
      ...(isFork && { ancestry: results[at++] as SessionForkedPayload }),
      ...(isPurged && { semanticMediaPurgeFrontier: results[at++] as SemanticMediaPurgeFrontier }),
    }
    const unknown = isStrict ? (results[at++] as UnknownEvents) : []
    return {
      ok: true,
      history: this.#history,
      metadata: results[0] as SessionMetadata,
      lastSeq,
      eventCount,
      warnings: (results as Message[]).slice(at).map(messageText),
      sessionEvents: this.#sessionEvents,
      sequenceCorrupt,
      checkpoints: this.#checkpoints,
      ...optional,
      ...(unknown.length > 0 && { unknownEvents: unknownEventsOf(unknown) }),
    }
  }
}

/** What every result of a strict replay has, and is `undefined` if there is none, which the types of the result leave open. */
const ABSENT: object = { sessionName: undefined, ancestry: undefined }

/** The unknown events as the addon sends them: the number of each type, and the type if there is one. */
export type UnknownEvents = [count: number, type?: unknown][]

/** Returns the numbers of unknown events by the names that warnings show for their types. */
export function unknownEventsOf(unknown: UnknownEvents): Record<string, number> {
  const counts: Record<string, number> = {}
  for (let at = 0; at < unknown.length; at++) {
    const count = unknown[at]![0]
    const name = unknown[at]!.length === 1 ? 'undefined' : messageText([unknown[at]![1]])
    define(counts, name, own((hasOwn(counts, name) ? counts[name]! : 0) + count))
  }
  return counts
}

const CHANGED = 'Failed to read file: the file was changed while it was being read'

/** The length to which each part is truncated if a message exceeds the maximum length of a string. */
const MAX_PART_LENGTH = 1000

export function messageText(message: Message): string {
  if (typeof message === 'string') return message
  const parts = message.map((part) => (typeof part === 'string' ? part : stringify(part)))
  try {
    return parts.join('')
  } catch {
    return parts.map((part) => (part.length > MAX_PART_LENGTH ? `${part.slice(0, MAX_PART_LENGTH)}…` : part)).join('')
  }
}
