import type { LockFile } from './lock-file.js'
import { startOf } from './process-start.js'
import { look } from './system-lock.js'
import { isOfThisThread } from './thread.js'

type WithPid = LockFile & { record: { pid: number } }

/** The age of a lock, in milliseconds, above which a process with the owner's pid counts as another one that was given the same pid. */
const PID_REUSE_MS = 48 * 60 * 60 * 1000

/** How far in the future a timestamp counts: one that is further ahead would keep a lock for years, and comes from another clock. */
const FUTURE_MS = PID_REUSE_MS

/** How much earlier than its process a lock may seem to have been written, because a clock was corrected. */
const CORRECTION_MS = 5 * 60 * 1000

/** Resolves to whether a lock file that was read is stale. With `pidReuse` its age counts too, unless the system knows whether it is held. */
export async function isStale(filePath: string, file: LockFile, pidReuse: boolean): Promise<boolean> {
  if (!hasPid(file)) return pidReuse && modifiedBefore(file, PID_REUSE_MS)
  if (isOfThisThread(file)) return false
  const found = await look(filePath, file)
  if (found !== 'unknown') return found === 'free'
  return isDead(file.record.pid) || (pidReuse && (isOlderThan(file, PID_REUSE_MS) || isOlderThanItsProcess(file)))
}

export function hasPid(file: LockFile): file is WithPid {
  const pid = file.record?.pid
  return Number.isSafeInteger(pid) && (pid as number) > 0
}

/** Whether no process with a pid exists. Looks up `process.kill` at each call, because a program may have replaced it. */
export function isDead(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    // EPERM: the process exists, but belongs to another user.
    return (error as NodeJS.ErrnoException | undefined)?.code !== 'EPERM'
  }
}

/** Whether a file is older than `age` milliseconds, by its timestamp or, if that does not count, its last modification. */
export function isOlderThan(file: LockFile, age: number): boolean {
  const written = writtenAt(file)
  return Number.isNaN(written) ? modifiedBefore(file, age) : Date.now() - written > age
}

/** Whether the process with the pid of a lock began after the lock was written: another process, after a restart of the machine or the container. */
function isOlderThanItsProcess(file: WithPid): boolean {
  return writtenAt(file) < startOf(file.record.pid) - CORRECTION_MS
}

/** The timestamp of a file, or `NaN` if it does not parse or is in the future. */
function writtenAt({ record }: LockFile): number {
  const timestamp = record?.timestamp
  const written = typeof timestamp === 'string' ? Date.parse(timestamp) : NaN
  return written > Date.now() + FUTURE_MS ? NaN : written
}

function modifiedBefore({ modified }: LockFile, age: number): boolean {
  return Date.now() - modified > age
}
