import {
  CheckpointLockError,
  createCheckpoint,
  deleteCheckpoint,
  listCheckpoints,
  nameSession,
  renameCheckpoint,
  type Checkpoint,
} from 'session-tape'

import type { Recording } from './SessionRecordingService.js'

// Exported unchanged: callers use `instanceof`.
export { CheckpointLockError }

interface Created {
  checkpointId: string
  name: string
  sequence: number
}

export class CheckpointService {
  /** Returns no checkpoints for a session that does not replay. */
  listCheckpoints = (filePath: string, projectHash: string): Promise<Checkpoint[]> =>
    listCheckpoints(filePath, projectHash).catch(() => [])

  /** The checkpoints that keep a session from being deleted. Rejects for a session that does not replay: they are not known. */
  getDeletionBlockers = (filePath: string, projectHash: string): Promise<Checkpoint[]> =>
    listCheckpoints(filePath, projectHash)

  createCheckpoint = (recording: Recording, projectHash: string, name: string, overwrite = false): Promise<Created> =>
    createCheckpoint(recording, projectHash, name, { overwrite })

  renameCheckpoint = (
    recording: Recording,
    projectHash: string,
    checkpointId: string,
    name: string,
    overwrite = false,
  ): Promise<void> => renameCheckpoint(recording, projectHash, checkpointId, name, { overwrite })

  deleteCheckpoint = (recording: Recording, projectHash: string, checkpointId: string): Promise<void> =>
    deleteCheckpoint(recording, projectHash, checkpointId)

  setSessionName = (recording: Recording, projectHash: string, name: string | null, overwrite = false): Promise<void> =>
    nameSession(recording, projectHash, name, { overwrite })

  createCheckpointClosed = (
    filePath: string,
    projectHash: string,
    chatsDir: string,
    sessionId: string,
    name: string,
  ): Promise<Created> => createCheckpoint({ filePath, chatsDir, sessionId }, projectHash, name)

  renameCheckpointClosed = (
    filePath: string,
    projectHash: string,
    chatsDir: string,
    sessionId: string,
    checkpointId: string,
    name: string,
    overwrite = false,
  ): Promise<void> =>
    renameCheckpoint({ filePath, chatsDir, sessionId }, projectHash, checkpointId, name, { overwrite })

  deleteCheckpointClosed = (
    filePath: string,
    projectHash: string,
    chatsDir: string,
    sessionId: string,
    checkpointId: string,
  ): Promise<void> => deleteCheckpoint({ filePath, chatsDir, sessionId }, projectHash, checkpointId)
}
