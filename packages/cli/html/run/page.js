'use strict'

// The content of a run's page.

const { islandJson, islandOfLines } = require('../island.js')
const { oneLine } = require('../excerpt.js')
const { fileSize } = require('../../quantities.js')

/** @import { Content } from '../document.js' */
/** @import { Model } from './gather.js' */

/** @type {(model: Model) => Content} */
function contentOf(model) {
  const { table, given, graph, initial, seal, facts, size, problem, verification } = model
  const { columns } = table
  const { from, lines } = table.payloads()
  const data = {
    title: titleOf(model),
    given,
    seal: seal ?? null,
    first: columns.first,
    start: columns.start,
    graph,
    initial,
    payloadsFrom: from,
    startedWorkers: columns.startedWorkers,
    nodes: columns.nodes.list,
    workers: columns.workers.list,
    labels: columns.labels.list.map(oneLine),
    statuses: columns.statuses.list.map(oneLine),
    facts: [...facts.list(), ['Log', fileSize(size)]],
    problem,
    verification,
  }
  return {
    kind: 'run',
    summary: `${data.title}: ${data.facts.map(([name, value]) => `${name} ${value}`).join(', ')}.`,
    data,
    islands: [
      ['columns', islandJson(columns.encoded())],
      ['payloads', islandOfLines(lines)],
    ],
  }
}

/** @param {Model} model */
const titleOf = ({ facts }) =>
  facts.of === undefined
    ? `Run ${oneLine(String(facts.id ?? ''))}`
    : `${oneLine(String(facts.of))}: run ${oneLine(String(facts.id))}`

module.exports = { contentOf }
