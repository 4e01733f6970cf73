'use strict'

// Describes the sessions of a directory: a listing, with the reports of their replays.

const { append, hasOwn } = require('../builtins.js')
const { NO_OPTIONS, check, checkScanOptions } = require('../arguments.js')
const { list, listProject } = require('./list.js')
const { scan } = require('./scan.js')

/** Why a session that replays cannot be continued. */
const SEQUENCE_CORRUPT = 'recording has non-monotonic sequences'

function describeSessions(chatsDir, options = NO_OPTIONS) {
  check.filledString(chatsDir, 'chatsDir')
  checkScanOptions(options)
  check.optional(options.projectHash, 'options.projectHash', 'string')
  return describe(chatsDir, options.projectHash, scanOptionsOf(options))
}

async function describe(chatsDir, projectHash, options) {
  const { sessions, unreadable } = await list(chatsDir, projectHash)
  const described = await scanSessions(sessions, projectHash, options)
  for (const { session, report } of described) {
    if (hasOwn(report, 'error')) append(unreadable, skip(session, report.error))
  }
  const overviews = described.filter(({ report }) => !hasOwn(report, 'error'))
  return { sessions: overviews.map(({ session, report }) => overviewOf(session, report)), unreadable }
}

function listContinueTargets(chatsDir, projectHash, options = NO_OPTIONS) {
  check.filledString(chatsDir, 'chatsDir')
  check.filledString(projectHash, 'projectHash')
  checkScanOptions(options)
  return continueTargets(chatsDir, projectHash, scanOptionsOf(options))
}

async function continueTargets(chatsDir, projectHash, options) {
  const { sessions, unreadable } = await listProject(chatsDir, projectHash)
  const { usable, skipped } = usableOf(await scanSessions(sessions, projectHash, options), unreadable)
  const targets = []
  for (const { session } of usable) append(targets, { kind: 'session', session })
  for (const { session, report } of usable) {
    for (const { checkpointId, name, sequence } of liveCheckpoints(report.checkpoints)) {
      append(targets, { kind: 'checkpoint', source: session, checkpointId, checkpointName: name, sequence })
    }
  }
  return { targets, skipped }
}

/** Copies the options, because the caller may change them while the directory is listed. */
function scanOptionsOf({ snapshot, snapshotDir, signal, onProgress }) {
  return { __proto__: null, snapshot, snapshotDir, signal, onProgress }
}

/**
 * Returns the sessions that can be continued, in the given order, each as a summary with title and name, and with the report of its replay. Adds
 * the others to `skipped`, with the reason.
 */
function usableOf(described, skipped) {
  const usable = []
  for (const { session, report } of described) {
    const reason = report.error ?? (report.sequenceCorrupt ? SEQUENCE_CORRUPT : undefined)
    if (reason === undefined) append(usable, { session: presented(session, report), report })
    else append(skipped, skip(session, reason))
  }
  return { usable, skipped }
}

/** Resolves to each session with the report of the scan of its file. */
async function scanSessions(sessions, projectHash, options) {
  const reports = await scan(
    sessions.map(({ filePath }) => filePath),
    projectHash,
    options,
  )
  return sessions.map((session, index) => ({ session, report: reports[index] }))
}

function skip({ filePath }, reason) {
  return { filePath, reason }
}

/** Returns a summary with the title and the name of the session, if it has them. */
function presented(session, report) {
  return {
    ...session,
    ...(hasOwn(report.metadata, 'title') && { title: report.metadata.title }),
    ...(hasOwn(report, 'name') && { name: report.name }),
  }
}

function overviewOf(session, report) {
  const { metadata, lastSeq, sequenceCorrupt, eventCount, historyLength, checkpoints, warnings } = report
  return {
    ...presented(session, report),
    metadata,
    lastSeq,
    sequenceCorrupt,
    eventCount,
    historyLength,
    checkpoints,
    ...(hasOwn(report, 'ancestry') && { ancestry: report.ancestry }),
    warnings,
  }
}

function liveCheckpoints(checkpoints) {
  return checkpoints.filter(({ deleted }) => !deleted)
}

module.exports = { describeSessions, listContinueTargets, scanSessions, usableOf, liveCheckpoints, SEQUENCE_CORRUPT }
