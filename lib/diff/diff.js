'use strict'

const { native } = require('../builtins.js')
const { bundles } = require('../binding/bundles.js')
const { NO_OPTIONS, check, checkEach, expect } = require('../arguments.js')
const { RUN, runJob } = require('../binding/job.js')

function diff(left, right, options) {
  check.string(left, 'left')
  check.string(right, 'right')
  if (options !== undefined) checkOptions(options)
  const { full = false, heartbeats = false, ignore = [], signal, onProgress } = options ?? NO_OPTIONS
  const wanted = { __proto__: null, full, heartbeats, ignore: ignore.slice(), progress: onProgress !== undefined }
  const start = (onReady) => native.startDiff(bundles, left, right, wanted, onReady)
  return runJob(RUN, start, { __proto__: null, signal, onProgress })
}

function traceAncestors(path, eventId, options) {
  check.string(path, 'path')
  check.string(eventId, 'eventId')
  if (options !== undefined) {
    check.object(options, 'options')
    check.signal(options.signal, 'options.signal')
  }
  const start = (onReady) => native.startTrace(bundles, path, eventId, onReady)
  return runJob(RUN, start, { __proto__: null, signal: options?.signal })
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
  checkEach(pointers, 'options.ignore', (pointer, name) => {
    const fault = native.jsonPointerFault(pointer)
    expect(fault === null, name, `a JSON pointer (${fault})`, pointer)
  })
}

module.exports = { diff, traceAncestors }
