'use strict'

// The events of a run for its page: columns of numbers, so that the page can hold a million events, and the payloads of the latest events for which
// there is room.

const { RunColumns } = require('../../../../dist/run/columns.js')
const { cut } = require('../cut.js')
const { islandJson, safeInIsland } = require('../island.js')
const { readersOf } = require('./readers.js')

const KINDS = [
  'RunCreated', 'RunStarted', 'RunCompleted', 'RunFailed', 'NodeScheduled', 'NodeStarted', 'NodeCompleted', 'NodeFailed', 'NodeSkipped',
  'ToolInvoked', 'ToolCompleted', 'ToolFailed', 'ToolTimedOut', 'CapabilityCheck', 'PolicyDecision', 'TaskAssigned', 'TaskAccepted',
  'TaskRejected', 'SnapshotCreated', 'SnapshotRestored', 'BlobStored', 'Heartbeat', 'Error',
]
const PAYLOAD = { string: 4096, total: 16_384, depth: 40 }
/**
 * A payload whose JSON text is at most this long is within all limits except nesting: the budget that a value uses is at most four times the length
 * of its text.
 */
const NEVER_CUT = 4000
/** The kinds whose last events describe the run as a whole. */
const LANDMARKS = ['RunCreated', 'RunStarted', 'RunCompleted', 'RunFailed']

class EventTable {
  #source
  #columns
  #room
  /** The payloads of the latest events, as lines of the page. */
  #lines = []

  /**
   * @param {{ at: string, seal?: object }} source
   * @param {string[]} nodes the nodes of the graph, which keep their numbers even if they have no events
   * @param {number} room for payloads, in characters
   */
  constructor(source, nodes, room) {
    this.#source = source
    this.#columns = new RunColumns(source.at, !!source.seal, nodes)
    this.#room = room
    this.#takeNames()
  }

  #takeNames() {
    const { nodes, workers, labels, statuses, startedWorkers, first, start } = this.#columns.names()
    Object.assign(this, { nodes, workers, labels, statuses, startedWorkers, first, start })
  }

  get length() {
    return this.#columns.length
  }

  /**
   * Reads the new events. Resolves to the error of the first line that is not an event, or to null.
   *
   * @param {(event: import('../../../../index.js').RunEvent) => void} onLandmark is called with the new events that describe the run as a whole
   */
  async read(onLandmark, signal) {
    const before = this.length
    const problem = await this.#columns.read(signal)
    this.#takeNames()
    if (this.length === before) return problem
    for (const event of this.#landmarks(before)) for await (const found of this.#events(event, event)) onLandmark(found)
    await this.#readPayloads(before, signal)
    return problem
  }

  /** The last event from `from` on of each kind that describes the run as a whole, in order. */
  #landmarks(from) {
    const kinds = this.#columns.encode(from).find(({ name }) => name === 'kind').numbers
    const found = LANDMARKS.map((kind) => kinds.lastIndexOf(KINDS.indexOf(kind))).filter((at) => at >= 0)
    return found.map((at) => from + at).sort((one, other) => one - other)
  }

  async #readPayloads(before, signal) {
    const from = Math.max(before, this.#columns.latestWithPayloads(this.#room, PAYLOAD.total))
    if (from > before) this.#lines = []
    for await (const payloads of this.#columns.payloads(this.first + from, this.first + this.length - 1, signal)) {
      for (const payload of payloads) this.#lines.push(payloadLine(payload))
    }
    this.#lines = latest(this.#lines, this.#room)
  }

  #events(from, to) {
    return readersOf(this.#source).readRunEvents(this.#source.at, { from: this.first + from, to: this.first + to })
  }

  /** Assigns numbers to the workers and statuses of the state with which the log begins. */
  addNames(workers, statuses) {
    this.#columns.addNames(workers, statuses)
    this.#takeNames()
  }

  /** The payloads of the latest events for which there is room, as lines of the page, and the index of the first of these events. */
  payloads() {
    return { from: this.length - this.#lines.length, lines: this.#lines }
  }

  /** The payloads from an event on. Those that are not kept are `null`. */
  payloadsFrom(event) {
    const { from, lines } = this.payloads()
    return [...Array(Math.max(from - event, 0)).fill('null'), ...lines.slice(Math.max(event - from, 0))]
  }

  /** The columns from an event on, each as `[bits of a number, numbers in base64]`, little-endian like all supported machines. */
  encoded(from = 0) {
    const columns = this.#columns.encode(from).map(({ name, bytes, numbers }) => [name, [8 * bytes, numbers.toString('base64')]])
    return Object.fromEntries(columns)
  }
}

/** The last lines for which there is room. */
function latest(lines, room) {
  let from = lines.length
  for (let left = room; from > 0 && left >= lines[from - 1].length; from--) left -= lines[from - 1].length
  return lines.slice(from)
}

/** Returns a line of the page's payloads, from the JSON text of the payload. */
function payloadLine(text) {
  const isShort = text.length <= NEVER_CUT && (text.match(/[[{]/g)?.length ?? 0) <= PAYLOAD.depth
  return isShort ? safeInIsland(`[${text}]`) : payloadIsland(JSON.parse(text))
}

/** A line of the page's payloads: `[payload]` or `[payload, cuts]`. */
function payloadIsland(payload, limits = PAYLOAD) {
  const { value, cuts } = cut(payload, limits)
  return islandJson(cuts.length === 0 ? [value] : [value, cuts])
}

module.exports = { EventTable, KINDS, payloadIsland }
