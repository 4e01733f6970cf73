'use strict'

const { native } = require('../builtins.js')
const { bundles, bundlesToWrite } = require('../binding/bundles.js')
const { BUNDLE, runJob } = require('../binding/job.js')
const { NO_OPTIONS, check, checkEach, expect } = require('../arguments.js')
const { checkKeys } = require('../keys.js')

const POLICIES = ['required', 'ifPresent', 'ignore']
const LIMITS = ['lineBytes', 'blobBytes', 'files', 'expansion', 'totalBytes']

function exportBundle(source, destination, options = NO_OPTIONS) {
  check.filledString(source, 'source')
  check.filledString(destination, 'destination')
  checkExportOptions(options)
  const { fromSnapshot, signWith, level, redact, onProgress } = options
  const wanted = { __proto__: null, fromSnapshot, signWith, level, redact: redaction(redact), progress: onProgress !== undefined }
  return run((onReady) => native.startExport(bundlesToWrite(), source, destination, wanted, onReady), options)
}

function verifyBundle(path, options = NO_OPTIONS) {
  check.filledString(path, 'path')
  const wanted = verifyOptions(options)
  return run((onReady) => native.startVerification(bundles, path, undefined, wanted, onReady), options)
}

/**
 * Like `verifyBundle`, for the command line. If there are no problems, the files of the bundle remain in `directory`, which the caller must remove.
 */
function verifyOnto(path, directory, options) {
  const wanted = verifyOptions(options)
  return run((onReady) => native.startVerification(bundlesToWrite(), path, directory, wanted, onReady), options)
}

function importBundle(path, directory, options = NO_OPTIONS) {
  check.filledString(path, 'path')
  check.filledString(directory, 'directory')
  const wanted = verifyOptions(options)
  return run((onReady) => native.startImport(bundlesToWrite(), path, directory, true, wanted, onReady), options)
}

/** Like `importBundle`, for the command line, which removes the directory after reading it. Files are not synced to disk. */
function unpackBundle(path, directory, options) {
  const wanted = verifyOptions(options)
  return run((onReady) => native.startImport(bundlesToWrite(), path, directory, false, wanted, onReady), options)
}

function run(start, { signal, onProgress }) {
  return runJob(BUNDLE, start, { __proto__: null, signal, onProgress })
}

function checkExportOptions(options) {
  checkCommonOptions(options)
  const { fromSnapshot, signWith, level, redact } = options
  check.optional(fromSnapshot, 'options.fromSnapshot', 'string')
  if (level !== undefined) {
    expect(Number.isInteger(level) && level >= 1 && level <= 22, 'options.level', 'an integer from 1 to 22', level)
  }
  checkRedaction(redact)
  check.optional(signWith, 'options.signWith', 'string')
  if (signWith === undefined) return
  const fault = native.privateKeyFault(signWith)
  // The value is not shown: although it is not a key, it may be a secret.
  expect(fault === null, 'options.signWith', `the PEM text of an Ed25519 private key (${fault})`, '…')
}

/** Checks the types of the option `redact`. The addon validates the rules. */
function checkRedaction(redact) {
  if (redact === undefined || redact === false) return
  expect(redact !== null && typeof redact === 'object' && !Array.isArray(redact), 'options.redact', 'an object, or false', redact)
  check.optional(redact.builtin, 'options.redact.builtin', 'boolean')
  if (redact.rules === undefined) return
  expect(Array.isArray(redact.rules), 'options.redact.rules', 'an array', redact.rules)
  checkEach(redact.rules, 'options.redact.rules', checkRule)
}

function checkRule(rule, name) {
  check.object(rule, name)
  check.string(rule.name, `${name}.name`)
  check.optional(rule.pattern, `${name}.pattern`, 'string')
  check.optional(rule.path, `${name}.path`, 'string')
  for (const list of ['kinds', 'tools']) if (rule[list] !== undefined) check.strings(rule[list], `${name}.${list}`)
}

/** Returns the option `redact` in the addon's form; `undefined` to redact nothing. */
function redaction(redact = NO_OPTIONS) {
  if (redact === false) return undefined
  const { builtin = true, rules = [] } = redact
  return { __proto__: null, builtin, rules: rules.map(({ name, pattern, path, kinds, tools }) => ({ __proto__: null, name, pattern, path, kinds, tools })) }
}

/** Checks the options of a verification or import, and returns them in the addon's form. */
function verifyOptions(options) {
  checkCommonOptions(options)
  const { trustedKeys = [], signature = 'ifPresent', limits = NO_OPTIONS, onProgress } = options
  checkKeys(trustedKeys)
  check.oneOf(signature, 'options.signature', POLICIES)
  check.object(limits, 'options.limits')
  for (const name of Object.keys(limits)) {
    const limit = limits[name]
    // Ignoring a misspelt name would drop a limit.
    expect(LIMITS.includes(name), 'options.limits', `an object with any of ${LIMITS.join(', ')}`, limits)
    if (limit !== undefined) check.count(limit === Infinity ? 0 : limit, `options.limits.${name}`)
  }
  return { __proto__: null, trustedKeys: trustedKeys.slice(), signature, limits: { __proto__: null, ...limits }, progress: onProgress !== undefined }
}

function checkCommonOptions(options) {
  check.object(options, 'options')
  check.signal(options.signal, 'options.signal')
  check.optional(options.onProgress, 'options.onProgress', 'function')
}

module.exports = { exportBundle, verifyBundle, importBundle, verifyOnto, unpackBundle }
