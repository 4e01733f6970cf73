// The timeline: the rows before and after the divergence.

class Timeline extends WindowedList {
  /** @param middle the element at the divergence, between the rows before and after it; null for equal executions */
  constructor(page, middle) {
    const lists = ['Before', 'After'].map(() => withAttributes(el('ol.rows'), { role: 'list' }))
    const labels = page.divergence ? ['Common part, and where they part', 'Behind the divergence'] : ['Timeline', '']
    for (const [at, list] of lists.entries()) list.setAttribute('aria-label', labels[at])
    const canvas = svg('svg', { class: 'rails', 'aria-hidden': 'true' })
    super(el('div.timeline', lists[0], middle, lists[1], canvas), Math.max(page.divergenceRow, 0))
    Object.assign(this, { page, lists, canvas, rows: new Rows(page, (row) => this.jump(row)) })
    this.element.addEventListener('click', ({ target }) => this.#clicked(target))
    new ResizeObserver(() => this.#resized()).observe(this.element)
  }

  get isNarrow() {
    return matchMedia('(max-width: 760px)').matches
  }

  elementOf(row) {
    return this.rows.element(row)
  }

  cells(rows) {
    if (!this.isNarrow) return rows.length
    return rows.reduce((sum, row) => sum + this.rows.height(row), 0)
  }

  isSkipped(row) {
    return this.page.rows[row].kind === 'gap'
  }

  /** Shows the rows with these numbers, in order. */
  show(numbers) {
    // Without a divergence all rows are in the first list; if the divergence is not in the page, all rows are after it.
    const split = this.page.divergence ? numbers.findIndex((row) => row > this.page.divergenceRow) : -1
    const parts = split < 0 ? [numbers, []] : [numbers.slice(0, split), numbers.slice(split)]
    this.wasNarrow = this.isNarrow
    this.showIn(parts.map((part, at) => [this.lists[at], part]))
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
}
