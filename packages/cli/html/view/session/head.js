// The top of the page: facts about the session, whether it is sound, and its totals.

const MAX_WARNINGS = 100

function headView(page) {
  const facts = el(
    'dl.facts-list',
    ...page.facts.map(([name, value]) => el('div', el('dt', name), content('dd', value))),
  )
  const about = el(
    'div.about',
    content('h1', page.title),
    content('p.given', page.given),
    verdictView(page),
    facts,
    page.seal && sealView(page.seal),
    checkpointsView(page),
  )
  if (page.leftOut > 0) about.append(el('p.note', `The first ${counted(page.leftOut, 'record')} are not in this page.`))
  if (page.excerptsBefore > 1 && !page.served)
    about.append(
      el(
        'p.note',
        `Before line ${NUMBERS.format(page.excerptsBefore)} records are shortened to their beginning. `,
        el('code', 'session-tape view --serve'),
        ' shows all of them.',
      ),
    )
  return el('header.top', el('div.summary', about, totalsView(page)))
}

function verdictView(page) {
  const { error, warnings, sequenceCorrupt } = page
  if (error !== null) return el('p.verdict.bad', el('strong', 'It can’t be replayed. '), content('span', error))
  if (warnings.length === 0) return el('p.verdict.good', el('strong', 'Sound. '), 'It replays without a warning.')
  const summary = el(
    'summary',
    el('strong', counted(warnings.length, 'warning')),
    sequenceCorrupt ? ', and its sequence numbers are not in order' : '',
  )
  const list = warnings
    .slice(0, MAX_WARNINGS)
    .map(([line, text]) =>
      el('li', line > 0 ? lineLink(line, `line ${line}`) : '', line > 0 ? ': ' : '', content('span', text)),
    )
  return el('details.verdict.bad', summary, el('ul', ...list))
}

function checkpointsView({ checkpoints }) {
  if (checkpoints.length === 0) return null
  const list = checkpoints
    .slice(0, 40)
    .map(([, name, sequence]) => el('li', content('span', name), el('span.note', ` at seq ${sequence}`)))
  return el(
    'p.checkpoints',
    el('b', 'Checkpoints '),
    el('span', ...list.map((item) => el('span.chip', ...item.childNodes))),
  )
}
