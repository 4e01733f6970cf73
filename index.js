'use strict'

// The entry point. A function loads its module when it is first called, and a class when it is first accessed, because most programs use only a few
// of them.

// Loads the addon now, so that a missing one is reported at once, and captures the built-in functions before the program can replace them.
require('./lib/native.js')
const { CONTINUE_LATEST, SESSION_FILE_ID_PREFIX_LENGTH } = require('./lib/constants.js')
const { defineLazily, lazily } = require('./lib/lazily.js')

const { replaySession } = lazily(() => require('./lib/replay.js'))
const { openSession } = lazily(() => require('./lib/session.js'))
const { readSessionRecords } = lazily(() => require('./lib/session-records.js'))
const { foldCheckpoints } = lazily(() => require('./lib/checkpoints.js'))
const { readSessionHeader, readSessionHeaders } = lazily(() => require('./lib/header.js'))
const { listSessions } = lazily(() => require('./lib/list.js'))
const { describeSessions, listContinueTargets } = lazily(() => require('./lib/describe.js'))
const { readSessionPreview, readSessionTitle } = lazily(() => require('./lib/preview.js'))
const {
  sessionLockPath,
  sessionLockPathOf,
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

// Listed explicitly, so that tools can find the names without running this file.
const api = (module.exports = {
  replaySession,
  openSession,
  readSessionRecords,
  foldCheckpoints,
  readSessionHeader,
  readSessionHeaders,
  listSessions,
  describeSessions,
  listContinueTargets,
  readSessionPreview,
  readSessionTitle,
  sessionLockPath,
  sessionLockPathOf,
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

// Assigned again for tools that copy the members when `module.exports` is assigned: vitest, if this file is in its project.
module.exports = api
