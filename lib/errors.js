'use strict'

const { define, own, withFields } = require('./native.js')

/** An error of the addon as an Error: `message`, and the other fields as its own. */
function errorOf({ message, ...fields }) {
  return withFields(new Error(message), fields)
}

/** What is wrong with a bundle: `message`, and the other fields as its own. */
class BundleError extends Error {
  constructor({ message, ...fields }) {
    super(message)
    withFields(this, fields)
  }
}
define(BundleError.prototype, 'name', { ...own('BundleError'), enumerable: false })

/** A failure of the addon itself: `code`, what it was doing, and the message of its panic, which becomes the cause. */
function panicError(code, doing, panic) {
  const cause = typeof panic === 'string' ? new Error(panic) : undefined
  const message = `session-tape failed while ${doing}. This is a bug in session-tape: please report it`
  return withFields(new Error(message, cause && { cause }), { code })
}

module.exports = { errorOf, BundleError, panicError }
