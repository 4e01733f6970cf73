'use strict'

// The content of the page of a diff.

const { islandOfLines } = require('../island.js')

/** @import { Content } from '../document.js' */
/** @import { GatheredSide, Model, PageEvent } from './gather.js' */

/** Compacts the data: nodes are listed once, and events are arrays. @type {(model: Model) => Content} */
function contentOf(model) {
  const { kind, left, right, divergence, rows, changes } = model
  const sides = { left: sideData(left), right: sideData(right) }
  return {
    kind: 'diff',
    summary: inShort(model),
    data: { title: titleOf(model), kind, divergence: divergence ?? null, rows, changes, ...sides },
    islands: [
      ['left-payloads', payloads(left)],
      ['right-payloads', payloads(right)],
    ],
  }
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

module.exports = { contentOf }
