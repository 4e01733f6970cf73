'use strict'

const { native, parse, parseRecord, stringify, plainJson, queueMicrotask } = require('../builtins.js')
const { check, expect } = require('../arguments.js')
const { errorOf } = require('../binding/errors.js')
const { OWNER_ONLY, checkMode } = require('../mode.js')
const { checkWorkflow } = require('./workflow.js')
const { Writing, ending, absolute, thisProcess, ownerOf, shownOwner } = require('../writing.js')

/** The numbers of the addon for kinds, which are cheaper to pass than names. */
const KINDS = new Map(native.runEventKinds().map((kind, number) => [kind, number]))
const SCHEDULERS = ['round-robin', 'least-loaded', 'external']

class RunRecorder {
  #native
  #writing
  #snapshots = new Set()
  #closed = false
  #disposed

  constructor(config) {
    checkConfig(config)
    this.#writing = new Writing((group, id) => open(group, id, config), config.onWarning, (failure) => this.#failed(failure))
    this.#native = this.#writing.recorder
    const torn = this.#native.tornBytes()
    if (torn > 0) queueMicrotask(() => this.#writing.callOnWarning(tornWarning(this.#native.path(), torn)))
    const unlocked = this.#native.unlocked()
    if (unlocked) queueMicrotask(() => this.#writing.callOnWarning(unlockedWarning(this.#native.path(), parseRecord(unlocked))))
  }

  append(event) {
    if (this.#closed) throw disposedError()
    check.object(event, 'event')
    const { kind, node, parent, payload } = event
    check.string(kind, 'event.kind')
    checkOptionalId(node, 'event.node')
    checkOptionalId(parent, 'event.parent')
    check.object(payload, 'event.payload')
    const text = stringify(payload)
    // A `toJSON` method of the payload may return anything, and may have disposed of this recorder.
    expect(typeof text === 'string' && text[0] === '{', 'event.payload', 'an object, also as JSON', text)
    if (this.#closed) throw disposedError()
    return this.#record(kind, node, parent, text)
  }

  #record(kind, node, parent, payload) {
    const number = KINDS.get(kind)
    if (number === undefined) throw errorOf(parseRecord(this.#native.unknownKind(kind)))
    const logicalTime = this.#native.append(number, node, parent, payload, Date.now())
    if (ending.hasBegun) this.#writing.warn()
    if (logicalTime === null) throw errorOf(parseRecord(this.#native.takeRefusal()))
    return { eventId: `evt_${logicalTime}`, logicalTime }
  }

  putBlob(data, mediaType) {
    // Loaded on first use, because loading it takes Bun milliseconds.
    const { types } = require('node:util')
    expect(typeof data === 'string' || types.isUint8Array(data), 'data', 'a string or a Uint8Array', data)
    check.optional(mediaType, 'mediaType', 'string')
    if (this.#closed) throw disposedError()
    const hash = this.#native.putBlob(data)
    if (hash === null) throw errorOf(parseRecord(this.#native.takeRefusal()))
    return hash
  }

  snapshot(options) {
    if (options !== undefined) check.object(options, 'options')
    const signWith = options?.signWith
    check.optional(signWith, 'options.signWith', 'string')
    if (this.#closed) return Promise.reject(disposedError())
    const taken = this.#takeSnapshot(signWith)
    // `dispose` waits for the snapshot, even if it fails.
    const settled = taken.then(() => {}, () => {}).then(() => this.#snapshots.delete(settled))
    this.#snapshots.add(settled)
    return taken
  }

  async #takeSnapshot(signWith) {
    const { error, snapshotId, logicalTime, stateHash, contentHash } = parseRecord(await this.#native.snapshot(signWith))
    if (error) throw errorOf(error)
    this.#record('SnapshotCreated', undefined, undefined, plainJson({ snapshot: snapshotId, stateHash, at: logicalTime }))
    return { snapshotId, logicalTime, contentHash }
  }

  state() {
    return parse(this.#native.state())
  }

  flush() {
    return this.#writing.flush()
  }

  isActive() {
    return !this.#closed && this.#native.isActive()
  }

  dispose() {
    if (!this.#disposed) {
      this.#closed = true
      this.#disposed = this.#snapshots.size === 0 ? this.#writing.dispose() : this.#disposeAfterSnapshots()
    }
    return this.#disposed
  }

  async #disposeAfterSnapshots() {
    await Promise.all(this.#snapshots)
    await this.#writing.dispose()
  }

  /** Returns the warning about a failure. */
  #failed({ code, message }) {
    const filePath = this.#native.path()
    // More events may have been appended since the writer failed.
    const eventsDropped = this.#native.missing()
    const events = eventsDropped === 1 ? '1 event was' : `${eventsDropped} events were`
    return {
      code,
      message: `Recording stopped: ${message}. ${events} not written to '${filePath}'. The run goes on without a recording.`,
      filePath,
      eventsDropped,
    }
  }
}

function checkConfig(config) {
  check.object(config, 'config')
  for (const field of ['directory', 'runId']) check.filledString(config[field], `config.${field}`)
  checkWorkflow(config.workflow, 'config.workflow')
  check.oneOf(config.scheduler, 'config.scheduler', SCHEDULERS)
  if (config.capabilities !== undefined) check.filledStrings(config.capabilities, 'config.capabilities')
  check.optional(config.resume, 'config.resume', 'boolean')
  if (config.durability !== undefined) check.oneOf(config.durability, 'config.durability', ['os', 'fsync'])
  check.optional(config.onWarning, 'config.onWarning', 'function')
  checkMode(config.mode, 'config.mode')
}

function checkOptionalId(value, name) {
  expect(value === undefined || value === null || typeof value === 'string', name, 'a string or null, if it is given', value)
}

/** Opens the addon's recorder. Throws an Error if the run, its directory or its log does not allow it. */
function open(group, id, { directory, runId, workflow, scheduler, capabilities, resume, durability, mode }) {
  const opened = native.openRunRecorder(group, {
    __proto__: null,
    id,
    directory: absolute(directory),
    runId,
    workflow: stringify(workflow),
    scheduler,
    capabilities: capabilities && plainJson(capabilities),
    resume: resume === true,
    mode: mode ?? OWNER_ONLY,
    fsync: durability === 'fsync',
    owner: thisProcess(),
    now: Date.now(),
  })
  if (typeof opened !== 'string') return opened
  const failure = parseRecord(opened)
  throw errorOf(failure.code === 'ERUNLOCKED' ? lockedFailure(failure) : failure)
}

function lockedFailure({ code, path, ...failure }) {
  const owner = ownerOf(failure)
  const message = `The run is being recorded by ${shownOwner(owner)}: '${path}'. A log has one recorder at a time.`
  return { code, message, path, ...(owner && { owner }) }
}

function tornWarning(filePath, bytes) {
  const message = `The last line of '${filePath}' was torn: its ${bytes} bytes were cut off. The event in it was never flushed.`
  return { code: 'TornTail', message, filePath, eventsDropped: 1 }
}

function unlockedWarning(filePath, { message }) {
  const text = `'${filePath}' is recorded to without a lock, since its file system has none: ${message}. Do not record to it twice.`
  return { code: 'LockUnsupported', message: text, filePath, eventsDropped: 0 }
}

function disposedError() {
  return errorOf({ message: 'The recorder is disposed: it takes nothing any more.', code: 'RecorderDisposed' })
}

module.exports = { RunRecorder }
