'use strict'

const { define, own, plainJson, record, slice } = require('./native.js')
const { appendValues } = require('./tape-reader.js')

/** A session, put together from the batches of its replay. */
class Assembly {
  #history = []
  #sessionEvents = []
  #checkpoints = []
  /**
   * The metadata, the session's name and its ancestry if it has any or, if the replay failed, why; then the warnings. Messages as `messageText`
   * takes them.
   */
  #results = []

  /** Adds a batch, whose tape the job has. Returns an end of the job if that is found to be one. */
  add = (batch, job) => {
    // Items that an earlier batch brought and a later line of the file removed.
    if (batch.keep < this.#history.length) this.#history.length = batch.keep
    if (batch.names === undefined) return undefined
    try {
      appendValues(job, batch, this.#history, this.#sessionEvents, this.#checkpoints, this.#results)
    } catch (error) {
      // A value that was JSON when it was scanned may be something else when it is read again.
      if (error instanceof SyntaxError) return this.fail(CHANGED)
      throw error
    }
  }

  /** The replay has failed, for this reason. Returns the end of the job. */
  fail(message) {
    this.#results = [message]
    return { __proto__: null, failed: true }
  }

  get history() {
    return this.#history
  }

  /** The result of the replay, given the end of its job. */
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

/** How much of a value is shown in a message that no string could hold. */
const SHOWN_OF_HUGE = 1000

/** A message that quotes the file comes in parts: strings as they are shown, other values to be shown as JSON. */
function messageText(message) {
  if (typeof message === 'string') return message
  const parts = message.map((part) => (typeof part === 'string' ? part : plainJson(part)))
  try {
    return parts.join('')
  } catch {
    return parts.map((part) => (part.length > SHOWN_OF_HUGE ? `${part.slice(0, SHOWN_OF_HUGE)}…` : part)).join('')
  }
}

module.exports = { Assembly }
