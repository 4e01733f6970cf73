import type { SessionStartPayload } from './records.js'
// Only for links in the comments.
import type { describeSessions, listContinueTargets } from './describe.js'
import type { listSessions } from './list.js'
import type { ReplaySuccess, SessionMetadata } from './replay-result.js'
import type { replaySession } from './replay.js'

/**
 * A session in a directory, as {@link listSessions} finds it. As in {@link SessionMetadata}, `workspaceDirs` of the wrong type in the file become `[]`,
 * and such a `cwd` is absent.
 */
export interface SessionSummary extends SessionStartPayload {
  /** The session file, or its archive. */
  filePath: string
  /** Size of the session in bytes; of an archived one, that of its content. */
  fileSize: number
  /** Set to `true` if the session is archived: `filePath` is then that of the archive. */
  archived?: true
  /** The same as `fileSize`. Set only if the session is archived. */
  bytes?: number
  /** Size of the archive in bytes. Set only if the session is archived. */
  archivedBytes?: number
  /** Time of the last modification, in whole milliseconds. */
  lastModified: Date
  /** The same as `startTime`. */
  createdAt?: string
  /** As in {@link SessionMetadata}. Set by {@link describeSessions} and {@link listContinueTargets} only. */
  title?: string | null
  /** As `sessionName` in {@link ReplaySuccess}. Set by {@link describeSessions} and {@link listContinueTargets} only. */
  name?: string | null
}

/** A session file that was left out of a result, and why. */
export interface SkippedSession {
  /** The file, or the directory that can't be read. */
  filePath: string
  /** The `sessionId` of its `session_start`. Absent if that can't be read. */
  sessionId?: string
  /**
   * What is wrong with its first line, the `error` of a strict {@link replaySession}, or the system's message, which begins with its code. Of a first
   * line:
   *
   * | reason | the file |
   * |---|---|
   * | `Empty file or unreadable first line` | is empty, or its first line is blank |
   * | `Missing or corrupt session_start event: first line is not valid JSON` | begins with a line that does not parse |
   * | `Missing or corrupt session_start event: first line is not a session_start event` | begins with other JSON |
   * | `Invalid session_start: missing or malformed required fields` | lacks a field that strict replays require |
   */
  reason: string
}
