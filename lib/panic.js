'use strict'

const { withFields } = require('./native.js')

/** A failure of the addon itself: `code`, what it was doing, and what its panic said, which becomes the cause. */
function panicError(code, doing, said) {
  const cause = typeof said === 'string' ? new Error(said) : undefined
  const message = `session-tape failed while ${doing}. This is a bug in session-tape: please report it`
  return withFields(new Error(message, cause && { cause }), { code })
}

module.exports = { panicError }
