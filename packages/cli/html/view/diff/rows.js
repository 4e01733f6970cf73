// Rows of the timeline: an event of each side, with details when opened.

const STATES = {
  same: 'equal on both sides',
  apart: 'not compared',
  divergence: 'here they part',
  left: 'only on the left',
  right: 'only on the right',
  change: 'differs',
  after: 'behind the divergence',
}

class Rows {
  #isOpen = new Set()

  constructor(page, jump) {
    this.page = page
    this.jump = jump
    this.count = page.rows.length
    const affected = new Set(page.divergence?.affected)
    this.isAffected = (row) =>
      row > page.divergenceRow && this.events(row).some((event) => event && affected.has(event.node))
  }

  /** The events of a row; undefined for a side without one. */
  events(row) {
    const { kind, at } = this.page.rows[row]
    return kind === 'gap' ? [] : at.map((index, side) => this.page.sides[side].events[index])
  }

  /** The number of stacked cells in a narrow window with a single column. */
  height(row) {
    const { kind, at } = this.page.rows[row]
    return kind === 'gap' || kind === 'same' ? 1 : at.filter((index) => index >= 0).length
  }

  isOpen(row) {
    return this.#isOpen.has(row)
  }

  element(row) {
    const { kind, at } = this.page.rows[row]
    const item = withAttributes(el(`li.row.${kind}`), {
      id: `row-${row}`,
      'aria-posinset': row + 1,
      'aria-setsize': this.count,
      role: 'listitem',
    })
    if (kind === 'gap') return appendGap(item, at)
    if (this.isAffected(row)) item.classList.add('affected')
    item.append(this.#line(row, kind))
    if (this.isOpen(row)) item.append(this.#detail(row))
    return item
  }

  #line(row, kind) {
    const cells = this.events(row).map((event, side) => cellOf(event, side))
    const spine = el(
      'span.spine',
      el('span.unseen', `, ${STATES[kind]}${this.isAffected(row) ? ', of an affected node' : ''}, `),
    )
    const line = withAttributes(el('button.line', cells[0], spine, cells[1]), {
      type: 'button',
      tabindex: -1,
      'aria-expanded': this.isOpen(row),
      'aria-controls': this.isOpen(row) ? `detail-${row}` : null,
      title: kind === 'apart' ? 'Not compared: whether a side has it makes no difference' : null,
    })
    line.dataset.row = row
    return line
  }

  /** Opens or closes a row, which must be in the document. */
  toggle(row, item) {
    const opens = !this.#isOpen.delete(row)
    if (opens) this.#isOpen.add(row)
    const line = item.querySelector('.line')
    line.setAttribute('aria-expanded', String(opens))
    if (opens) line.setAttribute('aria-controls', `detail-${row}`)
    else line.removeAttribute('aria-controls')
    item.querySelector('.detail')?.remove()
    if (opens) item.append(this.#detail(row))
  }

  #detail(row) {
    const { page } = this
    const { at } = page.rows[row]
    const detail = withAttributes(el('div.detail'), { id: `detail-${row}` })
    const fields = page.changes[row]
    if (fields) detail.append(el('div.changed', ...fields.map(fieldView)))
    const [left, right] = at.map((index, side) => (index < 0 ? null : page.sides[side].payloadText(index)))
    if (left === right && left !== 'null') {
      detail.classList.add('shared')
      detail.append(this.#half('both', [0, 1], row))
    } else {
      for (const side of [0, 1]) if (at[side] >= 0) detail.append(this.#half(page.sides[side].name, [side], row))
    }
    return detail
  }

  #half(name, sides, row) {
    const title = name === 'both' ? 'Both, with the same payload' : this.page.sides[sides[0]].Name
    const half = withAttributes(el(`section.half.${name}`), { 'aria-label': title })
    half.append(el('h4', title), ...sides.map((side) => this.#facts(side, row)), this.#payload(sides[0], row))
    return half
  }

  #facts(side, row) {
    const event = this.events(row)[side]
    const facts = el('p.facts', content('span', `#${event.place}`))
    if (event.ts) facts.append(content('time', event.ts))
    if (event.node) facts.append(content('span', event.node))
    if (event.parent !== null) facts.append(this.#cause(side, event.parent))
    return facts
  }

  #cause(side, parent) {
    const row = this.page.rowOf[side].get(parent)
    if (row === undefined) return el('span', `caused by #${parent}`)
    return button('.link', null, () => this.jump(row), `caused by #${parent}`)
  }

  #payload(side, row) {
    const data = this.page.sides[side].payload(this.page.rows[row].at[side])
    if (data === null) return el('p.note', 'The payload is left out of this page, which would be too large with it.')
    const holder = el('div.payload', payloadView(data, false))
    if (!hasLines(data[0])) return holder
    const plain = withAttributes(
      button(
        '.toggle',
        null,
        () => {
          const isPlain = plain.getAttribute('aria-pressed') !== 'true'
          plain.setAttribute('aria-pressed', String(isPlain))
          holder.lastElementChild.replaceWith(payloadView(data, isPlain))
        },
        'Exact JSON',
      ),
      { 'aria-pressed': 'false' },
    )
    holder.prepend(plain)
    return holder
  }
}

const hasLines = (value) => JSON.stringify(value).includes('\\n')

function cellOf(event, side) {
  const cell = el(`span.cell.${side === 0 ? 'left' : 'right'}`)
  if (!event) return cell
  if (event.hasFailed) cell.classList.add('failed')
  const kind = content('span.kind', event.kind)
  kind.title = event.kind
  cell.append(
    kind,
    content('span.label', event.label),
    content('span.excerpt', event.excerpt),
    el('span.number', String(event.place)),
  )
  return cell
}

function appendGap(item, [left, right]) {
  const each =
    left === right
      ? `${counted(left, 'event')} of each side`
      : `${counted(left, 'event')} of the left and ${right.toLocaleString('en-US')} of the right`
  item.append(el('p', `${each} are not in this page`))
  return item
}
