'use strict'

// Waiting in real time. Programs replace clocks and timers, in tests above all; a lock must be released all the same.

const { hasOwn, setTimeout, elapsed } = require('../native.js')

/** Resolves after `ms` milliseconds. */
function wait(ms) {
  return new Promise((resolve) => void schedule(resolve, ms))
}

/** Fake timers that were installed before this library was loaded have marked what they put in place of the real ones. */
const schedule = hasOwn(setTimeout, 'clock')
  ? (resolve, ms) => AbortSignal.timeout(ms).addEventListener('abort', resolve, { __proto__: null, once: true })
  : setTimeout

module.exports = { elapsed, wait }
