'use strict'

const { replaySession } = require('./lib/replay.js')
const { openSession } = require('./lib/session.js')
const { readSessionHeader, readSessionHeaders } = require('./lib/header.js')
const { listSessions } = require('./lib/list.js')
const { SessionRecordingService } = require('./lib/recorder.js')

module.exports = { replaySession, openSession, readSessionHeader, readSessionHeaders, listSessions, SessionRecordingService }
