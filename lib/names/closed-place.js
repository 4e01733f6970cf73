'use strict'

const path = require('node:path')
const { randomUUID } = require('node:crypto')
const { ClosedFile } = require('./closed-file.js')

/** A session that no recorder has open. Names are given by appending to its file, under the session's lock. */
class ClosedPlace {
  filePath
  chatsDir
  sessionId
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

  /** Throws if nothing may be appended or, with `needsHistory`, if the history is empty. */
  expectReport(report, needsHistory) {
    // The lock of another session id would not protect this file.
    const { sessionId } = report.metadata
    if (sessionId !== this.sessionId) throw new Error(`Session ID mismatch: expected ${this.sessionId} got ${sessionId}`)
    this.#file = new ClosedFile(this.filePath, this.sessionId, report)
    if (needsHistory && report.historyLength === 0) throw new Error('Cannot create checkpoint: conversation has no content yet')
  }

  async createCheckpoint(name) {
    const checkpointId = randomUUID()
    const sequence = await this.#file.append('checkpoint_created', { checkpointId, name })
    return { checkpointId, name, sequence }
  }

  async renameCheckpoint(checkpointId, name) {
    await this.#file.append('checkpoint_renamed', { checkpointId, name })
  }

  async setName(name) {
    await this.#file.append('session_named', { name })
  }

  async deleteCheckpoint(checkpointId) {
    await this.#file.append('checkpoint_deleted', { checkpointId })
  }

  /** Restores the previous content of the file. */
  async undo() {
    await this.#file?.cutBack()
  }
}

module.exports = { ClosedPlace }
