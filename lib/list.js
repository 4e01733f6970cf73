'use strict'

// Listing the sessions of a directory by their first lines.

const path = require('node:path')
const { native, record } = require('./native.js')
const { check } = require('./arguments.js')
const { sessionFilesIn } = require('./directory.js')
const { readShared } = require('./header.js')
const { hasCode } = require('./session-lock/system-error.js')
const { newestFirst } = require('./session-order.js')

/** What the name of a file that a recorder has created begins with. */
const RECORDED = 'session-'

function listSessions(chatsDir, options) {
  check.filledString(chatsDir, 'chatsDir')
  if (options !== undefined) check.object(options, 'options')
  check.optional(options?.projectHash, 'options.projectHash', 'string')
  return list(chatsDir, options?.projectHash)
}

/** The sessions of a directory, of one project or of all, and the files that hold none. */
async function list(chatsDir, projectHash) {
  let filePaths
  try {
    filePaths = await sessionFilesIn(chatsDir)
  } catch (error) {
    return { sessions: [], unreadable: [{ filePath: chatsDir, reason: error.message }] }
  }
  return sorted(await read(filePaths), (hash) => projectHash === undefined || hash === projectHash)
}

/**
 * The sessions of a project in the files that recorders have created, and those of the files that hold no session and none of another
 * project. A directory that does not exist has none; the promise rejects with the system's error if it cannot be read.
 */
async function listProject(chatsDir, projectHash) {
  const found = await read(await recordedFilesIn(chatsDir))
  return sorted(
    found.filter(({ hash }) => hash === NO_HEADER || hash === projectHash),
    () => true,
  )
}

async function recordedFilesIn(chatsDir) {
  try {
    return (await sessionFilesIn(chatsDir)).filter((filePath) => path.basename(filePath).startsWith(RECORDED))
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return []
    throw error
  }
}

function read(filePaths) {
  return readShared(filePaths, native.readSummaries, entryOf)
}

function sorted(entries, isWanted) {
  return {
    sessions: entries
      .filter(({ session, hash }) => session && isWanted(hash))
      .map(({ session }) => session)
      .sort(newestFirst),
    unreadable: entries.filter(({ unreadable }) => unreadable).map(({ unreadable }) => unreadable),
  }
}

/** In place of the project's hash where a file has no header that could have one. */
const NO_HEADER = Symbol('no header')

/** The entry of a file: the project's hash, whatever it is, and the session or the reason why it is unreadable. */
function entryOf(found, filePath) {
  if (typeof found === 'string') return { hash: NO_HEADER, session: undefined, unreadable: { filePath, reason: found } }
  const payload = record(found[0])
  const hash = payload.projectHash
  const reason = problemOf(payload)
  if (reason !== undefined) return { hash, session: undefined, unreadable: { filePath, reason } }
  const session = { ...summaryOf(payload), filePath, fileSize: found[1], lastModified: new Date(found[2]) }
  return { hash, session, unreadable: undefined }
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

module.exports = { listSessions, list, listProject }
