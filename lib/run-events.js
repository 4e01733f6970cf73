'use strict'

const { native, parseRecord } = require('./native.js')
const { bundles } = require('./bundles.js')
const { NO_OPTIONS, check, expect } = require('./arguments.js')
const { runError } = require('./run-error.js')
const { panicError } = require('./panic.js')

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
  for (const [index, kind] of kinds.entries()) check.oneOf(kind, `options.kinds[${index}]`, KINDS)
}

async function* events(path, from, to, kinds) {
  const trace = new native.NativeRunTrace(bundles, path, from, to, kinds)
  let next = askFor(trace)
  try {
    for (;;) {
      const part = parseRecord(await next)
      if (part.panicked !== undefined) throw panicError('ERUNPANIC', 'reading a run', part.panicked)
      const hasEnded = part.last === true || part.error !== undefined
      // Read while these are dealt with, so that there are two parts in memory, and no more.
      if (!hasEnded) next = askFor(trace)
      for (let index = 0; index < part.events.length; index++) yield part.events[index]
      if (part.error) throw runError(part.error)
      if (hasEnded) return
    }
  } finally {
    // Closing it would hold this thread up until it is read. Whoever leaves may rely on it that nobody reads the log any more.
    await next.catch(() => {})
    trace.close()
  }
}

/** The next part of a trace. */
function askFor(trace) {
  const part = trace.next()
  // If it fails, that may be before anybody awaits it.
  part.catch(() => {})
  return part
}

module.exports = { readRunEvents }
