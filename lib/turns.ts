// Turns of the event loop. Records count as pending until the turn in which they were recorded has ended, however fast the writer is, so that a
// program sees the same in each run.

// Not the global one, which test environments replace or lack.
import timers = require('node:timers')
import type { Bare } from './builtins.js'

const { setImmediate } = timers

/** The number of the current turn. It counts turns in which something was recorded, and ends of flushes. */
export const turns: Bare<{ current: number }> = { __proto__: null, current: 0 }
let isEndAwaited = false

function end(): void {
  isEndAwaited = false
  turns.current++
}

/** Returns the number of the current turn, which will change when the turn ends. */
export function beginTurn(): number {
  if (!isEndAwaited) {
    isEndAwaited = true
    // It must not give the event loop another turn: a listener of `beforeExit` that records would never end.
    setImmediate(end).unref()
  }
  return turns.current
}

/** Everything recorded so far counts as pending only as long as it is. */
export function endTurn(): void {
  turns.current++
}
