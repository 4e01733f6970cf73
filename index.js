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

module.exports = {
  ...lazily(() => require('./lib/replay.js'), ['replaySession']),
  ...lazily(() => require('./lib/session.js'), ['openSession']),
  ...lazily(() => require('./lib/checkpoints.js'), ['foldCheckpoints']),
  ...lazily(() => require('./lib/header.js'), ['readSessionHeader', 'readSessionHeaders']),
  ...lazily(() => require('./lib/list.js'), ['listSessions']),
  ...lazily(() => require('./lib/describe.js'), ['describeSessions', 'listContinueTargets']),
  ...lazily(() => require('./lib/preview.js'), ['readSessionPreview', 'readSessionTitle']),
  ...lazily(() => require('./lib/session-lock.js'), ['sessionLockPath', 'acquireSessionLock', 'isSessionLocked', 'isLockStale', 'removeStaleLock', 'cleanUpLocks']),
  ...lazily(() => require('./lib/resume.js'), ['resumeSession']),
  ...lazily(() => require('./lib/delete-session.js'), ['deleteSession']),
  ...lazily(() => require('./lib/names.js'), ['listCheckpoints', 'createCheckpoint', 'renameCheckpoint', 'deleteCheckpoint', 'nameSession']),
  ...lazily(() => require('./lib/fork.js'), ['forkSession']),
  ...lazily(() => require('./lib/session-files.js'), ['removeSessionFiles']),
  ...lazily(() => require('./lib/session-reference.js'), ['resolveSessionRef', 'resolveContinueRef', 'checkSessionName']),
  ...lazily(() => require('./lib/workflow.js'), ['compileWorkflow']),
  ...lazily(() => require('./lib/run-replay.js'), ['replayRun', 'verifyRun']),
  ...lazily(() => require('./lib/run-events.js'), ['readRunEvents']),
  ...lazily(() => require('./lib/diff.js'), ['diff', 'traceAncestors']),
  ...lazily(() => require('./lib/diff-text.js'), ['diffToText']),
  ...lazily(() => require('./lib/bundle.js'), ['exportBundle', 'verifyBundle', 'importBundle']),
  RunRecorder,
  SessionRecordingService,
  SessionLockedError,
  CheckpointLockError,
  CONTINUE_LATEST,
  SESSION_FILE_ID_PREFIX_LENGTH,
}
