'use strict'

// Reads all data of the page from both sides.

const { failureOf } = require('../../complaint.js')
const { alignedRows } = require('./align.js')
const { cutIsland } = require('../cut.js')
const { changesOf, divergenceOf, placesOf } = require('./divergence.js')
const { LIMITS, PAYLOAD, DIVERGING_PAYLOAD } = require('../limits.js')
const { runEvents, RunFacts } = require('./run-events.js')
const { sessionEvents, SessionFacts } = require('./session-events.js')
const { withSource } = require('../source.js')
const { Window } = require('./window.js')
const { comparedBlobs } = require('./blobs.js')

/** @import { Diff } from 'session-tape' */
/** @import { Limits } from '../limits.js' */
/** @import { Compared } from '../source.js' */
/** @import { Places } from './divergence.js' */
/** @import { ReadEvent, Shown } from './run-events.js' */

/**
 * @typedef {{ index: number, ordinal: number | null, isCompared: boolean }} Position `ordinal`: the index among the compared events
 * @typedef {Pick<ReadEvent, 'place' | 'ts'> & Shown & Position & { kind: string, payload: string | null }} PageEvent `payload`: null if there is no
 *   room for it
 * @typedef {Awaited<ReturnType<typeof gatherSide>>} GatheredSide
 * @typedef {Awaited<ReturnType<typeof gather>>} Model
 * @typedef {{ id?: string, of?: string, take(event: FactsOf): void, list(): [name: string, value: string][] }} Facts about a side as a whole
 * @typedef {Pick<ReadEvent, 'kind' | 'ts' | 'payload'>} FactsOf
 */

/**
 * @param {{ left: string, right: string, diff: Diff | null, signal?: AbortSignal, limits?: Partial<Limits> }} what as for `writeDiffPage`
 * @returns the input of {@link pageOf}: plain data, deterministic for the same recordings
 */
async function gather({ left, right, diff, signal, limits }) {
  const places = placesOf(diff)
  const bounds = { ...LIMITS, ...limits }
  return withSource(left, signal, (leftSource) =>
    withSource(right, signal, async (rightSource) => {
      refuseAPairOfKinds(leftSource, rightSource)
      const sides = {
        left: await gatherSide(leftSource, left, places.left, bounds, signal),
        right: await gatherSide(rightSource, right, places.right, bounds, signal),
      }
      const divergence =
        diff && divergenceOf(diff, places, await comparedBlobs(diff, leftSource, rightSource), leftSource.kind)
      const rows = alignedRows(sides, places, diff)
      return { kind: leftSource.kind, ...sides, divergence, rows, changes: changesOf(diff, rows, sides) }
    }),
  )
}

/** @type {(left: Compared, right: Compared) => void} */
function refuseAPairOfKinds(left, right) {
  if (left.kind === right.kind) return
  throw Object.assign(
    new Error(`the left is a ${left.kind} and the right a ${right.kind}: only two of a kind can be compared`),
    {
      code: 'KindMismatch',
    },
  )
}

/**
 * @param {Compared} source
 * @param {string} given
 * @param {Places['left']} places
 * @param {Limits} limits
 * @param {AbortSignal | undefined} signal
 */
async function gatherSide(source, given, { divergence, ancestors }, limits, signal) {
  /** @type {Facts} */
  const facts = source.kind === 'run' ? new RunFacts() : new SessionFacts()
  const window = new Window(limits, divergence, ancestors)
  let count = 0
  let ordinal = 0
  let problem = null
  try {
    for await (const event of source.kind === 'run' ? runEvents(source.root) : sessionEvents(source.root)) {
      signal?.throwIfAborted()
      facts.take(event)
      // The divergence may be at a heartbeat if these are compared.
      const isCompared = event.isCompared || event.place === divergence
      const at = { index: count++, ordinal: isCompared ? ordinal++ : null, isCompared }
      window.take(event.place, at.index, () => forPage(event, at, event.place === divergence))
    }
  } catch (error) {
    signal?.throwIfAborted()
    // The events before the damage are shown; an error is thrown only if there are none.
    if (count === 0) throw error
    problem = failureOf(error).message
  }
  return {
    given,
    id: facts.id,
    of: 'of' in facts ? facts.of : undefined,
    facts: facts.list(),
    bytes: source.bytes,
    count,
    problem,
    events: window.finish(),
  }
}

/** The page's data about an event, with its payload as text. @type {(event: ReadEvent, at: Position, isDivergence: boolean) => PageEvent} */
function forPage(event, at, isDivergence) {
  const { place, kind, ts, payload, shown } = event
  return {
    place,
    kind,
    ts,
    ...shown(),
    ...at,
    payload: cutIsland(payload, isDivergence ? DIVERGING_PAYLOAD : PAYLOAD),
  }
}

module.exports = { gather }
