'use strict'

const { nextTurn } = require('./native.js')
const { Assembly } = require('./assembly.js')

/**
 * Takes delivery of parts until the last. `start` is given the callback that takes them, and returns the addon's delivery, or
 * nothing if there is none. Resolves to what was assembled and the last part.
 */
function takeDelivery(start, signal, onProgress) {
  return new Promise((resolve, reject) => {
    const assembly = new Assembly()
    let delivery
    const end = (settle, value) => {
      signal?.removeEventListener('abort', onAbort)
      settle(value)
    }
    const onAbort = () => {
      delivery.cancel()
      reject(signal.reason)
    }
    const onPart = (text) => {
      if (signal?.aborted) return
      try {
        const last = assembly.add(text)
        if (onProgress && assembly.hasProgressed) onProgress(assembly.progress)
        if (last) {
          // Whether or not it is the addon's own last: there may be more of a file that was found to have changed.
          delivery.cancel()
          return end(resolve, { assembly, last })
        }
        // The parts' turns: whatever else waits for the event loop comes between them.
        nextTurn(() => delivery.acknowledge())
      } catch (error) {
        delivery.cancel()
        end(reject, error)
      }
    }
    delivery = start(onPart)
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

module.exports = { takeDelivery }
