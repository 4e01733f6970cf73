'use strict'

const { native } = require('./native.js')
const { NO_OPTIONS, check } = require('./arguments.js')
const { PREVIEW, runJob } = require('./job.js')

/** The default maximum length of the first user message, in UTF-16 code units. */
const LENGTH = 120

function readSessionPreview(filePath, options = NO_OPTIONS) {
  check.string(filePath, 'filePath')
  check.object(options, 'options')
  const { length = LENGTH } = options
  check.safeCount(length, 'options.length')
  return runJob(PREVIEW, (onReady) => native.startSessionPreview(filePath, length, onReady))
}

function readSessionTitle(filePath) {
  check.string(filePath, 'filePath')
  return readTitle(filePath)
}

async function readTitle(filePath) {
  const title = await runJob(PREVIEW, (onReady) => native.startSessionTitle(filePath, onReady))
  return title === false ? undefined : title
}

module.exports = { readSessionPreview, readSessionTitle }
