'use strict'

// The events of a run in columns: few bytes for each event, so that a page can hold a million. Payloads are kept while there is room, the latest
// ones.

const { cut } = require('../cut.js')
const { islandJson } = require('../island.js')

const KINDS = [
  'RunCreated', 'RunStarted', 'RunCompleted', 'RunFailed', 'NodeScheduled', 'NodeStarted', 'NodeCompleted', 'NodeFailed', 'NodeSkipped',
  'ToolInvoked', 'ToolCompleted', 'ToolFailed', 'ToolTimedOut', 'CapabilityCheck', 'PolicyDecision', 'TaskAssigned', 'TaskAccepted',
  'TaskRejected', 'SnapshotCreated', 'SnapshotRestored', 'BlobStored', 'Heartbeat', 'Error',
]
const KIND = new Map(KINDS.map((kind, at) => [kind, at]))

/** In `parent` is the distance to the parent, in `at` the milliseconds since the event before; `-1` means none in all others. */
const COLUMNS = ['kind', 'node', 'worker', 'attempt', 'parent', 'label', 'extra', 'at']
/** The types of numbers that a column can have in the page, the smallest first. */
const TYPES = [Int8Array, Int16Array, Int32Array, Float64Array]

/** The size in characters that a payload has at least, nearly. */
const SHORTEST_PAYLOAD = 40
const PAYLOAD = { string: 4096, total: 16_384, depth: 40 }
/** What names an event beside its node. */
const LABELS = ['tool', 'code', 'capability', 'rule', 'reason', 'snapshot']
/** Further labels are left out, because each event of a hostile log may have another. */
const MOST_LABELS = 5000

class EventTable {
  columns = Object.fromEntries(COLUMNS.map((name) => [name, []]))
  nodes = new Names()
  workers = new Names()
  labels = new Names(MOST_LABELS)
  statuses = new Names()
  /** The payloads of the latest events, from `#keptFrom` on. */
  #kept = []
  #keptFrom = 0
  /** The time of the first event: behind a snapshot it is not 0. */
  first = 0
  /** The wall clock of the first event, in milliseconds. */
  start = 0
  /** The workers that RunStarted names. */
  startedWorkers = []
  #clock = NaN
  #room

  constructor(room) {
    this.#room = room
  }

  get length() {
    return this.columns.kind.length
  }

  /** @param {import('../../../index.js').RunEvent} event */
  add(event) {
    if (this.length === 0) this.#begin(event)
    this.#push(event)
    if (event.kind === 'RunStarted') this.#startWorkers(event.payload.workers)
    this.#kept.push(event.payload)
    if (this.#kept.length > 2 * this.#most) this.#keptFrom += this.#kept.splice(0, this.#most).length
  }

  /** No more payloads than this have room. */
  get #most() {
    return Math.ceil(this.#room / SHORTEST_PAYLOAD)
  }

  #startWorkers(workers) {
    this.startedWorkers = workers.map(({ id }) => this.workers.index(id))
  }

  #begin({ logicalTime, ts }) {
    this.first = logicalTime
    this.start = Date.parse(ts) || 0
    this.#clock = this.start
  }

  #push({ logicalTime, kind, node, parent, ts, payload }) {
    const { task, worker } = payload
    const [of, attempt] = typeof task === 'string' ? taskParts(task) : [node, 0]
    const label = labelOf(payload)
    const clock = Date.parse(ts)
    const passed = Number.isNaN(clock) ? 0 : clock - this.#clock
    this.#clock += passed
    const { columns } = this
    columns.kind.push(KIND.get(kind))
    columns.node.push(of === null ? -1 : this.nodes.index(of))
    columns.worker.push(typeof worker === 'string' ? this.workers.index(worker) : -1)
    columns.attempt.push(attempt)
    columns.parent.push(parent === null ? 0 : logicalTime - Number(parent.slice('evt_'.length)))
    columns.label.push(label === undefined ? -1 : this.labels.index(label))
    columns.extra.push(this.#extra(kind, payload))
    columns.at.push(passed)
  }

  /** A failure that is retried, a check that was not allowed, the status of a heartbeat. */
  #extra(kind, { willRetry, allowed, status }) {
    if (kind === 'NodeFailed') return willRetry === true ? 1 : 0
    if (kind === 'Heartbeat') return this.statuses.index(String(status))
    return allowed === false ? 1 : 0
  }

  /** The payloads of the latest events for which there is room, as lines of the page. */
  payloads() {
    const lines = []
    let room = this.#room
    for (let at = this.#kept.length - 1; at >= 0; at--) {
      const line = payloadIsland(this.#kept[at])
      room -= line.length
      if (room < 0) break
      lines.push(line)
    }
    return { from: this.length - lines.length, lines: lines.reverse() }
  }

  /** The payloads from an event on, of those that are still kept. */
  payloadsFrom(event) {
    return Array.from({ length: this.length - event }, (_, at) => {
      const index = event + at - this.#keptFrom
      return index < 0 ? 'null' : payloadIsland(this.#kept[index])
    })
  }

  /** The columns from an event on: `[bits of a number, numbers in base64]`, little-endian as on all machines that this runs on. */
  encoded(from = 0) {
    return Object.fromEntries(COLUMNS.map((name) => {
      const numbers = this.columns[name].slice(from)
      const Type = TYPES.find((each) => each === Float64Array || isEqual(new each(numbers), numbers))
      return [name, [Type.BYTES_PER_ELEMENT * 8, Buffer.from(new Type(numbers).buffer).toString('base64')]]
    }))
  }
}

const isEqual = (typed, numbers) => numbers.every((number, at) => typed[at] === number)

/** A line of the page's payloads: `[payload]` or `[payload, cuts]`. */
function payloadIsland(payload, limits = PAYLOAD) {
  const { value, cuts } = cut(payload, limits)
  return islandJson(cuts.length === 0 ? [value] : [value, cuts])
}

function labelOf(payload) {
  for (const name of LABELS) if (typeof payload[name] === 'string') return payload[name]
  return undefined
}

/** The node and the attempt of a task: `write#2`. */
function taskParts(task) {
  const at = task.lastIndexOf('#')
  return [task.slice(0, at), Number(task.slice(at + 1))]
}

/** A list of distinct names. */
class Names {
  list = []
  #indices = new Map()

  constructor(most = Infinity) {
    this.most = most
  }

  /** -1 if there are too many. */
  index(name) {
    const found = this.#indices.get(name)
    if (found !== undefined) return found
    if (this.list.length >= this.most) return -1
    this.#indices.set(name, this.list.length)
    return this.list.push(name) - 1
  }
}

module.exports = { EventTable, KINDS, payloadIsland }
