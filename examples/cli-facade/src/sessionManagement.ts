import {
  deleteSession as remove,
  resumeSession as resume,
  type ResumeRequest,
  type ResumeResult,
  type SessionFailure,
  type SessionSummary,
} from 'session-tape';

import type { IContent } from './content.js';
import { onWarning } from './logging.js';
import { SessionDiscovery } from './SessionDiscovery.js';

type Deleted = { ok: true; deletedSessionId: string } | SessionFailure;

export const resumeSession = (request: Omit<ResumeRequest, 'recorder'>): Promise<ResumeResult<IContent> | SessionFailure> =>
  resume<IContent>({ ...request, recorder: { onWarning } });

export const listSessions = async (chatsDir: string, projectHash: string): Promise<{ sessions: SessionSummary[] }> => ({
  sessions: await SessionDiscovery.listSessions(chatsDir, projectHash),
});

export const deleteSession = (ref: string, chatsDir: string, projectHash: string): Promise<Deleted> => remove(ref, chatsDir, projectHash);

export const deleteSessionById = (sessionId: string, chatsDir: string, projectHash: string): Promise<Deleted> =>
  remove(sessionId, chatsDir, projectHash, { exact: true });
