'use strict'

// The addon, and of JavaScript's own what it stands on. All of it is taken now: a test suite that replaces timers or JSON later
// must not stop a replay that is under way. `Date.now` is not among them: faked time is to show in recordings.

/** Fake timers mark what they put in place of the real ones. They would never come to the next turn. */
function isFaked(timer) {
  return timer.clock !== undefined
}

/** A method as a function of what it is called on. */
const uncurried = (method) => Function.prototype.call.bind(method)

module.exports = {
  native: require('../binding.js'),
  parse: JSON.parse,
  stringify: JSON.stringify,
  define: Object.defineProperty,
  push: uncurried(Array.prototype.push),
  slice: uncurried(Array.prototype.slice),
  substring: uncurried(String.prototype.substring),
  queueMicrotask: globalThis.queueMicrotask,
  now: performance.now.bind(performance),
  nextTurn: isFaked(setImmediate) ? undefined : setImmediate,
}
