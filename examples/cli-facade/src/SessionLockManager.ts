import {
  acquireSessionLock,
  cleanUpLocks,
  isLockStale,
  isSessionLocked,
  removeStaleLock,
  sessionLockPath,
  sessionLockPathOf,
  SessionLockedError,
  type SessionLock as LockHandle,
} from 'session-tape'

// Exported unchanged: callers use `instanceof`.
export { SessionLockedError, type LockHandle }

export class SessionLockManager {
  static getLockPath = (chatsDir: string, sessionId: string): string => sessionLockPath(chatsDir, sessionId)
  static getLockPathFromFilePath = (sessionFilePath: string): string => sessionLockPathOf(sessionFilePath)
  static acquire = (chatsDir: string, sessionId: string): Promise<LockHandle> => acquireSessionLock(chatsDir, sessionId)
  static isLocked = (chatsDir: string, sessionId: string): Promise<boolean> => isSessionLocked(chatsDir, sessionId)
  static isStale = async (chatsDir: string, sessionId: string): Promise<boolean> =>
    isLockStale(sessionLockPath(chatsDir, sessionId))
  static checkStale = (lockPath: string): Promise<boolean> => isLockStale(lockPath)
  static checkStaleWithPidReuse = (lockPath: string): Promise<boolean> => isLockStale(lockPath, { pidReuse: true })
  static removeStaleLock = async (chatsDir: string, sessionId: string): Promise<void> =>
    void (await removeStaleLock(chatsDir, sessionId))
  static cleanupOrphanedLocks = (chatsDir: string): Promise<number> => cleanUpLocks(chatsDir)
}
