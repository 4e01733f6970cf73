// The data of the page. Payloads are parsed only when they are shown.

const FAILED = 1
const IN_HISTORY = 2
const DAMAGED = 4
const TOO_LONG = 8
const ITEM = 16
const WITHOUT_EFFECT = 32

/** Splits an island that has each item on a line of its own. */
const islandLines = (id) => {
  const text = islandText(id).slice(2, -2)
  return text === '' ? [] : text.split(',\n')
}

class Conversation {
  rows = []
  /** The rows by line. */
  rowOf = new Map()
  calls = []
  /** The calls by the line of the record that made or answered them. */
  callsAt = new Map()
  #payloads
  #images
  #whole = new Map()

  constructor() {
    const data = JSON.parse(islandText('page-data'))
    const { rows, calls, types, speakers, ...summary } = data
    this.#payloads = islandLines('payloads')
    this.#images = islandLines('images')
    this.addRows(rows, types, speakers)
    for (const call of calls) this.addCall(call)
    this.summarize(summary)
    this.redactedAt = new Map(this.seal?.redacted.lines)
  }

  summarize(summary) {
    Object.assign(this, summary)
    this.warningsAt = new Map()
    for (const [line, text] of this.warnings) this.warningsAt.set(line, [...(this.warningsAt.get(line) ?? []), text])
  }

  addRows(rows, types, speakers) {
    for (const [line, type, speaker, at, flags, removedBy, size, gone = 0] of rows) {
      const row = { line, type: types[type], speaker: speakers[speaker], at, flags, removedBy, size, gone }
      this.rowOf.set(line, this.rows.push(row) - 1)
    }
  }

  addCall([name, line, block, responseLine, responseBlock, hasFailed, ms]) {
    const call = { name, line, block, responseLine, responseBlock, hasFailed: hasFailed === 1, ms }
    this.calls.push(call)
    for (const at of new Set(responseLine > 0 ? [line, responseLine] : [line]))
      this.callsAt.set(at, [...(this.callsAt.get(at) ?? []), call])
  }

  callOf(line, block) {
    return this.callsAt.get(line)?.find((call) => call.line === line && call.block === block)
  }

  answeredBy(line, block) {
    return this.callsAt.get(line)?.find((call) => call.responseLine === line && call.responseBlock === block)
  }

  payloadText(row) {
    return this.#payloads[row]
  }

  /**
   * Returns `{ value, cuts, images }` of a row; `images` has the indices of images by the paths of their blocks. For a record of which the page has only an excerpt, `value` is null and `excerpt` is its beginning.
   */
  payload(row) {
    const found = this.#whole.get(row) ?? JSON.parse(this.#payloads[row])
    if (typeof found === 'string') return { value: null, cuts: [], images: {}, excerpt: found }
    const [value, cuts = [], images = {}] = found
    return { value, cuts, images }
  }

  /** Whether the page has only the beginning of a record. */
  isExcerpt(row) {
    return this.#payloads[row].startsWith('"') && !this.#whole.has(row)
  }

  /** Replaces the payload of a row by the whole one. The images of the row stay. */
  setWhole(row, [value, cuts]) {
    this.#whole.set(row, [value, cuts, this.payload(row).images])
  }

  image(index) {
    return JSON.parse(this.#images[index])
  }

  has(row, flag) {
    return (this.rows[row].flags & flag) !== 0
  }
}

/** The cuts below a path, with paths relative to it. */
function cutsBelow(cuts, path) {
  return cuts
    .filter((cut) => cut.path === path || cut.path.startsWith(`${path}/`))
    .map((cut) => ({ ...cut, path: cut.path.slice(path.length) }))
}
