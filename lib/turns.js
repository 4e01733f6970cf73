'use strict'

// Turns of the event loop. Records count as pending until the turn in which they were recorded has ended, however fast the writer is, so that a
// program sees the same in each run.

// Not the global one, which test environments replace or lack.
const { setImmediate } = require('node:timers')

/** The number of the current turn. It counts turns in which something was recorded, and ends of flushes. */
const turns = { __proto__: null, current: 0 }
let isEndAwaited = false

function end() {
  isEndAwaited = false
  turns.current++
}

/** Returns the number of the current turn, which will change when the turn ends. */
function beginTurn() {
  if (!isEndAwaited) {
    isEndAwaited = true
    // It must not give the event loop another turn: a listener of `beforeExit` that records would never end.
    setImmediate(end).unref()
  }
  return turns.current
}

/** Everything recorded so far counts as pending only as long as it is. */
function endTurn() {
  turns.current++
}

module.exports = { turns, beginTurn, endTurn }
