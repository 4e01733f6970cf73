'use strict'

// What of a recorder goes on in the background: flushes, failures and the end of the process. The same for sessions and runs.

const os = require('node:os')
const path = require('node:path')
const process = require('node:process')
const { native, parseRecord, plainJson, withFields, queueMicrotask } = require('./native.js')

/** The writings of this thread that may still have to warn, by id. Weak: a recorder without references is collected. */
const writings = new Map()
const forgotten = new FinalizationRegistry((id) => writings.delete(id))
let lastId = 0
let group

/** Made with the first recorder, so that a program that only replays gets no listener for its end. */
function recorderGroup() {
  if (!group) {
    group = new native.RecorderGroup((id) => writings.get(id)?.deref()?.warn())
    process.on('exit', () => {
      group.drain()
      for (const writing of writings.values()) writing.deref()?.warn()
    })
  }
  return group
}

class Writing {
  recorder
  #native
  #id
  #onWarning
  #describe
  #flushing
  #told = false

  /**
   * The writing of a recorder that `open` makes, given its group and its id: of `recorder`. Throws what `open` throws. `describe`
   * makes the warning of a failure.
   */
  constructor(open, onWarning, describe) {
    this.#id = ++lastId
    this.recorder = open(recorderGroup(), this.#id)
    this.#native = this.recorder.takeWriting()
    this.#onWarning = onWarning
    this.#describe = describe
    writings.set(this.#id, new WeakRef(this))
    forgotten.register(this, this.#id)
  }

  /** Rejects for a writer that has failed as well, until its warning was given: before that the caller could not know. */
  async flush() {
    if (this.#told) return
    const queued = this.#native.unflushed()
    if (queued === null) return
    const failure = await this.#flushThisTurn()
    if (failure && !failure.isEnvironmental && queued > failure.kept) throw writeError(failure)
  }

  /** The flushes of one turn wait together, for what was queued before the last of them. Resolves to the failure, if there is one. */
  #flushThisTurn() {
    this.#flushing ??= Promise.resolve().then(async () => {
      this.#flushing = undefined
      await this.#native.flush()
      this.warn()
      const failure = this.#native.failure()
      return failure && parseRecord(failure)
    })
    return this.#flushing
  }

  /** Resolves when all is written and the file is closed and unlocked. */
  async dispose() {
    await this.recorder.dispose()
    // Failures are reported by onWarning and by flushes; dispose resolves all the same.
    this.warn()
  }

  /** Tells of a failure, the first time that there is one to tell of. */
  warn() {
    const text = this.#native.takeFailure()
    if (!text) return
    this.#told = true
    writings.delete(this.#id)
    this.tell(this.#describe(parseRecord(text)))
  }

  /** Calls onWarning. What that throws is the callback's own mistake: reported as such, and not by whatever led here. */
  tell(warning) {
    try {
      this.#onWarning?.(warning)
    } catch (error) {
      queueMicrotask(() => {
        throw error
      })
    }
  }
}

/** A file is opened anew for each batch, and the process may have changed its directory since. */
function absolute(filePath) {
  return path.isAbsolute(filePath) ? filePath : path.resolve(filePath)
}

/** Who has a file for itself, as text for others to read. */
function thisProcess() {
  const startTime = new Date(performance.timeOrigin).toISOString()
  return plainJson({ pid: process.pid, startTime, host: os.hostname() })
}

/** The process that another recorder's text tells of. Nothing, if the lock is another program's or its file can't be read. */
function ownerOf({ owner }) {
  try {
    const { pid, startTime, host } = parseRecord(owner)
    if (typeof pid === 'number' && typeof startTime === 'string' && typeof host === 'string') return { pid, startTime, host }
  } catch {
    // As if it said nothing.
  }
}

/** An owner in words. */
function shownOwner(owner) {
  return owner ? `process ${owner.pid} on ${owner.host}, which started ${owner.startTime}` : 'another recorder'
}

function writeError({ code, errno, syscall, message, path: filePath }) {
  const where = message.includes(filePath) ? '' : ` '${filePath}'`
  return withFields(new Error(`${message}${where}`), { errno, code, syscall, path: filePath })
}

module.exports = { Writing, absolute, thisProcess, ownerOf, shownOwner }
