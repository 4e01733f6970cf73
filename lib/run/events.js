'use strict'

const { native, record } = require('../builtins.js')
const { onAbort } = require('../binding/abort.js')
const { bundles } = require('../binding/bundles.js')
const { NO_OPTIONS, check, checkEach, expect } = require('../arguments.js')
const { errorOf } = require('../binding/errors.js')
const { RUN, runJob } = require('../binding/job.js')

const KINDS = native.runEventKinds()

function readRunEvents(path, options) {
  return eventsAt(path, false, options)
}

/** Like `readRunEvents`, for the command line, which has already verified the bundle directory. */
function readEventsOfVerifiedBundle(path, options) {
  return eventsAt(path, true, options)
}

function eventsAt(path, isVerified, options) {
  check.string(path, 'path')
  if (options !== undefined) checkOptions(options)
  const { from = 0, to = Infinity, kinds, signal } = options ?? NO_OPTIONS
  const range = kinds?.slice()
  return events(() => new native.NativeRunTrace(bundles, path, isVerified, from, to, range), signal)
}

function checkOptions(options) {
  check.object(options, 'options')
  const { from, to, kinds, signal } = options
  check.signal(signal, 'options.signal')
  if (from !== undefined) check.time(from, 'options.from')
  if (to !== undefined) check.time(to, 'options.to')
  if (kinds === undefined) return
  expect(Array.isArray(kinds), 'options.kinds', 'an array', kinds)
  checkEach(kinds, 'options.kinds', (kind, name) => check.oneOf(kind, name, KINDS))
}

async function* events(open, signal) {
  if (signal?.aborted) throw signal.reason
  const trace = open()
  // Also aborted at the end of the iteration, which may be early.
  const stopped = new AbortController()
  const removeAbortListener = onAbort(signal, () => stopped.abort(signal.reason))
  let next = requestPage(trace, stopped.signal)
  try {
    for (;;) {
      const page = await next
      const hasEnded = page.last === true || page.error !== undefined
      // The next page is read while the caller handles this one. At most two pages are in memory.
      if (!hasEnded) next = requestPage(trace, stopped.signal)
      for (let index = 0; index < page.events.length; index++) {
        if (stopped.signal.aborted) throw signal.reason
        yield page.events[index]
      }
      if (page.error) throw errorOf(page.error)
      if (hasEnded) return
    }
  } finally {
    removeAbortListener()
    stopped.abort()
    // An abort does not wait for the system.
    if (signal?.aborted) trace.abandon()
    else await close(trace)
  }
}

function requestPage(trace, signal) {
  const page = runJob(RUN, (onReady) => trace.next(onReady), { __proto__: null, signal }).then(record)
  // Prevents an unhandled rejection if the page fails before it is awaited.
  page.catch(() => {})
  return page
}

/** Closes the log after a read in progress. Resolves when what was unpacked is removed, which takes a while for a large bundle. */
async function close(trace) {
  if (!trace.closeAtOnce()) await runJob(RUN, (onReady) => trace.close(onReady)).catch(() => {})
}

module.exports = { readRunEvents, readEventsOfVerifiedBundle }
