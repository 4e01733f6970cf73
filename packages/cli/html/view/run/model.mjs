// The events of the run, in columns. Events are numbered from 0 in the page; `first` is the logical time of the first.

import { FAILURES, KINDS } from '../../run/kinds.js'
import { bytesOf, fetchJson, islandLines, islandText } from '../islands.mjs'

const ARRAYS = { 8: Int8Array, 16: Int16Array, 32: Int32Array, 64: Float64Array }
const CHECKS = ['CapabilityCheck', 'PolicyDecision']

const decoded = ([bits, base64]) => new ARRAYS[bits](bytesOf(base64).buffer)

export class Run {
  #payloads = islandLines('payloads')
  #whole = new Map()

  constructor(data) {
    Object.assign(this, data)
    const columns = Object.entries(JSON.parse(islandText('columns')))
    this.columns = Object.fromEntries(columns.map(([name, column]) => [name, decoded(column)]))
    // The wall clock of each event.
    let clock = this.start
    this.clocks = Float64Array.from(this.columns.at, (passed) => (clock += passed))
    this.redactedAt = new Map(this.seal?.redacted.events)
  }

  get length() {
    return this.columns.kind.length
  }

  kindOf(event) {
    return KINDS[this.columns.kind[event]]
  }

  hasFailed(event) {
    const kind = this.kindOf(event)
    return FAILURES.has(kind) || (CHECKS.includes(kind) && this.columns.extra[event] === 1)
  }

  nodeOf(event) {
    return this.nodes[this.columns.node[event]] ?? null
  }

  workerOf(event) {
    return this.workers[this.columns.worker[event]] ?? null
  }

  labelOf(event) {
    return this.labels[this.columns.label[event]] ?? ''
  }

  /** -1 for an event without a parent, or one whose parent is not in the page. */
  parentOf(event) {
    const distance = this.columns.parent[event]
    return distance === 0 ? -1 : Math.max(event - distance, -1)
  }

  nameOf(event) {
    return `evt_${event + this.first}`
  }

  payloadText(event) {
    return this.#payloads[event - this.payloadsFrom] ?? null
  }

  /** Returns `[payload, cuts]`, or null if the payload is not in the page. */
  payload(event) {
    return this.#whole.get(event) ?? JSON.parse(this.payloadText(event))
  }

  /** Asks the server for the whole payload of an event. */
  async readWhole(event) {
    this.#whole.set(event, await fetchJson('event', { at: event + this.first }))
  }

  /** The causal ancestors, nearest first. */
  ancestors(event, most) {
    const found = []
    for (let at = this.parentOf(event); at >= 0 && found.length < most; at = this.parentOf(at)) found.push(at)
    return found
  }

  /** What verification reports; empty while the run is being verified. */
  get failures() {
    const checks = this.verification?.checks ?? []
    return checks.filter(([, { failure }]) => failure !== null).map(([name, { failure }]) => ({ name, ...failure }))
  }

  /** The event at a logical time; undefined if it is not in the page. */
  eventAt(time) {
    const event = time - this.first
    return time !== null && event >= 0 && event < this.length ? event : undefined
  }
}
