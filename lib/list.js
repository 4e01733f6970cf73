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

/** A session, or why there is none. */
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

/** By the time of modification to its last digit. File systems tell time in ticks: within one it is for what the recorder wrote. */
function newestFirst(a, b) {
  return (
    b.session.lastModified.getTime() - a.session.lastModified.getTime() ||
    b.nanoseconds - a.nanoseconds ||
    compare(b.session.startTime, a.session.startTime) ||
    numberOf(b.session) - numberOf(a.session) ||
    compare(b.session.filePath, a.session.filePath)
  )
}

/** What a recorder's name for a file begins with; up to 8 characters of the id follow. */
const NAME = /^session-[+-]?\d{4,6}-\d\d-\d\dT\d\d-\d\d-/

/** Which of the sessions of one id and minute it is. The id itself may end as if it had a number. */
function numberOf({ filePath, sessionId }) {
  const name = path.basename(filePath)
  const beginning = NAME.exec(name)?.[0]
  const number = beginning && /^-(\d+)\.jsonl$/.exec(name.slice(beginning.length + Math.min(8, sessionId.length)))
  return number ? Number(number[1]) : 1
}

/** What `replaySession` would refuse the session for. */
function problemOf({ sessionId, projectHash }) {
  const usable = isFilled(sessionId) && isFilled(projectHash)
  return usable ? undefined : 'Invalid session_start: missing required fields'
}

/** The fields as `replaySession` has them in its metadata: of the right type, whatever the file says. */
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
