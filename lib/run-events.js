'use strict'

const { native, record } = require('./native.js')
const { bundles } = require('./bundles.js')
const { NO_OPTIONS, check, checkEach, expect } = require('./arguments.js')
const { errorOf } = require('./errors.js')
const { RUN, runJob } = require('./job.js')
const { elementsOfPages } = require('./pages.js')

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
  return elementsOfPages(RUN, () => new native.NativeRunTrace(bundles, path, isVerified, from, to, range), readPage, signal)
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

async function readPage(start, options) {
  const { events, last, error } = record(await runJob(RUN, start, options))
  const at = (index) => events[index]
  return { length: events.length, at, isLast: last === true || error !== undefined, error: error && errorOf(error) }
}

module.exports = { readRunEvents, readEventsOfVerifiedBundle }
