'use strict'

// Runs background jobs of the addon and receives their batches (src/node/job.rs).

const { parseRecord, nextTurn } = require('../builtins.js')
const { onAbort } = require('./abort.js')
const { errorOf, BundleError, panicError } = require('./errors.js')
const { Pieces } = require('./pieces.js')

/**
 * The kinds of jobs: the code and operation for the error of a panic, and the function that converts the addon's errors. A job that cleans up is
 * stopped rather than cancelled, and its promise rejects only after its temporary files are removed.
 */
const SESSION = { panicCode: 'ESESSIONPANIC', doing: 'replaying a session', errorOf, cleansUp: false }
const HEADERS = { panicCode: 'ESESSIONPANIC', doing: 'reading headers', errorOf, cleansUp: false }
const LOCK = { panicCode: 'ESESSIONPANIC', doing: 'locking a session', errorOf, cleansUp: false }
const PREVIEW = { panicCode: 'ESESSIONPANIC', doing: 'looking into a session', errorOf, cleansUp: false }
const RUN = { panicCode: 'ERUNPANIC', doing: 'reading a run', errorOf, cleansUp: false }
const BUNDLE = {
  panicCode: 'EBUNDLEPANIC',
  doing: 'working on a bundle',
  errorOf: (fields) => new BundleError(fields),
  cleansUp: true,
}

/**
 * Runs a job to its end. `start` returns the addon's job; its argument is the callback for available batches. One batch is taken in
 * each turn of the event loop, so that the job does not block other work. `takeBatch` is called with each batch and with the job, which
 * has its tape; if it returns an object, the job ends with that as its result.
 *
 * Resolves to the result. Rejects with the job's error, the reason of an aborted `signal`, an exception of `onProgress` or `takeBatch`,
 * or the error of a panic.
 */
function runJob(kind, start, { signal, onProgress, takeBatch } = { __proto__: null }) {
  if (signal?.aborted) return Promise.reject(signal.reason)
  return new Promise((resolve, reject) => {
    let job
    let removeAbortListener
    let hasSettled = false
    /** The exception of `onProgress`, while the job cleans up. */
    let thrown
    const pieces = new Pieces()
    const settle = (settleWith, value) => {
      hasSettled = true
      settleWith(value)
      removeAbortListener?.()
    }
    /** Settles before the job has ended, and ends it. */
    const settleEarly = (settleWith, value) => {
      settle(settleWith, value)
      if (kind.cleansUp) job?.stop()
      else job?.cancel()
    }
    const abort = () => {
      if (kind.cleansUp) job.stop()
      else settleEarly(reject, signal.reason)
    }
    const reportProgress = ({ bytes, total, files }) => {
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
      const batch = pieces.add(parseRecord(text))
      if (batch === undefined) return true
      const early = takeBatch?.(batch, job)
      reportProgress(batch)
      // `onProgress` may have aborted the signal.
      if (hasSettled) return false
      if (early !== undefined) settleEarly(resolve, early)
      else if (isEnd(batch)) end(batch)
      return !hasSettled
    }
    const onReady = () => {
      if (hasSettled) return
      try {
        // With faked timers there is no next turn to wait for, so all available batches are taken at once.
        while (takeNext()) if (nextTurn) return nextTurn(onReady)
      } catch (error) {
        settleEarly(reject, error)
      }
    }
    try {
      job = start(onReady)
      removeAbortListener = onAbort(signal, abort)
    } catch (error) {
      settleEarly(reject, error)
    }
  })
}

function isEnd({ done, error, cancelled, panicked }) {
  return done !== undefined || error !== undefined || cancelled !== undefined || panicked !== undefined
}

/** The result in the last batch of a job. Throws if the job failed. */
function resultOf(kind, { done, error, cancelled, panicked }) {
  if (done !== undefined) return done
  if (panicked !== undefined) throw panicError(kind.panicCode, kind.doing, panicked)
  throw kind.errorOf(error ?? cancelled)
}

module.exports = { SESSION, HEADERS, LOCK, PREVIEW, RUN, BUNDLE, runJob, resultOf }
