'use strict'

const tape = require('session-tape')

/** @import { Seal } from '../seal.js' */

/**
 * The functions that read the run of a page. A bundle that was verified for its seal is not verified again by each of them.
 *
 * @param {{ seal?: Seal | null }} source
 */
function readersOf({ seal }) {
  const verifiedBundle = !!seal
  return {
    /** @type {typeof tape.readRunEvents} */
    readRunEvents: (at, options) => tape.readRunEvents(at, { ...options, verifiedBundle }),
    /** @type {typeof tape.replayRun} */
    replayRun: (at, options) => tape.replayRun(at, { ...options, verifiedBundle }),
    /** @type {typeof tape.verifyRun} */
    verifyRun: (at, options) => tape.verifyRun(at, { ...options, verifiedBundle }),
  }
}

module.exports = { readersOf }
