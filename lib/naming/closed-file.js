'use strict'

// The file of a session that nobody records to. The caller holds the session's lock.

const fs = require('node:fs/promises')
const { withFields } = require('../native.js')
const { SessionRecordingService } = require('../recorder.js')

/** Appends records to a file, and undoes that as long as the lock is held. */
class ClosedFile {
  #filePath
  #sessionId
  #lastSeq
  /** The size before the first append. */
  #size

  /** `lastSeq` is that of a strict replay. */
  constructor(filePath, sessionId, lastSeq) {
    this.#filePath = filePath
    this.#sessionId = sessionId
    this.#lastSeq = lastSeq
  }

  /** Appends a record, through the writer of recorders: a torn last line is ended first. Resolves to its number. */
  async append(type, payload) {
    this.#size ??= (await fs.stat(this.#filePath)).size
    let failure
    const recorder = new SessionRecordingService({
      __proto__: null,
      sessionId: this.#sessionId,
      // The writer needs none of these: the file has its `session_start`.
      projectHash: '-',
      chatsDir: '.',
      workspaceDirs: [],
      provider: '',
      model: '',
      onWarning: (warning) => (failure = warning),
    })
    recorder.initializeForResume(this.#filePath, this.#lastSeq)
    recorder.enqueue(type, payload)
    await recorder.dispose()
    if (failure !== undefined) throw appendError(failure.code, this.#filePath)
    this.#lastSeq += 1
    return this.#lastSeq
  }

  /** Gives the file the bytes that it had before the first append. */
  async cutBack() {
    if (this.#size === undefined) return
    const { size } = await fs.stat(this.#filePath)
    if (size > this.#size) await fs.truncate(this.#filePath, this.#size)
  }
}

function appendError(code, filePath) {
  return withFields(new Error(`${code}: could not append to '${filePath}'`), { code })
}

module.exports = { ClosedFile }
