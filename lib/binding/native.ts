// The addon's functions and classes, as `napi build` describes them in binding.d.ts. Written down here because the library is also compiled where only
// the addon is, and because some of its functions take more than that file says.

/** The bundle operations of one JavaScript environment: that of the main thread or of a worker. */
export interface NativeBundles {
  /** Notes that JavaScript listens for the end of the process and will then call `end`. */
  listens(): void
  /** Releases a lock of the system when the environment ends and its jobs have cleaned up. */
  releaseAtEnd(lock: number): void
  /** Stops the jobs and removes unpacked files, at the end of the environment. */
  end(): void
}

/** A job, for JavaScript. */
export interface NativeJob {
  /** Takes the next batch. Returns null if there is none yet: `onReady` is called for the next one. */
  take(): string | null
  /** Copies the codes of the batch's tape into an array, and drops them. Can be called once. */
  codes(into: Int32Array): void
  /** The pool of the tape's strings without characters beyond U+00FF. Can be taken once. */
  narrow(): string | null
  /** The pool of the tape's other strings. Can be taken once. */
  wide(): string | null
  /** A text that is in neither pool. Can be taken once. */
  text(index: number): string | null
  /** Asks the job to stop. It still sends its end, after it has cleaned up, or at once if it has not begun. */
  stop(): void
  /**
   * Stops the job and drops its batches; no more can be taken. The job no longer holds the process open, even if the system does not let
   * its work end.
   */
  cancel(): void
}

/** The recorder of one session. */
export interface NativeRecorder {
  /** The writing of the recorder. Can be taken once. */
  takeWriting(): NativeWriting | null
  /**
   * Returns the function that records an event of a known type, given the type's index, the payload's JSON text and the time.
   * That function returns the record's number, negative if its line has version 2, or NaN if the recorder is inactive. It is called for every
   * event, and calling a method of a class instead would take one and a half times as long.
   */
  recording(): (type: number, payload: string | undefined, now: number) => number
  /**
   * Records an event of any type, which is passed as JSON text. Returns the same as the function of
   * `recording`.
   */
  recordOther(typeJson: string, payload: string | null | undefined, now: number): number
  /** Gives the `session_start` that waits for the file another payload. */
  setStart(payload: string, now: number): void
  /** Serialises `content` records, whose payloads are passed as JSON texts. */
  prepare(payloads: string[], now: number): NativeBatch
  /** The number of bytes that are pending, and that of the records of a batch. */
  weigh(batch: NativeBatch): number[]
  /**
   * Records a batch, and creates the file. If `isOpen`, it can be rolled back until something else is recorded. Returns the same as `recordOther`,
   * for the
   * last of its records.
   */
  recordPrepared(batch: NativeBatch, now: number, isOpen: boolean): number
  /** The batch that ends with the record `last` can no longer be rolled back. */
  finalize(last: number): void
  /** Takes the batch back that ends with the record `last`. Returns null if that is done, or why it can't be. */
  rollBack(last: number): string | null
  /** Begins a record whose payload follows in parts, as soon as those before it have ended. Returns its number; null if the recorder is inactive. */
  beginStream(typeJson: string, now: number): number | null
  /** Writes the next part of the payload. Resolves when that is done, or the recording has failed. */
  writePart(text: string, isLast: boolean): Promise<void>
  /** The last part is written. Returns false if the recording has ended before. */
  endStream(): boolean
  /** Removes what was written of the record. */
  abortStream(): void
  /** What JavaScript is to append next. */
  takeAppend(): { path: string; data: string } | null
  /** That is done, or has failed with the error of this number, 0 if it has none. */
  answerAppend(errno: number | null): void
  /** The number of the last record. */
  lastNumber(): number
  /** The number that the records of the file follow: the last one that was in it before. */
  followedNumber(): number
  /** Resumes the session in the file at `path`. Returns `false` if that fails. */
  resume(path: string, lastSeq: number): number | null
  /** Ends recording at once, because this lock of the session is no longer the recorder's. */
  loseLock(lock: string): void
  /** Accepts no more events. Resolves when everything is written and the file is closed and unlocked. */
  dispose(): Promise<void>
  /** Whether events are accepted. */
  isActive(): boolean
  /** The path of the session's file, once it exists. */
  path(): string | null
  /** Number of records that are not in the file, including those that were refused because writing had failed. */
  missing(): number
  /**
   * Records an event whose acknowledgement will be watched, and creates the file: the caller must call `watch` in this turn. Returns the same as
   * `recordOther`, or null if the queue has no room for it.
   */
  recordWatched(typeJson: string, payload: string | null | undefined, now: number, maxBytes: number): number | null
  /** Creates the file if there is none, with what waits for it. */
  ensureFile(now: number): void
  /**
   * Asks for one acknowledgement of what is recorded. Returns true if everything that is queued is acknowledged already; then the next batch is
   * acknowledged.
   */
  watch(): boolean
  /** Asks for an acknowledgement of each batch from now on. */
  observe(): void
  /** Whether a record of the file, or one that waits for its creation, has this number. */
  hasRecorded(seq: number): boolean
  /** The offset at which a record's line ended when it was written; NaN before it is acknowledged. */
  lineEnd(seq: number): number
  /** The number of the last record of the file that is acknowledged; NaN if none is. */
  acknowledged(): number
  /** What to record so that a replay of the file gives the items with these hashes, joined. Throws if the file can't be replayed. */
  tailTo(hashes: string): NativeTail
  /** Sets the history that a replay of the file gives, by the hashes of its items, joined. */
  setHistory(hashes: string): void
  /** Reads the history of the file. Returns null if it is known already, or if there is no file. Throws if the file can't be replayed. */
  readHistory(): NativeHistory | null
  /** The event loop turns: what is written by now is no longer pending. Returns whether anything is still to be written. */
  endTurn(): boolean
  /** Number of records that were not in the file when the event loop last turned. */
  pendingRecords(): number
  /** Number of bytes that were not in the file when the event loop last turned. */
  pendingBytes(): number
}

/** Items that are serialised, to be recorded together. */
export interface NativeBatch {}

/** The history of a recorder's file. */
export interface NativeHistory {
  /** The joined hashes of its items. */
  hashes: string
  /** For each item the number of the record whose content it is; NaN if this recorder has not recorded it as that. */
  seqs: Float64Array
}

/** What to record so that a replay gives another history: a rewind, then replacements, then the items from an index on. */
export interface NativeTail {
  /** Number of items to rewind. */
  removed: number
  /** The key of the first of them, if the rewind can name it. */
  cut?: number
  /** The indices of the items that are replaced, and their keys. */
  replaced: number[]
  keys: number[]
  /** Index of the first item to append. */
  appendedFrom: number
}

/** A replay, finished or not, whose items are read on demand. */
export interface NativeReplay {
  /** The job that replays. Can be taken once. */
  job(): NativeJob | null
  /**
   * Starts a job that reads the items from `from` up to, but not including, `to`. Returns null if the replay is
   * not open.
   */
  items(from: number, to: number, onReady: () => void): NativeJob | null
  /**
   * The end of a page that begins with the item at `from` and ends before `to`: its items have at most `bytes` bytes, or it has one item. Returns
   * null if the replay is not open.
   */
  pageEnd(from: number, to: number, bytes: number): number | null
  /** Closes the file, now or when the replay has finished. Jobs that are reading items still deliver them. */
  close(): void
}

/** The recorder of one run. */
export interface NativeRunRecorder {
  /** The writing of the recorder. Can be taken once. */
  takeWriting(): NativeWriting | null
  /**
   * Records an event, whose kind is passed by its number. Returns its logical time, or null if it was refused: see
   * `takeRefusal`.
   */
  append(
    kind: number,
    node: string | null | undefined,
    parent: string | null | undefined,
    payload: string,
    now: number,
  ): number | null
  /** The error for the last event or blob that was refused, as JSON text. Can be taken once. */
  takeRefusal(): string | null
  /** The error for an event of an unknown kind, as JSON text. */
  unknownKind(kind: string): string
  /** Stores a blob. Returns its hash, or null if that failed: see `takeRefusal`. */
  putBlob(data: Uint8Array | string): string | null
  /**
   * Takes a snapshot, signed with a PEM key if one is given. Resolves to a description of the snapshot, or an error, as JSON
   * text.
   */
  snapshot(signWith?: string | null | undefined): Promise<string>
  /** The state, as JSON text. */
  state(): string
  /** Accepts no more events. Resolves when everything is written and the log is closed and unlocked. */
  dispose(): Promise<void>
  /** Whether events are accepted and written. */
  isActive(): boolean
  /** Number of events that were accepted but are not in the log, including those accepted after the writer had failed. */
  missing(): number
  /** The path of the log. */
  path(): string
  /** The error of the lock, as JSON text, if the file system has none and the run is recorded without a lock. */
  unlocked(): string | null
  /** Size, in bytes, of the torn line that was cut off when the log was resumed. */
  tornBytes(): number
}

/** A recording that is read page by page. */
export interface NativePages {
  /** Starts a job that reads the next page. Its only batch is its end. */
  next(onReady: () => void): NativeJob
  /** Ends a read in progress: the next page is the last one. */
  stop(): void
  /** Closes the recording at once, if nothing is reading it and there is nothing to remove. Returns whether it is closed. */
  closeAtOnce(): boolean
  /**
   * Closes the recording, after ending a read in progress, without telling when. What was unpacked is removed elsewhere: this may be the JavaScript
   * thread.
   */
  abandon(): void
  /** Ends a read in progress, and starts a job that closes the recording and removes what was unpacked. */
  close(onReady: () => void): NativeJob
}

/** The writing of one recorder. */
export interface NativeWriting {
  /**
   * Number of lines that were queued or refused so far. Returns null if a flush has neither anything to wait for nor a failure
   * to report.
   */
  unflushed(): number | null
  /** Resolves when everything that was queued is in the file, or never will be: see `failure`. */
  flush(): Promise<void>
  /** The failure that ended the writing, as JSON text. */
  failure(): string | null
  /** The same, but only for the first call. */
  takeFailure(): string | null
}

/** The recorders of one JavaScript environment: that of the main thread or of a worker. */
export interface RecorderGroup {
  /** Waits until everything is written, but no longer than two seconds. From then on, recording waits in the same way. */
  leave(): void
}

/** The options of a diff. */
export interface NativeDiffOptions {
  full: boolean
  heartbeats: boolean
  ignore: string[]
  progress: boolean
}

/** The options of an export. */
export interface NativeExportOptions {
  /** `latest`, or the id of a snapshot. */
  fromSnapshot?: string | undefined
  /** A key that `privateKeyFault` has accepted. */
  signWith?: string | undefined
  level?: number | undefined
  allowDamaged?: boolean | undefined
  /** `skip` or `drop`. */
  media?: string | undefined
  mediaDir?: string | undefined
  /** If absent, nothing is redacted. */
  redact?: NativeRedactOptions | undefined
  progress: boolean
}

/** The source and the new session of a fork, validated by JavaScript. */
export interface NativeForkOptions {
  /** The session file to fork. */
  source: string
  projectHash: string
  checkpointId: string
  chatsDir: string
  /** Whether the name of the new file contains seconds. */
  nameHasSeconds: boolean
  idPrefix: string
  /** The permissions of the new file, less the umask. */
  mode: number
  /** JSON text. */
  startPayload: string
  now: number
  /** JSON texts of the items that the new session begins with, if they are not those of the source. */
  contents?: string[] | undefined
}

/** Limits that are absent have their defaults. */
export interface NativeLimits {
  lineBytes?: number | undefined
  blobBytes?: number | undefined
  files?: number | undefined
  expansion?: number | undefined
  totalBytes?: number | undefined
}

/** The configuration of a recorder, validated by JavaScript. */
export interface NativeRecorderConfig {
  id: number
  chatsDir: string
  /** Whether the name of the file contains seconds. */
  nameHasSeconds: boolean
  idPrefix: string
  /** The permissions of a new file, less the umask. */
  mode: number
  fsync: boolean
  /** Whether JavaScript appends. */
  hasSeam: boolean
  /** The owner, as JSON text, for the lock file. Absent if the session is recorded without a lock. */
  exclusiveOwner?: string | undefined
  /** JSON text. */
  startPayload: string
  now: number
}

/** The options of a reading. */
export interface NativeRecordOptions {
  strict: boolean
  history: boolean
  changes: boolean
  /** The types of the records that are read. */
  types?: string[] | undefined
  /** The number and the offset of the first line. */
  line: number
  offset: number
}

/** A rule that is not validated yet. */
export interface NativeRedactionRule {
  name: string
  pattern?: string | undefined
  path?: string | undefined
  kinds?: string[] | undefined
  tools?: string[] | undefined
}

/** The rules of a redaction. */
export interface NativeRedactOptions {
  builtin: boolean
  rules: NativeRedactionRule[]
}

/** The options of a replay. */
export interface NativeReplayOptions {
  projectHash?: string | undefined
  throughSeq?: number | undefined
  auditTrail: boolean
  progress: boolean
  /** Whether it may have to be stopped. */
  stoppable: boolean
  strict: boolean
  /** Whether the file may be a foreign session. */
  foreign: boolean
  /** The conversation of a foreign session. */
  conversation?: string | undefined
  /** Whether the result has the hashes of the items. */
  hashes: boolean
}

/** Options of an import of a foreign session, which are validated. */
export interface NativeImportOptions {
  chatsDir: string
  projectHash: string
  workspaceDirs?: string[] | undefined
  sessionId?: string | undefined
  conversation?: string | undefined
  receipt?: string | undefined
  progress: boolean
}

/** A conversion whose records are read page by page. */
export interface NativeConversion {
  /**
   * Starts a job that reads the next records. The result has `rows`, an array of objects with `entry` and `events`; behind the last one `rows` is
   * empty, and there is a `summary`.
   */
  next(onReady: () => void): NativeJob
  /** Lets go of what was converted. */
  close(): void
}

/** The configuration of a recorder, validated by JavaScript. */
export interface NativeRunRecorderConfig {
  id: number
  directory: string
  runId: string
  /** JSON text. */
  workflow: string
  scheduler: string
  /** A JSON array of strings. */
  capabilities?: string | undefined
  resume: boolean
  /** The permissions of a new log, less the umask. */
  mode: number
  fsync: boolean
  /** The owner, as JSON text, for the lock file. */
  owner: string
  now: number
}

/** The options of a replay. */
export interface NativeRunReplayOptions {
  /** `latest`, or the id or file of a snapshot. */
  fromSnapshot?: string | undefined
  until?: number | undefined
  /** `none`, `chain` or `full`. */
  verify: string
  trustedKeys: string[]
  progress: boolean
}

/** The options of a search. */
export interface NativeSearchOptions {
  query: string
  regex: boolean
  /** `smart`, `sensitive` or `insensitive`. */
  case: string
  /** The names of the fields that are searched. */
  fields: string[]
  speaker?: string | undefined
  tool?: string | undefined
  projectHash?: string | undefined
  /** Whether only events with a time are of use. */
  timed: boolean
  /** The bounds of their times, as `toISOString` writes them. */
  since?: string | undefined
  until?: string | undefined
  /** Whether to search only items that are in the history at the end. */
  current: boolean
  /** Number of UTF-16 units on each side of the first match. */
  context: number
  /** The most hits that are of use. */
  limit: number
}

/** The options of a repair. */
export interface NativeRepairOptions {
  projectHash?: string | undefined
  sessionId?: string | undefined
  receiptPath?: string | undefined
  dryRun: boolean
  /** The current time in milliseconds since 1970. */
  now: number
  progress: boolean
}

/** The requirements for a bundle. */
export interface NativeVerifyOptions {
  trustedKeys: string[]
  /** `required`, `ifPresent` or `ignore`. */
  signature: string
  limits: NativeLimits
  /** Where an import puts media. */
  mediaDir?: string | undefined
  progress: boolean
}

/** What the addon exports. */
export interface Binding {
  /** `onUnpack` is called when something is to be unpacked before JavaScript has called `listens`. */
  NativeBundles: new (
    onUnpack: () => void,
  ) => NativeBundles
  /** A recorder that belongs to `group`. Does no I/O before the first event. */
  NativeRecorder: new (
    group: RecorderGroup,
    config: NativeRecorderConfig,
  ) => NativeRecorder
  /**
   * The events of the run at `path` from the logical time `from` up to and including `to`. Nothing is opened before the first page is
   * requested. `isVerified` says that `path` is the directory of a bundle that has already been verified.
   */
  /** The conversion of a conversation of the foreign session at `path`. Nothing is read before the first page is requested. */
  NativeConversion: new (
    path: string,
    conversation?: string | undefined | null,
  ) => NativeConversion
  /**
   * A search in these files, in this order. The paths are separated by NULs; the sizes need not be exact. Nothing is opened before the first page is
   * requested.
   */
  /** The lines of the session at `path`. Nothing is opened before the first page is requested. */
  /**
   * `onFailure` is called with the id of a recorder that failed, `onAcknowledged` with that of one whose acknowledgement was asked for, `onAppend` with
   * that of one whose seam is to append.
   */
  RecorderGroup: new (
    onFailure: (id: number) => void,
    onAcknowledged: (id: number) => void,
    onAppend: (id: number) => void,
  ) => RecorderGroup
  /** The hash of an item that is given as JSON text: 24 characters up to U+00FF. */
  hashItem(item: string): string
  /** The codes of bundle errors, in the order of the documentation. */
  bundleCodes(): string[]
  /** Compiles a workflow, which is passed as JSON text. Returns `{"dag","dagHash"}` or `{"error"}`. */
  compileWorkflow(workflow: string): string
  /**
   * Scans the sessions in these files in strict mode. The batches have `described`, an array with an element for each file, in any order. An
   * element is an array of the file's index in `paths`, the description of its replay, `null` if that is too long, and what of the file was not
   * read; or of the index and an object with `error`.
   */
  describeSessions(paths: string[], projectHash: string | undefined, onReady: () => void): NativeJob
  /** Waits until all recorders of this process have written everything, but no longer than two seconds. */
  drainAllRecorders(): void
  /**
   * The result is an array with an element for each path: an array of two strings, the identity of the file (empty if the system
   * provides none) and its version, from its size and its time of modification; or `null` if there is no such file.
   */
  fileIdentities(paths: string[]): Promise<string>
  /**
   * The result is an array with an element for each path: for a file, an array of its size in bytes and its time of modification in milliseconds; for a
   * directory, an object whose `files` are arrays of name, size and time of its session files, sorted by name; or a string with the reason why it can't
   * be read. The paths are separated by NULs, which no path contains.
   */
  findSessionFiles(paths: string): Promise<string>
  /**
   * Creates the file of a new session. The result has `filePath` and `lastSeq`, the number of its last record; or `failed`, the step that
   * failed, and a `message` if there is one.
   */
  forkSession(options: NativeForkOptions, onReady: () => void): NativeJob
  /** Finds the checkpoint of a fork. The result has its `sequence`, or is that of a fork that failed. */
  findFork(options: NativeForkOptions, onReady: () => void): NativeJob
  /**
   * Locks the file at a path, which has this device and inode. The result is a number for `unlockFile`, or `null` if the system
   * refuses.
   */
  holdLock(path: string, device: string, inode: string): Promise<string>
  /** The fault of a JSON pointer. Returns null if it is valid. */
  jsonPointerFault(pointer: string): string | null
  /** Releases a lock. The result is `null`. */
  unlockFile(number: number): Promise<string>
  /**
   * Looks whether any process holds the lock on the file at a path, which had this device and inode. The result is `"held"`, `"free"`,
   * `"another"` if the file is gone or another one has its path, or `"unknown"`.
   */
  lookAtLock(path: string, device: string, inode: string): Promise<string>
  /** Replays the session in a file or a bundle. The items stay in the file and are read on demand. */
  openReplay(bundles: NativeBundles, path: string, options: NativeReplayOptions, onReady: () => void): NativeReplay
  /** Opens the run that is described by `config`. Returns its recorder, or an error as JSON text. */
  openRunRecorder(group: RecorderGroup, config: NativeRunRecorderConfig): NativeRunRecorder | string
  /** The fault of a private key. Returns null if it is valid. */
  privateKeyFault(pem: string): string | null
  /** The fault of a public key. Returns null if it is valid. */
  publicKeyFault(pem: string): string | null
  /**
   * The result is an array with the header of each path, or `null` if it has none. If the headers are large, only the first ones are
   * included, at least one.
   */
  readHeaders(paths: string[]): Promise<string>
  /**
   * The result is an array with an element for each path: an array of the header, the session's size in bytes, its time of modification
   * in milliseconds, and the archive's size in bytes if it is archived; an array of the header alone if that lacks what strict replays require; or a
   * string with the reason why there is no header. If the headers are large, only the first ones are included, at least one. The paths are separated by NULs, which no path contains: passing one long string is faster than passing thousands of short
   * ones.
   */
  readSummaries(paths: string): Promise<string>
  /**
   * The events of the run at `path` from the logical time `from` up to and including `to`. Nothing is opened before the first page is requested.
   * `isVerified` says that `path` is the directory of a bundle that has already been verified. A page is an object with `events`, and with `last` or
   * `error` if there are no more.
   */
  readRunEvents(
    bundles: NativeBundles,
    path: string,
    isVerified: boolean,
    from: number,
    to: number,
    kinds?: string[] | undefined | null,
  ): NativePages
  /**
   * The references of the session at `path`, two entries for each: one for each role. Nothing is opened before the first page is requested. A page is an
   * object with `entries`, and with `last` or `error` if there are no more.
   */
  readSessionMedia(bundles: NativeBundles, path: string): NativePages
  /**
   * The lines of the session at `path`. Nothing is opened before the first page is requested. A page has its lines as columns: the first `line`, or
   * `lines` if they do not follow one another; `offsets`, `lengths`, `statuses`, `histories`, and `changes` if these are wanted. The records are on the
   * tape of its job.
   */
  readSessionRecords(bundles: NativeBundles, path: string, options: NativeRecordOptions): NativePages
  /** The files that recorders of this process, in whatever thread, may still write to. */
  recordedFiles(): string[]
  /** Removes a session and its archive. The result is `null`. */
  removeSession(path: string, owner: string): Promise<string>
  /** The kinds of events. Their indices are the numbers that `append` takes. */
  runEventKinds(): string[]
  /** The fault of a query. Returns null if it is valid. */
  searchQueryFault(query: string, regex: boolean, letters: string): string | null
  /**
   * A search in these files, in this order. The paths are separated by NULs; the sizes need not be exact. Nothing is opened before the first page is
   * requested. A page has hits. Its `parts` are the files that they are in, each an array: its index, the session's id or null, the number of its hits
   * among `hits`, what became of it: null if there are more hits, its size in bytes if it was searched, a reason why it could not be read, or false if it
   * was left out; and whether it is archived. A hit is an array of the members of a `SessionHit` from `line` on.
   */
  searchSessions(paths: string, sizes: Float64Array, options: NativeSearchOptions): NativePages
  /**
   * Archives the session at `path`, or restores it. `owner` describes this process in the file's lock. The result has `filePath`, `bytes` and
   * `archivedBytes`, which is `null` if there was no archive. The end of the environment waits until the work has cleaned up.
   */
  startArchive(
    bundles: NativeBundles,
    path: string,
    owner: string,
    restores: boolean,
    progress: boolean,
    onReady: () => void,
  ): NativeJob
  /** Detects what a file is. The result is `"native"`, the name of a format, or `null`. */
  startDetection(path: string, onReady: () => void): NativeJob
  /** Imports a foreign session. The result has `filePath`, `receiptPath`, `lastSeq` and `summary`. */
  startForeignImport(bundles: NativeBundles, path: string, options: NativeImportOptions, onReady: () => void): NativeJob
  /** Lists the conversations of a foreign session. The result has `format` and `conversations`. */
  startListing(path: string, onReady: () => void): NativeJob
  /** Compares two recordings. The result is the diff, or null if there is none. */
  startDiff(
    bundles: NativeBundles,
    left: string,
    right: string,
    options: NativeDiffOptions,
    onReady: () => void,
  ): NativeJob
  /** Writes the final history of the session at `source`, or of a conversation of it, to `destination`, in ATIF. The result has `steps` and `media`. */
  startAtifExport(
    bundles: NativeBundles,
    source: string,
    destination: string,
    conversation: string | undefined,
    onReady: () => void,
  ): NativeJob
  /** Exports `source` to `destination`. */
  startExport(
    bundles: NativeBundles,
    source: string,
    destination: string,
    options: NativeExportOptions,
    onReady: () => void,
  ): NativeJob
  /** Imports the bundle at `path` to `directory`, permanently or for a reader that removes it. */
  startImport(
    bundles: NativeBundles,
    path: string,
    directory: string,
    isToStay: boolean,
    options: NativeVerifyOptions,
    onReady: () => void,
  ): NativeJob
  /** Repairs the session at `source`. The result is a receipt. */
  startRepair(
    bundles: NativeBundles,
    source: string,
    destination: string,
    options: NativeRepairOptions,
    onReady: () => void,
  ): NativeJob
  /**
   * Replays the session in a file or a bundle, with all items of its history. Returns the job, or a promise of it if it may have ended by then: its
   * only batch is there, and `onReady` is not called.
   */
  startReplay(
    bundles: NativeBundles,
    path: string,
    options: NativeReplayOptions,
    onReady: () => void,
  ): NativeJob | Promise<NativeJob>
  /** Replays the run at `path`. If `isVerified`, it is in the directory of a bundle that has already been verified. */
  startRunReplay(
    bundles: NativeBundles,
    path: string,
    isVerified: boolean,
    options: NativeRunReplayOptions,
    onReady: () => void,
  ): NativeJob
  /** Verifies the run at `path`. If `isVerified`, it is in the directory of a bundle that has already been verified. */
  startRunVerification(
    bundles: NativeBundles,
    path: string,
    isVerified: boolean,
    trustedKeys: string[],
    progress: boolean,
    onReady: () => void,
  ): NativeJob
  /**
   * Reads the beginning of a session. The result is an object with `hasContent` and `firstUserMessage`, which has at most `length` code
   * units.
   */
  startSessionPreview(path: string, length: number, onReady: () => void): NativeJob
  /** Searches for the last title of a session. The result is the title, which is a string or null, or `false` if there is none. */
  startSessionTitle(path: string, onReady: () => void): NativeJob
  /** Finds the ancestors of an event. The result is an object with `chain` and `truncated`. */
  startTrace(bundles: NativeBundles, path: string, eventId: string, onReady: () => void): NativeJob
  /** Verifies the bundle at `path`. */
  startVerification(bundles: NativeBundles, path: string, options: NativeVerifyOptions, onReady: () => void): NativeJob
  /** Checks the objects that the session at `path` refers to. The result has `present`, `missing` and `corrupt`. */
  verifySessionMedia(
    bundles: NativeBundles,
    path: string,
    mediaDir: string | undefined | null,
    onReady: () => void,
  ): NativeJob
}
