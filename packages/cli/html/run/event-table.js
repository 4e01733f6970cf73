'use strict'

// The events of a run for its page: columns of numbers, and the payloads of the latest events for which there is room.

const { cutIsland } = require('../cut.js')
const { safeInIsland } = require('../island.js')
const { EventColumns } = require('./event-columns.js')

/** @import { RunEvent } from 'session-tape' */

const PAYLOAD = { string: 4096, total: 16_384, depth: 40 }
/**
 * A payload whose JSON text is at most this long is within all limits except nesting: the budget that a value uses is at most four times the length
 * of its text.
 */
const NEVER_CUT = 4000
class EventTable {
  columns
  #room
  /** The payloads of the latest events, as lines of the page. @type {string[]} */
  #lines = []
  /** The length of all these lines. */
  #size = 0

  /**
   * @param {string[]} nodes the nodes of the graph, which keep their numbers even if they have no events
   * @param {number} room for payloads, in characters
   */
  constructor(nodes, room) {
    this.columns = new EventColumns(nodes)
    this.#room = room
  }

  get length() {
    return this.columns.length
  }

  /** @param {RunEvent} event the one after the last */
  add(event) {
    this.columns.add(event)
    const line = payloadLine(event.payload)
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

  /** The payloads of the latest events for which there is room, as lines of the page, and the index of the first of these events. */
  payloads() {
    this.#dropOld()
    return { from: this.length - this.#lines.length, lines: this.#lines }
  }
}

/** A line of the page's payloads. Most are short, and need no cutting. @param {RunEvent['payload']} payload */
function payloadLine(payload) {
  const text = jsonOf(payload)
  const isShort = text !== null && text.length <= NEVER_CUT && (text.match(/[[{]/g)?.length ?? 0) <= PAYLOAD.depth
  return isShort ? safeInIsland(`[${text}]`) : cutIsland(payload, PAYLOAD)
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

module.exports = { EventTable }
