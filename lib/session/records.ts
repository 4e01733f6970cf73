// The lines of a session file: one envelope a line.

// Only for links in the comments.
import type { readSessionHeader } from './header.js'
import type { openSession } from './open.js'
import type { SessionRecordingService } from './recorder.js'
import type { replaySession } from './replay.js'

/**
 * The event types that replay knows. The last six never change the history. A file may contain others: they are kept, counted, and reported as
 * `Line N: unknown event type 'T', skipping` (replay rule 11), so that newer files stay readable.
 */
export type SessionEventType =
  | 'session_start'
  | 'content'
  | 'compressed'
  | 'rewind'
  | 'provider_switch'
  | 'session_event'
  | 'directories_changed'
  | 'session_metadata'
  | 'checkpoint_created'
  | 'checkpoint_renamed'
  | 'checkpoint_deleted'
  | 'session_forked'
  | 'session_named'

/**
 * What the addon requires of a CLI's content item. Replay checks only that `speaker` is a non-empty string; with `strict`, that it is one of the
 * three, and that `blocks` is an array. Everything else, including fields not listed here, is returned deep-equal and in the same key order.
 *
 * A CLI with a richer item passes its own type as the type parameter of {@link SessionRecordingService},
 * {@link replaySession} and {@link openSession}; it need not extend this one.
 */
export interface IContent {
  /** The speaker: the user, the model, or a tool. */
  speaker: 'human' | 'ai' | 'tool'
  /** The content, in order. */
  blocks: ContentBlock[]
  /** Additional data that the CLI keeps with the item: token counts, ids, times. */
  metadata?: Record<string, unknown>
}

/** A part of an {@link IContent}, discriminated by `type`. */
export type ContentBlock =
  | { type: 'text'; text: string }
  | { type: 'tool_call'; id: string; name: string; parameters: unknown }
  | { type: 'tool_response'; callId: string; toolName: string; result: unknown; error?: string }
  | { type: 'media'; mimeType: string; data: string; encoding: 'url' | 'base64' }
  | { type: 'thinking'; thought: string }
  | { type: 'code'; code: string; language?: string }

/** A line of the file, as `JSON.parse` returns it. The recorder writes the keys in this order. */
export interface SessionRecordLine {
  /** Schema version, 1. The file has no other version field. */
  v: number
  /** 1 for the first record, one more for each record of the session, also across resumes. */
  seq: number
  /** ISO-8601, UTC, milliseconds: `2026-02-11T16:00:00.000Z`. For people; nothing is ordered by it. */
  ts: string
  /** The event type. The file of a newer CLI may contain a type that is not in the union; replay skips it with a warning. */
  type: SessionEventType
  /** One of the `…Payload` interfaces, depending on `type`. */
  payload: unknown
}

/** Payload of `session_start`, which is always physical line 1, `seq` 1. {@link readSessionHeader} returns it. */
export interface SessionStartPayload {
  /** Non-empty. Its first 8 characters are part of the file's name. */
  sessionId: string
  /** Non-empty. Distinguishes the sessions of different projects; see `expectedProjectHash` of {@link replaySession}. */
  projectHash: string
  /** Absolute directories the session works in. */
  workspaceDirs: string[]
  /** Absolute directory that the CLI works from. Absent if it was not recorded. */
  cwd?: string
  /** Name of the model provider. */
  provider: string
  /** Name of the model. */
  model: string
  /** Time at which the recorder was constructed: ISO-8601, UTC, milliseconds. */
  startTime: string
}

/** Payload of `content`: the item is appended to the history. */
export interface ContentPayload<C = IContent> {
  content: C
}

/** Payload of `compressed`: the history becomes `[summary]`. */
export interface CompressedPayload<C = IContent> {
  summary: C
  /** Number of items that the summary replaces; informative, replay does not use it. */
  itemsCompressed: number
}

/** Payload of `rewind`: the last items leave the history. */
export interface RewindPayload {
  /** Number of items, ≥ 0. A fraction is rounded up. A number not less than the length of the history empties it. */
  itemsRemoved: number
}

/** Payload of `provider_switch`: from here on the metadata has this provider and model. */
export interface ProviderSwitchPayload {
  provider: string
  /** If empty, the model does not change. */
  model: string
}

/** Payload of `session_event`: a note about the session. Collected in `sessionEvents`, never in the history. */
export interface SessionEventPayload {
  severity: 'info' | 'warning' | 'error'
  message: string
  /** With `auditTrail` only: the envelope's `ts`, unchanged; absent if the file has none. */
  timestamp?: string
  /** With `auditTrail` only: the envelope's `seq`, if it is a number. */
  seq?: number
}

/** Payload of `directories_changed`: from here on the metadata has these workspace directories. */
export interface DirectoriesChangedPayload {
  directories: string[]
}

/** Payload of `session_metadata`: how a CLI presents the session. */
export interface SessionMetadataPayload {
  /** The title. `null`: the session has no title and none should be derived. If absent, the record changes nothing. */
  title?: string | null
}

/** Payload of `checkpoint_created`: marks the history up to and including this record. */
export interface CheckpointCreatedPayload {
  /** Non-empty. Never changes, however often the checkpoint is renamed. */
  checkpointId: string
  /** Not blank. */
  name: string
}

/** Payload of `checkpoint_renamed`. The checkpoint keeps its id and its position. */
export interface CheckpointRenamedPayload {
  /** Non-empty. */
  checkpointId: string
  /** Not blank. */
  name: string
}

/** Payload of `checkpoint_deleted`. Removes the checkpoint, but none of the records before it. */
export interface CheckpointDeletedPayload {
  /** Non-empty. */
  checkpointId: string
}

/** Payload of `session_forked`: the session began as a copy of another session's history. */
export interface SessionForkedPayload {
  /** Session id of the source. */
  parentSessionId: string
  /** `seq` of the checkpoint in the source; a safe integer ≥ 0. */
  parentSequence: number
  /** Id of the checkpoint in the source; not empty. */
  checkpointId: string
  /** Name of the checkpoint when the fork was made. */
  checkpointName: string
}

/** Payload of `session_named`: the user's name for the session. */
export interface SessionNamedPayload {
  /** `null` removes the name. */
  name: string | null
}
