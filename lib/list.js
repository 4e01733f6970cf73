'use strict'

const { native, record } = require('./native.js')
const { check } = require('./arguments.js')
const { sessionFilesIn } = require('./directory.js')
const { readShared } = require('./header.js')
const { newestFirst } = require('./session-order.js')

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
  const sessions = found.filter(({ session }) => session && (projectHash === undefined || session.projectHash === projectHash))
  return {
    sessions: sessions.map(({ session }) => session).sort(newestFirst),
    unreadable: found.filter(({ unreadable }) => unreadable).map(({ unreadable }) => unreadable),
  }
}

/** The entry of a file: its session, or the reason why it is unreadable. */
function entryOf(found, filePath) {
  if (typeof found === 'string') return unreadable(filePath, found)
  const payload = record(found[0])
  const reason = problemOf(payload)
  if (reason !== undefined) return unreadable(filePath, reason)
  const session = { ...summaryOf(payload), filePath, fileSize: found[1], lastModified: new Date(found[2]) }
  return { session, unreadable: undefined }
}

function unreadable(filePath, reason) {
  return { session: undefined, unreadable: { filePath, reason } }
}

/** The error with which `replaySession` would refuse the session, if it would. */
function problemOf({ sessionId, projectHash }) {
  const usable = isFilled(sessionId) && isFilled(projectHash)
  return usable ? undefined : 'Invalid session_start: missing required fields'
}

/** The fields in the form of `replaySession`'s metadata: values of the wrong type become empty. */
function summaryOf({ sessionId, projectHash, workspaceDirs, cwd, provider, model, startTime }) {
  const strings = Array.isArray(workspaceDirs) && workspaceDirs.every((one) => typeof one === 'string')
  return {
    sessionId,
    projectHash,
    workspaceDirs: strings ? workspaceDirs : [],
    ...(typeof cwd === 'string' ? { cwd } : undefined),
    provider: text(provider),
    model: text(model),
    startTime: text(startTime),
    ...(typeof startTime === 'string' && { createdAt: startTime }),
  }
}

function isFilled(value) {
  return typeof value === 'string' && value !== ''
}

function text(value) {
  return typeof value === 'string' ? value : ''
}

module.exports = { listSessions }
