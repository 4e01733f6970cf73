'use strict'

// Giving a name that is unique in a project (`docs/session-format.md`, section on names): under the project's name lock the name is given first,
// and then taken from what had it. A crash in between leaves two things of one name, and loses none.

const { push } = require('../native.js')
const { checkSessionName } = require('../session-reference.js')
const { Locks } = require('./locks.js')
const { ClosedPlace } = require('./places.js')
const { Project } = require('./project.js')

/**
 * Gives a name. `giving` says to what: `{ name, checkpointId, needsHistory, give(place, report) }`, where `checkpointId` is that of a checkpoint
 * to be renamed, and `null` if the session itself is to be named. Resolves to what `give` resolves to as `value`.
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
  const check = () => {
    expectGivable(project, place, giving)
    const found = project.collisions(giving.name, isExemptFor(giving))
    if (found.length > 0 && !overwrite) throw new Error(`Name '${giving.name}' already exists`)
    return found
  }
  const others = new Set(check().map(({ file }) => file.sessionId))
  others.delete(place.sessionId)
  for (const sessionId of [...others].sort((a, b) => a.localeCompare(b))) await locks.acquire(sessionId)
  await project.update((sessionId) => others.has(sessionId))
  const collisions = check()
  const isLocked = ({ file }) => file.isOwn || file.sessionId === place.sessionId || locks.has(file.sessionId)
  if (!collisions.every(isLocked)) throw new Error(`Name '${giving.name}' changed while acquiring locks`)
  return collisions
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
  const undoing = new Undoing()
  try {
    undoing.cutsBack(place)
    const { value, undo } = await giving.give(place, giving.name, project.own())
    undoing.add(undo)
    await take(place, giving.name, taken, undoing)
    return value
  } catch (error) {
    await undoing.undo(error)
    throw error
  }
}

/** Takes the name away: from other sessions first, from the place itself last, where a deleted checkpoint cannot be had back. */
async function take(place, name, taken, undoing) {
  const closed = new Map()
  for (const { file, checkpointId } of taken.filter(({ file }) => !file.isOwn)) {
    const other = closed.get(file) ?? closedPlaceOf(file, place.chatsDir, undoing)
    closed.set(file, other)
    await takeFrom(other, name, checkpointId)
  }
  const own = taken.filter(({ file }) => file.isOwn)
  for (const isOfSession of [true, false]) {
    for (const { checkpointId } of own.filter((one) => (one.checkpointId === undefined) === isOfSession)) {
      undoing.add((await takeFrom(place, name, checkpointId)).undo)
    }
  }
}

function takeFrom(place, name, checkpointId) {
  return checkpointId === undefined ? place.setName(null, name) : place.deleteCheckpoint(checkpointId)
}

function closedPlaceOf({ filePath, sessionId, report }, chatsDir, undoing) {
  const place = new ClosedPlace({ __proto__: null, filePath, chatsDir, sessionId })
  place.expectReport(report, false)
  undoing.cutsBack(place)
  return place
}

/** What is to be done if the operation fails. */
class Undoing {
  #steps = []

  /** Gives the place's file the bytes that it had, if it is a closed one. */
  cutsBack(place) {
    push(this.#steps, () => place.cutBack())
  }

  add(step) {
    if (step !== undefined) push(this.#steps, step)
  }

  /** Undoes all steps, the last one first. Throws an error that begins with `error` if a step fails. */
  async undo(error) {
    const errors = [error]
    for (let index = this.#steps.length - 1; index >= 0; index--) {
      try {
        await this.#steps[index]()
      } catch (failed) {
        push(errors, failed)
      }
    }
    if (errors.length > 1) throw new AggregateError(errors, 'Checkpoint overwrite rollback failed')
  }
}

module.exports = { giveName, expectLive }
