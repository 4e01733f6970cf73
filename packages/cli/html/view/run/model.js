// The events of the run, in columns. Events are numbered from 0 in the page; `first` is the logical time of the first.

const ARRAYS = { 8: Int8Array, 16: Int16Array, 32: Int32Array, 64: Float64Array }
const FAILURES = new Set(['RunFailed', 'NodeFailed', 'ToolFailed', 'ToolTimedOut', 'TaskRejected', 'Error'])
const CHECKS = new Set(['CapabilityCheck', 'PolicyDecision'])

const decoded = ([bits, base64]) => new ARRAYS[bits](bytesOf(base64).buffer)

class Run {
  #payloads
  #whole = new Map()

  constructor() {
    Object.assign(this, JSON.parse(islandText('page-data')))
    this.columns = Object.fromEntries(
      Object.entries(JSON.parse(islandText('columns'))).map(([name, column]) => [name, decoded(column)]),
    )
    const text = islandText('payloads').slice(2, -2)
    this.#payloads = text === '' ? [] : text.split(',\n')
    this.failureKinds = new Set([...FAILURES].map((kind) => this.kinds.indexOf(kind)))
    this.checkKinds = new Set([...CHECKS].map((kind) => this.kinds.indexOf(kind)))
    this.clocks = this.#clocks()
  }

  /** The wall clock of each event. */
  #clocks() {
    const { at } = this.columns
    const clocks = new Float64Array(at.length)
    for (let event = 0; event < at.length; event++)
      clocks[event] = (event === 0 ? this.start : clocks[event - 1]) + at[event]
    return clocks
  }

  get length() {
    return this.columns.kind.length
  }

  /** The kinds that occur, by their numbers. */
  kindsThere() {
    const { kind } = this.columns
    const isThere = new Array(this.kinds.length).fill(false)
    for (let event = 0; event < kind.length; event++) isThere[kind[event]] = true
    return [...isThere.keys()].filter((at) => isThere[at])
  }

  kindOf(event) {
    return this.kinds[this.columns.kind[event]]
  }

  hasFailed(event) {
    const kind = this.columns.kind[event]
    return this.failureKinds.has(kind) || (this.checkKinds.has(kind) && this.columns.extra[event] === 1)
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
    const text = this.payloadText(event)
    return this.#whole.get(event) ?? (text === null ? null : JSON.parse(text))
  }

  setWhole(event, parts) {
    this.#whole.set(event, parts)
  }

  /** The causal ancestors, nearest first. */
  ancestors(event, most) {
    const found = []
    for (let at = this.parentOf(event); at >= 0 && found.length < most; at = this.parentOf(at)) found.push(at)
    return found
  }
}
