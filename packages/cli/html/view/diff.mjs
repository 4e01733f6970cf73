// Builds the page of two executions that are compared.

import { divergenceCard, headView } from './diff/head.mjs'
import { drawRails } from './diff/chain.mjs'
import { pageOf } from './diff/model.mjs'
import { Timeline } from './diff/timeline.mjs'
import { button, content, el, elWith, nodesOf } from './dom.mjs'
import { withIslands } from './islands.mjs'
import { listenToKeys } from './list.mjs'
import { Search, namedChoices } from './search.mjs'
import { showPage } from './shell.mjs'
import { ListMap, WIDTH, rect } from './time.mjs'

const KEYS = [
  ['j k', 'next, previous'],
  ['Enter', 'open'],
  ['d', 'to the divergence'],
  ['/', 'filter'],
  ['Esc', 'all events'],
]
const HEIGHT = 22
const DIFFERENT = ['divergence', 'left', 'right', 'change', 'after']

function start(data) {
  const page = pageOf(data)
  document.body.dataset.kind = page.kind
  // The card is created before the timeline to which it links.
  let timeline
  const middle = page.divergence ? divergenceCard(page, (row) => timeline.jump(row)) : null
  timeline = new Timeline(page, middle)
  const search = new Search(timeline, filtersOf(page))
  const map = mapOf(page, timeline)
  const toDivergence = () => timeline.jump(Math.max(page.divergenceRow, 0), page.divergenceRow < 0 ? 'center' : 'start')
  showPage(page, {
    head: nodesOf(headView(page)),
    tools: [
      search.element,
      ...(page.divergence ? nodesOf(button('.back', toDivergence, {}, 'To the divergence')) : []),
    ],
    bar: [map.element, ...nodesOf(columnNames(page))],
    label: 'Timeline',
    main: [timeline.element],
    keys: KEYS,
  })
  timeline.onChange = () => {
    timeline.drawing ??= requestAnimationFrame(() => {
      timeline.drawing = null
      drawRails(page, timeline)
      map.update()
    })
  }
  timeline.onMissing = () => search.clear()
  search.apply()
  listenToKeys(timeline, search, { d: toDivergence })
  timeline.printAround({ centre: () => page.divergenceRow, around: 'the divergence' })
  openAtDivergence(page, timeline)
}

/** Scrolls to the divergence, with some common rows above it, also after a reload. */
function openAtDivergence({ divergenceRow }, timeline) {
  const line = timeline.lineOf(divergenceRow)
  if (line && line.getBoundingClientRect().bottom > innerHeight * 0.6) line.scrollIntoView({ block: 'start' })
}

function columnNames({ sides }) {
  const names = sides.map(({ name, Name, title }) => el(`span.${name}`, el('b', Name), ' ', content('span', title)))
  return elWith('div.columns', { 'aria-hidden': 'true' }, ...names)
}

/** Filters by text, by what one looks for, and by kind. */
function filtersOf({ rows, sides, divergence, chains, isAffected }) {
  const some = (row, test) => rows[row].events.some((event) => event && test(event))
  const chain = new Set(chains.flat().map(({ row }) => row))
  const sorts = [
    ['sort different', 'Where they differ', (row) => DIFFERENT.includes(rows[row].kind)],
    ['sort chain', 'The causal chain', (row) => chain.has(row)],
    ['sort affected', 'Affected nodes', isAffected],
  ]
  const failures = ['sort failed', 'Failures', (row) => some(row, ({ hasFailed }) => hasFailed)]
  const kinds = [...new Set(sides.flatMap(({ events }) => events.map(({ kind }) => kind)))].sort()
  const ofKind = namedChoices('kind', kinds.slice(0, 100), (row, kind) => some(row, (event) => event.kind === kind))
  const choices = [['sort all', 'All events'], ...(divergence ? sorts : []), failures]
  return {
    count: rows.length,
    placeholder: 'Filter events',
    label: 'Filter events by text',
    selects: [{ label: 'Which events', choices, group: { label: 'Of one kind', choices: ofKind } }],
    textsOf: (row) => {
      const events = rows[row].events.filter(Boolean)
      const words = events.map(({ kind, label, excerpt, node, place }) =>
        [kind, label, excerpt, node ?? '', `#${place}`].join(' '),
      )
      const payloads = rows[row].at.map((index, side) => (index < 0 ? '' : sides[side].payloadText(index)))
      return [words.join('\n'), payloads]
    },
  }
}

/** A map of the whole timeline. */
function mapOf({ rows, sides, divergenceRow }, timeline) {
  const { length } = rows
  const scale = {
    startOf: (row) => row / Math.max(length, 1),
    endOf: (row) => (row + 1) / Math.max(length, 1),
    rowAt: (position) => Math.floor(position * length),
  }
  const hasParted = divergenceRow >= 0
  const start = hasParted ? scale.startOf(divergenceRow) * WIDTH : WIDTH
  const bands = sides.map(({ name }, side) => {
    const goesOn = hasParted && rows.slice(divergenceRow).some(({ events }) => events[side])
    return goesOn ? rect(`band ${name}`, start, 5 + side * 6.5, WIDTH - start, 5.5) : null
  })
  const failures = new Set()
  for (const [row, { events }] of rows.entries())
    if (events.some((event) => event?.hasFailed)) failures.add(Math.round((row / length) * 500) * 2)
  return new ListMap(timeline, '', HEIGHT, scale, [
    rect('band common', 0, 5, start, 12),
    ...bands,
    ...[...failures].map((x) => rect('failure', x, 2, 1.5, 18)),
    hasParted ? rect('parting', start - 1, 0, 2.5, HEIGHT) : null,
  ])
}

withIslands(start)
