'use strict'

// The HTML document of a diff.

const { documentOf } = require('../document.js')
const { islandJson, islandOfLines } = require('../island.js')
const { ROW_KINDS } = require('./align.js')

/** @import { GatheredSide, Model, PageEvent } from './gather.js' */

/** The modules of the page's script, in the order of their dependencies. */
const SCRIPTS = [
  'invisible',
  ...['element', 'text', 'islands', 'payload', 'windowed-list', 'keyboard', 'pattern', 'print'].map(
    (name) => `shared/${name}`,
  ),
  ...['words', 'page-data', 'fields', 'chain', 'rows', 'timeline', 'rails', 'overview', 'search', 'main'].map(
    (name) => `diff/${name}`,
  ),
]

/** The icon: two diverging lines. */
const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16' fill='none' stroke-width='2' stroke-linecap='round'%3E" +
  "%3Cpath d='M8 1v5c0 4-5 3-5 9' stroke='%232b68c8'/%3E%3Cpath d='M8 6c0 4 5 3 5 9' stroke='%23c2570c'/%3E%3C/svg%3E"

/** @param {Model} model */
function pageOf(model) {
  const title = titleOf(model)
  return documentOf({
    title,
    summary: `${inShort(model)} The timeline needs JavaScript, which is switched off here.`,
    icon: ICON,
    styles: ['base.css', 'diff/style.css'],
    scripts: SCRIPTS,
    islands: [
      ['page-data', islandJson(pageData(model, title))],
      ['left-payloads', payloads(model.left)],
      ['right-payloads', payloads(model.right)],
    ],
  })
}

/** @param {Model} model */
function titleOf({ kind, left, right }) {
  if (kind === 'session') return 'Two sessions compared'
  const named = left.of !== undefined && left.of === right.of
  return named ? `Two runs of ${left.of} compared` : 'Two runs compared'
}

/** @param {Model} model */
function inShort({ divergence, left, right }) {
  if (!divergence) return `${left.given} and ${right.given} are equal: nothing that matters differs.`
  return `${left.given} and ${right.given} part at event #${divergence.at}. ${divergence.says} ${divergence.cause}. ${divergence.because}`
}

/** @param {GatheredSide} side */
const payloads = (side) => islandOfLines(side.events.map(({ payload }) => payload ?? 'null'))

/** Compacts the data: nodes are listed once, and events are arrays. @param {Model} model @param {string} title */
function pageData(model, title) {
  const { kind, left, right, divergence, rows, changes } = model
  return {
    v: 1,
    title,
    kind,
    divergence: divergence ?? null,
    rowKinds: ROW_KINDS,
    rows,
    changes,
    left: sideData(left),
    right: sideData(right),
  }
}

/** @param {GatheredSide} side */
function sideData({ given, id, facts, bytes, count, problem, events }) {
  /** @param {PageEvent} event */
  const flags = ({ hasFailed, isCompared }) => (hasFailed ? 1 : 0) + (isCompared ? 0 : 2)
  const lists = events.map((event) => [
    event.place,
    event.kind,
    event.label,
    event.excerpt,
    event.node,
    event.parent,
    event.ts,
    flags(event),
  ])
  return { given, id: id ?? null, facts, bytes, count, problem, events: lists }
}

module.exports = { pageOf }
