'use strict'

const tape = require('session-tape')

/**
 * The functions that read the run of a page. A bundle that was verified for its seal is not verified again by each of them.
 *
 * @param {{ seal?: object | null }} source
 */
function readersOf({ seal }) {
  const verifiedBundle = !!seal
  return {
    readRunEvents: (at, options) => tape.readRunEvents(at, { ...options, verifiedBundle }),
    replayRun: (at, options) => tape.replayRun(at, { ...options, verifiedBundle }),
    verifyRun: (at, options) => tape.verifyRun(at, { ...options, verifiedBundle }),
  }
}

module.exports = { readersOf }
