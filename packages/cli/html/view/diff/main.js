// Builds the page.

function divergenceCard(page, jump) {
  const { divergence } = page
  const card = withAttributes(el('section.divergence'), {
    id: 'divergence',
    'aria-labelledby': 'divergence-title',
    tabindex: -1,
  })
  const title = withAttributes(el('h2', 'Here they part'), { id: 'divergence-title' })
  card.append(
    el('header', title, el('p.where', `${page.noun} #${divergence.at}`), el('p.says', divergence.says)),
    el(
      'div.why',
      el('h3', 'Likely cause'),
      el('p.cause', content('strong', divergence.cause)),
      content('p', divergence.because),
    ),
    el('div.what', differences(divergence)),
    el('div.how', el('h3', 'How they came here'), ...chainPart(page, jump), affectedPart(divergence)),
  )
  return card
}

function differences(divergence) {
  const group = el('div.differences', el('h3', 'What differs'))
  if (divergence.fields.length > 0) group.append(...divergence.fields.map(fieldView))
  else group.append(sidesView(divergence))
  if (divergence.fieldsLeft > 0) group.append(el('p.note', `${counted(divergence.fieldsLeft, 'more field')} differ.`))
  return group
}

/** The facts of the events, if there are no fields to compare. */
function sidesView({ sides }) {
  const values = el('div.values')
  for (const name of ['left', 'right']) {
    const side = sides[name]
    if (!side) values.append(el(`p.value.${name}.absent`, 'has ended'))
    else
      values.append(
        el(`dl.value.${name}`, ...side.map(([term, value]) => el('div', content('dt', term), content('dd', value)))),
      )
  }
  return values
}

function chainPart(page, jump) {
  const { chains } = page.divergence
  const edges = [...chains.left.edges, ...chains.right.edges]
  if (edges.length === 0) return [el('p.note', 'Nothing led here: it is the beginning.')]
  const parts = [new ChainView(page, jump).element]
  if (edges.some(({ isRecorded }) => !isRecorded))
    parts.push(
      el(
        'p.legend',
        el('span.dashed'),
        'inferred from the order of the records',
        edges.some(({ isRecorded }) => isRecorded) ? el('span.solid') : null,
        edges.some(({ isRecorded }) => isRecorded) ? 'recorded' : null,
      ),
    )
  else parts.push(el('p.legend', el('span.solid'), 'recorded in the log'))
  if (chains.left.isTruncated || chains.right.isTruncated)
    parts.push(el('p.note', 'The log begins behind a snapshot: what led there is not in it.'))
  return parts
}

function affectedPart({ affected, affectedLeft }) {
  if (affected.length === 0) return null
  const list = el('ul.nodes', ...affected.slice(0, 40).map((node) => content('li', node)))
  const left = affected.length - 40 + affectedLeft
  return el(
    'div.affected',
    el('h3', affected.length === 1 ? 'Affected node' : 'Affected nodes'),
    list,
    left > 0 ? el('p.note', `and ${left.toLocaleString('en-US')} more`) : null,
  )
}

function keysLegend() {
  const key = (name, does) => el('span', el('kbd', name), ` ${does}`)
  return el(
    'p.keys',
    el('span', el('kbd', 'j'), ' ', el('kbd', 'k'), ' next, previous'),
    key('Enter', 'open'),
    key('d', 'to the divergence'),
    key('/', 'filter'),
    key('Esc', 'all events'),
  )
}

function start() {
  const page = readPage()
  document.body.dataset.kind = page.kind
  page.chainRows = new Set(page.divergence ? [0, 1].flatMap((side) => chainRows(page, side).map(({ row }) => row)) : [])
  // The card is created before the timeline to which it links.
  let timeline
  const middle = page.divergence ? divergenceCard(page, (row) => timeline.jump(row)) : null
  timeline = new Timeline(page, middle)
  const search = new Search(page, timeline)
  const overview = new Overview(page, timeline)
  const toDivergence = () => {
    if (page.divergenceRow < 0) return timeline.jump(0)
    if (!timeline.has(page.divergenceRow)) search.clear()
    timeline.jump(page.divergenceRow, 'start')
  }
  const back = page.divergence ? button('.back', null, toDivergence, 'To the divergence') : null
  const bar = el('div.bar', el('div.tools', search.element, back), overview.map)
  const title = content('h1', page.title)
  const summary = el(
    'div.summary',
    el('div.title', title, headline(page)),
    el('div.sides', sideCard(page, 0), sideCard(page, 1)),
  )
  const columns = withAttributes(
    el(
      'div.columns',
      ...page.sides.map(({ name, Name }, side) =>
        el(`span.${name}`, el('b', Name), ' ', content('span', page.named(side))),
      ),
    ),
    { 'aria-hidden': 'true' },
  )
  bar.append(columns)
  document.body.append(
    el('header.top', summary),
    bar,
    withAttributes(el('main', timeline.element), { 'aria-label': 'Timeline' }),
    el('footer', keysLegend()),
  )
  begin(page, timeline, search, overview, toDivergence)
}

function begin(page, timeline, search, overview, toDivergence) {
  let isDrawing = false
  timeline.onChange = () => {
    if (isDrawing) return
    isDrawing = true
    requestAnimationFrame(() => {
      isDrawing = false
      drawRails(page, timeline)
      overview.update()
    })
  }
  timeline.onMissing = () => search.clear()
  search.apply()
  listenToKeys(timeline, search, { d: toDivergence })
  printWell(timeline, { centre: () => page.divergenceRow, around: 'the divergence' })
  // The page opens at the divergence, also after a reload.
  history.scrollRestoration = 'manual'
  if (page.divergenceRow >= 0) openAtDivergence(page, timeline)
}

/** Scrolls to the divergence, with some common rows above it. */
function openAtDivergence(page, timeline) {
  const line = timeline.lineOf(page.divergenceRow)
  if (line.getBoundingClientRect().bottom > innerHeight * 0.6) line.scrollIntoView({ block: 'start' })
}

withIslands(start)
