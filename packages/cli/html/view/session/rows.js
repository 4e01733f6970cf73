// Rows: a record of the session, or a damaged line.

const SPEAKERS = { human: 'Human', ai: 'AI', tool: 'Tool' }
const nameOf = (speaker) => (Object.hasOwn(SPEAKERS, speaker) ? SPEAKERS[speaker] : speaker)
const REMOVERS = ['compressed', 'rewind', ...EDITS]

class Rows extends WindowedList {
  constructor(page) {
    const list = withAttributes(el('ol.rows'), { role: 'list', 'aria-label': 'Conversation' })
    super(el('div.conversation', list), 0)
    this.page = page
    this.list = list
    /** The rows that are shown as their source. */
    this.sources = new Set()
    this.element.addEventListener('click', ({ target }) => this.#clicked(target))
    this.element.addEventListener('focusin', ({ target }) => {
      if (target.matches('.line')) this.setCurrent(Number(target.dataset.row))
    })
  }

  show(rows) {
    this.showIn([[this.list, rows]])
  }

  /** An estimate: longer texts take more room, but calls and notes are folded. */
  cells(rows) {
    return rows.reduce((sum, row) => sum + this.#cellsOf(row), 0)
  }

  #cellsOf(row) {
    const { speaker, size } = this.page.rows[row]
    if (speaker === '' || speaker === 'tool') return 1.6
    return Math.min(2 + size / 260, 60)
  }

  elementOf(row) {
    const { page } = this
    const { line, speaker, flags } = page.rows[row]
    const kind = flags & DAMAGED ? 'damaged' : flags & ITEM ? 'item' : 'other'
    const item = withAttributes(el(`li.row.${kind}.line`, this.#gutter(row), this.#body(row)), {
      id: `line-${line}`,
      role: 'listitem',
      tabindex: -1,
      'aria-posinset': row + 1,
      'aria-setsize': page.rows.length,
    })
    item.dataset.row = row
    if (Object.hasOwn(SPEAKERS, speaker)) item.classList.add(speaker)
    if (flags & FAILED) item.classList.add('failed')
    if (flags & ITEM && !(flags & IN_HISTORY)) item.classList.add('gone')
    return item
  }

  #gutter(row) {
    const { line, at, type, gone } = this.page.rows[row]
    const before = row > 0 ? this.page.rows[row - 1].at : null
    const time = at === null ? null : withAttributes(el('time', clockOf(at)), { datetime: isoOf(at), title: isoOf(at) })
    const passed =
      at === null || before === null || at <= before ? null : el('span.passed', `+${lengthOf(at - before)}`)
    const number = withAttributes(el('a.number', String(line)), {
      href: `#line-${line}`,
      'aria-label': `Link to line ${line}`,
    })
    const hasSource = (this.page.has(row, ITEM) || (gone > 0 && EDITS.includes(type))) && !this.page.isExcerpt(row)
    return el('div.gutter', number, time, passed, hasSource ? this.#sourceButton(row) : null)
  }

  /** Switches between the item and the whole record as JSON, in which nothing is left out or interpreted. */
  #sourceButton(row) {
    const { line } = this.page.rows[row]
    const toggle = button(
      '.source',
      `Source of line ${line}`,
      () => {
        if (!this.sources.delete(row)) this.sources.add(row)
        this.refresh(row)
        document.querySelector(`#line-${line} .source`)?.focus()
      },
      'Source',
    )
    return withAttributes(toggle, { 'aria-pressed': this.sources.has(row) })
  }

  #body(row) {
    const { page } = this
    const { line, type, speaker, flags, removedBy: by } = page.rows[row]
    const payload = page.payload(row)
    const body = el('div.body')
    if (payload.excerpt !== undefined) this.#appendExcerpt(body, row, payload.excerpt)
    else if (flags & DAMAGED) body.append(damageView(page, row, payload))
    else if (EDITS.includes(type)) this.#appendEdit(body, row, payload)
    else if (flags & ITEM) this.#appendItem(body, row, payload)
    else if (type === 'rewind') body.append(removalView(page, row))
    else body.append(noteView(page, row, payload))
    for (const text of page.warningsAt.get(line) ?? [])
      body.append(el('p.warning', el('b', 'Warning: '), content('span', text)))
    if (page.redactedAt.has(line)) body.append(redactedNote(page.redactedAt.get(line)))
    if (flags & ITEM && by > 0) for (const who of body.querySelectorAll('.who')) who.append(goneLabel(page, by))
    if (page.served && payload.cuts.length > 0) body.append(this.#wholeButton(row))
    if (speaker !== '' && !(flags & ITEM)) body.append(el('p.warning', 'It is no item of the history.'))
    return body
  }

  /** Shows the beginning of a record until the server has sent all of it. */
  #appendExcerpt(body, row, excerpt) {
    const { type, speaker } = this.page.rows[row]
    body.append(el('p.who', content('b', nameOf(speaker || type))), content('p.excerpt', `${excerpt} …`))
    if (this.page.served) requestPayload(this.page, row, (rows) => rows.forEach((each) => this.refresh(each)))
  }

  #appendItem(body, row, payload) {
    const { page } = this
    const { type, speaker } = page.rows[row]
    const { item, path } = itemsOf(type, payload.value)[0] ?? { item: {}, path: '' }
    body.append(el('p.who', content('b', nameOf(speaker))))
    if (this.sources.has(row)) return body.append(valueView(payload.value, payload.cuts))
    if (type === 'compressed') body.append(removalView(page, row))
    if (!Array.isArray(item.blocks)) return body.append(valueView(item, cutsBelow(payload.cuts, path)))
    for (const [index, block] of item.blocks.entries()) {
      const place = `${path}/blocks/${index}`
      body.append(blockView(page, row, index, block, cutsBelow(payload.cuts, place), payload.images[place]))
    }
    const cut = payload.cuts.find((each) => each.path === `${path}/blocks`)
    if (cut) body.append(el('p.left-out', leftOut(cut)))
    this.#appendMetadata(body, row, item, cutsBelow(payload.cuts, `${path}/metadata`))
  }

  /** Shows what an edit did, and the items that it brought. */
  #appendEdit(body, row, payload) {
    const { page } = this
    const { type, gone } = page.rows[row]
    if (!page.has(row, ITEM) && gone === 0) return body.append(noteView(page, row, payload))
    body.append(editView(page, row, payload))
    if (this.sources.has(row)) return body.append(valueView(payload.value, payload.cuts))
    const items = itemsOf(type, payload.value)
    // Calls and responses of an item that was inserted are among those of the conversation.
    if (type !== 'synthetic_insert') pairWithin(items, payload.cuts)
    let block = 0
    for (const { item, path, what } of items) {
      body.append(
        el(
          'p.who',
          content('b', nameOf(typeof item.speaker === 'string' ? item.speaker : '')),
          el('span.note', ` ${what}`),
        ),
      )
      for (const [index, each] of blocksOf(item).entries()) {
        const place = `${path}/blocks/${index}`
        body.append(blockView(page, row, block++, each, cutsBelow(payload.cuts, place), payload.images[place]))
      }
    }
    const lists = payload.cuts.filter(
      ({ path, what }) =>
        what === 'items' &&
        /^\/(?:replacements|history|content\/blocks|replacements\/\d+\/replacement\/blocks|history\/\d+\/blocks)$/.test(
          path,
        ),
    )
    for (const cut of lists) body.append(el('p.left-out', leftOut(cut)))
  }

  #appendMetadata(body, row, { metadata }, cuts) {
    if (typeof metadata !== 'object' || metadata === null || Object.keys(metadata).length === 0) return
    const view = details(`metadata ${this.page.rows[row].line}`, el('summary', 'Metadata'), () => [
      valueView(metadata, cuts),
    ])
    view.classList.add('metadata')
    body.append(view)
  }

  #wholeButton(row) {
    const show = button(
      '.whole',
      null,
      async () => {
        show.disabled = true
        const parts = await wholePayload(this.page, row).catch(() => null)
        if (parts === null) return show.replaceWith(el('p.warning', 'The record could not be read.'))
        this.page.setWhole(row, parts)
        this.refresh(row)
      },
      'Show the whole record',
    )
    return show
  }

  #clicked(target) {
    const line = target.closest('.line')
    if (line) this.setCurrent(Number(line.dataset.row))
  }

  /** Shows a line of the file, or the next one that is a record. */
  jumpToLine(line) {
    const row = this.page.rowOf.get(line) ?? this.page.rows.findIndex((each) => each.line >= line)
    if (row >= 0) this.jump(row, 'start')
  }
}

function goneLabel(page, by) {
  const row = page.rowOf.get(by)
  const what = removalWord(row === undefined ? 'compressed' : page.rows[row].type)
  return el('span.gone-label', `not in the history: ${what} at `, lineLink(by, `line ${by}`))
}
