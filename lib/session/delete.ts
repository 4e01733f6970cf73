// Deletes a session and everything that is kept next to its file.

import path = require('node:path')
import { NO_OPTIONS, check } from '../arguments.js'
import type { Bare } from '../builtins.js'
import { liveCheckpoints } from './describe.js'
import { type ReferenceFailure, type SessionFailure, failure, lockSession, namesakesOf, noSessions } from './failure.js'
import { removeSessionFiles } from './files.js'
import { listProject } from './list.js'
import { hasSession, resolveSessionRef } from './reference.js'
import { type Report, isFailed, scanFile } from './scan.js'
import type { SessionSummary } from './summary.js'

/** Options of {@link deleteSession}. */
export interface DeleteOptions {
  /** Accept `ref` only as a complete session id. Default `false`. */
  exact?: boolean | undefined
  /** The directory of the session's snapshot, if it is not next to the file. */
  snapshotDir?: string | undefined
}

type Deletion = { ok: true; deletedSessionId: string; warnings?: string[] } | SessionFailure

/**
 * Locks a session and deletes its file, together with everything that session-tape keeps next to it.
 *
 * @param ref - As for {@link resolveSessionRef}.
 * @returns A failure if the session is in use, has checkpoints that are not deleted, or does not replay (its checkpoints are then unknown). `warnings`
 * name other files with the id of the deleted session, which stay; there are none without such files. Rejects only if the directory exists but cannot be read.
 * @throws TypeError - At once, if an argument is of the wrong type.
 */
export function deleteSession(
  ref: string,
  chatsDir: string,
  projectHash: string,
  options: DeleteOptions = NO_OPTIONS,
): Promise<{ ok: true; deletedSessionId: string; warnings?: string[] } | SessionFailure> {
  check.string(ref, 'ref')
  check.filledString(chatsDir, 'chatsDir')
  check.filledString(projectHash, 'projectHash')
  check.object(options, 'options')
  check.optional(options.exact, 'options.exact', 'boolean')
  if (options.snapshotDir !== undefined) check.filledString(options.snapshotDir, 'options.snapshotDir')
  return remove(ref, chatsDir, projectHash, options)
}

/** Resolves the paths before the first `await`, because the working directory may change in the meantime. */
async function remove(ref: string, chatsDir: string, projectHash: string, { exact, snapshotDir }: DeleteOptions): Promise<Deletion> {
  const directory = path.resolve(chatsDir)
  const snapshots = snapshotDir === undefined ? undefined : path.resolve(snapshotDir)
  const { sessions, unreadable } = await listProject(directory, projectHash)
  if (sessions.length === 0 && exact !== true) return noSessions(unreadable)
  const found = exact === true ? findExact(ref, sessions) : resolveSessionRef(ref, sessions)
  if (!hasSession(found)) return failure(found.error, found.code)
  const removed = await removeLocked(found.session, directory, projectHash, snapshots)
  const warnings = namesakesOf(found.session, sessions, 'deleted')
  return removed.ok && warnings.length > 0 ? { ...removed, warnings } : removed
}

function findExact(ref: string, sessions: SessionSummary[]): { session: SessionSummary } | ReferenceFailure {
  const session = sessions.find(({ sessionId }) => sessionId === ref)
  return session === undefined ? { error: `Session not found: ${ref}`, code: 'NotFound' } : { session }
}

async function removeLocked(
  { sessionId, filePath }: SessionSummary,
  chatsDir: string,
  projectHash: string,
  snapshotDir: string | undefined,
): Promise<Deletion> {
  const busy = 'Cannot delete: session is in use by another process'
  const { lock, failed } = await lockSession(chatsDir, sessionId, busy, 'Failed to lock session for deletion: ')
  if (failed !== undefined) return failed
  try {
    const blocked = await blockers(filePath, projectHash)
    if (blocked !== undefined) return blocked
    await removeSessionFiles(filePath, { __proto__: null, snapshotDir } as Bare<{ snapshotDir: string | undefined }>)
    return { ok: true, deletedSessionId: sessionId }
  } catch (error) {
    return failure(`Failed to delete session: ${(error as Error).message}`, 'System')
  } finally {
    await lock.release()
  }
}

/**
 * Returns the failure that prevents the deletion, or `undefined` if nothing does. Live checkpoints prevent it, because sessions can be forked from
 * them.
 */
async function blockers(filePath: string, projectHash: string): Promise<SessionFailure | undefined> {
  const report = await reportOn(filePath, projectHash)
  if (isFailed(report)) {
    return failure(`Failed to delete session: Cannot verify checkpoint blockers: ${report.error}`, 'ReplayFailed')
  }
  const live = liveCheckpoints(report.checkpoints)
  if (live.length === 0) return undefined
  const shown = live.map(({ name, checkpointId }) => `${name} (${checkpointId})`).join(', ')
  return failure(`Cannot delete session: live checkpoints block deletion: ${shown}`, 'CheckpointsBlock')
}

/** Returns the report on a file. A rejected scan becomes a report with an `error`. */
async function reportOn(filePath: string, projectHash: string): Promise<Bare<Report>> {
  try {
    return await scanFile(filePath, projectHash, { __proto__: null })
  } catch (error) {
    return { __proto__: null, error: (error as Error).message }
  }
}
