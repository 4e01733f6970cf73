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
const { hasCode, nameQuota } = require('./system-error.js')
const { writeTemporary, linkTo, removeQuietly } = require('./temporary-file.js')
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
    const inode = await publish(lockPath, sessionId, contentOf(sessionId, token, createdAt))
    const held = new HeldLock({ path: lockPath, sessionId, token, inode, createdAt })
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
  if (held !== ACQUIRING && (await held.isLost())) held.end()
}

/** Creates the lock file. Resolves to its `dev` and `ino`, among others. */
async function publish(lockPath, sessionId, content) {
  const temporary = await writeInDirectory(lockPath, content)
  try {
    for (let repetition = 0; repetition <= REPETITIONS; repetition++) {
      if (await linkTo(temporary.filePath, lockPath)) return temporary
      const file = await readLockFile(lockPath)
      if (file !== null && (await takeOver(temporary, lockPath, sessionId, file))) return temporary
    }
    throw new SessionLockedError()
  } finally {
    await removeQuietly(temporary.filePath)
  }
}

/** Writes the temporary file. Creates the directory if it does not exist yet, as for a first session. */
async function writeInDirectory(lockPath, content) {
  try {
    return await writeTemporary(lockPath, content)
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
    await makeDirectory(path.dirname(lockPath), error)
    return writeTemporary(lockPath, content)
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

/** Replaces the lock if it is stale; throws if it is not. Resolves to `false` if the lock has disappeared. */
async function takeOver(temporary, lockPath, sessionId, file) {
  if (!isStale(file, true)) throw new SessionLockedError()
  const taken = await withGuard(lockPath, sessionId, PATIENCE.other, async (hasGuard) => {
    const outcome = await removeUnchanged(lockPath, file, hasGuard)
    return outcome === 'removed' ? linkTo(temporary.filePath, lockPath) : outcome
  })
  if (taken === true) return true
  if (taken === 'gone') return false
  // Another process has the guard, or has replaced the lock.
  throw new SessionLockedError()
}

module.exports = { acquire }
