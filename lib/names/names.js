'use strict'

// The names of the sessions and checkpoints of a project: giving, taking, removing and listing them.

const { hasOwn } = require('../builtins.js')
const { NO_OPTIONS, check, checkSnapshotOptions, expect } = require('../arguments.js')
const { liveCheckpoints } = require('../session/describe.js')
const { ClosedPlace } = require('./closed-place.js')
const { CheckpointLockError } = require('./lock-error.js')
const { expectLive, giveName } = require('./give.js')
const { Locks } = require('./locks.js')
const { OpenPlace } = require('./open-place.js')
const { scanFile } = require('../session/scan.js')

function listCheckpoints(filePath, projectHash, options = NO_OPTIONS) {
  check.filledString(filePath, 'filePath')
  check.filledString(projectHash, 'projectHash')
  checkSnapshotOptions(options)
  return live(filePath, projectHash, options)
}

async function live(filePath, projectHash, { snapshot, snapshotDir }) {
  const report = await reportOn(filePath, projectHash, { __proto__: null, snapshot, snapshotDir })
  return liveCheckpoints(report.checkpoints)
}

function createCheckpoint(place, projectHash, name, options = NO_OPTIONS) {
  checkGiving(place, projectHash, options)
  check.string(name, 'name')
  const give = (where, trimmed, report) => where.createCheckpoint(trimmed, report)
  return given(place, projectHash, { __proto__: null, name, checkpointId: undefined, needsHistory: true, give }, options)
}

function renameCheckpoint(place, projectHash, checkpointId, name, options = NO_OPTIONS) {
  checkGiving(place, projectHash, options)
  check.filledString(checkpointId, 'checkpointId')
  check.string(name, 'name')
  const give = (where, trimmed, report) => where.renameCheckpoint(checkpointId, trimmed, expectLive(report, checkpointId).name)
  return given(place, projectHash, { __proto__: null, name, checkpointId, needsHistory: false, give }, options)
}

function nameSession(place, projectHash, name, options = NO_OPTIONS) {
  checkGiving(place, projectHash, options)
  check.stringOrNull(name, 'name')
  if (name === null) return removed(place, projectHash, (where) => where.setName(null, null), options)
  const give = (where, trimmed, report) => where.setName(trimmed, report?.name ?? null)
  return given(place, projectHash, { __proto__: null, name, checkpointId: null, needsHistory: false, give }, options)
}

function deleteCheckpoint(place, projectHash, checkpointId) {
  checkPlace(place, projectHash)
  check.filledString(checkpointId, 'checkpointId')
  const remove = (where, report) => {
    where.expectFile()
    expectLive(report, checkpointId)
    return where.deleteCheckpoint(checkpointId)
  }
  return removed(place, projectHash, remove, NO_OPTIONS)
}

async function given(place, projectHash, giving, { overwrite, snapshot, snapshotDir }) {
  return giveName(placeOf(place, projectHash), projectHash, giving, { __proto__: null, overwrite, snapshot, snapshotDir })
}

/** Does not acquire the name lock: a removal can only free a name. */
async function removed(place, projectHash, remove, { snapshot, snapshotDir }) {
  const where = placeOf(place, projectHash)
  await where.expectUsable()
  const locks = new Locks(where.chatsDir)
  try {
    await where.enter(locks)
    const report = where.filePath === null ? undefined : await reportOn(where.filePath, projectHash, { __proto__: null, snapshot, snapshotDir })
    if (report !== undefined) where.expectReport(report, false)
    await remove(where, report)
  } finally {
    await locks.release()
  }
}

function placeOf(place, projectHash) {
  return isRecorder(place) ? new OpenPlace(place, projectHash) : new ClosedPlace(place)
}

/** Resolves to the report of a replay of the file. Rejects with the error of the replay. */
async function reportOn(filePath, projectHash, options) {
  const report = await scanFile(filePath, projectHash, options)
  if (hasOwn(report, 'error')) throw new Error(report.error)
  return report
}

function checkGiving(place, projectHash, options) {
  checkPlace(place, projectHash)
  checkSnapshotOptions(options)
  check.optional(options.overwrite, 'options.overwrite', 'boolean')
}

function checkPlace(place, projectHash) {
  check.object(place, 'place')
  check.filledString(projectHash, 'projectHash')
  if (isRecorder(place)) return
  expect(typeof place.filePath === 'string', 'place', 'a recorder, or a closed session', place)
  for (const field of ['filePath', 'chatsDir', 'sessionId']) check.filledString(place[field], `place.${field}`)
}

/** Recognises a recorder by its methods, because it may be of a subclass, or of another program that implements the same methods. */
function isRecorder(place) {
  return METHODS.every((method) => typeof place[method] === 'function')
}

const METHODS = [
  ...['ownsLockFor', 'getOwnedLockHandle', 'getChatsDir', 'getSessionId', 'getFilePath', 'isActive', 'flush'],
  ...['createCheckpoint', 'renameCheckpoint', 'deleteCheckpoint', 'setSessionName'],
]

module.exports = { CheckpointLockError, createCheckpoint, deleteCheckpoint, listCheckpoints, nameSession, renameCheckpoint }
