// Gives a name that is unique in a project (`docs/session-format.md`, section on names). Under the project's name lock, the name is first given,
// and then taken from its previous holders. After a crash in between, the name is in use twice, but none is lost.

import type { Checkpoint } from '../session/checkpoints.js'
import { checkSessionName } from '../session/reference.js'
import type { SessionReport } from '../session/scan.js'
import { ClosedPlace } from './closed-place.js'
import { Locks } from './locks.js'
import type { Place } from './place.js'
import { type Holder, Project, type UsableFile } from './project.js'

/** What is to be named, and how. */
export interface Giving<T> {
  name: string
  /** The checkpoint to rename, `null` to name the session itself, or `undefined` to create a checkpoint. */
  checkpointId: string | null | undefined
  needsHistory: boolean
  give: (place: Place, name: string, report: SessionReport | undefined) => Promise<T>
}

/** Gives a name. Resolves to the result of `give`. */
export async function giveName<T>(
  place: Place,
  projectHash: string,
  giving: Giving<T>,
  options: { overwrite?: boolean | undefined },
): Promise<T> {
  await place.expectUsable()
  const name = checkSessionName(giving.name)
  const locks = new Locks(place.chatsDir)
  try {
    await locks.acquireNames(projectHash)
    await place.enter(locks)
    const project = await Project.scan(place, projectHash)
    const taken = await collisionsOf(project, place, { ...giving, name }, options.overwrite === true, locks)
    return await giveAndTake(place, project, { ...giving, name }, taken)
  } finally {
    await locks.release()
  }
}

/** Finds the current holders of the name, and locks their sessions. Throws if the name cannot be given. */
async function collisionsOf<T>(
  project: Project,
  place: Place,
  giving: Giving<T>,
  overwrite: boolean,
  locks: Locks,
): Promise<Holder[]> {
  const find = () => {
    expectGivable(project, place, giving)
    return project.collisions(giving.name, isExemptFor(giving))
  }
  const expectFree = (found: Holder[]) => {
    if (found.length > 0 && !overwrite) throw new Error(`Name '${giving.name}' already exists`)
    return found
  }
  const others = new Set(expectFree(find()).map(({ file }) => file.sessionId))
  others.delete(place.sessionId)
  for (const sessionId of [...others].sort((a, b) => a.localeCompare(b))) await locks.acquire(sessionId)
  await project.update((sessionId) => others.has(sessionId))
  const collisions = find()
  const isLocked = ({ file }: Holder) => file.isOwn || file.sessionId === place.sessionId || locks.has(file.sessionId)
  if (!collisions.every(isLocked)) throw new Error(`Name '${giving.name}' changed while acquiring locks`)
  return expectFree(collisions)
}

/** Throws if the state of the place's own file does not allow the name, or if the name is an id. */
function expectGivable<T>(project: Project, place: Place, { name, checkpointId, needsHistory }: Giving<T>): void {
  if (checkpointId !== undefined && checkpointId !== null) place.expectFile()
  const own = project.own()
  if (own !== undefined) place.expectReport(own, needsHistory)
  if (checkpointId !== undefined && checkpointId !== null) expectLive(own, checkpointId)
  if (project.hasId(name)) throw new Error(`Name '${name}' already exists`)
}

/** Returns a checkpoint of the file. Throws if it does not exist or is deleted. */
export function expectLive(report: SessionReport | undefined, checkpointId: string): Checkpoint {
  const found = report?.checkpoints.find(
    (checkpoint) => checkpoint.checkpointId === checkpointId && !checkpoint.deleted,
  )
  if (found === undefined) throw new Error(`Checkpoint ${checkpointId} not found or deleted`)
  return found
}

/** Returns a test for the holder that may keep the name: the target of the operation may already have it. */
function isExemptFor<T>(giving: Giving<T>): (holder: Holder) => boolean {
  if (giving.checkpointId === undefined) return () => false
  const exempt = giving.checkpointId ?? undefined
  return ({ file, checkpointId }) => file.isOwn && checkpointId === exempt
}

async function giveAndTake<T>(place: Place, project: Project, giving: Giving<T>, taken: Holder[]): Promise<T> {
  const touched = [place]
  try {
    const value = await giving.give(place, giving.name, project.own())
    await take(place, giving.name, taken, touched)
    return value
  } catch (error) {
    throw await undone(touched, error)
  }
}

/** Takes the name from its other holders: first from other sessions, last from the place itself, where deleting a checkpoint cannot be undone. */
async function take(place: Place, name: string, taken: Holder[], touched: Place[]): Promise<void> {
  const closed = new Map<UsableFile, ClosedPlace>()
  for (const { file, checkpointId } of taken.filter(({ file }) => !file.isOwn)) {
    let other = closed.get(file)
    if (other === undefined) {
      other = closedPlaceOf(file, place.chatsDir)
      closed.set(file, other)
      touched.push(other)
    }
    await takeFrom(other, name, checkpointId)
  }
  const own = taken.filter(({ file }) => file.isOwn)
  for (const isOfSession of [true, false]) {
    for (const { checkpointId } of own.filter((one) => (one.checkpointId === undefined) === isOfSession))
      await takeFrom(place, name, checkpointId)
  }
}

function takeFrom(place: Place, name: string, checkpointId: string | undefined): Promise<void> {
  return checkpointId === undefined ? place.setName(null, name) : place.deleteCheckpoint(checkpointId)
}

function closedPlaceOf({ filePath, sessionId, report }: UsableFile, chatsDir: string): ClosedPlace {
  const place = new ClosedPlace({ filePath, chatsDir, sessionId })
  place.expectReport(report, false)
  return place
}

/** Undoes the changes to the places in reverse order. Resolves to `error` or, if a place fails, to an `AggregateError` that begins with it. */
async function undone(places: Place[], error: unknown): Promise<unknown> {
  const errors = [error]
  for (let index = places.length - 1; index >= 0; index--) {
    try {
      await places[index]!.undo()
    } catch (failed) {
      errors.push(failed)
    }
  }
  return errors.length > 1 ? new AggregateError(errors, 'Checkpoint overwrite rollback failed') : error
}
