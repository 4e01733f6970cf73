'use strict'

// The front door. What a function needs is loaded when it is called for the first time, and a class when it is looked at: most programs use
// a few of them.

// Loads the addon, so that a program without one learns it here, and takes the built-in functions now, which the program may replace later.
require('./lib/native.js')
const { CONTINUE_LATEST, SESSION_FILE_ID_PREFIX_LENGTH } = require('./lib/constants.js')
const { defineLazily, lazily } = require('./lib/lazily.js')

const { replaySession } = lazily(() => require('./lib/replay.js'))
const { openSession } = lazily(() => require('./lib/session.js'))
const { foldCheckpoints } = lazily(() => require('./lib/checkpoints.js'))
const { readSessionHeader, readSessionHeaders } = lazily(() => require('./lib/header.js'))
const { listSessions } = lazily(() => require('./lib/list.js'))
const { describeSessions, listContinueTargets } = lazily(() => require('./lib/describe.js'))
const { readSessionPreview, readSessionTitle } = lazily(() => require('./lib/preview.js'))
const {
  sessionLockPath,
  acquireSessionLock,
  isSessionLocked,
  isLockStale,
  removeStaleLock,
  cleanUpLocks,
} = lazily(() => require('./lib/session-lock.js'))
const { resumeSession } = lazily(() => require('./lib/resume.js'))
const { deleteSession } = lazily(() => require('./lib/delete-session.js'))
const { listCheckpoints, createCheckpoint, renameCheckpoint, deleteCheckpoint, nameSession } = lazily(() => require('./lib/names.js'))
const { forkSession } = lazily(() => require('./lib/fork.js'))
const { removeSessionFiles } = lazily(() => require('./lib/session-files.js'))
const { resolveSessionRef, resolveContinueRef, checkSessionName } = lazily(() => require('./lib/session-reference.js'))
const { compileWorkflow } = lazily(() => require('./lib/workflow.js'))
const { replayRun, verifyRun } = lazily(() => require('./lib/run-replay.js'))
const { readRunEvents } = lazily(() => require('./lib/run-events.js'))
const { diff, traceAncestors } = lazily(() => require('./lib/diff.js'))
const { diffToText } = lazily(() => require('./lib/diff-text.js'))
const { exportBundle, verifyBundle, importBundle } = lazily(() => require('./lib/bundle.js'))

// Written out, so that the names can be found without running this.
const api = (module.exports = {
  replaySession,
  openSession,
  foldCheckpoints,
  readSessionHeader,
  readSessionHeaders,
  listSessions,
  describeSessions,
  listContinueTargets,
  readSessionPreview,
  readSessionTitle,
  sessionLockPath,
  acquireSessionLock,
  isSessionLocked,
  isLockStale,
  removeStaleLock,
  cleanUpLocks,
  resumeSession,
  deleteSession,
  listCheckpoints,
  createCheckpoint,
  renameCheckpoint,
  deleteCheckpoint,
  nameSession,
  forkSession,
  removeSessionFiles,
  resolveSessionRef,
  resolveContinueRef,
  checkSessionName,
  compileWorkflow,
  replayRun,
  verifyRun,
  readRunEvents,
  diff,
  traceAncestors,
  diffToText,
  exportBundle,
  verifyBundle,
  importBundle,
  CONTINUE_LATEST,
  SESSION_FILE_ID_PREFIX_LENGTH,
})
defineLazily(api, 'RunRecorder', () => require('./lib/run-recorder.js'))
defineLazily(api, 'SessionRecordingService', () => require('./lib/recorder.js'))
defineLazily(api, 'SessionLockedError', () => require('./lib/session-lock/locked-error.js'))
defineLazily(api, 'CheckpointLockError', () => require('./lib/naming/lock-error.js'))

// Once more, for tools that copy what is assigned: vitest, if this file is in its project.
module.exports = api
