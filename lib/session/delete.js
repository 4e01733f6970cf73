'use strict'

// Deletes a session and everything that is kept next to its file.

const path = require('node:path')
const { hasOwn } = require('../builtins.js')
const { NO_OPTIONS, check } = require('../arguments.js')
const { liveCheckpoints } = require('./describe.js')
const { listProject } = require('./list.js')
const { scanFile } = require('./scan.js')
const { failure, lockSession, namesakesOf, noSessions } = require('./failure.js')
const { removeSessionFiles } = require('./files.js')
const { resolveSessionRef } = require('./reference.js')

function deleteSession(ref, chatsDir, projectHash, options = NO_OPTIONS) {
  check.string(ref, 'ref')
  check.filledString(chatsDir, 'chatsDir')
  check.filledString(projectHash, 'projectHash')
  check.object(options, 'options')
  check.optional(options.exact, 'options.exact', 'boolean')
  if (options.snapshotDir !== undefined) check.filledString(options.snapshotDir, 'options.snapshotDir')
  return remove(ref, chatsDir, projectHash, options)
}

/** Resolves the paths before the first `await`, because the working directory may change in the meantime. */
async function remove(ref, chatsDir, projectHash, { exact, snapshotDir }) {
  const directory = path.resolve(chatsDir)
  const snapshots = snapshotDir === undefined ? undefined : path.resolve(snapshotDir)
  const { sessions, unreadable } = await listProject(directory, projectHash)
  if (sessions.length === 0 && exact !== true) return noSessions(unreadable)
  const found = exact === true ? findExact(ref, sessions) : resolveSessionRef(ref, sessions)
  if (!hasOwn(found, 'session')) return failure(found.error, found.code)
  const removed = await removeLocked(found.session, directory, projectHash, snapshots)
  const warnings = namesakesOf(found.session, sessions, 'deleted')
  return removed.ok && warnings.length > 0 ? { ...removed, warnings } : removed
}

function findExact(ref, sessions) {
  const session = sessions.find(({ sessionId }) => sessionId === ref)
  return session === undefined ? { error: `Session not found: ${ref}`, code: 'NotFound' } : { session }
}

async function removeLocked({ sessionId, filePath }, chatsDir, projectHash, snapshotDir) {
  const busy = 'Cannot delete: session is in use by another process'
  const { lock, failed } = await lockSession(chatsDir, sessionId, busy, 'Failed to lock session for deletion: ')
  if (failed !== undefined) return failed
  try {
    const blocked = await blockers(filePath, projectHash)
    if (blocked !== undefined) return blocked
    await removeSessionFiles(filePath, { __proto__: null, snapshotDir })
    return { ok: true, deletedSessionId: sessionId }
  } catch (error) {
    return failure(`Failed to delete session: ${error.message}`, 'System')
  } finally {
    await lock.release()
  }
}

/**
 * Returns the failure that prevents the deletion, or `undefined` if nothing does. Live checkpoints prevent it, because sessions can be forked from
 * them.
 */
async function blockers(filePath, projectHash) {
  const report = await reportOn(filePath, projectHash)
  if (hasOwn(report, 'error')) {
    return failure(`Failed to delete session: Cannot verify checkpoint blockers: ${report.error}`, 'ReplayFailed')
  }
  const live = liveCheckpoints(report.checkpoints)
  if (live.length === 0) return undefined
  const shown = live.map(({ name, checkpointId }) => `${name} (${checkpointId})`).join(', ')
  return failure(`Cannot delete session: live checkpoints block deletion: ${shown}`, 'CheckpointsBlock')
}

/** Returns the report on a file. A rejected scan becomes a report with an `error`. */
async function reportOn(filePath, projectHash) {
  try {
    return await scanFile(filePath, projectHash, NO_OPTIONS)
  } catch (error) {
    return { __proto__: null, error: error.message }
  }
}

module.exports = { deleteSession }
