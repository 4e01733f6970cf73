// Deletes a session and everything that is kept next to its file.

import path = require('node:path')
import { NO_OPTIONS, check, checkedStrictly } from '../arguments.js'
import { restored } from './archive.js'
import { sessionOf } from './archive-name.js'
import { liveCheckpoints } from './describe.js'
import {
  NO_SESSIONS,
  type ReferenceFailure,
  type SessionFailure,
  failure,
  failureOf,
  lockSession,
  namesakesOf,
} from './failure.js'
import { removeSessionFiles } from './files.js'
import { listProject } from './list.js'
import { checkKinds, isSubagentOf, kindsOf, ofKinds } from './kind.js'
import type { SessionKind } from './records.js'
import { hasSession, readable, resolveSessionRef } from './reference.js'
import { type Report, isFailed, scanFile } from './scan.js'
import type { SessionSummary, SkippedSession } from './summary.js'

/** The warning of a scan that came to a damaged frame: what is behind it is unknown. */
const ARCHIVE_DAMAGE = /^The archive is damaged after \d+ bytes$/

/** Options of {@link deleteSession}. */
export interface DeleteOptions {
  /** Accept `ref` only as a complete session id. Default `false`. */
  exact?: boolean | undefined
  /** Sessions of which kinds positions and prefixes find. Default: only `'main'`. A complete id finds a session of any kind. */
  kinds?: readonly SessionKind[] | undefined
}

type Deletion = { ok: true; deletedSessionId: string; warnings?: string[] } | SessionFailure

/**
 * Locks a session and deletes its file, together with everything that session-tape keeps next to it, and the sessions of its sub-agents.
 *
 * @param ref - As for {@link resolveSessionRef}.
 * @returns A failure if the session is in use, has checkpoints that are not deleted, or does not replay or is a damaged archive (its checkpoints are then unknown). `warnings`
 * name other files with the id of the deleted session, and sessions of sub-agents that could not be deleted, for example because they are in use;
 * all of these stay. There are no `warnings` without such files. Rejects with the system's error if the directory exists but cannot be read, or the lock
 * cannot be written.
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
  return remove(ref, chatsDir, projectHash, checkedStrictly(options, { exact: 'boolean?', kinds: checkKinds }))
}

/** Resolves the paths before the first `await`, because the working directory may change in the meantime. */
async function remove(
  ref: string,
  chatsDir: string,
  projectHash: string,
  { exact, kinds }: DeleteOptions,
): Promise<Deletion> {
  const wanted = kindsOf(kinds)
  const directory = path.resolve(chatsDir)
  const { sessions, unreadable } = await listProject(directory, projectHash)
  const passedOver = unreadable.length > 0 && { unreadable }
  const found = find(ref, sessions, unreadable, exact === true, wanted)
  if (!hasSession(found)) {
    return { ...failure(found.error, found.code), ...passedOver }
  }
  const left: string[] = []
  const removed = await removeLocked(found.session, { sessions, directory, projectHash, left })
  if (!removed.ok) return { ...removed, ...passedOver }
  const warnings = [...namesakesOf(found.session, sessions, 'deleted'), ...left]
  return warnings.length > 0 ? { ...removed, warnings } : removed
}

function find(
  ref: string,
  sessions: SessionSummary[],
  unreadable: SkippedSession[],
  isExact: boolean,
  kinds: readonly SessionKind[],
): { session: SessionSummary } | ReferenceFailure {
  const exact = findExact(ref, sessions)
  if (hasSession(exact)) return exact
  if (isExact)
    return readable(
      ref,
      exact,
      unreadable.filter(({ sessionId }) => sessionId === ref),
    )
  const listed = ofKinds(sessions, kinds)
  const found = readable(ref, listed.length === 0 ? exact : resolveSessionRef(ref, listed), unreadable)
  return listed.length === 0 && found === exact ? failure(NO_SESSIONS, 'NoSessions') : found
}

function findExact(ref: string, sessions: SessionSummary[]): { session: SessionSummary } | ReferenceFailure {
  const session = sessions.find(({ sessionId }) => sessionId === ref)
  return session === undefined ? { error: `Session not found: ${ref}`, code: 'NotFound' } : { session }
}

/** A deletion that is under way. */
interface Removal {
  /** All sessions of the project. */
  sessions: SessionSummary[]
  directory: string
  projectHash: string
  /** A warning for each session of a sub-agent that is left. */
  left: string[]
}

async function removeLocked({ sessionId, filePath }: SessionSummary, removal: Removal): Promise<Deletion> {
  const { directory: chatsDir, projectHash } = removal
  const busy = 'Cannot delete: session is in use by another process'
  const locking = await lockSession(chatsDir, sessionId, busy, 'Failed to lock session for deletion: ')
  if (locking.failed !== undefined) return failureOf(locking)
  try {
    const blocked = await blockers(filePath, projectHash)
    if (blocked !== undefined) return blocked
    // Before the session itself: if the process ends in between, another deletion finds the rest.
    await removeSubagents(sessionId, removal)
    // An archive beside the file goes only if the file has all of it.
    if (sessionOf(filePath) === null) await restored(filePath)
    await removeSessionFiles(filePath)
    return { ok: true, deletedSessionId: sessionId }
  } catch (error) {
    return failure(`Failed to delete session: ${(error as Error).message}`, 'System')
  } finally {
    await locking.lock.release()
  }
}

/** Removes the sessions of the sub-agents of a session, and those of their sub-agents, under their own locks. */
async function removeSubagents(parent: string, { sessions, ...removal }: Removal): Promise<void> {
  // A session that is its own ancestor is not visited twice.
  const others = sessions.filter(({ sessionId }) => sessionId !== parent)
  for (const session of others.filter((other) => isSubagentOf(other, parent))) {
    const failed = await failureToRemove(session, { sessions: others, ...removal })
    if (failed !== undefined)
      removal.left.push(`Session ${session.sessionId} of a sub-agent was not deleted: ${failed}`)
  }
}

/** Removes a session. Resolves to the reason if that fails. */
async function failureToRemove(session: SessionSummary, removal: Removal): Promise<string | undefined> {
  try {
    const removed = await removeLocked(session, removal)
    return removed.ok ? undefined : removed.error
  } catch (error) {
    return (error as Error).message
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
  const damage = report.warnings.find((warning) => ARCHIVE_DAMAGE.test(warning))
  if (damage !== undefined)
    return failure(`Failed to delete session: Cannot verify checkpoint blockers: ${damage}`, 'ReplayFailed')
  const live = liveCheckpoints(report.checkpoints)
  if (live.length === 0) return undefined
  const shown = live.map(({ name, checkpointId }) => `${name} (${checkpointId})`).join(', ')
  return failure(`Cannot delete session: live checkpoints block deletion: ${shown}`, 'CheckpointsBlock')
}

/** Returns the report on a file. A rejected scan becomes a report with an `error`. */
async function reportOn(filePath: string, projectHash: string): Promise<Report> {
  try {
    return await scanFile(filePath, projectHash)
  } catch (error) {
    return { error: (error as Error).message }
  }
}
