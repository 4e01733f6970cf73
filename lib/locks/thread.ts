// The locks and guards that this thread holds. Each worker thread has its own: threads exclude each other through lock files, as processes do.

import type { LockFile } from './lock-file.js'

/** A lock that this thread holds (held-lock.ts). */
export interface Held {
  isLost(): Promise<boolean>
  end(): Promise<void>
}

/** Placeholder for a lock that is being acquired. */
export const ACQUIRING: unique symbol = Symbol('acquiring')

/** The locks that this thread holds or is acquiring, by absolute path. */
export const locks = new Map<string, Held | typeof ACQUIRING>()

/** The `ownerToken`s of the locks and guards of this thread. Their files are in use, regardless of what is known about the process. */
export const tokens = new Set<unknown>()

/** Whether a file that was read is a lock or a guard of this thread. */
export function isOfThisThread(file: LockFile): boolean {
  return file.record !== null && tokens.has(file.record.ownerToken)
}
