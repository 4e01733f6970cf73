'use strict'

// The events of a run in columns of numbers, a few dozen bytes per event, so that a page can hold a million of them.

const { Names } = require('../names.js')
const { KINDS } = require('./kinds.js')

/** @import { RunEvent, RunEventKind } from 'session-tape' */

/** @type {Map<(typeof KINDS)[number], number>} */
const KIND_NUMBERS = new Map(KINDS.map((kind, number) => [kind, number]))

const TASKS = new Set([
  'NodeScheduled',
  'NodeStarted',
  'NodeCompleted',
  'NodeFailed',
  'TaskAssigned',
  'TaskAccepted',
  'TaskRejected',
])
const WORKERS = new Set(['NodeStarted', 'TaskAssigned', 'TaskAccepted', 'TaskRejected', 'Heartbeat'])
/** The field that is the label of an event. @type {Partial<Record<RunEventKind, string>>} */
const LABELS = {
  ToolInvoked: 'tool',
  ToolCompleted: 'tool',
  ToolFailed: 'tool',
  ToolTimedOut: 'tool',
  RunFailed: 'code',
  NodeFailed: 'code',
  Error: 'code',
  CapabilityCheck: 'capability',
  PolicyDecision: 'rule',
  NodeSkipped: 'reason',
  TaskRejected: 'reason',
  TaskAssigned: 'reason',
  SnapshotCreated: 'snapshot',
  SnapshotRestored: 'snapshot',
}
/** Further labels are left out, because each event of a hostile log may have a different one. */
const MAX_LABELS = 5000

const ATTEMPT = /^\d{1,9}$/

class EventColumns {
  nodes = new Names()
  workers = new Names()
  labels = new Names(MAX_LABELS)
  statuses = new Names()
  /** The workers that RunStarted declares, by their numbers. @type {number[]} */
  startedWorkers = []
  /** The logical time of the first event, which is not 0 after a snapshot, and its wall clock in milliseconds. */
  first = 0
  start = 0
  #columns = {
    kind: new Column(),
    /** The node of the event or of its task; -1 if there is none. */
    node: new Column(),
    /** -1 if there is none. */
    worker: new Column(),
    /** The attempt of the task; 0 if there is none. */
    attempt: new Column(),
    /** -1 if there is none. */
    label: new Column(),
    /** 1 for a failure that will be retried and for a denied check or decision; the status of a heartbeat. */
    extra: new Column(),
    /** The distance to the parent in events; 0 if there is none. */
    parent: new Column(),
    /** Milliseconds since the event before. */
    at: new Column(),
  }
  #clock = new Clock()

  /** @param {string[]} nodes the nodes of the graph, which keep their numbers even if they have no events */
  constructor(nodes) {
    for (const node of nodes) this.nodes.numberOf(node)
  }

  get length() {
    return this.#columns.kind.length
  }

  /** @param {RunEvent} event the one after the last */
  add(event) {
    const { logicalTime, ts, kind, parent, payload } = event
    if (this.length === 0) [this.first, this.start] = [logicalTime, this.#clock.startAt(ts)]
    if (kind === 'RunStarted')
      this.startedWorkers = /** @type {{ id: string }[]} */ (payload.workers).map(({ id }) => this.workers.numberOf(id))
    const { kind: kinds, node, worker, attempt, label, extra, parent: parents, at } = this.#columns
    const task = TASKS.has(kind) ? taskParts(/** @type {string} */ (payload.task)) : { node: event.node, attempt: 0 }
    kinds.add(/** @type {number} */ (KIND_NUMBERS.get(kind)))
    node.add(this.nodes.numberOf(task.node))
    worker.add(WORKERS.has(kind) ? this.workers.numberOf(payload.worker) : -1)
    attempt.add(task.attempt)
    label.add(this.labels.numberOf(LABELS[kind] && payload[LABELS[kind]]))
    extra.add(this.#extraOf(kind, payload))
    parents.add(parent === null ? 0 : logicalTime - Number(parent.slice('evt_'.length)))
    at.add(this.#clock.passedUntil(ts))
  }

  /** @type {(kind: RunEventKind, payload: RunEvent['payload']) => number} */
  #extraOf(kind, payload) {
    if (kind === 'NodeFailed') return Number(payload.willRetry)
    if (kind === 'CapabilityCheck' || kind === 'PolicyDecision') return Number(!payload.allowed)
    return kind === 'Heartbeat' ? this.statuses.numberOf(payload.status) : 0
  }

  /** @returns {Record<string, [bits: number, base64: string]>} */
  encoded() {
    return Object.fromEntries(Object.entries(this.#columns).map(([name, column]) => [name, column.encoded()]))
  }
}

/** The node and the attempt of a task such as `write#2`. @param {string} task */
function taskParts(task) {
  const at = task.lastIndexOf('#')
  if (at < 0) return { node: task, attempt: 0 }
  const attempt = task.slice(at + 1)
  return { node: task.slice(0, at), attempt: ATTEMPT.test(attempt) ? Number(attempt) : 0 }
}

/** Wall clocks. One that can't be parsed counts as that of the event before. */
class Clock {
  /** The text parsed last, because many events share a millisecond. */
  #text = ''
  #milliseconds = 0

  /** @param {string} ts */
  startAt(ts) {
    this.passedUntil(ts)
    return this.#milliseconds
  }

  /** Milliseconds since the clock before. @param {string} ts */
  passedUntil(ts) {
    if (ts === this.#text) return 0
    const milliseconds = Date.parse(ts)
    if (Number.isNaN(milliseconds)) return 0
    const before = this.#milliseconds
    this.#text = ts
    this.#milliseconds = milliseconds
    return milliseconds - before
  }
}

/** @type {[number, Int8ArrayConstructor | Int16ArrayConstructor | Int32ArrayConstructor][]} */
const NARROW = [
  [8, Int8Array],
  [16, Int16Array],
  [32, Int32Array],
]

/** A growing list of integers. */
class Column {
  length = 0
  #numbers = new Float64Array(256)

  /** @param {number} number */
  add(number) {
    if (this.length === this.#numbers.length) {
      const wider = new Float64Array(2 * this.length)
      wider.set(this.#numbers)
      this.#numbers = wider
    }
    this.#numbers[this.length++] = number
  }

  /** The numbers in the fewest bits that hold them, as base64: little-endian like all supported machines. @returns {[bits: number, base64: string]} */
  encoded() {
    const numbers = this.#numbers.subarray(0, this.length)
    let [least, most] = [0, 0]
    for (const number of numbers) {
      if (number < least) least = number
      else if (number > most) most = number
    }
    const narrow = NARROW.find(([width]) => least >= -(2 ** (width - 1)) && most < 2 ** (width - 1))
    const [bits, Type] = narrow ?? [64, Float64Array]
    return [bits, Buffer.from(new Type(numbers).buffer).toString('base64')]
  }
}

module.exports = { EventColumns }
