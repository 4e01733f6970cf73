'use strict'

const { native, record } = require('./native.js')
const { bundles } = require('./bundles.js')
const { NO_OPTIONS, check, checkEach, expect } = require('./arguments.js')
const { errorOf } = require('./errors.js')
const { RUN, runJob } = require('./job.js')

const KINDS = native.runEventKinds()

function readRunEvents(path, options) {
  check.string(path, 'path')
  if (options !== undefined) checkOptions(options)
  const { from = 0, to = Infinity, kinds } = options ?? NO_OPTIONS
  return events(path, from, to, kinds?.slice())
}

function checkOptions(options) {
  check.object(options, 'options')
  const { from, to, kinds } = options
  if (from !== undefined) check.time(from, 'options.from')
  if (to !== undefined) check.time(to, 'options.to')
  if (kinds === undefined) return
  expect(Array.isArray(kinds), 'options.kinds', 'an array', kinds)
  checkEach(kinds, 'options.kinds', (kind, name) => check.oneOf(kind, name, KINDS))
}

async function* events(path, from, to, kinds) {
  const trace = new native.NativeRunTrace(bundles, path, from, to, kinds)
  let next = askFor(trace)
  try {
    for (;;) {
      const page = record(await next)
      const hasEnded = page.last === true || page.error !== undefined
      // Read while these are dealt with, so that there are two pages in memory, and no more.
      if (!hasEnded) next = askFor(trace)
      for (let index = 0; index < page.events.length; index++) yield page.events[index]
      if (page.error) throw errorOf(page.error)
      if (hasEnded) return
    }
  } finally {
    // Closing would block this thread while a page is read. After it, the log is not read any more.
    await next.catch(() => {})
    trace.close()
  }
}

/** The next page of a trace. */
function askFor(trace) {
  const page = runJob(RUN, (onReady) => trace.next(onReady))
  // It may fail before it is awaited.
  page.catch(() => {})
  return page
}

module.exports = { readRunEvents }
