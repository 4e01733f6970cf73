import sessionTape from './index.js'

export const { replaySession, openSession, readSessionHeader, readSessionHeaders, listSessions, SessionRecordingService } =
  sessionTape
