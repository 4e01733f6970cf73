// Totals: turns, tools with failures and durations, sizes.

const MAX_TOOLS = 12

function totalsView({ totals, rows }) {
  const speakers = totals.speakers.filter(({ turns }) => turns > 0)
  const types = totals.types.filter(({ name }) => name !== 'content')
  return el('div.totals', speakersTable(speakers), toolsTable(totals.tools), typesList(types, totals, rows))
}

function speakersTable(speakers) {
  const rows = speakers.map(({ name, turns, bytes, ms }) => [
    nameOf(name),
    turns.toLocaleString('en-US'),
    name === 'human' ? `waited ${lengthOf(ms)}` : lengthOf(ms),
    fileSize(bytes),
  ])
  return table('Who spoke', ['Speaker', 'Turns', 'Time', 'Size'], rows)
}

function toolsTable(tools) {
  if (tools.length === 0) return el('section.total', el('h3', 'Tools'), el('p.note', 'No tool was called.'))
  const rows = tools
    .slice(0, MAX_TOOLS)
    .map(({ name, calls, failures, open, ms, longest }) => [
      name,
      calls.toLocaleString('en-US'),
      failedText(failures, open),
      lengthOf(ms),
      lengthOf(longest),
    ])
  const view = table('Tools', ['Tool', 'Calls', 'Failed', 'Time', 'Longest'], rows)
  if (tools.length > MAX_TOOLS) view.append(el('p.note', `and ${counted(tools.length - MAX_TOOLS, 'more tool')}`))
  return view
}

const failedText = (failures, open) =>
  [failures > 0 ? failures.toLocaleString('en-US') : '', open > 0 ? `${open.toLocaleString('en-US')} open` : '']
    .filter(Boolean)
    .join(', ') || '–'

function typesList(types, { largest }, rows) {
  const list = el(
    'dl',
    ...types
      .slice(0, 14)
      .map(({ name, count }) => el('div', content('dt', name), el('dd', count.toLocaleString('en-US')))),
  )
  const row = rows.find(({ line }) => line === largest)
  const size = row
    ? el('p.note', 'The largest record is ', lineLink(largest, `line ${largest}`), `, ${fileSize(row.size)}.`)
    : null
  return el('section.total', el('h3', 'Other records'), list, size)
}

function table(title, columns, rows) {
  const head = el('thead', el('tr', ...columns.map((name) => withAttributes(el('th', name), { scope: 'col' }))))
  const body = el(
    'tbody',
    ...rows.map(([first, ...cells]) =>
      el('tr', withAttributes(content('th', first), { scope: 'row' }), ...cells.map((cell) => content('td', cell))),
    ),
  )
  return el('section.total', el('h3', title), el('table', head, body))
}
