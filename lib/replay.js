'use strict'

const fs = require('node:fs')
const { native } = require('./native.js')
const { bundles } = require('./bundles.js')
const { Assembly } = require('./assembly.js')
const { NO_OPTIONS, check, checkScanOptions, expect } = require('./arguments.js')
const { SESSION, runJob } = require('./job.js')

function replaySession(filePath, expectedProjectHash, options) {
  checkArguments(filePath, expectedProjectHash, options)
  return replay(native.startReplay, filePath, expectedProjectHash, options).then(({ result }) => result)
}

function checkArguments(filePath, expectedProjectHash, options) {
  check.string(filePath, 'filePath')
  check.optional(expectedProjectHash, 'expectedProjectHash', 'string')
  if (options === undefined) return
  check.object(options, 'options')
  const { throughSeq } = options
  expect(
    throughSeq === undefined || (typeof throughSeq === 'number' && !Number.isNaN(throughSeq)),
    'options.throughSeq',
    'a number, if it is given',
    throughSeq,
  )
  check.optional(options.auditTrail, 'options.auditTrail', 'boolean')
  check.optional(options.strict, 'options.strict', 'boolean')
  checkScanOptions(options)
}

/**
 * Replays a file. The arguments must be checked already; `start` is the addon's function that starts the job. Resolves to the result, and
 * for an opened session also to the length of its history, which the result does not contain.
 */
async function replay(start, filePath, expectedProjectHash, options = NO_OPTIONS) {
  const { throughSeq, auditTrail, strict, snapshot, snapshotDir, signal, onProgress } = options
  if (signal?.aborted) throw signal.reason
  const assembly = new Assembly()
  if (filePath.includes('\0')) return { result: assembly.result(assembly.fail(`Failed to read file: ${openError(filePath)}`)) }
  const wanted = {
    __proto__: null,
    projectHash: expectedProjectHash,
    throughSeq,
    auditTrail: auditTrail === true,
    progress: onProgress !== undefined,
    snapshot: snapshot === true,
    snapshotDir,
    strict: strict === true,
  }
  const begin = (onReady) => start(bundles, filePath, wanted, onReady)
  const done = await runJob(SESSION, begin, { __proto__: null, signal, onProgress, takeBatch: assembly.add })
  return { result: assembly.result(done), historyLength: done.historyLength }
}

/** Node's error message for a path with a NUL. */
function openError(filePath) {
  try {
    fs.closeSync(fs.openSync(filePath))
  } catch (error) {
    return error.message
  }
}

module.exports = { replaySession, replay, checkArguments }
