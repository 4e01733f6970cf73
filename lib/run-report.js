'use strict'

const { parse } = require('./native.js')

/** What is delivered of a run that is replayed or verified: how far it is, and then, in one piece, the result. */
class RunReport {
  progress = { bytes: 0, total: 0 }
  hasProgressed = false

  /** Adds a part, given as JSON text. Returns it if it is the last. */
  add(text) {
    const part = parse(text)
    if (part.panicked) throw panicError()
    const { bytes, total, done } = part
    this.hasProgressed = bytes !== undefined
    if (this.hasProgressed) this.progress = { bytes, total }
    return done === null ? undefined : part
  }
}

function panicError() {
  const error = new Error('session-tape failed while reading a run. This is a bug in session-tape: please report it')
  error.code = 'ERUNPANIC'
  return error
}

module.exports = { RunReport, panicError }
