'use strict'

const { replaySession } = require('./lib/replay.js')
const { readSessionHeader } = require('./lib/header.js')
const { SessionRecordingService } = require('./lib/recorder.js')

module.exports = { replaySession, readSessionHeader, SessionRecordingService }
