'use strict'

// The background part of session and run recorders: flushes, failures, and the end of the process.

const path = require('node:path')
const { endTurn } = require('./turns.js')
const { native, parseRecord, plainJson, withFields, queueMicrotask } = require('./builtins.js')

/** The writings of this thread that have not warned yet, by id. The references are weak, so that unreferenced recorders are collected. */
const writings = new Map()
const registry = new FinalizationRegistry((id) => writings.delete(id))
let lastId = 0
let group
/** Whether the process or the worker is ending. */
const ending = { __proto__: null, hasBegun: false }

/** Created with the first recorder, so that a program that only replays gets no exit listener. */
function recorderGroup() {
  if (!group) {
    group = new native.RecorderGroup((id) => writings.get(id)?.deref()?.warn())
    // Before other listeners, of which one may record and then call `process.exit` again.
    process.prependListener('exit', leave)
    if (process._exiting) leave()
    drainBeforeExecve()
  }
  return group
}

/** From now on, recording waits until its records are written, and warns at once: no later turn of the event loop will. */
function leave() {
  ending.hasBegun = true
  group.leave()
  warnAll()
}

function warnAll() {
  for (const writing of writings.values()) writing.deref()?.warn()
}

/** `process.execve` (Node.js 24) replaces the program without an event: it ends all threads, and waits for none. */
function drainBeforeExecve() {
  const { execve } = process
  if (typeof execve !== 'function') return
  process.execve = {
    execve(...args) {
      native.drainAllRecorders()
      warnAll()
      return Reflect.apply(execve, this, args)
    },
  }.execve
}

class Writing {
  recorder
  #native
  #id
  #onWarning
  #describe
  #flushing
  #hasWarned = false

  /**
   * Opens a recorder with `open(group, id)`, whose exceptions are passed on. `describe` turns a failure into a warning.
   */
  constructor(open, onWarning, describe) {
    this.#id = ++lastId
    this.recorder = open(recorderGroup(), this.#id)
    this.#native = this.recorder.takeWriting()
    this.#onWarning = onWarning
    this.#describe = describe
    writings.set(this.#id, new WeakRef(this))
    registry.register(this, this.#id)
  }

  /** Also rejects for failures that precede the call, until `onWarning` has reported them: only then does the caller know. */
  async flush() {
    if (this.#hasWarned) return
    const queued = this.#native.unflushed()
    if (queued === null) {
      await undefined
      return endTurn()
    }
    const failure = await this.#flushThisTurn()
    if (failure && !failure.isEnvironmental && queued > failure.kept) throw writeError(failure)
  }

  /** Combines the flushes of one turn of the event loop. Resolves to the writer's failure, if there is one. */
  #flushThisTurn() {
    this.#flushing ??= Promise.resolve().then(async () => {
      this.#flushing = undefined
      await this.#native.flush()
      endTurn()
      this.warn()
      const failure = this.#native.failure()
      return failure && parseRecord(failure)
    })
    return this.#flushing
  }

  /** Resolves when everything is written, and the file is closed and unlocked. */
  async dispose() {
    await this.recorder.dispose()
    endTurn()
    // Failures are reported by `onWarning` and by flushes; `dispose` does not reject.
    this.warn()
  }

  /** Reports the writer's failure to `onWarning`, once. */
  warn() {
    const text = this.#native.takeFailure()
    if (!text) return
    this.#hasWarned = true
    writings.delete(this.#id)
    this.callOnWarning(this.#describe(parseRecord(text)))
  }

  /** Calls `onWarning`. Its exceptions are reported as uncaught exceptions rather than to the caller of this library. */
  callOnWarning(warning) {
    try {
      this.#onWarning?.(warning)
    } catch (error) {
      queueMicrotask(() => {
        throw error
      })
    }
  }
}

/** An absolute path, because the file is opened again for each batch and the process may change its working directory. */
function absolute(filePath) {
  return path.isAbsolute(filePath) ? filePath : path.resolve(filePath)
}

/** This process as the owner of its locks, as JSON for the lock file. */
function thisProcess() {
  const os = require('node:os')
  // That of the module: the global one may be a browser's, which begins with its window.
  const { performance } = require('node:perf_hooks')
  const startTime = new Date(performance.timeOrigin).toISOString()
  return plainJson({ pid: process.pid, startTime, host: os.hostname() })
}

/** Returns the owner of a lock, or `undefined` if another program has the lock or its owner can't be read. */
function ownerOf({ owner }) {
  try {
    const { pid, startTime, host } = parseRecord(owner)
    if (typeof pid === 'number' && typeof startTime === 'string' && typeof host === 'string') return { pid, startTime, host }
  } catch {
    // The text was not written by this library.
  }
}

/** The description of an owner for messages. */
function shownOwner(owner) {
  return owner ? `process ${owner.pid} on ${owner.host}, which started ${owner.startTime}` : 'another recorder'
}

function writeError({ code, errno, syscall, message, path: filePath }) {
  const where = message.includes(filePath) ? '' : ` '${filePath}'`
  // `FileReplaced` is found when the file is opened, and has no number of the system.
  return withFields(new Error(`${message}${where}`), { errno: errno ?? 0, code, syscall: syscall ?? 'open', path: filePath })
}

module.exports = { Writing, ending, absolute, thisProcess, ownerOf, shownOwner }
