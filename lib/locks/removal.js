'use strict'

const fs = require('node:fs/promises')
const { PATIENCE, withGuard } = require('./guard.js')
const { readLockFile, isSameFile } = require('./lock-file.js')
const { isStale } = require('./staleness.js')
const { isAbsence } = require('../system-error.js')

/**
 * Removes a lock under its guard if it is still the file that was read before. Resolves to `'removed'`, to `'gone'` if there is no lock any more,
 * or to `'changed'` if it was replaced or the guard was lost.
 */
async function removeUnchanged(lockPath, file, hasGuard) {
  const current = await readLockFile(lockPath)
  if (current === null) return 'gone'
  if (!isSameFile(current, file) || !(await hasGuard())) return 'changed'
  try {
    await fs.unlink(lockPath)
    return 'removed'
  } catch (error) {
    if (isAbsence(error)) return 'gone'
    throw error
  }
}

/** Removes the lock of a session if it is stale and `isEligible` returns `true`. Resolves to whether it was removed; `false` after an error. */
async function removeIfStale(lockPath, sessionId, isEligible = () => true) {
  const file = await readLockFile(lockPath)
  if (file === null || !isEligible(file) || !(await isStale(lockPath, file, true))) return false
  try {
    const work = (hasGuard) => removeUnchanged(lockPath, file, hasGuard)
    return (await withGuard(lockPath, sessionId, PATIENCE.other, work)) === 'removed'
  } catch {
    return false
  }
}

module.exports = { removeUnchanged, removeIfStale }
