// Rows: a record of the session, or a damaged line.

import { Component, h } from 'preact'
import { EDITS, FLAGS, blocksOf, itemsOf } from '../../session/items.js'
import { removalWord } from '../../session/note-text.js'
import { box, button, content, details, el, elWith, node } from '../dom.mjs'
import { List } from '../list.mjs'
import { cutsBelow, leftOutView, valueView } from '../payload.mjs'
import { clockOf, isoOf, lengthOf } from '../quantities.mjs'
import { redactedNote } from '../shell.mjs'
import { blockView, pairWithin } from './blocks.mjs'
import { damageView, editView, noteView, removalView } from './notes.mjs'
import { SPEAKERS, lineLink, nameOf } from './words.mjs'

/** The lists in the payload of an edit whose cuts are shown. */
const LISTS = /^\/(?:replacements|history|content\/blocks|replacements\/\d+\/replacement\/blocks|history\/\d+\/blocks)$/

export class Rows extends List {
  /** The rows that are shown as their source. */
  #sources = new Set()

  constructor(page) {
    const list = node(elWith('ol.rows', { role: 'list', 'aria-label': 'Conversation' }))
    super(box(el('div.conversation'), list))
    Object.assign(this, { page, list })
    const setCurrent = ({ target }) => {
      const line = target.closest('.line')
      if (line) this.setCurrent(Number(line.dataset.row))
    }
    this.element.addEventListener('click', setCurrent)
    this.element.addEventListener('focusin', ({ target }) => target.matches('.line') && setCurrent({ target }))
  }

  show(rows) {
    this.showIn([[this.list, rows]])
  }

  /** An estimate: longer texts take more room, but calls and notes are folded. */
  cells(rows) {
    return rows.reduce((sum, row) => {
      const { speaker, size } = this.page.rows[row]
      return sum + (speaker === '' || speaker === 'tool' ? 1.6 : Math.min(2 + size / 260, 60))
    }, 0)
  }

  /** Shows a line of the file, or the next one that is a record. */
  jumpToLine(line) {
    const row = this.page.rowOf.get(line) ?? this.page.rows.findIndex((each) => each.line >= line)
    if (row >= 0) this.jump(row, 'start')
  }

  rowView(row) {
    const { page } = this
    const { line, speaker } = page.rows[row]
    const kind = page.has(row, FLAGS.damaged) ? 'damaged' : page.has(row, FLAGS.item) ? 'item' : 'other'
    const classes = [
      Object.hasOwn(SPEAKERS, speaker) ? `.${speaker}` : '',
      page.has(row, FLAGS.failed) ? '.failed' : '',
      page.isGone(row) ? '.gone' : '',
    ]
    const attributes = {
      id: `line-${line}`,
      role: 'listitem',
      tabindex: -1,
      'aria-posinset': row + 1,
      'aria-setsize': page.rows.length,
      'data-row': row,
    }
    return elWith(`li.row.${kind}.line${classes.join('')}`, attributes, this.#gutter(row), this.#body(row))
  }

  #gutter(row) {
    const { line, at, type, gone } = this.page.rows[row]
    const before = row > 0 ? this.page.rows[row - 1].at : null
    const isLater = at !== null && before !== null && at > before
    const hasSource =
      (this.page.has(row, FLAGS.item) || (gone > 0 && EDITS.includes(type))) &&
      this.page.payload(row).excerpt === undefined
    return el(
      'div.gutter',
      elWith('a.number', { href: `#line-${line}`, 'aria-label': `Link to line ${line}` }, line),
      at === null ? null : elWith('time', { datetime: isoOf(at), title: isoOf(at) }, clockOf(at)),
      isLater ? el('span.passed', `+${lengthOf(at - before)}`) : null,
      hasSource ? this.#sourceButton(row) : null,
    )
  }

  /** Switches between the item and the whole record as JSON, in which nothing is left out or interpreted. */
  #sourceButton(row) {
    const toggle = () => {
      if (!this.#sources.delete(row)) this.#sources.add(row)
      this.refresh(row)
    }
    const label = `Source of line ${this.page.rows[row].line}`
    return button('.source', toggle, { 'aria-label': label, 'aria-pressed': String(this.#sources.has(row)) }, 'Source')
  }

  #body(row) {
    const { page } = this
    const { line, speaker } = page.rows[row]
    const payload = page.payload(row)
    const isItem = page.has(row, FLAGS.item)
    const warnings = (page.warningsAt.get(line) ?? []).map((text) =>
      el('p.warning', el('b', 'Warning: '), content('span', text)),
    )
    return el(
      'div.body',
      ...this.#parts(row, payload),
      ...warnings,
      page.redactedAt.has(line) ? redactedNote(page.redactedAt.get(line)) : null,
      page.isServed && payload.cuts.length > 0 ? h(WholeButton, { list: this, row }) : null,
      speaker !== '' && !isItem ? el('p.warning', 'It is no item of the history.') : null,
    )
  }

  #parts(row, payload) {
    const { page } = this
    const { type } = page.rows[row]
    if (payload.excerpt !== undefined) return this.#excerpt(row, payload.excerpt)
    if (page.has(row, FLAGS.damaged)) return [damageView(page, row, payload)]
    if (EDITS.includes(type)) return this.#edit(row, payload)
    if (page.has(row, FLAGS.item)) return this.#item(row, payload)
    return [type === 'rewind' ? removalView(page, row) : noteView(page, row, payload)]
  }

  /** The name of a speaker, and where the item of the row went. */
  #who(row, speaker, what = null) {
    const { removedBy } = this.page.rows[row]
    const label = this.page.has(row, FLAGS.item) && removedBy > 0 ? this.#goneLabel(removedBy) : null
    return el('p.who', content('b', nameOf(speaker)), what === null ? null : el('span.note', ` ${what}`), label)
  }

  #goneLabel(by) {
    const what = removalWord(this.page.rows[this.page.rowOf.get(by)]?.type ?? 'compressed')
    return el('span.gone-label', `not in the history: ${what} at `, lineLink(by))
  }

  /** Shows the beginning of a record until the server has sent all of it. */
  #excerpt(row, excerpt) {
    const { type, speaker } = this.page.rows[row]
    if (this.page.isServed)
      this.page.readAround(row).then((rows) => {
        for (const each of rows) this.refresh(each)
      })
    return [this.#who(row, speaker || type), content('p.excerpt', `${excerpt} …`)]
  }

  #item(row, { value, cuts, images }) {
    const { type, speaker, line } = this.page.rows[row]
    const { item, path } = itemsOf(type, value)[0] ?? { item: {}, path: '' }
    const who = this.#who(row, speaker)
    if (this.#sources.has(row)) return [who, valueView(value, cuts)]
    const removal = type === 'compressed' ? removalView(this.page, row) : null
    if (!Array.isArray(item.blocks)) return [who, removal, valueView(item, cutsBelow(cuts, path))]
    const cut = cuts.find((each) => each.path === `${path}/blocks`)
    const { metadata } = item
    const hasMetadata = typeof metadata === 'object' && metadata !== null && Object.keys(metadata).length > 0
    return [
      who,
      removal,
      ...this.#blocks(row, item, path, { cuts, images }, 0),
      cut ? leftOutView(cut, 'p') : null,
      hasMetadata
        ? details('.metadata', `metadata ${line}`, ['Metadata'], () =>
            valueView(metadata, cutsBelow(cuts, `${path}/metadata`)),
          )
        : null,
    ]
  }

  /** @param first the number of blocks in the items of the row before this one */
  #blocks(row, item, path, { cuts, images }, first) {
    const { line } = this.page.rows[row]
    return blocksOf(item).map((block, at) => {
      const place = `${path}/blocks/${at}`
      return blockView(block, {
        page: this.page,
        line,
        index: first + at,
        cuts: cutsBelow(cuts, place),
        image: images[place],
      })
    })
  }

  /** Shows what an edit did, and the items that it brought. */
  #edit(row, payload) {
    const { page } = this
    const { value, cuts } = payload
    const { type, gone } = page.rows[row]
    if (!page.has(row, FLAGS.item) && gone === 0) return [noteView(page, row, payload)]
    if (this.#sources.has(row)) return [editView(page, row, payload), valueView(value, cuts)]
    const items = itemsOf(type, value)
    // Calls and responses of an item that was inserted are among those of the conversation.
    if (type !== 'synthetic_insert') pairWithin(items, cuts)
    let first = 0
    const views = items.flatMap(({ item, path, what }) => {
      const blocks = this.#blocks(row, item, path, payload, first)
      first += blocks.length
      return [this.#who(row, typeof item.speaker === 'string' ? item.speaker : '', what), ...blocks]
    })
    const lists = cuts.filter(({ path, what }) => what === 'items' && LISTS.test(path))
    return [editView(page, row, payload), ...views, ...lists.map((cut) => leftOutView(cut, 'p'))]
  }
}

/** Asks the server for a record of which the page has only parts. */
class WholeButton extends Component {
  render({ list, row }, { hasFailed, disabled }) {
    if (hasFailed) return el('p.warning', 'The record could not be read.')
    const show = () => {
      this.setState({ disabled: true })
      list.page.readWhole(row).then(
        () => list.refresh(row),
        () => this.setState({ hasFailed: true }),
      )
    }
    return button('.whole', show, { disabled }, 'Show the whole record')
  }
}
