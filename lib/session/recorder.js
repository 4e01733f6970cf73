'use strict'

const { native, stringify, queueMicrotask, define } = require('../builtins.js')
const { check } = require('../arguments.js')
const { OWNER_ONLY, checkMode } = require('../mode.js')
const { nameOf, startPayload } = require('./new-session.js')
const { Writing, ending, absolute, thisProcess, ownerOf, shownOwner } = require('../writing.js')
const { timestamp } = require('../timestamp.js')
const { turns, beginTurn } = require('../turns.js')

const KNOWN_TYPES = new Map(
  ['content', 'compressed', 'rewind', 'provider_switch', 'session_event', 'directories_changed'].map((type, index) => [type, index]),
)
const SEVERITIES = ['info', 'warning', 'error']
const FILE_NAMES = ['minutes', 'seconds']

/** How long nothing may have been recorded before the recorder looks, first of all, whether its lock is still its own: the machine may have slept. */
const LOOK_AFTER_MS = 60 * 60 * 1000

let disposedOf

class SessionRecordingService {
  static {
    disposedOf = (recorder) => (#disposed in recorder ? recorder.#disposed : undefined)
  }

  #native
  /** Records an event of a known type. */
  #record
  #writing
  #config
  /** False after `dispose` and after the warning about a failure. */
  #active = true
  #title
  /** The turn of the event loop in which the last event was recorded. */
  #turn = -1
  #lock = null
  /** The lock behind the handle, unless a caller has made that. */
  #heldLock
  #recordedAt
  #disposed

  static async createLocked(config) {
    checkConfig(config)
    const { acquireSessionLock } = require('../locks/session-lock.js')
    const lock = await acquireSessionLock(config.chatsDir, config.sessionId)
    try {
      const recorder = new this(config)
      recorder.adoptLock(lock)
      return recorder
    } catch (error) {
      await lock.release()
      throw error
    }
  }

  constructor(config) {
    checkConfig(config)
    const { sessionId, projectHash, chatsDir, onWarning, durability, exclusive, mode } = config
    const now = Date.now()
    const { nameHasSeconds, idPrefix } = nameOf(config)
    this.#config = { __proto__: null, sessionId, projectHash, chatsDir }
    bindMethods(this)
    const open = (group, id) =>
      new native.NativeRecorder(group, {
        __proto__: null,
        id,
        chatsDir: absolute(chatsDir),
        nameHasSeconds,
        idPrefix,
        mode: mode ?? OWNER_ONLY,
        fsync: durability === 'fsync',
        exclusiveOwner: exclusive ? thisProcess() : undefined,
        startPayload: startPayload(config, timestamp(now)),
        now,
      })
    this.#writing = new Writing(open, onWarning, (failure) => this.#failed(failure))
    this.#native = this.#writing.recorder
    this.#record = this.#native.recording()
  }

  enqueue(type, payload) {
    if (!this.#active) return null
    check.filledString(type, 'type')
    const text = stringify(payload)
    const known = KNOWN_TYPES.get(type)
    const now = Date.now()
    if (this.#heldLock !== undefined) this.#expectLock(now)
    const isNewTurn = this.#turn !== turns.current
    if (isNewTurn) this.#turn = beginTurn()
    const seq = known === undefined ? this.#recordOther(type, text, now, isNewTurn) : isNewTurn ? this.#record(known, text, now, true) : this.#record(known, text, now)
    if (ending.hasBegun) this.#writing.warn()
    if (seq === seq) return { v: 1, seq, ts: timestamp(now), type, payload }
    // The file could not be created. `enqueue` does not throw for that, and must not call `onWarning` synchronously.
    queueMicrotask(() => this.#writing.warn())
    return null
  }

  #recordOther(type, text, now, isNewTurn) {
    if (isNewTurn) this.#native.beginTurn()
    return this.#native.recordOther(stringify(type), text, now)
  }

  recordContent(content) {
    check.object(content, 'content')
    this.enqueue('content', { content })
  }

  recordCompressed(summary, itemsCompressed) {
    check.object(summary, 'summary')
    check.finiteNumber(itemsCompressed, 'itemsCompressed')
    this.enqueue('compressed', { summary, itemsCompressed })
  }

  recordRewind(itemsRemoved) {
    check.count(itemsRemoved, 'itemsRemoved')
    this.enqueue('rewind', { itemsRemoved })
  }

  recordProviderSwitch(provider, model) {
    check.filledString(provider, 'provider')
    check.string(model, 'model')
    this.enqueue('provider_switch', { provider, model })
  }

  recordSessionEvent(severity, message) {
    check.oneOf(severity, 'severity', SEVERITIES)
    check.string(message, 'message')
    this.enqueue('session_event', { severity, message })
  }

  recordDirectoriesChanged(directories) {
    check.strings(directories, 'directories')
    this.enqueue('directories_changed', { directories })
  }

  recordSessionMetadata(title) {
    check.stringOrNull(title, 'title')
    if (!this.isActive()) return
    this.#title = title
    this.enqueue('session_metadata', { title })
  }

  getSessionMetadataTitle() {
    return this.#title
  }

  recordSessionFork(fork) {
    check.object(fork, 'fork')
    check.string(fork.parentSessionId, 'fork.parentSessionId')
    check.safeCount(fork.parentSequence, 'fork.parentSequence')
    check.filledString(fork.checkpointId, 'fork.checkpointId')
    check.string(fork.checkpointName, 'fork.checkpointName')
    if (!this.isActive()) throw new Error('Cannot record session fork: recording is inactive')
    this.enqueue('session_forked', fork)
  }

  createCheckpoint(name) {
    check.string(name, 'name')
    return durable().createCheckpoint(this, name)
  }

  renameCheckpoint(checkpointId, name) {
    check.filledString(checkpointId, 'checkpointId')
    check.string(name, 'name')
    return durable().renameCheckpoint(this, checkpointId, name)
  }

  deleteCheckpoint(checkpointId) {
    check.filledString(checkpointId, 'checkpointId')
    return durable().deleteCheckpoint(this, checkpointId)
  }

  setSessionName(name) {
    check.stringOrNull(name, 'name')
    return durable().setSessionName(this, name)
  }

  flush() {
    return this.#writing.flush()
  }

  isActive() {
    return this.#active && this.#native.isActive()
  }

  getFilePath() {
    return this.#native.path()
  }

  getSessionId() {
    return this.#config.sessionId
  }

  getChatsDir() {
    return this.#config.chatsDir
  }

  getProjectHash() {
    return this.#config.projectHash
  }

  initializeForResume(filePath, lastSeq, title) {
    check.filledString(filePath, 'filePath')
    check.finiteNumber(lastSeq, 'lastSeq')
    if (title !== undefined) {
      check.stringOrNull(title, 'title')
      this.#title = title
    }
    const resumed = this.#native.resume(absolute(filePath), lastSeq)
    if (!resumed) queueMicrotask(() => this.#writing.warn())
  }

  adoptLock(lock) {
    check.lock(lock, 'lock')
    if (this.#lock) throw new Error('Session recording already owns a lock')
    if (this.#disposed) throw new Error('Session recording has ended and would never release the lock')
    this.#lock = lock
    this.#watch(require('../locks/handle.js').heldLockOf(lock))
  }

  /** Ends the recording when the lock is found to be lost. The reference is weak, so that recorders without references are collected. */
  #watch(heldLock) {
    if (heldLock === undefined) return
    this.#heldLock = heldLock
    this.#recordedAt = Date.now()
    const recorder = new WeakRef(this)
    heldLock.whenLost(() => {
      const live = recorder.deref()
      if (live !== undefined) live.#native.loseLock(heldLock.path)
    })
  }

  #expectLock(now) {
    if (now - this.#recordedAt >= LOOK_AFTER_MS) this.#heldLock.lookNow()
    this.#recordedAt = now
  }

  ownsLockFor(sessionId) {
    return this.#lock !== null && this.#config.sessionId === sessionId && this.isActive()
  }

  getOwnedLockHandle() {
    return this.isActive() ? this.#lock : null
  }

  dispose() {
    if (!this.#disposed) {
      // The caller may handle a rejection, but one that is not awaited must not end the process.
      this.#disposed = this.#end()
      this.#disposed.catch(() => {})
    }
    return this.#disposed
  }

  async #end() {
    const flushed = attempt(() => this.flush())
    this.#active = false
    try {
      await this.#writing.dispose()
      await flushed
    } finally {
      await this.#lock?.release()
    }
  }

  getPendingRecordCount() {
    return this.#native.pendingRecords(this.#turn === turns.current)
  }

  getPendingByteCount() {
    return this.#native.pendingBytes(this.#turn === turns.current)
  }

  /** Ends the recording after a failure, and returns the warning. */
  #failed(failure) {
    this.#active = false
    const owner = ownerOf(failure)
    // More events may have been enqueued since the writer failed.
    const eventsDropped = this.#native.missing()
    return {
      code: failure.code,
      message: warningMessage(failure, eventsDropped, owner),
      filePath: failure.code === 'ESESSIONLOCKED' ? failure.path : this.getFilePath(),
      eventsDropped,
      ...(owner && { owner }),
    }
  }
}

/** Operations that few recorders use, loaded on first use. */
function durable() {
  return require('./durable-operations.js')
}

/**
 * Waits until a recorder that was disposed of has written its last record and released its lock. Resolves at once for a recorder that was not;
 * never rejects.
 */
async function endOf(recorder) {
  try {
    await disposedOf(recorder)
  } catch {
    // The caller of `dispose` gets the error.
  }
}

/** Calls a function that may be the caller's override. Exceptions become rejections, which are never reported as unhandled. */
function attempt(operation) {
  const outcome = new Promise((resolve) => resolve(operation()))
  outcome.catch(() => {})
  return outcome
}

/** Makes every method usable detached from its object. A subclass's override is bound instead of the method that it overrides. */
function bindMethods(recorder) {
  for (let index = 0; index < METHODS.length; index++) {
    const method = recorder[METHODS[index]]
    if (typeof method !== 'function') continue
    define(recorder, METHODS[index], { __proto__: null, value: method.bind(recorder), writable: true, configurable: true })
  }
}

function checkConfig(config) {
  check.object(config, 'config')
  for (const field of ['sessionId', 'projectHash', 'chatsDir']) check.filledString(config[field], `config.${field}`)
  check.strings(config.workspaceDirs, 'config.workspaceDirs')
  for (const field of ['provider', 'model']) check.string(config[field], `config.${field}`)
  checkRecorderOptions(config, 'config')
}

/** Checks the options that a caller can set for a recorder that this library creates. */
function checkRecorderOptions(options, name) {
  check.object(options, name)
  check.optional(options.cwd, `${name}.cwd`, 'string')
  if (options.fileName !== undefined) check.oneOf(options.fileName, `${name}.fileName`, FILE_NAMES)
  check.optional(options.onWarning, `${name}.onWarning`, 'function')
  if (options.durability !== undefined) check.oneOf(options.durability, `${name}.durability`, ['os', 'fsync'])
  check.optional(options.exclusive, `${name}.exclusive`, 'boolean')
  checkMode(options.mode, `${name}.mode`)
}

function warningMessage({ code, message, path: filePath }, dropped, owner) {
  if (code === 'ESESSIONLOCKED') {
    return `Not recording to '${filePath}': it is being recorded to by ${shownOwner(owner)}. The session goes on without a recording.`
  }
  const records = dropped === 1 ? '1 record was' : `${dropped} records were`
  return `Recording stopped: ${message}. ${records} not written to '${filePath}'. The session goes on without a recording.`
}

const METHODS = Object.getOwnPropertyNames(SessionRecordingService.prototype).filter((name) => name !== 'constructor')

module.exports = { SessionRecordingService, checkRecorderOptions, endOf }
