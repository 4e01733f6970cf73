// The data of the page. Payloads are parsed only when they are shown.

import { FLAGS } from '../../session/items.js'
import { fetchJson, islandLines } from '../islands.mjs'

/** The number of records per request. */
const BATCH = 40

export class Conversation {
  /** The rows by line. */
  rowOf = new Map()
  /** The calls by the line of the record that made or answered them. */
  #callsAt = new Map()
  #payloads = islandLines('payloads')
  #images = islandLines('images')
  #whole = new Map()
  #requested = new Set()
  #removals = new Map()

  constructor({ rows, types, speakers, calls, ...summary }) {
    Object.assign(this, summary)
    this.rows = rows.map(([line, type, speaker, at, flags, removedBy, size, gone = 0], row) => {
      this.rowOf.set(line, row)
      if (removedBy > 0) addTo(this.#removals, removedBy, row)
      return { line, type: types[type], speaker: speakers[speaker], at, flags, removedBy, size, gone }
    })
    this.calls = calls.map(([name, line, block, responseLine, responseBlock, hasFailed, ms]) => {
      const call = { name, line, block, responseLine, responseBlock, hasFailed: hasFailed === 1, ms }
      for (const at of new Set(responseLine > 0 ? [line, responseLine] : [line])) addTo(this.#callsAt, at, call)
      return call
    })
    this.warningsAt = new Map()
    for (const [line, text] of this.warnings) addTo(this.warningsAt, line, text)
    this.redactedAt = new Map(this.seal?.redacted.lines)
  }

  callOf(line, block) {
    return this.#callsAt.get(line)?.find((call) => call.line === line && call.block === block)
  }

  answeredBy(line, block) {
    return this.#callsAt.get(line)?.find((call) => call.responseLine === line && call.responseBlock === block)
  }

  payloadText(row) {
    return this.#payloads[row]
  }

  /**
   * Returns `{ value, cuts, images }` of a row; `images` has the indices of images by the paths of their blocks. For a record of which the page has
   * only an excerpt, `value` is null and `excerpt` is its beginning.
   */
  payload(row) {
    const found = this.#whole.get(row) ?? JSON.parse(this.#payloads[row])
    if (typeof found === 'string') return { value: null, cuts: [], images: {}, excerpt: found }
    const [value, cuts = [], images = {}] = found
    return { value, cuts, images }
  }

  /** Asks the server for a record without cuts. The images of the row stay. */
  async readWhole(row) {
    this.#setWhole(row, await fetchJson('record', { line: this.rows[row].line }))
  }

  /** Asks the server for the records around a row of which the page has only an excerpt. Resolves to their rows. */
  async readAround(row) {
    const from = row - (row % BATCH)
    if (this.#requested.has(from)) return []
    this.#requested.add(from)
    const last = Math.min(from + BATCH, this.rows.length) - 1
    try {
      const found = await fetchJson('records', { from: this.rows[from].line, to: this.rows[last].line })
      for (const [line, payload] of found) this.#setWhole(this.rowOf.get(line), payload)
      return found.map(([line]) => this.rowOf.get(line))
    } catch {
      this.#requested.delete(from)
      return []
    }
  }

  #setWhole(row, [value, cuts]) {
    this.#whole.set(row, [value, cuts, this.payload(row).images])
  }

  image(index) {
    return JSON.parse(this.#images[index])
  }

  has(row, flag) {
    return (this.rows[row].flags & flag) !== 0
  }

  /** Whether a row is an item that is not in the history any more. */
  isGone(row) {
    return this.has(row, FLAGS.item) && !this.has(row, FLAGS.inHistory)
  }

  /** The rows that the record of a line removed from the history, in order. */
  removedBy(line) {
    return this.#removals.get(line) ?? []
  }

  /** The lines that removed others. */
  get removers() {
    return [...this.#removals.keys()]
  }
}

function addTo(map, key, value) {
  if (map.has(key)) map.get(key).push(value)
  else map.set(key, [value])
}
