import { forkSession, type ForkResult as Forked, type ForkTarget, type SessionFailureCode } from 'session-tape';

import { type IContent, withoutStoredResponses as map } from './content.js';
import { onWarning } from './logging.js';
import type { Recording } from './SessionRecordingService.js';

export type { ContinueTarget } from './types.js';

export type ForkResult = Forked<IContent>;

export interface ForkError {
  ok: false;
  error: string;
  code?: SessionFailureCode;
}

export class SessionTransitionService {
  forkFromCheckpoint = (
    target: ForkTarget, chatsDir: string, projectHash: string, provider: string, model: string, workspaceDirs: string[], source?: Recording | null,
  ): Promise<ForkResult | ForkError> =>
    forkSession<IContent>(target, { chatsDir, projectHash, provider, model, workspaceDirs, source, map, recorder: { fileName: 'seconds', onWarning } });
}
