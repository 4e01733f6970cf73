// The system's lock on a lock file. It tells whether the owner is alive where its pid does not: in another pid namespace, or after another process
// was given the pid. The system releases it when the process ends.

import fs = require('node:fs/promises')
import { native } from '../addon.js'
import { parse } from '../builtins.js'
import { LOCK, resultOf } from '../binding/job.js'
import { isAbsence } from '../system-error.js'

/** How a file is identified; `null` if it could not be looked at. */
export interface Inode {
  dev: bigint | null
  ino: bigint | null
}

/** The member of a lock file whose owner holds the system's lock on it. */
export const HELD = 'flock'

/** Locks a file. Resolves to the number of the lock, or to `null` if the system refuses: not every file system has such locks. */
export async function hold(filePath: string, { dev, ino }: Inode): Promise<number | null> {
  return resultOf<number | null>(LOCK, parse(await native.holdLock(filePath, `${dev}`, `${ino}`)))
}

/** Releases a lock, if there is one. Never rejects. */
export async function unlock(number: number | null): Promise<void> {
  if (number !== null) await native.unlockFile(number)
}

/**
 * `'another'`: the path no longer leads to the file that was read. `'unknown'`: the file does not have such a lock, or the system does not tell.
 */
type Look = 'held' | 'free' | 'another' | 'unknown'

/** Whether a process holds the system's lock on a file, whatever is in it. */
export async function isFileLocked(filePath: string): Promise<boolean> {
  try {
    return (await lookAt(filePath, await fs.lstat(filePath, { bigint: true }))) === 'held'
  } catch (error) {
    if (isAbsence(error)) return false
    throw error
  }
}

/** Looks whether a process holds the system's lock on a file that was read. */
export async function look(filePath: string, file: Inode & { record: { held?: unknown } | null }): Promise<Look> {
  return file.record === null || file.record.held !== HELD ? 'unknown' : lookAt(filePath, file)
}

/** Looks whether a process holds the system's lock on a file, whatever is in it. */
export async function lookAt(filePath: string, { dev, ino }: Inode): Promise<Look> {
  return resultOf<Look>(LOCK, parse(await native.lookAtLock(filePath, `${dev}`, `${ino}`)))
}
