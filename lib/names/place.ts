// The session that an operation on names is about.

import type { SessionRecordingService } from '../session/recorder.js'
import type { IContent } from '../session/records.js'
import type { SessionReport } from '../session/scan.js'
import type { Locks } from './locks.js'

/** A session without an open recorder. */
export interface ClosedSession {
  /** The session file, or its archive, which is restored. */
  filePath: string
  /** The directory of the session files of the project. */
  chatsDir: string
  /** `sessionId` of its `session_start`. */
  sessionId: string
}

/** The session to work on: the recorder that has it open and owns its lock, or the location of a closed one, which is locked for the operation. */
export type SessionPlace<C = IContent> = SessionRecordingService<C> | ClosedSession

/** @internal */
export interface CreatedCheckpoint {
  checkpointId: string
  name: string
  sequence: number
}

/** Where a name is given: open-place.ts and closed-place.ts. @internal */
export interface Place {
  /** `null` before the session has a file. */
  readonly filePath: string | null
  readonly chatsDir: string
  readonly sessionId: string
  /** Rejects if no name can be given there, whatever is in the file. */
  expectUsable(): Promise<void>
  /** Keeps other processes away from the file, and makes it complete. */
  enter(locks: Locks): Promise<void>
  /** Throws if the session has no file, and so no checkpoints. */
  expectFile(): void
  /** Throws if nothing may be appended or, with `needsHistory`, if the history is empty. `report` is that of a strict replay. */
  expectReport(report: SessionReport, needsHistory: boolean): void
  /** `report` describes the file before the call; `undefined` if there was none. */
  createCheckpoint(name: string, report: SessionReport | undefined): Promise<CreatedCheckpoint>
  renameCheckpoint(checkpointId: string, name: string, before: string): Promise<void>
  setName(name: string | null, before: string | null): Promise<void>
  deleteCheckpoint(checkpointId: string): Promise<void>
  /** Restores the names that the session had. */
  undo(): Promise<void>
}
