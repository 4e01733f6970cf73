'use strict'

const os = require('node:os')

/** @type {NodeJS.Signals[]} */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP']

/** The abort reason of the signal that `watchInterruptions` returns. */
class Interruption extends Error {
  /** @param {NodeJS.Signals} signal */
  constructor(signal) {
    super(`interrupted by ${signal}`)
    this.code = 'Interrupted'
    this.exitCode = 128 + os.constants.signals[signal]
  }
}

/**
 * Returns an AbortSignal that the first SIGINT, SIGTERM or SIGHUP aborts, so that running tasks can clean up. A second one ends the process at
 * once, as without a listener.
 */
function watchInterruptions() {
  const controller = new AbortController()
  const stop = () => SIGNALS.forEach((name) => process.off(name, onSignal))
  /** @param {NodeJS.Signals} name */
  const onSignal = (name) => {
    stop()
    controller.abort(new Interruption(name))
  }
  SIGNALS.forEach((name) => process.on(name, onSignal))
  return { signal: controller.signal, stop }
}

/**
 * Settles like `promise`, or rejects when the signal is aborted. For calls that take no signal.
 *
 * @template T
 * @param {Promise<T>} promise
 * @param {AbortSignal} signal
 * @returns {Promise<T>}
 */
async function unlessAborted(promise, signal) {
  signal.throwIfAborted()
  let onAbort = () => {}
  const aborted = new Promise((_, reject) => {
    onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
  })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

module.exports = { Interruption, watchInterruptions, unlessAborted }
