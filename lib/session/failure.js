'use strict'

// Failures: operations on sessions that were not carried out, with a reason that the caller shows to a user.

const path = require('node:path')
const { acquireSessionLock, SessionLockedError } = require('../locks/session-lock.js')

function failure(error, code) {
  return { ok: false, error, code }
}

/** The reasons with which a listing leaves out files that are no damaged sessions: new ones, and what the system does not let anyone read. */
const UNDAMAGED = /^(?:Empty file|Not a file|E[A-Z0-9]+: )/

/** The failure of a project without sessions. Names a damaged file that may be one: it would otherwise seem to be gone. */
function noSessions(unreadable) {
  const none = 'No sessions found for this project'
  const damaged = unreadable.filter(({ reason }) => !UNDAMAGED.test(reason))
  if (damaged.length === 0) return failure(none, 'NoSessions')
  const { filePath, reason } = damaged[0]
  const more = damaged.length === 1 ? '' : `, and ${damaged.length - 1} more cannot`
  return failure(`${none}, but '${path.basename(filePath)}' cannot be read (${reason})${more}: try session-tape repair`, 'NoSessions')
}

/** For each other file with the id of a session, a warning: as after a conflict of two synchronised directories, one of them may have what the other lacks. */
function namesakesOf({ sessionId, filePath }, sessions, done) {
  const others = sessions.filter((other) => other.sessionId === sessionId && other.filePath !== filePath)
  return others.map((other) => `Session ${sessionId} is also in '${other.filePath}'. '${filePath}' was ${done}`)
}

/**
 * Locks a session. Resolves to `{ lock }`, or to `{ failed }` with a failure. Its text is `busy` if the session is already locked; otherwise the
 * error follows `prefix`.
 */
async function lockSession(chatsDir, sessionId, busy, prefix) {
  try {
    return { __proto__: null, lock: await acquireSessionLock(chatsDir, sessionId) }
  } catch (error) {
    if (error instanceof SessionLockedError) return { __proto__: null, failed: failure(busy, 'Locked') }
    return { __proto__: null, failed: failure(`${prefix}${error.message}`, 'LockFailed') }
  }
}

module.exports = { failure, noSessions, namesakesOf, lockSession }
