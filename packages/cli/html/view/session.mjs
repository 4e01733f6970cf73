// Builds the page of a session.

import { EDITS, FLAGS } from '../session/items.js'
import { nodesOf } from './dom.mjs'
import { fetchJson, withIslands } from './islands.mjs'
import { listenToKeys } from './list.mjs'
import { Search, namedChoices } from './search.mjs'
import { headView } from './session/head.mjs'
import { Conversation } from './session/model.mjs'
import { Rows } from './session/rows.mjs'
import { stripOf } from './session/strip.mjs'
import { SPEAKERS } from './session/words.mjs'
import { showPage } from './shell.mjs'

const KEYS = [
  ['j k', 'next, previous'],
  ['h', 'next in the history'],
  ['e', 'next failure'],
  ['/', 'search'],
  ['Esc', 'all records'],
]
const REMOVERS = ['compressed', 'rewind', ...EDITS]

/** Filters by text, speaker, tool and state. */
function filtersOf(page) {
  const { rows } = page
  const has = (flag) => (row) => page.has(row, flag)
  const states = [
    ['all', 'All records'],
    ['now', 'In the history now', has(FLAGS.inHistory)],
    ['gone', 'Taken away', (row) => page.has(row, FLAGS.item) && rows[row].removedBy > 0],
    ['failed', 'Failures', has(FLAGS.failed)],
    ['wrong', 'Warnings and damage', (row) => page.has(row, FLAGS.damaged) || page.warningsAt.has(rows[row].line)],
    ['removers', 'Compressions, rewinds, edits', (row) => REMOVERS.includes(rows[row].type)],
    ['switches', 'Provider switches', (row) => rows[row].type === 'provider_switch'],
  ]
  const linesOf = new Map()
  for (const { name, line, responseLine } of page.calls)
    linesOf.set(name, (linesOf.get(name) ?? new Set()).add(line).add(responseLine))
  const tools = namedChoices(
    'tool',
    page.totals.tools.map(({ name }) => name),
    (row, name) => linesOf.get(name)?.has(rows[row].line),
  )
  const ask = async (text) => new Set((await fetchJson('search', { text })).map((line) => page.rowOf.get(line)))
  const label = 'Search the conversation'
  return {
    count: rows.length,
    placeholder: label,
    label,
    selects: [
      { label: 'Which tool', choices: [['', 'All tools'], ...tools], isHidden: tools.length === 0 },
      { label: 'Which records', choices: states },
    ],
    boxes: {
      label: 'Speakers',
      choices: [
        ...Object.entries(SPEAKERS).map(([name, text]) => [name, text, (row) => rows[row].speaker === name]),
        ['other', 'Other records', (row) => !Object.hasOwn(SPEAKERS, rows[row].speaker)],
      ],
    },
    textsOf: (row) => ['', [page.payloadText(row)]],
    ...(page.isServed && page.excerptsBefore > 1 && { ask }),
  }
}

function start(data) {
  const page = new Conversation(data)
  const list = new Rows(page)
  const search = new Search(list, filtersOf(page))
  const strip = stripOf(page, list)
  showPage(page, {
    head: nodesOf(headView(page)),
    tools: [search.element],
    bar: [strip.element],
    label: 'Conversation',
    main: [list.element],
    keys: KEYS,
  })
  list.onChange = () => requestAnimationFrame(() => strip.update())
  list.onMissing = () => search.clear()
  search.apply()
  listenToKeys(list, search, {
    h: () => list.toNext((row) => page.has(row, FLAGS.inHistory)),
    e: () => list.toNext((row) => page.has(row, FLAGS.failed)),
  })
  list.printAround({ centre: () => list.current, around: 'the current one' })
  listenToLinks(list)
}

/** Follows links to lines, both those in the page and the one in its address. */
function listenToLinks(list) {
  const follow = () => {
    const line = /^#line-(\d+)$/.exec(location.hash)?.[1]
    if (line !== undefined) list.jumpToLine(Number(line))
  }
  addEventListener('hashchange', follow)
  // A click on a link to the line in the address does not change the address.
  document.addEventListener('click', ({ target }) => {
    const link = target.closest?.('a[href^="#line-"]')
    if (link && link.getAttribute('href') === location.hash) follow()
  })
  follow()
}

withIslands(start)
