// The lines of a session file: one envelope a line.

// Only for links in the comments.
import type { readSessionHeader } from './header.js'
import type { openSession } from './open.js'
import type { SessionRecordingService } from './recorder.js'
import type { replaySession } from './replay.js'

/**
 * The event types that replay knows. `session_metadata` to `session_named` never change the history; of those after them, all but
 * `compression_detail` edit it. A file may contain others: they are kept, counted, and reported as
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
  | 'density_mutation'
  | 'synthetic_insert'
  | 'chronology_bind'
  | 'semantic_media_purge'
  | 'compression_detail'

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
  /** Schema version: 2 for `semantic_media_purge`, otherwise 1. The file has no other version field. */
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
  /** Whose session it is. Absent if it was not recorded, which means `'main'`. */
  kind?: SessionKind
  /** Id of the session whose sub-agent this one's is. Absent if it was not recorded. */
  parentSessionId?: string
}

/** Whose session it is: the user's, or that of a sub-agent, which listings leave out. */
export type SessionKind = 'main' | 'subagent'

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
  /** If an item has this key, the first such item and all after it leave the history, whatever `itemsRemoved` is. A safe integer ≥ 0. */
  cutSeq?: number
}

/** The marker of an item, its `metadata.chronology`. Later events refer to the item by the `seq` in it, its *key*. All numbers are safe integers ≥ 0. */
export interface Chronology {
  /** The key: the item's number in the order in which the CLI made its items. */
  seq: number
  /** The turn of the user that the item belongs to. */
  userTurn: number
  /** The step within the turn. */
  step: number
  /** When the CLI made the item, in milliseconds since 1970. */
  recordedAt: number
}

/** Payload of `density_mutation`: items are removed or replaced by their keys. Items without a marker stay. */
export interface DensityMutationPayload<C = IContent> {
  /** Keys of the items that leave the history. */
  removedSeqs: number[]
  /** Items that take the place of others and get their markers. Of several with one key the last one counts; they go before `removedSeqs`. */
  replacements: { replacedSeq: number; replacement: C }[]
}

/** Payload of `synthetic_insert`: an item is inserted after the first one with a key. */
export interface SyntheticInsertPayload<C = IContent> {
  /** Inserted as it stands. */
  content: C
  /** The key of `content`. */
  chronologySeq: number
  /** The key of the item after which it is inserted. */
  afterSeq: number
}

/** Payload of `compression_detail`: what a compression covered. Replay ignores it. */
export interface CompressionDetailPayload {
  /** The first key that was compressed. */
  fromSeq: number
  /** The last one. */
  toSeq: number
  /** Number of items. */
  itemsCompressed: number
}

/** Payload of `chronology_bind`: an item gets a marker. */
export interface ChronologyBindPayload<C = IContent> {
  /** Index of the item in the history at this record. */
  rowIndex: number
  /** The marker. */
  chronology: Chronology
  /** Takes the place of the item. Absent: the item stays. */
  content?: C
  /** Whether what a provider stored for the item is no longer valid. Replay leaves this to the CLI. */
  invalidateResponses?: boolean
}

/** Payload of `semantic_media_purge`, the only event of version 2: the history becomes `history`. */
export interface SemanticMediaPurgePayload<C = IContent> {
  history: C[]
  /** Up to which block media were purged: an index in `history`, and one in the blocks of that item. Both 0 if `history` is empty. */
  frontier: SemanticMediaPurgeFrontier
}

/** The position in a history up to which media were purged. */
export interface SemanticMediaPurgeFrontier {
  contentIndex: number
  blockIndex: number
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
