// What the CLI loads when a lock is first used, and its tests import by name. There is nothing to load late here.

import { SessionLockManager } from './SessionLockManager.js'

export const { acquire, isLocked, isStale, checkStale, checkStaleWithPidReuse, removeStaleLock, cleanupOrphanedLocks } =
  SessionLockManager
