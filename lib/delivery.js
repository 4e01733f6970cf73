'use strict'

const { nextTurn } = require('./native.js')
const { onAbort } = require('./abort.js')
const { Assembly } = require('./assembly.js')

/**
 * Takes delivery of parts until the last, one in each turn of the event loop: whatever else waits for the loop comes between them.
 * `start` is given the callback that says that a part is there, and returns the addon's delivery. Resolves to what was assembled and
 * the last part. `assembly` is what puts the parts together, if it isn't a session.
 */
function takeDelivery(start, signal, onProgress, assembly = new Assembly()) {
  return new Promise((resolve, reject) => {
    let delivery
    let forget
    const end = (settle, value) => {
      settle(value)
      forget?.()
      // Whether or not the last part was the addon's own: there may be more of a file that was found to have changed.
      delivery?.cancel()
    }
    /** Takes a part, if there is one. Whether there may be more. */
    const takePart = () => {
      const text = delivery.take()
      if (text === null) return false
      const last = assembly.add(text, delivery)
      if (onProgress && assembly.hasProgressed) onProgress(assembly.progress)
      if (last) end(resolve, { assembly, last })
      return !last
    }
    const onReady = () => {
      if (signal?.aborted) return
      try {
        // Without turns, one after the other.
        while (takePart()) if (nextTurn) return nextTurn(onReady)
      } catch (error) {
        end(reject, error)
      }
    }
    try {
      delivery = start(onReady)
      forget = onAbort(signal, () => end(reject, signal.reason))
    } catch (error) {
      end(reject, error)
    }
  })
}

module.exports = { takeDelivery }
