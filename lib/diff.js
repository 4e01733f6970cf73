'use strict'

const { native, record } = require('./native.js')
const { bundles } = require('./bundles.js')
const { NO_OPTIONS, check, expect } = require('./arguments.js')
const { takeDelivery } = require('./delivery.js')
const { runError } = require('./run-error.js')
const { RunReport } = require('./run-report.js')

function diff(left, right, options) {
  check.string(left, 'left')
  check.string(right, 'right')
  if (options !== undefined) checkOptions(options)
  const { full = false, heartbeats = false, ignore = [], signal, onProgress } = options ?? NO_OPTIONS
  const wanted = { __proto__: null, full, heartbeats, ignore: ignore.slice(), progress: onProgress !== undefined }
  return answer((onReady) => native.startDiff(bundles, left, right, wanted, onReady), signal, onProgress).then((done) => done.diff)
}

function traceAncestors(path, eventId, options) {
  check.string(path, 'path')
  check.string(eventId, 'eventId')
  if (options !== undefined) {
    check.object(options, 'options')
    check.signal(options.signal, 'options.signal')
  }
  return answer((onReady) => native.startTrace(bundles, path, eventId, onReady), options?.signal).then((done) => done.trace)
}

async function answer(start, signal, onProgress) {
  if (signal?.aborted) throw signal.reason
  const { last } = await takeDelivery(start, signal, onProgress, new RunReport())
  const done = record(last.done)
  if (done.error) throw runError(done.error)
  return done
}

function checkOptions(options) {
  check.object(options, 'options')
  check.optional(options.full, 'options.full', 'boolean')
  check.optional(options.heartbeats, 'options.heartbeats', 'boolean')
  check.signal(options.signal, 'options.signal')
  check.optional(options.onProgress, 'options.onProgress', 'function')
  if (options.ignore !== undefined) checkPointers(options.ignore)
}

function checkPointers(pointers) {
  check.strings(pointers, 'options.ignore')
  for (const [index, pointer] of pointers.entries()) {
    const fault = native.jsonPointerFault(pointer)
    expect(fault === null, `options.ignore[${index}]`, `a JSON pointer (${fault})`, pointer)
  }
}

module.exports = { diff, traceAncestors }
