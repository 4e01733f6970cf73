'use strict'

// The events of a run for its page: columns of numbers, and the payloads of the latest events for which there is room.

const { failureOf } = require('../../complaint.js')
const { cut } = require('../cut.js')
const { islandJson, safeInIsland } = require('../island.js')
const { EventColumns, KINDS } = require('./event-columns.js')
const { readersOf } = require('./readers.js')

/** @import { RunEvent } from 'session-tape' */
/** @import { Failure } from '../../complaint.js' */
/** @import { Seal } from '../seal.js' */

const PAYLOAD = { string: 4096, total: 16_384, depth: 40 }
/**
 * A payload whose JSON text is at most this long is within all limits except nesting: the budget that a value uses is at most four times the length
 * of its text.
 */
const NEVER_CUT = 4000
/** The kinds whose events describe the run as a whole. */
const LANDMARKS = new Set(['RunCreated', 'RunStarted', 'RunCompleted', 'RunFailed'])

class EventTable {
  #source
  #columns
  #room
  /** The payloads of the latest events, as lines of the page. @type {string[]} */
  #lines = []
  /** The length of all these lines. */
  #size = 0

  /**
   * @param {{ at: string, seal?: Seal | null }} source
   * @param {string[]} nodes the nodes of the graph, which keep their numbers even if they have no events
   * @param {number} room for payloads, in characters
   */
  constructor(source, nodes, room) {
    this.#source = source
    this.#columns = new EventColumns(nodes)
    this.#room = room
  }

  get nodes() {
    return this.#columns.nodes.list
  }

  get workers() {
    return this.#columns.workers.list
  }

  get labels() {
    return this.#columns.labels.list
  }

  get statuses() {
    return this.#columns.statuses.list
  }

  get startedWorkers() {
    return this.#columns.startedWorkers
  }

  /** The logical time of the first event. */
  get first() {
    return this.#columns.first
  }

  /** The wall clock of the first event. */
  get start() {
    return this.#columns.start
  }

  get length() {
    return this.#columns.length
  }

  /**
   * Reads the events. Resolves to the error of the first line that is not an event, or to null.
   *
   * @param {(event: RunEvent) => void} onLandmark is called with the events that describe the run as a whole
   * @param {AbortSignal} [signal]
   * @returns {Promise<Failure | null>}
   */
  async read(onLandmark, signal) {
    try {
      for await (const event of readersOf(this.#source).readRunEvents(this.#source.at, { signal })) {
        this.#columns.add(event)
        this.#keep(payloadLine(event.payload))
        if (LANDMARKS.has(event.kind)) onLandmark(event)
      }
      return null
    } catch (error) {
      const failure = failureOf(error)
      if (signal?.aborted || failure.code === undefined) throw error
      return failure
    } finally {
      this.#dropOld()
    }
  }

  /** @param {string} line */
  #keep(line) {
    this.#size += line.length
    this.#lines.push(line)
    // Not for each line, because the others are moved.
    if (this.#size > 2 * this.#room) this.#dropOld()
  }

  /** Keeps the last lines for which there is room. */
  #dropOld() {
    let from = this.#lines.length
    for (this.#size = 0; from > 0 && this.#size + this.#lines[from - 1].length <= this.#room; from--)
      this.#size += this.#lines[from - 1].length
    if (from > 0) this.#lines = this.#lines.slice(from)
  }

  /** Assigns numbers to the workers and statuses of the state with which the log begins. @type {(workers: string[], statuses: string[]) => void} */
  addNames(workers, statuses) {
    for (const worker of workers) this.#columns.workers.numberOf(worker)
    for (const status of statuses) this.#columns.statuses.numberOf(status)
  }

  /** The payloads of the latest events for which there is room, as lines of the page, and the index of the first of these events. */
  payloads() {
    return { from: this.length - this.#lines.length, lines: this.#lines }
  }

  /** The columns, each as `[bits of a number, numbers in base64]`. */
  encoded() {
    return this.#columns.encoded()
  }
}

/** A line of the page's payloads. Most are short, and need no cutting. @param {RunEvent['payload']} payload */
function payloadLine(payload) {
  const text = jsonOf(payload)
  const isShort = text !== null && text.length <= NEVER_CUT && (text.match(/[[{]/g)?.length ?? 0) <= PAYLOAD.depth
  return isShort ? safeInIsland(`[${text}]`) : payloadIsland(payload)
}

/** The JSON text of a payload; null for one that is nested too deeply for `JSON.stringify`. @param {RunEvent['payload']} payload */
function jsonOf(payload) {
  try {
    return JSON.stringify(payload)
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

/** A line of the page's payloads: `[payload]` or `[payload, cuts]`. @param {RunEvent['payload']} payload */
function payloadIsland(payload, limits = PAYLOAD) {
  const { value, cuts } = cut(payload, limits)
  return islandJson(cuts.length === 0 ? [value] : [value, cuts])
}

module.exports = { EventTable, KINDS, payloadIsland }
