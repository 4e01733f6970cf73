// The list of all events. Only those near the visible part of the list are in the document.

const ROW = 26
/** The maximum height in pixels, because browsers limit the height of an element. A longer list scrolls in larger steps. */
const HIGHEST = 30_000_000
const OVERSCAN = 12

class EventList {
  /** The rows in the document, by their place in the list. */
  #drawn = new Map()

  constructor(run, pick) {
    this.run = run
    this.pick = pick
    this.shown = null
    this.rows = el('div.event-rows')
    this.spacer = el('div.spacer', this.rows)
    this.element = withAttributes(el('div.events', this.spacer), {
      role: 'listbox',
      tabindex: 0,
      'aria-label': 'Events',
    })
    this.element.addEventListener('scroll', () => this.#later(), { passive: true })
    this.element.addEventListener('click', ({ target }) => this.#clicked(target))
    new ResizeObserver(() => this.draw()).observe(this.element)
  }

  get count() {
    return this.shown === null ? this.run.length : this.shown.length
  }

  eventAt(row) {
    return this.shown === null ? row : this.shown[row]
  }

  rowOf(event) {
    if (this.shown === null) return event
    const at = lowerBound(this.shown, event)
    return at < this.shown.length ? at : this.shown.length - 1
  }

  /** @param {number[] | null} events in order; null for all */
  show(events) {
    this.shown = events
    this.#drawn.clear()
    this.draw()
    this.reveal(this.current ?? 0)
  }

  get #scale() {
    return Math.max((this.count * ROW) / HIGHEST, 1)
  }

  #later() {
    if (this.isWaiting) return
    this.isWaiting = true
    requestAnimationFrame(() => {
      this.isWaiting = false
      this.draw()
    })
  }

  draw() {
    this.#size()
    const { scrollTop, clientHeight } = this.element
    const first = Math.max(Math.floor((scrollTop * this.#scale) / ROW) - OVERSCAN, 0)
    const last = Math.min(first + Math.ceil(clientHeight / ROW) + 2 * OVERSCAN, this.count)
    const top = this.#scale === 1 ? first * ROW : Math.max(scrollTop - OVERSCAN * ROW, 0)
    this.rows.style.transform = `translateY(${top}px)`
    this.rows.replaceChildren(...Array.from({ length: Math.max(last - first, 0) }, (_, at) => this.#rowAt(first + at)))
    this.#drawn = new Map([...this.rows.children].map((row) => [row.place, row]))
    if (this.count === 0) this.rows.replaceChildren(el('p.note', 'Nothing.'))
    this.#mark()
  }

  /** Sets the height of the list, without which it could not be scrolled. */
  #size() {
    const height = `${Math.min(this.count * ROW, HIGHEST)}px`
    if (this.spacer.style.height !== height) this.spacer.style.height = height
  }

  /** Returns a row that is already in the document, or a new one. */
  #rowAt(place) {
    const found = this.#drawn.get(place)
    if (found) return found
    const row = this.#row(this.eventAt(place), place)
    row.place = place
    return row
  }

  #row(event, row) {
    const { run } = this
    const view = el(
      'div.event',
      el('span.number', String(event + run.first)),
      el('time', clockOf(run.clocks[event])),
      content('span.kind', run.kindOf(event)),
      content('span.label', run.nodeOf(event) ?? ''),
      content('span.excerpt', [run.workerOf(event), run.labelOf(event)].filter(Boolean).join(' · ')),
    )
    withAttributes(view, {
      role: 'option',
      id: `event-${event}`,
      'aria-setsize': this.count,
      'aria-posinset': row + 1,
      'aria-selected': event === this.current,
    })
    view.dataset.event = event
    if (run.hasFailed(event)) view.classList.add('failed')
    if (run.failureTimes.has(event + run.first)) view.classList.add('unsound')
    return view
  }

  #clicked(target) {
    const row = target.closest('.event')
    if (row) this.pick(Number(row.dataset.event))
  }

  setCurrent(event) {
    this.current = event
    this.reveal(event)
    this.#mark()
  }

  #mark() {
    for (const row of this.#drawn.values()) {
      const isSelected = String(Number(row.dataset.event) === this.current)
      if (row.getAttribute('aria-selected') !== isSelected) row.setAttribute('aria-selected', isSelected)
    }
    if (document.getElementById(`event-${this.current}`))
      this.element.setAttribute('aria-activedescendant', `event-${this.current}`)
    else this.element.removeAttribute('aria-activedescendant')
  }

  /** Scrolls an event into the window of the list. */
  reveal(event) {
    this.#size()
    const at = (this.rowOf(event) * ROW) / this.#scale
    const { scrollTop, clientHeight } = this.element
    if (at < scrollTop || at + ROW > scrollTop + clientHeight) this.element.scrollTop = at - clientHeight / 2
    this.draw()
  }

  /** The shown event that is `by` rows away from the current one. */
  neighbour(by) {
    const row = Math.min(Math.max(this.rowOf(this.current ?? 0) + by, 0), this.count - 1)
    return this.count === 0 ? this.current : this.eventAt(row)
  }
}

/** The first index whose number is not smaller than `bound`. */
function lowerBound(numbers, bound) {
  let [from, to] = [0, numbers.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if (numbers[middle] < bound) from = middle + 1
    else to = middle
  }
  return from
}
