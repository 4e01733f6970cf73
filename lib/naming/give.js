'use strict'

// Giving a name that is unique in a project (`docs/session-format.md`, section on names): under the project's name lock the name is given first,
// and then taken from what had it. A crash in between leaves two things of one name, and loses none.

const { append } = require('../native.js')
const { checkSessionName } = require('../session-reference.js')
const { Locks } = require('./locks.js')
const { ClosedPlace } = require('./closed-place.js')
const { Project } = require('./project.js')

/**
 * Gives a name. `giving` says to what: `{ name, checkpointId, needsHistory, give(place, report) }`, where `checkpointId` is that of a checkpoint
 * to be renamed, and `null` if the session itself is to be named. Resolves to what `give` resolves to.
 */
async function giveName(place, projectHash, giving, options) {
  await place.expectUsable()
  const name = checkSessionName(giving.name)
  const locks = new Locks(place.chatsDir)
  try {
    await locks.acquireNames(projectHash)
    await place.enter(locks)
    const project = await Project.scan(place, projectHash, options)
    const taken = await collisionsOf(project, place, { ...giving, name }, options.overwrite === true, locks)
    return await giveAndTake(place, project, { ...giving, name }, taken)
  } finally {
    await locks.release()
  }
}

/** What the name is to be taken from, all of it locked. Throws if the name cannot be given. */
async function collisionsOf(project, place, giving, overwrite, locks) {
  const find = () => {
    expectGivable(project, place, giving)
    return project.collisions(giving.name, isExemptFor(giving))
  }
  const expectFree = (found) => {
    if (found.length > 0 && !overwrite) throw new Error(`Name '${giving.name}' already exists`)
    return found
  }
  const others = new Set(expectFree(find()).map(({ file }) => file.sessionId))
  others.delete(place.sessionId)
  for (const sessionId of [...others].sort((a, b) => a.localeCompare(b))) await locks.acquire(sessionId)
  await project.update((sessionId) => others.has(sessionId))
  const collisions = find()
  const isLocked = ({ file }) => file.isOwn || file.sessionId === place.sessionId || locks.has(file.sessionId)
  if (!collisions.every(isLocked)) throw new Error(`Name '${giving.name}' changed while acquiring locks`)
  return expectFree(collisions)
}

/** Throws if the place's own file does not allow the name to be given, or the name is an id. */
function expectGivable(project, place, { name, checkpointId, needsHistory }) {
  if (checkpointId !== undefined && checkpointId !== null) place.expectFile()
  const own = project.own()
  if (own !== undefined) place.expectReport(own, needsHistory)
  if (checkpointId !== undefined && checkpointId !== null) expectLive(own, checkpointId)
  if (project.hasId(name)) throw new Error(`Name '${name}' already exists`)
}

/** Throws unless a checkpoint is in the file and not deleted. Returns it. */
function expectLive(report, checkpointId) {
  const found = report?.checkpoints.find((checkpoint) => checkpoint.checkpointId === checkpointId && !checkpoint.deleted)
  if (found === undefined) throw new Error(`Checkpoint ${checkpointId} not found or deleted`)
  return found
}

/** What is named may have had the name before. */
function isExemptFor(giving) {
  if (giving.checkpointId === undefined) return () => false
  const exempt = giving.checkpointId ?? undefined
  return ({ file, checkpointId }) => file.isOwn && checkpointId === exempt
}

async function giveAndTake(place, project, giving, taken) {
  const touched = [place]
  try {
    const value = await giving.give(place, giving.name, project.own())
    await take(place, giving.name, taken, touched)
    return value
  } catch (error) {
    throw await undone(touched, error)
  }
}

/** Takes the name away: from other sessions first, from the place itself last, where a deleted checkpoint cannot be had back. */
async function take(place, name, taken, touched) {
  const closed = new Map()
  for (const { file, checkpointId } of taken.filter(({ file }) => !file.isOwn)) {
    if (!closed.has(file)) {
      closed.set(file, closedPlaceOf(file, place.chatsDir))
      append(touched, closed.get(file))
    }
    await takeFrom(closed.get(file), name, checkpointId)
  }
  const own = taken.filter(({ file }) => file.isOwn)
  for (const isOfSession of [true, false]) {
    for (const { checkpointId } of own.filter((one) => (one.checkpointId === undefined) === isOfSession)) await takeFrom(place, name, checkpointId)
  }
}

function takeFrom(place, name, checkpointId) {
  return checkpointId === undefined ? place.setName(null, name) : place.deleteCheckpoint(checkpointId)
}

function closedPlaceOf({ filePath, sessionId, report }, chatsDir) {
  const place = new ClosedPlace({ __proto__: null, filePath, chatsDir, sessionId })
  place.expectReport(report, false)
  return place
}

/** Undoes what was done in the places, the last one first. Resolves to the error, or to one that begins with it if a place fails. */
async function undone(places, error) {
  const errors = [error]
  for (let index = places.length - 1; index >= 0; index--) {
    try {
      await places[index].undo()
    } catch (failed) {
      append(errors, failed)
    }
  }
  return errors.length > 1 ? new AggregateError(errors, 'Checkpoint overwrite rollback failed') : error
}

module.exports = { giveName, expectLive }
