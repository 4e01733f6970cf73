import { hasOwn } from '../builtins.js'
import type { SessionLock } from '../locks/handle.js'
import type { Checkpoint } from '../session/checkpoints.js'
import { type SessionRecordingService, endOf } from '../session/recorder.js'
import { type Report, type SessionReport, isFailed, scanFile } from '../session/scan.js'
import { ClosedFile } from './closed-file.js'
import { Locks } from './locks.js'
import type { CreatedCheckpoint, Place } from './place.js'

/** The methods of a recorder that names need. */
export const METHODS = [
  'ownsLockFor',
  'getOwnedLockHandle',
  'getChatsDir',
  'getSessionId',
  'getFilePath',
  'isActive',
  'flush',
  'createCheckpoint',
  'renameCheckpoint',
  'deleteCheckpoint',
  'setSessionName',
] as const

type Recorder = Pick<SessionRecordingService<unknown>, (typeof METHODS)[number]>

/** A record that undoes another. */
interface Undoing {
  /** Records it with a recorder. */
  record: (recorder: Recorder) => Promise<void>
  type: string
  payload: object
}

/**
 * A session that a recorder has open. Names are given with its methods, and undone by further records: the file is never truncated.
 *
 * A method that rejects may have recorded anyway, for example if the disk became full right after the record. The file therefore decides what must
 * be undone.
 */
export class OpenPlace implements Place {
  chatsDir: string
  sessionId: string
  #recorder: Recorder
  #projectHash: string
  #lock: SessionLock | null = null
  /** A function for each record that was begun. It takes a report on the file, and returns the records that undo it. */
  #steps: ((report: SessionReport) => Undoing[])[] = []
  /** Whether at least one of these records is known to be in the file. */
  #hasRecorded = false

  constructor(recorder: Recorder, projectHash: string) {
    this.#recorder = recorder
    this.#projectHash = projectHash
    this.chatsDir = recorder.getChatsDir()
    this.sessionId = recorder.getSessionId()
  }

  get filePath(): string | null {
    return this.#recorder.getFilePath()
  }

  /** Throws unless the recorder owns the session's lock, which keeps other processes away from the file. */
  async expectUsable(): Promise<void> {
    this.#lock = this.#recorder.ownsLockFor(this.sessionId) ? this.#recorder.getOwnedLockHandle() : null
    if (this.#lock === null || !(await this.#lock.ownsLock())) {
      throw new Error('Active recording does not own its live session lock')
    }
  }

  async enter(): Promise<void> {
    await this.#recorder.flush()
  }

  expectFile(): void {
    if (this.filePath === null) throw new Error('Active recording is not materialized')
  }

  /** Does nothing: the recorder's methods check what they need. */
  expectReport(): void {}

  async createCheckpoint(name: string, report: SessionReport | undefined): Promise<CreatedCheckpoint> {
    const before = new Set(report?.checkpoints.map(({ checkpointId }) => checkpointId))
    let created: CreatedCheckpoint | undefined
    const isCreated = ({ checkpointId, name: given }: Checkpoint) =>
      created !== undefined ? checkpointId === created.checkpointId : !before.has(checkpointId) && given === name
    this.#steps.push(({ checkpoints }) =>
      checkpoints
        .filter((checkpoint) => !checkpoint.deleted && isCreated(checkpoint))
        .map(({ checkpointId }) => deletionOf(checkpointId)),
    )
    created = await this.#recorded((recorder) => recorder.createCheckpoint(name))
    return created
  }

  async renameCheckpoint(checkpointId: string, name: string, before: string): Promise<void> {
    const isRenamed = (checkpoint: Checkpoint) =>
      checkpoint.checkpointId === checkpointId && !checkpoint.deleted && checkpoint.name === name
    if (before !== name) {
      this.#steps.push(({ checkpoints }) => (checkpoints.some(isRenamed) ? [renamingOf(checkpointId, before)] : []))
    }
    await this.#recorded((recorder) => recorder.renameCheckpoint(checkpointId, name))
  }

  async setName(name: string | null, before: string | null): Promise<void> {
    if (before !== name) this.#steps.push((report) => (nameOf(report) === name ? [namingOf(before)] : []))
    await this.#recorded((recorder) => recorder.setSessionName(name))
  }

  /** A deletion cannot be undone, so it counts as successful if its record is in the file, even if the recorder rejects. */
  async deleteCheckpoint(checkpointId: string): Promise<void> {
    try {
      await this.#recorder.deleteCheckpoint(checkpointId)
    } catch (error) {
      if (!(await this.#isDeleted(checkpointId))) throw error
    }
  }

  async #isDeleted(checkpointId: string): Promise<boolean> {
    await this.#settled()
    const report = await this.#report()
    return (
      !isFailed(report) &&
      report.checkpoints.some((checkpoint) => checkpoint.checkpointId === checkpointId && checkpoint.deleted)
    )
  }

  async #recorded<T>(record: (recorder: Recorder) => Promise<T>): Promise<T> {
    const value = await record(this.#recorder)
    this.#hasRecorded = true
    return value
  }

  /** Undoes everything that was recorded. */
  async undo(): Promise<void> {
    if (this.#steps.length === 0 || this.filePath === null) return
    await this.#settled()
    if (!(await this.#undoThroughRecorder())) await this.#undoByAppending()
  }

  /** Resolves to whether everything is undone; `false` if the recorder has ended. */
  async #undoThroughRecorder(): Promise<boolean> {
    const records = await this.#toUndo()
    for (let index = 0; index < records.length; index++) {
      try {
        await records[index]!.record(this.#recorder)
      } catch (error) {
        if (this.#recorder.isActive()) throw error
        await this.#settled()
        return false
      }
    }
    return true
  }

  /** Appends to the file directly, under the recorder's lock or, if that was released, under a new one. */
  async #undoByAppending(): Promise<void> {
    const locks = new Locks(this.chatsDir)
    try {
      if (this.#lock === null || !(await this.#lock.ownsLock())) await locks.acquire(this.sessionId)
      const records = await this.#toUndo()
      if (records.length === 0) return
      const report = await this.#report()
      if (isFailed(report)) throw new Error(report.error)
      const file = new ClosedFile(this.filePath!, this.sessionId, report)
      for (let index = 0; index < records.length; index++)
        await file.append(records[index]!.type, records[index]!.payload)
    } finally {
      await locks.release()
    }
  }

  async #toUndo(): Promise<Undoing[]> {
    const report = await this.#report()
    if (!isFailed(report)) return this.#steps.flatMap((step) => step(report))
    // Names in a file that does not replay cannot be found, so there is nothing to undo.
    if (this.#hasRecorded) throw new Error(report.error)
    return []
  }

  /** Waits until every record is either in the file or lost. */
  async #settled(): Promise<void> {
    try {
      await this.#recorder.flush()
    } catch {
      // The file shows which records were lost.
    }
    await endOf(this.#recorder)
  }

  #report(): Promise<Report> {
    return scanFile(this.filePath!, this.#projectHash)
  }
}

function nameOf(report: SessionReport): string | null {
  return hasOwn(report, 'name') ? (report.name ?? null) : null
}

function deletionOf(checkpointId: string): Undoing {
  const record = (recorder: Recorder) => recorder.deleteCheckpoint(checkpointId)
  return { record, type: 'checkpoint_deleted', payload: { checkpointId } }
}

function renamingOf(checkpointId: string, name: string): Undoing {
  return {
    record: (recorder) => recorder.renameCheckpoint(checkpointId, name),
    type: 'checkpoint_renamed',
    payload: { checkpointId, name },
  }
}

/** A blank name, which a file may contain, counts as none. */
function namingOf(before: string | null): Undoing {
  const name = before === null || before.trim() === '' ? null : before
  return { record: (recorder) => recorder.setSessionName(name), type: 'session_named', payload: { name } }
}
