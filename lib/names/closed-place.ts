import path = require('node:path')
import crypto = require('node:crypto')
import { sessionPathOf } from '../session/archive-name.js'
import type { SessionReport } from '../session/scan.js'
import { ClosedFile } from './closed-file.js'
import type { Locks } from './locks.js'
import type { ClosedSession, CreatedCheckpoint, Place } from './place.js'

const { randomUUID } = crypto

/** A session that no recorder has open. Names are given by appending to its file, under the session's lock. */
export class ClosedPlace implements Place {
  filePath: string
  chatsDir: string
  sessionId: string
  #file: ClosedFile | undefined

  constructor({ filePath, chatsDir, sessionId }: ClosedSession) {
    this.filePath = sessionPathOf(path.resolve(filePath))
    this.chatsDir = chatsDir
    this.sessionId = sessionId
  }

  async expectUsable(): Promise<void> {}

  async enter(locks: Locks): Promise<void> {
    await locks.acquire(this.sessionId)
  }

  expectFile(): void {}

  expectReport(report: SessionReport, needsHistory: boolean): void {
    // The lock of another session id would not protect this file.
    const { sessionId } = report.metadata
    if (sessionId !== this.sessionId)
      throw new Error(`Session ID mismatch: expected ${this.sessionId} got ${sessionId}`)
    this.#file = new ClosedFile(this.filePath, this.sessionId, report)
    if (needsHistory && report.historyLength === 0)
      throw new Error('Cannot create checkpoint: conversation has no content yet')
  }

  async createCheckpoint(name: string): Promise<CreatedCheckpoint> {
    const checkpointId = randomUUID()
    const sequence = await this.#opened().append('checkpoint_created', { checkpointId, name })
    return { checkpointId, name, sequence }
  }

  async renameCheckpoint(checkpointId: string, name: string): Promise<void> {
    await this.#opened().append('checkpoint_renamed', { checkpointId, name })
  }

  async setName(name: string | null): Promise<void> {
    await this.#opened().append('session_named', { name })
  }

  async deleteCheckpoint(checkpointId: string): Promise<void> {
    await this.#opened().append('checkpoint_deleted', { checkpointId })
  }

  /** Restores the previous content of the file. */
  async undo(): Promise<void> {
    await this.#file?.cutBack()
  }

  /** The file, after `expectReport` has accepted it. */
  #opened(): ClosedFile {
    if (this.#file === undefined) throw new Error('Nothing is known about the file yet')
    return this.#file
  }
}
