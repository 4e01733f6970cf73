'use strict'

const { parseRecord, plainJson, slice } = require('./native.js')
const { panicError } = require('./panic.js')
const { appendValues } = require('./tape-reader.js')

/** What a replay delivers, put together from its parts. */
class Assembly {
  #history = []
  #sessionEvents = []
  /** The metadata or, if the replay failed, why; then the warnings. Messages as `messageText` takes them. */
  #results = []
  /** How much of the file is scanned, and whether the last part told of more than those before it, or was the last of all. */
  progress = { bytes: 0, total: 0 }
  hasProgressed = false

  /** Adds a part, given as JSON text; its values are with the delivery. Returns it if it is the last. */
  add(text, delivery) {
    const part = parseRecord(text)
    if (part.panicked !== undefined) throw panicError('ESESSIONPANIC', 'replaying a session', part.panicked)
    // What an earlier part brought and a later line of the file took back.
    if (part.keep < this.#history.length) this.#history.length = part.keep
    if (part.names !== undefined && !this.#append(part, delivery)) return this.fail(CHANGED)
    const { bytes, total, last } = part
    this.hasProgressed = last ? bytes !== undefined : bytes > this.progress.bytes && bytes < total
    if (this.hasProgressed) this.progress = { bytes, total }
    return last && part
  }

  /** What stood in the file when it was scanned parses. What stands there when it is read again may be something else by then. */
  #append(part, delivery) {
    try {
      appendValues(delivery, part, this.#history, this.#sessionEvents, this.#results)
      return true
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error
      return false
    }
  }

  /** The replay has failed, for this reason. Returns what stands for its last part. */
  fail(message) {
    this.#results = [message]
    return { __proto__: null, last: true, failed: true }
  }

  get history() {
    return this.#history
  }

  result({ failed, lastSeq, eventCount }) {
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
