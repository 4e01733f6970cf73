'use strict'

const { replaySession } = require('./lib/replay.js')
const { openSession } = require('./lib/session.js')
const { foldCheckpoints } = require('./lib/checkpoints.js')
const { readSessionHeader, readSessionHeaders } = require('./lib/header.js')
const { listSessions } = require('./lib/list.js')
const { describeSessions, listContinueTargets } = require('./lib/describe.js')
const { readSessionPreview, readSessionTitle } = require('./lib/preview.js')
const {
  sessionLockPath,
  acquireSessionLock,
  isSessionLocked,
  isLockStale,
  removeStaleLock,
  cleanUpLocks,
  SessionLockedError,
} = require('./lib/session-lock.js')
const { resumeSession, CONTINUE_LATEST } = require('./lib/resume.js')
const { deleteSession } = require('./lib/delete-session.js')
const {
  listCheckpoints,
  createCheckpoint,
  renameCheckpoint,
  deleteCheckpoint,
  nameSession,
  CheckpointLockError,
} = require('./lib/names.js')
const { removeSessionFiles } = require('./lib/session-files.js')
const { resolveSessionRef, resolveContinueRef, checkSessionName } = require('./lib/session-reference.js')
const { forkSession } = require('./lib/fork.js')
const { SessionRecordingService } = require('./lib/recorder.js')
const { SESSION_FILE_ID_PREFIX_LENGTH } = require('./lib/new-session.js')
const { RunRecorder } = require('./lib/run-recorder.js')
const { compileWorkflow } = require('./lib/workflow.js')
const { replayRun, verifyRun } = require('./lib/run-replay.js')
const { readRunEvents } = require('./lib/run-events.js')
const { diff, traceAncestors } = require('./lib/diff.js')
const { diffToText } = require('./lib/diff-text.js')
const { exportBundle, verifyBundle, importBundle } = require('./lib/bundle.js')

module.exports = {
  replaySession,
  openSession,
  foldCheckpoints,
  readSessionHeader,
  readSessionHeaders,
  listSessions,
  describeSessions,
  listContinueTargets,
  resumeSession,
  CONTINUE_LATEST,
  deleteSession,
  listCheckpoints,
  createCheckpoint,
  renameCheckpoint,
  deleteCheckpoint,
  nameSession,
  CheckpointLockError,
  forkSession,
  readSessionPreview,
  readSessionTitle,
  removeSessionFiles,
  resolveSessionRef,
  resolveContinueRef,
  checkSessionName,
  SessionRecordingService,
  sessionLockPath,
  acquireSessionLock,
  isSessionLocked,
  isLockStale,
  removeStaleLock,
  cleanUpLocks,
  SessionLockedError,
  SESSION_FILE_ID_PREFIX_LENGTH,
  RunRecorder,
  compileWorkflow,
  replayRun,
  verifyRun,
  readRunEvents,
  diff,
  diffToText,
  traceAncestors,
  exportBundle,
  verifyBundle,
  importBundle,
}
