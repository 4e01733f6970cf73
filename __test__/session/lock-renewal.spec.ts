/** The renewal of session locks, and the timer that completes releases. */
import { spawnSync } from 'node:child_process'
import { readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, vi } from 'vitest'
import { acquireSessionLock, sessionLockPath } from '../../index.js'
import { directoryOf } from '../support/file-directory'
import { fc, test } from '../support/property'
import { guardOf, HOUR, ID, inodeOf, lockOf, LockProcess, MINUTE, namesIn, readLock } from '../support/session-locks'

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

let owner: LockProcess
let rival: LockProcess
beforeAll(() => {
  owner = new LockProcess()
  rival = new LockProcess()
})
afterAll(() => Promise.all([owner.kill(), rival.kill()]))

/** Acquires a lock with `owner`, whose clock is right. Resolves to the path. */
async function heldLock(): Promise<string> {
  const directory = directoryOf()
  await owner.ask('shiftClock', 0)
  expect(await owner.acquire(directory)).toBe('held')
  return sessionLockPath(directory, ID)
}

/** Waits until a check holds, in turns of the event loop, since the clock stands still. */
async function eventually(check: () => void): Promise<void> {
  for (let turn = 0; turn < 100_000; turn++) {
    try {
      return check()
    } catch {
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  check()
}

const timeOf = (path: string): number => Date.parse(readLock(path).timestamp as string)
const directoryOfLock = (path: string): string => join(path, '..')

describe('a lock that is held for more than 48 hours', () => {
  test('is not taken over 49 hours later', async () => {
    const path = await heldLock()
    const [inode, before] = [inodeOf(path), timeOf(path)]
    for (const process of [owner, rival]) await process.ask('shiftClock', 49 * HOUR)
    expect(await owner.ask('look')).toBe(true)
    expect(timeOf(path)).toBeGreaterThanOrEqual(before + 49 * HOUR)
    expect([
      await rival.acquire(directoryOfLock(path)),
      await rival.ask('removeStale', directoryOfLock(path), ID),
      await rival.ask('cleanUp', directoryOfLock(path)),
    ]).toEqual(['ESESSIONLOCKED', false, 0])
    expect([await owner.ask('owns'), inodeOf(path)]).toEqual([true, inode])
    await owner.release()
    expect(namesIn(directoryOfLock(path))).toEqual([])
  })

  test('is not taken over although its owner was stopped all that time', async () => {
    const path = await heldLock()
    for (const process of [owner, rival]) await process.ask('shiftClock', 49 * HOUR)
    const chats = directoryOfLock(path)
    expect([
      await rival.acquire(chats),
      await rival.ask('removeStale', chats, ID),
      await rival.ask('cleanUp', chats),
    ]).toEqual(['ESESSIONLOCKED', false, 0])
    await owner.release()
    expect(namesIn(chats)).toEqual([])
  })

  test('is taken over by programs that go by its time if its owner was stopped all that time, and the owner notices', async () => {
    const path = await heldLock()
    await owner.ask('shiftClock', 49 * HOUR)
    unlinkSync(path)
    writeFileSync(path, lockOf(rival.pid))
    const content = readFileSync(path)
    await owner.ask('look')
    expect(await owner.ask('owns')).toBe(false)
    await owner.release()
    expect(readFileSync(path)).toEqual(content)
  })
})

describe('renewing', () => {
  test.prop([fc.array(fc.integer({ min: -2 * HOUR, max: 3 * HOUR }), { minLength: 1, maxLength: 6 })], { numRuns: 40 })(
    'happens when the timer runs an hour or more after the last renewal, by the clock',
    async (shifts) => {
      const path = await heldLock()
      const inode = inodeOf(path)
      const { ownerToken } = readLock(path)
      let [written, last, shift] = [readFileSync(path, 'utf8'), timeOf(path), 0]
      for (const by of shifts) {
        shift += by
        await owner.ask('shiftClock', shift)
        const now = Date.now() + shift
        await owner.ask('look')
        // Within a second of the hour either is right.
        if (now - last >= HOUR) {
          expect(timeOf(path)).toBeGreaterThanOrEqual(now - 1)
          last = timeOf(path)
          written = JSON.stringify({
            pid: owner.pid,
            timestamp: new Date(last).toISOString(),
            sessionId: ID,
            ownerToken,
            held: 'flock',
          })
        } else if (now - last > HOUR - 1000) return
        expect([readFileSync(path, 'utf8'), inodeOf(path), namesIn(directoryOfLock(path))]).toEqual([
          written,
          inode,
          [`${ID}.lock`],
        ])
      }
      await owner.release()
    },
  )

  test('is never observed half done', async () => {
    const path = await heldLock()
    const { length } = readFileSync(path)
    const { ownerToken } = readLock(path)
    let [reads, isRenewing] = [0, true]
    const times = new Set<string>()
    const reading = (async () => {
      while (isRenewing) {
        const text = readFileSync(path, 'utf8')
        const { timestamp } = JSON.parse(text) as { timestamp: string }
        expect(text).toBe(JSON.stringify({ pid: owner.pid, timestamp, sessionId: ID, ownerToken, held: 'flock' }))
        expect(text).toHaveLength(length)
        times.add(timestamp)
        if (++reads % 50 === 0) await new Promise((resolve) => setImmediate(resolve))
      }
    })()
    const written = new Set([readLock(path).timestamp as string])
    for (let n = 1; n <= 60; n++) {
      await owner.ask('shiftClock', n * 61 * MINUTE + n * 1237)
      await owner.ask('look')
      written.add(readLock(path).timestamp as string)
    }
    isRenewing = false
    await reading
    expect(written.size).toBe(61)
    expect(times.size).toBeGreaterThan(10)
    expect([...times].filter((time) => !written.has(time))).toEqual([])
    await owner.release()
  })

  test('waits for the next run of the timer while another process has the guard', async () => {
    const path = await heldLock()
    const before = readFileSync(path, 'utf8')
    // Dated by the same clock: a guard that is ten minutes old would be left over.
    writeFileSync(guardOf(path), lockOf(process.pid, { age: -2 * HOUR }))
    await owner.ask('shiftClock', 2 * HOUR)
    await owner.ask('look')
    expect(readFileSync(path, 'utf8')).toBe(before)
    unlinkSync(guardOf(path))
    await owner.ask('look')
    expect(timeOf(path)).toBeGreaterThan(Date.now() + HOUR)
    await owner.release()
  })

  test('stops if the file has been replaced, and does not touch the new one', async () => {
    const replacements: ((path: string) => void)[] = [
      (path) => writeFileSync(path, lockOf(process.pid)),
      (path) => writeFileSync(path, readFileSync(path, 'utf8').replace('"ownerToken"', '"ownertoken"')),
      (path) => {
        writeFileSync(`${path}.new`, readFileSync(path))
        renameSync(`${path}.new`, path)
      },
    ]
    for (const replace of replacements) {
      const path = await heldLock()
      replace(path)
      const content = readFileSync(path, 'utf8')
      for (const hours of [2, 4]) {
        await owner.ask('shiftClock', hours * HOUR)
        await owner.ask('look')
      }
      expect([readFileSync(path, 'utf8'), namesIn(directoryOfLock(path))]).toEqual([content, [`${ID}.lock`]])
    }
  })

  test('does not create a file that was removed', async () => {
    const path = await heldLock()
    unlinkSync(path)
    await owner.ask('shiftClock', 2 * HOUR)
    await owner.ask('look')
    expect(namesIn(directoryOfLock(path))).toEqual([])
  })

  test('uses the timers of the program, even if they are replaced', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] })
    const lock = await acquireSessionLock(directoryOf(), ID)
    const acquired = timeOf(lock.lockPath)
    expect(vi.getTimerCount()).toBe(1)
    vi.advanceTimersByTime(HOUR)
    await eventually(() => expect(timeOf(lock.lockPath)).toBe(acquired + HOUR))
    // There is only one timer at a time: running all of them terminates.
    await vi.runAllTimersAsync()
    await lock.release()
    expect(vi.getTimerCount()).toBe(0)
  })

  test('does not keep the process running', () => {
    const script = `require(process.argv[1]).acquireSessionLock(process.argv[2], 'left').then(() => console.log('held'))`
    const directory = directoryOf()
    const { stdout, status } = spawnSync(
      process.execPath,
      ['-e', script, join(import.meta.dirname, '../../index.js'), directory],
      { encoding: 'utf8', timeout: 100_000 },
    )
    expect([stdout, status, namesIn(directory)]).toEqual(['held\n', 0, ['left.lock']])
  })
})

describe('a release that finds the guard taken', () => {
  test('is completed by the timer, and until then the session is locked', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] })
    const directory = directoryOf()
    const lock = await acquireSessionLock(directory, ID)
    const written = readFileSync(lock.lockPath, 'utf8')
    writeFileSync(guardOf(lock.lockPath), lockOf(process.ppid, { age: -100 * HOUR }))
    await lock.release()
    await lock.release()
    expect(readFileSync(lock.lockPath, 'utf8')).toBe(written)
    // It is not renewed, however long that takes.
    vi.advanceTimersByTime(2 * HOUR)
    await expect(acquireSessionLock(directory, ID)).rejects.toMatchObject({ code: 'ESESSIONLOCKED' })
    expect(readFileSync(lock.lockPath, 'utf8')).toBe(written)
    unlinkSync(guardOf(lock.lockPath))
    vi.advanceTimersByTime(5 * MINUTE)
    await eventually(() => expect(namesIn(directory)).toEqual([]))
    expect(vi.getTimerCount()).toBe(0)
    await (await acquireSessionLock(directory, ID)).release()
  })
})
