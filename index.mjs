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
  exportBundle,
  verifyBundle,
  importBundle,
} = sessionTape
