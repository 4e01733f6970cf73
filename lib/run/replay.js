'use strict'

const { native } = require('../builtins.js')
const { bundles } = require('../binding/bundles.js')
const { NO_OPTIONS, check } = require('../arguments.js')
const { checkKeys } = require('../keys.js')
const { RUN, runJob } = require('../binding/job.js')

const DEPTHS = ['none', 'chain', 'full']

function replayRun(path, options) {
  return replay(path, false, options)
}

/** Like `replayRun`, for the command line, which has already verified the bundle directory. */
function replayRunOfVerifiedBundle(path, options) {
  return replay(path, true, options)
}

function replay(path, isVerified, options) {
  check.string(path, 'path')
  if (options !== undefined) checkReplayOptions(options)
  const { fromSnapshot, until, verify = 'chain', trustedKeys = [], signal, onProgress } = options ?? NO_OPTIONS
  const wanted = { __proto__: null, fromSnapshot, until, verify, trustedKeys: trustedKeys.slice(), progress: onProgress !== undefined }
  const start = (onReady) => native.startRunReplay(bundles, path, isVerified, wanted, onReady)
  return runJob(RUN, start, { __proto__: null, signal, onProgress })
}

function verifyRun(path, options) {
  return verification(path, false, options)
}

/** Like `verifyRun`, for the command line, which has already verified the bundle directory. */
function verifyRunOfVerifiedBundle(path, options) {
  return verification(path, true, options)
}

function verification(path, isVerified, options) {
  check.string(path, 'path')
  if (options !== undefined) checkCommonOptions(options)
  const { trustedKeys = [], signal, onProgress } = options ?? NO_OPTIONS
  const keys = trustedKeys.slice()
  const start = (onReady) => native.startRunVerification(bundles, path, isVerified, keys, onProgress !== undefined, onReady)
  return runJob(RUN, start, { __proto__: null, signal, onProgress })
}

function checkReplayOptions(options) {
  checkCommonOptions(options)
  const { fromSnapshot, until, verify } = options
  check.optional(fromSnapshot, 'options.fromSnapshot', 'string')
  if (until !== undefined) check.time(until, 'options.until')
  if (verify !== undefined) check.oneOf(verify, 'options.verify', DEPTHS)
}

function checkCommonOptions(options) {
  check.object(options, 'options')
  check.signal(options.signal, 'options.signal')
  check.optional(options.onProgress, 'options.onProgress', 'function')
  if (options.trustedKeys !== undefined) checkKeys(options.trustedKeys)
}

module.exports = { replayRun, replayRunOfVerifiedBundle, verifyRun, verifyRunOfVerifiedBundle }
