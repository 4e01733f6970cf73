'use strict'

/**
 * Calls `stop` when `signal` is aborted, if there is one. Returns the function that ends this. A signal that a caller made himself may
 * throw there, where no caller could handle it.
 */
function onAbort(signal, stop) {
  // The options have no prototype: Node would also read `signal` and others from one.
  signal?.addEventListener('abort', stop, { __proto__: null, once: true })
  return () => {
    try {
      signal?.removeEventListener('abort', stop)
    } catch {
      // The result is there nevertheless.
    }
  }
}

module.exports = { onAbort }
