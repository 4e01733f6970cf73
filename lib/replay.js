'use strict'

const fs = require('node:fs')
const { native } = require('./native.js')
const { bundles } = require('./bundles.js')
const { Assembly } = require('./assembly.js')
const { takeDelivery } = require('./delivery.js')
const { NO_OPTIONS, check, expect } = require('./arguments.js')

function replaySession(filePath, expectedProjectHash, options) {
  checkArguments(filePath, expectedProjectHash, options)
  return replay(filePath, expectedProjectHash, options, false).then(({ assembly, last }) => assembly.result(last))
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
  check.optional(options.snapshot, 'options.snapshot', 'boolean')
  check.optional(options.onProgress, 'options.onProgress', 'function')
  check.signal(options.signal, 'options.signal')
}

/**
 * Replays a file, its arguments checked. Resolves to the addon's replay, what was assembled, and the last part. With `onDemand`
 * the items of history are left with the replay.
 */
async function replay(filePath, expectedProjectHash, options = NO_OPTIONS, onDemand) {
  const { throughSeq, auditTrail, snapshot, signal, onProgress } = options
  if (signal?.aborted) throw signal.reason
  if (filePath.includes('\0')) {
    const assembly = new Assembly()
    return { assembly, last: assembly.fail(`Failed to read file: ${openError(filePath)}`) }
  }
  const wanted = {
    __proto__: null,
    projectHash: expectedProjectHash,
    throughSeq,
    auditTrail: auditTrail === true,
    progress: onProgress !== undefined,
    onDemand,
    snapshot: snapshot === true,
  }
  let started
  const start = (onReady) => {
    started = native.startReplay(bundles, filePath, wanted, onReady)
    return started.delivery()
  }
  const delivered = await takeDelivery(start, signal, onProgress)
  return { replayed: started, ...delivered }
}

/** What Node says of a path that no file can have. */
function openError(filePath) {
  try {
    fs.closeSync(fs.openSync(filePath))
  } catch (error) {
    return error.message
  }
}

module.exports = { replaySession, replay, checkArguments }
