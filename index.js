'use strict'

// The front door. What a function needs is loaded when it is called for the first time: most programs use a few of them. Classes and
// constants are here from the beginning, for they are extended and compared.

const { RunRecorder } = require('./lib/run-recorder.js')
const { SessionRecordingService } = require('./lib/recorder.js')
const { SessionLockedError } = require('./lib/session-lock/locked-error.js')
const { CheckpointLockError } = require('./lib/naming/lock-error.js')
const { CONTINUE_LATEST, SESSION_FILE_ID_PREFIX_LENGTH } = require('./lib/constants.js')
const { lazily } = require('./lib/lazily.js')
// Takes the real timers now, which the program may replace later.
require('./lib/session-lock/waiting.js')

const { replaySession } = lazily(() => require('./lib/replay.js'), ['replaySession'])
const { openSession } = lazily(() => require('./lib/session.js'), ['openSession'])
const { foldCheckpoints } = lazily(() => require('./lib/checkpoints.js'), ['foldCheckpoints'])
const { readSessionHeader, readSessionHeaders } = lazily(() => require('./lib/header.js'), ['readSessionHeader', 'readSessionHeaders'])
const { listSessions } = lazily(() => require('./lib/list.js'), ['listSessions'])
const { describeSessions, listContinueTargets } = lazily(() => require('./lib/describe.js'), ['describeSessions', 'listContinueTargets'])
const { readSessionPreview, readSessionTitle } = lazily(() => require('./lib/preview.js'), ['readSessionPreview', 'readSessionTitle'])
const {
  sessionLockPath,
  acquireSessionLock,
  isSessionLocked,
  isLockStale,
  removeStaleLock,
  cleanUpLocks,
} = lazily(() => require('./lib/session-lock.js'), [
  'sessionLockPath',
  'acquireSessionLock',
  'isSessionLocked',
  'isLockStale',
  'removeStaleLock',
  'cleanUpLocks',
])
const { resumeSession } = lazily(() => require('./lib/resume.js'), ['resumeSession'])
const { deleteSession } = lazily(() => require('./lib/delete-session.js'), ['deleteSession'])
const {
  listCheckpoints,
  createCheckpoint,
  renameCheckpoint,
  deleteCheckpoint,
  nameSession,
} = lazily(() => require('./lib/names.js'), [
  'listCheckpoints',
  'createCheckpoint',
  'renameCheckpoint',
  'deleteCheckpoint',
  'nameSession',
])
const { forkSession } = lazily(() => require('./lib/fork.js'), ['forkSession'])
const { removeSessionFiles } = lazily(() => require('./lib/session-files.js'), ['removeSessionFiles'])
const {
  resolveSessionRef,
  resolveContinueRef,
  checkSessionName,
} = lazily(() => require('./lib/session-reference.js'), [
  'resolveSessionRef',
  'resolveContinueRef',
  'checkSessionName',
])
const { compileWorkflow } = lazily(() => require('./lib/workflow.js'), ['compileWorkflow'])
const { replayRun, verifyRun } = lazily(() => require('./lib/run-replay.js'), ['replayRun', 'verifyRun'])
const { readRunEvents } = lazily(() => require('./lib/run-events.js'), ['readRunEvents'])
const { diff, traceAncestors } = lazily(() => require('./lib/diff.js'), ['diff', 'traceAncestors'])
const { diffToText } = lazily(() => require('./lib/diff-text.js'), ['diffToText'])
const { exportBundle, verifyBundle, importBundle } = lazily(() => require('./lib/bundle.js'), ['exportBundle', 'verifyBundle', 'importBundle'])

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
