// Sessions: the lines of a session file, replaying and listing files, recording.

import type { Progress, RecordingWarning } from './common.js';
import type { SessionLock } from './session-lock.js';
// Only for links in the comments.
import type { BundleCode, verifyBundle } from './bundle.js';
import type { RecordingError, RecordingWarningCode } from './common.js';
import type { describeSessions, listContinueTargets } from './session-finding.js';
import type { readRunEvents } from './run.js';
import type { SessionLockedError } from './session-lock.js';

// ---- The file: one envelope a line -------------------------------------------------------------

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
  | 'session_named';

/**
 * What the addon requires of a CLI's content item. Replay checks only that `speaker` is a non-empty string; with `strict`, that it is one of the
 * three, and that `blocks` is an array. Everything else, including fields not listed here, is returned deep-equal and in the same key order.
 *
 * A CLI with a richer item passes its own type as the type parameter of {@link SessionRecordingService},
 * {@link replaySession} and {@link openSession}; it need not extend this one.
 */
export interface IContent {
  /** The speaker: the user, the model, or a tool. */
  speaker: 'human' | 'ai' | 'tool';
  /** The content, in order. */
  blocks: ContentBlock[];
  /** Additional data that the CLI keeps with the item: token counts, ids, times. */
  metadata?: Record<string, unknown>;
}

/** A part of an {@link IContent}, discriminated by `type`. */
export type ContentBlock =
  | { type: 'text'; text: string }
  | { type: 'tool_call'; id: string; name: string; parameters: unknown }
  | { type: 'tool_response'; callId: string; toolName: string; result: unknown; error?: string }
  | { type: 'media'; mimeType: string; data: string; encoding: 'url' | 'base64' }
  | { type: 'thinking'; thought: string }
  | { type: 'code'; code: string; language?: string };

/** A line of the file, as `JSON.parse` returns it. The recorder writes the keys in this order. */
export interface SessionRecordLine {
  /** Schema version, 1. The file has no other version field. */
  v: number;
  /** 1 for the first record, one more for each record of the session, also across resumes. */
  seq: number;
  /** ISO-8601, UTC, milliseconds: `2026-02-11T16:00:00.000Z`. For people; nothing is ordered by it. */
  ts: string;
  /** The event type. The file of a newer CLI may contain a type that is not in the union; replay skips it with a warning. */
  type: SessionEventType;
  /** One of the `…Payload` interfaces, depending on `type`. */
  payload: unknown;
}

/** Payload of `session_start`, which is always physical line 1, `seq` 1. {@link readSessionHeader} returns it. */
export interface SessionStartPayload {
  /** Non-empty. Its first 8 characters are part of the file's name. */
  sessionId: string;
  /** Non-empty. Distinguishes the sessions of different projects; see `expectedProjectHash` of {@link replaySession}. */
  projectHash: string;
  /** Absolute directories the session works in. */
  workspaceDirs: string[];
  /** Absolute directory that the CLI works from. Absent if it was not recorded. */
  cwd?: string;
  /** Name of the model provider. */
  provider: string;
  /** Name of the model. */
  model: string;
  /** Time at which the recorder was constructed: ISO-8601, UTC, milliseconds. */
  startTime: string;
}

/** Payload of `content`: the item is appended to the history. */
export interface ContentPayload<C = IContent> {
  content: C;
}

/** Payload of `compressed`: the history becomes `[summary]`. */
export interface CompressedPayload<C = IContent> {
  summary: C;
  /** Number of items that the summary replaces; informative, replay does not use it. */
  itemsCompressed: number;
}

/** Payload of `rewind`: the last items leave the history. */
export interface RewindPayload {
  /** Number of items, ≥ 0. A fraction is rounded up. A number not less than the length of the history empties it. */
  itemsRemoved: number;
}

/** Payload of `provider_switch`: from here on the metadata has this provider and model. */
export interface ProviderSwitchPayload {
  provider: string;
  /** If empty, the model does not change. */
  model: string;
}

/** Payload of `session_event`: a note about the session. Collected in `sessionEvents`, never in the history. */
export interface SessionEventPayload {
  severity: 'info' | 'warning' | 'error';
  message: string;
  /** With `auditTrail` only: the envelope's `ts`, unchanged; absent if the file has none. */
  timestamp?: string;
  /** With `auditTrail` only: the envelope's `seq`, if it is a number. */
  seq?: number;
}

/** Payload of `directories_changed`: from here on the metadata has these workspace directories. */
export interface DirectoriesChangedPayload {
  directories: string[];
}

/** Payload of `session_metadata`: how a CLI presents the session. */
export interface SessionMetadataPayload {
  /** The title. `null`: the session has no title and none should be derived. If absent, the record changes nothing. */
  title?: string | null;
}

/** Payload of `checkpoint_created`: marks the history up to and including this record. */
export interface CheckpointCreatedPayload {
  /** Non-empty. Never changes, however often the checkpoint is renamed. */
  checkpointId: string;
  /** Not blank. */
  name: string;
}

/** Payload of `checkpoint_renamed`. The checkpoint keeps its id and its position. */
export interface CheckpointRenamedPayload {
  /** Non-empty. */
  checkpointId: string;
  /** Not blank. */
  name: string;
}

/** Payload of `checkpoint_deleted`. Removes the checkpoint, but none of the records before it. */
export interface CheckpointDeletedPayload {
  /** Non-empty. */
  checkpointId: string;
}

/** Payload of `session_forked`: the session began as a copy of another session's history. */
export interface SessionForkedPayload {
  /** Session id of the source. */
  parentSessionId: string;
  /** `seq` of the checkpoint in the source; a safe integer ≥ 0. */
  parentSequence: number;
  /** Id of the checkpoint in the source; not empty. */
  checkpointId: string;
  /** Name of the checkpoint when the fork was made. */
  checkpointName: string;
}

/** Payload of `session_named`: the user's name for the session. */
export interface SessionNamedPayload {
  /** `null` removes the name. */
  name: string | null;
}

/** The state of a checkpoint after all events about it. */
export interface Checkpoint {
  readonly checkpointId: string;
  /** The most recent name, as recorded. */
  readonly name: string;
  /** `seq` of the `checkpoint_created`. Pass it as {@link ReplayOptions.throughSeq} to replay the session up to the checkpoint. */
  readonly sequence: number;
  readonly deleted: boolean;
  /** `ts` of the `checkpoint_created`; `''` if that is not a string. */
  readonly createdAt: string;
}

/**
 * Computes the checkpoints that a list of records leaves, deleted ones included, in ascending order of `sequence`.
 *
 * For each id, only the first `checkpoint_created` counts. A deleted checkpoint is never restored by a later record. Records that are not valid
 * checkpoint events are ignored (replay rules 17 and 19).
 *
 * @param events - Records in the order of their file.
 * @returns The same as `checkpoints` of a replay of these records.
 * @throws TypeError - If `events` is not an array.
 *
 * @example
 * ```ts
 * import { foldCheckpoints } from 'session-tape';
 *
 * const ts = '2026-02-11T16:00:00.000Z';
 * const checkpoints = foldCheckpoints([
 *   { v: 1, seq: 7, ts, type: 'checkpoint_created', payload: { checkpointId: 'c1', name: 'before the refactoring' } },
 *   { v: 1, seq: 9, ts, type: 'checkpoint_renamed', payload: { checkpointId: 'c1', name: 'start' } },
 * ]);
 * console.log(checkpoints[0]!.name, checkpoints[0]!.sequence); // start 7
 * ```
 */
export declare function foldCheckpoints(events: readonly SessionRecordLine[]): Checkpoint[];

// ---- Replay ------------------------------------------------------------------------------------

/** The metadata of a session at the end of its file: `session_start`, as later events changed it. */
export interface SessionMetadata {
  sessionId: string;
  projectHash: string;
  /** `''` when the `session_start` had none (replay rule 9). */
  provider: string;
  /** `''` when the `session_start` had none. */
  model: string;
  /** `[]` when the `session_start` had none, or not an array of strings. */
  workspaceDirs: string[];
  /** `''` when the `session_start` had none. */
  startTime: string;
  /** `cwd` of the `session_start`; absent if it has none, or one that is not a string. */
  cwd?: string;
  /** The last recorded title. `null`: explicitly no title. Absent: none was ever recorded. */
  title?: string | null;
}

/** A session that was replayed. */
export interface ReplaySuccess<C = IContent> {
  ok: true;
  /** The items that remain after all compressions and rewinds, in order: what a CLI resumes from. */
  history: C[];
  metadata: SessionMetadata;
  /**
   * The `seq` of the last event that had a numeric one; with `strict`, the largest `seq`; 0 if there was none. Pass it to
   * {@link SessionRecordingService.initializeForResume}.
   */
  lastSeq: number;
  /**
   * Number of lines that could be parsed, including unknown and malformed events (replay rule 8). With `strict`, lines without a valid `seq` are
   * not included.
   */
  eventCount: number;
  /**
   * Warnings about single lines in file order, at most 100 and a count of the rest, then the summary lines (replay rule 14), then at most 100
   * about checkpoints and a count of the rest (replay rule 20). Empty for an intact file.
   */
  warnings: string[];
  /** The payloads of the `session_event`s, in file order. */
  sessionEvents: SessionEventPayload[];
  /**
   * Whether some event's `seq` was not larger than that of the event before it: two recorders wrote to the file, or it was edited. The history is
   * returned anyway.
   */
  sequenceCorrupt: boolean;
  /** The checkpoints, deleted ones included; see {@link foldCheckpoints}. */
  checkpoints: Checkpoint[];
  /** The session's name. `null`: it was removed. Absent: the session never had one. */
  sessionName?: string | null;
  /** The source of the fork, as recorded, with any additional keys. Absent for a session that is not a fork. */
  ancestry?: SessionForkedPayload;
}

/** A session that can't be replayed. */
export interface ReplayFailure {
  ok: false;
  /**
   * The reason, in one line:
   *
   * | `error` | means |
   * |---|---|
   * | `Empty file` | the file has no lines (a byte order mark alone does not count as one) |
   * | `Missing or corrupt session_start event` | line 1 is not a `session_start` |
   * | `Invalid session_start: missing required fields` | `sessionId` or `projectHash` is not a non-empty string |
   * | `Invalid session_start: missing or malformed required fields` | with `strict`: `sessionId`, `projectHash`, `provider`, `model` or `startTime` is not a non-empty string |
   * | `Project hash mismatch: expected E got G` | the session belongs to another project |
   * | `Failed to read file: …` | the system's message follows, as Node prints it: `ENOENT: no such file or directory, open '…'`. Devices, sockets and pipes are reported in the same form: `EINVAL: a device, not a regular file, open '…'` |
   * | `Failed to read bundle: …` | the path is that of a bundle which does not verify or does not contain a session; a {@link BundleCode} in parentheses follows if the bundle does not verify |
   */
  error: string;
  /** The warnings about single lines up to the failure, with the same limit. */
  warnings: string[];
}

/** The result of a replay, discriminated by `ok`: `if (result.ok) result.history`. */
export type ReplayResult<C = IContent> = ReplaySuccess<C> | ReplayFailure;

/** Options of {@link replaySession} and {@link openSession}. */
export interface ReplayOptions {
  /**
   * Stop before the first event with a larger `seq`. The result is the session as it was at that point, for example to fork from it. Default: the
   * whole file.
   */
  throughSeq?: number | undefined;
  /**
   * Apply stricter checks (replay rules 21 to 23). Default `false`.
   *
   * A line whose `seq` is not a safe integer ≥ 0 is skipped (`Line N: malformed sequence number, skipping`) and not counted as an event;
   * `lastSeq` is the largest `seq` instead of the last; the `session_start` must have a non-empty `provider`, `model` and `startTime`
   * (`Invalid session_start: missing or malformed required fields`); an item must have one of the three speakers and an array of `blocks`.
   */
  strict?: boolean | undefined;
  /** Add `timestamp` and `seq` to each entry of `sessionEvents`. Default `false`. */
  auditTrail?: boolean | undefined;
  /** Aborting it stops the work; the promise rejects with the signal's `reason`. */
  signal?: AbortSignal | undefined;
  /**
   * Keep a snapshot of what was read next to the file (`<file>.snap`), so that the next replay reads only what was appended. Default `false`.
   *
   * The result is always that of a full replay, with one exception: a write through a shared memory map to a page that is already dirty changes
   * neither mtime nor ctime of the file and can go unnoticed. A snapshot is used only if the part of the file that it covers is unchanged. A file
   * that has not been written to since opens in less than a millisecond (200 MB, measured). For a file that has grown, the old part is read and its
   * digests are compared, which is about ten times faster than a scan. A snapshot that is missing, stale, damaged, of another file, of another
   * version of this library or of a replay with another value of `strict` is ignored and replaced; failing to write one is not an error. Snapshots
   * are replaced atomically and may be deleted at any time. They contain positions, counts, warnings and metadata, but no content of the
   * conversation. Titles, session names and checkpoint names, which are the user's text, are included.
   *
   * Has no effect together with `throughSeq`, or for a bundle, which is never written to.
   */
  snapshot?: boolean | undefined;
  /**
   * Directory for the snapshot, created when needed. Default: the directory of the session file. Has no effect without `snapshot: true`.
   *
   * A non-empty string. The snapshot is named `<file name>-<hash>.snap`; the hash is the first 16 hexadecimal digits of the SHA-256 of the session
   * file's absolute path, with links in the path's directory resolved.
   */
  snapshotDir?: string | undefined;
  /** Called on the JavaScript thread periodically while a large file is scanned, and once at the end with the total. */
  onProgress?: ((progress: Progress) => void) | undefined;
}

/**
 * Replays a session file.
 *
 * Resolves to a {@link ReplayResult} whatever the file contains, including torn, corrupt and foreign lines. For a file that can't be read, the
 * result is a failure with `error`, not a rejection. Reading happens off the JavaScript thread; memory is bounded by a buffer and the remaining
 * items, which are passed in batches between turns of the event loop. Strings of an item that are shorter than 4 KiB may share memory with those of
 * neighbouring items: keeping one of them keeps up to 256 KiB (docs/replay.md).
 *
 * Lines appended while the file is read are not part of the result. A pipe can be replayed too (`/dev/stdin`, a named pipe): up to
 * 1 GiB, which is held in memory. A pipe without a writer is a failure after 3 seconds. A socket or a device is a failure at once, except for
 * `/dev/null`, which is an empty file. All other functions that read sessions, runs or bundles accept regular files only. An abort also ends
 * reading a single line, however long, and waiting for a pipe.
 *
 * A bundle is verified first, as by {@link verifyBundle}; an archive is unpacked to a temporary directory, which is removed before the promise
 * settles. `onProgress` then reports reading the session's file, not verifying or unpacking.
 *
 * @typeParam C - The CLI's own content item. Not checked beyond a non-empty `speaker`; with `strict`, one of the three speakers and an array of
 * `blocks`.
 * @param filePath - The session file, or a session's bundle.
 * @param expectedProjectHash - Refuse a session of another project (`Project hash mismatch: …`). Default: any project.
 * @returns Rejects with the reason of an aborted `options.signal`, with the error that `options.onProgress` throws, and for a bug in session-tape
 * with an `Error` whose `code` is `ESESSIONPANIC` and whose `cause` has the message of the addon; in no other case.
 * @throws TypeError - At once, if an argument is of the wrong type.
 *
 * @example
 * ```ts
 * import { replaySession } from 'session-tape';
 *
 * const replay = await replaySession('no-such-session.jsonl');
 * if (replay.ok) {
 *   console.log(replay.history.length, 'items of', replay.metadata.sessionId);
 * } else {
 *   console.log(replay.error); // Failed to read file: ENOENT: no such file or directory, open 'no-such-session.jsonl'
 * }
 * ```
 */
export declare function replaySession<C = IContent>(
  filePath: string,
  expectedProjectHash?: string,
  options?: ReplayOptions,
): Promise<ReplayResult<C>>;

/**
 * Reads only the `session_start` of a session file, for a list of sessions to resume.
 *
 * Reads the first line only, at most 1 MiB. Returns the payload as it is in the file; its fields are not checked.
 *
 * The JavaScript thread never blocks, because another thread reads. The line is read synchronously only if the system can return it without
 * blocking (Linux 5.12 or newer; ext4, XFS or btrfs; the file cached and owned by the user; the line shorter than 4 KiB). This is about ten times
 * as fast, and does not update the file's access time. After 64 such files the call yields to the event loop.
 *
 * @param filePath - The session file, or the directory of a session's bundle, which is not verified. The header of an archive can't be read
 * without unpacking it: use {@link openSession}.
 * @returns The header, or `null` if there is none: the file can't be read or is empty, or its first line does not parse, is not a `session_start`,
 * is longer than 1 MiB, or has a payload that is not an object (an array does not count as one). Never rejects.
 * @throws TypeError - At once, if `filePath` is not a string.
 *
 * @example
 * ```ts
 * import { readSessionHeader } from 'session-tape';
 *
 * const header = await readSessionHeader('no-such-session.jsonl');
 * console.log(header === null ? 'not a session' : header.startTime);
 * ```
 */
export declare function readSessionHeader(filePath: string): Promise<SessionStartPayload | null>;

/**
 * {@link readSessionHeader} for many files at once, in parallel.
 *
 * @param filePaths - The session files.
 * @returns One entry per path, in the order of the paths; `null` for a file without a header. A bad file does not affect the others, and the
 * promise never rejects.
 * @throws TypeError - At once, if `filePaths` is neither an array of strings nor a string.
 */
export declare function readSessionHeaders(filePaths: string[]): Promise<(SessionStartPayload | null)[]>;

/**
 * {@link readSessionHeader} for every session file in a directory, in parallel.
 *
 * Reads the entries whose names end in `.jsonl`, links included, and does not descend into directories. A pipe or a directory with
 * such a name has no header and does not block. {@link listSessions} returns more: size, time and what is wrong with a file.
 *
 * @param directory - The directory that the recorder was given as `chatsDir`.
 * @returns One entry per file, sorted by file name (by UTF-16 code units, as `Array.sort` does). Rejects with Node's own error if the directory
 * can't be read (`ENOENT`, `ENOTDIR`, `EACCES` …), never because of a file in it.
 * @throws TypeError - At once, if the argument is neither a string nor an array of strings.
 *
 * @example
 * ```ts
 * import { mkdtempSync, writeFileSync } from 'node:fs';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { readSessionHeaders } from 'session-tape';
 *
 * const directory = mkdtempSync(join(tmpdir(), 'chats-'));
 * writeFileSync(join(directory, 'not-a-session.jsonl'), 'hello');
 *
 * for (const { filePath, header } of await readSessionHeaders(directory)) {
 *   console.log(header === null ? 'no session' : `${header.startTime} ${filePath}`); // no session
 * }
 * ```
 */
export declare function readSessionHeaders(directory: string): Promise<SessionFileHeader[]>;

/** A file in a directory, as {@link readSessionHeaders} returns it. */
export interface SessionFileHeader {
  /** The directory as it was passed, joined with the file's name: `path.join(directory, name)`. */
  filePath: string;
  /** The header, as {@link readSessionHeader} returns it; `null` if the file has none. */
  header: SessionStartPayload | null;
}

/**
 * A session whose items are read on demand. Iterating it yields the whole history, in order, with one page in memory at a
 * time.
 */
export interface SessionHandle<C = IContent> extends AsyncIterable<C> {
  readonly metadata: SessionMetadata;
  /** As in {@link ReplaySuccess}. */
  readonly lastSeq: number;
  /** As in {@link ReplaySuccess}. */
  readonly eventCount: number;
  /** As in {@link ReplaySuccess}. */
  readonly warnings: string[];
  /** As in {@link ReplaySuccess}. */
  readonly sessionEvents: SessionEventPayload[];
  /** As in {@link ReplaySuccess}. */
  readonly sequenceCorrupt: boolean;
  /** As in {@link ReplaySuccess}. */
  readonly checkpoints: Checkpoint[];
  /** As in {@link ReplaySuccess}. */
  readonly sessionName?: string | null;
  /** As in {@link ReplaySuccess}. */
  readonly ancestry?: SessionForkedPayload;
  /** Number of items in the history: the length of `history` that {@link replaySession} would return. */
  readonly historyLength: number;
  /**
   * Reads the items from `from` up to, but not including, `to`; negative numbers count from the end, as in `Array.slice`.
   *
   * @param from - Default 0.
   * @param to - Default `historyLength`.
   * @returns The items. Rejects with an `Error` whose `code` is `ESESSIONCLOSED` after `close()`, or `ESESSIONREAD` if the file can no longer be
   * read or no longer has an item at that place. An edit in place that still parses is not detected.
   */
  items(from?: number, to?: number): Promise<C[]>;
  /** Releases the file and the memory, and removes the unpacked files of a bundle. Afterwards no items can be read; a second call does nothing. */
  close(): void;
}

/**
 * Opens a session without building its history: a CLI that shows the last items of a long session needs only those.
 *
 * The arguments, failures and rejections are those of {@link replaySession}. The unpacked files of an archive stay until `close()`,
 * until the handle is garbage-collected, or until the process ends other than by a signal.
 *
 * @returns A handle to close, or the failure.
 * @throws TypeError - At once, if an argument is of the wrong type.
 *
 * @example
 * ```ts
 * import { mkdtempSync } from 'node:fs';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { openSession, SessionRecordingService } from 'session-tape';
 *
 * const recorder = new SessionRecordingService({
 *   sessionId: 'a1b2c3d4-0001', projectHash: 'my-project', chatsDir: mkdtempSync(join(tmpdir(), 'chats-')),
 *   workspaceDirs: [process.cwd()], provider: 'acme', model: 'acme-large',
 * });
 * for (const text of ['one', 'two', 'three']) recorder.recordContent({ speaker: 'human', blocks: [{ type: 'text', text }] });
 * await recorder.dispose();
 *
 * const opened = await openSession(recorder.getFilePath()!, 'my-project');
 * if (!opened.ok) throw new Error(opened.error);
 * const lastTwo = await opened.session.items(-2);
 * console.log(lastTwo.length); // 2: of three
 * opened.session.close();
 * ```
 */
export declare function openSession<C = IContent>(
  filePath: string,
  expectedProjectHash?: string,
  options?: ReplayOptions,
): Promise<{ ok: true; session: SessionHandle<C> } | ReplayFailure>;

/**
 * A session in a directory, as {@link listSessions} finds it. As in {@link SessionMetadata}, fields of the wrong type in the file become `''` or
 * `[]`, and such a `cwd` is absent.
 */
export interface SessionSummary extends SessionStartPayload {
  filePath: string;
  /** Size of the file in bytes. */
  fileSize: number;
  /** Time of the last modification, in whole milliseconds. */
  lastModified: Date;
  /** `startTime`, if the file has one. */
  createdAt?: string;
  /** As in {@link SessionMetadata}. Set by {@link describeSessions} and {@link listContinueTargets} only. */
  title?: string | null;
  /** As `sessionName` in {@link ReplaySuccess}. Set by {@link describeSessions} and {@link listContinueTargets} only. */
  name?: string | null;
}

/**
 * Lists the sessions of a directory, the newest first: sorted by the time of modification in milliseconds, then by `sessionId` as `localeCompare`
 * compares, by `startTime`, and by file name, with the number in it (`-2`, `-3` …) compared as a number; each in descending order.
 *
 * Reads the first line of each file, however long it is.
 *
 * @param chatsDir - The directory that the recorder was given as `chatsDir`. Its `.jsonl` files are read, except for those in subdirectories.
 * @param options - `projectHash`: list only the sessions of that project.
 * @returns The sessions, and the files that are not sessions or could not be read, each with the reason: the `error` of {@link replaySession}, or
 * the system's message without `Failed to read file: `. A directory that can't be read is such an entry itself. Never rejects.
 * @throws TypeError - At once, if an argument is of the wrong type.
 *
 * @example
 * ```ts
 * import { listSessions } from 'session-tape';
 *
 * const { sessions, unreadable } = await listSessions('no-such-directory');
 * for (const { startTime, model, filePath } of sessions) console.log(startTime, model, filePath);
 * console.log(unreadable[0]!.reason.slice(0, 6)); // ENOENT
 * ```
 */
export declare function listSessions(
  chatsDir: string,
  options?: { projectHash?: string | undefined },
): Promise<{
  sessions: SessionSummary[];
  unreadable: { filePath: string; reason: string }[];
}>;

/**
 * Removes a session file and everything that session-tape keeps next to it: its snapshot and the lock file of `exclusive`. Programs that delete
 * session files by age or size should call it, so that no leftover file keeps a directory from becoming empty. The lock of the session itself
 * (`<sessionId>.lock`) is not touched and should be held by the caller.
 *
 * @param options - `snapshotDir`: the directory of the session's snapshot, if it is not next to the file.
 * @returns Resolves also for files that do not exist. Rejects with the system's error if a file cannot be removed.
 * @throws TypeError - At once, if an argument is of the wrong type.
 */
export declare function removeSessionFiles(
  filePath: string,
  options?: { snapshotDir?: string | undefined },
): Promise<void>;

// ---- Records -----------------------------------------------------------------------------------

/** Where a line is in the file of a session. */
export interface SessionLinePlace {
  /** Its number, from 1. Blank lines count. */
  line: number;
  /** The offset of its first byte in the file: in line 1, after a byte order mark. */
  offset: number;
}

/** What {@link readSessionRecords} yields for each line, whatever is in it. */
export interface SessionLineBase extends SessionLinePlace {
  /** Its length in bytes, without its ending: `\n`, or `\r\n`. */
  length: number;
  /**
   * With `history: true`, for a line that adds an item to the history: whether the item is still there at the end of the file, after all
   * compressions and rewinds. Otherwise absent.
   */
  inHistory?: boolean;
}

/**
 * A line of a session, as {@link readSessionRecords} yields it. `status` says how a replay reads it, with the rules of the file format; `record` is its
 * value, as `JSON.parse` returns it.
 *
 * | `status` | means | `record` |
 * |---|---|---|
 * | `'ok'` | an event of a known type | an object |
 * | `'malformed'` | an event of a known type whose payload does not fit (replay rules 9, 10 and 17); with `strict`, also any line without a valid `seq` | any JSON value |
 * | `'unknown'` | an event of another type, or of none (replay rule 11) | any JSON value |
 * | `'unparseable'` | not JSON, or longer than any JavaScript string (512 MiB) | `null` |
 * | `'torn'` | the same, but the last line of the file, as a crash in the middle of a write leaves it (replay rule 13) | `null` |
 * | `null` | a blank line, or `null`, which a replay skips (replay rules 4 and 5) | `null` |
 *
 * A `session_start` that is not on line 1 is `'ok'`, though a replay skips it. An event of a known type has no other member for certain than its
 * `type`: `v`, `seq` and `ts` are as they were recorded.
 */
export type SessionLine =
  | (SessionLineBase & { status: 'ok'; record: SessionRecordLine })
  | (SessionLineBase & { status: 'malformed' | 'unknown'; record: unknown })
  | (SessionLineBase & { status: 'unparseable' | 'torn' | null; record: null });

/** Options of {@link readSessionRecords}. */
export interface SessionRecordsOptions {
  /** Yield `inHistory`, for which the file is first read once to its end. Default `false`. */
  history?: boolean | undefined;
  /** Read lines as {@link ReplayOptions.strict} does. Default `false`. */
  strict?: boolean | undefined;
  /** Yield only records whose `type` is one of these, whatever their status. The others cost little. Default: all lines. */
  types?: (SessionEventType | (string & {}))[] | undefined;
  /**
   * Begin with this line, as an earlier call has yielded it: to read on where that call ended, or a line on its own. Nothing before it is read. If no
   * line begins at the offset, the next one that begins is taken for it. So the one behind a line is at `{ line: line + 1, offset: offset + length + 1 }`,
   * whatever that line ends with; a `'torn'` line is read again once it is complete.
   */
  from?: SessionLinePlace | undefined;
  /** Aborting it stops the work, also that of opening a bundle; the iterator throws the signal's `reason` instead of its next line. */
  signal?: AbortSignal | undefined;
}

/**
 * Reads the lines of a session one by one, in the order of the file: the twin of {@link readRunEvents}.
 *
 * Damage is data: every line is yielded, with its status. A file without a `session_start` is read like any other, and an empty one has no lines.
 * The lines are those that the file had when it was opened; what is appended later is left for another call, see
 * {@link SessionRecordsOptions.from}.
 *
 * Works off the JavaScript thread, reads ahead by at most one batch of some 256 KiB, and reads nothing before the first line is requested. The memory
 * does not depend on the size of the file, but on that of its longest line. Strings of neighbouring records may share memory: one that is kept
 * keeps some 256 KiB at most. The file is closed at its end, after an error, and when the iteration ends early. An iterator can be iterated
 * only once.
 *
 * @param path - The session file, or a bundle of a session, which is verified before its first line is yielded; the unpacked files of an archive stay
 * until the iteration ends. A pipe is read as by {@link replaySession}.
 * @returns If the file can't be read, the iterator yields the lines before that place and then throws an `Error` with the `code`, `errno`, `syscall` and
 * `path` of Node's own errors; `ESESSIONREAD` if the file has become shorter while it was read; a {@link BundleCode}, with all `problems`, for a bundle
 * that does not verify, or is that of a run; `ESESSIONPANIC` for a bug in session-tape.
 * @throws TypeError - At once, if an argument is of the wrong type.
 *
 * @example
 * ```ts
 * import { readSessionRecords } from 'session-tape';
 *
 * try {
 *   for await (const { line, status, record } of readSessionRecords('no-such-session.jsonl', { types: ['content'] })) {
 *     if (status === 'ok') console.log(line, record.seq);
 *   }
 * } catch (error) {
 *   console.log((error as { code: string }).code); // ENOENT
 * }
 * ```
 */
export declare function readSessionRecords(path: string, options?: SessionRecordsOptions): AsyncGenerator<SessionLine, void, undefined>;

// ---- Recording ---------------------------------------------------------------------------------

/** Configuration of a {@link SessionRecordingService}. If a field is wrong or missing, the constructor throws a `TypeError` that names it. */
export interface SessionRecordingServiceConfig {
  /** Non-empty; its first characters become part of the file's name, see {@link fileName}. */
  sessionId: string;
  /** Non-empty; see {@link SessionStartPayload}. */
  projectHash: string;
  /** The directory for session files. Created, with its parents, when the first content, title or name is recorded. */
  chatsDir: string;
  /** Absolute directories the session works in. */
  workspaceDirs: string[];
  /** Absolute directory that the CLI works from; recorded in `session_start`. */
  cwd?: string | undefined;
  /** Name of the model provider. */
  provider: string;
  /** Name of the model. */
  model: string;
  /**
   * Form of the file's name, in UTC. `'minutes'` (default): `session-<YYYY-MM-DDTHH-MM>-<first 8 characters of sessionId>.jsonl`;
   * `'seconds'`: `session-<YYYY-MM-DDTHH-MM-SS>-<first 12>.jsonl`. If the name is taken, `-2`, `-3` … precedes the id part.
   */
  fileName?: 'minutes' | 'seconds' | undefined;
  /**
   * Called at most once, on the JavaScript thread, after recording has ended because of an error. Without it recording ends silently; see
   * `isActive()`.
   */
  onWarning?: ((warning: RecordingWarning) => void) | undefined;
  /**
   * What a resolved `flush()` guarantees. `'os'` (default): the bytes are with the operating system, and survive the death of the process.
   * `'fsync'`: they are on stable storage, and survive a power cut.
   */
  durability?: 'os' | 'fsync' | undefined;
  /**
   * Allow only one recorder per file, also across processes: a second exclusive recorder records nothing and calls `onWarning` with the code
   * `ESESSIONLOCKED` and the `owner`. The lock is a system lock on a file next to the session file (`<file>.lock`), which the system releases when
   * its owner ends for whatever reason. A lock file that is left over does not block. Symbolic links to the session file share its lock, hard links
   * do not. Default `false`.
   */
  exclusive?: boolean | undefined;
  /**
   * The permissions of the file if this recorder creates it, less the umask of the process: from `0o600` to `0o777`, and the owner must be able to
   * read and write. Default `0o600`: no one else can read it, as with its snapshot. A file that exists keeps its permissions. Without effect on Windows.
   */
  mode?: number | undefined;
}

/** With `fileName: 'seconds'`, this many characters of the session id end the file's name, before `.jsonl`. */
export declare const SESSION_FILE_ID_PREFIX_LENGTH: 12;

/**
 * Records one session to one append-only JSONL file.
 *
 * Recording is synchronous and cheap: the payload is serialised at once, exactly as `JSON.stringify` would, and
 * written by a background thread in batches. Nothing touches the disk before the first content, title or name, so a session
 * without any leaves no file. A write error never throws into the CLI: it ends recording and calls
 * `onWarning` (recording rule 6).
 *
 * Enqueued records are written even if the process ends without `flush()` or `dispose()`. The recorder does not keep the process running.
 *
 * All methods can be called detached from the recorder: `const { recordContent } = recorder`.
 *
 * @typeParam C - The CLI's own content item.
 *
 * @example
 * ```ts
 * import { mkdtempSync, readFileSync } from 'node:fs';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { SessionRecordingService } from 'session-tape';
 *
 * const recorder = new SessionRecordingService({
 *   sessionId: 'a1b2c3d4-0001',
 *   projectHash: 'my-project',
 *   chatsDir: mkdtempSync(join(tmpdir(), 'chats-')),
 *   workspaceDirs: [process.cwd()],
 *   provider: 'acme',
 *   model: 'acme-large',
 *   onWarning: (warning) => console.error('not recording any more:', warning.message),
 * });
 * recorder.recordContent({ speaker: 'human', blocks: [{ type: 'text', text: 'Hello' }] });
 * await recorder.flush();
 * const lines = readFileSync(recorder.getFilePath()!, 'utf8').trimEnd().split('\n');
 * console.log(lines.length); // 2: session_start and content
 * await recorder.dispose();
 * ```
 */
export declare class SessionRecordingService<C = IContent> {
  /**
   * Buffers `session_start`; does not access the disk.
   *
   * @throws TypeError - If a field of `config` is missing or of the wrong type; the message names it.
   */
  constructor(config: SessionRecordingServiceConfig);

  /**
   * Locks the session, then constructs a recorder of the class that it is called on. The recorder holds the lock until {@link dispose}.
   *
   * @returns Rejects with a {@link SessionLockedError} if the session is locked already, with the system's error if the lock cannot be
   * created, and with a `TypeError` for an invalid configuration. A rejection leaves no lock behind.
   */
  static createLocked<S extends SessionRecordingService<any>>(
    this: new (config: SessionRecordingServiceConfig) => S,
    config: SessionRecordingServiceConfig,
  ): Promise<S>;

  /**
   * Records an event of any type, whether or not replay knows it. `content`, `session_metadata` and `session_named` create the file if there is
   * none yet.
   *
   * The payload is serialised synchronously: changing the object afterwards has no effect on the file.
   *
   * @param type - A non-empty string.
   * @param payload - A value that `JSON.stringify` accepts.
   * @returns The record as it is in the file, except that its `payload` is the object that was passed in. `null` if the recorder is not active or
   * the file cannot be created. If there is no file yet, a later {@link initializeForResume} renumbers the record, but not this object.
   * @throws TypeError - If `type` is not a non-empty string, or if `JSON.stringify` throws (for a cycle or a BigInt), with its error. No `seq` is
   * used up then.
   */
  enqueue(type: SessionEventType | (string & {}), payload: unknown): SessionRecordLine | null;

  /**
   * Records a `content`. The first one creates the file (recording rule 3).
   *
   * @throws TypeError - If `content` is not an object; and as {@link enqueue}.
   */
  recordContent(content: C): void;

  /**
   * Records that the history was replaced by a summary.
   *
   * @param itemsCompressed - Number of items that the summary replaces; a finite number.
   * @throws TypeError - If an argument is of the wrong type; and as {@link enqueue}.
   */
  recordCompressed(summary: C, itemsCompressed: number): void;

  /**
   * Records that the last items of the history were removed.
   *
   * @param itemsRemoved - A finite number ≥ 0.
   * @throws TypeError - If `itemsRemoved` is anything else.
   */
  recordRewind(itemsRemoved: number): void;

  /**
   * Records that another provider or model answers from here on.
   *
   * @param provider - Non-empty.
   * @param model - If empty, the model does not change.
   * @throws TypeError - If `provider` is not a non-empty string, or `model` is not a string.
   */
  recordProviderSwitch(provider: string, model: string): void;

  /**
   * Records a note about the session, which replay does not add to the history.
   *
   * @throws TypeError - If an argument is of the wrong type.
   */
  recordSessionEvent(severity: 'info' | 'warning' | 'error', message: string): void;

  /**
   * Records that the workspace directories changed.
   *
   * @throws TypeError - If `directories` is not an array of strings.
   */
  recordDirectoriesChanged(directories: string[]): void;

  /**
   * Records a title, or `null` for no title. Creates the file if there is none yet. Does nothing if the recorder is not active.
   *
   * @throws TypeError - If `title` is neither a string nor `null`.
   */
  recordSessionMetadata(title: string | null): void;

  /**
   * The title that was last recorded by {@link recordSessionMetadata} or passed to {@link initializeForResume}; `undefined` if neither happened.
   */
  getSessionMetadataTitle(): string | null | undefined;

  /**
   * Records which checkpoint the session was forked from.
   *
   * @throws Error - `Cannot record session fork: recording is inactive`.
   * @throws TypeError - If a field is missing or of the wrong type.
   */
  recordSessionFork(fork: SessionForkedPayload): void;

  /**
   * Records a checkpoint of the current history and resolves when it is in the file. Does not check whether the name is in use.
   *
   * @param name - Not blank; surrounding white space is removed.
   * @returns `sequence` is the record's `seq`. Rejects with an `Error` whose message begins with `Cannot create checkpoint: ` if recording has
   * ended, the history is empty, the name is blank, or the file does not replay or is `sequenceCorrupt`.
   * @throws TypeError - If `name` is not a string.
   */
  createCheckpoint(name: string): Promise<{ checkpointId: string; name: string; sequence: number }>;

  /**
   * Records a new name for a checkpoint and resolves when it is in the file. Does not check whether the checkpoint exists.
   *
   * @returns Rejects with an `Error` whose message begins with `Cannot rename checkpoint: ` if recording has ended, there is no file yet, or the
   * name is blank.
   * @throws TypeError - If `checkpointId` is not a non-empty string or `name` not a string.
   */
  renameCheckpoint(checkpointId: string, name: string): Promise<void>;

  /**
   * Records the deletion of a checkpoint and resolves when it is in the file. Does not check whether the checkpoint exists.
   *
   * @returns Rejects with an `Error` whose message begins with `Cannot delete checkpoint: ` if recording has ended or there is no file yet.
   * @throws TypeError - If `checkpointId` is not a non-empty string.
   */
  deleteCheckpoint(checkpointId: string): Promise<void>;

  /**
   * Records the session's name, or `null` to remove it, and resolves when it is in the file. Creates the file if there is none yet. Does not
   * check whether the name is in use.
   *
   * @returns Rejects with an `Error` whose message begins with `Cannot set session name: ` if recording has ended or the name is blank.
   * @throws TypeError - If `name` is neither a string nor `null`.
   */
  setSessionName(name: string | null): Promise<void>;

  /**
   * Resolves when everything enqueued before the call is in the file or, with `durability: 'fsync'`, on stable storage; concurrent flushes share
   * one sync. If anything enqueued before the call was lost, {@link isActive} returns `false` when the promise settles.
   *
   * @returns Resolves at once if nothing is pending, before the first `content` (buffered events stay buffered), and if the recorder is not active.
   * Rejects with a {@link RecordingError} if writing failed for a reason that is not a {@link RecordingWarningCode} and records that were enqueued
   * before the call are lost, whether the failure came before or after the call; `onWarning` is called in either case. After `onWarning` was
   * called, flushes resolve at once.
   */
  flush(): Promise<void>;

  /** `true` from construction until `dispose()` or a failure. */
  isActive(): boolean;

  /** The session file. `null` before the first content, title or name has created it, or {@link initializeForResume} has named it. */
  getFilePath(): string | null;

  /** The `sessionId` of the configuration. */
  getSessionId(): string;

  /** The `chatsDir` of the configuration. */
  getChatsDir(): string;

  /** The `projectHash` of the configuration. */
  getProjectHash(): string;

  /**
   * Continues recording in an existing file: records are appended to it, the next `seq` is `lastSeq + 1`, and there is no second `session_start`. A
   * torn last line stays as it is, with a new line after it (recording rule 7).
   *
   * Events that were buffered before the call, except for `session_start`, are kept and numbered after `lastSeq`. From now on events are written to
   * disk without waiting for a `content`.
   *
   * @param filePath - The session file, as replayed.
   * @param lastSeq - `lastSeq` of the replay.
   * @param title - The session's title, for {@link getSessionMetadataTitle}. `undefined` changes nothing.
   * @throws TypeError - If `filePath` is not a non-empty string, `lastSeq` is not a finite number, or `title` is neither a string, `null` nor
   * `undefined`.
   *
   * @example
   * ```ts
   * import { mkdtempSync } from 'node:fs';
   * import { tmpdir } from 'node:os';
   * import { join } from 'node:path';
   * import { replaySession, SessionRecordingService } from 'session-tape';
   *
   * const config = {
   *   sessionId: 'a1b2c3d4-0001', projectHash: 'my-project', chatsDir: mkdtempSync(join(tmpdir(), 'chats-')),
   *   workspaceDirs: [process.cwd()], provider: 'acme', model: 'acme-large',
   * };
   * const first = new SessionRecordingService(config);
   * first.recordContent({ speaker: 'human', blocks: [{ type: 'text', text: 'Hello' }] });
   * await first.dispose();
   *
   * const filePath = first.getFilePath()!;
   * const replay = await replaySession(filePath, 'my-project');
   * if (!replay.ok) throw new Error(replay.error);
   * const second = new SessionRecordingService(config);
   * second.initializeForResume(filePath, replay.lastSeq);
   * second.recordContent({ speaker: 'ai', blocks: [{ type: 'text', text: 'Welcome back' }] });
   * await second.dispose();
   * ```
   */
  initializeForResume(filePath: string, lastSeq: number, title?: string | null): void;

  /**
   * Takes ownership of a lock; {@link dispose} releases it.
   *
   * @throws Error - `Session recording already owns a lock`; or if the recorder was disposed of, because it would never release the lock.
   * @throws TypeError - If `lock` is not a {@link SessionLock}.
   */
  adoptLock(lock: SessionLock): void;

  /** Whether the recorder is active, records this session, and owns a lock. */
  ownsLockFor(sessionId: string): boolean;

  /** The recorder's lock. `null` if it has none or is not active. A recorder that failed keeps its lock until {@link dispose}. */
  getOwnedLockHandle(): SessionLock | null;

  /**
   * Calls {@link flush} and ends recording: the recorder is inactive at once, everything enqueued before is still written, then the file is closed
   * and the lock released.
   *
   * A CLI that does not await it loses nothing. Without any content, title or name, no file is created.
   *
   * @returns Settles when the file is closed and the lock released. Rejects if that `flush()` rejects, with the same reason. A rejection without a
   * handler is not reported as unhandled. Further calls return the same promise.
   */
  dispose(): Promise<void>;

  /**
   * Number of records that are enqueued, or buffered before the first `content`, and not yet in the file. A record counts at least until the turn of
   * the event loop in which it was enqueued has ended, or a flush has, however fast it is written.
   */
  getPendingRecordCount(): number;

  /** Size of those records in bytes, as they will be in the file. */
  getPendingByteCount(): number;
}
