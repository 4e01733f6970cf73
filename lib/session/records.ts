// The lines of a session file: one envelope a line.

// Only for links in the comments.
import type { readSessionHeader } from './header.js'
import type { openSession } from './open.js'
import type { SessionRecordingService } from './recorder.js'
import type { replaySession } from './replay.js'

/**
 * The event types that replay knows. A file may contain others: they are kept, counted, and reported as
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
  | MediaBlock
  | { type: 'thinking'; thought: string }
  | { type: 'code'; code: string; language?: string }

/** An image or another medium: in the block itself, or by reference. */
export type MediaBlock = { type: 'media'; mimeType: string; data: string; encoding: 'url' | 'base64' } | MediaReference

/** What a {@link MediaReference} says of one of its objects. */
export interface MediaObject {
  /** `sha256:` and the hash of its bytes in hex. */
  contentId: string
  mimeType: string
  /** Size in bytes. */
  byteLength: number
  /** Size in base64: ⌈byteLength ÷ 3⌉ × 4. */
  normalizedBase64Length: number
  /** Width and height in pixels. */
  dimensions?: { width: number; height: number } | undefined
}

/**
 * A medium whose bytes are not in the session but in a store, as `objects/sha256/<64 hex digits>`. What the block says of itself is what it says of its
 * selected object, the one that is shown; the original one is what that was made of, often the same. A block in which these do not agree, or that has
 * `data` or `sourcePath`, is none. It may have further members, such as `caption` and `filename`.
 */
export interface MediaReference extends MediaObject {
  type: 'media'
  encoding: 'reference'
  originalContentId: string
  selectedContentId: string
  originalObject: MediaObject
  selectedObject: MediaObject
  data?: undefined
}

/** A line of the file, as `JSON.parse` returns it. The recorder writes the keys in this order. */
export interface SessionRecordLine {
  /** Schema version, 1; 2 for `semantic_media_purge` and if the payload has a reference to media. The file has no other version field. */
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
  /** `'subagent'` for a session that another session has started. Anything else, or nothing, is a main session. */
  kind?: 'main' | 'subagent'
  /** The session that has started this one. Absent if it was not recorded. */
  parentSessionId?: string
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
  /** The key of an item: if there is one with that key, the history is cut before the first of them, whatever `itemsRemoved` is. */
  cutSeq?: number
}

/**
 * The marker of an item: its `metadata.chronology`. The item's key is the `seq` of the marker, if that is a safe integer ≥ 0. All numbers are such
 * integers.
 */
export interface ChronologyMarker {
  /** The key of the item. */
  seq: number
  /** Given by the CLI: the turn of the user that the item belongs to. */
  userTurn: number
  /** Given by the CLI: the step in the turn. */
  step: number
  /** Given by the CLI: when the item was made. */
  recordedAt: number
}

/** Payload of `density_mutation`: items of the history are removed and replaced through their keys. Items without a key stay. */
export interface DensityMutationPayload<C = IContent> {
  /** The keys of the items that are removed. */
  removedSeqs: number[]
  /** Every item with the key `replacedSeq` becomes `replacement`, which takes over its marker. The last entry with a key counts. */
  replacements: { replacedSeq: number; replacement: C }[]
}

/** Payload of `synthetic_insert`: an item is inserted behind the first one with the key `afterSeq`. */
export interface SyntheticInsertPayload<C = IContent> {
  /** The item. */
  content: C
  /** The key of the new item; informative, replay reads the item's own marker. */
  chronologySeq: number
  /** The key of the item that it follows. */
  afterSeq: number
}

/** Payload of `chronology_bind`: an item of the history gets a marker. */
export interface ChronologyBindPayload<C = IContent> {
  /** Index of the item in the history, from 0. */
  rowIndex: number
  /** The marker. */
  chronology: ChronologyMarker
  /** What the item becomes besides. Absent: it stays. */
  content?: C
  /** The responses that the provider has stored for the item are invalid. */
  invalidateResponses?: boolean
}

/** Payload of `semantic_media_purge`: the history becomes another one. */
export interface SemanticMediaPurgePayload<C = IContent> {
  /** All items of the new history. */
  history: C[]
  /** Up to where media were purged. */
  frontier: SemanticMediaPurgeFrontier
}

/** A place in a history: a block of an item. Both are 0 in an empty history. */
export interface SemanticMediaPurgeFrontier {
  /** Index of the item. */
  contentIndex: number
  /** Index of the block in it. */
  blockIndex: number
}

/** Payload of `compression_detail`: what a compression has removed. Informative; replay does not use it. */
export interface CompressionDetailPayload {
  /** Key of the first item. */
  fromSeq: number
  /** Key of the last item. */
  toSeq: number
  /** Number of items. */
  itemsCompressed: number
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

/** Whose session it is: the user's, or that of a sub-agent. */
export type SessionKind = 'main' | 'subagent'

/**
 * Makes an item of a result, for example without what a provider has stored. Called once for every item, in order, on the JavaScript thread.
 *
 * @param about - Given for an item that a `chronology_bind` with `invalidateResponses` has marked, and that was not replaced since.
 * @returns The item that takes its place; it may be the same.
 */
export type ItemMap<C> = (item: C, about?: { invalidateResponses: true }) => C
