'use strict'

// Aligns the events of both sides to the rows of the timeline.

const { countBefore } = require('../count-before.js')

/** @import { Diff, DiffEdit } from 'session-tape' */
/** @import { Places, SideName } from './divergence.js' */
/** @import { PageEvent, GatheredSide } from './gather.js' */

/**
 * @typedef {typeof ROW_KINDS[number]} RowKind
 * @typedef {[kind: number, left: number, right: number]} Row indexes of events, -1 for none
 * @typedef {{ kind: RowKind, at: number, isAlone: boolean }} Position
 * @typedef {ReturnType<typeof editedSide> & { base: number }} EditedSide `base`: the number of compared events before the beginning of the other side
 */

/** The kinds of rows. The page's data has their indices. */
const ROW_KINDS = /** @type {const} */ ([
  'same', // both sides, equal
  'apart', // not compared: snapshots, heartbeats and the like
  'divergence', // where they part
  'left', // on the left only
  'right', // on the right only
  'change', // on both sides, with different values
  'after', // after the divergence, without alignment
  'gap', // left out of the page: the row has the numbers of omitted events instead of indices
])

/**
 * @param {{ left: GatheredSide, right: GatheredSide }} sides events with an `ordinal`, the index among the compared events
 * @param {Places} places
 * @param {Diff | null} diff if it has an edit list, this aligns the events after the divergence
 * @returns {Row[]}
 */
function alignedRows({ left, right }, places, diff) {
  const paired = new Pairing(left.events, right.events, places, diff?.edits)
  const walk = new Walk(left.events, right.events)
  while (walk.hasMore()) walk.add(...nextRow(walk.left(), walk.right(), paired))
  walk.addGaps(left.count, right.count)
  return walk.rows
}

/**
 * The next row: its kind, and the sides that advance.
 *
 * @type {(l: PageEvent | undefined, r: PageEvent | undefined, paired: Pairing) => [kind: RowKind, left: boolean, right: boolean]}
 */
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
  return [/** @type {Position} */ (b).kind, false, true]
}

/**
 * The position of an event, which equals that of its partner on the other side: its index among the compared events, minus the number
 * of earlier ones without a partner. Events that are not in the page count too.
 */
class Pairing {
  #edits
  #sides
  #agrees
  /** @type {number | undefined} */
  #start

  /**
   * @param {PageEvent[]} left
   * @param {PageEvent[]} right
   * @param {Places} places
   * @param {DiffEdit[]} [edits]
   */
  constructor(left, right, places, edits) {
    this.#edits = edits
    this.#sides = /** @type {Record<SideName, EditedSide>} */ ({
      left: editedSide(left, places, edits, ['left', 'right'], 'delete'),
      right: editedSide(right, places, edits, ['right', 'left'], 'insert'),
    })
    this.#begin(left, right)
    /** @type {(side: { divergence: unknown, alone: ReadonlySet<unknown>, changed: ReadonlyMap<unknown, unknown> }) => boolean} */
    const isEdited = ({ divergence, alone, changed }) => alone.has(divergence) || changed.has(divergence)
    this.#agrees = isEdited(this.#sides.left) || isEdited(this.#sides.right)
  }

  /**
   * Whether an event precedes the beginning of the other recording, if that is a partial bundle. Such events are not compared.
   *
   * @type {(side: SideName, event: PageEvent) => boolean}
   */
  isBefore(side, { place }) {
    return place < /** @type {number} */ (this.#start) && this.#sides[side].base > 0
  }

  /** @type {(left: PageEvent[], right: PageEvent[]) => void} */
  #begin(left, right) {
    const start = Math.max(left[0]?.place ?? 0, right[0]?.place ?? 0)
    this.#start = start
    const firsts = [left, right].map(
      (events) => events.find(({ place, isCompared }) => isCompared && place >= start)?.ordinal ?? 0,
    )
    const { left: a, right: b } = this.#sides
    const areFound = Number.isFinite(a.divergesAt) && Number.isFinite(b.divergesAt)
    // The page may omit the beginning, but not the divergence.
    const shift = areFound ? a.divergesAt - b.divergesAt : firsts[0] - firsts[1]
    a.base = Math.max(shift, 0)
    b.base = Math.max(-shift, 0)
  }

  /** @type {(side: SideName, event: PageEvent) => Position} */
  place(side, { ordinal: position, place }) {
    const { base, divergence, otherDivergence, divergesAt, alone, changed, aloneBefore } = this.#sides[side]
    const ordinal = /** @type {number} */ (position) - base
    if (/** @type {number} */ (position) < divergesAt) return { kind: 'same', at: ordinal, isAlone: false }
    const at = ordinal - aloneBefore(place)
    const isAlone = alone.has(place)
    // If one side has an additional event, the partner of the event that it was compared with comes later.
    if (place === divergence && (!this.#agrees || isAlone || changed.get(place) === otherDivergence))
      return { kind: 'divergence', at, isAlone }
    if (!this.#edits) return { kind: 'after', at, isAlone: false }
    if (isAlone) return { kind: side, at, isAlone }
    return { kind: changed.has(place) ? 'change' : 'same', at, isAlone }
  }
}

/**
 * @param {PageEvent[]} events
 * @param {Places} places
 * @param {DiffEdit[] | undefined} edits
 * @param {[SideName, SideName]} sides
 * @param {DiffEdit['op']} aloneBy
 */
function editedSide(events, places, edits, [side, other], aloneBy) {
  /** @param {DiffEdit['op']} op */
  const edited = (op) => edits?.filter((edit) => edit.op === op)
  const alone = new Set(/** @type {number[] | undefined} */ (edited(aloneBy)?.map((edit) => edit[side])))
  const changed = new Map(edited('change')?.map((edit) => [edit[side], edit[other]]))
  const { divergence } = places[side]
  const aloneSorted = [...alone].sort((a, b) => a - b)
  const divergesAt = divergence === null ? Infinity : ordinalAt(events, divergence)
  return {
    divergence,
    otherDivergence: places[other].divergence,
    divergesAt,
    alone,
    changed,
    /** The number of events without a partner before a place. @param {number} place */
    aloneBefore: (place) => countBefore(aloneSorted, place),
  }
}

/** @type {(events: PageEvent[], place: number) => number} */
const ordinalAt = (events, place) => events.find((event) => event.place === place)?.ordinal ?? Infinity

/** Walks through both sides, and adds a row for each gap of omitted events. */
class Walk {
  /** @type {Row[]} */
  rows = []
  #sides
  #at = [0, 0]
  #seen = [0, 0]

  /** @param {PageEvent[][]} sides */
  constructor(...sides) {
    this.#sides = sides
  }

  hasMore() {
    return this.#at.some((at, side) => at < this.#sides[side].length)
  }

  /** @returns {PageEvent | undefined} */
  left() {
    return this.#sides[0][this.#at[0]]
  }

  /** @returns {PageEvent | undefined} */
  right() {
    return this.#sides[1][this.#at[1]]
  }

  /** @type {(kind: RowKind, ...steps: [left: boolean, right: boolean]) => void} */
  add(kind, ...steps) {
    const next = steps.map((step, side) => (step ? this.#sides[side][this.#at[side]].index : this.#seen[side]))
    this.addGaps(...next)
    this.rows.push(
      /** @type {Row} */ ([ROW_KINDS.indexOf(kind), ...steps.map((step, side) => (step ? this.#at[side] : -1))]),
    )
    for (const [side, step] of steps.entries()) if (step) this.#at[side]++
    for (const [side, step] of steps.entries()) if (step) this.#seen[side]++
  }

  /** Adds a row for the omitted events before these indices. @param {number[]} indexes */
  addGaps(...indexes) {
    const missing = indexes.map((index, side) => index - this.#seen[side])
    if (missing.every((count) => count === 0)) return
    this.rows.push(/** @type {Row} */ ([ROW_KINDS.indexOf('gap'), ...missing]))
    this.#seen = [...indexes]
  }
}

module.exports = { alignedRows, ROW_KINDS }
