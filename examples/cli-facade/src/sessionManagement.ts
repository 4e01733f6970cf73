import { deleteSession as remove } from 'session-tape'

import { SessionDiscovery } from './SessionDiscovery.js'
import type { SessionSummary } from './types.js'

export interface ListSessionsResult {
  sessions: SessionSummary[]
}

export interface DeleteSessionResult {
  ok: true
  deletedSessionId: string
}

/** Exactly these members: the CLI compares the whole object. */
export interface DeleteSessionError {
  ok: false
  error: string
}

/** What the error of `deleteSessionById` begins with if there is no such session. */
export const SESSION_NOT_FOUND_PREFIX = 'Session not found:'

export const listSessions = async (chatsDir: string, projectHash: string): Promise<ListSessionsResult> => ({
  sessions: await SessionDiscovery.listSessions(chatsDir, projectHash),
})

export const deleteSession = (
  ref: string,
  chatsDir: string,
  projectHash: string,
): Promise<DeleteSessionResult | DeleteSessionError> => deleted(ref, chatsDir, projectHash, false)

export const deleteSessionById = (
  sessionId: string,
  chatsDir: string,
  projectHash: string,
): Promise<DeleteSessionResult | DeleteSessionError> => deleted(sessionId, chatsDir, projectHash, true)

async function deleted(
  ref: string,
  chatsDir: string,
  projectHash: string,
  exact: boolean,
): Promise<DeleteSessionResult | DeleteSessionError> {
  const result = await remove(ref, chatsDir, projectHash, { exact })
  return result.ok ? result : { ok: false, error: result.error }
}
