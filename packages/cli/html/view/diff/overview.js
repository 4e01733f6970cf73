// The top of the page: both sides, the result, and a map of the timeline.

function headline(page) {
  const { divergence } = page
  if (!divergence)
    return el(
      'p.verdict.equal',
      el('strong', 'Equal. '),
      'Nothing that matters differs: ids, times and what else identifies an execution aside, these are the same.',
    )
  return el(
    'p.verdict',
    el('strong', `They part at ${page.noun} #${divergence.at}.`),
    ...[divergence.says, el('span.cause', `${divergence.cause}.`), divergence.because].flatMap((part) =>
      part ? [' ', part] : [],
    ),
  )
}

function sideCard(page, side) {
  const { name, Name, given, id, facts, bytes, count, problem, events } = page.sides[side]
  const card = withAttributes(el(`section.side.${name}`), { 'aria-label': Name })
  const list = el('dl')
  const all = [
    [page.kind === 'run' ? 'Events' : 'Records', count.toLocaleString('en-US')],
    ...facts,
    ['Log', fileSize(bytes)],
  ]
  for (const [term, value] of all) list.append(el('div', el('dt', term), content('dd', value)))
  card.append(el('h2', el('span.tag', Name), ' ', content('span.id', id ?? given)), content('p.given', given), list)
  if (events[0]?.place > 0) card.append(el('p.note', `It begins at #${events[0].place}, behind a snapshot.`))
  if (events.length < count)
    card.append(
      el(
        'p.note',
        `${events.length.toLocaleString('en-US')} of them are in this page: the beginning, what is around the divergence, and the end.`,
      ),
    )
  if (problem) card.append(content('p.problem', `Behind #${events.at(-1)?.place} the log can't be read: ${problem}`))
  return card
}

/** A map of the whole timeline, with the position of the window. */
class Overview {
  constructor(page, timeline) {
    this.page = page
    this.timeline = timeline
    this.frame = svg('rect', { class: 'frame', y: 0.5, height: 21, rx: 2 })
    this.map = svg(
      'svg',
      { class: 'map', viewBox: '0 0 1000 22', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
      ...this.#marks(),
      this.frame,
    )
    this.map.addEventListener('click', ({ clientX }) => this.#clicked(clientX))
    addEventListener('scroll', () => this.update(), { passive: true })
  }

  #marks() {
    const { rows, sides, divergenceRow } = this.page
    const wide = 1000 / Math.max(rows.length, 1)
    const start = divergenceRow < 0 ? 1000 : divergenceRow * wide
    const marks = [svg('rect', { class: 'band common', x: 0, y: 5, width: start, height: 12 })]
    for (const side of [0, 1]) {
      const isEnded = !rows.slice(Math.max(divergenceRow, 0)).some(({ at }) => at[side] >= 0)
      if (divergenceRow >= 0 && !isEnded)
        marks.push(
          svg('rect', {
            class: `band ${sides[side].name}`,
            x: start,
            y: 5 + side * 6.5,
            width: 1000 - start,
            height: 5.5,
          }),
        )
    }
    for (const at of failureMarks(this.page))
      marks.push(svg('rect', { class: 'failure', x: at, y: 2, width: 1.5, height: 18 }))
    if (divergenceRow >= 0) marks.push(svg('rect', { class: 'parting', x: start - 1, y: 0, width: 2.5, height: 22 }))
    return marks
  }

  #clicked(clientX) {
    const { left, width } = this.map.getBoundingClientRect()
    const row = Math.floor(((clientX - left) / width) * this.page.rows.length)
    const near = this.timeline.shown.find((shown) => shown >= row && this.page.rows[shown].kind !== 'gap')
    if (near !== undefined) this.timeline.jump(near)
  }

  /** Determines the position by the first and last row in the window. */
  update() {
    const lines = [...this.timeline.element.querySelectorAll('.line')].filter((line) => {
      const { top, bottom } = line.getBoundingClientRect()
      return bottom > 0 && top < innerHeight
    })
    const wide = 1000 / Math.max(this.page.rows.length, 1)
    const [from, to] = lines.length === 0 ? [0, -1] : [lines[0], lines.at(-1)].map((line) => Number(line.dataset.row))
    withAttributes(this.frame, { x: from * wide, width: Math.max((to - from + 1) * wide, lines.length === 0 ? 0 : 6) })
  }
}

/** The distinct positions of failures, in thousandths of the timeline. */
function failureMarks({ rows, sides }) {
  const marks = new Set()
  for (const [index, { kind, at }] of rows.entries()) {
    if (kind !== 'gap' && at.some((event, side) => sides[side].events[event]?.hasFailed))
      marks.add(Math.round((index / rows.length) * 500) * 2)
  }
  return [...marks]
}
