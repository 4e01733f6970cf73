/**
 * session-tape: the flight recorder of AI command-line tools.
 *
 * {@link SessionRecordingService} writes a session to an append-only JSONL file, off the JavaScript thread;
 * {@link replaySession} folds such a file back into the history a CLI resumes from.
 *
 * {@link RunRecorder} records a run, the execution of a workflow, as a hash-chained log; {@link replayRun}, {@link verifyRun} and
 * {@link readRunEvents} read it.
 *
 * {@link exportBundle} seals a run or a session into a bundle, which another machine can verify and replay: {@link verifyBundle},
 * {@link importBundle}, and every reading function, which takes a bundle as its path.
 *
 * "Replay rule N" and "recording rule N" below are the numbered rules of the file format's documentation:
 * https://github.com/session-tape/session-tape/blob/main/docs/session-format.md
 *
 * Every function checks its arguments first: one of the wrong type throws a `TypeError` at once, synchronously, with
 * the `code` `ERR_INVALID_ARG_TYPE` and a message that names the argument (`filePath`, `options.throughSeq`,
 * `config.sessionId` …). What is *in* a file never throws.
 *
 * @packageDocumentation
 */

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

/** How far a long operation is. */
export interface Progress {
  /** Bytes dealt with so far. */
  bytes: number;
  /** Bytes in all. */
  total: number;
  /** Files dealt with so far, where there are several. */
  files?: number;
}

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

/**
 * The `code`s of {@link RecordingWarning} after which a CLI simply goes on without a recording (recording rule 6);
 * a `flush()` that was called before the warning resolves.
 *
 * | code | means |
 * |---|---|
 * | `ENOSPC`, `EDQUOT` | the disk or the quota is full |
 * | `EROFS` | the file system is read-only |
 * | `EACCES`, `EPERM` | the file or its directory may not be written |
 * | `ENOENT`, `ENOTDIR` | the file was deleted, or its directory is none |
 * | `ESESSIONLOCKED` | with `exclusive`: another live recorder holds the file |
 */
export type RecordingWarningCode =
  | 'ENOSPC'
  | 'EDQUOT'
  | 'EROFS'
  | 'EACCES'
  | 'EPERM'
  | 'ENOENT'
  | 'ENOTDIR'
  | 'ESESSIONLOCKED';

/** Why recording ended before `dispose()`. */
export interface RecordingWarning {
  /** A {@link RecordingWarningCode}, or the system's code of any other write error (`EIO`, `EFBIG` …), for which a `flush()` that was called before the warning rejects. */
  code: RecordingWarningCode | (string & {});
  /** In words, for a person. */
  message: string;
  /** The session file; `null` when it failed before there was one. */
  filePath: string | null;
  /** Records that were enqueued until now and are not in the file, also those that came when writing had failed already. */
  eventsDropped: number;
  /** With the code `ESESSIONLOCKED`: who records to the file, as far as that can be read. */
  owner?: RecordingOwner;
}

/** A process that has a session file for itself; see `exclusive` of {@link SessionRecordingServiceConfig}. */
export interface RecordingOwner {
  /** Process id, on `host`. */
  pid: number;
  /** When the process started: ISO-8601, UTC, milliseconds. */
  startTime: string;
  /** Host name. */
  host: string;
}

/**
 * What {@link SessionRecordingService.flush} rejects with: shaped as Node's own file system errors are.
 */
export interface RecordingError extends Error {
  /** For instance `EIO`. */
  code: string;
  /** The system's number for it, negative as in Node. */
  errno: number;
  /** The call that failed: `open`, `write`, `fsync` … */
  syscall: string;
  /** The session file. */
  path: string;
}

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

// ---- Runs --------------------------------------------------------------------------------------

/**
 * What a run's events are about. Payloads, effects and transitions of each kind are sections 4 and 5 of the format's documentation, to
 * which all sections of this part refer: https://github.com/session-tape/session-tape/blob/main/docs/run-format.md
 */
export type RunEventKind =
  | 'RunCreated' | 'RunStarted' | 'RunCompleted' | 'RunFailed'
  | 'NodeScheduled' | 'NodeStarted' | 'NodeCompleted' | 'NodeFailed' | 'NodeSkipped'
  | 'ToolInvoked' | 'ToolCompleted' | 'ToolFailed' | 'ToolTimedOut'
  | 'CapabilityCheck' | 'PolicyDecision'
  | 'TaskAssigned' | 'TaskAccepted' | 'TaskRejected'
  | 'SnapshotCreated' | 'SnapshotRestored' | 'BlobStored' | 'Heartbeat' | 'Error';

/** What a run executes: nodes, and which of them wait for which. */
export interface Workflow {
  /** For people, and in RunCreated; not part of the graph. */
  name: string;
  /** The same. */
  version: string;
  /** In any order: it makes no difference. */
  nodes: WorkflowNode[];
}

/** A node of a {@link Workflow}. */
export interface WorkflowNode {
  /** Non-empty, unique in the workflow. Tasks are named after it: `<id>#<attempt>`. */
  id: string;
  /** What sort of node it is, in the workflow's own terms. */
  kind: string;
  /** The tool that it runs, if it is about one. */
  tool?: string | undefined;
  /** Ids of the nodes that must be Completed or Skipped before this one is scheduled. Left out: none. */
  dependsOn?: string[] | undefined;
  /** What a worker must be able to do to get its tasks. Left out: nothing. */
  capabilities?: string[] | undefined;
}

/** What is known of a run after an event. */
export interface RunState {
  coordinator: CoordinatorState;
  /** The workers by id: those of RunStarted, and those that Heartbeat has made known. */
  workers: Record<string, WorkerState>;
  /**
   * SHA-256 in hex over status, logical time and all entries of the state (section 9): two executions with the same events have the same. Run
   * id, wall clock and blobs are not in it.
   */
  stateHash: string;
}

/** The run as a whole. */
export interface CoordinatorState {
  run: { id: string; status: 'Created' | 'Running' | 'Completed' | 'Failed' };
  /** The graph: its nodes by id, `dependsOn` as `edges` from the dependency to the node that waits for it. */
  dag: { nodes: WorkflowNode[]; edges: [string, string][] };
  /** Every node of the graph, by id. */
  nodeStates: Record<string, NodeState>;
  /** The tasks that wait for a worker, in order. */
  pendingTasks: string[];
  /** Ids of the nodes that are Completed, sorted by their UTF-8 bytes. */
  completedNodes: string[];
  /** The time of the last event. */
  logicalTime: number;
}

/** A node. */
export interface NodeState {
  status: 'Pending' | 'Scheduled' | 'Running' | 'Completed' | 'Failed' | 'Skipped';
  /** How often it was scheduled; 0 before the first time. */
  attempt: number;
  /** The task of the last attempt. Absent before the first, and when the node was skipped before that task ran. */
  task?: string;
  /** The `outputHash` of NodeCompleted. */
  resultHash?: string;
  /** Why the last attempt that failed did so; gone when a later one completes. */
  error?: { code: string; message: string };
}

/** A worker. */
export interface WorkerState {
  workerId: string;
  /** As its last Heartbeat said; `idle` before. Only an `idle` or a `busy` worker gets tasks. */
  status: string;
  /** The tasks that it has, by id: Assigned, Accepted or Running. `assignedAt` is the logical time of TaskAssigned. */
  activeTasks: Record<string, { node: string; attempt: number; status: string; assignedAt: number }>;
  /** The tasks that it completed, in the order in which they ended. Failed ones are not among them. */
  completedTasks: string[];
  /** Sorted, each once. */
  capabilities: string[];
}

/**
 * What is wrong with a run, and where (section 13).
 *
 * | `code` | means |
 * |---|---|
 * | `NotAJsonLine` | a complete line is not a JSON object, or not UTF-8 |
 * | `NotCanonical` | it is one, but not of the one form of a line: other keys, another order, white space, a key twice |
 * | `UnsupportedVersion` | the line is of another format version |
 * | `UnknownKind` | the event is of a kind that this release does not know |
 * | `MissingField` | a required field of the line or its payload is not there |
 * | `InvalidField` | a field is of the wrong type, or has a value that it can't have |
 * | `TooLarge` | a line, blob, snapshot or graph is over its limit (section 13) |
 * | `TimeGap` | the event does not have the logical time that its place demands: one was lost, inserted, repeated or moved |
 * | `ParentMissing` | the cause that the event names is not an earlier event |
 * | `AfterEnd` | an event after the end of the run |
 * | `IllegalTransition` | the state does not allow the event |
 * | `ChainBroken` | a hash is not that of the stored bytes: they were changed after they were written |
 * | `StateMismatch` | the state does not have the recorded hash |
 * | `ScheduleMismatch` | the run's scheduler decides otherwise, or the worker that a task is handed on to is not eligible; never under `external` |
 * | `WorkflowInvalid` | `workflow.json` or `dag.json` is no valid graph |
 * | `DagMismatch` | `workflow.json`, `dag.json` and RunCreated do not belong together |
 * | `SnapshotInvalid` | a snapshot is damaged, of another run, or not signed by a trusted key |
 * | `BlobMissing`, `BlobCorrupt` | an output's blob is not there, or does not have its hash |
 * | `OutputMismatch` | an output, normalised, does not have its hash |
 * | `EmptyLog` | there is not one whole event in the log |
 * | `NotARun` | what is at the path is no run: an empty directory or one of other things, a session's file, a run's log without its directory. The message says which |
 * | `ENOENT`, `EACCES` … | the system's own code: a file of the run can't be read. These have `errno`, `syscall` and, as a rule, `path` too |
 * | any {@link BundleCode} | the path is a bundle's, and it does not verify. `path` is the file of the bundle, if it is about one |
 */
export interface RunError {
  /** One of the table. Later releases may add to it. */
  code: string;
  /** The same for people, in one line. */
  message: string;
  /** Logical time of the event concerned. Absent if it is about no event. */
  time?: number;
  /** The same as the event's id, `evt_<time>`. */
  eventId?: string;
  /** What should have been there, shortened if it is long. */
  expected?: string;
  /** What was there instead. */
  found?: string;
  /** The system's number for its error, negative as in Node. */
  errno?: number;
  /** The system call that failed. */
  syscall?: string;
  /** The file that the system would not open, or the file of the bundle with which something is wrong. */
  path?: string;
  /** Of a bundle that does not verify: all that is wrong with it. `code`, `message` and `path` are of the first. */
  problems?: BundleProblem[];
}

/** A run that was replayed. */
export interface RunReplaySuccess {
  ok: true;
  /** After the last event, or after `until`. */
  state: RunState;
  /** How many events led to the state, those before the snapshot included. */
  eventCount: number;
  /** Id of the snapshot with which the replay began; `null` if it began with the first event. */
  fromSnapshot: string | null;
  /** What was read: events and bytes of the log, without those before the snapshot, and how long that took. */
  metrics: { events: number; bytes: number; seconds: number };
  /** Snapshots that were passed over, with the reason, and a torn last line. Empty for a sound run. */
  warnings: string[];
}

/** A run that can't be replayed. */
export interface RunReplayFailure {
  ok: false;
  /** What is wrong with the earliest event of which something is. */
  error: RunError;
  /** The state after the event before that one: the last good state. `null` if there is no such event. */
  state: RunState | null;
  /** As in {@link RunReplaySuccess}. */
  warnings: string[];
}

/** Either, told apart by `ok`. */
export type RunReplayResult = RunReplaySuccess | RunReplayFailure;

/** Options of {@link replayRun}. */
export interface RunReplayOptions {
  /**
   * Begin with a snapshot: the one of this id (`snap_<logical time>`), or in this file (`snap_<logical time>.cath-snap`, in whatever
   * directory; a name alone is that of one of the run's own), or the newest. If it can't be used (missing, damaged, of another run, not
   * signed by a trusted key, later than `until`), a warning says so, and the run's next older one is taken, or the beginning. Left
   * out: the beginning.
   */
  fromSnapshot?: string | 'latest' | undefined;
  /** Logical time of the last event that is taken. Left out, `Infinity`, or beyond the end: all there are. */
  until?: number | undefined;
  /**
   * How much is verified, of the events that are taken:
   *
   * - `'none'`: that each line is of the one form, in its place, with all its fields, and that the state allows the event.
   * - `'chain'` (default): also the hashes of each line and payload. Any stored byte that was changed is found.
   * - `'full'`: also the hash of the state after each event, the scheduler's decisions, and the outputs of tools.
   */
  verify?: 'none' | 'chain' | 'full' | undefined;
  /**
   * Ed25519 public keys in PEM (SPKI), as Node's `crypto` exports them. If there are any, a snapshot counts only if one of them signed it, or
   * the manifest of the bundle that it is in, and a bundle that is signed only if one of them signed it. A partial bundle with a snapshot that
   * does not count has nothing to start from: `SnapshotInvalid`. Left out, or empty: signatures are not looked at.
   */
  trustedKeys?: string[] | undefined;
  /** Aborting it stops the work; the promise rejects with the signal's `reason`. */
  signal?: AbortSignal | undefined;
  /** Called on the JavaScript thread now and then while a large log is read, and once at the end with the whole. */
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** One of the things that {@link verifyRun} verifies. */
export interface Check {
  /** How many were looked at, those that failed included. */
  checked: number;
  /** How many of these are not as they should be. */
  failed: number;
  /** How many could not be looked at: for want of a state, or because what they need was left out or redacted. */
  unverifiable: number;
  /** What is wrong with the earliest that failed. Absent if none did. */
  firstFailure?: RunError;
}

/**
 * What {@link verifyRun} found. A flag is `true` only if something was checked, nothing failed and nothing was unverifiable: a run
 * without tools has `outputHashesMatch: false`, and `outputHashes.checked` says why.
 */
export interface RunVerification {
  /** The log is whole, and nothing at all failed or was unverifiable. What a run does not have, outputs or snapshots, is not held against it. */
  ok: boolean;
  /** `workflow.json` compiles to the bytes of `dag.json`, whose hash RunCreated names. */
  dagMatch: boolean;
  /** Each TaskAssigned is what the named scheduler decides from the state before it; with `external`, it was a legal transition. */
  scheduleMatch: boolean;
  /** The state after each event has the recorded hash. */
  stateHashesMatch: boolean;
  /** The raw blob of each ToolCompleted has its hash, and normalised the other. */
  outputHashesMatch: boolean;
  /** Lines: their form, place and hashes, and that the state allows their events. */
  chain: Check;
  /** Behind `dagMatch`: one for the run. Unverifiable without `workflow.json`. */
  dag: Check;
  /** Behind `scheduleMatch`: one for each TaskAssigned. */
  schedule: Check;
  /** Behind `stateHashesMatch`: one for each event. A SnapshotRestored that claims another state than the one before it fails as well. */
  stateHashes: Check;
  /** Behind `outputHashesMatch`: one for each ToolCompleted. */
  outputHashes: Check;
  /** Snapshot files: whether a replay could begin with them. */
  snapshots: Check;
}

/** Options of {@link verifyRun}. */
export interface RunVerifyOptions {
  /** As in {@link RunReplayOptions}: if there are any, each snapshot must be signed by one of them, or be in a bundle that is. */
  trustedKeys?: string[] | undefined;
  /** Aborting it stops the work; the promise rejects with the signal's `reason`. */
  signal?: AbortSignal | undefined;
  /** Called on the JavaScript thread now and then while a large log is read, and once at the end with the whole. */
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** An event of a run, as {@link readRunEvents} yields it. */
export interface RunEvent {
  /** `evt_<logicalTime>`. */
  eventId: string;
  /** 0, 1, 2 … without gaps. */
  logicalTime: number;
  /** Wall clock, ISO-8601, UTC. For people; nothing is ordered by it. */
  ts: string;
  kind: RunEventKind;
  /** The graph node concerned; `null` if it is about none. */
  node: string | null;
  /** Id of the event that caused this one; `null` for RunCreated only. */
  parent: string | null;
  /** As `JSON.parse` gives it: what the kind has by section 4, and whatever else was recorded. */
  payload: Record<string, unknown>;
  /** SHA-256 in hex of salt and payload. */
  payloadHash: string;
  /** Hash of the state after this event. */
  stateHash: string;
  /** Hash of the line and, through the one before, of all that came before. */
  hash: string;
}

/** Options of {@link readRunEvents}. */
export interface RunEventsOptions {
  /** Logical time of the first event. It is found without reading what comes before. Left out: 0. */
  from?: number | undefined;
  /** Logical time of the last event. Left out, `Infinity`, or beyond the end: the log's last. */
  to?: number | undefined;
  /** Only events of these kinds. The others are read and checked all the same. Left out: all. */
  kinds?: RunEventKind[] | undefined;
}

/**
 * Compiles a workflow to its graph (section 7): what `dag.json` holds.
 *
 * The same workflow gives the same bytes, whatever order its nodes, dependencies and capabilities were written in.
 *
 * @returns `dag`, the graph as canonical JSON, and `dagHash`, the SHA-256 of its UTF-8 bytes in hex: what RunCreated names.
 * @throws An `Error` with the `code` `WorkflowInvalid` if the nodes are no graph: an id used twice, a dependency that is not there or is the node
 * itself, nodes that depend on each other in a circle.
 * @throws TypeError - If `workflow`, or a field of it, is of the wrong type; the message names it (`workflow.nodes[2].id`).
 *
 * @example
 * ```ts
 * import { compileWorkflow } from 'session-tape';
 *
 * const { dag } = compileWorkflow({
 *   name: 'release', version: '1',
 *   nodes: [{ id: 'test', kind: 'task', dependsOn: ['build'] }, { id: 'build', kind: 'task', capabilities: ['net'] }],
 * });
 * console.log(dag.slice(0, 28)); // {"edges":[["build","test"]],
 * ```
 */
export declare function compileWorkflow(workflow: Workflow): { dag: string; dagHash: string };

/**
 * Replays a run: its state after the last event, or after any.
 *
 * Works off the JavaScript thread, in memory bounded by the state and a window of the log. A last line that is not complete is no part
 * of the run, and no error.
 *
 * A bundle is verified first, as {@link verifyBundle} does it, with `trustedKeys` for its signature too: nothing is replayed that its manifest does
 * not vouch for. One that is an archive is unpacked to a temporary directory, which is gone when the promise settles (soon after, if
 * that is because of an abort). The bytes of `onProgress` are then those of the bundle, half of them for verifying it.
 *
 * @param path - The run's directory, or its bundle: see {@link exportBundle}.
 * @returns Resolves whatever is in the run: what is wrong with it is `ok: false` and a {@link RunError}, also where it can't be read.
 * Rejects with the reason of an aborted `options.signal`, with what `options.onProgress` throws, and for a bug in session-tape with an
 * `Error` whose `code` is `ERUNPANIC` and whose `cause` has what the addon said; for nothing else.
 * @throws TypeError - At once, if an argument is of the wrong type, or a trusted key is none.
 *
 * @example
 * ```ts
 * import { replayRun } from 'session-tape';
 *
 * const run = await replayRun('no-such-run.cath-bundle', { fromSnapshot: 'latest' });
 * if (run.ok) {
 *   console.log(run.state.coordinator.completedNodes, 'after', run.eventCount, 'events');
 * } else {
 *   console.log(run.error.code); // ENOENT
 * }
 * ```
 */
export declare function replayRun(path: string, options?: RunReplayOptions): Promise<RunReplayResult>;

/**
 * Verifies a run: recomputes everything that can be recomputed, and counts what is not as recorded.
 *
 * Goes on behind a failure as far as that makes sense. Works off the JavaScript thread, on two cores where there are some, in memory
 * bounded by the state and a window of the log.
 *
 * @param path - The run's directory, or its bundle: see {@link exportBundle}.
 * @returns Resolves whatever is in the run; one that can't be read has `chain.firstFailure` with the system's code. Rejects as
 * {@link replayRun} does.
 * @throws TypeError - At once, if an argument is of the wrong type, or a trusted key is none.
 *
 * @example
 * ```ts
 * import { verifyRun } from 'session-tape';
 *
 * const { ok, chain } = await verifyRun('no-such-run.cath-bundle');
 * console.log(ok ? 'as it was recorded' : chain.firstFailure?.code); // ENOENT
 * ```
 */
export declare function verifyRun(path: string, options?: RunVerifyOptions): Promise<RunVerification>;

/**
 * Reads a run's events one by one: the event trace.
 *
 * Each is proven to be a line of the one form, in its place, of a known kind and with all its fields, those left out by `kinds` too. Hashes are
 * not looked at: {@link replayRun} and {@link verifyRun} do that.
 *
 * Reads ahead by one part of some hundred events, never more, and nothing before the first event is asked for. The log is
 * closed at its end, after an error, and when the iteration is left early. An iterator is for one iteration: call again for another.
 *
 * A bundle is verified before its first event is yielded; what is unpacked of an archive stays until the log is closed. One that begins with a
 * snapshot has only the events after that.
 *
 * @param path - The run's directory, or its bundle: see {@link exportBundle}.
 * @returns Where the log is damaged, or can't be read, the iterator throws, behind the events before: an `Error` with the fields of
 * {@link RunError}.
 * @throws TypeError - At once, if an argument is of the wrong type.
 *
 * @example
 * ```ts
 * import { readRunEvents } from 'session-tape';
 *
 * try {
 *   for await (const { eventId, kind, node } of readRunEvents('no-such-run.cath-bundle', { kinds: ['NodeFailed'] })) {
 *     console.log(eventId, kind, node);
 *   }
 * } catch (error) {
 *   console.log((error as { code: string }).code); // ENOENT
 * }
 * ```
 */
export declare function readRunEvents(path: string, options?: RunEventsOptions): AsyncGenerator<RunEvent, void, undefined>;

// ---- Runs: recording ---------------------------------------------------------------------------

/** Configuration of a {@link RunRecorder}. A wrong or missing field throws a `TypeError` that names it. */
export interface RunRecorderConfig {
  /**
   * The run directory. Created, with its parents. It must not hold a log yet, unless `resume`: otherwise the constructor throws
   * an error with the code `EEXIST`.
   */
  directory: string;
  /** Non-empty. In no hash of a state, so that two equal executions have equal hashes. */
  runId: string;
  /** What is executed. `workflow.json` holds it as it is given, `dag.json` the graph that it compiles to (section 7). */
  workflow: Workflow;
  /**
   * How tasks find their workers (section 8). The recorder records assignments and does not make them; {@link verifyRun} checks
   * them against this.
   */
  scheduler: 'round-robin' | 'least-loaded' | 'external';
  /** What the run as a whole may do: non-empty strings. Default: none; with `resume`, what was recorded. */
  capabilities?: string[] | undefined;
  /**
   * Go on with the run in `directory`, if there is one. The log is replayed first, every hash verified, on the calling
   * thread: about a second for 100 MB. `workflow`, `runId`, `scheduler` and, if given, `capabilities` must be those of the
   * recorded run. Default `false`.
   *
   * A last line that a crash has torn is cut off, and `onWarning` is told with the code `TornTail`. A log without any whole event
   * begins anew. A damaged log is refused, as {@link replayRun} refuses it, and left as it is.
   */
  resume?: boolean | undefined;
  /**
   * What a resolved `flush()` promises, and what a blob or snapshot that was written is: `'os'` (default), the bytes are with the
   * operating system and survive the death of the process; `'fsync'`, they are on stable storage and survive a power cut.
   */
  durability?: 'os' | 'fsync' | undefined;
  /**
   * Called on the JavaScript thread: at most once when writing has ended because of an error, as for sessions (see
   * {@link RecordingWarningCode}; `eventsDropped` counts the events that were appended until then and are not in the log), and with `resume` once
   * with the code `TornTail` if there was a torn line. Without it writing ends in silence; `isActive()` tells.
   */
  onWarning?: ((warning: RecordingWarning) => void) | undefined;
}

/** An event to append. */
export interface RunEventInput {
  /** What it is about (section 4). RunCreated is recorded by the constructor, and only there. */
  kind: RunEventKind;
  /** The graph node concerned. Left out or `null`: the node of the payload's `task`; without a task, none. */
  node?: string | null | undefined;
  /**
   * Id of the event that caused this one, `evt_<logical time>`; it must exist. Left out or `null`: the one that section 6 implies for the
   * kind, or, where that does not exist, the event before.
   */
  parent?: string | null | undefined;
  /** The fields that section 4 lists for the kind, and any others: they are recorded as they are. */
  payload: Record<string, unknown>;
}

/**
 * Codes of what a {@link RunRecorder} throws or rejects with, besides the system's own (`ENOSPC`, `EACCES` …: these errors have
 * `errno`, `syscall` and `path`, as Node's have).
 *
 * | code | from | means |
 * |---|---|---|
 * | `EEXIST` | constructor | the directory holds a log, and `resume` was not asked for |
 * | `ERUNLOCKED` | constructor | another live recorder, of any process, has the log open; `owner` tells whose, where that can be read |
 * | `WorkflowInvalid` | constructor | the workflow is no graph: a cycle, an id used twice, a dependency that is not there |
 * | `DagMismatch` | constructor | with `resume`: the recorded run has another graph |
 * | `RunMismatch` | constructor | with `resume`: the recorded run has another id, scheduler or capabilities |
 * | `RunSealed` | constructor | the directory has a `manifest.json`, that is, it is a bundle |
 * | any of {@link RunError} | constructor | with `resume`: the log is damaged there |
 * | `UnknownKind` | append | there is no such kind |
 * | `MissingField`, `InvalidField` | append | a field of the payload, or the node, is missing or is not what it must be |
 * | `IllegalTransition` | append | the state does not allow the event |
 * | `ParentMissing` | append | `parent` is no id of an earlier event |
 * | `AfterEnd` | append | the run has ended: only SnapshotCreated and BlobStored may come |
 * | `StateMismatch` | append | what SnapshotRestored names is not the state |
 * | `TooLarge` | append, snapshot | the line would be longer than 16 MiB, or the snapshot than 1 GiB |
 * | `InvalidPrivateKey` | snapshot | `signWith` is no Ed25519 private key |
 * | `RecorderDisposed` | append, putBlob, snapshot | `dispose()` was called |
 */
export type RunRecorderErrorCode =
  | 'EEXIST'
  | 'ERUNLOCKED'
  | 'WorkflowInvalid'
  | 'DagMismatch'
  | 'RunMismatch'
  | 'RunSealed'
  | 'UnknownKind'
  | 'MissingField'
  | 'InvalidField'
  | 'IllegalTransition'
  | 'ParentMissing'
  | 'AfterEnd'
  | 'StateMismatch'
  | 'TooLarge'
  | 'InvalidPrivateKey'
  | 'RecorderDisposed';

/** What a {@link RunRecorder} throws or rejects with. Arguments of the wrong type throw a `TypeError` instead. */
export interface RunRecorderError extends Error {
  /** A {@link RunRecorderErrorCode}, or another of {@link RunError} or of the system. */
  code: RunRecorderErrorCode | (string & {});
  /** The logical time that the refused event would have had, or that the damaged one has. */
  time?: number;
  /** The same as an event's id. */
  eventId?: string;
  /** What should have been, where there is something to compare. */
  expected?: string;
  /** What was. */
  found?: string;
  /** The system's number for its error, negative as in Node. */
  errno?: number;
  /** The system call that failed. */
  syscall?: string;
  /** The file concerned. */
  path?: string;
  /** With `ERUNLOCKED`: who has the log open, as far as that can be read. */
  owner?: RecordingOwner;
}

/**
 * Records one run to one directory (section 1): its log, its graph, its snapshots and blobs.
 *
 * The constructor makes the directory ready, on the calling thread, and records RunCreated. From then on recording is as
 * for sessions: each event is checked against the state and chained at once, and written by a background thread in whole
 * batches. An event costs the same however many nodes the graph has. What was appended is written also when the process ends
 * without `flush()` or `dispose()`, and the recorder does not keep the process open.
 *
 * The log is locked as long as the recorder has it, also against other processes. The lock goes with its owner, however that ends.
 *
 * A write error never throws into the program. It ends the writing, not the recorder: `append` goes on checking and keeps the state
 * in memory, `isActive()` says `false`, `onWarning` says why. The log then ends at a whole event, and can be resumed.
 *
 * @example
 * ```ts
 * import { mkdtempSync } from 'node:fs';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { RunRecorder } from 'session-tape';
 *
 * const recorder = new RunRecorder({
 *   directory: join(mkdtempSync(join(tmpdir(), 'runs-')), 'release-7.cath-bundle'),
 *   runId: 'release-7',
 *   workflow: { name: 'release', version: '1', nodes: [{ id: 'build', kind: 'task' }] },
 *   scheduler: 'round-robin',
 *   onWarning: (warning) => console.error('not recording any more:', warning.message),
 * });
 * recorder.append({ kind: 'RunStarted', payload: { workers: [{ id: 'w1', capabilities: [] }] } });
 * recorder.append({ kind: 'NodeScheduled', payload: { task: 'build#1', dependsOn: [] } });
 * const { eventId } = recorder.append({ kind: 'TaskAssigned', payload: { task: 'build#1', worker: 'w1' } });
 * console.log(eventId); // evt_3
 * try {
 *   recorder.append({ kind: 'NodeCompleted', payload: { task: 'build#1', outputHash: recorder.putBlob('ok') } });
 * } catch (error) {
 *   console.log((error as { code: string }).code); // IllegalTransition
 * }
 * const { snapshotId } = await recorder.snapshot();
 * console.log(snapshotId); // snap_3
 * await recorder.dispose();
 * ```
 */
export declare class RunRecorder {
  /**
   * Makes the directory ready and records RunCreated; with `resume`, goes on behind the last event. The directory's own
   * I/O happens here and now; the event is written in the background, like all others.
   *
   * @throws TypeError - If a field of `config` is missing or of the wrong type; the message names it.
   * @throws {@link RunRecorderError} - For what is wrong with the workflow, the directory or the log in it.
   */
  constructor(config: RunRecorderConfig);

  /**
   * Records an event.
   *
   * The payload is serialised here and now, exactly as `JSON.stringify` would: changing the object afterwards changes nothing. What is
   * refused takes no logical time and leaves state and log as they are.
   *
   * @returns The event's id and its logical time: 0 is RunCreated, then one more each event.
   * @throws {@link RunRecorderError} - For an event that is not legal; see {@link RunRecorderErrorCode}.
   * @throws TypeError - If a field of `event` is of the wrong type; and what `JSON.stringify` throws (a cycle, a BigInt).
   */
  append(event: RunEventInput): { eventId: string; logicalTime: number };

  /**
   * Stores bytes under their hash, here and now: whole or not at all, and not again if they are there. Records nothing: an event that
   * names the hash, or BlobStored, is the caller's to append.
   *
   * @param data - The bytes; of a string, those of its UTF-8.
   * @param mediaType - For the caller's BlobStored; nothing is stored of it.
   * @returns The SHA-256 of the bytes, in lower-case hex.
   * @throws {@link RunRecorderError} - If the system does not let them be written.
   */
  putBlob(data: Uint8Array | string, mediaType?: string): string;

  /**
   * Takes a snapshot of the state as it is at the call. Flushes the log, writes the file, off the JavaScript thread, and then
   * appends SnapshotCreated. Several at once are fine.
   *
   * @param options - `signWith`: an Ed25519 private key in PEM (PKCS#8), as Node's `crypto` exports it. Without it the snapshot is not
   * signed.
   * @returns The snapshot's id, the logical time after which it was taken, and the hash of its content. Rejects with a
   * {@link RunRecorderError}, and nothing is written, if the key is none, or if the log or the file can't be written.
   */
  snapshot(options?: { signWith?: string | undefined }): Promise<{ snapshotId: string; logicalTime: number; contentHash: string }>;

  /** The state after the last event, whether or not that is written yet. The object is the caller's own. */
  state(): RunState;

  /**
   * Resolves when everything appended before the call is in the log, or, with `durability: 'fsync'`, on stable storage.
   *
   * @returns At once when nothing waits or the warning of a failure was given. Rejects with a {@link RecordingError} when writing failed
   * for a reason that is not a {@link RecordingWarningCode} and something that was appended before the call is lost by that, whether the
   * failure came before the call or after it; the warning comes in either case.
   */
  flush(): Promise<void>;

  /** `true` from construction until `dispose()` or a write failure. */
  isActive(): boolean;

  /**
   * Ends recording: nothing more is taken, what was appended before is still written, and snapshots under way are finished.
   *
   * A program that does not await it loses nothing.
   *
   * @returns Resolves when the log is closed and its lock released. A second call gives the same promise.
   */
  dispose(): Promise<void>;
}

// ---- Bundles -----------------------------------------------------------------------------------

/**
 * What is wrong with a bundle, or with what was asked for: `code` of {@link BundleProblem} and {@link BundleError}. Later releases may add to it.
 *
 * What each means and what to do about it: https://github.com/session-tape/session-tape/blob/main/docs/bundle-format.md
 */
export type BundleCode =
  | 'AbsolutePath'
  | 'ParentPath'
  | 'DriveLetter'
  | 'NulInPath'
  | 'BackslashInPath'
  | 'NotUtf8Path'
  | 'ReservedName'
  | 'InvalidPath'
  | 'DuplicatePath'
  | 'CaseCollision'
  | 'Link'
  | 'Device'
  | 'UnsupportedEntry'
  | 'NotABundle'
  | 'ArchiveCorrupt'
  | 'Truncated'
  | 'TrailingBytes'
  | 'WindowTooLarge'
  | 'LineTooLong'
  | 'BlobTooLarge'
  | 'FileTooLarge'
  | 'TooManyFiles'
  | 'ExpansionTooLarge'
  | 'TotalTooLarge'
  | 'ManifestMissing'
  | 'ManifestInvalid'
  | 'UnsupportedVersion'
  | 'BundleIdMismatch'
  | 'NotInManifest'
  | 'FileMissing'
  | 'WrongSize'
  | 'WrongHash'
  | 'ChecksumsMismatch'
  | 'BlobNameMismatch'
  | 'BlobMissing'
  | 'LogInvalid'
  | 'WrongCount'
  | 'WrongHead'
  | 'RedactionMismatch'
  | 'RedactionsInvalid'
  | 'MetadataInvalid'
  | 'SnapshotInvalid'
  | 'SignatureMissing'
  | 'SignatureMalformed'
  | 'SignatureNotTrusted'
  | 'TooManyProblems'
  | 'SourceInvalid'
  | 'SourceChanged'
  | 'SnapshotNotFound'
  | 'DestinationExists'
  | 'RedactionConflict'
  | 'InvalidRule'
  | 'InvalidOption'
  | 'SystemError'
  | 'Cancelled';

/** A rule of redaction: what is a secret, and where. Exactly one of `pattern` and `path` is given. */
export interface RedactionRule {
  /** What stands in the place of what it hits: `[redacted:<name>]`. */
  name: string;
  /**
   * A regular expression as RE2 has them: without look-around and back-references, and so without patterns that take for ever. It is matched against each string
   * without its escapes, and against the bytes of blobs. If it has a group named `secret`, only that is redacted.
   */
  pattern?: string | undefined;
  /** A JSON pointer to what is redacted in payloads (`/headers/authorization`); `*` stands for any key or index. */
  path?: string | undefined;
  /** Only events of these kinds, or lines of these types. Left out: all. */
  kinds?: string[] | undefined;
  /** Only calls of these tools and what they gave. Left out: all. */
  tools?: string[] | undefined;
}

/** Options of {@link exportBundle}. */
export interface ExportOptions {
  /**
   * Runs only: begin with a snapshot, the one of this id (`snap_<logical time>`) or the newest. The bundle then holds the snapshot, the events after
   * it, and of the blobs those that these name. One that can't be used is `SnapshotNotFound`. Left out: the whole run.
   */
  fromSnapshot?: string | 'latest' | undefined;
  /**
   * What is redacted in the bundle; the source stays as it is.
   *
   * - `builtin` (default `true`): well-known shapes of secrets: private keys, tokens of clouds and of hosts of code, JWTs, bearer headers, passwords in
   *   URLs.
   * - `rules` (default none): rules of one's own beside them.
   *
   * `false`: nothing is redacted. What a rule hits is replaced by `[redacted:<name of the rule>]`, and is in no file of the bundle any more, whatever its
   * escapes. One that stands where nothing can be replaced (in an id, a hash, a name) is `RedactionConflict`; a rule that can't be used is `InvalidRule`,
   * before anything is read. Redacted parts are unverifiable, never wrong: the chain holds as before.
   */
  redact?: { builtin?: boolean | undefined; rules?: RedactionRule[] | undefined } | false | undefined;
  /**
   * Sign the manifest: an Ed25519 private key in PEM (PKCS#8), as Node's `crypto` exports it: `key.export({ type: 'pkcs8', format: 'pem' })`.
   */
  signWith?: string | undefined;
  /** How hard an archive is compressed: a level of zstd, 1 to 22. Default 1. */
  level?: number | undefined;
  /** Called on the JavaScript thread at most ten times a second, and once at the end with the whole. Throwing from it stops the export. */
  onProgress?: ((progress: Progress) => void) | undefined;
  /**
   * Aborting it stops the export. The promise rejects with the signal's `reason` when nothing is left of it; when the bundle is at its destination
   * already, it resolves.
   */
  signal?: AbortSignal | undefined;
}

/** A bundle in short. */
export interface BundleInfo {
  /** SHA-256 of the manifest without this field, in hex. The same source, exported with the same options, has the same id on any machine. */
  bundleId: string;
  /** What it is of. */
  kind: 'run' | 'session';
  /** Where it is, as it was asked for. */
  path: string;
  /** How many files its manifest lists. */
  files: number;
  /** How many bytes these have together, uncompressed. */
  bytes: number;
  /** How many lines its log has. */
  events: number;
  /** How many events, blobs, lines and other files are redacted in it. */
  redactions: number;
  /** Whether it begins with a snapshot. */
  partial: boolean;
}

/** One of the things that are wrong with a bundle. */
export interface BundleProblem {
  /** A {@link BundleCode}. */
  code: BundleCode | (string & {});
  /** The file of the bundle that it is about. Absent if it is about none. */
  path?: string;
  /** The same for people, in one line: what was found, where, and what to do. */
  message: string;
}

/** What the functions for bundles reject with, but for an abort. `name` is `'BundleError'`. */
export interface BundleError extends Error {
  /** A {@link BundleCode}, or the system's own (`ENOSPC`, `EACCES` …: these have `errno` and `syscall`). */
  code: BundleCode | (string & {});
  /** The file concerned: as the bundle names it, or, with a code of the system, as the system does. */
  path?: string;
  /** Where a bundle was refused: all that is wrong with it. `code` and `path` are of the first. */
  problems?: BundleProblem[];
  /** The system's number for its error, negative as in Node. */
  errno?: number;
  /** The system call that failed. */
  syscall?: string;
}

/** How much a bundle may be. `Infinity` takes a limit away. */
export interface BundleLimits {
  /** Bytes of the longest line of the log. Default 16 MiB; of a run's log more is never read, and a session's lines may be as long as a replay reads, unless less is given. */
  lineBytes: number;
  /** Bytes of the largest blob. Default 256 MiB. */
  blobBytes: number;
  /** How many files. Default 100 000. */
  files: number;
  /** How many times its own size an archive may expand to, and a mebibyte more. Default 200. */
  expansion: number;
  /** Bytes of all files together. Default 64 GiB. */
  totalBytes: number;
}

/** Options of {@link verifyBundle} and {@link importBundle}. */
export interface VerifyBundleOptions {
  /** The keys whose signature counts: Ed25519 public keys in PEM (SPKI), as Node's `crypto` exports them. Default: none. */
  trustedKeys?: string[] | undefined;
  /**
   * What is demanded of the signature:
   *
   * - `'required'`: one of `trustedKeys` must have signed the bundle.
   * - `'ifPresent'` (default): if it is signed and there are `trustedKeys`, one of them must have done it. Signatures of others beside that do no harm.
   * - `'ignore'`: it is not looked at.
   */
  signature?: 'required' | 'ifPresent' | 'ignore' | undefined;
  /** Other limits than the default ones. They are checked while the bundle is read, before anything can fill the disk or the memory. */
  limits?: { [Limit in keyof BundleLimits]?: number | undefined } | undefined;
  /** Called on the JavaScript thread at most ten times a second, and once at the end with the whole. Throwing from it stops the work. */
  onProgress?: ((progress: Progress) => void) | undefined;
  /** As in {@link ExportOptions}. */
  signal?: AbortSignal | undefined;
}

/** What {@link verifyBundle} found. */
export interface BundleVerification {
  /** Whether nothing is wrong. */
  ok: boolean;
  /** What the manifest says, believed or not; `null` if it can't be read. */
  info: BundleInfo | null;
  /** All that is wrong; after the first thousand one that says so. Empty for a good bundle. */
  problems: BundleProblem[];
}

/**
 * Seals a run or a session into a bundle: a set of files with a manifest that has the size and hash of each.
 *
 * Another machine can verify a bundle, replay it, and read its events: all functions that read take one as their path. Nothing in it
 * depends on the machine or the hour: the same source gives the same bytes, and so the same `bundleId`. `sha256sum -c manifest.sha256` and `tar --zstd -xf`
 * work on it.
 *
 * The bundle is built beside its destination under a temporary name and renamed when it is whole and on stable storage. After a failure or an
 * abort there is nothing, and nothing that was there before is ever replaced. Memory is bounded, whatever the size of the source, which is read twice; one that
 * was changed in between is `SourceChanged`. Exporting a run that is being recorded takes the events that are whole when it begins.
 *
 * @param source - A run's directory, whose log must be whole; a session's file: whatever replays can be exported; or a bundle of either, in any form
 * and under any name.
 * @param destination - Where there is nothing yet: one file if the name ends in `.tar.zst` (`X.cath-bundle.tar.zst` by custom), else a directory
 * (`X.cath-bundle`).
 * @returns What the bundle is. Rejects with a {@link BundleError}, with the reason of an aborted `options.signal`, with what `options.onProgress` throws, and
 * for a bug in session-tape with an `Error` whose `code` is `EBUNDLEPANIC` and whose `cause` has what the addon said.
 * @throws TypeError - At once, if an argument is of the wrong type, or `signWith` is no key.
 *
 * @example
 * ```ts
 * import { mkdtempSync } from 'node:fs';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { exportBundle, replaySession, SessionRecordingService } from 'session-tape';
 *
 * const directory = mkdtempSync(join(tmpdir(), 'chats-'));
 * const recorder = new SessionRecordingService({
 *   sessionId: 'a1b2c3d4-0001', projectHash: 'my-project', chatsDir: directory,
 *   workspaceDirs: [], provider: 'acme', model: 'acme-large',
 * });
 * recorder.recordContent({ speaker: 'human', blocks: [{ type: 'text', text: 'Hello' }] });
 * await recorder.dispose();
 *
 * const archive = join(directory, 'hello.cath-bundle.tar.zst');
 * const { kind, events } = await exportBundle(recorder.getFilePath()!, archive);
 * console.log(kind, 'of', events, 'lines'); // session of 2 lines
 * const replay = await replaySession(archive, 'my-project');
 * console.log(replay.ok && replay.history.length); // 1
 * ```
 */
export declare function exportBundle(source: string, destination: string, options?: ExportOptions): Promise<BundleInfo>;

/**
 * Verifies a bundle: everything that can be told of it without replaying it.
 *
 * Nothing in it is believed. Every file is read once: its path, size and hash, the hashes of every event and the chain that they form, that every
 * blob is there that the log names, the manifest's own id, its signature, and that there is nothing else. Whether states, assignments and outputs are
 * those that were recorded is for {@link verifyRun}, which takes a bundle too.
 *
 * @param path - The bundle: a directory or an archive.
 * @returns Resolves whatever is in the bundle. Rejects with a {@link BundleError} if it can't be read at all (`ENOENT`, `EACCES` …), and
 * otherwise as {@link exportBundle} does.
 * @throws TypeError - At once, if an argument is of the wrong type, or a trusted key is none.
 *
 * @example
 * ```ts
 * import { mkdtempSync, writeFileSync } from 'node:fs';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { verifyBundle } from 'session-tape';
 *
 * const path = join(mkdtempSync(join(tmpdir(), 'bundles-')), 'x.cath-bundle.tar.zst');
 * writeFileSync(path, 'not a bundle');
 * const { ok, problems } = await verifyBundle(path);
 * console.log(ok, problems[0]!.code); // false NotABundle
 * ```
 */
export declare function verifyBundle(path: string, options?: VerifyBundleOptions): Promise<BundleVerification>;

/**
 * Unpacks a bundle into a directory, if {@link verifyBundle} finds nothing wrong with it.
 *
 * It is verified while it is unpacked, beside the directory under a temporary name, and read once: what was verified is what is there afterwards.
 * After a failure or an abort there is nothing. The directory is a bundle again, and a run that can be read; it can't be recorded to.
 *
 * @param path - The bundle: a directory or an archive.
 * @param directory - Where there is nothing yet.
 * @returns What the bundle is. Rejects with a {@link BundleError} that has `problems` if something is wrong with it, and otherwise as
 * {@link exportBundle} does.
 * @throws TypeError - At once, if an argument is of the wrong type, or a trusted key is none.
 *
 * @example
 * ```ts
 * import { importBundle } from 'session-tape';
 *
 * try {
 *   await importBundle('no-such.cath-bundle.tar.zst', 'here', { signature: 'required', trustedKeys: [] });
 * } catch (error) {
 *   console.log((error as { code: string }).code); // ENOENT
 * }
 * ```
 */
export declare function importBundle(path: string, directory: string, options?: VerifyBundleOptions): Promise<BundleInfo>;

/**
 * One side of a divergence: the event that a recording has where the two part.
 *
 * Behind `kind` come what it is about (`node`, `tool`, a session's `speaker`) and what tells it from others of its kind: `output_hash`,
 * `request_hash`, `input_hash`, `worker`, `code`, `message`… A session's side has an `excerpt` of the first text that differs.
 */
export interface DiffSide {
  /** The run's id, or the session's. Empty where a partial recording does not say. */
  run_id: string;
  /** `evt_<logical time>` in a run, `rec_<place>` in a session. */
  event_id: string;
  /** The event's kind, or the record's type. */
  kind: string;
  /** The graph node concerned. */
  node?: string;
  /** The tool that is called or answers. */
  tool?: string;
  /** The hash of the output; in a session, of the JSON text of the tool's result. */
  output_hash?: string;
  [key: string]: unknown;
}

/** A value that is not the same on both sides. */
export interface DiffField {
  /** JSON pointer (RFC 6901) into the event as it is compared: `/kind`, `/node`, `/parent`, `/payload/…`; in a session `/type`, `/payload/…`. */
  path: string;
  /** The value on the left. Absent: it is not there, or `note` is `tooLarge`. */
  left?: unknown;
  /** The value on the right. */
  right?: unknown;
  /**
   * What else there is to say. `whitespace`: two texts that differ in white space only. `redacted`: they could be the same, one was
   * redacted. `otherPlace`: times that are the same number, but mean different events. `tooLarge`: a value of more than 4 MiB.
   */
  note?: 'whitespace' | 'redacted' | 'otherPlace' | 'tooLarge';
}

/** What an event came of. */
export interface CausalEdge {
  /** Its id. */
  event_id: string;
  /** Its kind, or type. */
  kind: string;
  /** What it is about: a tool, a node; in a session who speaks, and the tools. */
  label?: string;
  /** `recorded`: it stands in the log. `inferred`: it follows from the order of a session's records. */
  evidence: 'recorded' | 'inferred';
}

/** A difference between two recordings as wholes. */
export interface DiffEdit {
  /** `insert`: it is on the right only. `delete`: on the left only. `change`: it says something else. */
  op: 'insert' | 'delete' | 'change';
  /** The event on the left: its logical time; in a session, its place. */
  left?: number;
  /** The event on the right. */
  right?: number;
  /** What changed. Absent for `change` once all edits together have more than 32 MiB of it. */
  fields?: DiffField[];
}

/** Where two recordings part, and why. `docs/diff.md` says how each of it is found. */
export interface Diff {
  /** The logical time of the event on the left, on the right where the left has ended; in a session, the record's place from 0. */
  divergence_event: number;
  /** How they part. `HeaderMismatch`: another workflow or graph, another project. */
  kind: 'EventMismatch' | 'LeftEnded' | 'RightEnded' | 'HeaderMismatch';
  /** The event on the left, `null` where the left has ended. */
  left: DiffSide | null;
  /** The event on the right, `null` where the right has ended. */
  right: DiffSide | null;
  /** What differs between the two events. Empty where one side has ended. */
  fields: DiffField[];
  /** The ids of what the event came of, nearest first: on the left, or on the right where the left has ended. */
  causal_ancestors: string[];
  /** The same of both sides, with what each is. `truncated`: of that side there are more, before a partial recording or beyond 100 000. */
  ancestors: { left: CausalEdge[]; right: CausalEdge[]; truncated: { left: boolean; right: boolean } };
  /** The nearest ancestor that both have, by its id on the left. `null` if there is none. */
  common_ancestor: string | null;
  /** The node at which they part, and all that depend on it, nearest first. Empty for sessions, and for events that concern no node. */
  affected_nodes: string[];
  /** Why, as far as the recordings tell. `Unknown` where they do not. */
  likely_cause:
    | 'ExternalDataChanged'
    | 'InputChanged'
    | 'ScheduleChanged'
    | 'PolicyChanged'
    | 'WorkflowChanged'
    | 'LogTruncated'
    | 'Unknown';
  /** With `full`: all that differs, in order, with as few insertions and deletions as can be. */
  edits?: DiffEdit[];
  /** With `full`: the events that do not differ from the divergence on: numbers of the first of a stretch, and how many are compared in it. */
  equal?: { left: number; right: number; length: number }[];
  /** With `full`, instead of `edits`: it takes more insertions and deletions than `limit`. */
  edits_stopped?: { limit: number };
}

/** What {@link diff} is asked for. */
export interface DiffOptions {
  /** Also align the two as wholes, and list all that differs. Takes longer: both logs are read to their ends. Default `false`. */
  full?: boolean | undefined;
  /** Also compare heartbeats. Default `false`. */
  heartbeats?: boolean | undefined;
  /** What not to compare, on top of what never is: JSON pointers (RFC 6901) into the event. A pointer that leads nowhere is no error. */
  ignore?: string[] | undefined;
  /** Stops the comparison; the promise rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Told how many bytes of both logs together are compared, now and then and at the end. */
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** What {@link diff} and {@link traceAncestors} reject with. */
export interface DiffError extends Error {
  /**
   * A code of runs (`docs/run-format.md`, section 13); of sessions `EmptyFile`, `MissingStart`, `InvalidStart`, `TooLarge`, `Changed`; the
   * system's own (`ENOENT`…); `NotComparable`: one is a run, the other a session; `NoSuchEvent`; a {@link BundleCode}.
   */
  code: string;
  /** Where a bundle was refused: all that is wrong with it. `code` and `path` are of the first. */
  problems?: BundleProblem[];
  /** Which of the two recordings it is about. */
  side?: 'left' | 'right';
  /** Logical time of the event of a run concerned. */
  time?: number;
  /** Its id. */
  eventId?: string;
  /** What should have been there. */
  expected?: string;
  /** What was. */
  found?: string;
  /** The system's number for its error, negative as in Node. */
  errno?: number;
  /** The system call that failed. */
  syscall?: string;
  /** The file concerned. */
  path?: string;
}

/**
 * Where two runs, or two sessions, part, and why.
 *
 * What is compared is what an execution did: not its ids, wall clocks, salts, hashes of lines, snapshots and stored blobs, heartbeats (unless
 * wanted), a session's ids of tool calls, and usage figures, timestamps and ids in metadata. Both logs are read side by side, off the
 * JavaScript thread, up to the first event that is not the same; memory does not grow with their length. No hashes are checked: that a
 * log is whole is for {@link verifyRun} to say.
 *
 * @param left - A run's directory or log, a session's file, or a bundle of either, which is verified first.
 * @param right - The same of the other.
 * @returns `null` if nothing that matters differs. Rejects with a {@link DiffError} if one can't be read up to where they part.
 * @throws TypeError - If an argument is of the wrong type, or an element of `ignore` is no JSON pointer.
 *
 * @example
 * ```ts
 * import { diff, diffToText } from 'session-tape';
 *
 * export async function why(left: string, right: string): Promise<string> {
 *   const found = await diff(left, right, { ignore: ['/payload/priority'] });
 *   return found === null ? 'They did the same' : `${found.likely_cause}\n${diffToText(found)}`;
 * }
 * ```
 */
export declare function diff(left: string, right: string, options?: DiffOptions): Promise<Diff | null>;

/**
 * A diff as people read it, without a line feed at its end. Characters that steer a terminal are escaped.
 *
 * @param diff - What {@link diff} resolved to.
 * @param options - `color`: with the escape sequences of a terminal (default `false`). `details`: also what is likely the cause, what is
 * affected, and each field that differs (default `false`).
 */
export declare function diffToText(diff: Diff | null, options?: { color?: boolean | undefined; details?: boolean | undefined }): string;

/**
 * What an event came of: a run's along the recorded parents, a session's as it follows from the order of its records.
 *
 * Only the lines that it takes are read, and none is verified.
 *
 * @param path - A run's directory or log, a session's file, or a bundle of either, which is verified first.
 * @param eventId - `evt_<logical time>` in a run, `rec_<place from 0>` in a session.
 * @returns The ancestors, nearest first, the event itself left out. `truncated`: there are more, before the beginning of a partial
 * recording or beyond 100 000. Rejects with a {@link DiffError}.
 * @throws TypeError - If an argument is of the wrong type.
 */
export declare function traceAncestors(
  path: string,
  eventId: string,
  options?: { signal?: AbortSignal | undefined },
): Promise<{ chain: CausalEdge[]; truncated: boolean }>;
