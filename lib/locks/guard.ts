// The guard of a lock: a lock on the lock, held for a few milliseconds. Only its owner may remove or renew the lock.

import crypto = require('node:crypto')
import { removeLeftOverGuard } from './left-over-guard.js'
import { contentOf, readLockFile, isSameInode } from './lock-file.js'
import { guardPathOf } from './path.js'
import {
  type Describe,
  type TemporaryFile,
  discard,
  linkTo,
  publishAs,
  removeQuietly,
  writeTemporary,
} from './temporary-file.js'
import { type Inode, unlock } from './system-lock.js'
import { tokens } from './thread.js'
import { elapsed, wait } from './waiting.js'

const { randomUUID } = crypto

/** Checks whether the guard is still held: a process that was suspended can lose it. */
export type HasGuard = () => Promise<boolean> | boolean

/** What is done under a guard. */
export type Guarded<T> = (hasGuard: HasGuard) => Promise<T>

/** A guard that this process has. */
type Guard = Pick<TemporaryFile, 'filePath' | 'content' | 'dev' | 'ino' | 'systemLock'>

/** How long to wait for a guard that another process has, in milliseconds. */
export const PATIENCE: Readonly<{ release: number; other: number }> = Object.freeze({ release: 3000, other: 500 })

const SHORTEST_PAUSE_MS = 20
const MAX_PAUSE_MS = 60

/**
 * Calls `work` while this process has the guard of a lock. Resolves to the result of `work`, or to `undefined` if another process has the guard for
 * longer than `patience`. Rejects with the error of `work`, and with the system's error if no guard can be created.
 */
export async function withGuard<T>(
  lockPath: string,
  sessionId: string,
  patience: number,
  work: Guarded<T>,
): Promise<T | undefined> {
  const token = randomUUID()
  tokens.add(token)
  try {
    const now = Date.now()
    const guard = await take(lockPath, (isHeld) => contentOf(sessionId, token, now, isHeld), patience)
    if (guard === null) return undefined
    try {
      return await work(() => isOwn(guard))
    } finally {
      if (await isOwn(guard)) await removeQuietly(guard.filePath)
      await unlock(guard.systemLock)
    }
  } finally {
    tokens.delete(token)
  }
}

/**
 * Calls `work` while the lock file itself is linked to the guard's name, which is how earlier versions take a guard: this needs no space, so it
 * works on a full disk. Only for the owner of the lock, whose file has this `inode`. Resolves to `undefined` if another process has the guard.
 */
export async function withLinkedGuard<T>(lockPath: string, inode: Inode, work: Guarded<T>): Promise<T | undefined> {
  const guardPath = guardPathOf(lockPath)
  if (!(await linkTo(lockPath, guardPath))) return undefined
  const isLinked = async () => {
    const file = await readLockFile(guardPath)
    return file !== null && isSameInode(file, inode)
  }
  try {
    return await work(isLinked)
  } finally {
    if (await isLinked()) await removeQuietly(guardPath)
  }
}

async function take(lockPath: string, describe: Describe, patience: number): Promise<Guard | null> {
  const filePath = guardPathOf(lockPath)
  const temporary = await writeTemporary(lockPath, describe)
  let published: TemporaryFile | null = null
  try {
    published = await publishPatiently(temporary, lockPath, filePath, patience)
    return (
      published && {
        filePath,
        content: published.content,
        dev: published.dev,
        ino: published.ino,
        systemLock: published.systemLock,
      }
    )
  } finally {
    await discard(temporary, published)
  }
}

async function publishPatiently(
  temporary: TemporaryFile,
  lockPath: string,
  filePath: string,
  patience: number,
): Promise<TemporaryFile | null> {
  const start = elapsed()
  for (;;) {
    let published = await publishAs(filePath, temporary)
    if (published === null && (await removeLeftOverGuard(lockPath, temporary.now())) === 'gone')
      published = await publishAs(filePath, temporary)
    if (published !== null) return published
    // Checked after the attempt: on a busy machine a pause may last past the end of the wait, and must be followed by an attempt.
    if (elapsed() - start >= patience) return null
    await wait(SHORTEST_PAUSE_MS + Math.random() * (MAX_PAUSE_MS - SHORTEST_PAUSE_MS))
  }
}

async function isOwn({ filePath, content, dev, ino }: Guard): Promise<boolean> {
  const file = await readLockFile(filePath)
  return file !== null && file.bytes !== null && isSameInode(file, { dev, ino }) && file.bytes.equals(content)
}
