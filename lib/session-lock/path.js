'use strict'

// The names of the files of a lock, and which names are such.

const path = require('node:path')

const SAFE_ID = /^[A-Za-z0-9_-]{1,256}$/
const LOCK = /^([A-Za-z0-9_-]{1,256})\.lock$/
const GUARD = /^[A-Za-z0-9_-]{1,256}\.lock\.tguard$/
const TEMPORARY = /^[A-Za-z0-9_-]{1,256}\.lock\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.locktmp$/i

function isSafeId(value) {
  return typeof value === 'string' && SAFE_ID.test(value)
}

/** The path of a session's lock, relative if the directory's is. Throws for an id that could name a file elsewhere. */
function lockPathOf(chatsDir, sessionId) {
  if (!isSafeId(sessionId)) throw new Error(`Unsafe session ID rejected: "${sessionId}"`)
  const lockPath = childOf(chatsDir, `${sessionId}.lock`)
  if (path.dirname(path.resolve(lockPath)) !== path.resolve(chatsDir)) {
    throw new Error(`Unsafe lock path "${lockPath}" is not a direct child of "${chatsDir}"`)
  }
  return lockPath
}

/** As `path.join` gives it, without the array that it fills: arrays may inherit setters of indices. */
function childOf(directory, name) {
  return path.normalize(`${directory}${path.sep}${name}`)
}

/** The session that a file name is the lock of; `null` for any other file. */
function sessionOfLock(name) {
  const found = LOCK.exec(name)
  return found === null ? null : found[1]
}

function isGuard(name) {
  return GUARD.test(name)
}

function isTemporary(name) {
  return TEMPORARY.test(name)
}

function guardPathOf(lockPath) {
  return `${lockPath}.tguard`
}

/** The path of a lock or a guard before it is published, or of the mark of a guard that is being removed. */
function temporaryPathOf(lockPath, uuid) {
  return `${lockPath}.${uuid}.locktmp`
}

/** The path of the lock that a guard belongs to. */
function lockPathOfGuard(guardPath) {
  return guardPath.slice(0, -'.tguard'.length)
}

module.exports = { childOf, isSafeId, lockPathOf, sessionOfLock, isGuard, isTemporary, guardPathOf, temporaryPathOf, lockPathOfGuard }
