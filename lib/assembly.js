'use strict'

const { parse, stringify } = require('./native.js')

/** What a replay delivers, put together from its parts. */
class Assembly {
  #history = []
  #sessionEvents = []
  /** How much of the file is scanned, and whether the last part told of more than those before it, or was the last of all. */
  progress = { bytes: 0, total: 0 }
  hasProgressed = false

  /** Adds a part, given as JSON text. Returns it if it is the last. */
  add(text) {
    const part = parsed(text)
    if (part.panicked) throw panicError()
    // What an earlier part brought and a later line of the file took back.
    if (part.keep < this.#history.length) this.#history.length = part.keep
    if (part.history) this.#history = joined(this.#history, part.history)
    if (part.sessionEvents) this.#sessionEvents = joined(this.#sessionEvents, part.sessionEvents)
    const { bytes, total, warnings } = part
    this.hasProgressed = warnings ? bytes !== undefined : bytes > this.progress.bytes && bytes < total
    if (this.hasProgressed) this.progress = { bytes, total }
    return warnings && part
  }

  get history() {
    return this.#history
  }

  result(last) {
    const warnings = last.warnings.map(messageText)
    if (last.error !== undefined) return { ok: false, error: messageText(last.error), warnings }
    const { metadata, lastSeq, eventCount } = last
    return { ok: true, history: this.#history, metadata, lastSeq, eventCount, warnings, sessionEvents: this.#sessionEvents }
  }
}

/** What stood in the file when it was scanned parses. What stands there when it is read again may be something else by then. */
function parsed(text) {
  try {
    const part = parse(text)
    if (part.history === undefined || part.history.length === part.count) return part
  } catch {
    // As below.
  }
  return { error: 'Failed to read file: the file was changed while it was being read', warnings: [] }
}

function joined(all, more) {
  if (all.length === 0) return more
  for (let index = 0; index < more.length; index++) all.push(more[index])
  return all
}

/** A message that quotes the file comes in parts: strings as they are shown, other values to be shown as JSON. */
function messageText(message) {
  return typeof message === 'string' ? message : message.map(shown).join('')
}

function shown(part) {
  return typeof part === 'string' ? part : stringify(part)
}

function panicError() {
  const error = new Error('session-tape failed while replaying a session. This is a bug in session-tape: please report it')
  error.code = 'ESESSIONPANIC'
  return error
}

module.exports = { Assembly }
