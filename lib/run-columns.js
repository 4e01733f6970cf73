'use strict'

const { native, parseRecord } = require('./native.js')
const { bundles } = require('./bundles.js')
const { RUN, runJob } = require('./job.js')

/** The events of a run in columns (src/run/columns.rs), for the pages of the command line: a million events are read in a second. */
class RunColumns {
  #columns

  /** @param {string[]} nodes the nodes of the graph. They keep their numbers, also those without an event. */
  constructor(path, nodes) {
    this.#columns = new native.NativeRunColumns(path, nodes)
  }

  /** Reads the events that were not read yet. Resolves to the error of the first line that is no event, as its fields, or to null. */
  read(signal) {
    return runJob(RUN, (onReady) => this.#columns.read(bundles, onReady), { __proto__: null, signal })
  }

  /**
   * The payloads of events as they stand in the log, from a logical time up to another.
   *
   * @yields {string[]} the JSON texts of some payloads
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

  /** The columns from an event on: `{ name, bytes, numbers }`, `bytes` of each number in `numbers`, little-endian, 8 are a float's. */
  encode(from) {
    return this.#columns.encode(from)
  }

  /** What the numbers refer to: `nodes`, `workers`, `labels`, `statuses`, `startedWorkers`; `first`, `start` */
  names() {
    return parseRecord(this.#columns.names())
  }

  /** Gives numbers to workers and statuses that no event has. */
  addNames(workers, statuses) {
    this.#columns.addNames(workers, statuses)
  }

  /** The first of the latest events whose payloads, none longer than `longest` bytes, fit in `room` bytes. */
  latestWithPayloads(room, longest) {
    return this.#columns.latestWithPayloads(room, longest)
  }
}

module.exports = { RunColumns }
