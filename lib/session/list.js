'use strict'

// Lists the sessions of a directory by reading their first lines.

const path = require('node:path')
const { hasOwn, native } = require('../builtins.js')
const { check } = require('../arguments.js')
const { sessionFilesIn } = require('./directory.js')
const { readShared } = require('./header.js')
const { hasCode } = require('../system-error.js')
const { newestFirst } = require('./order.js')

/** The prefix of the names of files that recorders create. */
const RECORDED = 'session-'

function listSessions(chatsDir, options) {
  check.filledString(chatsDir, 'chatsDir')
  if (options !== undefined) check.object(options, 'options')
  check.optional(options?.projectHash, 'options.projectHash', 'string')
  return list(chatsDir, options?.projectHash)
}

/** Lists the sessions of a directory, of one project or of all, and the files that do not contain a session. */
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
 * Lists the sessions of a project among the files that recorders create, and as unreadable the files that may belong to the project but do not
 * contain a session. A directory that does not exist is empty. Rejects with the system's error if it cannot be read for another reason.
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
  return readShared(filePaths, (share) => native.readSummaries(share.join('\0')), entryOf)
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

/** Placeholder for the project hash of a file without a readable header. */
const NO_HEADER = Symbol('no header')

/** Returns the entry of a file: the project hash, which may be any value, and the session or the reason why it is unreadable. */
function entryOf(found, filePath) {
  if (typeof found === 'string') return { hash: NO_HEADER, session: undefined, unreadable: { filePath, reason: found } }
  const payload = found[0]
  const hash = own(payload, 'projectHash')
  if (!isFilled(own(payload, 'sessionId')) || !isFilled(hash)) return { hash, session: undefined, unreadable: { filePath, reason: INVALID } }
  const file = { filePath, fileSize: found[1], lastModified: new Date(found[2]) }
  return { hash, session: summaryOf(payload, file), unreadable: undefined }
}

/** The error with which `replaySession` would refuse the session. */
const INVALID = 'Invalid session_start: missing required fields'

/** The fields in the form of `replaySession`'s metadata: values of the wrong type become empty. */
function summaryOf(payload, file) {
  const cwd = own(payload, 'cwd')
  const startTime = own(payload, 'startTime')
  const start = {
    sessionId: own(payload, 'sessionId'),
    projectHash: own(payload, 'projectHash'),
    workspaceDirs: strings(own(payload, 'workspaceDirs')),
    ...(typeof cwd === 'string' ? { cwd } : undefined),
    provider: text(own(payload, 'provider')),
    model: text(own(payload, 'model')),
    startTime: text(startTime),
  }
  return typeof startTime === 'string' ? { ...start, createdAt: startTime, ...file } : { ...start, ...file }
}

/** Returns a member of a parsed object. Inherited members were not in the text. */
function own(parsed, name) {
  return hasOwn(parsed, name) ? parsed[name] : undefined
}

function strings(value) {
  return Array.isArray(value) && value.every((one) => typeof one === 'string') ? value : []
}

function isFilled(value) {
  return typeof value === 'string' && value !== ''
}

function text(value) {
  return typeof value === 'string' ? value : ''
}

module.exports = { listSessions, list, listProject }
