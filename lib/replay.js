'use strict'

const fs = require('node:fs')
const { native, parse, stringify } = require('./native.js')
const { check, expect } = require('./arguments.js')

function replaySession(filePath, expectedProjectHash, options) {
  check.string(filePath, 'filePath')
  check.optional(expectedProjectHash, 'expectedProjectHash', 'string')
  if (options !== undefined) check.object(options, 'options')
  const { throughSeq, auditTrail, signal, onProgress } = options ?? {}
  expect(
    throughSeq === undefined || (typeof throughSeq === 'number' && !Number.isNaN(throughSeq)),
    'options.throughSeq',
    'a number, if it is given',
    throughSeq,
  )
  check.optional(auditTrail, 'options.auditTrail', 'boolean')
  check.optional(onProgress, 'options.onProgress', 'function')
  check.signal(signal, 'options.signal')

  if (signal?.aborted) return Promise.reject(signal.reason)
  if (filePath.includes('\0')) return Promise.resolve(failedToRead(openError(filePath)))
  return new Promise((resolve, reject) => {
    let task
    const onAbort = () => {
      task.cancel()
      reject(signal.reason)
    }
    const settle = (done, value) => {
      signal?.removeEventListener('abort', onAbort)
      done(value)
    }
    const assembly = new Assembly()
    const wanted = {
      projectHash: expectedProjectHash,
      throughSeq,
      auditTrail: auditTrail === true,
      progress: onProgress !== undefined,
    }
    task = native.startReplay(filePath, wanted, (text) => {
      if (signal?.aborted) return
      try {
        const last = assembly.add(text)
        onProgress?.(assembly.progress)
        if (last) settle(resolve, assembly.result(last))
      } catch (error) {
        task.cancel()
        settle(reject, error)
      }
    })
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

/** A replay's result, put together from the parts that the addon delivers. */
class Assembly {
  #history = []
  #sessionEvents = []
  progress

  /** Adds a part, given as JSON text. Returns it if it is the last. */
  add(text) {
    const part = parsed(text)
    if (part.panicked) throw panicError()
    // What an earlier part brought and a later line of the file took back.
    if (part.keep < this.#history.length) this.#history.length = part.keep
    if (part.history) this.#history = joined(this.#history, part.history)
    if (part.sessionEvents) this.#sessionEvents = joined(this.#sessionEvents, part.sessionEvents)
    this.progress = { bytes: part.bytes, total: part.total }
    return part.warnings && part
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
  return { error: `Failed to read file: ${CHANGED}`, warnings: [] }
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
  if (typeof part === 'string') return part
  try {
    return stringify(part)
  } catch {
    return String(part) // Nested deeper than JSON.stringify can follow.
  }
}

const CHANGED = 'the file was changed while it was being read'

function failedToRead(why) {
  return { ok: false, error: `Failed to read file: ${why}`, warnings: [] }
}

/** What Node says of a path that no file can have. */
function openError(filePath) {
  try {
    fs.closeSync(fs.openSync(filePath))
  } catch (error) {
    return error.message
  }
}

function panicError() {
  const error = new Error('session-tape failed while replaying a session. This is a bug in session-tape: please report it')
  error.code = 'ESESSIONPANIC'
  return error
}

module.exports = { replaySession }
