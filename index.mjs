import sessionTape from './index.js'

export const {
  replaySession,
  openSession,
  foldCheckpoints,
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
