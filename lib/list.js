'use strict'

const path = require('node:path')
const { native, record } = require('./native.js')
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
  const sessions = found.filter(({ session }) => session && (projectHash === undefined || session.projectHash === projectHash))
  return {
    sessions: sessions.sort(newestFirst).map(({ session }) => session),
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
  return { session, nanoseconds: found[3], unreadable: undefined }
}

function unreadable(filePath, reason) {
  return { session: undefined, nanoseconds: 0, unreadable: { filePath, reason } }
}

/**
 * Compares by time of modification, to the nanosecond. File systems record it in coarser ticks, so that equal times are compared by
 * start time and file name.
 */
function newestFirst(a, b) {
  return (
    b.session.lastModified.getTime() - a.session.lastModified.getTime() ||
    b.nanoseconds - a.nanoseconds ||
    compare(b.session.startTime, a.session.startTime) ||
    numberOf(b.session) - numberOf(a.session) ||
    compare(b.session.filePath, a.session.filePath)
  )
}

/** The beginning of a file name that the recorder chose. Up to 8 characters of the session id follow. */
const NAME = /^session-[+-]?\d{4,6}-\d\d-\d\dT\d\d-\d\d-/

/** The suffix that the recorder gave to a file whose name was taken, 1 without. The id may itself end like a suffix. */
function numberOf({ filePath, sessionId }) {
  const name = path.basename(filePath)
  const beginning = NAME.exec(name)?.[0]
  const number = beginning && /^-(\d+)\.jsonl$/.exec(name.slice(beginning.length + Math.min(8, sessionId.length)))
  return number ? Number(number[1]) : 1
}

/** The error with which `replaySession` would refuse the session, if it would. */
function problemOf({ sessionId, projectHash }) {
  const usable = isFilled(sessionId) && isFilled(projectHash)
  return usable ? undefined : 'Invalid session_start: missing required fields'
}

/** The fields in the form of `replaySession`'s metadata: values of the wrong type become empty. */
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
