import { DEFAULT_MAX_QUEUE_BYTES, SESSION_FILE_ID_PREFIX_LENGTH, SessionRecordingService as Tape, type Commit, type SessionRecordingServiceConfig } from 'session-tape';

import type { IContent } from './content.js';
import { onWarning } from './logging.js';

export { DEFAULT_MAX_QUEUE_BYTES, SESSION_FILE_ID_PREFIX_LENGTH, type Commit, type SessionRecordingServiceConfig };

/** `createLocked` is inherited: `SessionRecordingService.createLocked(config)` constructs this class. */
export class SessionRecordingService extends Tape<IContent> {
  constructor(config: SessionRecordingServiceConfig) {
    super({ ...config, fileName: 'seconds', onWarning });
  }
}

/** A recorder of this class, or one that `resumeSession` or a fork has created, which is of session-tape's class. */
export type Recording = Tape<IContent>;
