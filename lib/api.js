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

const { replaySession } = lazily(() => require('./replay.js'), ['replaySession'])
const { openSession } = lazily(() => require('./session.js'), ['openSession'])
const { foldCheckpoints } = lazily(() => require('./checkpoints.js'), ['foldCheckpoints'])
const { readSessionHeader, readSessionHeaders } = lazily(() => require('./header.js'), ['readSessionHeader', 'readSessionHeaders'])
const { listSessions } = lazily(() => require('./list.js'), ['listSessions'])
const { describeSessions, listContinueTargets } = lazily(() => require('./describe.js'), ['describeSessions', 'listContinueTargets'])
const { readSessionPreview, readSessionTitle } = lazily(() => require('./preview.js'), ['readSessionPreview', 'readSessionTitle'])
const {
  sessionLockPath,
  acquireSessionLock,
  isSessionLocked,
  isLockStale,
  removeStaleLock,
  cleanUpLocks,
} = lazily(() => require('./session-lock.js'), [
  'sessionLockPath',
  'acquireSessionLock',
  'isSessionLocked',
  'isLockStale',
  'removeStaleLock',
  'cleanUpLocks',
])
const { resumeSession } = lazily(() => require('./resume.js'), ['resumeSession'])
const { deleteSession } = lazily(() => require('./delete-session.js'), ['deleteSession'])
const {
  listCheckpoints,
  createCheckpoint,
  renameCheckpoint,
  deleteCheckpoint,
  nameSession,
} = lazily(() => require('./names.js'), [
  'listCheckpoints',
  'createCheckpoint',
  'renameCheckpoint',
  'deleteCheckpoint',
  'nameSession',
])
const { forkSession } = lazily(() => require('./fork.js'), ['forkSession'])
const { removeSessionFiles } = lazily(() => require('./session-files.js'), ['removeSessionFiles'])
const {
  resolveSessionRef,
  resolveContinueRef,
  checkSessionName,
} = lazily(() => require('./session-reference.js'), [
  'resolveSessionRef',
  'resolveContinueRef',
  'checkSessionName',
])
const { compileWorkflow } = lazily(() => require('./workflow.js'), ['compileWorkflow'])
const { replayRun, verifyRun } = lazily(() => require('./run-replay.js'), ['replayRun', 'verifyRun'])
const { readRunEvents } = lazily(() => require('./run-events.js'), ['readRunEvents'])
const { diff, traceAncestors } = lazily(() => require('./diff.js'), ['diff', 'traceAncestors'])
const { diffToText } = lazily(() => require('./diff-text.js'), ['diffToText'])
const { exportBundle, verifyBundle, importBundle } = lazily(() => require('./bundle.js'), ['exportBundle', 'verifyBundle', 'importBundle'])

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
