'use strict'

// The entry point. A function loads its module when it is first called, and a class when it is first accessed, because most programs use only a few
// of them.

// Captures the built-in functions before the program can replace them, and loads the addon now, so that a missing one is reported at once.
require('./dist/builtins.js')
require('./dist/addon.js')
const { CONTINUE_LATEST, DEFAULT_MAX_QUEUE_BYTES, SESSION_FILE_ID_PREFIX_LENGTH } = require('./dist/constants.js')
const { defineLazily, lazily } = require('./dist/lazily.js')

const { replaySession } = lazily(() => require('./dist/session/replay.js'))
const { openSession } = lazily(() => require('./dist/session/open.js'))
const { readSessionRecords } = lazily(() => require('./dist/session/read-records.js'))
const { readSessionMedia, verifySessionMedia } = lazily(() => require('./dist/session/media.js'))
const { foldCheckpoints } = lazily(() => require('./dist/session/checkpoints.js'))
const { readSessionHeader, readSessionHeaders } = lazily(() => require('./dist/session/header.js'))
const { listSessions } = lazily(() => require('./dist/session/list.js'))
const { describeSessions, listContinueTargets } = lazily(() => require('./dist/session/describe.js'))
const { searchSessions } = lazily(() => require('./dist/search/search.js'))
const { readSessionPreview, readSessionTitle } = lazily(() => require('./dist/session/preview.js'))
const {
  sessionLockPath,
  sessionLockPathOf,
  acquireSessionLock,
  isSessionLocked,
  isLockStale,
  removeStaleLock,
  cleanUpLocks,
} = lazily(() => require('./dist/locks/session-lock.js'))
const { resumeSession } = lazily(() => require('./dist/session/resume.js'))
const { deleteSession } = lazily(() => require('./dist/session/delete.js'))
const { listCheckpoints, createCheckpoint, renameCheckpoint, deleteCheckpoint, nameSession } = lazily(() =>
  require('./dist/names/names.js'),
)
const { forkSession } = lazily(() => require('./dist/session/fork.js'))
const { repairSession } = lazily(() => require('./dist/session/repair.js'))
const { archiveSession, restoreSession } = lazily(() => require('./dist/session/archive.js'))
const { keepSessions } = lazily(() => require('./dist/session/keep.js'))
const { removeSessionFiles } = lazily(() => require('./dist/session/files.js'))
const { resolveSessionRef, resolveContinueRef, checkSessionName } = lazily(() => require('./dist/session/reference.js'))
const { compileWorkflow } = lazily(() => require('./dist/run/workflow.js'))
const { replayRun, verifyRun } = lazily(() => require('./dist/run/replay.js'))
const { readRunEvents } = lazily(() => require('./dist/run/events.js'))
const { diff, traceAncestors } = lazily(() => require('./dist/diff/diff.js'))
const { diffToText } = lazily(() => require('./dist/diff/diff-text.js'))
const { exportSession } = lazily(() => require('./dist/foreign/export.js'))
const { exportBundle, verifyBundle, importBundle } = lazily(() => require('./dist/bundle/bundle.js'))
const { detectSessionFormat, listConversations, importSession, convertSession } = lazily(() =>
  require('./dist/foreign/foreign.js'),
)

// Listed explicitly, so that tools can find the names without running this file.
const api = (module.exports = {
  replaySession,
  openSession,
  readSessionRecords,
  readSessionMedia,
  verifySessionMedia,
  foldCheckpoints,
  readSessionHeader,
  readSessionHeaders,
  listSessions,
  describeSessions,
  listContinueTargets,
  searchSessions,
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
  repairSession,
  archiveSession,
  restoreSession,
  keepSessions,
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
  exportSession,
  exportBundle,
  verifyBundle,
  importBundle,
  detectSessionFormat,
  listConversations,
  importSession,
  convertSession,
  CONTINUE_LATEST,
  DEFAULT_MAX_QUEUE_BYTES,
  SESSION_FILE_ID_PREFIX_LENGTH,
})
defineLazily(api, 'RunRecorder', () => require('./dist/run/recorder.js'))
defineLazily(api, 'SessionRecordingService', () => require('./dist/session/recorder.js'))
defineLazily(api, 'SessionLockedError', () => require('./dist/locks/locked-error.js'))
defineLazily(api, 'CheckpointLockError', () => require('./dist/names/lock-error.js'))

// Assigned again for tools that copy the members when `module.exports` is assigned: vitest, if this file is in its project.
module.exports = api
