'use strict'

// Waits in real time. Programs, above all tests, replace clocks and timers, but a lock must be released even so.

const { hasOwn, setTimeout, elapsed } = require('../builtins.js')

/** Resolves after `ms` milliseconds. */
function wait(ms) {
  return new Promise((resolve) => void schedule(resolve, ms))
}

/** Fake timers that were installed before this library was loaded have a `clock` property. They do not replace `AbortSignal.timeout`. */
const schedule = hasOwn(setTimeout, 'clock')
  ? (resolve, ms) => AbortSignal.timeout(ms).addEventListener('abort', resolve, { __proto__: null, once: true })
  : setTimeout

module.exports = { elapsed, wait }
