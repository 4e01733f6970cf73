// The timeline: rows with an event of each side, before and after the divergence, with details when opened.

import { Component, h } from 'preact'
import { count, plural } from '../../../quantities.js'
import { button, content, el, elWith, node } from '../dom.mjs'
import { List } from '../list.mjs'
import { payloadView } from '../payload.mjs'
import { fieldView } from './fields.mjs'

const STATES = {
  same: 'equal on both sides',
  apart: 'not compared',
  divergence: 'here they part',
  left: 'only on the left',
  right: 'only on the right',
  change: 'differs',
  after: 'behind the divergence',
}

export class Timeline extends List {
  #isOpen = new Set()

  /** @param middle the element at the divergence, between the rows before and after it; null for equal executions */
  constructor(page, middle) {
    super(node(el('div.timeline')))
    const labels = page.divergence ? ['Common part, and where they part', 'Behind the divergence'] : ['Timeline', '']
    this.lists = labels.map((label) => node(elWith('ol.rows', { role: 'list', 'aria-label': label })))
    this.canvas = node(elWith('svg.rails', { 'aria-hidden': 'true' }))
    this.element.append(this.lists[0], ...(middle ? [middle] : []), this.lists[1], this.canvas)
    Object.assign(this, { page, current: Math.max(page.divergenceRow, 0) })
    this.element.addEventListener('click', ({ target }) => this.#clicked(target))
    new ResizeObserver(() => this.#resized()).observe(this.element)
  }

  /** The number of stacked cells of rows: in a narrow window there is a single column. */
  cells(rows) {
    this.wasNarrow = this.#isNarrow
    if (!this.wasNarrow) return rows.length
    return rows.reduce((sum, row) => {
      const { kind, events } = this.page.rows[row]
      return sum + (kind === 'gap' || kind === 'same' ? 1 : events.filter(Boolean).length)
    }, 0)
  }

  get #isNarrow() {
    return matchMedia('(max-width: 760px)').matches
  }

  isSkipped(row) {
    return this.page.rows[row].kind === 'gap'
  }

  /** Shows the rows with these numbers, in order. */
  show(numbers) {
    // Without a divergence all rows are in the first list; if the divergence is not in the page, all rows are after it.
    const split = this.page.divergence ? numbers.findIndex((row) => row > this.page.divergenceRow) : -1
    const parts = split < 0 ? [numbers, []] : [numbers.slice(0, split), numbers.slice(split)]
    this.showIn(parts.map((part, at) => [this.lists[at], part]))
  }

  #clicked(target) {
    const line = target.closest('.line')
    if (!line) return
    const row = Number(line.dataset.row)
    this.setCurrent(row)
    if (!this.#isOpen.delete(row)) this.#isOpen.add(row)
    this.refresh(row)
  }

  #resized() {
    // Estimated heights change with the width.
    if (this.wasNarrow !== undefined && this.wasNarrow !== this.#isNarrow) this.show(this.shown)
    else this.onChange()
  }

  rowView(row) {
    const { page } = this
    const { kind, at } = page.rows[row]
    const attributes = {
      id: `row-${row}`,
      role: 'listitem',
      'aria-posinset': row + 1,
      'aria-setsize': page.rows.length,
    }
    if (kind === 'gap') return elWith('li.row.gap', attributes, gapView(at))
    return elWith(
      `li.row.${kind}${page.isAffected(row) ? '.affected' : ''}`,
      attributes,
      this.#line(row),
      this.#isOpen.has(row) ? this.#detail(row) : null,
    )
  }

  #line(row) {
    const { kind, events } = this.page.rows[row]
    const isOpen = this.#isOpen.has(row)
    const says = `, ${STATES[kind]}${this.page.isAffected(row) ? ', of an affected node' : ''}, `
    const [left, right] = events.map((event, side) => cellView(event, this.page.sides[side].name))
    const attributes = {
      type: 'button',
      tabindex: -1,
      'aria-expanded': String(isOpen),
      'aria-controls': isOpen ? `detail-${row}` : undefined,
      title: kind === 'apart' ? 'Not compared: whether a side has it makes no difference' : undefined,
      'data-row': row,
    }
    return elWith('button.line', attributes, left, el('span.spine', el('span.unseen', says)), right)
  }

  #detail(row) {
    const { sides, rows, changes } = this.page
    const { at } = rows[row]
    const fields = changes[row]
    const [left, right] = at.map((index, side) => (index < 0 ? null : sides[side].payloadText(index)))
    const isShared = left === right && left !== 'null'
    const halves = isShared
      ? [this.#half('both', 'Both, with the same payload', sides, row)]
      : sides.map((side, index) => (at[index] >= 0 ? this.#half(side.name, side.Name, [side], row) : null))
    return elWith(
      `div.detail${isShared ? '.shared' : ''}`,
      { id: `detail-${row}` },
      fields ? el('div.changed', ...fields.map(fieldView)) : null,
      ...halves,
    )
  }

  #half(name, title, shown, row) {
    const { sides, rows } = this.page
    const first = sides.indexOf(shown[0])
    const payload = shown[0].payload(rows[row].at[first])
    return elWith(
      `section.half.${name}`,
      { 'aria-label': title },
      el('h4', title),
      ...shown.map((side) => this.#facts(side, rows[row].events[sides.indexOf(side)])),
      payload === null
        ? el('p.note', 'The payload is left out of this page, which would be too large with it.')
        : h(Payload, { payload }),
    )
  }

  #facts({ rowOf }, { place, ts, node: of, parent }) {
    const row = rowOf.get(parent)
    const text = `caused by #${parent}`
    const cause = row === undefined ? el('span', text) : button('.link', () => this.jump(row), {}, text)
    return el(
      'p.facts',
      content('span', `#${place}`),
      ts ? content('time', ts) : null,
      of ? content('span', of) : null,
      parent === null ? null : cause,
    )
  }
}

/** A payload, which can be shown as exact JSON if it has texts with several lines. */
class Payload extends Component {
  render({ payload }, { isPlain = false }) {
    const hasLines = JSON.stringify(payload[0]).includes('\\n')
    const toggle = () => this.setState({ isPlain: !isPlain })
    return el(
      'div.payload',
      hasLines ? button('.toggle', toggle, { 'aria-pressed': String(isPlain) }, 'Exact JSON') : null,
      payloadView(payload, isPlain),
    )
  }
}

function cellView(event, name) {
  if (!event) return el(`span.cell.${name}`)
  return el(
    `span.cell.${name}${event.hasFailed ? '.failed' : ''}`,
    content('span.kind', event.kind, { title: event.kind }),
    content('span.label', event.label),
    content('span.excerpt', event.excerpt),
    el('span.number', event.place),
  )
}

function gapView([left, right]) {
  const each = `${plural(left, 'event')} of ${left === right ? 'each side' : `the left and ${count(right)} of the right`}`
  return el('p', `${each} are not in this page`)
}
