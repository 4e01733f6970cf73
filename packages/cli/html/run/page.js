'use strict'

// The HTML document of a run.

const { documentOf, packagesOf } = require('../document.js')
const { islandJson, islandOfLines } = require('../island.js')
const { oneLine } = require('../excerpt.js')
const { fileSize } = require('../../quantities.js')
const { KINDS } = require('./event-table.js')

/** @import { Model, Table } from './gather.js' */

const LIBRARIES = ['layout']

/** The modules of the page's script, in the order of their dependencies. */
const SCRIPTS = [
  'invisible',
  ...[
    'element',
    'text',
    'islands',
    'payload',
    'pattern',
    'quantities',
    'time-scale',
    'time-axis',
    'seal',
    'footer',
  ].map((name) => `shared/${name}`),
  ...[
    'model',
    'state',
    'state-view',
    'bars',
    'gantt',
    'graph',
    'state-panel',
    'event-panel',
    'event-list',
    'verdict',
    'head',
    'live',
    'main',
  ].map((name) => `run/${name}`),
]

/** The icon: a small graph. */
const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E" +
  "%3Cpath d='M4 4l8 4-8 4' fill='none' stroke='%232b68c8' stroke-width='2'/%3E%3Ccircle cx='4' cy='4' r='2.5' fill='%232b68c8'/%3E%3Ccircle cx='12' cy='8' r='2.5' fill='%232b68c8'/%3E%3Ccircle cx='4' cy='12' r='2.5' fill='%232b68c8'/%3E%3C/svg%3E"

/**
 * @param {Model} model
 * @param {{ served?: { path: string } | null }} [options] `served`: what the page needs to send requests to its server
 */
function pageOf(model, { served = null } = {}) {
  const { table, given, graph, initial, seal, facts, size, problem, verification } = model
  const title = titleOf(model)
  const payloads = table.payloads()
  const data = {
    v: 1,
    title,
    given,
    served,
    seal: seal ?? null,
    libraries: packagesOf(LIBRARIES),
    kinds: KINDS,
    first: table.first,
    start: table.start,
    count: table.length,
    graph,
    initial,
    payloadsFrom: payloads.from,
    ...namesOf(table),
    facts: [...facts.list(), ['Log', fileSize(size)]],
    problem,
    verification,
  }
  return documentOf({
    title,
    summary: `${title}: ${data.facts.map(([name, value]) => `${name} ${value}`).join(', ')}. The page needs JavaScript, which is switched off here.`,
    icon: ICON,
    styles: ['base.css', 'recording.css', 'run/style.css'],
    scripts: SCRIPTS,
    libraries: LIBRARIES,
    islands: [
      ['page-data', islandJson(data)],
      ['columns', islandJson(table.encoded())],
      ['payloads', islandOfLines(payloads.lines)],
    ],
    isServed: served !== null,
  })
}

/** @param {Model} model */
const titleOf = ({ facts }) =>
  facts.of === undefined
    ? `Run ${oneLine(String(facts.id ?? ''))}`
    : `${oneLine(String(facts.of))}: run ${oneLine(String(facts.id))}`

/** @param {Table} table */
const namesOf = ({ nodes, workers, labels, statuses, startedWorkers }) => ({
  startedWorkers,
  nodes,
  workers,
  labels: labels.map(oneLine),
  statuses: statuses.map(oneLine),
})

module.exports = { pageOf }
