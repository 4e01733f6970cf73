// The names of locks, guards and their temporary files, and how they are recognised.

import path = require('node:path')

const SAFE_ID = /^[A-Za-z0-9_-]{1,256}$/
const FILE_OF_SESSION = /^session-(.+)\.jsonl$/s
const LOCK = /^([A-Za-z0-9_-]{1,256})\.lock$/
const GUARD = /^[A-Za-z0-9_-]{1,256}\.lock\.tguard$/
const TEMPORARY = /^[A-Za-z0-9_-]{1,256}\.lock\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.locktmp$/i

export function isSafeId(value: unknown): value is string {
  return typeof value === 'string' && SAFE_ID.test(value)
}

/** The path of a session's lock; relative if `chatsDir` is. Throws for an id that could name a file elsewhere. */
export function lockPathOf(chatsDir: string, sessionId: string): string {
  if (!isSafeId(sessionId)) throw new Error(`Unsafe session ID rejected: "${sessionId}"`)
  const lockPath = childOf(chatsDir, `${sessionId}.lock`)
  if (path.dirname(path.resolve(lockPath)) !== path.resolve(chatsDir)) {
    throw new Error(`Unsafe lock path "${lockPath}" is not a direct child of "${chatsDir}"`)
  }
  return lockPath
}

/** The path of the lock that belongs to a file named `session-<id>.jsonl`. Throws for another name, and for an id that is not safe. */
export function lockPathOfFile(filePath: string): string {
  const found = FILE_OF_SESSION.exec(path.basename(filePath))
  if (found === null) throw new Error(`Cannot extract session ID from path: ${filePath}`)
  return lockPathOf(path.dirname(filePath), found[1]!)
}

/** Like `path.join`, but without its internal array, for which setters of indices may be inherited. */
export function childOf(directory: string, name: string): string {
  return path.normalize(`${directory}${path.sep}${name}`)
}

/** Returns the id of the session whose lock has this file name, or `null` for any other file. */
export function sessionOfLock(name: string): string | null {
  const found = LOCK.exec(name)
  return found === null ? null : found[1]!
}

export function isGuard(name: string): boolean {
  return GUARD.test(name)
}

export function isTemporary(name: string): boolean {
  return TEMPORARY.test(name)
}

export function guardPathOf(lockPath: string): string {
  return `${lockPath}.tguard`
}

/** The path of a lock or a guard before it is published, or of the mark of a guard that is being removed. */
export function temporaryPathOf(lockPath: string, uuid: string): string {
  return `${lockPath}.${uuid}.locktmp`
}

/** The path of the lock that a guard belongs to. */
export function lockPathOfGuard(guardPath: string): string {
  return guardPath.slice(0, -'.tguard'.length)
}
