'use strict'

const os = require('node:os')
const path = require('node:path')
const process = require('node:process')
const { native, parse, stringify, queueMicrotask } = require('./native.js')
const { check } = require('./arguments.js')

/** The services of this thread that may still have to warn, by id. Weak: a service that nobody holds is let go. */
const services = new Map()
const forgotten = new FinalizationRegistry((id) => services.delete(id))
let lastId = 0
let group

const KNOWN_TYPES = new Map(
  ['content', 'compressed', 'rewind', 'provider_switch', 'session_event', 'directories_changed'].map((type, index) => [type, index]),
)
const SEVERITIES = ['info', 'warning', 'error']

/** Tells a service's user of its failure; set by the class, to which it belongs. */
let warn

/** Made with the first service, so that a program that only replays gets no listener for its end. */
function recorderGroup() {
  if (!group) {
    group = new native.RecorderGroup((id) => warn(services.get(id)?.deref()))
    process.on('exit', () => {
      group.drain()
      for (const service of services.values()) warn(service.deref())
    })
  }
  return group
}

class SessionRecordingService {
  #native
  #id
  #sessionId
  #onWarning
  /** False when there is nothing to record to; a failed write makes it false when its warning arrives. */
  #active = true
  #flushing
  #disposed

  static {
    warn = (service) => service?.#warn()
  }

  constructor(config) {
    checkConfig(config)
    const { sessionId, projectHash, chatsDir, workspaceDirs, provider, model, onWarning, durability, exclusive } = config
    const now = Date.now()
    const startTime = new Date(now).toISOString()
    this.#sessionId = sessionId
    this.#onWarning = onWarning
    this.#id = ++lastId
    this.#native = new native.NativeRecorder(recorderGroup(), {
      id: this.#id,
      chatsDir: absolute(chatsDir),
      shortId: sessionId.slice(0, 8),
      fsync: durability === 'fsync',
      exclusiveOwner: exclusive ? stringify(thisProcess()) : undefined,
      startPayload: stringify({ sessionId, projectHash, workspaceDirs, provider, model, startTime }),
      now,
    })
    services.set(this.#id, new WeakRef(this))
    forgotten.register(this, this.#id)
  }

  enqueue(type, payload) {
    if (!this.#active) return
    check.filledString(type, 'type')
    const text = stringify(payload)
    const known = KNOWN_TYPES.get(type)
    const recorded =
      known === undefined
        ? this.#native.recordOther(stringify(type), text, Date.now())
        : this.#native.record(known, text, Date.now())
    // The one thing that can go wrong here is making the file. `enqueue` does not throw for it, and does not call back either.
    if (!recorded) queueMicrotask(() => this.#warn())
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

  async flush() {
    const queued = this.#native.unflushed()
    if (queued === null) return this.#warn()
    const failure = await this.#flushThisTurn()
    if (failure && !failure.isEnvironmental && queued > failure.kept) throw writeError(failure)
  }

  /** The flushes of one turn wait together, for what was queued before the last of them. Resolves to the failure, if there is one. */
  #flushThisTurn() {
    this.#flushing ??= Promise.resolve().then(async () => {
      this.#flushing = undefined
      await this.#native.flush()
      this.#warn()
      const failure = this.#native.failure()
      return failure && parse(failure)
    })
    return this.#flushing
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
    if (!resumed) queueMicrotask(() => this.#warn())
  }

  dispose() {
    if (!this.#disposed) {
      this.#active = false
      // What went wrong is told by onWarning and by flushes; who disposes wants to be done with it.
      this.#disposed = this.#native.dispose().then(() => this.#warn())
    }
    return this.#disposed
  }

  getPendingRecordCount() {
    return this.#native.pendingRecords()
  }

  getPendingByteCount() {
    return this.#native.pendingBytes()
  }

  /** Tells of a failure, the first time that there is one to tell of. */
  #warn() {
    const text = this.#native.takeFailure()
    if (!text) return
    this.#active = false
    services.delete(this.#id)
    const failure = parse(text)
    const owner = ownerOf(failure)
    try {
      this.#onWarning?.({
        code: failure.code,
        message: warningMessage(failure, owner),
        filePath: failure.code === 'ESESSIONLOCKED' ? failure.path : this.getFilePath(),
        eventsDropped: failure.dropped,
        ...(owner && { owner }),
      })
    } catch (error) {
      // The callback's own mistake: reported as such, and not by a flush that has nothing to do with it.
      queueMicrotask(() => {
        throw error
      })
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

/** A file is opened anew for each batch, and the process may have changed its directory since. */
function absolute(filePath) {
  return path.isAbsolute(filePath) ? filePath : path.resolve(filePath)
}

/** Who has a session for itself, for others to read. */
function thisProcess() {
  return { pid: process.pid, startTime: new Date(performance.timeOrigin).toISOString(), host: os.hostname() }
}

/** Nothing, if the lock is another program's or its file can't be read. */
function ownerOf({ owner }) {
  try {
    const { pid, startTime, host } = parse(owner)
    if (typeof pid === 'number' && typeof startTime === 'string' && typeof host === 'string') return { pid, startTime, host }
  } catch {
    // As if it said nothing.
  }
}

function warningMessage({ code, message, dropped, path: filePath }, owner) {
  if (code === 'ESESSIONLOCKED') {
    const who = owner ? `process ${owner.pid} on ${owner.host}, which started ${owner.startTime}` : 'another recorder'
    return `Not recording to '${filePath}': it is being recorded to by ${who}. The session goes on without a recording.`
  }
  const records = dropped === 1 ? '1 record was' : `${dropped} records were`
  return `Recording stopped: ${message}. ${records} not written to '${filePath}'. The session goes on without a recording.`
}

function writeError({ code, errno, syscall, message, path: filePath }) {
  return Object.assign(new Error(`${message}${message.includes(filePath) ? '' : ` '${filePath}'`}`), { errno, code, syscall, path: filePath })
}

module.exports = { SessionRecordingService }
