'use strict'

const { parseRecord, define, own, withFields, now } = require('./native.js')
const { onAbort } = require('./abort.js')
const { panicError } = require('./panic.js')

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
    let forget
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
      forget()
      if (done !== undefined) tell({ bytes, total, files })
      if (thrown) reject(thrown.error)
      else if (done !== undefined) resolve(done)
      else if (panicked !== undefined) reject(panicError('EBUNDLEPANIC', 'working on a bundle', panicked))
      else if (signal?.aborted && error.code === 'Cancelled') reject(signal.reason)
      else reject(new BundleError(error))
    }
    /** Something failed that has no business to. Whether the work would ever say that it has ended is not known then. */
    const fail = (error) => {
      reject(error)
      forget?.()
      work?.stop()
    }
    const takeNews = () => {
      for (let text = work.take(); text !== null; text = work.take()) {
        const news = parseRecord(text)
        if (news.last || news.panicked !== undefined) return end(news)
        const { bytes, total, files } = news
        if (now() - lastTold >= PROGRESS_EVERY) tell({ bytes, total, files })
      }
    }
    const onReady = () => {
      try {
        takeNews()
      } catch (error) {
        fail(error)
      }
    }
    try {
      work = start(onReady)
      forget = onAbort(signal, () => work.stop())
    } catch (error) {
      fail(error)
    }
  })
}

/** What is wrong with a bundle: `message`, and the other fields as its own. */
class BundleError extends Error {
  constructor({ message, ...fields }) {
    super(message)
    withFields(this, fields)
  }
}
define(BundleError.prototype, 'name', { ...own('BundleError'), enumerable: false })

module.exports = { workOn }
