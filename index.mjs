import sessionTape from './index.js'

export const {
  replaySession,
  openSession,
  readSessionHeader,
  readSessionHeaders,
  listSessions,
  SessionRecordingService,
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
} = sessionTape
