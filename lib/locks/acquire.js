'use strict'

const fs = require('node:fs/promises')
const path = require('node:path')
const { randomUUID } = require('node:crypto')
const { PATIENCE, withGuard } = require('./guard.js')
const { HeldLock } = require('./held-lock.js')
const { contentOf, readLockFile } = require('./lock-file.js')
const { SessionLockedError } = require('./locked-error.js')
const { removeUnchanged } = require('./removal.js')
const { isStale } = require('./staleness.js')
const { hasCode, nameQuota } = require('../system-error.js')
const { discard, publishAs, writeTemporary } = require('./temporary-file.js')
const { ACQUIRING, locks, tokens } = require('./thread.js')

/** How many times to retry after the lock that was in the way has disappeared. */
const REPETITIONS = 3

/** Acquires the lock of a session. `lockPath` is absolute. */
async function acquire(lockPath, sessionId) {
  await reserve(lockPath)
  const token = randomUUID()
  tokens.add(token)
  try {
    const createdAt = Date.now()
    const file = await publish(lockPath, sessionId, (isHeld) => contentOf(sessionId, token, createdAt, isHeld))
    const held = new HeldLock({ path: lockPath, sessionId, token, file, createdAt })
    locks.set(lockPath, held)
    return held
  } catch (error) {
    tokens.delete(token)
    locks.delete(lockPath)
    throw nameQuota(error)
  }
}

/** Excludes other callers in this thread. A lock whose file another program has removed or replaced no longer counts as held. */
async function reserve(lockPath) {
  const held = locks.get(lockPath)
  if (held !== undefined) await forgetLost(held)
  // Another caller that found the same lost lock may have been faster.
  if (locks.has(lockPath)) throw new SessionLockedError()
  locks.set(lockPath, ACQUIRING)
}

async function forgetLost(held) {
  if (held !== ACQUIRING && (await held.isLost())) await held.end()
}

/** Creates the lock file. Resolves to it: its `dev`, `ino` and `systemLock`, among others. */
async function publish(lockPath, sessionId, describe) {
  const temporary = await writeInDirectory(lockPath, describe)
  let published = null
  try {
    for (let repetition = 0; published === null && repetition <= REPETITIONS; repetition++) {
      published = await publishAs(lockPath, temporary)
      const file = published === null ? await readLockFile(lockPath) : null
      if (file !== null) published = await takeOver(temporary, lockPath, sessionId, file)
    }
    if (published === null) throw new SessionLockedError()
    return published
  } finally {
    await discard(temporary, published)
  }
}

/** Writes the temporary file. Creates the directory if it does not exist yet, as for a first session. */
async function writeInDirectory(lockPath, describe) {
  try {
    return await writeTemporary(lockPath, describe)
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
    await makeDirectory(path.dirname(lockPath), error)
    return writeTemporary(lockPath, describe)
  }
}

async function makeDirectory(directory, absence) {
  try {
    await fs.mkdir(directory, { __proto__: null, recursive: true })
  } catch (error) {
    // Something other than a directory is in its place.
    throw hasCode(error, 'EEXIST') ? absence : error
  }
}

/** Replaces the lock if it is stale; throws if it is not. Resolves to the new lock file, or to `null` if the old one has disappeared. */
async function takeOver(temporary, lockPath, sessionId, file) {
  if (!(await isStale(lockPath, file, true))) throw new SessionLockedError()
  let published = null
  const outcome = await withGuard(lockPath, sessionId, PATIENCE.other, async (hasGuard) => {
    const removed = await removeUnchanged(lockPath, file, hasGuard)
    if (removed === 'removed') published = await publishAs(lockPath, temporary)
    return removed
  })
  // Otherwise another process has the guard, or has replaced the lock.
  if (published === null && outcome !== 'gone') throw new SessionLockedError()
  return published
}

module.exports = { acquire }
