import { forkSession, type ForkResult, type ForkTarget, type SessionFailure } from 'session-tape';

import type { IContent } from './content.js';
import { onWarning } from './logging.js';
import type { Recording } from './SessionRecordingService.js';

export class SessionTransitionService {
  forkFromCheckpoint = (
    target: ForkTarget, chatsDir: string, projectHash: string, provider: string, model: string, workspaceDirs: string[], source?: Recording | null,
  ): Promise<ForkResult<IContent> | SessionFailure> =>
    forkSession<IContent>(target, { chatsDir, projectHash, provider, model, workspaceDirs, source, recorder: { fileName: 'seconds', onWarning } });
}
