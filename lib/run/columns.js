'use strict'

const { native, parseRecord } = require('../builtins.js')
const { bundles } = require('../binding/bundles.js')
const { RUN, runJob } = require('../binding/job.js')

/** The events of a run in columns (src/run/columns.rs), for the pages of the command line. Reads about a million events per second. */
class RunColumns {
  #columns

  /**
   * @param {boolean} isVerified whether `path` is the directory of a bundle that has already been verified
   * @param {string[]} nodes the ids of the graph's nodes, which are numbered in this order even if they have no events
   */
  constructor(path, isVerified, nodes) {
    this.#columns = new native.NativeRunColumns(path, isVerified, nodes)
  }

  /**
   * Reads the events that were added since the last call. Resolves to the fields of the error of the first line that is not an event, or to `null`.
   */
  read(signal) {
    return runJob(RUN, (onReady) => this.#columns.read(bundles, onReady), { __proto__: null, signal })
  }

  /**
   * The payloads of the events from one logical time to another, inclusive, verbatim from the log.
   *
   * @yields {string[]} the JSON texts of consecutive payloads
   */
  async *payloads(from, to, signal) {
    for (let time = from; ; ) {
      const { count, text } = await runJob(RUN, (onReady) => this.#columns.readPayloads(bundles, time, to, onReady), { __proto__: null, signal })
      if (count === 0) return
      yield text.slice(0, -1).split('\n')
      time += count
    }
  }

  get length() {
    return this.#columns.length
  }

  /**
   * Returns the columns from an event on, as `{ name, bytes, numbers }`. `numbers` holds little-endian integers of `bytes` bytes each, or floats if
   * `bytes` is 8.
   */
  encode(from) {
    return this.#columns.encode(from)
  }

  /**
   * Returns what the numbers refer to: `nodes`, `workers`, `labels`, `statuses` and `startedWorkers`. Also the logical time (`first`) and the wall
   * clock (`start`) of the first event.
   */
  names() {
    return parseRecord(this.#columns.names())
  }

  /** Assigns numbers to workers and statuses that occur in no event. */
  addNames(workers, statuses) {
    this.#columns.addNames(workers, statuses)
  }

  /**
   * Returns the index of the first of the latest events whose payloads fit in `room` bytes together. A payload counts as at most `longest` bytes.
   */
  latestWithPayloads(room, longest) {
    return this.#columns.latestWithPayloads(room, longest)
  }
}

module.exports = { RunColumns }
