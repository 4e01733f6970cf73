'use strict'

// Failures: operations on sessions that were not carried out, with a reason that the caller shows to a user.

const { acquireSessionLock, SessionLockedError } = require('./session-lock.js')

function failure(error, code) {
  return { ok: false, error, code }
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

module.exports = { failure, lockSession }
