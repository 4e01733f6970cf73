// The names of the sessions and checkpoints of a project: giving, taking, removing and listing them.

import { NO_OPTIONS, check, checkNoOptions, checkedStrictly, expect } from '../arguments.js'
import type { Checkpoint } from '../session/checkpoints.js'
import { liveCheckpoints } from '../session/describe.js'
import type { SessionRecordingService } from '../session/recorder.js'
import type { IContent } from '../session/records.js'
import { type SessionReport, isFailed, scanFile } from '../session/scan.js'
import { ClosedPlace } from './closed-place.js'
import { type Giving, expectLive, giveName } from './give.js'
import { Locks } from './locks.js'
import { METHODS, OpenPlace } from './open-place.js'
import type { Place, SessionPlace } from './place.js'
// Only for links in the comments.
import type { checkSessionName } from '../session/reference.js'
import type { CheckpointLockError } from './lock-error.js'

/** Options of functions that give a name. */
export interface NameOptions {
  /**
   * Take the name from its current holder: a checkpoint is deleted, a session loses its name. If the operation fails, all names stay as they were.
   * Default `false`: a name in use is an error.
   */
  overwrite?: boolean | undefined
}

/**
 * Lists the checkpoints of a session that are not deleted, in ascending order of `sequence`.
 *
 * @returns Rejects with an `Error` if the session does not replay.
 * @throws TypeError - At once, if an argument is of the wrong type.
 */
export function listCheckpoints(filePath: string, projectHash: string): Promise<Checkpoint[]> {
  check.filledString(filePath, 'filePath')
  check.filledString(projectHash, 'projectHash')
  return live(filePath, projectHash)
}

async function live(filePath: string, projectHash: string): Promise<Checkpoint[]> {
  const report = await reportOn(filePath, projectHash)
  return liveCheckpoints(report.checkpoints)
}

/**
 * Creates a checkpoint whose name is unique among the sessions and checkpoints of the project, even if other processes give names at the same time.
 *
 * @returns Rejects with an `Error`: `Name 'x' already exists` (also with `overwrite`, if `x` is an id), `Name 'x' changed while acquiring locks`,
 * `Active recording does not own its live session lock`, the errors of {@link checkSessionName} and of the recorder's method, the error of a
 * replay; with a {@link CheckpointLockError}; with an `AggregateError`, `Checkpoint overwrite rollback failed`, if undoing a failed overwrite
 * failed as well.
 * @throws TypeError - At once, if an argument is of the wrong type.
 *
 * @example
 * ```ts
 * import { createCheckpoint, SessionRecordingService } from 'session-tape';
 *
 * const recorder = await SessionRecordingService.createLocked({
 *   sessionId: 'b7d20c11-demo', projectHash: 'a-project', chatsDir: 'chats', workspaceDirs: [], provider: 'acme', model: 'acme-large',
 * });
 * recorder.recordContent({ speaker: 'human', blocks: [{ type: 'text', text: 'Hello' }] });
 * const { name, sequence } = await createCheckpoint(recorder, 'a-project', ' before the merge ', { overwrite: true });
 * console.log(name, sequence); // before the merge 3
 * await recorder.dispose();
 * ```
 */
export function createCheckpoint<C = IContent>(
  place: SessionPlace<C>,
  projectHash: string,
  name: string,
  options: NameOptions = NO_OPTIONS,
): Promise<{ checkpointId: string; name: string; sequence: number }> {
  const wanted = checkGiving(place, projectHash, options)
  check.string(name, 'name')
  const give: Give<{ checkpointId: string; name: string; sequence: number }> = (where, trimmed, report) =>
    where.createCheckpoint(trimmed, report)
  return given(place, projectHash, { name, checkpointId: undefined, needsHistory: true, give }, wanted)
}

/** Renames a checkpoint; rejects as {@link createCheckpoint} does, and with `Checkpoint <id> not found or deleted`. */
export function renameCheckpoint<C = IContent>(
  place: SessionPlace<C>,
  projectHash: string,
  checkpointId: string,
  name: string,
  options: NameOptions = NO_OPTIONS,
): Promise<void> {
  const wanted = checkGiving(place, projectHash, options)
  check.filledString(checkpointId, 'checkpointId')
  check.string(name, 'name')
  const give: Give<void> = (where, trimmed, report) =>
    where.renameCheckpoint(checkpointId, trimmed, expectLive(report, checkpointId).name)
  return given(place, projectHash, { name, checkpointId, needsHistory: false, give }, wanted)
}

/** Names a session; rejects as {@link createCheckpoint} does. `null` removes the name. */
export function nameSession<C = IContent>(
  place: SessionPlace<C>,
  projectHash: string,
  name: string | null,
  options: NameOptions = NO_OPTIONS,
): Promise<void> {
  const wanted = checkGiving(place, projectHash, options)
  check.stringOrNull(name, 'name')
  if (name === null) return removed(place, projectHash, (where) => where.setName(null, null))
  const give: Give<void> = (where, trimmed, report) => where.setName(trimmed, report?.name ?? null)
  return given(place, projectHash, { name, checkpointId: null, needsHistory: false, give }, wanted)
}

/** Deletes a checkpoint. Sessions forked from it are not affected. Rejects with `Checkpoint <id> not found or deleted` if it does not exist. */
export function deleteCheckpoint<C = IContent>(
  place: SessionPlace<C>,
  projectHash: string,
  checkpointId: string,
): Promise<void> {
  checkPlace(place, projectHash)
  check.filledString(checkpointId, 'checkpointId')
  checkNoOptions(arguments[3])
  const remove: Remove = (where, report) => {
    where.expectFile()
    expectLive(report, checkpointId)
    return where.deleteCheckpoint(checkpointId)
  }
  return removed(place, projectHash, remove)
}

type Give<T> = Giving<T>['give']
type Remove = (place: Place, report: SessionReport | undefined) => Promise<void>

async function given<C, T>(
  place: SessionPlace<C>,
  projectHash: string,
  giving: Giving<T>,
  options: NameOptions,
): Promise<T> {
  return giveName(placeOf(place, projectHash), projectHash, giving, options)
}

/** Does not acquire the name lock: a removal can only free a name. */
async function removed<C>(place: SessionPlace<C>, projectHash: string, remove: Remove): Promise<void> {
  const where = placeOf(place, projectHash)
  await where.expectUsable()
  const locks = new Locks(where.chatsDir)
  try {
    await where.enter(locks)
    const report = where.filePath === null ? undefined : await reportOn(where.filePath, projectHash)
    if (report !== undefined) where.expectReport(report, false)
    await remove(where, report)
  } finally {
    await locks.release()
  }
}

function placeOf<C>(place: SessionPlace<C>, projectHash: string): Place {
  return isRecorder(place) ? new OpenPlace(place, projectHash) : new ClosedPlace(place)
}

/** Resolves to the report of a replay of the file. Rejects with the error of the replay. */
async function reportOn(filePath: string, projectHash: string): Promise<SessionReport> {
  const report = await scanFile(filePath, projectHash)
  if (isFailed(report)) throw new Error(report.error)
  return report
}

function checkGiving<C>(place: SessionPlace<C>, projectHash: string, options: NameOptions): NameOptions {
  checkPlace(place, projectHash)
  return checkedStrictly(options, { overwrite: 'boolean?' })
}

function checkPlace<C>(place: SessionPlace<C>, projectHash: string): void {
  check.object(place, 'place')
  check.filledString(projectHash, 'projectHash')
  if (isRecorder(place)) return
  expect(typeof place.filePath === 'string', 'place', 'a recorder, or a closed session', place)
  for (const field of ['filePath', 'chatsDir', 'sessionId'] as const) check.filledString(place[field], `place.${field}`)
}

/** Recognises a recorder by its methods, because it may be of a subclass, or of another program that implements the same methods. */
function isRecorder<C>(place: SessionPlace<C>): place is SessionRecordingService<C> {
  return METHODS.every((method) => typeof (place as SessionRecordingService<C>)[method] === 'function')
}
