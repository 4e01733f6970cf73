// What a replay of a session results in.

import type { Checkpoint } from './checkpoints.js'
import type { IContent, SemanticMediaPurgeFrontier, SessionEventPayload, SessionForkedPayload } from './records.js'
// Only for links in the comments.
import type { BundleCode } from '../bundle/error.js'
import type { foldCheckpoints } from './checkpoints.js'
import type { SessionRecordingService } from './recorder.js'

/** The metadata of a session at the end of its file: `session_start`, as later events changed it. */
export interface SessionMetadata {
  sessionId: string
  projectHash: string
  /** `''` when the `session_start` had none (replay rule 9). */
  provider: string
  /** `''` when the `session_start` had none. */
  model: string
  /** `[]` when the `session_start` had none, or not an array of strings. */
  workspaceDirs: string[]
  /** `''` when the `session_start` had none. */
  startTime: string
  /** `cwd` of the `session_start`; absent if it has none, or one that is not a string. */
  cwd?: string
  /** The last recorded title. `null`: explicitly no title. Absent: none was ever recorded. */
  title?: string | null
  /** With `strict`: `'subagent'` if the `session_start` says so, else `'main'`. Absent without `strict`. */
  kind?: 'main' | 'subagent'
  /** With `strict`: the session that has started this one. Absent if the `session_start` does not name it. */
  parentSessionId?: string
}

/** A session that was replayed. */
export interface ReplaySuccess<C = IContent> {
  ok: true
  /** The items that remain after all compressions, rewinds and edits, in order, as they were edited: what a CLI resumes from. */
  history: C[]
  metadata: SessionMetadata
  /**
   * The `seq` of the last event that had a numeric one; with `strict`, the largest `seq`; 0 if there was none. Pass it to
   * {@link SessionRecordingService.initializeForResume}.
   */
  lastSeq: number
  /**
   * Number of lines that could be parsed, including unknown and malformed events (replay rule 8). With `strict`, lines without a valid `seq` are
   * not included.
   */
  eventCount: number
  /**
   * Warnings about single lines in file order, at most 100 and a count of the rest, then the summary lines (replay rule 14), then at most 100
   * about checkpoints and a count of the rest (replay rule 20). Empty for an intact file.
   */
  warnings: string[]
  /** The payloads of the `session_event`s, in file order. */
  sessionEvents: SessionEventPayload[]
  /**
   * Whether some event's `seq` was not larger than that of the event before it: two recorders wrote to the file, or it was edited. The history is
   * returned anyway.
   */
  sequenceCorrupt: boolean
  /** The checkpoints, deleted ones included; see {@link foldCheckpoints}. */
  checkpoints: Checkpoint[]
  /** The session's name. `null`: it was removed. Absent, with `strict` `undefined`: the session never had one. */
  sessionName?: string | null
  /** The source of the fork, as recorded, with any additional keys. Absent, with `strict` `undefined`, for a session that is not a fork. */
  ancestry?: SessionForkedPayload
  /** The `frontier` of the last `semantic_media_purge`. Absent if there is none. */
  semanticMediaPurgeFrontier?: SemanticMediaPurgeFrontier
  /**
   * With `strict`: how many events of each unknown type were skipped, by the type as it is in the warnings. A history with unknown events may not be
   * what it was for the program that recorded it. Absent if all are known, and without `strict`.
   */
  unknownEvents?: Record<string, number>
}

/** A session that can't be replayed. */
export interface ReplayFailure {
  ok: false
  /**
   * The reason, in one line:
   *
   * | `error` | means |
   * |---|---|
   * | `Empty file` | the file has no lines (a byte order mark alone does not count as one) |
   * | `Missing or corrupt session_start event` | line 1 is not a `session_start` |
   * | `Invalid session_start: missing required fields` | `sessionId` or `projectHash` is not a non-empty string |
   * | `Invalid session_start: missing or malformed required fields` | with `strict`: `sessionId`, `projectHash` or `startTime` is not a non-empty string, or `provider` or `model` is not a string |
   * | `Unsupported recording version V at line N` | with `strict`: the `v` of a line is not the number 1 or 2 |
   * | `Project hash mismatch: expected E got G` | the session belongs to another project |
   * | `Failed to read file: …` | the system's message follows, as Node prints it: `ENOENT: no such file or directory, open '…'`. Pipes, sockets and devices are reported in the same form: `EINVAL: a pipe, not a regular file; write its content to a file first, open '…'` |
   * | `Failed to read bundle: …` | the path is that of a bundle which does not verify or does not contain a session; a {@link BundleCode} in parentheses follows if the bundle does not verify |
   */
  error: string
  /** The warnings about single lines up to the failure, with the same limit. */
  warnings: string[]
}

/** The result of a replay, discriminated by `ok`: `if (result.ok) result.history`. */
export type ReplayResult<C = IContent> = ReplaySuccess<C> | ReplayFailure
