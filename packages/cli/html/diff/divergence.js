'use strict'

// The page's data about the divergence.

const { cut } = require('../cut.js')
const { oneLine } = require('../excerpt.js')
const { ANCESTORS, CHANGES, CHANGED_FIELDS, FIELD, FIELDS } = require('../limits.js')

/** @import { CausalEdge, Diff, DiffField, DiffSide } from 'session-tape' */
/** @import { Cut } from '../cut.js' */
/** @import { Row } from './align.js' */
/** @import { Blobs } from './blobs.js' */
/** @import { PageEvent } from './gather.js' */

/**
 * @typedef {'left' | 'right'} SideName
 * @typedef {Record<SideName, { divergence: number | null, ancestors: Set<number | null> }>} Places
 * @typedef {{ truncated?: true | Record<SideName, boolean> }} Truncated
 * @typedef {DiffField & { also: string[] }} JoinedField `also`: the paths of other fields with the same difference
 */

/**
 * The numbers of the events that the diff names, by side: 42 for `evt_42`.
 *
 * @type {(diff: Diff | null) => Places}
 */
function placesOf(diff) {
  /** @param {SideName} name */
  const side = (name) => ({
    divergence: placeOf(diff?.[name]?.event_id),
    ancestors: new Set(nearest(diff, name).map(({ event_id }) => placeOf(event_id))),
  })
  return { left: side('left'), right: side('right') }
}

/** @type {(eventId: string | undefined) => number | null} */
function placeOf(eventId) {
  const digits = /_(\d+)$/.exec(eventId ?? '')
  return digits ? Number(digits[1]) : null
}

/** @type {(diff: Diff | null, side: SideName) => CausalEdge[]} */
const nearest = (diff, side) => (diff?.ancestors?.[side] ?? []).slice(0, ANCESTORS)

/** Descriptions of likely causes: what was observed, and what it suggests. @type {Record<string, [cause: string, because: string]>} */
const CAUSES = {
  ExternalDataChanged: [
    'Same request, different answer',
    'Both asked for the same and got different data. What changed lies outside of the executions.',
  ],
  InputChanged: ['Different input', 'They were given different things to work on.'],
  ScheduleChanged: ['Different schedule', 'The same work was handed out in another order, or to other workers.'],
  PolicyChanged: ['Different policy', 'A permission or a policy was decided differently.'],
  WorkflowChanged: ['Different workflow', 'They did not execute the same graph.'],
  LogTruncated: [
    'One recording stops',
    'One log ends while its execution was still under way. That says nothing about what it did next.',
  ],
  Unknown: ['Cause unknown', 'The recordings show where they part, but not why.'],
}

/** Descriptions for sessions, where those for runs mention graphs and workers. @type {typeof CAUSES} */
const SESSION_CAUSES = {
  WorkflowChanged: ['Different set-up', 'They are sessions of different projects.'],
  ExternalDataChanged: [
    'Same call, different result',
    'Both called the same tool with the same parameters and got different results. What changed lies outside of the sessions.',
  ],
}

/** @type {Record<string, string>} */
const KINDS = {
  EventMismatch: '',
  LeftEnded: 'The left has ended here; the right goes on.',
  RightEnded: 'The right has ended here; the left goes on.',
  HeaderMismatch: 'They differ from the start: they are not executions of the same thing.',
}

/** The description of a name; undefined for a name from a later release. @type {<T>(name: string, words: Record<string, T>) => T | undefined} */
const described = (name, words) => (Object.hasOwn(words, name) ? words[name] : undefined)

/** @param {Diff} diff @param {Places} places @param {Blobs} blobs @param {'run' | 'session'} kind */
function divergenceOf(diff, places, blobs, kind) {
  const [cause, because] = described(
    diff.likely_cause,
    kind === 'session' ? { ...CAUSES, ...SESSION_CAUSES } : CAUSES,
  ) ?? [oneLine(String(diff.likely_cause)), '']
  return {
    at: diff.divergence_event,
    kind: diff.kind,
    says: described(diff.kind, KINDS) ?? oneLine(String(diff.kind)),
    cause,
    because,
    causeName: diff.likely_cause,
    places: { left: places.left.divergence, right: places.right.divergence },
    sides: { left: sideOf(diff.left), right: sideOf(diff.right) },
    fields: joinedFields(diff.fields.slice(0, FIELDS)).map((field) => shownField(field, blobs)),
    fieldsLeft: Math.max(diff.fields.length - FIELDS, 0),
    chains: { left: chainOf(diff, 'left'), right: chainOf(diff, 'right') },
    commonAncestor: diff.common_ancestor,
    affected: diff.affected_nodes.slice(0, 1000).map((node) => String(node)),
    affectedLeft: Math.max(diff.affected_nodes.length - 1000, 0),
  }
}

/** The short members of a side. Long ones are shown in its payload. @type {(side: DiffSide | null) => [name: string, value: string][] | null} */
function sideOf(side) {
  if (!side) return null
  return Object.entries(side)
    .filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value))
    .map(([name, value]) => [oneLine(name), oneLine(String(value))])
}

/** Descriptions of the notes of a compared field. @type {Record<string, string>} */
const NOTES = {
  whitespace: 'Only white space differs.',
  redacted: "Redacted on one side or both: what was there can't be compared.",
  otherPlace: 'They name other events.',
  tooLarge: 'Too large to be told.',
  precision: 'They differ in digits that a double does not hold.',
}

/** Merges fields that differ by the same two strings, such as raw and normalised output. @param {DiffField[]} fields */
function joinedFields(fields) {
  /** @type {Map<string, JoinedField>} */
  const joined = new Map()
  for (const field of fields) {
    const areStrings = typeof field.left === 'string' && typeof field.right === 'string'
    const key = areStrings ? JSON.stringify([field.left, field.right]) : field.path
    if (joined.has(key)) /** @type {JoinedField} */ (joined.get(key)).also.push(field.path)
    else joined.set(key, { ...field, also: [] })
  }
  return [...joined.values()]
}

/** A side without the field is null. @param {JoinedField} field @param {Blobs} blobs */
function shownField(field, blobs) {
  const sides = /** @type {const} */ (['left', 'right']).map((side) =>
    side in field && field[side] !== undefined ? cutAround(field, side) : null,
  )
  const note = described(/** @type {string} */ (field.note), NOTES)
  return {
    path: field.path,
    also: field.also,
    left: sides[0],
    right: sides[1],
    ...(note && { note }),
    ...(blobs.get(field.path) && { blob: blobs.get(field.path) }),
  }
}

/**
 * The parts of two long strings around their first difference, instead of their equal beginnings.
 *
 * @type {(field: DiffField, side: SideName) => { value: unknown, cuts: Cut[], skipped: number }}
 */
function cutAround(field, side) {
  const value = field[side]
  const skipped =
    typeof value === 'string' && value.length > FIELD.string ? Math.max(sharedBeginning(field) - 2000, 0) : 0
  const { value: kept, cuts } = cut(skipped > 0 ? /** @type {string} */ (value).slice(skipped) : value, FIELD)
  return { value: kept, cuts, skipped }
}

/** @param {DiffField} field */
function sharedBeginning({ left, right }) {
  if (typeof left !== 'string' || typeof right !== 'string') return 0
  let at = 0
  while (at < left.length && left.charCodeAt(at) === right.charCodeAt(at)) at++
  return at
}

/**
 * Whether the causal chain is truncated because the log begins after the first cause; for each side, or for both.
 *
 * @type {(diff: { ancestors?: Truncated } & Truncated, side: SideName) => boolean}
 */
function isTruncated({ ancestors, truncated }, side) {
  const described = ancestors?.truncated ?? truncated
  return described === true || described?.[side] === true
}

/** @param {Diff} diff @param {SideName} side */
function chainOf(diff, side) {
  const all = diff.ancestors?.[side] ?? []
  return {
    edges: nearest(diff, side).map(({ event_id, kind, label, evidence }) => ({
      id: event_id,
      place: placeOf(event_id),
      kind: oneLine(kind),
      label: oneLine(label ?? ''),
      isRecorded: evidence === 'recorded',
    })),
    left: Math.max(all.length - ANCESTORS, 0),
    isTruncated: isTruncated(diff, side),
  }
}

/**
 * The differing fields of the first changes after the divergence.
 *
 * @type {(diff: Diff | null, rows: Row[], sides: { left: { events: PageEvent[] } }) => Record<number, ReturnType<typeof shownField>[]>} by row number
 */
function changesOf(diff, rows, { left }) {
  const byPlace = new Map(
    diff?.edits?.filter(({ op, fields }) => op === 'change' && fields).map((edit) => [edit.left, edit.fields]),
  )
  /** @type {ReturnType<typeof changesOf>} */
  const changes = {}
  let room = CHANGES
  for (const [row, [, at]] of rows.entries()) {
    const fields = byPlace.get(left.events[at]?.place)
    if (!fields || room-- <= 0) continue
    changes[row] = joinedFields(fields.slice(0, CHANGED_FIELDS)).map((field) => shownField(field, new Map()))
  }
  return changes
}

module.exports = { changesOf, placesOf, divergenceOf }
