'use strict'

const { native, stringify, queueMicrotask } = require('./native.js')
const { check } = require('./arguments.js')
const { Writing, absolute, thisProcess, ownerOf, shownOwner } = require('./writing.js')

const KNOWN_TYPES = new Map(
  ['content', 'compressed', 'rewind', 'provider_switch', 'session_event', 'directories_changed'].map((type, index) => [type, index]),
)
const SEVERITIES = ['info', 'warning', 'error']

class SessionRecordingService {
  #native
  /** Records an event of a known type. */
  #record
  #writing
  #sessionId
  /** False after `dispose` and after the warning about a failure. */
  #active = true
  #disposed

  constructor(config) {
    checkConfig(config)
    const { sessionId, projectHash, chatsDir, workspaceDirs, provider, model, onWarning, durability, exclusive } = config
    const now = Date.now()
    const startTime = new Date(now).toISOString()
    this.#sessionId = sessionId
    const open = (group, id) =>
      new native.NativeRecorder(group, {
        __proto__: null,
        id,
        chatsDir: absolute(chatsDir),
        shortId: sessionId.slice(0, 8),
        fsync: durability === 'fsync',
        exclusiveOwner: exclusive ? thisProcess() : undefined,
        startPayload: stringify({ sessionId, projectHash, workspaceDirs, provider, model, startTime }),
        now,
      })
    this.#writing = new Writing(open, onWarning, (failure) => this.#failed(failure))
    this.#native = this.#writing.recorder
    this.#record = this.#native.recording()
  }

  enqueue(type, payload) {
    if (!this.#active) return
    check.filledString(type, 'type')
    const text = stringify(payload)
    const known = KNOWN_TYPES.get(type)
    const recorded =
      known === undefined
        ? this.#native.recordOther(stringify(type), text, Date.now())
        : this.#record(known, text, Date.now())
    // The file could not be created. `enqueue` does not throw for that, and must not call `onWarning` synchronously.
    if (!recorded) queueMicrotask(() => this.#writing.warn())
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

  flush() {
    return this.#writing.flush()
  }

  isActive() {
    return this.#native.isActive()
  }

  getFilePath() {
    return this.#native.path()
  }

  getSessionId() {
    return this.#sessionId
  }

  initializeForResume(filePath, lastSeq) {
    check.filledString(filePath, 'filePath')
    check.finiteNumber(lastSeq, 'lastSeq')
    const resumed = this.#native.resume(absolute(filePath), lastSeq)
    if (!resumed) queueMicrotask(() => this.#writing.warn())
  }

  dispose() {
    if (!this.#disposed) {
      this.#active = false
      this.#disposed = this.#writing.dispose()
    }
    return this.#disposed
  }

  getPendingRecordCount() {
    return this.#native.pendingRecords()
  }

  getPendingByteCount() {
    return this.#native.pendingBytes()
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

function checkConfig(config) {
  check.object(config, 'config')
  for (const field of ['sessionId', 'projectHash', 'chatsDir']) check.filledString(config[field], `config.${field}`)
  check.strings(config.workspaceDirs, 'config.workspaceDirs')
  for (const field of ['provider', 'model']) check.string(config[field], `config.${field}`)
  check.optional(config.onWarning, 'config.onWarning', 'function')
  if (config.durability !== undefined) check.oneOf(config.durability, 'config.durability', ['os', 'fsync'])
  check.optional(config.exclusive, 'config.exclusive', 'boolean')
}

function warningMessage({ code, message, path: filePath }, dropped, owner) {
  if (code === 'ESESSIONLOCKED') {
    return `Not recording to '${filePath}': it is being recorded to by ${shownOwner(owner)}. The session goes on without a recording.`
  }
  const records = dropped === 1 ? '1 record was' : `${dropped} records were`
  return `Recording stopped: ${message}. ${records} not written to '${filePath}'. The session goes on without a recording.`
}

module.exports = { SessionRecordingService }
