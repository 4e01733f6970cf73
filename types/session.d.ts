// Sessions: the lines of a session file, replaying and listing files, recording.

import type { Progress, RecordingWarning } from './common.js';
// Only for links in the comments.
import type { BundleCode, verifyBundle } from './bundle.js';
import type { RecordingError, RecordingWarningCode } from './common.js';

// ---- The file: one envelope a line -------------------------------------------------------------

/**
 * The event types that replay knows. A file may hold others: they are kept, counted, and reported as
 * `Line N: unknown event type 'T', skipping` (replay rule 11), so that newer files stay readable.
 */
export type SessionEventType =
  | 'session_start'
  | 'content'
  | 'compressed'
  | 'rewind'
  | 'provider_switch'
  | 'session_event'
  | 'directories_changed';

/**
 * What the addon needs to know of a CLI's content item: replay checks that `speaker` is a non-empty string, and
 * nothing else. Everything, fields unknown here included, comes back deep-equal and in the same key order.
 *
 * A CLI with a richer item passes its own type as the type parameter of {@link SessionRecordingService},
 * {@link replaySession} and {@link openSession}; it need not extend this one.
 */
export interface IContent {
  /** Who speaks: the user, the model, or a tool. */
  speaker: 'human' | 'ai' | 'tool';
  /** What is said, in order. */
  blocks: ContentBlock[];
  /** Anything the CLI keeps with the item: token counts, ids, times. */
  metadata?: Record<string, unknown>;
}

/** One part of an {@link IContent}, told apart by `type`. */
export type ContentBlock =
  | { type: 'text'; text: string }
  | { type: 'tool_call'; id: string; name: string; parameters: unknown }
  | { type: 'tool_response'; callId: string; toolName: string; result: unknown; error?: string }
  | { type: 'media'; mimeType: string; data: string; encoding: 'url' | 'base64' }
  | { type: 'thinking'; thought: string }
  | { type: 'code'; code: string; language?: string };

/** A line of the file, as `JSON.parse` returns it. The recorder writes the keys in this order. */
export interface SessionRecordLine {
  /** Schema version, 1. The only place a version stands. */
  v: number;
  /** 1 for the first record, one more for each record of the session, also across resumes. */
  seq: number;
  /** ISO-8601, UTC, milliseconds: `2026-02-11T16:00:00.000Z`. For people; nothing is ordered by it. */
  ts: string;
  /** A newer CLI's file may hold a type that is not in the union; replay skips it with a warning. */
  type: SessionEventType;
  /** One of the `…Payload` interfaces, by `type`. */
  payload: unknown;
}

/** Payload of `session_start`: always physical line 1, `seq` 1. What {@link readSessionHeader} returns. */
export interface SessionStartPayload {
  /** Non-empty. Its first 8 characters are part of the file's name. */
  sessionId: string;
  /** Non-empty. Tells the sessions of different projects apart; see `expectedProjectHash` of {@link replaySession}. */
  projectHash: string;
  /** Absolute directories the session works in. */
  workspaceDirs: string[];
  /** Name of the model provider. */
  provider: string;
  /** Name of the model. */
  model: string;
  /** ISO-8601, UTC, milliseconds: when the recorder was constructed. */
  startTime: string;
}

/** Payload of `content`: the item is appended to the history. */
export interface ContentPayload<C = IContent> {
  content: C;
}

/** Payload of `compressed`: the history becomes `[summary]`. */
export interface CompressedPayload<C = IContent> {
  summary: C;
  /** How many items the summary stands for; informative, replay does not use it. */
  itemsCompressed: number;
}

/** Payload of `rewind`: the last items leave the history. */
export interface RewindPayload {
  /** ≥ 0. A fraction rounds up; as many as the history holds, or more, empties it. */
  itemsRemoved: number;
}

/** Payload of `provider_switch`: from here on the metadata has this provider and model. */
export interface ProviderSwitchPayload {
  provider: string;
  /** Empty: the model stays. */
  model: string;
}

/** Payload of `session_event`: a note about the session. Collected in `sessionEvents`, never in the history. */
export interface SessionEventPayload {
  severity: 'info' | 'warning' | 'error';
  message: string;
  /** With `auditTrail` only: the envelope's `ts`, as it stands in the file; absent if it is absent there. */
  timestamp?: string;
  /** With `auditTrail` only: the envelope's `seq`, if it is a number. */
  seq?: number;
}

/** Payload of `directories_changed`: from here on the metadata has these workspace directories. */
export interface DirectoriesChangedPayload {
  directories: string[];
}

// ---- Replay ------------------------------------------------------------------------------------

/** What is known of a session at the end of its file: `session_start`, as later events changed it. */
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
}

/** A session that was replayed. */
export interface ReplaySuccess<C = IContent> {
  ok: true;
  /** The items that survive compressions and rewinds, in order: what a CLI goes on from. */
  history: C[];
  metadata: SessionMetadata;
  /**
   * The `seq` of the last event that had a numeric one; 0 when none had. Hand it to
   * {@link SessionRecordingService.initializeForResume}.
   */
  lastSeq: number;
  /** Lines that parsed, unknown and malformed events included (replay rule 8). */
  eventCount: number;
  /** What was odd, in file order, then the summary lines; at most 100 lines and a count of the rest (replay rule 14). Empty for a sound file. */
  warnings: string[];
  /** The payloads of the `session_event`s, in file order. */
  sessionEvents: SessionEventPayload[];
}

/** A session that can't be replayed. */
export interface ReplayFailure {
  ok: false;
  /**
   * Why, in one line:
   *
   * | `error` | means |
   * |---|---|
   * | `Empty file` | not one line in it (a lone byte order mark counts as none) |
   * | `Missing or corrupt session_start event` | line 1 is not a `session_start` |
   * | `Invalid session_start: missing required fields` | `sessionId` or `projectHash` is not a non-empty string |
   * | `Project hash mismatch: expected E got G` | the session belongs to another project |
   * | `Failed to read file: …` | the system's own words follow, as Node prints them: `ENOENT: no such file or directory, open '…'`. What is not a file is named in the same form: `EINVAL: a device, not a regular file, open '…'` |
   * | `Failed to read bundle: …` | the path is a bundle's, and it does not verify, or is not a session's; a {@link BundleCode} in brackets ends it |
   */
  error: string;
  /** The warnings about single lines so far, with the same cap. */
  warnings: string[];
}

/** Either arm, told apart by `ok`: `if (result.ok) result.history`. */
export type ReplayResult<C = IContent> = ReplaySuccess<C> | ReplayFailure;

/** Options of {@link replaySession} and {@link openSession}. */
export interface ReplayOptions {
  /**
   * Stop before the first event whose `seq` is larger: the session as it was at that point, for forking from it.
   * Default: the whole file.
   */
  throughSeq?: number | undefined;
  /** Add `timestamp` and `seq` to each entry of `sessionEvents`. Default `false`. */
  auditTrail?: boolean | undefined;
  /** Aborting it stops the work; the promise rejects with the signal's `reason`. */
  signal?: AbortSignal | undefined;
  /**
   * Keep a snapshot of what was read beside the file (`<file>.snap`), and next time read only what was appended. Default `false`.
   *
   * The result is always that of a full replay, with one exception: what is stored through a shared memory map into a page that is
   * already dirty changes neither the file's time of modification nor that of change, and can go unnoticed. A snapshot counts only if it shows that the part of the file it speaks of is
   * unchanged: a file that has not been written to since opens in less than a millisecond (200 MB, measured), one that has grown as
   * fast as what was there before can be read and its digests compared, which is some ten times faster than a scan. A snapshot that is missing, foreign, stale, damaged or of
   * another version of this library is ignored and written anew; one that can't be written is no error. It is written in one step and may
   * be deleted at any time. It holds positions, counts, warnings and metadata, none of the conversation.
   *
   * Without effect together with `throughSeq`, and for a bundle, in which nothing may be written.
   */
  snapshot?: boolean | undefined;
  /** Called on the JavaScript thread now and then while a big file is scanned, and once at the end with the whole. */
  onProgress?: ((progress: Progress) => void) | undefined;
}

/**
 * Replays a session file.
 *
 * Resolves to a {@link ReplayResult} whatever is in the file, torn, corrupt and foreign lines included; a file that
 * can't be read is a failure with `error`, not a rejection. Reading happens off the JavaScript thread, in memory
 * bounded by a buffer and what survives; items are handed over in batches between turns of the event loop. Texts of an item
 * that are shorter than 4 KiB may share memory with those of its neighbours: who keeps one of them keeps up to 256 KiB (docs/replay.md).
 *
 * What is appended to the file while it is read is not part of the result. A pipe can be replayed too (`/dev/stdin`, a named pipe), up to
 * 1 GiB, which is kept in memory; one that has no writer within 3 seconds is a failure. Sockets and devices are failures at once, except for
 * `/dev/null`, an empty file. Everything else that reads sessions, runs or bundles takes regular files only. An abort also ends the read
 * of a single line, however long, and the wait for a pipe.
 *
 * A bundle is verified first, as {@link verifyBundle} does it, an archive unpacked to a temporary directory, which is gone when the promise
 * settles. `onProgress` tells of the session's file then, not of that.
 *
 * @typeParam C - The CLI's own content item. Not checked beyond a non-empty `speaker`.
 * @param filePath - The session file, or a session's bundle.
 * @param expectedProjectHash - Refuse a session of another project (`Project hash mismatch: …`). Left out or
 * `undefined`: any project.
 * @returns Rejects with the reason of an aborted `options.signal`, with what `options.onProgress` throws, and for a bug in
 * session-tape with an `Error` whose `code` is `ESESSIONPANIC` and whose `cause` has what the addon said; for nothing else.
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
 * Reads the `session_start` of a session file and nothing else: for a list of sessions to resume.
 *
 * Looks at the first line alone, at most 1 MiB. The payload is handed out as it stands in the file, without a check
 * of its fields.
 *
 * The JavaScript thread never waits for it: another thread reads. Only where the system gives the line without waiting for
 * anything (Linux 5.12 or newer; ext4, XFS or btrfs; the file in memory and the user's own; the line shorter than 4 KiB)
 * it is read here and now, about ten times as fast, and the file's time of access stays. After 64 such files the event
 * loop gets its turn.
 *
 * @param filePath - The session file, or the directory of a session's bundle, which is not verified for this. An archive has no header that
 * could be read without unpacking it: {@link openSession} does.
 * @returns `null` when there is no header: the file can't be read, is empty, its first line does not parse, is not a
 * `session_start`, is longer than 1 MiB, or has a payload that is not an object (an array is none). Never rejects.
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
 * @returns One entry a path, in the order of the paths; `null` where there is no header. One bad file never spoils
 * the rest, and the promise never rejects.
 * @throws TypeError - At once, if `filePaths` is neither an array of strings nor a string.
 */
export declare function readSessionHeaders(filePaths: string[]): Promise<(SessionStartPayload | null)[]>;

/**
 * {@link readSessionHeader} for every session file in a directory, in parallel.
 *
 * Looks at what has a name that ends in `.jsonl`, links included; not into directories. A pipe or a directory of such a
 * name has no header, and holds nobody up. {@link listSessions} gives more: size, time and what is wrong with a file.
 *
 * @param directory - The directory that the recorder was given as `chatsDir`.
 * @returns One entry a file, sorted by file name (by UTF-16 code units, as `Array.sort` does); `header` is `null` where
 * there is none. Rejects with Node's own error if the directory can't be read (`ENOENT`, `ENOTDIR`, `EACCES` …), never
 * because of a file in it.
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

/** A file of a directory, as {@link readSessionHeaders} finds it. */
export interface SessionFileHeader {
  /** The directory as it was given, and the file's name: `path.join(directory, name)`. */
  filePath: string;
  /** As {@link readSessionHeader} gives it: `null` if the file has none. */
  header: SessionStartPayload | null;
}

/**
 * A session whose items are read when they are asked for. Iterating it yields the whole history, in order, holding a
 * page of it at a time.
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
  /** Number of items that survive: the length of what {@link replaySession} would give. */
  readonly historyLength: number;
  /**
   * Items `from` up to, not including, `to`; negative numbers count from the end, as in `Array.slice`.
   *
   * @param from - Default 0.
   * @param to - Default `historyLength`.
   * @returns Rejects with an `Error` whose `code` is `ESESSIONCLOSED` after `close()`, or `ESESSIONREAD` when the file
   * can't be read any more or what is read there is no item any more. An edit in place that still parses is not noticed.
   */
  items(from?: number, to?: number): Promise<C[]>;
  /** Gives the file and the memory back, and removes what was unpacked of a bundle. No items can be had afterwards; a second call does nothing. */
  close(): void;
}

/**
 * Opens a session without building its history: a CLI that shows the last items of a long session needs only those.
 *
 * The arguments, failures and rejections are those of {@link replaySession}. What is unpacked of a bundle that is one file stays until `close()`,
 * or until the handle is collected or the process ends, short of a signal.
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

/** A session in a directory, as {@link listSessions} finds it. Fields of a wrong type in the file are `''` and `[]`, as in {@link SessionMetadata}. */
export interface SessionSummary extends SessionStartPayload {
  filePath: string;
  /** Bytes. */
  fileSize: number;
  lastModified: Date;
}

/**
 * Lists the sessions of a directory, the newest first: by the time of modification, to the nanosecond where the file system tells it,
 * then by `startTime`, then by the number in the name (`-2`, `-3` …), the highest first, then by path.
 *
 * Of each file the first line is read, however long it is.
 *
 * @param chatsDir - The directory that the recorder was given as `chatsDir`. Its `.jsonl` files are looked at, those of
 * directories in it are not.
 * @param options - `projectHash`: only the sessions of that project.
 * @returns The sessions, and what looked like one but is not or could not be read, with the reason: what
 * `error` of {@link replaySession} is, or the system's own words without `Failed to read file: `; a directory that can't be read is
 * such an entry itself. Never rejects.
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

// ---- Recording ---------------------------------------------------------------------------------

/** Configuration of a {@link SessionRecordingService}. A wrong or missing field throws a `TypeError` that names it. */
export interface SessionRecordingServiceConfig {
  /** Non-empty; the first 8 characters become part of the file's name. */
  sessionId: string;
  /** Non-empty; see {@link SessionStartPayload}. */
  projectHash: string;
  /** The directory for session files. Created, with its parents, when the first content is recorded. */
  chatsDir: string;
  /** Absolute directories the session works in. */
  workspaceDirs: string[];
  /** Name of the model provider. */
  provider: string;
  /** Name of the model. */
  model: string;
  /**
   * Called at most once, on the JavaScript thread, when recording has ended because of an error. Without it recording
   * ends in silence; `isActive()` tells.
   */
  onWarning?: ((warning: RecordingWarning) => void) | undefined;
  /**
   * What a resolved `flush()` promises: `'os'` (default), the bytes are with the operating system and survive the
   * death of the process; `'fsync'`, they are on stable storage and survive a power cut.
   */
  durability?: 'os' | 'fsync' | undefined;
  /**
   * One recorder a file, also across processes: a second exclusive one records nothing and gets `onWarning` with the
   * code `ESESSIONLOCKED` and the `owner`. The lock is the system's, on a file beside the session file (`<file>.lock`), and goes with its
   * owner, however that ends. The file may stay behind; that keeps nobody out. Links to the session file have the same lock, hard links
   * get past it. Default `false`.
   */
  exclusive?: boolean | undefined;
}

/**
 * Records one session to one append-only JSONL file.
 *
 * Recording is synchronous and cheap: the payload is serialised at once, exactly as `JSON.stringify` would, and
 * written by a background thread in whole batches. Nothing touches the disk before the first `content`, so a session in
 * which nothing was said leaves no file. A write error never throws into the CLI: it ends recording and calls
 * `onWarning` (recording rule 6).
 *
 * What was enqueued is written also when the process ends without `flush()` or `dispose()`. The recorder holds no
 * handle open: the process exits by itself.
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
   * Buffers `session_start`; touches no disk.
   *
   * @throws TypeError - If a field of `config` is missing or of the wrong type; the message names it.
   */
  constructor(config: SessionRecordingServiceConfig);

  /**
   * Records an event of any type, known to replay or not.
   *
   * The payload is serialised here and now: changing the object afterwards changes nothing. Does nothing when the
   * recorder is not active.
   *
   * @param type - A non-empty string.
   * @param payload - What `JSON.stringify` accepts.
   * @throws TypeError - If `type` is not a non-empty string, or for what `JSON.stringify` refuses (a cycle, a
   * BigInt), with its own error; no `seq` is used up then.
   */
  enqueue(type: SessionEventType | (string & {}), payload: unknown): void;

  /**
   * Records a `content`. The first one creates the file (recording rule 3).
   *
   * @throws TypeError - If `content` is not an object; and as {@link enqueue}.
   */
  recordContent(content: C): void;

  /**
   * Records that the history was replaced by a summary.
   *
   * @param itemsCompressed - How many items the summary stands for; a finite number.
   * @throws TypeError - If an argument is of the wrong type; and as {@link enqueue}.
   */
  recordCompressed(summary: C, itemsCompressed: number): void;

  /**
   * Records that the last items were taken back.
   *
   * @param itemsRemoved - A finite number ≥ 0.
   * @throws TypeError - If it is not.
   */
  recordRewind(itemsRemoved: number): void;

  /**
   * Records that another provider or model answers from here on.
   *
   * @param provider - Non-empty.
   * @param model - Empty: the model stays.
   * @throws TypeError - If an argument is not such a string.
   */
  recordProviderSwitch(provider: string, model: string): void;

  /**
   * Records a note about the session, which replay keeps out of the history.
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
   * Resolves when everything enqueued before the call is in the file, or, with `durability: 'fsync'`, on stable
   * storage; concurrent flushes share one sync.
   *
   * @returns At once when nothing waits, before the first `content` (what is buffered stays buffered), and when the
   * recorder is not active. Rejects with a {@link RecordingError} when writing failed for a reason that is not a
   * {@link RecordingWarningCode} and something that was enqueued before the call is lost by that, whether the failure came before
   * the call or after it; the warning comes in either case. Once that was given, it resolves at once.
   */
  flush(): Promise<void>;

  /** `true` from construction until `dispose()` or a failure. */
  isActive(): boolean;

  /** The session file; `null` before the first `content`, or {@link initializeForResume}, has given it a name. */
  getFilePath(): string | null;

  /** The `sessionId` of the configuration. */
  getSessionId(): string;

  /**
   * Goes on recording into an existing file: appends go there, the next `seq` is `lastSeq + 1`, and there is no
   * second `session_start`. A torn last line stays as it is, with a new line after it (recording rule 7).
   *
   * Events that were buffered before the call, `session_start` aside, are kept and numbered after `lastSeq`. From
   * here on events go to disk without waiting for a `content`.
   *
   * @param filePath - The session file, as replayed.
   * @param lastSeq - `lastSeq` of the replay.
   * @throws TypeError - If `filePath` is not a non-empty string or `lastSeq` not a finite number.
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
  initializeForResume(filePath: string, lastSeq: number): void;

  /**
   * Ends recording: inactive at once, what was enqueued before is still written.
   *
   * A CLI that does not await it loses nothing. Without any `content` no file is left.
   *
   * @returns Resolves when the file is closed. A second call gives the same promise.
   */
  dispose(): Promise<void>;

  /** Records enqueued, or buffered before the first `content`, and not yet in the file. */
  getPendingRecordCount(): number;

  /** Bytes of those records, as they will be in the file. */
  getPendingByteCount(): number;
}
