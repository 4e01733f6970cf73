'use strict'

// Forks a session: creates a new session that begins with the history of another up to a checkpoint, and a recorder that continues it.

const path = require('node:path')
const { randomUUID } = require('node:crypto')
const { native, record, slice } = require('../builtins.js')
const { NO_OPTIONS, check, checkSnapshotOptions, expect } = require('../arguments.js')
const { messageText } = require('./assembly.js')
const { SEQUENCE_CORRUPT } = require('./describe.js')
const { SESSION, runJob } = require('../binding/job.js')
const { OWNER_ONLY } = require('../mode.js')
const { nameOf, startPayload } = require('./new-session.js')
const { SessionRecordingService, checkRecorderOptions } = require('./recorder.js')
const { replaySession } = require('./replay.js')
const { failure, lockSession } = require('./failure.js')
const { removeSessionFiles } = require('./files.js')
const { acquireSessionLock } = require('../locks/session-lock.js')
const { timestamp } = require('../timestamp.js')

function forkSession(target, options) {
  checkTarget(target)
  checkOptions(options)
  return fork(captured(target, options))
}

function checkTarget(target) {
  check.object(target, 'target')
  check.filledString(target.checkpointId, 'target.checkpointId')
  check.string(target.checkpointName, 'target.checkpointName')
  check.object(target.source, 'target.source')
  check.string(target.source.sessionId, 'target.source.sessionId')
  check.filledString(target.source.filePath, 'target.source.filePath')
}

function checkOptions(options) {
  checkSnapshotOptions(options)
  for (const field of ['chatsDir', 'projectHash', 'provider', 'model']) check.filledString(options[field], `options.${field}`)
  check.strings(options.workspaceDirs, 'options.workspaceDirs')
  const { source, recorder } = options
  const isRecorder = source === undefined || source === null || typeof source.ownsLockFor === 'function'
  expect(isRecorder, 'options.source', 'a recorder, or null', source)
  if (recorder !== undefined) checkRecorderOptions(recorder, 'options.recorder')
}

/**
 * Copies the request, because the caller may change it, or the working directory, while the source is read. `directory` is `chatsDir` as an
 * absolute path, `config` the configuration of the new session's recorder.
 */
function captured({ checkpointId, checkpointName, source: { sessionId, filePath } }, options) {
  const { chatsDir, projectHash, provider, model, workspaceDirs, source, snapshot, snapshotDir } = options
  const { cwd, fileName, onWarning, durability, exclusive, mode } = options.recorder ?? NO_OPTIONS
  const recorder = { __proto__: null, cwd, fileName, onWarning, durability, exclusive, mode }
  const session = { __proto__: null, sessionId: randomUUID(), projectHash, chatsDir, workspaceDirs: slice(workspaceDirs, 0), provider, model }
  return {
    __proto__: null,
    checkpointId,
    checkpointName,
    sessionId,
    filePath: path.resolve(filePath),
    source,
    directory: path.resolve(chatsDir),
    snapshots: { __proto__: null, snapshot, snapshotDir: snapshotDir === undefined ? undefined : path.resolve(snapshotDir) },
    config: { __proto__: null, ...session, ...recorder },
  }
}

async function fork(asked) {
  const { source, sessionId, directory } = asked
  if (source?.ownsLockFor(sessionId)) {
    try {
      await source.flush()
    } catch (error) {
      return failure(`Failed to replay source session: ${error.message}`, 'ReplayFailed')
    }
    return forkLocked(asked)
  }
  const prefix = 'Source session is in use: '
  const busy = `${prefix}Session is in use by another process`
  const { lock, failed } = await lockSession(directory, sessionId, busy, prefix)
  if (failed !== undefined) return failed
  try {
    return await forkLocked(asked)
  } finally {
    await lock.release()
  }
}

/** Creates the new session. The source is locked, by `fork` or by its recorder. */
async function forkLocked(asked) {
  const child = { __proto__: null, recorder: undefined, filePath: undefined, lock: undefined }
  try {
    child.lock = await acquireSessionLock(asked.directory, asked.config.sessionId)
    const made = record(await writeFile(asked))
    const result = made.failed === undefined ? await open(child, made, asked) : failureOf(made, asked)
    if (!result.ok) await remove(child, asked)
    return result
  } catch (error) {
    await remove(child, asked)
    return failure(`Failed to create child session: ${error.message}`, 'System')
  }
}

/** Resolves to the addon's result: the `filePath` and `lastSeq` of the new file, or what has `failed`, possibly with a `message`. */
function writeFile({ checkpointId, filePath, directory, snapshots: { snapshot, snapshotDir }, config }) {
  const now = Date.now()
  const { nameHasSeconds, idPrefix } = nameOf(config)
  const wanted = {
    __proto__: null,
    source: filePath,
    projectHash: config.projectHash,
    checkpointId,
    snapshot: snapshot === true,
    snapshotDir,
    chatsDir: directory,
    nameHasSeconds,
    idPrefix,
    mode: config.mode ?? OWNER_ONLY,
    startPayload: startPayload(config, timestamp(now)),
    now,
  }
  return runJob(SESSION, (onReady) => native.forkSession(wanted, onReady))
}

function failureOf({ failed, message }, { checkpointId, checkpointName }) {
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

/** Opens the new session for the caller. `child` collects what must be undone after a failure. */
async function open(child, { filePath, lastSeq }, { config, snapshots }) {
  child.filePath = filePath
  const recording = (child.recorder = new SessionRecordingService(config))
  recording.initializeForResume(filePath, lastSeq)
  const replayed = await replaySession(filePath, config.projectHash, { __proto__: null, strict: true, ...snapshots })
  if (!replayed.ok) throw new Error(replayed.error)
  if (!recording.isActive()) throw new Error('its file cannot be recorded to')
  if (!(await child.lock.ownsLock())) return failure('Failed to retain child session lock', 'LockFailed')
  recording.adoptLock(child.lock)
  const { history, metadata } = replayed
  return { ok: true, history, metadata, recording, lockHandle: child.lock }
}

/** Removes the parts of a new session that was not completed. Releases its lock last. */
async function remove({ recorder, filePath, lock }, { snapshots: { snapshotDir } }) {
  await recorder?.dispose().catch(() => {})
  if (filePath !== undefined) await removeSessionFiles(filePath, { __proto__: null, snapshotDir }).catch(() => {})
  await lock?.release()
}

module.exports = { forkSession }
