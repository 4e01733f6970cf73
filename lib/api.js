'use strict'

// The front door. What a function needs is loaded when it is called for the first time: most programs use a few of them. Classes and
// constants are here from the beginning, for they are extended and compared.

const { RunRecorder } = require('./run-recorder.js')
const { SessionRecordingService } = require('./recorder.js')
const { SessionLockedError } = require('./session-lock/locked-error.js')
const { CheckpointLockError } = require('./naming/lock-error.js')
const { CONTINUE_LATEST, SESSION_FILE_ID_PREFIX_LENGTH } = require('./constants.js')
const { lazily } = require('./lazily.js')
// Takes the real timers now, which the program may replace later.
require('./session-lock/waiting.js')

const { replaySession } = lazily(() => require('./replay.js'))
const { openSession } = lazily(() => require('./session.js'))
const { foldCheckpoints } = lazily(() => require('./checkpoints.js'))
const { readSessionHeader, readSessionHeaders } = lazily(() => require('./header.js'))
const { listSessions } = lazily(() => require('./list.js'))
const { describeSessions, listContinueTargets } = lazily(() => require('./describe.js'))
const { readSessionPreview, readSessionTitle } = lazily(() => require('./preview.js'))
const {
  sessionLockPath,
  acquireSessionLock,
  isSessionLocked,
  isLockStale,
  removeStaleLock,
  cleanUpLocks,
} = lazily(() => require('./session-lock.js'))
const { resumeSession } = lazily(() => require('./resume.js'))
const { deleteSession } = lazily(() => require('./delete-session.js'))
const { listCheckpoints, createCheckpoint, renameCheckpoint, deleteCheckpoint, nameSession } = lazily(() => require('./names.js'))
const { forkSession } = lazily(() => require('./fork.js'))
const { removeSessionFiles } = lazily(() => require('./session-files.js'))
const { resolveSessionRef, resolveContinueRef, checkSessionName } = lazily(() => require('./session-reference.js'))
const { compileWorkflow } = lazily(() => require('./workflow.js'))
const { replayRun, verifyRun } = lazily(() => require('./run-replay.js'))
const { readRunEvents } = lazily(() => require('./run-events.js'))
const { diff, traceAncestors } = lazily(() => require('./diff.js'))
const { diffToText } = lazily(() => require('./diff-text.js'))
const { exportBundle, verifyBundle, importBundle } = lazily(() => require('./bundle.js'))

// Written out, so that the names can be found without running this.
module.exports = {
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
  RunRecorder,
  SessionRecordingService,
  SessionLockedError,
  CheckpointLockError,
  CONTINUE_LATEST,
  SESSION_FILE_ID_PREFIX_LENGTH,
}
