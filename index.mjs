import sessionTape from './index.js'

export const { replaySession, readSessionHeader, SessionRecordingService } = sessionTape
