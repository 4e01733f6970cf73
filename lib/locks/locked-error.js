'use strict'

const { define, own, withFields } = require('../builtins.js')

/** The session is locked already. */
class SessionLockedError extends Error {
  constructor(message = 'Session is in use by another process', options) {
    super(message, options)
    withFields(this, { code: 'ESESSIONLOCKED' })
  }
}
define(SessionLockedError.prototype, 'name', { ...own('SessionLockedError'), enumerable: false })

module.exports = { SessionLockedError }
