// Records that are not items: events of the session, and damaged lines.

function noteView(page, row, { value, cuts }) {
  const { type, line } = page.rows[row]
  const [name, text] = noteText(type, value, briefly, missingFrom(cuts))
  const severity = type === 'session_event' && typeof value?.severity === 'string' ? value.severity : ''
  const summary = el(
    'summary',
    content('b', name),
    ' ',
    content('span.note-text', briefly(text, 600)),
    page.has(row, WITHOUT_EFFECT) ? el('span.note', ' without effect') : null,
  )
  const view = details(`note ${line}`, summary, () => [valueView(value, cuts)])
  view.classList.add('event')
  if (['warning', 'error'].includes(severity)) view.classList.add(severity)
  return view
}

function damageView(page, row, { value }) {
  if (page.has(row, TOO_LONG)) return el('div.damage', el('b', 'A line that is too long to be shown'))
  const { raw, left } = value
  const more = left > 0 ? el('p.left-out', `… ${counted(left, 'character')} left out …`) : null
  return el('div.damage', el('b', 'Not JSON'), withAttributes(content('pre.raw', raw), { tabindex: 0 }), more)
}

/** The number of elements that are missing from the list at a path. */
const missingFrom = (cuts) => (path) => cuts.find((cut) => cut.path === path)?.left ?? 0

/** Shows what an edit did to the history, with the lines of what it removed. */
function editView(page, row, { value, cuts }) {
  const { line, type } = page.rows[row]
  const [name, text] = noteText(type, value, briefly, missingFrom(cuts))
  return el('p.removal', content('b', `${name}: `), content('span', text), ...whereOf(page, removedBy(page, line)))
}

/** Links to the rows that were removed. */
function whereOf(page, removed) {
  if (removed.length === 0) return []
  const [first, last] = [page.rows[removed[0]].line, page.rows[removed.at(-1)].line]
  const where =
    first === last
      ? [lineLink(first, `line ${first}`)]
      : ['lines ', lineLink(first, String(first)), ' to ', lineLink(last, String(last))]
  return [' (', ...where, ')']
}

/** Shows what a compression or a rewind removed from the history. */
function removalView(page, row) {
  const { line, type, gone } = page.rows[row]
  if (gone === 0)
    return el('p.removal', type === 'rewind' ? 'A rewind that removed nothing' : 'A compression of an empty history')
  const items = counted(gone, 'item')
  return el(
    'p.removal',
    el('b', type === 'rewind' ? `Rewound: ${items} left the history` : `Compressed: ${items} became this summary`),
    ...whereOf(page, removedBy(page, line)),
  )
}

/** The rows that a record removed from the history, in order. */
function removedBy(page, line) {
  page.removals ??= new Map()
  if (!page.removals.has(line)) {
    for (const [index, { removedBy: by }] of page.rows.entries()) {
      if (by === 0) continue
      if (!page.removals.has(by)) page.removals.set(by, [])
      const rows = page.removals.get(by)
      if (rows.at(-1) === undefined || rows.at(-1) < index) rows.push(index)
    }
    if (!page.removals.has(line)) page.removals.set(line, [])
  }
  return page.removals.get(line)
}
