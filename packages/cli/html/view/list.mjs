// Lists of any length. Their rows are in chunks, of which the browser says when they come near the window: only then their rows are in the document.
// With `content-visibility` on each row, a list of 100 000 takes 5 s to scroll.

import { Component, h, render } from 'preact'
import { countBefore } from '../count-before.js'
import { elWith, nodesOf } from './dom.mjs'

const CHUNK = 40
const PRINTED = 400

/** A row that is made again on demand only. */
class Row extends Component {
  componentDidMount() {
    this.props.mounted.set(this.props.row, this)
  }

  componentWillUnmount() {
    this.props.mounted.delete(this.props.row)
  }

  shouldComponentUpdate() {
    return false
  }

  render({ row, view }) {
    return view(row)
  }
}

/** Some rows: an empty box of their expected height until it is near the window, and then of the height that they had. */
class Chunk {
  isFilled = false

  constructor(list, rows) {
    const height = `calc(var(--cell) * ${list.cells(rows)})`
    // Without Preact, because a list of a million has 25 000.
    const element = Object.assign(document.createElement('div'), { className: 'chunk', role: 'none', chunk: this })
    Object.assign(element.style, { height, containIntrinsicHeight: `auto ${height}` })
    Object.assign(this, { list, rows, element })
  }

  fill() {
    if (this.isFilled) return
    this.isFilled = true
    this.element.style.height = ''
    const { mounted } = this.list
    const view = (row) => this.list.rowView(row)
    render(
      this.rows.map((row) => h(Row, { row, view, mounted, key: row })),
      this.element,
    )
    this.list.mark(this.list.current, true)
  }

  empty() {
    if (!this.isFilled || this.rows.includes(this.list.current)) return
    this.isFilled = false
    this.element.style.height = `${this.element.offsetHeight}px`
    render(null, this.element)
  }
}

/**
 * Rows are numbers. A page defines how a row looks (`rowView`), the expected height of several rows (`cells`) and whether the keyboard skips a row
 * (`isSkipped`). The element of a row that can be current has the row in `data-row`.
 */
export class List {
  shown = []
  current = 0
  mounted = new Map()
  /** Whether the current row may be one that is not shown. */
  keepsCurrent = false
  onChange = () => {}
  onMissing = () => {}
  #chunks = []
  #lastRows = []

  /** @param {HTMLElement} element contains the lists */
  constructor(element) {
    this.element = element
    element.addEventListener('contentvisibilityautostatechange', ({ target, skipped }) => {
      if (skipped) target.chunk.empty()
      else target.chunk.fill()
    })
  }

  cells(rows) {
    return rows.length
  }

  isSkipped() {
    return false
  }

  /** @param {[list: HTMLElement, rows: number[]][]} parts the rows of each list, in order */
  showIn(parts) {
    for (const { isFilled, element } of this.#chunks) if (isFilled) render(null, element)
    this.shown = parts.flatMap(([, rows]) => rows)
    this.#chunks = parts.flatMap(([list, rows]) => {
      const chunks = []
      for (let at = 0; at < rows.length; at += CHUNK) chunks.push(new Chunk(this, rows.slice(at, at + CHUNK)))
      list.replaceChildren(...chunks.map(({ element }) => element))
      list.hidden = rows.length === 0
      return chunks
    })
    this.#lastRows = this.#chunks.map(({ rows }) => rows.at(-1))
    if (!this.keepsCurrent && !this.has(this.current))
      this.current = this.shown.find((row) => !this.isSkipped(row)) ?? this.current
    this.#chunkOf(this.current)?.fill()
    // A browser that does not say which chunks are near shows all of them.
    if (typeof ContentVisibilityAutoStateChangeEvent === 'undefined') this.#fillAll()
    this.onChange()
  }

  #fillAll() {
    for (const chunk of this.#chunks) chunk.fill()
  }

  #chunkOf(row) {
    const chunk = this.#chunks[countBefore(this.#lastRows, row)]
    return chunk?.rows.includes(row) ? chunk : undefined
  }

  /** Makes a row again, if it is in the document. */
  refresh(row) {
    this.mounted.get(row)?.forceUpdate(() => this.mark(this.current, true))
  }

  has(row) {
    return this.#chunkOf(row) !== undefined
  }

  lineOf(row) {
    return this.element.querySelector(`[data-row="${row}"]`)
  }

  /** Only the current row is reachable with the Tab key; the others are reached from it with the arrows. */
  mark(row, isCurrent) {
    this.lineOf(row)?.setAttribute('tabindex', isCurrent ? '0' : '-1')
  }

  setCurrent(row) {
    this.mark(this.current, false)
    this.current = row
    this.#chunkOf(row)?.fill()
    this.mark(row, true)
  }

  /** Makes a row current, scrolls it into view and focuses it. */
  jump(row, block = 'center') {
    if (!this.has(row)) this.onMissing(row)
    this.setCurrent(row)
    const line = this.lineOf(row)
    line?.focus({ preventScroll: true })
    line?.scrollIntoView({ block })
  }

  /** The row that is a number of rows away from the current one, or the next one behind it that is not skipped. */
  neighbour(by) {
    const { shown } = this
    let at = Math.min(Math.max(countBefore(shown, this.current) + by, 0), shown.length - 1)
    // From an end of the list, back.
    const step = Number.isFinite(by) ? Math.sign(by) : -Math.sign(by)
    while (at in shown && this.isSkipped(shown[at])) at += step
    return shown[at]
  }

  step(by) {
    const row = this.neighbour(by)
    if (row !== undefined) this.jump(row, 'nearest')
  }

  /** Goes to the next shown row of a kind, or to the first. */
  toNext(isWanted) {
    const found = this.shown.filter(isWanted)
    const next = found.find((row) => row > this.current) ?? found[0]
    if (next !== undefined) this.jump(next, 'start')
  }

  /** The vertical position of the middle of a row, relative to the positioned ancestor. */
  middleOf(row) {
    const chunk = this.#chunkOf(row)
    if (chunk === undefined) return undefined
    const start = this.element.getBoundingClientRect().top - this.element.scrollTop
    const line = this.lineOf(row)?.getBoundingClientRect()
    if (line) return line.top + line.height / 2 - start
    const cell = parseFloat(getComputedStyle(this.element).getPropertyValue('--cell'))
    const before = chunk.rows.slice(0, chunk.rows.indexOf(row))
    return chunk.element.getBoundingClientRect().top - start + (this.cells(before) + 0.5) * cell
  }

  /** The first and the last row in the window; null if there is none. */
  seen() {
    const lines = [...this.element.querySelectorAll('[data-row]')].filter((line) => {
      const { top, bottom } = line.getBoundingClientRect()
      return bottom > 0 && top < innerHeight
    })
    return lines.length === 0 ? null : [lines[0], lines.at(-1)].map((line) => Number(line.dataset.row))
  }

  /**
   * Printing shows the rows around one of them, and the number of the others.
   *
   * @param {{ centre: () => number, around: string }} options `around` names the row in the middle, for the note
   */
  printAround({ centre, around }) {
    let before = []
    addEventListener('beforeprint', () => {
      before = this.shown
      const from = Math.max(Math.min(countBefore(before, centre()) - PRINTED / 2, before.length - PRINTED), 0)
      const printed = before.slice(from, from + PRINTED)
      this.show(printed)
      this.#fillAll()
      const text = `Rows ${from + 1} to ${from + printed.length} of ${before.length.toLocaleString('en-US')}, around ${around}.`
      if (printed.length < before.length) this.element.prepend(...nodesOf(elWith('p.note.print-note', {}, text)))
    })
    addEventListener('afterprint', () => {
      this.element.querySelector('.print-note')?.remove()
      this.show(before)
    })
  }
}

/**
 * Keyboard control of a list and its search: j and k or the arrows, Enter, / and Escape.
 *
 * @param {Record<string, () => void>} more further keys
 * @param {Record<string, () => void>} inList further keys while the focus is in the list. Outside of it the arrows scroll.
 */
export function listenToKeys(list, search, more, inList = {}) {
  const keys = {
    j: () => list.step(1),
    k: () => list.step(-1),
    '/': () => search.input.focus(),
    ...more,
  }
  const listKeys = {
    ArrowDown: keys.j,
    ArrowUp: keys.k,
    Home: () => list.step(-Infinity),
    End: () => list.step(Infinity),
    ...inList,
  }
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    if (event.key === 'Escape') return search.leave()
    if (event.target.closest('input:not([type="range"]), select, textarea')) return
    const isInList = event.target === list.element || event.target.matches('[data-row]')
    const act = keys[event.key] ?? (isInList ? listKeys[event.key] : undefined)
    if (!act) return
    event.preventDefault()
    act()
  })
}
