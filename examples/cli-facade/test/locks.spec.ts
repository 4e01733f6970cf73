import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'

import { SessionLockedError, SessionLockManager } from '../src/index.js'
import * as internals from '../src/SessionLockManager.internals.js'
import { newDirectory } from './chats.js'

const DAY = 86_400_000

/** Writes the lock of the process `pid`, created `days` days ago. Returns its path. */
async function writeLock(chatsDir: string, sessionId: string, pid: number, days: number): Promise<string> {
  await mkdir(chatsDir, { recursive: true })
  const lockPath = SessionLockManager.getLockPath(chatsDir, sessionId)
  await writeFile(
    lockPath,
    JSON.stringify({ pid, timestamp: new Date(Date.now() - days * DAY).toISOString(), sessionId }),
  )
  return lockPath
}

test('stale locks are recognised and removed', async () => {
  const chatsDir = await newDirectory()
  const ended = spawnSync(process.execPath, ['-e', '']).pid
  const dead = await writeLock(chatsDir, 'dead', ended, 0)
  const reused = await writeLock(chatsDir, 'reused', process.pid, 3)
  const alive = await writeLock(chatsDir, 'alive', process.pid, 1)
  const { isStale, checkStale, checkStaleWithPidReuse, removeStaleLock, cleanupOrphanedLocks } = SessionLockManager
  expect([await isStale(chatsDir, 'dead'), await isStale(chatsDir, 'reused'), await isStale(chatsDir, 'none')]).toEqual(
    [true, false, false],
  )
  expect([await checkStale(dead), await checkStale(reused), await checkStale(alive)]).toEqual([true, false, false])
  expect([await checkStaleWithPidReuse(reused), await checkStaleWithPidReuse(alive)]).toEqual([true, false])
  expect(await removeStaleLock(chatsDir, 'dead')).toBeUndefined()
  expect(await cleanupOrphanedLocks(chatsDir)).toBe(1)
  expect([dead, reused, alive].map((path) => existsSync(path))).toEqual([false, false, true])
})

test('the path of a lock is known from the name of a session file', async () => {
  const chatsDir = await newDirectory()
  expect(SessionLockManager.getLockPathFromFilePath(join(chatsDir, 'session-s1.jsonl'))).toBe(
    SessionLockManager.getLockPath(chatsDir, 's1'),
  )
  const other = join(chatsDir, 'notes.jsonl')
  expect(() => SessionLockManager.getLockPathFromFilePath(other)).toThrow(
    new Error(`Cannot extract session ID from path: ${other}`),
  )
})

test('the functions of the manager are also those of its internals', async () => {
  const chatsDir = await newDirectory()
  const lock = await internals.acquire(chatsDir, 's1')
  expect([await internals.isLocked(chatsDir, 's1'), await internals.isStale(chatsDir, 's1')]).toEqual([true, false])
  expect([await internals.checkStale(lock.lockPath), await internals.checkStaleWithPidReuse(lock.lockPath)]).toEqual([
    false,
    false,
  ])
  await expect(SessionLockManager.acquire(chatsDir, 's1')).rejects.toBeInstanceOf(SessionLockedError)
  await lock.release()
  await writeLock(chatsDir, 's1', spawnSync(process.execPath, ['-e', '']).pid, 0)
  expect([await internals.removeStaleLock(chatsDir, 's1'), await internals.cleanupOrphanedLocks(chatsDir)]).toEqual([
    undefined,
    0,
  ])
})

test('an unsafe id is refused', async () => {
  const chatsDir = await newDirectory()
  expect(() => SessionLockManager.getLockPath(chatsDir, '../s')).toThrow('Unsafe session ID rejected: "../s"')
  await expect(SessionLockManager.isStale(chatsDir, '../s')).rejects.toThrow('Unsafe session ID rejected: "../s"')
})
