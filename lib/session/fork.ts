// Forks a session: creates a new session that begins with the history of another up to a checkpoint, and a recorder that continues it.

import crypto = require('node:crypto')
import path = require('node:path')
import { native } from '../addon.js'
import { NO_OPTIONS, type Shape, check, checked, expect, unlessMissing } from '../arguments.js'
import { SESSION, runJob } from '../binding/job.js'
import type { NativeForkOptions } from '../binding/native.js'
import { stringify } from '../builtins.js'
import type { SessionLock } from '../locks/handle.js'
import { acquireSessionLock } from '../locks/session-lock.js'
import { OWNER_ONLY } from '../mode.js'
import { timestamp } from '../timestamp.js'
import { type Message, messageText } from './assembly.js'
import { SEQUENCE_CORRUPT } from './describe.js'
import { type SessionFailure, failure, failureOf, lockSession } from './failure.js'
import { removeSessionFiles } from './files.js'
import { nameOf, startPayload } from './new-session.js'
import { SessionRecordingService, setHistoryOf } from './recorder.js'
import { type RecorderOptions, type SessionRecordingServiceConfig, checkRecorderOptions } from './recorder-config.js'
import type { IContent, ItemMap } from './records.js'
import { replayNative } from './replay.js'
import type { ResumeResult } from './resume.js'
// Only for links in the comments.
import type { ContinueTarget } from './describe.js'

/** Options of {@link forkSession}. */
export interface ForkOptions<C = IContent> {
  /** Directory of the source and of the new session. */
  chatsDir: string
  /** The project of both. */
  projectHash: string
  /** Not empty: otherwise the new session would not replay strictly. */
  provider: string
  /** Not empty: otherwise the new session would not replay strictly. */
  model: string
  /** Absolute directories that the new session works in. */
  workspaceDirs: string[]
  /**
   * The recorder of the source session, if it is open in this process and owns the lock. The source is then flushed and not locked again.
   * Default: the source is locked while it is read.
   */
  source?: SessionRecordingService<C> | null | undefined
  /** Options of the recorder of the new session. */
  recorder?: RecorderOptions | undefined
  /** Applied to every item of the source's history; the new session has the items that it returns. If it throws, no session is created. */
  map?: ItemMap<C> | undefined
}

/** The checkpoint to fork from; a {@link ContinueTarget} of kind `'checkpoint'` is one. */
export interface ForkTarget {
  /** The id of the checkpoint. */
  checkpointId: string
  /** Used in messages only: the current name and position are read from the source. */
  checkpointName: string
  /** The session that has the checkpoint, and its file. */
  source: { sessionId: string; filePath: string }
}

/** A new session, ready to be continued. */
export type ForkResult<C = IContent> = Omit<
  ResumeResult<C>,
  'lastSeq' | 'warnings' | 'skippedRecordings' | 'semanticMediaPurgeFrontier'
>

/** A copy of the request. */
interface Captured<C> {
  checkpointId: string
  checkpointName: string
  /** The source: its id, its absolute path, and its recorder, if that is open. */
  sessionId: string
  filePath: string
  source: SessionRecordingService<C> | null | undefined
  /** `chatsDir` as an absolute path. */
  directory: string
  map: ItemMap<C> | undefined
  /** The configuration of the new session's recorder. */
  config: SessionRecordingServiceConfig
}

/** What exists of a new session, to be undone after a failure. */
interface Child<C> {
  recorder: SessionRecordingService<C> | undefined
  filePath: string | undefined
  lock: SessionLock
}

/** The addon's result. */
type Written = { failed?: undefined; filePath: string; lastSeq: number } | FailedWrite

interface FailedWrite {
  /** The step that failed. */
  failed: string
  message?: Message
}

const { randomUUID } = crypto

/**
 * Creates a new session from another session's history up to a checkpoint. The new session is independent of the source: it has its own copy of the
 * history, a lock, and a recorder. Its file appears with its complete content or not at all.
 *
 * @returns The new session, or a failure, which leaves neither file nor lock behind. Rejects with the system's error if a lock cannot be written.
 * @throws TypeError - At once, if an argument is of the wrong type.
 *
 * @example
 * ```ts
 * import { mkdtempSync } from 'node:fs';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { createCheckpoint, forkSession, listContinueTargets, SessionRecordingService } from 'session-tape';
 *
 * const made = {
 *   projectHash: 'my-project', chatsDir: mkdtempSync(join(tmpdir(), 'chats-')), workspaceDirs: [], provider: 'acme', model: 'acme-large',
 * };
 * const recorder = await SessionRecordingService.createLocked({ sessionId: 'a1b2c3d4-0001', ...made });
 * recorder.recordContent({ speaker: 'human', blocks: [{ type: 'text', text: 'Rename the parser.' }] });
 * await createCheckpoint(recorder, 'my-project', 'before the merge');
 * await recorder.dispose();
 *
 * const { targets } = await listContinueTargets(made.chatsDir, 'my-project');
 * for (const target of targets) {
 *   if (target.kind !== 'checkpoint') continue;
 *   const forked = await forkSession(target, made);
 *   if (!forked.ok) throw new Error(forked.error);
 *   console.log(forked.history.length); // 1
 *   await forked.recording.dispose();
 * }
 * ```
 */
export function forkSession<C = IContent>(
  target: ForkTarget,
  options: ForkOptions<C>,
): Promise<ForkResult<C> | SessionFailure> {
  checkTarget(target)
  return fork(captured(target, checked(options, FORK_OPTIONS as Shape<ForkOptions<C>>)))
}

function checkTarget(target: ForkTarget): void {
  check.object(target, 'target')
  check.filledString(target.checkpointId, 'target.checkpointId')
  check.string(target.checkpointName, 'target.checkpointName')
  check.object(target.source, 'target.source')
  check.string(target.source.sessionId, 'target.source.sessionId')
  check.filledString(target.source.filePath, 'target.source.filePath')
}

const FORK_OPTIONS: Shape<ForkOptions> = {
  chatsDir: 'filledString',
  projectHash: 'filledString',
  provider: 'filledString',
  model: 'filledString',
  workspaceDirs: 'strings',
  source(source: ForkOptions['source'], name: string) {
    const isRecorder = source === undefined || source === null || typeof source.ownsLockFor === 'function'
    expect(isRecorder, name, 'a recorder, or null', source)
  },
  recorder: unlessMissing(checkRecorderOptions),
  map: 'function?',
}

/** Copies the request, because the caller may change it, or the working directory, while the source is read. */
function captured<C>(
  { checkpointId, checkpointName, source: { sessionId, filePath } }: ForkTarget,
  options: ForkOptions<C>,
): Captured<C> {
  const { chatsDir, projectHash, provider, model, workspaceDirs, source } = options
  const asked: RecorderOptions = options.recorder ?? NO_OPTIONS
  const {
    cwd,
    fileName,
    onWarning,
    durability,
    exclusive,
    mode,
    onCommitWatermark,
    maxQueueBytes,
    onQueueLimit,
    appendFile,
  } = asked
  const recorder = {
    cwd,
    fileName,
    onWarning,
    durability,
    exclusive,
    mode,
    onCommitWatermark,
    maxQueueBytes,
    onQueueLimit,
    appendFile,
  }
  const session = {
    sessionId: randomUUID(),
    projectHash,
    chatsDir,
    workspaceDirs: workspaceDirs.slice(),
    provider,
    model,
  }
  return {
    checkpointId,
    checkpointName,
    sessionId,
    filePath: path.resolve(filePath),
    source,
    directory: path.resolve(chatsDir),
    map: options.map,
    config: { ...session, ...recorder },
  }
}

async function fork<C>(asked: Captured<C>): Promise<ForkResult<C> | SessionFailure> {
  const { source, sessionId, directory } = asked
  if (source?.ownsLockFor(sessionId)) {
    try {
      await source.flush()
    } catch (error) {
      return failure(`Failed to replay source session: ${(error as Error).message}`, 'ReplayFailed')
    }
    return forkLocked(asked)
  }
  const prefix = 'Source session is in use: '
  const busy = `${prefix}Session is in use by another process`
  const locking = await lockSession(directory, sessionId, busy, prefix)
  if (locking.failed !== undefined) return failureOf(locking)
  try {
    return await forkLocked(asked)
  } finally {
    await locking.lock.release()
  }
}

/** Creates the new session. The source is locked, by `fork` or by its recorder. */
async function forkLocked<C>(asked: Captured<C>): Promise<ForkResult<C> | SessionFailure> {
  const lock = await acquireSessionLock(asked.directory, asked.config.sessionId)
  const child: Child<C> = { recorder: undefined, filePath: undefined, lock }
  try {
    const made = asked.map === undefined ? await writeFile(asked) : await writeMapped(asked, asked.map)
    const result = made.failed === undefined ? await open(child, made, asked) : unmade(made, asked)
    if (!result.ok) await remove(child)
    return result
  } catch (error) {
    await remove(child)
    return failure(`Failed to create child session: ${(error as Error).message}`, 'System')
  }
}

/** Writes the file with the items of the checkpoint, mapped. */
async function writeMapped<C>(asked: Captured<C>, map: ItemMap<C>): Promise<Written> {
  const found = await runJob<{ failed?: undefined; sequence: number } | FailedWrite>(SESSION, (onReady) =>
    native.findFork(wantedOf(asked), onReady),
  )
  if (found.failed !== undefined) return found
  const through = { strict: true, throughSeq: found.sequence, map }
  const { result: replayed } = await replayNative<C>(asked.filePath, asked.config.projectHash, through)
  if (!replayed.ok) return { failed: 'through', message: replayed.error }
  const contents = replayed.history.map((item) => stringify(item))
  return writeFile(asked, contents)
}

function writeFile<C>(asked: Captured<C>, contents?: string[]): Promise<Written> {
  return runJob(SESSION, (onReady) => native.forkSession({ ...wantedOf(asked), contents }, onReady))
}

function wantedOf<C>({ checkpointId, filePath, directory, config }: Captured<C>): NativeForkOptions {
  const now = Date.now()
  const { nameHasSeconds, idPrefix } = nameOf(config)
  return {
    source: filePath,
    projectHash: config.projectHash,
    checkpointId,
    chatsDir: directory,
    nameHasSeconds,
    idPrefix,
    mode: config.mode ?? OWNER_ONLY,
    startPayload: startPayload(config, timestamp(now)),
    now,
    contents: undefined,
  }
}

function unmade<C>({ failed, message }: FailedWrite, { checkpointId, checkpointName }: Captured<C>): SessionFailure {
  const text = message === undefined ? '' : messageText(message)
  switch (failed) {
    case 'replay':
      return failure(`Failed to replay source session: ${text}`, 'ReplayFailed')
    case 'sequence':
      return failure(`Failed to replay source session: ${SEQUENCE_CORRUPT}`, 'SequenceCorrupt')
    case 'checkpoint':
      return failure(`Checkpoint '${checkpointName}' (${checkpointId}) is not live`, 'CheckpointGone')
    case 'through':
      return failure(`Failed to replay source through checkpoint: ${text}`, 'ReplayFailed')
    case 'history':
      return failure('Checkpoint has no conversation history', 'NothingToFork')
    default:
      return failure(`Failed to create child session: ${text}`, 'System')
  }
}

/** Opens the new session for the caller. */
async function open<C>(
  child: Child<C>,
  { filePath, lastSeq }: { filePath: string; lastSeq: number },
  { config }: Captured<C>,
): Promise<ForkResult<C> | SessionFailure> {
  const { lock } = child
  child.filePath = filePath
  const recording = (child.recorder = new SessionRecordingService<C>(config))
  recording.initializeForResume(filePath, lastSeq)
  const { result: replayed, hashes } = await replayNative<C>(filePath, config.projectHash, { strict: true })
  if (!replayed.ok) throw new Error(replayed.error)
  if (!recording.isActive()) throw new Error('its file cannot be recorded to')
  if (!(await lock.ownsLock())) return failure('Failed to retain child session lock', 'LockFailed')
  recording.adoptLock(lock)
  const { history, metadata } = replayed
  if (hashes !== undefined) setHistoryOf(recording, history, hashes)
  return { ok: true, history, metadata, recording, lockHandle: lock }
}

/** Removes the parts of a new session that was not completed. Releases its lock last. */
async function remove<C>({ recorder, filePath, lock }: Child<C>): Promise<void> {
  await recorder?.dispose().catch(() => {})
  if (filePath !== undefined) await removeSessionFiles(filePath).catch(() => {})
  await lock.release()
}
