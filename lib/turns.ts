// Turns of the event loop. A record counts as pending until the loop has turned after it was written, however fast the writer is, so that a program
// sees the same in each run.

// Not the global one, which test environments replace or lack.
import timers = require('node:timers')

const { setImmediate } = timers

/** What counts as pending until the loop turns. */
interface Counting {
  /** The loop turns. Returns whether anything is still to be written. */
  endTurn(): boolean
}

/** The number of the current turn. It counts turns while something is pending. */
export const turns: { current: number } = { current: 0 }
const counting = new Set<Counting>()
let isEndAwaited = false

function end(): void {
  isEndAwaited = false
  turns.current++
  counting.forEach(endOne)
  if (counting.size > 0) awaitEnd()
}

function endOne(one: Counting): void {
  if (!one.endTurn()) counting.delete(one)
}

function awaitEnd(): void {
  if (isEndAwaited) return
  isEndAwaited = true
  // It must not give the event loop another turn: a listener of `beforeExit` that records would never end.
  setImmediate(end).unref()
}

/** Something was recorded in this turn. Returns the number of the turn, which changes when it ends. */
export function beginTurn(one: Counting): number {
  counting.add(one)
  awaitEnd()
  return turns.current
}
