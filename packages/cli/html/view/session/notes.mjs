// Records that are not items: events of the session, edits of the history, and damaged lines.

import { plural } from '../../../quantities.js'
import { FLAGS } from '../../session/items.js'
import { noteText } from '../../session/note-text.js'
import { content, details, el } from '../dom.mjs'
import { briefly, leftOutView, valueView } from '../payload.mjs'
import { lineLink } from './words.mjs'

const textOf = ({ type }, { value, cuts }) =>
  noteText(type, value, briefly, (path) => cuts.find((cut) => cut.path === path)?.left ?? 0)

export function noteView(page, row, payload) {
  const { value, cuts } = payload
  const [name, text] = textOf(page.rows[row], payload)
  const { type, line } = page.rows[row]
  const isSevere = type === 'session_event' && ['warning', 'error'].includes(value?.severity)
  const summary = [
    content('b', name),
    ' ',
    content('span.note-text', briefly(text, 600)),
    page.has(row, FLAGS.withoutEffect) ? el('span.note', ' without effect') : null,
  ]
  return details(`.event${isSevere ? `.${value.severity}` : ''}`, `note ${line}`, summary, () => valueView(value, cuts))
}

export function damageView(page, row, { value: { raw, left } }) {
  if (page.has(row, FLAGS.tooLong)) return el('div.damage', el('b', 'A line that is too long to be shown'))
  const more = left > 0 ? leftOutView({ what: 'text', left }, 'p') : null
  return el('div.damage', el('b', 'Not JSON'), content('pre.raw', raw, { tabindex: 0 }), more)
}

/** Shows what an edit did to the history, with the lines of what it removed. */
export function editView(page, row, payload) {
  const [name, text] = textOf(page.rows[row], payload)
  return el('p.removal', content('b', `${name}: `), content('span', text), ...removedLinks(page, row))
}

/** Shows what a compression or a rewind removed from the history. */
export function removalView(page, row) {
  const { type, gone } = page.rows[row]
  const isRewind = type === 'rewind'
  if (gone === 0)
    return el('p.removal', isRewind ? 'A rewind that removed nothing' : 'A compression of an empty history')
  const items = plural(gone, 'item')
  const text = isRewind ? `Rewound: ${items} left the history` : `Compressed: ${items} became this summary`
  return el('p.removal', el('b', text), ...removedLinks(page, row))
}

/** Links to the rows that a row removed. */
function removedLinks(page, row) {
  const removed = page.removedBy(page.rows[row].line)
  if (removed.length === 0) return []
  const [first, last] = [page.rows[removed[0]].line, page.rows[removed.at(-1)].line]
  const links = first === last ? [lineLink(first)] : ['lines ', lineLink(first, first), ' to ', lineLink(last, last)]
  return [' (', ...links, ')']
}
