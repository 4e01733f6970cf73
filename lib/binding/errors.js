'use strict'

const { define, own, withFields } = require('../builtins.js')

/** The Error for an error of the addon, with all its fields as own properties. */
function errorOf({ message, ...fields }) {
  return withFields(new Error(message), fields)
}

/** An error of an operation on a bundle, with all fields of the addon's error as own properties. */
class BundleError extends Error {
  constructor({ message, ...fields }) {
    super(message)
    withFields(this, fields)
  }
}
define(BundleError.prototype, 'name', { ...own('BundleError'), enumerable: false })

/** The Error for a panic of the addon. `doing` names the operation for the message; `panic`, the message of the panic, becomes the cause. */
function panicError(code, doing, panic) {
  const cause = typeof panic === 'string' ? new Error(panic) : undefined
  const message = `session-tape failed while ${doing}. This is a bug in session-tape: please report it`
  return withFields(new Error(message, cause && { cause }), { code })
}

module.exports = { errorOf, BundleError, panicError }
