'use strict'

// Aligns the events of both sides to the rows of the timeline.

/** The kinds of rows. The page's data has their indices. */
const ROW_KINDS = [
  'same', // both sides, equal
  'apart', // not compared: snapshots, heartbeats and the like
  'divergence', // where they part
  'left', // on the left only
  'right', // on the right only
  'change', // on both sides, with different values
  'after', // after the divergence, without alignment
  'gap', // left out of the page: the row has the numbers of omitted events instead of indices
]

/**
 * @param {{ left, right }} sides events with an `ordinal`, the index among the compared events
 * @param diff if it has an edit list, this aligns the events after the divergence
 * @returns {[kind: number, left: number, right: number][]} indexes of events, -1 for none
 */
function alignedRows({ left, right }, places, diff) {
  const paired = new Pairing(left.events, right.events, places, diff?.edits)
  const walk = new Walk(left.events, right.events)
  while (walk.hasMore()) walk.add(...nextRow(walk.left(), walk.right(), paired))
  walk.addGaps(left.count, right.count)
  return walk.rows
}

/** The next row: its kind, and the sides that advance. */
function nextRow(l, r, paired) {
  if (l && paired.isBefore('left', l)) return ['apart', true, false]
  if (r && paired.isBefore('right', r)) return ['apart', false, true]
  if (l && r && !l.isCompared && !r.isCompared && l.kind === r.kind) return ['apart', true, true]
  if (l && !l.isCompared) return ['apart', true, false]
  if (r && !r.isCompared) return ['apart', false, true]
  const a = l && paired.place('left', l)
  const b = r && paired.place('right', r)
  if (a && b && a.kind === b.kind && a.at === b.at) return [a.kind, true, true]
  // Of two events that are not partners the one with the smaller position comes first; one without a partner comes before both.
  if (a && (!b || a.at < b.at || (a.at === b.at && a.isAlone))) return [a.kind, true, false]
  return [b.kind, false, true]
}

/**
 * The position of an event, which equals that of its partner on the other side: its index among the compared events, minus the number
 * of earlier ones without a partner. Events that are not in the page count too.
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

  /** Whether an event precedes the beginning of the other recording, if that is a partial bundle. Such events are not compared. */
  isBefore(side, { place }) {
    return place < this.#start && this.#sides[side].base > 0
  }

  #begin(left, right) {
    const start = Math.max(left[0]?.place ?? 0, right[0]?.place ?? 0)
    this.#start = start
    const firsts = [left, right].map((events) => events.find(({ place, isCompared }) => isCompared && place >= start)?.ordinal ?? 0)
    const { left: a, right: b } = this.#sides
    const areFound = Number.isFinite(a.divergesAt) && Number.isFinite(b.divergesAt)
    // The page may omit the beginning, but not the divergence.
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
    // If one side has an additional event, the partner of the event that it was compared with comes later.
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

/** Returns a function that counts the numbers below a bound. */
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

/** Walks through both sides, and adds a row for each gap of omitted events. */
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

  /** Adds a row for the omitted events before these indices. */
  addGaps(...indexes) {
    const missing = indexes.map((index, side) => index - this.#seen[side])
    if (missing.every((count) => count === 0)) return
    this.rows.push([ROW_KINDS.indexOf('gap'), ...missing])
    this.#seen = [...indexes]
  }
}

module.exports = { alignedRows, ROW_KINDS }
