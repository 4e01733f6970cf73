'use strict'

const { parseRecord } = require('./native.js')
const { panicError } = require('./panic.js')

/** What is delivered of a run that is replayed or verified: how far it is, and then, in one piece, the result. */
class RunReport {
  progress = { bytes: 0, total: 0 }
  hasProgressed = false

  /** Adds a part, given as JSON text. Returns it if it is the last. */
  add(text) {
    const part = parseRecord(text)
    if (part.panicked !== undefined) throw panicError('ERUNPANIC', 'reading a run', part.panicked)
    const { bytes, total, done } = part
    this.hasProgressed = bytes !== undefined
    if (this.hasProgressed) this.progress = { bytes, total }
    return done === null ? undefined : part
  }
}

module.exports = { RunReport }
