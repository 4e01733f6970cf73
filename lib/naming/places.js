'use strict'

// Where names are given: an open session, through the recorder that has it, or a closed one, by appending to its file.
//
// Both kinds of place have the same methods. Those that record return a function that undoes it, where that is possible by a record.

const path = require('node:path')
const { randomUUID } = require('node:crypto')
const { scanFile } = require('../scan.js')
const { ClosedFile } = require('./closed-file.js')

const NO_SNAPSHOT = Object.freeze({ __proto__: null })

/** The place that a caller has passed: a recorder, or the location of a closed session. */
function placeOf(place, projectHash) {
  return typeof place.filePath === 'string' ? new ClosedPlace(place) : new OpenPlace(place, projectHash)
}

class OpenPlace {
  #recorder
  #projectHash
  #lock

  constructor(recorder, projectHash) {
    this.#recorder = recorder
    this.#projectHash = projectHash
    this.chatsDir = recorder.getChatsDir()
    this.sessionId = recorder.getSessionId()
  }

  /** Null before the session has a file. */
  get filePath() {
    return this.#recorder.getFilePath()
  }

  /** Throws unless the recorder may be used: its lock keeps all others away from the file. */
  async expectUsable() {
    this.#lock = this.#recorder.ownsLockFor(this.sessionId) ? this.#recorder.getOwnedLockHandle() : null
    if (this.#lock === null || !(await this.#lock.ownsLock())) {
      throw new Error('Active recording does not own its live session lock')
    }
  }

  /** Keeps others away from the file, and has it complete. */
  async enter() {
    await this.#recorder.flush()
  }

  /** Throws unless the session has a file that a checkpoint can be in. */
  expectFile() {
    if (this.filePath === null) throw new Error('Active recording is not materialized')
  }

  /** Throws if nothing may be recorded. The recorder's methods check what they need. */
  expectReport() {}

  async createCheckpoint(name) {
    const created = await this.#recorder.createCheckpoint(name)
    const undo = this.#undoing(
      (recorder) => recorder.deleteCheckpoint(created.checkpointId),
      'checkpoint_deleted',
      { checkpointId: created.checkpointId },
    )
    return { value: created, undo }
  }

  async renameCheckpoint(checkpointId, name, before) {
    await this.#recorder.renameCheckpoint(checkpointId, name)
    const record = { checkpointId, name: before }
    return { undo: this.#undoing((recorder) => recorder.renameCheckpoint(checkpointId, before), 'checkpoint_renamed', record) }
  }

  async setName(name, before) {
    await this.#recorder.setSessionName(name)
    return { undo: this.#undoing((recorder) => recorder.setSessionName(before), 'session_named', { name: before }) }
  }

  /** A deleted checkpoint cannot be had back. */
  async deleteCheckpoint(checkpointId) {
    await this.#recorder.deleteCheckpoint(checkpointId)
    return { undo: undefined }
  }

  /** Undoes by a further record: the file of an open session is never cut. */
  #undoing(throughRecorder, type, payload) {
    return async () => {
      if (this.#recorder.isActive()) await throughRecorder(this.#recorder)
      else await this.#append(type, payload)
    }
  }

  /** The recorder has ended. Until it is disposed of, its lock is still held. */
  async #append(type, payload) {
    const lock = (await this.#lock.ownsLock()) ? undefined : await acquire(this)
    try {
      const { filePath, sessionId } = this
      const { error, lastSeq } = await scanFile(filePath, this.#projectHash, NO_SNAPSHOT)
      if (error !== undefined) throw new Error(error)
      await new ClosedFile(filePath, sessionId, lastSeq).append(type, payload)
    } finally {
      await lock?.release()
    }
  }

  /** Nothing: what was recorded is undone by records. */
  async cutBack() {}
}

function acquire({ chatsDir, sessionId }) {
  const { acquireSessionLock } = require('../session-lock.js')
  return acquireSessionLock(chatsDir, sessionId)
}

class ClosedPlace {
  #file

  constructor({ filePath, chatsDir, sessionId }) {
    this.filePath = path.resolve(filePath)
    this.chatsDir = chatsDir
    this.sessionId = sessionId
  }

  async expectUsable() {}

  async enter(locks) {
    await locks.acquire(this.sessionId)
  }

  expectFile() {}

  /** Throws if nothing may be appended, or no checkpoint created. */
  expectReport({ sequenceCorrupt, historyLength, lastSeq }, needsHistory) {
    if (sequenceCorrupt) throw new Error('Cannot append metadata to a sequence-corrupt recording')
    if (needsHistory && historyLength === 0) throw new Error('Cannot create checkpoint: conversation has no content yet')
    this.#file = new ClosedFile(this.filePath, this.sessionId, lastSeq)
  }

  async createCheckpoint(name) {
    const checkpointId = randomUUID()
    const sequence = await this.#file.append('checkpoint_created', { checkpointId, name })
    return { value: { checkpointId, name, sequence }, undo: undefined }
  }

  async renameCheckpoint(checkpointId, name) {
    await this.#file.append('checkpoint_renamed', { checkpointId, name })
    return { undo: undefined }
  }

  async setName(name) {
    await this.#file.append('session_named', { name })
    return { undo: undefined }
  }

  async deleteCheckpoint(checkpointId) {
    await this.#file.append('checkpoint_deleted', { checkpointId })
    return { undo: undefined }
  }

  /** Gives the file the bytes that it had. */
  async cutBack() {
    await this.#file?.cutBack()
  }
}

module.exports = { placeOf, ClosedPlace }
