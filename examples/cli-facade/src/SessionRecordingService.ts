import {
  DEFAULT_MAX_QUEUE_BYTES,
  SESSION_FILE_ID_PREFIX_LENGTH,
  SessionRecordingService as Tape,
  type Commit,
  type SessionRecordingServiceConfig,
} from 'session-tape'

import type { IContent } from './content.js'
import { onWarning as log } from './logging.js'
import type { MediaStore } from './media.js'

export { DEFAULT_MAX_QUEUE_BYTES, SESSION_FILE_ID_PREFIX_LENGTH, type Commit, type SessionRecordingServiceConfig }

export interface RecordingConfig extends SessionRecordingServiceConfig {
  /** For tests of the CLI: appends to the file in the place of the system. */
  io?: { appendFile(path: string, data: string, encoding: 'utf-8'): Promise<void> }
  /** The CLI stores images before it records what refers to them: nothing is asked of the store here. */
  mediaStore?: MediaStore | undefined
}

/** `createLocked` is inherited: `SessionRecordingService.createLocked(config)` constructs this class. */
export class SessionRecordingService extends Tape<IContent> {
  constructor({ io, ...config }: RecordingConfig) {
    const appendFile = io && ((path: string, data: string, encoding: 'utf-8') => io.appendFile(path, data, encoding))
    const onWarning: SessionRecordingServiceConfig['onWarning'] = (warning) => {
      log(warning)
      config.onWarning?.(warning)
    }
    super({ onQueueLimit: 'throw', appendFile, ...config, fileName: 'seconds', onWarning })
  }
}

/** A recorder of this class, or one that `resumeSession` or a fork has created, which is of session-tape's class. */
export type Recording = Tape<IContent>
