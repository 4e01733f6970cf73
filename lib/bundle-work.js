'use strict'

const { parse, now } = require('./native.js')

/** The least time between two calls of `onProgress`, in milliseconds: ten a second. */
const PROGRESS_EVERY = 100

/**
 * Work on a bundle, until it has ended. `start` is given the callback that says that there is news, and returns the addon's work.
 * Resolves to what it came to. Rejects, also when `signal` is aborted, only when it has stopped, so that nothing is left of it.
 */
function workOn(start, signal, onProgress) {
  if (signal?.aborted) return Promise.reject(signal.reason)
  return new Promise((resolve, reject) => {
    let work
    let thrown
    let lastTold = now()
    const tell = (progress) => {
      if (!onProgress || thrown) return
      lastTold = now()
      try {
        onProgress(progress)
      } catch (error) {
        thrown = { error }
        work.stop()
      }
    }
    const end = ({ done, error, panicked, bytes, total, files }) => {
      signal?.removeEventListener('abort', onAbort)
      if (done) tell({ bytes, total, files })
      if (thrown) reject(thrown.error)
      else if (done) resolve(done)
      else if (signal?.aborted && error?.code === 'Cancelled') reject(signal.reason)
      else reject(panicked ? panicError() : new BundleError(error))
    }
    const onAbort = () => work.stop()
    const onReady = () => {
      for (let text = work.take(); text !== null; text = work.take()) {
        const news = parse(text)
        if (news.last || news.panicked) return end(news)
        const { bytes, total, files } = news
        if (now() - lastTold >= PROGRESS_EVERY) tell({ bytes, total, files })
      }
    }
    work = start(onReady)
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

/** What is wrong with a bundle: `message`, and the other fields as its own. */
class BundleError extends Error {
  constructor({ message, ...fields }) {
    super(message)
    Object.assign(this, fields)
  }
}
Object.defineProperty(BundleError.prototype, 'name', { value: 'BundleError', configurable: true, writable: true })

function panicError() {
  const message = 'session-tape failed while working on a bundle. This is a bug in session-tape: please report it'
  return Object.assign(new Error(message), { code: 'EBUNDLEPANIC' })
}

module.exports = { workOn }
