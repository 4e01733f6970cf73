// The timeline: virtual lists, of which only the rows near the window are in the document.

const CHUNK = 40
/** The distance from the window within which rows are created, in pixels. */
const MARGIN = 1200

/** A group of rows: an empty box of the same height until it is near the window. */
class Chunk {
  isFilled = false
  #height = null

  constructor(timeline, rows) {
    this.timeline = timeline
    this.rows = rows
    this.element = withAttributes(el('div.chunk'), { role: 'none' })
    this.element.chunk = this
    this.#reserve()
  }

  #reserve() {
    this.element.style.height = this.#height ?? `calc(var(--cell) * ${this.#cells(this.rows.length)})`
  }

  /** The height of the first rows, in cells. */
  #cells(count) {
    if (!this.timeline.isNarrow) return count
    return this.rows.slice(0, count).reduce((sum, row) => sum + this.timeline.rows.height(row), 0)
  }

  fill() {
    if (this.isFilled) return
    this.isFilled = true
    this.element.replaceChildren(...this.rows.map((row) => this.timeline.rows.element(row)))
    this.element.style.height = ''
    this.timeline.restoreCurrent()
  }

  /** Removes the rows and preserves the height, which depends on opened rows. */
  empty() {
    if (!this.isFilled || this.rows.includes(this.timeline.current)) return
    this.#height = `${this.element.offsetHeight}px`
    this.isFilled = false
    this.element.replaceChildren()
    this.#reserve()
  }

  /** The vertical position of the middle of a row, relative to the timeline. */
  middleOf(row, cell) {
    const index = this.rows.indexOf(row)
    const item = this.isFilled ? this.element.children[index] : null
    if (item) return item.offsetTop + item.firstElementChild.offsetHeight / 2
    return this.element.offsetTop + (this.#cells(index) + 0.5) * cell
  }
}

class Timeline {
  #chunks = []
  #chunkOf = new Map()
  #watcher = new IntersectionObserver((seen) => seen.forEach(({ target, isIntersecting }) => this.#look(target.chunk, isIntersecting)), {
    rootMargin: `${MARGIN}px 0px`,
  })

  /** @param middle the element at the divergence, between the rows before and after it; null for equal executions */
  constructor(page, middle) {
    this.page = page
    this.rows = new Rows(page, (row) => this.jump(row))
    this.current = Math.max(page.divergenceRow, 0)
    this.lists = ['Before', 'After'].map(() => withAttributes(el('ol.rows'), { role: 'list' }))
    const labels = page.divergence ? ['Common part, and where they part', 'Behind the divergence'] : ['Timeline', '']
    for (const [at, list] of this.lists.entries()) list.setAttribute('aria-label', labels[at])
    this.canvas = svg('svg', { class: 'rails', 'aria-hidden': 'true' })
    this.element = el('div.timeline', this.lists[0], middle, this.lists[1], this.canvas)
    this.element.addEventListener('click', ({ target }) => this.#clicked(target))
    this.onChange = () => {}
    new ResizeObserver(() => this.#resized()).observe(this.element)
  }

  get isNarrow() {
    return matchMedia('(max-width: 760px)').matches
  }

  /** Shows the rows with these numbers, in order. */
  show(numbers) {
    this.#watcher.disconnect()
    this.#chunkOf.clear()
    this.shown = numbers
    // Without a divergence all rows are in the first list; if the divergence is not in the page, all rows are after it.
    const split = this.page.divergence ? numbers.findIndex((row) => row > this.page.divergenceRow) : -1
    const parts = split < 0 ? [numbers, []] : [numbers.slice(0, split), numbers.slice(split)]
    this.#chunks = parts.flatMap((part, at) => {
      const chunks = this.#chunksOf(part)
      this.lists[at].replaceChildren(...chunks.map(({ element }) => element))
      this.lists[at].hidden = part.length === 0
      return chunks
    })
    this.wasNarrow = this.isNarrow
    if (!this.#chunkOf.has(this.current)) this.current = numbers.find((row) => this.page.rows[row].kind !== 'gap') ?? this.current
    this.#chunkOf.get(this.current)?.fill()
    for (const { element } of this.#chunks) this.#watcher.observe(element)
    this.onChange()
  }

  #chunksOf(numbers) {
    const chunks = []
    for (let from = 0; from < numbers.length; from += CHUNK) {
      const chunk = new Chunk(this, numbers.slice(from, from + CHUNK))
      for (const row of chunk.rows) this.#chunkOf.set(row, chunk)
      chunks.push(chunk)
    }
    return chunks
  }

  #look(chunk, isNear) {
    if (isNear) chunk.fill()
    else chunk.empty()
  }

  #clicked(target) {
    const line = target.closest('.line')
    if (!line) return
    this.setCurrent(Number(line.dataset.row))
    this.rows.toggle(this.current, line.parentElement)
  }

  #resized() {
    // Estimated heights change with the width.
    if (this.wasNarrow !== undefined && this.wasNarrow !== this.isNarrow) this.show(this.shown)
    else this.onChange()
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

  /** The next row with an event, up or down. */
  step(by) {
    const { shown, page } = this
    let at = shown.indexOf(this.current) + by
    while (page.rows[shown[at]]?.kind === 'gap') at += by
    if (shown[at] !== undefined) this.jump(shown[at], 'nearest')
  }

  middleOf(row) {
    const cell = parseFloat(getComputedStyle(this.element).getPropertyValue('--cell-px')) || 32
    return this.#chunkOf.get(row)?.middleOf(row, cell)
  }
}
