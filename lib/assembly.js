'use strict'

const { plainJson, record, slice } = require('./native.js')
const { appendValues } = require('./tape-reader.js')

/** Collects the result of a replay from its batches. */
class Assembly {
  #history = []
  #sessionEvents = []
  /** The metadata or, if the replay failed, the error; then the warnings. Errors and warnings are input of `messageText`. */
  #results = []

  /** Adds a batch, whose tape is read from the job. Returns an early end of the job if a value can't be read. */
  add = (batch, job) => {
    // Remove items of earlier batches that a later line of the file removed from the history.
    if (batch.keep < this.#history.length) this.#history.length = batch.keep
    if (batch.names === undefined) return undefined
    try {
      appendValues(job, batch, this.#history, this.#sessionEvents, this.#results)
    } catch (error) {
      // Values are read from the file again after the scan, and the file may have been changed in between.
      if (error instanceof SyntaxError) return this.fail(CHANGED)
      throw error
    }
  }

  /** Makes the replay fail with an error message. Returns the end of the job. */
  fail(message) {
    this.#results = [message]
    return { __proto__: null, failed: true }
  }

  get history() {
    return this.#history
  }

  /** The result of the replay. `done` is the result of its job. */
  result(done) {
    const { failed, lastSeq, eventCount } = record(done)
    const first = this.#results[0]
    const warnings = slice(this.#results, 1).map(messageText)
    if (failed) return { ok: false, error: messageText(first), warnings }
    return {
      ok: true,
      history: this.#history,
      metadata: first,
      lastSeq,
      eventCount,
      warnings,
      sessionEvents: this.#sessionEvents,
    }
  }
}

const CHANGED = 'Failed to read file: the file was changed while it was being read'

/** The length to which each part is truncated if a message exceeds the maximum length of a string. */
const MAX_PART_LENGTH = 1000

/** The text of a message: a string, or parts to be joined, in which values other than strings are shown as JSON. */
function messageText(message) {
  if (typeof message === 'string') return message
  const parts = message.map((part) => (typeof part === 'string' ? part : plainJson(part)))
  try {
    return parts.join('')
  } catch {
    return parts.map((part) => (part.length > MAX_PART_LENGTH ? `${part.slice(0, MAX_PART_LENGTH)}…` : part)).join('')
  }
}

module.exports = { Assembly }
