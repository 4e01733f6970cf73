'use strict'

const tape = require('../../../../index.js')

/** The functions that read the run of a page. What is in a bundle that was verified for its seal is not verified again by each of them. */
function readersOf({ seal }) {
  if (!seal) return tape
  const { readEventsOfVerifiedBundle: readRunEvents } = require('../../../../dist/run/events.js')
  const { replayRunOfVerifiedBundle: replayRun, verifyRunOfVerifiedBundle: verifyRun } = require('../../../../dist/run/replay.js')
  return { readRunEvents, replayRun, verifyRun }
}

module.exports = { readersOf }
