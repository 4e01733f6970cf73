import { CONTINUE_LATEST, resumeSession as resume, type ResumeRequest as Request, type ResumeResult as Resumed, type SessionFailureCode } from 'session-tape';

import { type IContent, withoutStoredResponses as map } from './content.js';
import { onWarning } from './logging.js';

export { CONTINUE_LATEST };

export type ResumeRequest = Omit<Request, 'recorder' | 'map'>;
export type ResumeResult = Resumed<IContent>;

export interface ResumeError {
  ok: false;
  error: string;
  code?: SessionFailureCode;
}

export const resumeSession = (request: ResumeRequest): Promise<ResumeResult | ResumeError> =>
  resume<IContent>({ ...request, map, recorder: { onWarning } });
