import { native } from '../addon.js'
import { bundles } from '../binding/bundles.js'
import { RUN, runJob } from '../binding/job.js'
import type { NativeColumn, NativeRunColumns } from '../binding/native.js'
import { parseRecord } from '../builtins.js'
import type { RunError } from './error.js'

/** What the numbers in the columns refer to. */
export interface ColumnNames {
  nodes: string[]
  workers: string[]
  labels: string[]
  statuses: string[]
  startedWorkers: string[]
  /** The logical time of the first event. */
  first: number
  /** The wall clock of the first event. */
  start: number
}

/** The events of a run in columns (crates/core/src/run/read/columns.rs), for the pages of the command line. Reads about a million events per second. */
export class RunColumns {
  #columns: NativeRunColumns

  /**
   * @param isVerified - whether `path` is the directory of a bundle that has already been verified
   * @param nodes - the ids of the graph's nodes, which are numbered in this order even if they have no events
   */
  constructor(path: string, isVerified: boolean, nodes: string[]) {
    this.#columns = new native.NativeRunColumns(path, isVerified, nodes)
  }

  /**
   * Reads the events that were added since the last call. Resolves to the fields of the error of the first line that is not an event, or to `null`.
   */
  read(signal?: AbortSignal): Promise<RunError | null> {
    return runJob(RUN, (onReady) => this.#columns.read(bundles, onReady), { __proto__: null, signal })
  }

  /**
   * The payloads of the events from one logical time to another, inclusive, verbatim from the log.
   *
   * @yields the JSON texts of consecutive payloads
   */
  async *payloads(from: number, to: number, signal?: AbortSignal): AsyncGenerator<string[], void, undefined> {
    for (let time = from; ; ) {
      const read = (onReady: () => void) => this.#columns.readPayloads(bundles, time, to, onReady)
      const { count, text } = await runJob<{ count: number; text: string }>(RUN, read, { __proto__: null, signal })
      if (count === 0) return
      yield text.slice(0, -1).split('\n')
      time += count
    }
  }

  get length(): number {
    return this.#columns.length
  }

  /**
   * Returns the columns from an event on, as `{ name, bytes, numbers }`. `numbers` holds little-endian integers of `bytes` bytes each, or floats if
   * `bytes` is 8.
   */
  encode(from: number): NativeColumn[] {
    return this.#columns.encode(from)
  }

  names(): ColumnNames {
    return parseRecord<ColumnNames>(this.#columns.names())
  }

  /** Assigns numbers to workers and statuses that occur in no event. */
  addNames(workers: string[], statuses: string[]): void {
    this.#columns.addNames(workers, statuses)
  }

  /**
   * Returns the index of the first of the latest events whose payloads fit in `room` bytes together. A payload counts as at most `longest` bytes.
   */
  latestWithPayloads(room: number, longest: number): number {
    return this.#columns.latestWithPayloads(room, longest)
  }
}
