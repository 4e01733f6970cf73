// Types of the CLI's own. Those of session-tape have further members.

import type { SkippedSession, SessionSummary as Summary } from 'session-tape'

/** The CLI makes summaries of its own, which have no `workspaceDirs`. */
export type SessionSummary = Omit<Summary, 'workspaceDirs'>

/** A recording that was passed over, and why. */
export type UnreadableRecording = SkippedSession

export type ContinueTarget =
  | { kind: 'session'; session: SessionSummary }
  | { kind: 'checkpoint'; source: SessionSummary; checkpointId: string; checkpointName: string; sequence: number }
