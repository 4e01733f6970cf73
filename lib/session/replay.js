'use strict'

const fs = require('node:fs')
const { native, parseRecord } = require('../builtins.js')
const { bundles } = require('../binding/bundles.js')
const { Assembly } = require('./assembly.js')
const { AtOnce } = require('./at-once.js')
const { NO_OPTIONS, check, checkScanOptions, expect } = require('../arguments.js')
const { SESSION, resultOf, runJob } = require('../binding/job.js')

/** The number of small files that are replayed on this thread in one turn of the event loop: a few milliseconds. */
const smallReplays = new AtOnce(8)

function replaySession(filePath, expectedProjectHash, options) {
  checkArguments(filePath, expectedProjectHash, options)
  return replayWhole(filePath, expectedProjectHash, captured(options))
}

/** Copies the options, because the caller may change them while the file is read. */
function captured({ throughSeq, auditTrail, strict, snapshot, snapshotDir, signal, onProgress } = NO_OPTIONS) {
  return { __proto__: null, throughSeq, auditTrail, strict, snapshot, snapshotDir, signal, onProgress }
}

async function replayWhole(filePath, expectedProjectHash, options) {
  const { snapshot, signal, onProgress } = options
  // Only a job can be stopped, report progress or keep a snapshot.
  const needsJob = snapshot === true || signal !== undefined || onProgress !== undefined || filePath.includes('\0')
  const small = needsJob ? null : await replaySmall(filePath, wantedOf(expectedProjectHash, options))
  if (small !== null) return resultOfSmall(small)
  const { result } = await replay(native.startReplay, filePath, expectedProjectHash, options)
  return result
}

/** Resolves to the ended job of a small file, or to `null` if the file is not small. */
function replaySmall(filePath, wanted) {
  return smallReplays.first(() => native.replayAtOnce(filePath, wanted) ?? undefined, () => native.replaySmall(filePath, wanted))
}

/** The result in the only batch of a job that has ended. */
function resultOfSmall(job) {
  const assembly = new Assembly()
  const batch = parseRecord(job.take())
  return assembly.result(assembly.add(batch, job) ?? resultOf(SESSION, batch))
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
  const { signal, onProgress } = options
  if (signal?.aborted) throw signal.reason
  const assembly = new Assembly()
  if (filePath.includes('\0')) return { result: assembly.result(assembly.fail(`Failed to read file: ${openError(filePath)}`)) }
  const wanted = wantedOf(expectedProjectHash, options)
  const begin = (onReady) => start(bundles, filePath, wanted, onReady)
  const done = await runJob(SESSION, begin, { __proto__: null, signal, onProgress, takeBatch: assembly.add })
  return { result: assembly.result(done), historyLength: done.historyLength }
}

/** The options for the addon. */
function wantedOf(projectHash, { throughSeq, auditTrail, strict, snapshot, snapshotDir, onProgress }) {
  return {
    __proto__: null,
    projectHash,
    throughSeq,
    auditTrail: auditTrail === true,
    progress: onProgress !== undefined,
    snapshot: snapshot === true,
    snapshotDir,
    strict: strict === true,
  }
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
