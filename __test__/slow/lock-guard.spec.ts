/** The guard of a session lock: live, left over, of this and of older programs, when a lock is taken over, removed and released. */
import { existsSync, linkSync, mkdirSync, readFileSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { afterEach, describe, expect, vi } from 'vitest'
import { acquireSessionLock, cleanUpLocks, removeStaleLock, sessionLockPath } from '../../index.js'
import { directoryOf } from '../support/file-directory'
import { test } from '../support/property'
import {
  DEAD_PID,
  guardOf,
  HOUR,
  ID,
  inodeOf,
  lockOf,
  LockProcess,
  markOf,
  MINUTE,
  namesIn,
  readLock,
  writeLock,
} from '../support/session-locks'

afterEach(() => void vi.restoreAllMocks())

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** The guard of an older program is the lock itself under a second name. */
const linkGuard = (lockPath: string): void => linkSync(lockPath, guardOf(lockPath))
const writeGuard = (lockPath: string, content: string): void => writeFileSync(guardOf(lockPath), content)

/** The age of a lock from which its release needs a guard, because programs that go by its time may soon take it over. */
const OLD = 25 * HOUR

/** Guards that their owners will never remove. */
const LEFT_OVER: Record<string, (lockPath: string) => void> = {
  'the lock itself': linkGuard,
  'one of a dead process': (lockPath) => writeGuard(lockPath, lockOf(DEAD_PID)),
  'one of a dead process without a token': (lockPath) =>
    writeGuard(lockPath, lockOf(DEAD_PID, { ownerToken: undefined })),
  'one of a live process, more than ten minutes old': (lockPath) =>
    writeGuard(lockPath, lockOf(process.ppid, { age: 11 * MINUTE })),
}

/** Guards that are in use. */
const LIVE: Record<string, (lockPath: string) => void> = {
  'one of a live process': (lockPath) => writeGuard(lockPath, lockOf(process.ppid, { age: 9 * MINUTE })),
  'one of a live process without a token': (lockPath) =>
    writeGuard(lockPath, lockOf(process.ppid, { ownerToken: undefined })),
  'one that cannot be understood': (lockPath) => writeGuard(lockPath, 'rubbish'),
  'an empty one': (lockPath) => writeGuard(lockPath, ''),
  'a directory': (lockPath) => mkdirSync(guardOf(lockPath)),
  'a symbolic link': (lockPath) => symlinkSync('nowhere', guardOf(lockPath)),
}

describe.each(Object.entries(LEFT_OVER))('a guard that is left over: %s', (_, leave) => {
  test('is removed when the lock is released', async () => {
    const directory = directoryOf()
    const lock = await acquireSessionLock(directory, ID)
    leave(lock.lockPath)
    await lock.release()
    expect(namesIn(directory)).toEqual([])
  })

  test('is removed when a stale lock is taken over', async () => {
    const directory = directoryOf()
    leave(writeLock(directory, lockOf(DEAD_PID)))
    const lock = await acquireSessionLock(directory, ID)
    expect(await lock.ownsLock()).toBe(true)
    expect(namesIn(directory)).toEqual([`${ID}.lock`])
    await lock.release()
    expect(namesIn(directory)).toEqual([])
  })

  test('is removed when a stale lock is removed', async () => {
    const directory = directoryOf()
    leave(writeLock(directory, lockOf(DEAD_PID)))
    expect(await removeStaleLock(directory, ID)).toBe(true)
    expect(namesIn(directory)).toEqual([])
  })
})

describe('a guard that is in use, of any kind', () => {
  /** Checks all kinds at the same time, since each takes the full time for which a guard is waited for. */
  const forEachKind = (check: (make: (lockPath: string) => void) => Promise<void>): Promise<unknown> =>
    Promise.all(
      Object.entries(LIVE).map(([kind, make]) =>
        check(make).catch((error: unknown) => {
          throw new Error(`${kind}: ${String(error)}`, { cause: error })
        }),
      ),
    )

  test('keeps a stale lock from being taken over or removed', async () =>
    void (await forEachKind(async (make) => {
      const directory = directoryOf()
      const path = writeLock(directory, lockOf(DEAD_PID))
      make(path)
      const before = namesIn(directory)
      const inode = inodeOf(path)
      const [acquired, removed] = await Promise.allSettled([
        acquireSessionLock(directory, ID),
        removeStaleLock(directory, ID),
      ])
      expect(acquired).toMatchObject({ reason: { code: 'ESESSIONLOCKED' } })
      expect(removed).toMatchObject({ value: false })
      expect(await cleanUpLocks(directory)).toBe(0)
      expect([namesIn(directory), inodeOf(path)]).toEqual([before, inode])
    })))

  test('makes a release wait, and resolve without removing anything', async () =>
    void (await forEachKind(async (make) => {
      const directory = directoryOf()
      const lock = await acquireSessionLock(directory, ID)
      make(lock.lockPath)
      await lock.release()
      expect(await lock.ownsLock()).toBe(true)
      expect(namesIn(directory)).toEqual([`${ID}.lock`, `${ID}.lock.tguard`])
      await expect(acquireSessionLock(directory, ID)).rejects.toMatchObject({ code: 'ESESSIONLOCKED' })
    })))
})

describe('a guard', () => {
  test('that is removed in time is waited for, when releasing and when acquiring', async () => {
    const directory = directoryOf()
    const lock = await acquireSessionLock(directory, ID)
    writeGuard(lock.lockPath, lockOf(process.ppid))
    const released = lock.release()
    await pause(1000)
    unlinkSync(guardOf(lock.lockPath))
    await released
    expect(namesIn(directory)).toEqual([])

    const path = writeLock(directory, lockOf(DEAD_PID))
    writeGuard(path, lockOf(process.ppid))
    const acquired = acquireSessionLock(directory, ID)
    await pause(150)
    unlinkSync(guardOf(path))
    await (await acquired).release()
    expect(namesIn(directory)).toEqual([])
  })

  test('with the inode of the lock is in use while its inode changes', async () => {
    const directory = directoryOf()
    const path = writeLock(directory, lockOf(DEAD_PID))
    linkGuard(path)
    const touching = setInterval(() => {
      linkSync(path, `${path}.touch`)
      unlinkSync(`${path}.touch`)
    }, 30)
    await expect(acquireSessionLock(directory, ID)).rejects.toMatchObject({ code: 'ESESSIONLOCKED' })
    expect(await cleanUpLocks(directory)).toBe(0)
    expect(namesIn(directory)).toEqual([`${ID}.lock`, `${ID}.lock.tguard`])
    clearInterval(touching)
    await (await acquireSessionLock(directory, ID)).release()
    expect(namesIn(directory)).toEqual([])
  })

  test('with the inode of the lock is not judged by the clock of the program', async () => {
    const directory = directoryOf()
    const { now } = Date
    for (const shift of [-50 * HOUR, 50 * HOUR]) {
      vi.spyOn(Date, 'now').mockImplementation(() => now() + shift)
      const lock = await acquireSessionLock(directory, ID)
      linkGuard(lock.lockPath)
      expect([await cleanUpLocks(directory), existsSync(guardOf(lock.lockPath))]).toEqual([0, true])
      await lock.release()
      expect(namesIn(directory)).toEqual([])
      vi.restoreAllMocks()
    }
  })

  test('is published complete, with content of its own that names its process', async () => {
    const directory = directoryOf()
    const other = new LockProcess()
    await other.acquire(directory)
    const path = sessionLockPath(directory, ID)
    const { ownerToken } = readLock(path)
    // It ends before it unlinks the lock: the fifth change that it makes.
    await other.ask('shiftClock', OLD)
    await other.ask('arm', 4)
    expect(await other.release()).toBe('ended')
    const guard = readFileSync(guardOf(path), 'utf8')
    const { timestamp, ownerToken: token } = readLock(guardOf(path))
    expect(guard).toBe(JSON.stringify({ pid: other.pid, timestamp, sessionId: ID, ownerToken: token, held: 'flock' }))
    expect(token).not.toBe(ownerToken)
    expect(inodeOf(guardOf(path))).not.toBe(inodeOf(path))
    await (await acquireSessionLock(directory, ID)).release()
  })

  test('that was removed while its process was stopped: the process notices, and leaves the lock and the guard of the next one alone', async () => {
    const other = new LockProcess()
    const rival = lockOf(process.pid, { age: -50 * HOUR })
    const expectStopped = async (command: string, args: unknown[], steps: number, path: string): Promise<void> => {
      const before = readFileSync(path, 'utf8')
      expect(await other.ask('begin', command, steps, command, ...args)).toBe('stopped')
      expect(readLock(guardOf(path)).pid).toBe(other.pid)
      writeGuard(path, rival)
      const finished = other.ask('finish', command)
      expect(await Promise.race([finished, pause(1000)])).toBe(
        { acquire: 'ESESSIONLOCKED', removeStale: false, look: true, release: 'released' }[command],
      )
      expect([readFileSync(path, 'utf8'), readFileSync(guardOf(path), 'utf8')]).toEqual([before, rival])
      unlinkSync(guardOf(path))
    }
    try {
      // Each is stopped when it has linked its guard and is about to remove the temporary file: before its last check.
      for (const [command, steps] of [
        ['acquire', 6],
        ['removeStale', 3],
      ] as const) {
        const directory = directoryOf()
        await expectStopped(command, [directory, ID], steps, writeLock(directory, lockOf(DEAD_PID)))
      }
      const directory = directoryOf()
      await other.acquire(directory)
      await other.ask('shiftClock', 2 * HOUR)
      await expectStopped('look', [], 3, sessionLockPath(directory, ID))
      await other.ask('shiftClock', OLD)
      await expectStopped('release', [], 3, sessionLockPath(directory, ID))
      await other.ask('look')
      expect(namesIn(directory)).toEqual([])
    } finally {
      await other.kill()
    }
  })

  test('that is left over is left alone while another process has its mark', async () => {
    const operations = ['release', 'acquire', 'removeStale', 'cleanUp'] as const
    await Promise.all(
      operations.flatMap((does) => Object.values(LEFT_OVER).map((leave) => expectMarkRespected(does, leave))),
    )
  })

  async function expectMarkRespected(
    does: 'release' | 'acquire' | 'removeStale' | 'cleanUp',
    leave: (lockPath: string) => void,
  ): Promise<void> {
    const directory = directoryOf()
    const path = sessionLockPath(directory, ID)
    const lock = does === 'release' ? await acquireSessionLock(directory, ID) : undefined
    if (lock === undefined) writeLock(directory, lockOf(DEAD_PID))
    leave(path)
    const mark = markOf(path, readFileSync(guardOf(path)))
    linkSync(guardOf(path), mark)
    await pause(260)
    const [before, inode] = [namesIn(directory), inodeOf(guardOf(path))]
    if (does === 'cleanUp') expect(await cleanUpLocks(directory)).toBe(0)
    else if (does === 'removeStale') expect(await removeStaleLock(directory, ID)).toBe(false)
    else if (does === 'acquire')
      await expect(acquireSessionLock(directory, ID)).rejects.toMatchObject({ code: 'ESESSIONLOCKED' })
    else await lock!.release()
    expect([namesIn(directory), inodeOf(guardOf(path))]).toEqual([before, inode])
    unlinkSync(mark)
    if (lock !== undefined) return
    await pause(260)
    await (await acquireSessionLock(directory, ID)).release()
    expect(namesIn(directory)).toEqual([])
  }

  test('whose mark is older than five minutes can be removed again', async () => {
    const { removeLeftOverGuard } = createRequire(import.meta.url)('../../dist/locks/left-over-guard.js') as {
      removeLeftOverGuard: (lockPath: string, now: bigint) => Promise<string>
    }
    const directory = directoryOf()
    const path = writeLock(directory, lockOf(process.ppid))
    writeGuard(path, lockOf(DEAD_PID))
    const mark = markOf(path, readFileSync(guardOf(path)))
    linkSync(guardOf(path), mark)
    const now = (): bigint => BigInt(Date.now()) * 1_000_000n
    expect(await removeLeftOverGuard(path, now() + BigInt(4 * MINUTE) * 1_000_000n)).toBe('marked')
    expect(existsSync(mark)).toBe(true)
    expect(await removeLeftOverGuard(path, now() + BigInt(5 * MINUTE + 1000) * 1_000_000n)).toBe('marked')
    expect([existsSync(mark), existsSync(guardOf(path))]).toEqual([false, true])
    expect(await removeLeftOverGuard(path, now())).toBe('gone')
    expect(namesIn(directory)).toEqual([`${ID}.lock`])
  })
})
