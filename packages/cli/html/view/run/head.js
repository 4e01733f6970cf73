// The top of the page: facts about the run, whether it is sound, and its totals.

const MAX_TOOLS = 10

function headView(run, bars, pick) {
  const facts = [
    ...run.facts,
    ['Events', NUMBERS.format(run.length)],
    ['Nodes', NUMBERS.format(run.nodes.length)],
    ...taskFacts(taskTotals(run, bars)),
  ]
  const list = el('dl.facts-list', ...facts.map(([name, value]) => el('div', el('dt', name), content('dd', value))))
  const about = el(
    'div.about',
    content('h1', run.title),
    content('p.given', run.given),
    list,
    run.seal && sealView(run.seal),
  )
  if (run.first > 0) about.append(el('p.note', `It begins at ${run.nameOf(0)}, behind a snapshot.`))
  return el(
    'header.top',
    el('div.summary', about, el('div.totals', verdictView(run, pick), toolsTable(toolTotals(run)))),
  )
}

function taskFacts({ all, failed, rejected, retries, moved }) {
  const facts = [
    ['Tasks', all],
    ['Failed', failed],
    ['Retries', retries],
    ['Rejected', rejected],
    ['Reassigned', moved],
  ]
  return facts
    .filter(([name, count]) => name === 'Tasks' || count > 0)
    .map(([name, count]) => [name, NUMBERS.format(count)])
}

function toolsTable(tools) {
  if (tools.length === 0) return el('section.total', el('h2', 'Tools'), el('p.note', 'No tool was called.'))
  const rows = tools.slice(0, MAX_TOOLS).map(({ name, calls, failures, ms, longest }) => {
    const cells = [
      NUMBERS.format(calls),
      failures === 0 ? '–' : NUMBERS.format(failures),
      lengthOf(ms),
      lengthOf(longest),
    ]
    return el('tr', withAttributes(content('th', name), { scope: 'row' }), ...cells.map((cell) => el('td', cell)))
  })
  const head = el(
    'tr',
    ...['Tool', 'Calls', 'Failed', 'Time', 'Longest'].map((name) => withAttributes(el('th', name), { scope: 'col' })),
  )
  const more = tools.length > MAX_TOOLS ? el('p.note', `and ${counted(tools.length - MAX_TOOLS, 'more tool')}`) : null
  return el('section.total', el('h2', 'Tools'), el('table', el('thead', head), el('tbody', ...rows)), more)
}
