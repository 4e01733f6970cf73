'use strict'

const { append, hasOwn } = require('../builtins.js')
const { endOf } = require('../session/recorder.js')
const { scanFile } = require('../session/scan.js')
const { ClosedFile } = require('./closed-file.js')
const { Locks } = require('./locks.js')

const NO_SNAPSHOT = Object.freeze({ __proto__: null })

/**
 * A session that a recorder has open. Names are given with its methods, and undone by further records: the file is never truncated.
 *
 * A method that rejects may have recorded anyway, for example if the disk became full right after the record. The file therefore decides what must
 * be undone.
 */
class OpenPlace {
  chatsDir
  sessionId
  #recorder
  #projectHash
  #lock
  /** A function for each record that was begun. It takes a report on the file, and returns the records that undo it. */
  #steps = []
  /** Whether at least one of these records is known to be in the file. */
  #hasRecorded = false

  constructor(recorder, projectHash) {
    this.#recorder = recorder
    this.#projectHash = projectHash
    this.chatsDir = recorder.getChatsDir()
    this.sessionId = recorder.getSessionId()
  }

  /** `null` before the session has a file. */
  get filePath() {
    return this.#recorder.getFilePath()
  }

  /** Throws unless the recorder owns the session's lock, which keeps other processes away from the file. */
  async expectUsable() {
    this.#lock = this.#recorder.ownsLockFor(this.sessionId) ? this.#recorder.getOwnedLockHandle() : null
    if (this.#lock === null || !(await this.#lock.ownsLock())) {
      throw new Error('Active recording does not own its live session lock')
    }
  }

  /** Flushes the recorder, so that the file is complete. */
  async enter() {
    await this.#recorder.flush()
  }

  /** Throws if the session has no file, and so no checkpoints. */
  expectFile() {
    if (this.filePath === null) throw new Error('Active recording is not materialized')
  }

  /** Does nothing: the recorder's methods check what they need. */
  expectReport() {}

  /** `report` describes the file before the call; `undefined` if there was none. */
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

  /** A deletion cannot be undone, so it counts as successful if its record is in the file, even if the recorder rejects. */
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

  /** Undoes everything that was recorded. */
  async undo() {
    if (this.#steps.length === 0 || this.filePath === null) return
    await this.#settled()
    if (!(await this.#undoThroughRecorder())) await this.#undoByAppending()
  }

  /** Resolves to whether everything is undone; `false` if the recorder has ended. */
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

  /** Appends to the file directly, under the recorder's lock or, if that was released, under a new one. */
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
    // Names in a file that does not replay cannot be found, so there is nothing to undo.
    if (this.#hasRecorded) throw new Error(report.error)
    return []
  }

  /** Waits until every record is either in the file or lost. */
  async #settled() {
    try {
      await this.#recorder.flush()
    } catch {
      // The file shows which records were lost.
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

/** A blank name, which a file may contain, counts as none. */
function namingOf(before) {
  const name = before === null || before.trim() === '' ? null : before
  return { record: (recorder) => recorder.setSessionName(name), type: 'session_named', payload: { name } }
}

module.exports = { OpenPlace }
