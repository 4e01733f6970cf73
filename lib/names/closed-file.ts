// The file of a session without a recorder. The caller holds the session's lock.

import fs = require('node:fs/promises')
import type { BigIntStats } from 'node:fs'
import { withFields } from '../builtins.js'
import type { RecordingWarning } from '../recording-warning.js'
import { restored } from '../session/archive.js'
import { SessionRecordingService } from '../session/recorder.js'
import type { SessionReport } from '../session/scan.js'
import { hasCode } from '../system-error.js'

/** Inode numbers can exceed the range that a number represents exactly. */
const EXACT: Readonly<{ bigint: true }> = Object.freeze({ bigint: true })

/** Appends records to a file, and can undo that while the lock is held. */
export class ClosedFile {
  #filePath: string
  #sessionId: string
  #lastSeq: number
  /** The file's `stat` before the first append: its size and identity. */
  #before: BigIntStats | undefined
  /** Its size after the last one. */
  #end: bigint | undefined

  /** `report` is that of a strict replay. Throws if the recording is sequence-corrupt, because nothing may be appended then. */
  constructor(filePath: string, sessionId: string, { sequenceCorrupt, lastSeq }: SessionReport) {
    if (sequenceCorrupt) throw new Error('Cannot append metadata to a sequence-corrupt recording')
    this.#filePath = filePath
    this.#sessionId = sessionId
    this.#lastSeq = lastSeq
  }

  /** Appends a record through a recorder, which first ends a torn last line; restores an archived session before. Resolves to the record's `seq`. */
  async append(type: string, payload: object): Promise<number> {
    if (this.#before === undefined) {
      this.#filePath = await restored(this.#filePath)
      this.#before = await fs.stat(this.#filePath, EXACT)
    }
    let failure: RecordingWarning | undefined
    const recorder = new SessionRecordingService({
      sessionId: this.#sessionId,
      // The writer needs none of these: the file has its `session_start`.
      projectHash: '-',
      chatsDir: '.',
      workspaceDirs: [],
      provider: '',
      model: '',
      onWarning: (warning: RecordingWarning) => void (failure = warning),
    })
    recorder.initializeForResume(this.#filePath, this.#lastSeq)
    recorder.enqueue(type, payload)
    await recorder.dispose()
    this.#end = (await statOf(this.#filePath))?.size
    if (failure !== undefined) throw appendError((failure as RecordingWarning).code, this.#filePath)
    this.#lastSeq += 1
    return this.#lastSeq
  }

  /**
   * Truncates the file to its size before the first append, unless it no longer exists. Throws if another file has taken its place, or a recorder
   * without a lock has appended to it.
   */
  async cutBack(): Promise<void> {
    if (this.#before === undefined) return
    const { dev, ino, size } = this.#before
    const now = await statOf(this.#filePath)
    if (now === undefined) return
    if (now.dev !== dev || now.ino !== ino) throw new Error(`Another file is in the place of '${this.#filePath}'`)
    if (now.size > this.#end!) throw new Error(`'${this.#filePath}' was recorded to meanwhile`)
    if (now.size > size) await fs.truncate(this.#filePath, Number(size))
  }
}

/** Resolves to `undefined` if there is no file. */
async function statOf(filePath: string): Promise<BigIntStats | undefined> {
  try {
    return await fs.stat(filePath, EXACT)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}

function appendError(code: string, filePath: string): Error {
  return withFields(new Error(`${code}: could not append to '${filePath}'`), { code })
}
