'use strict'

// The entry point. A function loads its module when it is first called, and a class when it is first accessed, because most programs use only a few
// of them.

// Loads the addon now, so that a missing one is reported at once, and captures the built-in functions before the program can replace them.
require('./lib/builtins.js')
const { CONTINUE_LATEST, SESSION_FILE_ID_PREFIX_LENGTH } = require('./lib/session/constants.js')
const { defineLazily, lazily } = require('./lib/lazily.js')

const { replaySession } = lazily(() => require('./lib/session/replay.js'))
const { openSession } = lazily(() => require('./lib/session/open.js'))
const { foldCheckpoints } = lazily(() => require('./lib/session/checkpoints.js'))
const { readSessionHeader, readSessionHeaders } = lazily(() => require('./lib/session/header.js'))
const { listSessions } = lazily(() => require('./lib/session/list.js'))
const { describeSessions, listContinueTargets } = lazily(() => require('./lib/session/describe.js'))
const { readSessionPreview, readSessionTitle } = lazily(() => require('./lib/session/preview.js'))
const {
  sessionLockPath,
  sessionLockPathOf,
  acquireSessionLock,
  isSessionLocked,
  isLockStale,
  removeStaleLock,
  cleanUpLocks,
} = lazily(() => require('./lib/locks/session-lock.js'))
const { resumeSession } = lazily(() => require('./lib/session/resume.js'))
const { deleteSession } = lazily(() => require('./lib/session/delete.js'))
const { listCheckpoints, createCheckpoint, renameCheckpoint, deleteCheckpoint, nameSession } = lazily(() => require('./lib/names/names.js'))
const { forkSession } = lazily(() => require('./lib/session/fork.js'))
const { removeSessionFiles } = lazily(() => require('./lib/session/files.js'))
const { resolveSessionRef, resolveContinueRef, checkSessionName } = lazily(() => require('./lib/session/reference.js'))
const { compileWorkflow } = lazily(() => require('./lib/run/workflow.js'))
const { replayRun, verifyRun } = lazily(() => require('./lib/run/replay.js'))
const { readRunEvents } = lazily(() => require('./lib/run/events.js'))
const { diff, traceAncestors } = lazily(() => require('./lib/diff/diff.js'))
const { diffToText } = lazily(() => require('./lib/diff/diff-text.js'))
const { exportBundle, verifyBundle, importBundle } = lazily(() => require('./lib/bundle/bundle.js'))

// Listed explicitly, so that tools can find the names without running this file.
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
defineLazily(api, 'RunRecorder', () => require('./lib/run/recorder.js'))
defineLazily(api, 'SessionRecordingService', () => require('./lib/session/recorder.js'))
defineLazily(api, 'SessionLockedError', () => require('./lib/locks/locked-error.js'))
defineLazily(api, 'CheckpointLockError', () => require('./lib/names/lock-error.js'))

// Assigned again for tools that copy the members when `module.exports` is assigned: vitest, if this file is in its project.
module.exports = api
