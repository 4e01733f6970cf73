// Resumes a session: locks it, replays it, and creates a recorder that continues its file.

import path = require('node:path')
import { NO_OPTIONS, SNAPSHOT, type Shape, checked, unlessMissing } from '../arguments.js'
import { hasOwn } from '../builtins.js'
import type { SessionLock } from '../locks/handle.js'
import { SessionLockedError } from '../locks/locked-error.js'
import type { RecordingWarning } from '../recording-warning.js'
import { CONTINUE_LATEST } from '../constants.js'
import { restored } from './archive.js'
import { sessionPathOf } from './archive-name.js'
import { SEQUENCE_CORRUPT, scanSessions, usableOf } from './describe.js'
import { type ReferenceFailure, type Refusal, type SessionFailure, failure, failureOf, lockSession, namesakesOf, noSessions } from './failure.js'
import { listProject } from './list.js'
import { SessionRecordingService, setHistoryOf } from './recorder.js'
import { type RecorderOptions, checkRecorderOptions } from './recorder-config.js'
import type { IContent, ItemMap, SemanticMediaPurgeFrontier, SessionKind } from './records.js'
import { checkKinds, kindsOf, ofKinds } from './kind.js'
import { hasSession, readable, resolveSessionRef } from './reference.js'
import { type NativeReplayed, replayNative } from './replay.js'
import type { ReplayFailure, ReplaySuccess, SessionMetadata } from './replay-result.js'
import type { SnapshotOptions } from './scan-options.js'
import type { SessionSummary } from './summary.js'

/** The session to resume, and the settings to resume it with. */
export interface ResumeRequest extends SnapshotOptions {
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
  /** Applied to every item of the history. If it throws, the session is not resumed, and the promise rejects with its error. */
  map?: ItemMap<any> | undefined
}

/** A resumed session. */
export interface ResumeResult<C = IContent> {
  ok: true
  history: C[]
  /** The metadata as replayed, before a change of provider or model by the request. */
  metadata: SessionMetadata
  /** Appends to the session's file and owns the lock. */
  recording: SessionRecordingService<C>
  /** The lock that `recording` owns. Releasing it twice is harmless. */
  lockHandle: SessionLock
  /**
   * A warning for each session that {@link CONTINUE_LATEST} skipped, except for those in use, and for each other file with the id of the session,
   * then one about events of a newer version if the session has any, followed by the warnings of the replay.
   */
  warnings: string[]
  /** As in {@link ReplaySuccess}. Absent if there is none. */
  semanticMediaPurgeFrontier?: SemanticMediaPurgeFrontier
}

/** A copy of the request. */
interface Captured extends Omit<ResumeRequest, 'recorder' | 'kinds'> {
  kinds: readonly SessionKind[]
  /** `chatsDir` as an absolute path. */
  directory: string
  recorder: RecorderOptions
}

/** A session that is locked, replayed and ready to be recorded to. */
interface Opened<C> {
  lock: SessionLock
  replayed: ReplaySuccess<C>
  recording: SessionRecordingService<C>
}

type OpeningReplayed<C> = { opened: Omit<Opened<C>, 'lock'>; failed?: undefined } | ({ opened?: undefined } & Refusal)
type Replayed<C> = Omit<NativeReplayed<C>, 'result'> & { result: ReplaySuccess<C> | Pick<ReplayFailure, 'ok' | 'error'> }
type Opening<C> = { opened: Opened<C>; failed?: undefined } | ({ opened?: undefined } & Refusal)

/** Why a session whose numbers ascend to the last one that there is cannot be continued. */
const SEQUENCE_EXHAUSTED = 'recording has no sequence numbers left'

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
export function resumeSession<C = IContent>(request: ResumeRequest): Promise<ResumeResult<C> | SessionFailure> {
  return resume<C>(checked(request, REQUEST, 'request'))
}

const REQUEST: Shape<ResumeRequest> = {
  continueRef: 'string',
  projectHash: 'filledString',
  chatsDir: 'filledString',
  currentProvider: 'filledString',
  currentModel: 'string',
  workspaceDirs: 'strings',
  ...SNAPSHOT,
  map: 'function?',
  kinds: checkKinds,
  recorder: unlessMissing(checkRecorderOptions),
}

async function resume<C>(asked: ResumeRequest): Promise<ResumeResult<C> | SessionFailure> {
  const request = captured(asked)
  const { continueRef, directory, projectHash } = request
  const { sessions: all, unreadable } = await listProject(directory, projectHash)
  const sessions = ofKinds(all, request.kinds)
  if (sessions.length === 0 && !all.some(({ sessionId }) => sessionId === continueRef)) {
    const none = readable(continueRef, { error: '', code: 'NotFound' }, unreadable)
    return none.code === 'NotFound' ? noSessions(unreadable) : failure(none.error, none.code)
  }
  if (continueRef === CONTINUE_LATEST) return resumeLatest(sessions, request)
  const found = readable(continueRef, await find(continueRef, sessions, all, request), unreadable)
  if (!hasSession(found)) return failure(found.error, found.code)
  const opening = await openLocked<C>(found.session, request)
  if (opening.failed !== undefined) return failureOf(opening)
  return goOn(opening.opened, request, namesakesOf(found.session, sessions, 'resumed'))
}

/** Copies the request, because the caller may change it, or the working directory, while the session is searched for. */
function captured(request: ResumeRequest): Captured {
  const { chatsDir, workspaceDirs, snapshotDir } = request
  const asked: RecorderOptions = request.recorder ?? NO_OPTIONS
  const { cwd, fileName, onWarning, durability, exclusive, onCommitWatermark, maxQueueBytes, onQueueLimit, appendFile } = asked
  return {
    ...request,
    directory: path.resolve(chatsDir),
    workspaceDirs: workspaceDirs.slice(),
    snapshotDir: snapshotDir === undefined ? undefined : path.resolve(snapshotDir),
    kinds: kindsOf(request.kinds),
    recorder: { cwd, fileName, onWarning, durability, exclusive, onCommitWatermark, maxQueueBytes, onQueueLimit, appendFile },
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
  const { snapshot, snapshotDir, projectHash } = request
  const described = await scanSessions(sessions, projectHash, { snapshot, snapshotDir })
  const named = usableOf(described, []).usable.filter(({ report }) => hasOwn(report, 'name') && report.name === ref.trim())
  if (named.length > 1) return { error: `Ambiguous continue target name '${ref}'`, code: 'Ambiguous' }
  return named.length === 1 ? { session: named[0]!.session } : found
}

/** Resumes the newest session that can be resumed. Skips sessions in use silently, and others with a warning. */
async function resumeLatest<C>(sessions: SessionSummary[], request: Captured): Promise<ResumeResult<C> | SessionFailure> {
  const warnings: string[] = []
  let first: Refusal | undefined
  for (let index = 0; index < sessions.length; index++) {
    const session = sessions[index]!
    const opening = await openLocked<C>(session, request)
    if (opening.failed === undefined) return goOn(opening.opened, request, [...warnings, ...namesakesOf(session, sessions, 'resumed')])
    if (opening.failed.code === 'Locked') continue
    first ??= opening
    warnings.push(`Session ${session.sessionId} passed over: ${opening.failed.error}`)
  }
  return first === undefined ? failure('All sessions for this project are in use', 'AllLocked') : failureOf(first)
}

/** Locks, replays and opens a session. After a failure the lock is released again. */
async function openLocked<C>({ filePath, sessionId }: SessionSummary, request: Captured): Promise<Opening<C>> {
  const busy = 'Session is in use by another process'
  const locking = await lockSession(request.directory, sessionId, busy, 'Failed to lock session: ')
  if (locking.failed !== undefined) return locking
  const { lock } = locking
  try {
    const session = sessionPathOf(filePath)
    const opening = await openReplayed<C>(session, await replay<C>(session, request), request)
    if (opening.failed === undefined) return { opened: { lock, ...opening.opened } }
    await lock.release()
    return opening
  } catch (error) {
    await lock.release()
    throw error
  }
}

/** Creates the recorder. Fails if the file cannot be recorded to: the caller's `onWarning` is about recordings that began. */
async function openReplayed<C>(filePath: string, { result: replayed, hashes }: Replayed<C>, request: Captured): Promise<OpeningReplayed<C>> {
  if (!replayed.ok) return { failed: failure(`Failed to replay session: ${replayed.error}`, 'ReplayFailed') }
  const { metadata, lastSeq, sequenceCorrupt } = replayed
  if (sequenceCorrupt) return { failed: failure(`Failed to replay session: ${SEQUENCE_CORRUPT}`, 'SequenceCorrupt') }
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
    if (request.map !== undefined || hashes !== undefined) setHistoryOf(recording, replayed.history, hashes)
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
async function refusalOf<C>(recording: SessionRecordingService<C>, warning: RecordingWarning | undefined): Promise<Refusal> {
  const code = warning?.code
  if (code === 'ESESSIONLOCKED') return { failed: failure('Session is in use by another process', 'Locked') }
  if (code === 'SequenceExhausted') return { failed: failure(`Failed to replay session: ${SEQUENCE_EXHAUSTED}`, 'SequenceCorrupt') }
  const failed = failure(`Failed to lock session: ${code}: its file cannot be recorded to`, 'LockFailed')
  // A recorder that has ended rejects waits for records with the system's error.
  return recording.waitForCommit(null).then(() => ({ failed }), (error: unknown) => ({ failed, error }))
}

/** Returns the result of the replay. A rejection becomes a failed result. */
async function replay<C>(filePath: string, { projectHash, snapshot, snapshotDir, map }: Captured): Promise<Replayed<C>> {
  let thrown: { error: unknown } | undefined
  const mapOrNote: ItemMap<any> | undefined = map && ((item, about) => {
    try {
      return about === undefined ? map(item) : map(item, about)
    } catch (error) {
      thrown = { error }
      throw error
    }
  })
  try {
    return await replayNative<C>(filePath, projectHash, { strict: true, snapshot, snapshotDir, map: mapOrNote })
  } catch (error) {
    // A mistake of the caller, not a session that does not replay.
    if (thrown !== undefined) throw thrown.error
    return { result: { ok: false, error: (error as Error).message } }
  }
}

async function goOn<C>({ lock, replayed, recording }: Opened<C>, request: Captured, before: string[]): Promise<ResumeResult<C>> {
  const { metadata, history, warnings, semanticMediaPurgeFrontier } = replayed
  try {
    recording.adoptLock(lock)
    recordResumption(recording, metadata, request)
    return {
      ok: true,
      history,
      metadata,
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
function newerEventsOf<C>({ unknownEvents = {} }: ReplaySuccess<C>): string[] {
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
