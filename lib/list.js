'use strict'

const fs = require('node:fs/promises')
const path = require('node:path')
const { native } = require('./native.js')
const { check } = require('./arguments.js')
const { readShared } = require('./header.js')

const EXTENSION = '.jsonl'

function listSessions(chatsDir, options) {
  check.filledString(chatsDir, 'chatsDir')
  if (options !== undefined) check.object(options, 'options')
  check.optional(options?.projectHash, 'options.projectHash', 'string')
  return list(chatsDir, options?.projectHash)
}

async function list(chatsDir, projectHash) {
  let names
  try {
    names = (await fs.readdir(chatsDir)).filter((name) => name.endsWith(EXTENSION))
  } catch (error) {
    return { sessions: [], unreadable: [{ filePath: chatsDir, reason: error.message }] }
  }
  const filePaths = names.map((name) => path.join(chatsDir, name))
  const found = await readShared(filePaths, native.readSummaries)
  const sessions = []
  const unreadable = []
  found.forEach(({ payload, fileSize, lastModified, reason }, index) => {
    const filePath = filePaths[index]
    const problem = reason ?? problemOf(payload)
    if (problem) unreadable.push({ filePath, reason: problem })
    else if (projectHash === undefined || payload.projectHash === projectHash) {
      sessions.push({ ...summaryOf(payload), filePath, fileSize, lastModified: new Date(lastModified) })
    }
  })
  sessions.sort((a, b) => b.lastModified - a.lastModified || compare(b.filePath, a.filePath))
  unreadable.sort((a, b) => compare(a.filePath, b.filePath))
  return { sessions, unreadable }
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
