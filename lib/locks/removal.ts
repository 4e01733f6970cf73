import fs = require('node:fs/promises')
import { type HasGuard, PATIENCE, withGuard } from './guard.js'
import { type LockFile, readLockFile, isSameFile } from './lock-file.js'
import { isStale } from './staleness.js'
import { isAbsence } from '../system-error.js'

/**
 * Removes a lock under its guard if it is still the file that was read before. Resolves to `'removed'`, to `'gone'` if there is no lock any more,
 * or to `'changed'` if it was replaced or the guard was lost.
 */
export async function removeUnchanged(
  lockPath: string,
  file: LockFile,
  hasGuard: HasGuard,
): Promise<'removed' | 'gone' | 'changed'> {
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
export async function removeIfStale(
  lockPath: string,
  sessionId: string,
  isEligible: (file: LockFile) => boolean = () => true,
): Promise<boolean> {
  const file = await readLockFile(lockPath)
  if (file === null || !isEligible(file) || !(await isStale(lockPath, file, true))) return false
  try {
    const work = (hasGuard: HasGuard) => removeUnchanged(lockPath, file, hasGuard)
    return (await withGuard(lockPath, sessionId, PATIENCE.other, work)) === 'removed'
  } catch {
    return false
  }
}
