/**
 * Session locks that the system holds too: it says whether the owner is alive where pids and times do not, in containers, after crashes, for a
 * suspended process. And a recorder whose lock went to a program that goes by pids and times.
 */
import { spawnSync } from 'node:child_process'
import { openSync, readFileSync, renameSync, unlinkSync, writeFileSync, writeSync } from 'node:fs'
import { afterEach, describe, expect, vi } from 'vitest'
import {
  acquireSessionLock,
  isLockStale,
  isSessionLocked,
  removeStaleLock,
  sessionLockPath,
  SessionRecordingService,
} from '../../index.js'
import type { RecordingWarning } from '../../index.js'
import { directoryOf } from '../support/file-directory'
import { isRoot } from '../support/processes'
import { test } from '../support/property'
import { eventually, said } from '../support/recording'
import { canRefuse, refusing } from '../support/refused-calls'
import { guardOf, HOUR, ID, lockOf, LockProcess, MINUTE, namesIn, readLock, writeLock } from '../support/session-locks'

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** Writes into a file, whose inode stays. */
function overwrite(path: string, content: string): void {
  writeSync(openSync(path, 'r+'), content, 0)
}

/** A lock whose owner was killed, and whose pid now belongs to a living process. Resolves to its directory. */
async function leftLock(): Promise<string> {
  const directory = directoryOf()
  const owner = new LockProcess()
  expect(await owner.acquire(directory)).toBe('held')
  await owner.kill()
  const path = sessionLockPath(directory, ID)
  writeFileSync(path, JSON.stringify({ ...readLock(path), pid: process.ppid }))
  return directory
}

/** Asserts what this process thinks of a lock. */
async function expectStale(directory: string, expected: boolean): Promise<void> {
  const path = sessionLockPath(directory, ID)
  expect([
    await isLockStale(path),
    await isLockStale(path, { pidReuse: true }),
    await isSessionLocked(directory, ID),
  ]).toEqual([expected, expected, !expected])
}

describe('a lock whose owner was killed', () => {
  test('is stale at once although a living process has its pid', async () => {
    const directory = await leftLock()
    await expectStale(directory, true)
    const lock = await acquireSessionLock(directory, ID)
    expect(await lock.ownsLock()).toBe(true)
    await lock.release()
    expect(namesIn(directory)).toEqual([])
    const other = await leftLock()
    expect([await removeStaleLock(other, ID), namesIn(other)]).toEqual([true, []])
  })

  test('is stale although a process runs on that it has started', async () => {
    const directory = directoryOf()
    const owner = new LockProcess()
    await owner.acquire(directory)
    const server = Number(await owner.ask('startServer'))
    try {
      await expectStale(directory, false)
      await owner.kill()
      expect(process.kill(server, 0)).toBe(true)
      await expectStale(directory, true)
    } finally {
      process.kill(server, 'SIGKILL')
    }
  })

  test('is acquired by exactly one of many concurrent attempts', async () => {
    const directory = await leftLock()
    const others = Array.from({ length: 4 }, () => new LockProcess())
    try {
      const answers = await Promise.all(others.map((other) => other.acquire(directory)))
      expect([...answers].sort()).toEqual(['ESESSIONLOCKED', 'ESESSIONLOCKED', 'ESESSIONLOCKED', 'held'])
    } finally {
      await Promise.all(others.map((other) => other.kill()))
    }
  })
})

describe('a lock whose owner lives', () => {
  test('is not stale although its process seems dead and its time is 50 hours ago', async () => {
    const directory = directoryOf()
    const owner = new LockProcess()
    try {
      await owner.ask('shiftClock', -50 * HOUR)
      await owner.acquire(directory)
      vi.spyOn(process, 'kill').mockImplementation(() => {
        throw Object.assign(new Error('none'), { code: 'ESRCH' })
      })
      await expectStale(directory, false)
      await expect(acquireSessionLock(directory, ID)).rejects.toMatchObject({ code: 'ESESSIONLOCKED' })
      expect(await removeStaleLock(directory, ID)).toBe(false)
    } finally {
      vi.restoreAllMocks()
      await owner.kill()
    }
  })

  test('is not taken over while its owner is suspended for days', async () => {
    const directory = directoryOf()
    const [owner, rival] = [new LockProcess(), new LockProcess()]
    try {
      await owner.acquire(directory)
      owner.signal('SIGSTOP')
      await rival.ask('shiftClock', 49 * HOUR)
      expect(await rival.acquire(directory)).toBe('ESESSIONLOCKED')
      owner.signal('SIGCONT')
      expect(await owner.ask('owns')).toBe(true)
    } finally {
      await Promise.all([owner.kill(), rival.kill()])
    }
  })

  test('keeps its guard while that is in use, even if no living process has its pid', async () => {
    const directory = directoryOf()
    const other = new LockProcess()
    try {
      const path = writeLock(directory, lockOf(999_999_999))
      expect(await other.ask('begin', 'acquire', 6, 'acquire', directory, ID)).toBe('stopped')
      // As a process in another pid namespace sees it.
      overwrite(
        guardOf(path),
        readFileSync(guardOf(path), 'utf8').replace(/"pid":\d+/, (pid) => '"pid":'.padEnd(pid.length, '9')),
      )
      expect(await removeStaleLock(directory, ID)).toBe(false)
      expect(namesIn(directory)).toContain(`${ID}.lock.tguard`)
    } finally {
      await other.kill()
    }
  })
})

const canUnshare = isRoot && spawnSync('unshare', ['--pid', '--fork', '--mount-proc', 'true']).status === 0

describe.skipIf(!canUnshare)('in another pid namespace (needs root and unshare)', () => {
  const wrapper = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc']

  test('the lock of a living process is not taken, and that of a dead one is', async () => {
    const directory = directoryOf()
    const [container, other] = [new LockProcess({ wrapper }), new LockProcess()]
    try {
      expect(await other.acquire(directory)).toBe('held')
      expect([
        await container.ask('isLocked', directory, ID),
        await container.acquire(directory),
        await container.ask('removeStale', directory, ID),
        await container.ask('cleanUp', directory),
      ]).toEqual([true, 'ESESSIONLOCKED', false, 0])
      await other.kill()
      expect([await container.ask('isLocked', directory, ID), await container.acquire(directory)]).toEqual([
        false,
        'held',
      ])
      // The owner's pid, 1, is that of a living process here.
      await expectStale(directory, false)
    } finally {
      await Promise.all([container.kill(), other.kill()])
    }
  })
})

describe.skipIf(!canRefuse)('where the system refuses such locks (needs Linux and a C compiler)', () => {
  test.each(['ENOTSUP', 'ENOLCK', 'EOPNOTSUPP', 'ENOSYS'] as const)(
    'with %s the lock says nothing of the system, and is judged by pid and time',
    async (code) => {
      const directory = directoryOf()
      const owner = new LockProcess({ env: refusing({ flock: code }) })
      try {
        expect(await owner.acquire(directory)).toBe('held')
        expect(Object.keys(readLock(sessionLockPath(directory, ID)))).toEqual([
          'pid',
          'timestamp',
          'sessionId',
          'ownerToken',
        ])
        await expectStale(directory, false)
        await owner.release()
        expect(namesIn(directory)).toEqual([])
        await owner.acquire(directory)
      } finally {
        await owner.kill()
      }
      await expectStale(directory, true)
    },
  )
})

test('releasing a held lock creates no file, so that a directory can be removed meanwhile', async () => {
  const directory = directoryOf()
  const owner = new LockProcess()
  try {
    await owner.acquire(directory)
    await owner.changes()
    await owner.release()
    expect(await owner.changes()).toEqual([['unlink', sessionLockPath(directory, ID)]])
  } finally {
    await owner.kill()
  }
})

describe('a recorder whose lock another program has taken over', () => {
  const config = (chatsDir: string, warnings: RecordingWarning[]) => ({
    sessionId: ID,
    projectHash: 'p',
    chatsDir,
    workspaceDirs: [],
    provider: 'p',
    model: 'm',
    onWarning: (warning: RecordingWarning) => void warnings.push(warning),
  })
  /** Takes the lock over as programs do that go by pid and time. */
  const takeOver = (path: string): void => {
    unlinkSync(path)
    writeFileSync(path, lockOf(process.ppid, { ownerToken: undefined }))
  }
  const warningOf = (filePath: string, lockPath: string, eventsDropped: number): RecordingWarning => {
    const records = eventsDropped === 1 ? '1 record was' : `${eventsDropped} records were`
    const message = `Recording stopped: the lock '${lockPath}' is no longer that of this recorder. ${records} not written to '${filePath}'. The session goes on without a recording.`
    return { code: 'SessionLockLost', message, filePath, eventsDropped }
  }

  test.each([
    ['taken over', takeOver],
    ['removed', unlinkSync],
    [
      'replaced by a copy',
      (path: string) => {
        writeFileSync(`${path}.copy`, readFileSync(path))
        renameSync(`${path}.copy`, path)
      },
    ],
  ] as const)('stops before the first record after an hour without one: %s', async (_, lose) => {
    const [directory, warnings] = [directoryOf(), [] as RecordingWarning[]]
    const recorder = await SessionRecordingService.createLocked(config(directory, warnings))
    const { lockPath } = recorder.getOwnedLockHandle()!
    recorder.recordContent(said('a'))
    await recorder.flush()
    const filePath = recorder.getFilePath()!
    const before = readFileSync(filePath)
    lose(lockPath)
    const { now } = Date
    vi.spyOn(Date, 'now').mockImplementation(() => now() + HOUR + 1000)
    expect(recorder.enqueue('content', { content: said('b') })).toBeNull()
    expect(warnings).toEqual([])
    await recorder.flush()
    expect(warnings).toEqual([warningOf(filePath, lockPath, 1)])
    expect([recorder.isActive(), recorder.ownsLockFor(ID), recorder.getOwnedLockHandle()]).toEqual([false, false, null])
    recorder.recordContent(said('c'))
    await recorder.dispose()
    expect([readFileSync(filePath), warnings.length]).toEqual([before, 1])
  })

  test('goes on within the hour, and after it with the lock that it has', async () => {
    const [directory, warnings] = [directoryOf(), [] as RecordingWarning[]]
    const recorder = await SessionRecordingService.createLocked(config(directory, warnings))
    const { now } = Date
    for (const hours of [0, 0.9, 2, 100]) {
      vi.spyOn(Date, 'now').mockImplementation(() => now() + hours * HOUR)
      recorder.recordContent(said('a'))
      await recorder.flush()
      vi.restoreAllMocks()
    }
    expect([recorder.isActive(), recorder.ownsLockFor(ID), warnings]).toEqual([true, true, []])
    await recorder.dispose()
    expect(namesIn(directory)).toHaveLength(1)
  })

  test('stops when its timer looks, even if nothing is recorded, and leaves the lock of the other program alone', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const [directory, warnings] = [directoryOf(), [] as RecordingWarning[]]
    const recorder = await SessionRecordingService.createLocked(config(directory, warnings))
    const { lockPath } = recorder.getOwnedLockHandle()!
    takeOver(lockPath)
    const theirs = readFileSync(lockPath)
    vi.advanceTimersByTime(5 * MINUTE)
    vi.useRealTimers()
    await eventually('a warning', () => warnings.length > 0)
    expect(warnings).toEqual([warningOf(directory, lockPath, 1)].map((warning) => ({ ...warning, filePath: null })))
    expect([recorder.isActive(), recorder.ownsLockFor(ID)]).toEqual([false, false])
    await recorder.dispose()
    expect([readFileSync(lockPath), namesIn(directory)]).toEqual([theirs, [`${ID}.lock`]])
  })

  test('that was released already has no warning', async () => {
    const [directory, warnings] = [directoryOf(), [] as RecordingWarning[]]
    const recorder = await SessionRecordingService.createLocked(config(directory, warnings))
    recorder.recordContent(said('a'))
    await recorder.getOwnedLockHandle()!.release()
    const { now } = Date
    vi.spyOn(Date, 'now').mockImplementation(() => now() + 2 * HOUR)
    recorder.recordContent(said('b'))
    await recorder.dispose()
    expect([warnings, namesIn(directory).length]).toEqual([[], 1])
  })
})
