'use strict'

// Which event stands beside which: the rows of the timeline.

/** What a row is. The page knows them by their place in this list. */
const ROW_KINDS = [
  'same', // both sides, equal
  'apart', // not compared: snapshots, heartbeats and the like
  'divergence', // where they part
  'left', // the left has it, the right does not
  'right', // the other way round
  'change', // both have it, and it differs
  'after', // behind the divergence, where they are not aligned
  'gap', // left out of the page: then the row has numbers of events, not events
]

/**
 * @param {{ left, right }} sides their events have an `ordinal`: the place among those that are compared
 * @param diff with an edit list, what comes behind the divergence is lined up by it
 * @returns {[kind: number, left: number, right: number][]} indexes of events, -1 for none
 */
function alignedRows({ left, right }, places, diff) {
  const paired = new Pairing(left.events, right.events, places, diff?.edits)
  const walk = new Walk(left.events, right.events)
  while (walk.hasMore()) walk.add(...nextRow(walk.left(), walk.right(), paired))
  walk.addGaps(left.count, right.count)
  return walk.rows
}

/** What comes next: its kind, and which sides step on. */
function nextRow(l, r, paired) {
  if (l && paired.isBefore('left', l)) return ['apart', true, false]
  if (r && paired.isBefore('right', r)) return ['apart', false, true]
  if (l && r && !l.isCompared && !r.isCompared && l.kind === r.kind) return ['apart', true, true]
  if (l && !l.isCompared) return ['apart', true, false]
  if (r && !r.isCompared) return ['apart', false, true]
  const a = l && paired.place('left', l)
  const b = r && paired.place('right', r)
  if (a && b && a.kind === b.kind && a.at === b.at) return [a.kind, true, true]
  // Of two that do not belong together the one that belongs further up goes first; one without a counterpart before both.
  if (a && (!b || a.at < b.at || (a.at === b.at && a.isAlone))) return [a.kind, true, false]
  return [b.kind, false, true]
}

/**
 * Where an event belongs, as a number that is the same for its partner on the other side: the place among the compared ones, less
 * those before that have no partner. It holds across parts that were left out of the page.
 */
class Pairing {
  #edits
  #sides
  #agrees
  #start

  constructor(left, right, places, edits) {
    this.#edits = edits
    this.#sides = {
      left: editedSide(left, places, edits, ['left', 'right'], 'delete'),
      right: editedSide(right, places, edits, ['right', 'left'], 'insert'),
    }
    this.#begin(left, right)
    const isEdited = ({ divergence, alone, changed }) => alone.has(divergence) || changed.has(divergence)
    this.#agrees = isEdited(this.#sides.left) || isEdited(this.#sides.right)
  }

  /** Whether an event stands before the other recording begins: a partial bundle begins later. It was not compared then. */
  isBefore(side, { place }) {
    return place < this.#start && this.#sides[side].base > 0
  }

  #begin(left, right) {
    const start = Math.max(left[0]?.place ?? 0, right[0]?.place ?? 0)
    this.#start = start
    const firsts = [left, right].map((events) => events.find(({ place, isCompared }) => isCompared && place >= start)?.ordinal ?? 0)
    const { left: a, right: b } = this.#sides
    const areFound = Number.isFinite(a.divergesAt) && Number.isFinite(b.divergesAt)
    // The beginning may be left out of the page, the divergence is not.
    const shift = areFound ? a.divergesAt - b.divergesAt : firsts[0] - firsts[1]
    a.base = Math.max(shift, 0)
    b.base = Math.max(-shift, 0)
  }

  place(side, { ordinal: position, place }) {
    const { base, divergence, otherDivergence, divergesAt, alone, changed, aloneBefore } = this.#sides[side]
    const ordinal = position - base
    if (position < divergesAt) return { kind: 'same', at: ordinal, isAlone: false }
    const at = ordinal - aloneBefore(place)
    const isAlone = alone.has(place)
    // Where one side has an event more, the one that it was compared with has its partner further down.
    if (place === divergence && (!this.#agrees || isAlone || changed.get(place) === otherDivergence)) return { kind: 'divergence', at, isAlone }
    if (!this.#edits) return { kind: 'after', at, isAlone: false }
    if (isAlone) return { kind: side, at, isAlone }
    return { kind: changed.has(place) ? 'change' : 'same', at, isAlone }
  }
}

function editedSide(events, places, edits, [side, other], aloneBy) {
  const edited = (op) => edits?.filter((edit) => edit.op === op)
  const alone = new Set(edited(aloneBy)?.map((edit) => edit[side]))
  const changed = new Map(edited('change')?.map((edit) => [edit[side], edit[other]]))
  const { divergence } = places[side]
  const divergesAt = divergence === null ? Infinity : ordinalAt(events, divergence)
  return { divergence, otherDivergence: places[other].divergence, divergesAt, alone, changed, aloneBefore: countBefore([...alone]) }
}

const ordinalAt = (events, place) => events.find((event) => event.place === place)?.ordinal ?? Infinity

/** How many of the numbers are smaller than one. */
function countBefore(numbers) {
  const sorted = numbers.sort((a, b) => a - b)
  return (bound) => {
    let [from, to] = [0, sorted.length]
    while (from < to) {
      const middle = (from + to) >> 1
      if (sorted[middle] < bound) from = middle + 1
      else to = middle
    }
    return from
  }
}

/** Steps through both sides, with a row where events were left out in between. */
class Walk {
  rows = []
  #sides
  #at = [0, 0]
  #seen = [0, 0]

  constructor(...sides) {
    this.#sides = sides
  }

  hasMore() {
    return this.#at.some((at, side) => at < this.#sides[side].length)
  }

  left() {
    return this.#sides[0][this.#at[0]]
  }

  right() {
    return this.#sides[1][this.#at[1]]
  }

  add(kind, ...steps) {
    const next = steps.map((step, side) => (step ? this.#sides[side][this.#at[side]].index : this.#seen[side]))
    this.addGaps(...next)
    this.rows.push([ROW_KINDS.indexOf(kind), ...steps.map((step, side) => (step ? this.#at[side] : -1))])
    for (const [side, step] of steps.entries()) if (step) this.#at[side]++
    for (const [side, step] of steps.entries()) if (step) this.#seen[side]++
  }

  /** Up to these indexes nothing is in the page. */
  addGaps(...indexes) {
    const missing = indexes.map((index, side) => index - this.#seen[side])
    if (missing.every((count) => count === 0)) return
    this.rows.push([ROW_KINDS.indexOf('gap'), ...missing])
    this.#seen = [...indexes]
  }
}

module.exports = { alignedRows, ROW_KINDS }
