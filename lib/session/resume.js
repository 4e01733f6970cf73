'use strict'

// Resumes a session: locks it, replays it, and creates a recorder that continues its file.

const path = require('node:path')
const { append, hasOwn, slice } = require('../builtins.js')
const { NO_OPTIONS, check, checkSnapshotOptions } = require('../arguments.js')
const { CONTINUE_LATEST } = require('./constants.js')
const { SEQUENCE_CORRUPT, scanSessions, usableOf } = require('./describe.js')
const { listProject } = require('./list.js')
const { SessionRecordingService, checkRecorderOptions } = require('./recorder.js')
const { replaySession } = require('./replay.js')
const { failure, lockSession, namesakesOf, noSessions } = require('./failure.js')
const { resolveSessionRef } = require('./reference.js')

/** Why a session whose numbers ascend to the last one that there is cannot be continued. */
const SEQUENCE_EXHAUSTED = 'recording has no sequence numbers left'

function resumeSession(request) {
  checkRequest(request)
  return resume(request)
}

function checkRequest(request) {
  check.object(request, 'request')
  check.string(request.continueRef, 'request.continueRef')
  check.filledString(request.projectHash, 'request.projectHash')
  check.filledString(request.chatsDir, 'request.chatsDir')
  check.filledString(request.currentProvider, 'request.currentProvider')
  check.string(request.currentModel, 'request.currentModel')
  check.strings(request.workspaceDirs, 'request.workspaceDirs')
  checkSnapshotOptions(request, 'request')
  if (request.recorder !== undefined) checkRecorderOptions(request.recorder, 'request.recorder')
}

async function resume(asked) {
  const request = captured(asked)
  const { continueRef, directory, projectHash } = request
  const { sessions, unreadable } = await listProject(directory, projectHash)
  if (sessions.length === 0) return noSessions(unreadable)
  if (continueRef === CONTINUE_LATEST) return resumeLatest(sessions, request)
  const found = await find(continueRef, sessions, request)
  if (!hasOwn(found, 'session')) return failure(found.error, found.code)
  const { opened, failed } = await openLocked(found.session, request)
  return failed ?? goOn(opened, request, namesakesOf(found.session, sessions, 'resumed'))
}

/**
 * Copies the request, because the caller may change it, or the working directory, while the session is searched for. `directory` is `chatsDir` as
 * an absolute path.
 */
function captured(request) {
  const { continueRef, projectHash, chatsDir, currentProvider, currentModel, workspaceDirs, snapshot, snapshotDir } = request
  const { cwd, fileName, onWarning, durability, exclusive } = request.recorder ?? NO_OPTIONS
  return {
    __proto__: null,
    continueRef,
    projectHash,
    chatsDir,
    directory: path.resolve(chatsDir),
    currentProvider,
    currentModel,
    workspaceDirs: slice(workspaceDirs, 0),
    snapshot,
    snapshotDir: snapshotDir === undefined ? undefined : path.resolve(snapshotDir),
    recorder: { __proto__: null, cwd, fileName, onWarning, durability, exclusive },
  }
}

/** Finds the session that a reference denotes. Names are tried last, because finding them requires a scan of all files. */
async function find(ref, sessions, request) {
  const found = resolveSessionRef(ref, sessions)
  if (hasOwn(found, 'session') || found.code !== 'NotFound') return found
  const { snapshot, snapshotDir, projectHash } = request
  const described = await scanSessions(sessions, projectHash, { __proto__: null, snapshot, snapshotDir })
  const named = usableOf(described, []).usable.filter(({ report }) => hasOwn(report, 'name') && report.name === ref.trim())
  if (named.length > 1) return { error: `Ambiguous continue target name '${ref}'`, code: 'Ambiguous' }
  return named.length === 1 ? { session: named[0].session } : found
}

/** Resumes the newest session that can be resumed. Skips sessions in use silently, and others with a warning. */
async function resumeLatest(sessions, request) {
  const warnings = []
  let first
  for (let index = 0; index < sessions.length; index++) {
    const session = sessions[index]
    const { opened, failed } = await openLocked(session, request)
    if (opened !== undefined) return goOn(opened, request, [...warnings, ...namesakesOf(session, sessions, 'resumed')])
    if (failed.code === 'Locked') continue
    first ??= failed
    append(warnings, `Session ${session.sessionId} passed over: ${failed.error}`)
  }
  return first ?? failure('All sessions for this project are in use', 'AllLocked')
}

/** Locks, replays and opens a session. Resolves to `{ opened }` or, with the lock released again, to `{ failed }` with a failure. */
async function openLocked({ filePath, sessionId }, request) {
  const busy = 'Session is in use by another process'
  const { lock, failed } = await lockSession(request.directory, sessionId, busy, 'Failed to lock session: ')
  if (failed !== undefined) return { __proto__: null, failed }
  try {
    const replayed = await replay(filePath, request)
    const problem = problemOf(replayed)
    const { recording, refusal = problem } = problem === undefined ? await openFile(filePath, replayed, request) : NO_OPTIONS
    if (refusal === undefined) return { __proto__: null, opened: { lock, replayed, recording } }
    await lock.release()
    return { __proto__: null, failed: refusal }
  } catch (error) {
    await lock.release()
    throw error
  }
}

/**
 * Creates the recorder. Resolves to `{ recording }`, or to `{ refusal }` with a failure if the file cannot be recorded to: the caller's `onWarning` is
 * about recordings that began.
 */
async function openFile(filePath, { metadata, lastSeq }, request) {
  let hasBegun = false
  let warning
  const onWarning = (told) => {
    if (hasBegun) request.recorder.onWarning?.(told)
    else warning = told
  }
  const recording = recorderFor(metadata.sessionId, request, onWarning)
  recording.initializeForResume(filePath, lastSeq, hasOwn(metadata, 'title') ? metadata.title : undefined)
  if (recording.isActive()) {
    hasBegun = true
    return { __proto__: null, recording }
  }
  // The recorder reports the reason in a microtask.
  await undefined
  await recording.dispose()
  return { __proto__: null, refusal: refusalOf(warning) }
}

function refusalOf(warning) {
  const code = warning?.code
  if (code === 'ESESSIONLOCKED') return failure('Session is in use by another process', 'Locked')
  if (code === 'SequenceExhausted') return failure(`Failed to replay session: ${SEQUENCE_EXHAUSTED}`, 'SequenceCorrupt')
  return failure(`Failed to lock session: ${code}: its file cannot be recorded to`, 'LockFailed')
}

/** Returns the result of the replay. A rejection becomes a failed result. */
async function replay(filePath, { projectHash, snapshot, snapshotDir }) {
  try {
    return await replaySession(filePath, projectHash, { __proto__: null, strict: true, snapshot, snapshotDir })
  } catch (error) {
    return { ok: false, error: error.message }
  }
}

function problemOf({ ok, error, sequenceCorrupt }) {
  if (!ok) return failure(`Failed to replay session: ${error}`, 'ReplayFailed')
  if (sequenceCorrupt) return failure(`Failed to replay session: ${SEQUENCE_CORRUPT}`, 'SequenceCorrupt')
}

async function goOn({ lock, replayed, recording }, request, before) {
  const { metadata, history, warnings } = replayed
  try {
    recording.adoptLock(lock)
    recordResumption(recording, metadata, request)
    return { ok: true, history, metadata, recording, lockHandle: lock, warnings: [...before, ...warnings] }
  } catch (error) {
    await lock.release()
    throw error
  }
}

function recorderFor(sessionId, { projectHash, chatsDir, workspaceDirs, currentProvider, currentModel, recorder }, onWarning) {
  return new SessionRecordingService({
    __proto__: null,
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

function recordResumption(recording, { provider, model, startTime }, { currentProvider, currentModel }) {
  if (provider !== currentProvider || model !== currentModel) {
    const change = `Provider/model changed from ${provider}/${model} to ${currentProvider}/${currentModel}`
    recording.recordSessionEvent('warning', change)
    recording.recordProviderSwitch(currentProvider, currentModel)
  }
  recording.recordSessionEvent('info', `Session resumed (originally started ${startTime})`)
}

module.exports = { resumeSession }
