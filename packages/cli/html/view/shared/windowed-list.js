// Lists of any length, of which only the rows near the window are in the document.

const CHUNK = 40
/** The distance from the window within which rows are created, in pixels. */
const MARGIN = 1200

/** A group of rows: an empty box of the same height until it is near the window. */
class Chunk {
  isFilled = false
  #height = null

  constructor(list, rows) {
    this.list = list
    this.rows = rows
    this.element = withAttributes(el('div.chunk'), { role: 'none' })
    this.element.chunk = this
    this.#reserve()
  }

  #reserve() {
    this.element.style.height = this.#height ?? `calc(var(--cell) * ${this.#cells(this.rows.length)})`
  }

  /** The expected height of the first rows, in cells. */
  #cells(count) {
    return this.list.cells(this.rows.slice(0, count))
  }

  fill() {
    if (this.isFilled) return
    this.isFilled = true
    this.element.replaceChildren(...this.rows.map((row) => this.list.elementOf(row)))
    this.element.style.height = ''
    this.list.restoreCurrent()
  }

  /** Removes the rows and preserves the height, which depends on opened rows. */
  empty() {
    if (!this.isFilled || this.rows.includes(this.list.current)) return
    this.#height = `${this.element.offsetHeight}px`
    this.isFilled = false
    this.element.replaceChildren()
    this.#reserve()
  }

  /** Rebuilds a row. */
  refresh(row) {
    if (this.isFilled) this.element.children[this.rows.indexOf(row)].replaceWith(this.list.elementOf(row))
    this.list.restoreCurrent()
  }

  /** The vertical position of the middle of a row, relative to the positioned ancestor. */
  middleOf(row, cell) {
    const index = this.rows.indexOf(row)
    const item = this.isFilled ? this.element.children[index] : null
    if (item) return item.offsetTop + item.firstElementChild.offsetHeight / 2
    return this.element.offsetTop + (this.#cells(index) + 0.5) * cell
  }
}

/**
 * Rows are numbers. A subclass defines how a row looks (`elementOf`), the expected height of several rows (`cells`) and whether the keyboard skips
 * a row (`isSkipped`). The focusable element of a row has the class `line` and the row in `data-row`.
 */
class WindowedList {
  shown = []
  onChange = () => {}
  #chunks = []
  #chunkOf = new Map()
  #watcher = new IntersectionObserver(
    (seen) => seen.forEach(({ target, isIntersecting }) => this.#look(target.chunk, isIntersecting)),
    {
      rootMargin: `${MARGIN}px 0px`,
    },
  )

  constructor(element, current) {
    this.element = element
    this.current = current
  }

  isSkipped() {
    return false
  }

  /** @param {[list: HTMLElement, rows: number[]][]} parts the rows of each list, in order */
  showIn(parts) {
    this.#watcher.disconnect()
    this.#chunkOf.clear()
    this.shown = parts.flatMap(([, rows]) => rows)
    this.#chunks = parts.flatMap(([list, rows]) => {
      const chunks = this.#chunksOf(rows)
      list.replaceChildren(...chunks.map(({ element }) => element))
      list.hidden = rows.length === 0
      return chunks
    })
    if (!this.#chunkOf.has(this.current)) this.current = this.shown.find((row) => !this.isSkipped(row)) ?? this.current
    this.#chunkOf.get(this.current)?.fill()
    for (const { element } of this.#chunks) this.#watcher.observe(element)
    this.onChange()
  }

  #chunksOf(rows) {
    const chunks = []
    for (let from = 0; from < rows.length; from += CHUNK) chunks.push(this.#newChunk(rows.slice(from, from + CHUNK)))
    return chunks
  }

  #newChunk(rows) {
    const chunk = new Chunk(this, rows)
    for (const row of rows) this.#chunkOf.set(row, chunk)
    return chunk
  }

  refresh(row) {
    this.#chunkOf.get(row)?.refresh(row)
  }

  #look(chunk, isNear) {
    if (isNear) chunk.fill()
    else chunk.empty()
  }

  /** Creates all rows, for printing. */
  fillAll() {
    this.#watcher.disconnect()
    for (const chunk of this.#chunks) chunk.fill()
  }

  has(row) {
    return this.#chunkOf.has(row)
  }

  lineOf(row) {
    return this.element.querySelector(`.line[data-row="${row}"]`)
  }

  /** Only the current row is reachable with the Tab key; the others are reached from it with the arrows. */
  setCurrent(row) {
    this.lineOf(this.current)?.setAttribute('tabindex', '-1')
    this.current = row
    this.restoreCurrent()
  }

  restoreCurrent() {
    this.lineOf(this.current)?.setAttribute('tabindex', '0')
  }

  /** Makes a row current, scrolls it into view and focuses it. */
  jump(row, block = 'center') {
    if (!this.has(row)) this.onMissing?.(row)
    this.#chunkOf.get(row)?.fill()
    this.setCurrent(row)
    const line = this.lineOf(row)
    line?.focus({ preventScroll: true })
    line?.scrollIntoView({ block })
  }

  /** The next row that is not skipped, up or down. */
  step(by) {
    const { shown } = this
    let at = shown.indexOf(this.current) + by
    while (shown[at] !== undefined && this.isSkipped(shown[at])) at += by
    if (shown[at] !== undefined) this.jump(shown[at], 'nearest')
  }

  middleOf(row) {
    const cell = parseFloat(getComputedStyle(this.element).getPropertyValue('--cell-px')) || 32
    return this.#chunkOf.get(row)?.middleOf(row, cell)
  }
}
