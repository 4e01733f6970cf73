'use strict'

// Operations on sessions that were not carried out, for a reason that the caller shows to a user.

const { acquireSessionLock, SessionLockedError } = require('./session-lock.js')

function failure(error, code) {
  return { ok: false, error, code }
}

/**
 * Locks a session. Resolves to `{ lock }`, or to `{ failed }` with a failure: `busy` is its text if the session is locked already, any other
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

module.exports = { failure, lockSession }
