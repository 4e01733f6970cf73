'use strict'

const { native } = require('../builtins.js')
const { NO_OPTIONS, check } = require('../arguments.js')
const { PREVIEW, runJob } = require('../binding/job.js')

/** The default maximum length of the first user message, in UTF-16 code units. */
const LENGTH = 120

function readSessionPreview(filePath, options = NO_OPTIONS) {
  check.string(filePath, 'filePath')
  check.object(options, 'options')
  const { length = LENGTH, signal } = options
  check.safeCount(length, 'options.length')
  check.signal(signal, 'options.signal')
  return runJob(PREVIEW, (onReady) => native.startSessionPreview(filePath, length, onReady), { __proto__: null, signal })
}

function readSessionTitle(filePath, options = NO_OPTIONS) {
  check.string(filePath, 'filePath')
  check.object(options, 'options')
  const { signal } = options
  check.signal(signal, 'options.signal')
  return readTitle(filePath, signal)
}

async function readTitle(filePath, signal) {
  const title = await runJob(PREVIEW, (onReady) => native.startSessionTitle(filePath, onReady), { __proto__: null, signal })
  return title === false ? undefined : title
}

module.exports = { readSessionPreview, readSessionTitle }
