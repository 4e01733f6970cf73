'use strict'

const { define, own } = require('../builtins.js')
const { SessionLockedError } = require('../locks/locked-error.js')

/** A lock that an operation needs could not be acquired. `cause` is the reason. */
class CheckpointLockError extends Error {}
define(CheckpointLockError.prototype, 'name', { ...own('CheckpointLockError'), enumerable: false })

/** The error for a lock that could not be acquired for this reason. */
function lockError(sessionId, cause) {
  const isBusy = cause instanceof SessionLockedError
  const message = isBusy
    ? `Session ${sessionId} is in use by another process`
    : `Failed to acquire lock for session ${sessionId}: ${cause.message}`
  return new CheckpointLockError(message, { __proto__: null, cause })
}

module.exports = { CheckpointLockError, lockError }
