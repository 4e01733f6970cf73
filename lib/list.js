'use strict'

const { native } = require('./native.js')
const { check } = require('./arguments.js')
const { sessionFilesIn } = require('./directory.js')
const { readShared } = require('./header.js')

function listSessions(chatsDir, options) {
  check.filledString(chatsDir, 'chatsDir')
  if (options !== undefined) check.object(options, 'options')
  check.optional(options?.projectHash, 'options.projectHash', 'string')
  return list(chatsDir, options?.projectHash)
}

async function list(chatsDir, projectHash) {
  let filePaths
  try {
    filePaths = await sessionFilesIn(chatsDir)
  } catch (error) {
    return { sessions: [], unreadable: [{ filePath: chatsDir, reason: error.message }] }
  }
  const found = await readShared(filePaths, native.readSummaries, entryOf)
  const sessions = found.flatMap(({ session }) => session ?? [])
  return {
    sessions: sessions.filter((session) => projectHash === undefined || session.projectHash === projectHash).sort(byLastModified),
    unreadable: found.flatMap(({ unreadable }) => unreadable ?? []),
  }
}

/** A session, or why there is none. */
function entryOf({ payload, fileSize, lastModified, reason = problemOf(payload) }, filePath) {
  if (reason !== undefined) return { unreadable: { filePath, reason } }
  return { session: { ...summaryOf(payload), filePath, fileSize, lastModified: new Date(lastModified) } }
}

function byLastModified(a, b) {
  return b.lastModified.getTime() - a.lastModified.getTime() || compare(b.filePath, a.filePath)
}

/** What `replaySession` would refuse the session for. */
function problemOf({ sessionId, projectHash }) {
  const usable = isFilled(sessionId) && isFilled(projectHash)
  return usable ? undefined : 'Invalid session_start: missing required fields'
}

/** The fields as `replaySession` has them in its metadata: of the right type, whatever the file says. */
function summaryOf({ sessionId, projectHash, workspaceDirs, provider, model, startTime }) {
  const strings = Array.isArray(workspaceDirs) && workspaceDirs.every((one) => typeof one === 'string')
  return {
    sessionId,
    projectHash,
    workspaceDirs: strings ? workspaceDirs : [],
    provider: text(provider),
    model: text(model),
    startTime: text(startTime),
  }
}

function isFilled(value) {
  return typeof value === 'string' && value !== ''
}

function text(value) {
  return typeof value === 'string' ? value : ''
}

function compare(a, b) {
  return a < b ? -1 : a > b ? 1 : 0
}

module.exports = { listSessions }
