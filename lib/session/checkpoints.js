'use strict'

// The fold of events about checkpoints, for records in memory. `src/session/checkpoint.rs` does the same for a replay.

const { expect } = require('../arguments.js')
const { define, hasOwn, own } = require('../builtins.js')

function foldCheckpoints(events) {
  expect(Array.isArray(events), 'events', 'an array', events)
  const checkpoints = []
  const byId = new Map()
  for (let index = 0; index < events.length; index++) {
    const event = eventOf(events[index])
    if (event !== undefined) apply(event, checkpoints, byId)
  }
  return checkpoints.sort((a, b) => a.sequence - b.sequence)
}

function apply({ type, seq, ts, checkpointId, name }, checkpoints, byId) {
  const known = byId.get(checkpointId)
  if (type === 'checkpoint_created') {
    if (known !== undefined) return
    const checkpoint = { checkpointId, name, sequence: seq, deleted: false, createdAt: typeof ts === 'string' ? ts : '' }
    byId.set(checkpointId, checkpoint)
    // Pushing would call a setter of that index, if arrays inherit one.
    define(checkpoints, checkpoints.length, own(checkpoint))
  } else if (known === undefined) {
    return
  } else if (type === 'checkpoint_renamed') {
    known.name = name
  } else {
    known.deleted = true
  }
}

/** Returns the event about a checkpoint that a record contains, or `undefined` if it is not a valid one. */
function eventOf(line) {
  if (typeof line !== 'object' || line === null) return undefined
  const { type, seq, ts, payload } = line
  const isAboutOne = type === 'checkpoint_created' || type === 'checkpoint_renamed' || type === 'checkpoint_deleted'
  if (!isAboutOne || !Number.isSafeInteger(seq) || seq < 0) return undefined
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) return undefined
  const checkpointId = ownMember(payload, 'checkpointId')
  if (typeof checkpointId !== 'string' || checkpointId === '') return undefined
  const name = ownMember(payload, 'name')
  const isUnnamed = typeof name !== 'string' || name.trim() === ''
  if (type !== 'checkpoint_deleted' && isUnnamed) return undefined
  return { __proto__: null, type, seq, ts, checkpointId, name }
}

/** Returns a member of a payload. Inherited members do not count, because they were not recorded. */
function ownMember(payload, name) {
  return hasOwn(payload, name) ? payload[name] : undefined
}

module.exports = { foldCheckpoints }
