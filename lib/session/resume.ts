// Resumes a session: locks it, replays it, and creates a recorder that continues its file.

import path = require('node:path')
import { NO_OPTIONS, type Shape, checked, expect, unlessMissing } from '../arguments.js'
import { hasOwn } from '../builtins.js'
import { type SessionLock, closingHandleOf } from '../locks/handle.js'
import { SessionLockedError } from '../locks/locked-error.js'
import type { RecordingWarning } from '../recording-warning.js'
import { CONTINUE_LATEST } from '../constants.js'
import { restored } from './archive.js'
import { sessionPathOf } from './archive-name.js'
import { SEQUENCE_CORRUPT, scanSessions, skip, usableOf } from './describe.js'
import {
  type ReferenceFailure,
  type Refusal,
  type SessionFailure,
  failure,
  failureOf,
  lockSession,
  namesakesOf,
  nothingToResume,
} from './failure.js'
import { listProject } from './list.js'
import { SessionRecordingService, setHistoryOf } from './recorder.js'
import { type RecorderOptions, checkRecorderOptions } from './recorder-config.js'
import type { IContent, ItemMap, SemanticMediaPurgeFrontier, SessionKind } from './records.js'
import { checkKinds, kindsOf, ofKinds } from './kind.js'
import { hasSession, readable, resolveSessionRef } from './reference.js'
import { type SessionHandle, open } from './open.js'
import { replayNative } from './replay.js'
import type { ReplayFailure, ReplaySuccess, SessionMetadata } from './replay-result.js'
import type { SessionSummary, SkippedSession } from './summary.js'
// Only for links in the comments.
import type { openSession } from './open.js'

/** The session to resume, and the settings to resume it with. */
export interface ResumeRequest {
  /** A reference as for {@link resolveSessionRef}; if that finds none, a session's name; or {@link CONTINUE_LATEST}. */
  continueRef: string
  /** Only sessions of this project are found. */
  projectHash: string
  /** The directory of the sessions. */
  chatsDir: string
  /** Provider from now on; recorded if it differs from the session's. Not empty. */
  currentProvider: string
  /** Model from now on; recorded if it differs from the session's. */
  currentModel: string
  /** Absolute directories that the recorder is given. Those that the file has stay. */
  workspaceDirs: string[]
  /** Options of the recorder that continues the session. */
  recorder?: RecorderOptions | undefined
  /**
   * Sessions of which kinds {@link CONTINUE_LATEST}, positions, prefixes and names find. Default: only `'main'`. A complete id finds a session of any
   * kind.
   */
  kinds?: readonly SessionKind[] | undefined
  /**
   * Applied to every item of the history. If it throws, the session is not resumed, and the promise rejects with its error. With `history: 'cursor'` it
   * is applied when an item is read; `reconcile` takes an item that it has changed for a new one.
   */
  map?: ItemMap<any> | undefined
  /** Default: the result has the whole history as an array. See {@link CursorResumeRequest}. */
  history?: undefined
}

/** A request to resume a session without its history in memory. */
export interface CursorResumeRequest extends Omit<ResumeRequest, 'history'> {
  /** The result has a `session` to read the history from, instead of the history. */
  history: 'cursor'
}

/** A resumed session. */
export interface ResumeResult<C = IContent> {
  ok: true
  history: C[]
  /** The metadata as replayed, before a change of provider or model by the request. */
  metadata: SessionMetadata
  /** The number of the last record when the session was resumed, as in {@link ReplaySuccess}. */
  lastSeq: number
  /** Appends to the session's file and owns the lock. */
  recording: SessionRecordingService<C>
  /** The lock that `recording` owns. Releasing it twice is harmless. */
  lockHandle: SessionLock
  /**
   * A warning for each session that {@link CONTINUE_LATEST} skipped, except for those in use, and for each other file with the id of the session,
   * then one about events of a newer version if the session has any, followed by the warnings of the replay.
   */
  warnings: string[]
  /**
   * The files that were passed over, each with the reason: those that a listing reports as unreadable, and the sessions that {@link CONTINUE_LATEST}
   * could not resume, except for those in use.
   */
  skippedRecordings: SkippedSession[]
  /** As in {@link ReplaySuccess}. Absent if there is none. */
  semanticMediaPurgeFrontier?: SemanticMediaPurgeFrontier
}

/** A session that was resumed without its history in memory. */
export interface CursorResumeResult<C = IContent> extends Omit<ResumeResult<C>, 'history'> {
  /**
   * The session as it was when it was resumed, as {@link openSession} gives it: what is recorded afterwards is not in it. Closed before the lock is
   * released, so also by `dispose()` of `recording`.
   */
  session: SessionHandle<C>
}

/** A copy of the request. */
interface Captured extends Omit<ResumeRequest, 'recorder' | 'kinds' | 'history'> {
  history: 'cursor' | undefined
  kinds: readonly SessionKind[]
  /** `chatsDir` as an absolute path. */
  directory: string
  recorder: RecorderOptions
}

/** A session that is locked, replayed and ready to be recorded to. */
interface Opened<C> {
  lock: SessionLock
  replayed: Success<C>
  recording: SessionRecordingService<C>
}

/** What a resumption needs of a replay, with its history or the handle to read it from. */
type Success<C> = { ok: true; warnings: string[]; history: C[] | SessionHandle<C> } & Pick<
  ReplaySuccess,
  'metadata' | 'lastSeq' | 'sequenceCorrupt' | 'semanticMediaPurgeFrontier' | 'unknownEvents'
>

type OpeningReplayed<C> = { opened: Omit<Opened<C>, 'lock'>; failed?: undefined } | ({ opened?: undefined } & Refusal)
type Replayed<C> = { result: Success<C> | Pick<ReplayFailure, 'ok' | 'error'>; hashes?: string | undefined }
type Result<C> = ResumeResult<C> | CursorResumeResult<C>
/** A result without the files that were passed over. */
type Found<C> = Omit<ResumeResult<C>, 'skippedRecordings'> | Omit<CursorResumeResult<C>, 'skippedRecordings'>
type Opening<C> = { opened: Opened<C>; failed?: undefined } | ({ opened?: undefined } & Refusal)

/** What the errors of sessions that do not replay begin with. */
const NOT_REPLAYED = 'Failed to replay session: '

/** Why a session whose numbers ascend to the last one that there is cannot be continued. */
const SEQUENCE_EXHAUSTED = 'recording has no sequence numbers left'

/**
 * Resumes a session without its history in memory: the result has a `session` instead, as {@link openSession} gives it. In everything else it is as the
 * form with a {@link ResumeRequest}.
 *
 * @example
 * ```ts
 * import { CONTINUE_LATEST, resumeSession } from 'session-tape';
 *
 * const resumed = await resumeSession({
 *   continueRef: CONTINUE_LATEST, projectHash: 'a-project', chatsDir: 'no-such-directory',
 *   currentProvider: 'acme', currentModel: 'acme-large', workspaceDirs: [process.cwd()], history: 'cursor',
 * });
 * if (resumed.ok) {
 *   for await (const item of resumed.session.rows({ from: -20 })) console.log(item.speaker);
 *   await resumed.recording.dispose();
 * } else console.log(resumed.error); // No sessions found for this project
 * ```
 */
export function resumeSession<C = IContent>(
  request: CursorResumeRequest,
): Promise<CursorResumeResult<C> | SessionFailure>
/**
 * Locks a session, replays it strictly, and returns its history with a recorder that appends to its file. Looks only at files named
 * `session-*.jsonl`, and at archives of such files; an archived session is restored.
 *
 * The recorder records a change of provider or model, and that the session was resumed. Nothing is flushed.
 *
 * @returns After a failure no lock is held. Rejects with the system's error if the directory exists but cannot be read, or a lock cannot be written,
 * that of `exclusive` included.
 * @throws TypeError - At once, if an argument is of the wrong type.
 *
 * @example
 * ```ts
 * import { CONTINUE_LATEST, resumeSession } from 'session-tape';
 *
 * const resumed = await resumeSession({
 *   continueRef: CONTINUE_LATEST, projectHash: 'a-project', chatsDir: 'no-such-directory',
 *   currentProvider: 'acme', currentModel: 'acme-large', workspaceDirs: [process.cwd()],
 * });
 * if (resumed.ok) await resumed.recording.dispose();
 * else console.log(resumed.code, resumed.error); // NoSessions No sessions found for this project
 * ```
 */
export function resumeSession<C = IContent>(request: ResumeRequest): Promise<ResumeResult<C> | SessionFailure>
export function resumeSession<C = IContent>(
  request: ResumeRequest | CursorResumeRequest,
): Promise<Result<C> | SessionFailure> {
  return resume<C>(checked<Asked>(request, REQUEST, 'request'))
}

type Asked = Omit<ResumeRequest, 'history'> & { history?: 'cursor' | undefined }

const REQUEST: Shape<Asked> = {
  continueRef: 'string',
  projectHash: 'filledString',
  chatsDir: 'filledString',
  currentProvider: 'filledString',
  currentModel: 'string',
  workspaceDirs: 'strings',
  map: 'function?',
  kinds: checkKinds,
  history: (value: unknown, name: string) =>
    expect(value === undefined || value === 'cursor', name, "'cursor', if it is given", value),
  recorder: unlessMissing(checkRecorderOptions),
}

async function resume<C>(asked: Asked): Promise<Result<C> | SessionFailure> {
  const request = captured(asked)
  const { sessions, unreadable } = await listProject(request.directory, request.projectHash)
  const skippedRecordings = unreadable.slice()
  const result = await resumeOneOf<C>(sessions, unreadable, request, skippedRecordings)
  return { ...result, skippedRecordings }
}

/** Adds the sessions that are passed over to `skipped`. */
async function resumeOneOf<C>(
  all: SessionSummary[],
  unreadable: SkippedSession[],
  request: Captured,
  skipped: SkippedSession[],
): Promise<Found<C> | SessionFailure> {
  const { continueRef } = request
  const sessions = ofKinds(all, request.kinds)
  if (sessions.length === 0 && !all.some(({ sessionId }) => sessionId === continueRef)) {
    const none = readable(continueRef, { error: '', code: 'NotFound' }, unreadable)
    return none.code === 'NotFound' ? nothingToResume(unreadable) : failure(none.error, none.code)
  }
  if (continueRef === CONTINUE_LATEST) return resumeLatest(sessions, request, skipped)
  const found = readable(continueRef, await find(continueRef, sessions, all, request), unreadable)
  if (!hasSession(found)) return failure(found.error, found.code)
  const opening = await openLocked<C>(found.session, request)
  if (opening.failed !== undefined) return failureOf(opening)
  return goOn(opening.opened, request, namesakesOf(found.session, sessions, 'resumed'))
}

/** Copies the request, because the caller may change it, or the working directory, while the session is searched for. */
function captured(request: Asked): Captured {
  const { chatsDir, workspaceDirs } = request
  const asked: RecorderOptions = request.recorder ?? NO_OPTIONS
  const {
    cwd,
    fileName,
    onWarning,
    durability,
    exclusive,
    onCommitWatermark,
    maxQueueBytes,
    onQueueLimit,
    appendFile,
  } = asked
  return {
    ...request,
    history: request.history,
    directory: path.resolve(chatsDir),
    workspaceDirs: workspaceDirs.slice(),
    kinds: kindsOf(request.kinds),
    recorder: {
      cwd,
      fileName,
      onWarning,
      durability,
      exclusive,
      onCommitWatermark,
      maxQueueBytes,
      onQueueLimit,
      appendFile,
    },
  }
}

/** Finds the session that a reference denotes. Names are tried last, because finding them requires a scan of all files. */
async function find(
  ref: string,
  sessions: SessionSummary[],
  all: SessionSummary[],
  request: Captured,
): Promise<{ session: SessionSummary } | ReferenceFailure> {
  // Its id denotes a session of any kind.
  const exact = all.find(({ sessionId }) => sessionId === ref)
  const found = exact === undefined ? resolveSessionRef(ref, sessions) : { session: exact }
  if (hasSession(found) || found.code !== 'NotFound') return found
  const described = await scanSessions(sessions, request.projectHash, NO_OPTIONS)
  const named = usableOf(described, []).usable.filter(
    ({ report }) => hasOwn(report, 'name') && report.name === ref.trim(),
  )
  if (named.length > 1) return { error: `Ambiguous continue target name '${ref}'`, code: 'Ambiguous' }
  return named.length === 1 ? { session: named[0]!.session } : found
}

/** Resumes the newest session that can be resumed. Skips sessions in use silently, and others with a warning. */
async function resumeLatest<C>(
  sessions: SessionSummary[],
  request: Captured,
  skipped: SkippedSession[],
): Promise<Found<C> | SessionFailure> {
  const warnings: string[] = []
  let first: Refusal | undefined
  for (let index = 0; index < sessions.length; index++) {
    const session = sessions[index]!
    const opening = await openLocked<C>(session, request)
    if (opening.failed === undefined)
      return goOn(opening.opened, request, [...warnings, ...namesakesOf(session, sessions, 'resumed')])
    if (opening.failed.code === 'Locked') continue
    first ??= opening
    const { error } = opening.failed
    warnings.push(`Session ${session.sessionId} passed over: ${error}`)
    skipped.push(skip(session, error.startsWith(NOT_REPLAYED) ? error.slice(NOT_REPLAYED.length) : error))
  }
  return first === undefined ? failure('All sessions for this project are in use', 'AllLocked') : failureOf(first)
}

/** Locks, replays and opens a session. After a failure the lock is released again. */
async function openLocked<C>({ filePath, sessionId }: SessionSummary, request: Captured): Promise<Opening<C>> {
  const busy = 'Session is in use by another process'
  const locking = await lockSession(request.directory, sessionId, busy, 'Failed to lock session: ')
  if (locking.failed !== undefined) return locking
  let close = () => {}
  const lock = request.history === undefined ? locking.lock : closingHandleOf(locking.lock, () => close())
  try {
    const opening = await openFile<C>(sessionPathOf(filePath), request, (opened) => (close = () => opened.close()))
    if (opening.failed === undefined) return { opened: { lock, ...opening.opened } }
    await lock.release()
    return opening
  } catch (error) {
    await lock.release()
    throw error
  }
}

/** Replays the file, or opens it, and creates the recorder. `onOpened` is called with a handle, which is the caller's to close. */
async function openFile<C>(
  filePath: string,
  request: Captured,
  onOpened: (opened: SessionHandle<C>) => void,
): Promise<OpeningReplayed<C>> {
  // The handle of an archive would be that of a file which is about to go.
  const unrestored = request.history === undefined ? undefined : await restoring(filePath)
  if (unrestored !== undefined) return { failed: unrestored }
  const replayed = await replay<C>(filePath, request)
  const { result } = replayed
  if (result.ok && !Array.isArray(result.history)) onOpened(result.history)
  return openReplayed<C>(filePath, replayed, request)
}

/** Creates the recorder. Fails if the file cannot be recorded to: the caller's `onWarning` is about recordings that began. */
async function openReplayed<C>(
  filePath: string,
  { result: replayed, hashes }: Replayed<C>,
  request: Captured,
): Promise<OpeningReplayed<C>> {
  if (!replayed.ok) return { failed: failure(NOT_REPLAYED + replayed.error, 'ReplayFailed') }
  const { metadata, lastSeq, sequenceCorrupt, history } = replayed
  if (sequenceCorrupt) return { failed: failure(NOT_REPLAYED + SEQUENCE_CORRUPT, 'SequenceCorrupt') }
  const unrestored = await restoring(filePath)
  if (unrestored !== undefined) return { failed: unrestored }
  let hasBegun = false
  let warning: RecordingWarning | undefined
  const onWarning = (told: RecordingWarning) => {
    if (hasBegun) request.recorder.onWarning?.(told)
    else warning = told
  }
  const recording = recorderFor<C>(metadata.sessionId, request, onWarning)
  recording.initializeForResume(filePath, lastSeq, hasOwn(metadata, 'title') ? metadata.title : undefined)
  if (recording.isActive()) {
    hasBegun = true
    if (Array.isArray(history) && (request.map !== undefined || hashes !== undefined))
      setHistoryOf(recording, history, hashes)
    return { opened: { replayed, recording } }
  }
  // The recorder reports the reason in a microtask.
  await undefined
  await recording.dispose()
  return refusalOf(recording, warning)
}

/** Restores the session if it is archived. Resolves to the failure, if that fails. */
async function restoring(filePath: string): Promise<SessionFailure | undefined> {
  try {
    await restored(filePath)
    return undefined
  } catch (error) {
    if (error instanceof SessionLockedError) return failure('Session is in use by another process', 'Locked')
    return failure(`Failed to restore session: ${(error as Error).message}`, 'System')
  }
}

/** Why a recorder has ended at once. */
async function refusalOf<C>(
  recording: SessionRecordingService<C>,
  warning: RecordingWarning | undefined,
): Promise<Refusal> {
  const code = warning?.code
  if (code === 'ESESSIONLOCKED') return { failed: failure('Session is in use by another process', 'Locked') }
  if (code === 'SequenceExhausted') return { failed: failure(NOT_REPLAYED + SEQUENCE_EXHAUSTED, 'SequenceCorrupt') }
  const failed = failure(`Failed to lock session: ${code}: its file cannot be recorded to`, 'LockFailed')
  // A recorder that has ended rejects waits for records with the system's error.
  return recording.waitForCommit(null).then(
    () => ({ failed }),
    (error: unknown) => ({ failed, error }),
  )
}

/** Returns the result of the replay. A rejection becomes a failed result. */
async function replay<C>(filePath: string, request: Captured): Promise<Replayed<C>> {
  const { projectHash, map } = request
  let thrown: { error: unknown } | undefined
  const mapOrNote: ItemMap<any> | undefined =
    map &&
    ((item, about) => {
      try {
        return about === undefined ? map(item) : map(item, about)
      } catch (error) {
        thrown = { error }
        throw error
      }
    })
  try {
    if (request.history !== undefined) return await openAt<C>(filePath, request)
    return await replayNative<C>(filePath, projectHash, { strict: true, map: mapOrNote })
  } catch (error) {
    // A mistake of the caller, not a session that does not replay.
    if (thrown !== undefined) throw thrown.error
    return { result: { ok: false, error: (error as Error).message } }
  }
}

/** Opens a session instead of replaying it. */
async function openAt<C>(filePath: string, { projectHash, map }: Captured): Promise<Replayed<C>> {
  const opened = await open<C>(filePath, projectHash, { strict: true, map }, false)
  if (!opened.ok) return { result: opened }
  const { metadata, lastSeq, sequenceCorrupt, warnings, semanticMediaPurgeFrontier, unknownEvents } = opened.session
  const reported = {
    metadata,
    lastSeq,
    sequenceCorrupt,
    warnings,
    ...(semanticMediaPurgeFrontier && { semanticMediaPurgeFrontier }),
  }
  return { result: { ok: true, ...reported, ...(unknownEvents && { unknownEvents }), history: opened.session } }
}

async function goOn<C>(
  { lock, replayed, recording }: Opened<C>,
  request: Captured,
  before: string[],
): Promise<Found<C>> {
  const { metadata, lastSeq, history, warnings, semanticMediaPurgeFrontier } = replayed
  try {
    recording.adoptLock(lock)
    recordResumption(recording, metadata, request)
    return {
      ok: true,
      ...(Array.isArray(history) ? { history } : { session: history }),
      metadata,
      lastSeq,
      recording,
      lockHandle: lock,
      warnings: [...before, ...newerEventsOf(replayed), ...warnings],
      ...(semanticMediaPurgeFrontier && { semanticMediaPurgeFrontier }),
    }
  } catch (error) {
    await lock.release()
    throw error
  }
}

/** A warning that names the types of unknown events, if there are any. */
function newerEventsOf<C>({ unknownEvents = {} }: Success<C>): string[] {
  const types = Object.entries(unknownEvents).map(([type, count]) => `${type} × ${count}`)
  if (types.length === 0) return []
  return [`This session has events of a newer version (${types.join(', ')}): its history may not be what it was`]
}

function recorderFor<C>(
  sessionId: string,
  { projectHash, chatsDir, workspaceDirs, currentProvider, currentModel, recorder }: Captured,
  onWarning: (warning: RecordingWarning) => void,
): SessionRecordingService<C> {
  return new SessionRecordingService<C>({
    sessionId,
    projectHash,
    chatsDir,
    workspaceDirs,
    provider: currentProvider,
    model: currentModel,
    ...recorder,
    onWarning,
  })
}

function recordResumption<C>(
  recording: SessionRecordingService<C>,
  { provider, model, startTime }: SessionMetadata,
  { currentProvider, currentModel }: Captured,
): void {
  if (provider !== currentProvider || model !== currentModel) {
    const change = `Provider/model changed from ${provider}/${model} to ${currentProvider}/${currentModel}`
    recording.recordSessionEvent('warning', change)
    recording.recordProviderSwitch(currentProvider, currentModel)
  }
  recording.recordSessionEvent('info', `Session resumed (originally started ${startTime})`)
}
