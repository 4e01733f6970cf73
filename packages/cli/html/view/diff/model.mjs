// The data of the page. Payloads are parsed only when they are shown.

import { ROW_KINDS } from '../../diff/align.js'
import { islandLines } from '../islands.mjs'

class Side {
  #lines
  /** The rows of the events, by their place. */
  rowOf = new Map()

  constructor(name, { events, ...data }) {
    Object.assign(this, data, { name, Name: name === 'left' ? 'Left' : 'Right' })
    this.events = events.map(([place, kind, label, excerpt, node, parent, ts, flags]) => {
      return { place, kind, label, excerpt, node, parent, ts, hasFailed: (flags & 1) !== 0 }
    })
    this.#lines = islandLines(`${name}-payloads`)
    this.title = this.id ?? this.given
  }

  payloadText(index) {
    return this.#lines[index]
  }

  /** `[payload, cuts]`, or null if the payload is not in the page. */
  payload(index) {
    return JSON.parse(this.#lines[index])
  }
}

/**
 * `rows`: each with its kind, and in `at` the index of its event on each side, -1 for none. `events` are those events, of which one may be undefined.
 */
export function pageOf({ left, right, rows, ...data }) {
  const sides = [new Side('left', left), new Side('right', right)]
  const page = { ...data, sides, noun: data.kind === 'run' ? 'event' : 'record' }
  page.rows = rows.map(([kind, ...at], row) => {
    const isGap = ROW_KINDS[kind] === 'gap'
    const events = isGap ? [] : at.map((index, side) => sides[side].events[index])
    for (const [side, event] of events.entries()) if (event) sides[side].rowOf.set(event.place, row)
    return { kind: ROW_KINDS[kind], at, events }
  })
  page.divergenceRow = page.rows.findIndex(({ kind }) => kind === 'divergence')
  page.chains = sides.map((side) => (page.divergence ? chainRows(page.divergence, side) : []))
  const affected = new Set(page.divergence?.affected)
  page.isAffected = (row) =>
    row > page.divergenceRow && page.rows[row].events.some((event) => event && affected.has(event.node))
  return page
}

/** The timeline rows of a side's chain, nearest first. */
function chainRows({ places, chains }, { name, rowOf }) {
  return [{ place: places[name], isRecorded: true }, ...chains[name].edges]
    .map(({ place, isRecorded }) => ({ row: rowOf.get(place), isRecorded }))
    .filter(({ row }) => row !== undefined)
}
