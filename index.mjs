import sessionTape from './index.js'

export const {
  replaySession,
  openSession,
  readSessionHeader,
  readSessionHeaders,
  listSessions,
  SessionRecordingService,
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
