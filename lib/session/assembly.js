'use strict'

const { define, own, plainJson, record, slice } = require('../builtins.js')
const { appendValues } = require('../binding/tape-reader.js')

/** Collects the result of a replay from its batches. */
class Assembly {
  #history = []
  #sessionEvents = []
  #checkpoints = []
  /**
   * The metadata, then the session's name and its ancestry if it has them or, if the replay failed, the error; then the warnings. Errors and
   * warnings are input of `messageText`.
   */
  #results = []

  /** Adds a batch, whose tape is read from the job. Returns an early end of the job if a value can't be read. */
  add = (batch, job) => {
    // Remove items of earlier batches that a later line of the file removed from the history.
    if (batch.keep < this.#history.length) this.#history.length = batch.keep
    if (batch.names === undefined) return undefined
    try {
      appendValues(job, batch, this.#history, this.#sessionEvents, this.#checkpoints, this.#results)
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
    const { failed, lastSeq, eventCount, sequenceCorrupt, isNamed, isFork } = record(done)
    const results = this.#results
    if (failed) return { ok: false, error: messageText(results[0]), warnings: slice(results, 1).map(messageText) }
    const ancestryAt = isNamed ? 2 : 1
    const warningsAt = isFork ? ancestryAt + 1 : ancestryAt
    const result = {
      ok: true,
      history: this.#history,
      metadata: results[0],
      lastSeq,
      eventCount,
      warnings: slice(results, warningsAt).map(messageText),
      sessionEvents: this.#sessionEvents,
      sequenceCorrupt,
      checkpoints: this.#checkpoints,
    }
    if (isNamed) define(result, 'sessionName', own(results[1]))
    if (isFork) define(result, 'ancestry', own(results[ancestryAt]))
    return result
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

module.exports = { Assembly, messageText }
