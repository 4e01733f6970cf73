'use strict'

const { native, parseRecord, record } = require('./native.js')
const { bundles } = require('./bundles.js')
const { NO_OPTIONS, check, checkEach, expect } = require('./arguments.js')
const { errorOf } = require('./errors.js')
const { RUN, resultOf } = require('./job.js')

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
  let next = requestPage(trace)
  try {
    for (;;) {
      const page = await next
      const hasEnded = page.last === true || page.error !== undefined
      // The next page is read while the caller handles this one. At most two pages are in memory.
      if (!hasEnded) next = requestPage(trace)
      for (let index = 0; index < page.events.length; index++) yield page.events[index]
      if (page.error) throw errorOf(page.error)
      if (hasEnded) return
    }
  } finally {
    // Closing during a read would block this thread.
    await next.catch(() => {})
    trace.close()
  }
}

function requestPage(trace) {
  const page = readPage(trace)
  // Prevents an unhandled rejection if the page fails before it is awaited.
  page.catch(() => {})
  return page
}

async function readPage(trace) {
  return record(resultOf(RUN, parseRecord(await trace.next())))
}

module.exports = { readRunEvents }
