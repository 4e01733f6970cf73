'use strict'

const path = require('node:path')
const { check } = require('../arguments.js')
const { acquire } = require('./acquire.js')
const { cleanUp } = require('./clean-up.js')
const { handleOf } = require('./handle.js')
const { readLockFile } = require('./lock-file.js')
const { SessionLockedError } = require('./locked-error.js')
const { lockPathOf, lockPathOfFile } = require('./path.js')
const { removeIfStale } = require('./removal.js')
const { isStale } = require('./staleness.js')

function sessionLockPath(chatsDir, sessionId) {
  checkPlace(chatsDir, sessionId)
  return lockPathOf(chatsDir, sessionId)
}

function sessionLockPathOf(filePath) {
  check.filledString(filePath, 'filePath')
  return lockPathOfFile(filePath)
}

function acquireSessionLock(chatsDir, sessionId) {
  checkPlace(chatsDir, sessionId)
  return acquired(chatsDir, sessionId)
}

/** Resolves to the handle, whose functions can be called detached from it. */
async function acquired(chatsDir, sessionId) {
  const lockPath = lockPathOf(chatsDir, sessionId)
  return handleOf(lockPath, await acquire(path.resolve(lockPath), sessionId))
}

function isSessionLocked(chatsDir, sessionId) {
  checkPlace(chatsDir, sessionId)
  return isLocked(chatsDir, sessionId)
}

async function isLocked(chatsDir, sessionId) {
  const lockPath = lockPathOf(chatsDir, sessionId)
  const file = await readLockFile(lockPath)
  return file !== null && !(await isStale(lockPath, file, false))
}

function isLockStale(lockPath, options) {
  check.filledString(lockPath, 'lockPath')
  if (options !== undefined) check.object(options, 'options')
  check.optional(options?.pidReuse, 'options.pidReuse', 'boolean')
  return isFileStale(lockPath, options?.pidReuse === true)
}

async function isFileStale(lockPath, pidReuse) {
  const file = await readLockFile(lockPath)
  return file !== null && (await isStale(lockPath, file, pidReuse))
}

function removeStaleLock(chatsDir, sessionId) {
  checkPlace(chatsDir, sessionId)
  return removeStale(chatsDir, sessionId)
}

async function removeStale(chatsDir, sessionId) {
  return removeIfStale(path.resolve(lockPathOf(chatsDir, sessionId)), sessionId)
}

function cleanUpLocks(chatsDir) {
  check.filledString(chatsDir, 'chatsDir')
  return cleanUp(path.resolve(chatsDir))
}

/** Does not check whether the id is safe: functions that return a promise reject for an unsafe id instead of throwing. */
function checkPlace(chatsDir, sessionId) {
  check.filledString(chatsDir, 'chatsDir')
  check.string(sessionId, 'sessionId')
}

module.exports = {
  sessionLockPath,
  sessionLockPathOf,
  acquireSessionLock,
  isSessionLocked,
  isLockStale,
  removeStaleLock,
  cleanUpLocks,
  SessionLockedError,
}
