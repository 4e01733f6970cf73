'use strict'

const { append, hasOwn } = require('../native.js')
const { endOf } = require('../recorder.js')
const { scanFile } = require('../scan.js')
const { ClosedFile } = require('./closed-file.js')
const { Locks } = require('./locks.js')

const NO_SNAPSHOT = Object.freeze({ __proto__: null })

/**
 * A session that a recorder has open. Names are given through its methods, and undone by further records: the file is never cut.
 *
 * A method that rejects may have recorded all the same, if the disk became full right behind the record, say. So the file decides what there is to
 * be undone.
 */
class OpenPlace {
  chatsDir
  sessionId
  #recorder
  #projectHash
  #lock
  /** For each record that was begun, what undoes it: called with a report on the file, returns the records for that. */
  #steps = []
  /** Whether one of them is certainly in the file. */
  #hasRecorded = false

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

  /** Has the file complete. */
  async enter() {
    await this.#recorder.flush()
  }

  /** Throws unless the session has a file that a checkpoint can be in. */
  expectFile() {
    if (this.filePath === null) throw new Error('Active recording is not materialized')
  }

  /** Throws if nothing may be recorded. The recorder's methods check what they need. */
  expectReport() {}

  /** `report` is on the file as it was before; undefined if there was none. */
  async createCheckpoint(name, report) {
    const before = new Set(report?.checkpoints.map(({ checkpointId }) => checkpointId))
    let created
    const isCreated = ({ checkpointId, name: given }) =>
      created !== undefined ? checkpointId === created.checkpointId : !before.has(checkpointId) && given === name
    append(this.#steps, ({ checkpoints }) =>
      checkpoints.filter((checkpoint) => !checkpoint.deleted && isCreated(checkpoint)).map(({ checkpointId }) => deletionOf(checkpointId)),
    )
    created = await this.#recorded((recorder) => recorder.createCheckpoint(name))
    return created
  }

  async renameCheckpoint(checkpointId, name, before) {
    const isRenamed = (checkpoint) => checkpoint.checkpointId === checkpointId && !checkpoint.deleted && checkpoint.name === name
    if (before !== name) {
      append(this.#steps, ({ checkpoints }) => (checkpoints.some(isRenamed) ? [renamingOf(checkpointId, before)] : []))
    }
    await this.#recorded((recorder) => recorder.renameCheckpoint(checkpointId, name))
  }

  async setName(name, before) {
    if (before !== name) append(this.#steps, (report) => (nameOf(report) === name ? [namingOf(before)] : []))
    await this.#recorded((recorder) => recorder.setSessionName(name))
  }

  /** A deleted checkpoint cannot be had back, so it counts as deleted if the record is in the file. */
  async deleteCheckpoint(checkpointId) {
    try {
      await this.#recorder.deleteCheckpoint(checkpointId)
    } catch (error) {
      if (!(await this.#isDeleted(checkpointId))) throw error
    }
  }

  async #isDeleted(checkpointId) {
    await this.#settled()
    const { checkpoints = [] } = await this.#report()
    return checkpoints.some((checkpoint) => checkpoint.checkpointId === checkpointId && checkpoint.deleted)
  }

  async #recorded(record) {
    const value = await record(this.#recorder)
    this.#hasRecorded = true
    return value
  }

  /** Undoes what was recorded. */
  async undo() {
    if (this.#steps.length === 0 || this.filePath === null) return
    await this.#settled()
    if (!(await this.#undoThroughRecorder())) await this.#undoByAppending()
  }

  /** Resolves to whether all is undone; it is not if the recorder has ended. */
  async #undoThroughRecorder() {
    const records = await this.#toUndo()
    for (let index = 0; index < records.length; index++) {
      try {
        await records[index].record(this.#recorder)
      } catch (error) {
        if (this.#recorder.isActive()) throw error
        await this.#settled()
        return false
      }
    }
    return true
  }

  /** Under the recorder's lock until it is disposed of. */
  async #undoByAppending() {
    const locks = new Locks(this.chatsDir)
    try {
      if (!(await this.#lock.ownsLock())) await locks.acquire(this.sessionId)
      const records = await this.#toUndo()
      if (records.length === 0) return
      const file = new ClosedFile(this.filePath, this.sessionId, await this.#report())
      for (let index = 0; index < records.length; index++) await file.append(records[index].type, records[index].payload)
    } finally {
      await locks.release()
    }
  }

  async #toUndo() {
    const report = await this.#report()
    if (!hasOwn(report, 'error')) return this.#steps.flatMap((step) => step(report))
    // A file that does not replay has no name that anyone could find.
    if (this.#hasRecorded) throw new Error(report.error)
    return []
  }

  /** Waits until what was recorded is in the file, or never will be. */
  async #settled() {
    try {
      await this.#recorder.flush()
    } catch {
      // The file shows what was lost.
    }
    await endOf(this.#recorder)
  }

  #report() {
    return scanFile(this.filePath, this.#projectHash, NO_SNAPSHOT)
  }
}

function nameOf(report) {
  return hasOwn(report, 'name') ? report.name : null
}

function deletionOf(checkpointId) {
  const record = (recorder) => recorder.deleteCheckpoint(checkpointId)
  return { record, type: 'checkpoint_deleted', payload: { checkpointId } }
}

function renamingOf(checkpointId, name) {
  return { record: (recorder) => recorder.renameCheckpoint(checkpointId, name), type: 'checkpoint_renamed', payload: { checkpointId, name } }
}

/** A blank name, which a file may have, is as good as none. */
function namingOf(before) {
  const name = before === null || before.trim() === '' ? null : before
  return { record: (recorder) => recorder.setSessionName(name), type: 'session_named', payload: { name } }
}

module.exports = { OpenPlace }
