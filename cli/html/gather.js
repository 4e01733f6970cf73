'use strict'

// All that the page tells, read from both sides.

const { alignedRows } = require('./align.js')
const { cut } = require('./cut.js')
const { changesOf, divergenceOf, placesOf } = require('./divergence.js')
const { islandJson } = require('./island.js')
const { LIMITS, PAYLOAD, DIVERGING_PAYLOAD } = require('./limits.js')
const { runEvents, RunFacts } = require('./run-events.js')
const { sessionEvents, SessionFacts } = require('./session-events.js')
const { withSource } = require('./source.js')
const { Window } = require('./window.js')
const { comparedBlobs } = require('./blobs.js')

/** @returns what {@link pageOf} takes: plain data, the same for the same inputs */
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
      const divergence = diff && divergenceOf(diff, places, await comparedBlobs(diff, leftSource, rightSource), leftSource.kind)
      const rows = alignedRows(sides, places, diff)
      return { kind: leftSource.kind, ...sides, divergence, rows, changes: changesOf(diff, rows, sides) }
    }),
  )
}

function refuseAPairOfKinds(left, right) {
  if (left.kind === right.kind) return
  throw Object.assign(new Error(`the left is a ${left.kind} and the right a ${right.kind}: only two of a kind can be compared`), {
    code: 'KindMismatch',
  })
}

async function gatherSide(source, given, { divergence, ancestors }, limits, signal) {
  const facts = source.kind === 'run' ? new RunFacts() : new SessionFacts()
  const window = new Window(limits, divergence, ancestors)
  let count = 0
  let ordinal = 0
  let problem = null
  try {
    for await (const event of source.kind === 'run' ? runEvents(source.root) : sessionEvents(source.root)) {
      signal?.throwIfAborted()
      facts.take(event)
      // With heartbeats compared it may be one of them at which the two part.
      const isCompared = event.isCompared || event.place === divergence
      const at = { index: count++, ordinal: isCompared ? ordinal++ : null, isCompared }
      window.take(event.place, at.index, () => forPage(event, at, event.place === divergence))
    }
  } catch (error) {
    signal?.throwIfAborted()
    // The events before the damage are there and were compared; without any there is nothing to show.
    if (count === 0) throw error
    problem = error.message
  }
  return { given, id: facts.id, of: facts.of, facts: facts.list(), bytes: source.bytes, count, problem, events: window.finish() }
}

/** All that the page has of an event, its payload as text. */
function forPage(event, at, isDivergence) {
  const { place, kind, ts, payload, shown } = event
  return { place, kind, ts, ...shown(), ...at, payload: payloadIsland(payload, isDivergence ? DIVERGING_PAYLOAD : PAYLOAD) }
}

/** `[payload]`, or `[payload, cuts]`: one line of the page's island of payloads. */
function payloadIsland(payload, limits) {
  const { value, cuts } = cut(payload, limits)
  return islandJson(cuts.length === 0 ? [value] : [value, cuts])
}

module.exports = { gather }
