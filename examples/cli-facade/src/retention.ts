import { keepSessions, type Duration, type KeepReport } from 'session-tape'

/** The CLI's settings: nothing is deleted unless a user asks for it. */
export interface RetentionSettings {
  enabled?: boolean
  maxAge?: Duration | null
  maxCount?: number
}

/** What the CLI calls when it starts, without waiting for it. */
export async function cleanupExpiredSessions(
  chatsDir: string,
  { enabled = true, maxAge = null, maxCount }: RetentionSettings,
): Promise<KeepReport | null> {
  if (!enabled) return null
  return keepSessions(chatsDir, { deleteAfter: maxAge, maxSessions: maxCount, deleteToFit: maxCount !== undefined })
}
