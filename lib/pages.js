'use strict'

// Iterates over a recording that the addon reads page by page (src/pages.rs).

const { onAbort } = require('./abort.js')
const { runJob } = require('./job.js')

/**
 * Yields the elements of all pages.
 *
 * @param {object} kind the kind of the jobs
 * @param {() => object} open returns the addon's reader; nothing is opened before the first page is requested
 * @param {(start: (onReady: () => void) => object, options: object) => Promise<object>} readPage resolves to the page of a job: `length`, `at(index)`,
 *   `isLast`, and `error`, which is thrown after the elements
 * @param {AbortSignal | undefined} signal
 */
async function* elementsOfPages(kind, open, readPage, signal) {
  if (signal?.aborted) throw signal.reason
  const reader = open()
  // Also aborted at the end of the iteration, which may be early.
  const stopped = new AbortController()
  const removeAbortListener = onAbort(signal, () => stopped.abort(signal.reason))
  const request = () => {
    const page = readPage((onReady) => reader.next(onReady), { __proto__: null, signal: stopped.signal })
    // Prevents an unhandled rejection if the page fails before it is awaited.
    page.catch(() => {})
    return page
  }
  let next = request()
  try {
    for (;;) {
      const page = await next
      const { length, isLast, error } = page
      // The next page is read while the caller handles this one. At most two pages are in memory.
      if (!isLast) next = request()
      for (let index = 0; index < length; index++) {
        if (stopped.signal.aborted) throw signal.reason
        yield page.at(index)
      }
      if (error !== undefined) throw error
      if (isLast) return
    }
  } finally {
    removeAbortListener()
    stopped.abort()
    // An abort does not wait for the system.
    if (signal?.aborted) reader.abandon()
    else await close(kind, reader)
  }
}

/** Closes the recording after a read in progress. Resolves when what was unpacked is removed, which takes a while for a large bundle. */
async function close(kind, reader) {
  if (!reader.closeAtOnce()) await runJob(kind, (onReady) => reader.close(onReady)).catch(() => {})
}

module.exports = { elementsOfPages }
