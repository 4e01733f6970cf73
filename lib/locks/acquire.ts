import fs = require('node:fs/promises')
import path = require('node:path')
import crypto = require('node:crypto')
import { PATIENCE, withGuard } from './guard.js'
import { HeldLock } from './held-lock.js'
import { type LockFile, contentOf, readLockFile } from './lock-file.js'
import { SessionLockedError } from './locked-error.js'
import { removeUnchanged } from './removal.js'
import { isStale } from './staleness.js'
import { hasCode, nameQuota } from '../system-error.js'
import { type Describe, type TemporaryFile, discard, publishAs, writeTemporary } from './temporary-file.js'
import { ACQUIRING, type Held, locks, tokens } from './thread.js'

const { randomUUID } = crypto

/** How many times to retry after the lock that was in the way has disappeared. */
const REPETITIONS = 3

/** Acquires the lock of a session. `lockPath` is absolute. */
export async function acquire(lockPath: string, sessionId: string): Promise<HeldLock> {
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
async function reserve(lockPath: string): Promise<void> {
  const held = locks.get(lockPath)
  if (held !== undefined) await forgetLost(held)
  // Another caller that found the same lost lock may have been faster.
  if (locks.has(lockPath)) throw new SessionLockedError()
  locks.set(lockPath, ACQUIRING)
}

async function forgetLost(held: Held | typeof ACQUIRING): Promise<void> {
  if (held !== ACQUIRING && (await held.isLost())) await held.end()
}

/** Creates the lock file. Resolves to it: its `dev`, `ino` and `systemLock`, among others. */
async function publish(lockPath: string, sessionId: string, describe: Describe): Promise<TemporaryFile> {
  const temporary = await writeInDirectory(lockPath, describe)
  let published: TemporaryFile | null = null
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
async function writeInDirectory(lockPath: string, describe: Describe): Promise<TemporaryFile> {
  try {
    return await writeTemporary(lockPath, describe)
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
    await makeDirectory(path.dirname(lockPath), error)
    return writeTemporary(lockPath, describe)
  }
}

async function makeDirectory(directory: string, absence: unknown): Promise<void> {
  try {
    await fs.mkdir(directory, { recursive: true })
  } catch (error) {
    // Something other than a directory is in its place.
    throw hasCode(error, 'EEXIST') ? absence : error
  }
}

/** Replaces the lock if it is stale; throws if it is not. Resolves to the new lock file, or to `null` if the old one has disappeared. */
async function takeOver(
  temporary: TemporaryFile,
  lockPath: string,
  sessionId: string,
  file: LockFile,
): Promise<TemporaryFile | null> {
  if (!(await isStale(lockPath, file, true))) throw new SessionLockedError()
  let published: TemporaryFile | null = null
  const outcome = await withGuard(lockPath, sessionId, PATIENCE.other, async (hasGuard) => {
    const removed = await removeUnchanged(lockPath, file, hasGuard)
    if (removed === 'removed') published = await publishAs(lockPath, temporary)
    return removed
  })
  // Otherwise another process has the guard, or has replaced the lock.
  if (published === null && outcome !== 'gone') throw new SessionLockedError()
  return published
}
