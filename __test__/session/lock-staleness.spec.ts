/** When a session lock is stale: each kind of lock file, through each function that judges it. */
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { spawnSync } from 'node:child_process'
import { afterEach, describe, expect, vi } from 'vitest'
import {
  acquireSessionLock,
  cleanUpLocks,
  isLockStale,
  isSessionLocked,
  removeStaleLock,
  sessionLockPath,
} from '../../index.js'
import { eachCase } from '../support/each-case'
import { directoryOf } from '../support/file-directory'
import { isRoot } from '../support/processes'
import { fc, test } from '../support/property'
import {
  DEAD_PID,
  guardOf,
  HOUR,
  ID,
  lockOf,
  LockProcess,
  MINUTE,
  namesIn,
  readLock,
  writeLock,
} from '../support/session-locks'

afterEach(() => void vi.restoreAllMocks())

interface Judgement {
  /** By the process alone. */
  stale: boolean
  /** By the age too. */
  staleWithAge: boolean
  /** Whether `cleanUpLocks` removes it if it is stale. */
  isOurs?: boolean
}

/** Asks every function about a lock file. The file is written anew for each that may remove it. */
async function expectJudged(
  content: string,
  age: number,
  { stale, staleWithAge, isOurs = true }: Judgement,
): Promise<void> {
  const fresh = (): string => {
    const directory = directoryOf()
    writeLock(directory, content, { age })
    return directory
  }
  const path = (directory: string): string => sessionLockPath(directory, ID)
  const directory = fresh()
  const asked = {
    stale: await isLockStale(path(directory)),
    staleToo: await isLockStale(path(directory), { pidReuse: false }),
    staleWithAge: await isLockStale(path(directory), { pidReuse: true }),
    locked: await isSessionLocked(directory, ID),
  }
  expect(asked).toEqual({ stale, staleToo: stale, staleWithAge, locked: !stale })
  expect(readFileSync(path(directory), 'utf8')).toBe(content)

  const removed = fresh()
  expect(await removeStaleLock(removed, ID)).toBe(staleWithAge)
  expect(namesIn(removed)).toEqual(staleWithAge ? [] : [`${ID}.lock`])

  const cleaned = fresh()
  expect(await cleanUpLocks(cleaned)).toBe(staleWithAge && isOurs ? 1 : 0)
  expect(namesIn(cleaned)).toEqual(staleWithAge && isOurs ? [] : [`${ID}.lock`])

  const acquired = fresh()
  const outcome = await acquireSessionLock(acquired, ID).catch(({ code }) => code as string)
  if (typeof outcome === 'string') {
    expect({ outcome, staleWithAge, content: readFileSync(path(acquired), 'utf8') }).toEqual({
      outcome: 'ESESSIONLOCKED',
      staleWithAge: false,
      content,
    })
  } else {
    expect({ staleWithAge, owns: await outcome.ownsLock(), pid: readLock(path(acquired)).pid }).toEqual({
      staleWithAge: true,
      owns: true,
      pid: process.pid,
    })
    await outcome.release()
  }
  expect(namesIn(acquired)).toEqual(staleWithAge ? [] : [`${ID}.lock`])
}

/** Times on both sides of 48 hours, with room for the test itself. */
const YOUNG = [0, 47 * HOUR, 48 * HOUR - 2 * MINUTE, -3 * HOUR]
const OLD = [48 * HOUR + 1000, 49 * HOUR, 5000 * HOUR]

const NAMESPACE = ['--pid', '--net', '--mount', '--fork', '--mount-proc']
const canMountSys = isRoot && spawnSync('unshare', [...NAMESPACE, 'mount', '-t', 'sysfs', 'sysfs', '/sys']).status === 0

describe('a lock', () => {
  test('that does not exist is neither stale nor locked, whether or not its directory exists', async () => {
    for (const directory of [directoryOf(), join(directoryOf(), 'none')]) {
      const path = sessionLockPath(directory, ID)
      expect([
        await isLockStale(path),
        await isLockStale(path, { pidReuse: true }),
        await isSessionLocked(directory, ID),
      ]).toEqual([false, false, false])
      expect([await removeStaleLock(directory, ID), await cleanUpLocks(directory)]).toEqual([false, 0])
      expect(existsSync(path)).toBe(false)
    }
  })

  test('of a live process is stale 48 hours after its timestamp, whenever it was modified', async () => {
    const cases = [process.pid, process.ppid].flatMap((pid) => [undefined, 'a-token'].map((token) => ({ pid, token })))
    await eachCase(cases, async ({ pid, token }) => {
      for (const age of [0, -3 * HOUR])
        await expectJudged(lockOf(pid, { age, ownerToken: token }), 100 * HOUR, { stale: false, staleWithAge: false })
      for (const age of OLD)
        await expectJudged(lockOf(pid, { age, ownerToken: token }), 0, { stale: false, staleWithAge: true })
    })
  })

  test('with a timestamp far in the future is judged by its last modification', async () => {
    for (const timestamp of [
      '2099-01-01T00:00:00.000Z',
      new Date(Date.now() + 49 * HOUR).toISOString(),
      '+275760-09-13T00:00:00.000Z',
    ]) {
      const content = JSON.stringify({ pid: process.ppid, timestamp, sessionId: ID })
      for (const age of YOUNG) await expectJudged(content, age, { stale: false, staleWithAge: false })
      for (const age of OLD) await expectJudged(content, age, { stale: false, staleWithAge: true })
    }
  })

  test.skipIf(!canMountSys)(
    'of a process that began after its timestamp is stale: it has the pid of an earlier one (needs root and unshare)',
    () => {
      // The clock of this machine may have been set since it started. In a namespace of its own it has not.
      const script = `
      const { isLockStale, sessionLockPath } = require(process.argv[1]);
      const { writeFileSync } = require('node:fs');
      const { spawn } = require('node:child_process');
      const server = spawn('sleep', ['60']);
      const judged = async (age, more) => {
        const path = sessionLockPath(process.argv[2], 'id');
        writeFileSync(path, JSON.stringify({ pid: server.pid, timestamp: new Date(Date.now() - age).toISOString(), sessionId: 'id', ...more }));
        return [await isLockStale(path), await isLockStale(path, { pidReuse: true })];
      };
      (async () => {
        const minute = 60_000;
        console.log(JSON.stringify([await judged(0), await judged(4 * minute), await judged(6 * minute), await judged(47 * 60 * minute)]));
        server.kill('SIGKILL');
      })();`
      const entry = join(import.meta.dirname, '../../index.js')
      const { stdout, stderr } = spawnSync(
        'unshare',
        [
          ...NAMESPACE,
          'sh',
          '-c',
          'mount -t sysfs sysfs /sys && exec "$@"',
          'sh',
          process.execPath,
          '-e',
          script,
          entry,
          directoryOf(),
        ],
        { encoding: 'utf8' },
      )
      expect([stdout, stderr]).toEqual([
        `${JSON.stringify([
          [false, false],
          [false, false],
          [false, true],
          [false, true],
        ])}\n`,
        '',
      ])
    },
  )

  test('of a process that has ended is stale at once', async () => {
    for (const token of [undefined, 'a-token']) {
      for (const age of [0, 47 * HOUR, 49 * HOUR])
        await expectJudged(lockOf(DEAD_PID, { age, ownerToken: token }), 0, { stale: true, staleWithAge: true })
    }
  })

  test('whose timestamp does not parse is judged by its last modification', async () => {
    const timestamps = ['yesterday', '', null, undefined, {}, [], true]
    await eachCase(timestamps, async (timestamp) => {
      const content = JSON.stringify({ pid: process.ppid, timestamp, sessionId: ID })
      for (const age of YOUNG) await expectJudged(content, age, { stale: false, staleWithAge: false })
      for (const age of OLD) await expectJudged(content, age, { stale: false, staleWithAge: true })
    })
  })

  const pid = fc.oneof(
    fc.constantFrom(0, -1, 1.5, 2 ** 53, '1', null, true, [], {}, undefined),
    fc.double({ max: 0 }),
    fc.string(),
  )
  test.prop([pid, fc.constantFrom(...YOUNG), fc.constantFrom(...OLD)], { numRuns: 15 })(
    'without a usable pid is stale 48 hours after its last modification, whatever it says, but cleaned up only if that is a number',
    async (pid, young, old) => {
      await expectJudged(lockOf(pid, { age: 100 * HOUR }), young, { stale: false, staleWithAge: false })
      const isOurs = typeof (JSON.parse(lockOf(pid)) as { pid: unknown }).pid === 'number'
      await expectJudged(lockOf(pid), old, { stale: false, staleWithAge: true, isOurs })
    },
  )

  const rubbish = fc.oneof(fc.constantFrom('', ' ', '{', '{"pid":1', '\uFEFF{}', 'x'), fc.string()).filter((text) => {
    try {
      JSON.parse(text)
      return false
    } catch {
      return true
    }
  })
  test.prop([rubbish, fc.constantFrom(...YOUNG), fc.constantFrom(...OLD)], { numRuns: 15 })(
    'that is not JSON is stale 48 hours after its last modification, but not cleaned up',
    async (text, young, old) => {
      await expectJudged(text, young, { stale: false, staleWithAge: false })
      await expectJudged(text, old, { stale: false, staleWithAge: true, isOurs: false })
    },
  )

  test('that is JSON, but not an object, is treated like one without a pid', async () => {
    await eachCase(['null', '7', '"text"', '[]', 'true', `[${DEAD_PID}]`], async (text) => {
      await expectJudged(text, 0, { stale: false, staleWithAge: false })
      await expectJudged(text, 49 * HOUR, { stale: false, staleWithAge: true, isOurs: false })
    })
  })

  test('that is a directory, a link, a pipe or too large is not stale, and is left alone', async () => {
    const makers: ((path: string) => unknown)[] = [
      mkdirSync,
      (path) => symlinkSync('/nowhere/at/all', path),
      (path) => {
        writeFileSync(`${path}.target`, lockOf(DEAD_PID))
        symlinkSync(`${path}.target`, path)
      },
      (path) => writeFileSync(path, lockOf(DEAD_PID) + ' '.repeat(100_000)),
      ...(process.platform === 'win32' ? [] : [(path: string) => spawnSync('mkfifo', [path])]),
    ]
    for (const make of makers) {
      const directory = directoryOf()
      const path = sessionLockPath(directory, ID)
      make(path)
      const names = namesIn(directory)
      expect([
        await isLockStale(path),
        await isLockStale(path, { pidReuse: true }),
        await isSessionLocked(directory, ID),
      ]).toEqual([false, false, true])
      expect([await removeStaleLock(directory, ID), await cleanUpLocks(directory)]).toEqual([false, 0])
      await expect(acquireSessionLock(directory, ID)).rejects.toMatchObject({ code: 'ESESSIONLOCKED' })
      expect(namesIn(directory)).toEqual(names)
    }
  })
})

describe('process.kill', () => {
  const replaced = (error: unknown) =>
    vi.spyOn(process, 'kill').mockImplementation(() => {
      throw error
    })
  const coded = (code: string): Error => Object.assign(new Error(code), { code })

  test('that throws EPERM means a live process', async () => {
    replaced(coded('EPERM'))
    await expectJudged(lockOf(DEAD_PID), 0, { stale: false, staleWithAge: false })
    await expectJudged(lockOf(DEAD_PID, { age: 49 * HOUR }), 0, { stale: false, staleWithAge: true })
  })

  test('that throws anything else means a dead one', async () => {
    for (const thrown of [coded('ESRCH'), coded('EINVAL'), new Error('EPERM'), 'EPERM', null, undefined]) {
      replaced(thrown)
      await expectJudged(lockOf(process.ppid), 0, { stale: true, staleWithAge: true })
      vi.restoreAllMocks()
    }
  })

  test('is called with the pid and the signal 0 each time, even if it was replaced late', async () => {
    const directory = directoryOf()
    const path = writeLock(directory, lockOf(4711))
    for (const alive of [true, false, true]) {
      const kill = vi.spyOn(process, 'kill').mockImplementation(() => {
        if (!alive) throw coded('ESRCH')
        return true
      })
      expect(await isLockStale(path)).toBe(!alive)
      expect(kill.mock.calls).toEqual([[4711, 0]])
      vi.restoreAllMocks()
    }
  })

  test('is not called for a lock of this thread', async () => {
    const directory = directoryOf()
    const lock = await acquireSessionLock(directory, ID)
    const kill = replaced(coded('ESRCH'))
    expect([
      await isLockStale(lock.lockPath),
      await isLockStale(lock.lockPath, { pidReuse: true }),
      await isSessionLocked(directory, ID),
    ]).toEqual([false, false, true])
    expect([await removeStaleLock(directory, ID), await cleanUpLocks(directory)]).toEqual([false, 0])
    expect(kill).not.toHaveBeenCalled()
    expect(await lock.ownsLock()).toBe(true)
    await lock.release()
    expect(namesIn(directory)).toEqual([])
  })

  test('that is replaced does not make a guard of this thread count as left over', async () => {
    const directory = directoryOf()
    const other = new LockProcess()
    try {
      await other.acquire(directory)
      await other.ask('allDead')
      // Programs that go by the time of the lock may soon take it over, so that its release needs a guard.
      await other.ask('shiftClock', 25 * HOUR)
      // It stops when it has the guard, before it removes the lock.
      expect(await other.ask('begin', 'release', 4, 'release')).toBe('stopped')
      const guard = readFileSync(guardOf(sessionLockPath(directory, ID)), 'utf8')
      expect([await other.ask('cleanUp', directory), await other.ask('removeStale', directory, ID)]).toEqual([0, false])
      expect(readFileSync(guardOf(sessionLockPath(directory, ID)), 'utf8')).toBe(guard)
      await other.ask('finish', 'release')
      expect(namesIn(directory)).toEqual([])
    } finally {
      await other.kill()
    }
  })
})

describe('the owner of a stale lock', () => {
  test('notices that it no longer owns it, and leaves the lock of the next owner', async () => {
    const directory = directoryOf()
    const lock = await acquireSessionLock(directory, ID)
    const { now } = Date
    // Another thread or process would find it stale; here, the file is replaced by an old lock of such a process.
    writeFileSync(lock.lockPath, lockOf(process.ppid, { age: 49 * HOUR }))
    vi.spyOn(Date, 'now').mockImplementation(() => now() + 1)
    const next = await acquireSessionLock(directory, ID)
    expect([await lock.ownsLock(), await next.ownsLock()]).toEqual([false, true])
    await lock.release()
    expect(await next.ownsLock()).toBe(true)
    await next.release()
    expect(namesIn(directory)).toEqual([])
  })
})
