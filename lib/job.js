'use strict'

// Background jobs of the addon: the one way in which their batches are taken (src/node/job.rs).

const { parseRecord, nextTurn } = require('./native.js')
const { onAbort } = require('./abort.js')
const { errorOf, BundleError, panicError } = require('./errors.js')

/**
 * What jobs are about: the code of a panic and what the addon was doing, and how an error of theirs becomes an Error. A job that cleans up
 * is stopped rather than cancelled, and its promise rejects only when nothing is left of it.
 */
const SESSION = { panicCode: 'ESESSIONPANIC', doing: 'replaying a session', errorOf, cleansUp: false }
const HEADERS = { panicCode: 'ESESSIONPANIC', doing: 'reading headers', errorOf, cleansUp: false }
const RUN = { panicCode: 'ERUNPANIC', doing: 'reading a run', errorOf, cleansUp: false }
const BUNDLE = {
  panicCode: 'EBUNDLEPANIC',
  doing: 'working on a bundle',
  errorOf: (fields) => new BundleError(fields),
  cleansUp: true,
}

/**
 * Runs a job to its end. `start` is given the callback that says that there is a batch, and returns the addon's job. One batch is taken in
 * each turn of the event loop: whatever else waits for the loop comes between them. `takeBatch` is given each batch and the job, which has
 * its tape; an object that it returns ends the job instead of what is still to come.
 *
 * Resolves to the result. Rejects with the job's error, with the reason of an aborted `signal`, with what `onProgress` or `takeBatch` throws,
 * and if the addon fails.
 */
function runJob(kind, start, { signal, onProgress, takeBatch } = { __proto__: null }) {
  if (signal?.aborted) return Promise.reject(signal.reason)
  return new Promise((resolve, reject) => {
    let job
    let forget
    let hasSettled = false
    /** What `onProgress` threw, while the job cleans up. */
    let thrown
    const settle = (settleWith, value) => {
      hasSettled = true
      settleWith(value)
      forget?.()
    }
    /** Settles without the job's end: there was a fault, or the result is not wanted any more. */
    const leave = (settleWith, value) => {
      settle(settleWith, value)
      if (kind.cleansUp) job?.stop()
      else job?.cancel()
    }
    const abort = () => {
      if (kind.cleansUp) job.stop()
      else leave(reject, signal.reason)
    }
    const tellProgress = ({ bytes, total, files }) => {
      if (!onProgress || thrown || bytes === undefined) return
      try {
        onProgress(files === undefined ? { bytes, total } : { bytes, total, files })
      } catch (error) {
        if (!kind.cleansUp) throw error
        thrown = { error }
        job.stop()
      }
    }
    const end = (batch) => {
      if (thrown) settle(reject, thrown.error)
      else if (batch.cancelled !== undefined && signal?.aborted) settle(reject, signal.reason)
      else settle(resolve, resultOf(kind, batch))
    }
    /** Takes a batch, if there is one. Returns whether there may be more. */
    const takeNext = () => {
      const text = job.take()
      if (text === null) return false
      const batch = parseRecord(text)
      const early = takeBatch?.(batch, job)
      tellProgress(batch)
      // By what `onProgress` did.
      if (hasSettled) return false
      if (early !== undefined) leave(resolve, early)
      else if (isEnd(batch)) end(batch)
      return !hasSettled
    }
    const onReady = () => {
      if (hasSettled) return
      try {
        // Without turns, one after the other.
        while (takeNext()) if (nextTurn) return nextTurn(onReady)
      } catch (error) {
        leave(reject, error)
      }
    }
    try {
      job = start(onReady)
      forget = onAbort(signal, abort)
    } catch (error) {
      leave(reject, error)
    }
  })
}

function isEnd({ done, error, cancelled, panicked }) {
  return done !== undefined || error !== undefined || cancelled !== undefined || panicked !== undefined
}

/** The result of a job that has ended, given its last batch. Throws its error. */
function resultOf(kind, { done, error, cancelled, panicked }) {
  if (done !== undefined) return done
  if (panicked !== undefined) throw panicError(kind.panicCode, kind.doing, panicked)
  throw kind.errorOf(error ?? cancelled)
}

module.exports = { SESSION, HEADERS, RUN, BUNDLE, runJob, resultOf }
