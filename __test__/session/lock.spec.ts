/** Session locks: the file of a lock, its handle, and the errors of acquiring. */
import {
  chmodSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { join, relative, sep } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterEach, describe, expect, vi } from 'vitest'
import {
  acquireSessionLock,
  cleanUpLocks,
  isLockStale,
  isSessionLocked,
  removeStaleLock,
  sessionLockPath,
  SessionLockedError,
  type SessionLock,
  sessionLockPathOf,
} from '../../index.js'
import { eachCase } from '../support/each-case'
import { directoryOf } from '../support/file-directory'
import { childReport, unprivileged } from '../support/processes'
import { fc, test } from '../support/property'
import { HOUR, ID, lockOf, LockProcess, namesIn, readLock, writeLock } from '../support/session-locks'

const BUSY = { name: 'SessionLockedError', code: 'ESESSIONLOCKED', message: 'Session is in use by another process' }
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** Independent of the timers that a test replaces. */
const { setTimeout: realTimeout } = globalThis
const realPause = (ms: number): Promise<void> => new Promise((resolve) => void realTimeout(resolve, ms))

const safeId = fc.stringMatching(/^[A-Za-z0-9_-]{1,60}$/)

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

describe('the path', () => {
  test.prop([safeId], { numRuns: 100 })('is that of a file in the directory', (id) => {
    for (const directory of ['/chats', '/chats/', '/a/../chats', 'chats', `.${sep}chats${sep}`, '.']) {
      expect(sessionLockPath(directory, id)).toBe(join(directory, `${id}.lock`))
    }
  })

  test('accepts ids of up to 256 characters', () => {
    expect(sessionLockPath('/c', 'x'.repeat(256))).toBe(join('/c', `${'x'.repeat(256)}.lock`))
    expect(() => sessionLockPath('/c', 'x'.repeat(257))).toThrow(`Unsafe session ID rejected: "${'x'.repeat(257)}"`)
  })

  const unsafe = fc.oneof(
    fc.constantFrom('', '.', '..', '../x', 'a/b', 'a\\b', 'a.b', 'a b', 'é', 'a\n', 'a\0', '/etc/x', '__proto__.'),
    fc.string().filter((id) => !/^[A-Za-z0-9_-]{1,256}$/.test(id)),
  )
  test.prop([unsafe], { numRuns: 100 })('is refused for an unsafe id, by every function', async (id) => {
    const directory = directoryOf()
    const error = new Error(`Unsafe session ID rejected: "${id}"`)
    expect(() => sessionLockPath(directory, id)).toThrow(error)
    for (const use of [acquireSessionLock, isSessionLocked, removeStaleLock])
      await expect(use(directory, id)).rejects.toThrow(error)
    expect(namesIn(directory)).toEqual([])
  })
})

describe('a lock', () => {
  test.prop([safeId], { numRuns: 25 })('is one line of JSON with five members, alone in the directory', async (id) => {
    const directory = directoryOf()
    const before = Date.now()
    const lock = await acquireSessionLock(directory, id)
    expect(lock.lockPath).toBe(sessionLockPath(directory, id))
    const { timestamp, ownerToken } = readLock(lock.lockPath)
    expect(readFileSync(lock.lockPath, 'utf8')).toBe(
      JSON.stringify({ pid: process.pid, timestamp, sessionId: id, ownerToken, held: 'flock' }),
    )
    expect(ownerToken).toMatch(UUID)
    expect(new Date(timestamp as string).toISOString()).toBe(timestamp)
    expect(Date.parse(timestamp as string)).toBeGreaterThanOrEqual(before)
    expect(namesIn(directory)).toEqual([`${id}.lock`])
    expect([await lock.ownsLock(), await isSessionLocked(directory, id)]).toEqual([true, true])
    await lock.release()
    expect([await lock.ownsLock(), await isSessionLocked(directory, id)]).toEqual([false, false])
    expect(namesIn(directory)).toEqual([])
  })

  test("has the time of the program's clock", async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_760_000_000_000 })
    const lock = await acquireSessionLock(directoryOf(), ID)
    expect(readLock(lock.lockPath).timestamp).toBe('2025-10-09T08:53:20.000Z')
    await lock.release()
  })

  test.skipIf(process.platform === 'win32')('has the permissions of any new file', async () => {
    const directory = directoryOf()
    const lock = await acquireSessionLock(directory, ID)
    writeFileSync(join(directory, 'plain'), '')
    expect(statSync(lock.lockPath).mode).toBe(statSync(join(directory, 'plain')).mode)
    await lock.release()
  })

  test('creates its directory and the parents', async () => {
    const directory = join(directoryOf(), 'a', 'b', 'c')
    const lock = await acquireSessionLock(`${directory}${sep}`, ID)
    expect(namesIn(directory)).toEqual([`${ID}.lock`])
    await lock.release()
  })

  test('of a relative directory stays where it was when the working directory changes', async () => {
    const directory = directoryOf()
    const lock = await acquireSessionLock(relative(process.cwd(), directory), ID)
    vi.spyOn(process, 'cwd').mockReturnValue('/')
    expect(await lock.ownsLock()).toBe(true)
    await lock.release()
    expect(namesIn(directory)).toEqual([])
  })
})

describe('a second lock', () => {
  async function expectBusy(attempt: Promise<unknown>): Promise<void> {
    const error: unknown = await attempt.then(
      () => 'acquired',
      (reason: unknown) => reason,
    )
    expect(error).toBeInstanceOf(SessionLockedError)
    expect(error).toMatchObject(BUSY)
  }

  test('of the same thread is busy, by any path, even while the first is being acquired or released', async () => {
    const directory = directoryOf()
    symlinkSync(directory, `${directory}.link`)
    const first = acquireSessionLock(directory, ID)
    await expectBusy(acquireSessionLock(`${directory}/x/..`, ID))
    const lock = await first
    for (const path of [directory, `${directory}/`, relative(process.cwd(), directory), `${directory}.link`])
      await expectBusy(acquireSessionLock(path, ID))
    const released = lock.release()
    await expectBusy(acquireSessionLock(directory, ID))
    await released
    await (await acquireSessionLock(directory, ID)).release()
  })

  test('of the same thread is busy although the process seems dead and the lock old', async () => {
    const directory = directoryOf()
    const lock = await acquireSessionLock(directory, ID)
    symlinkSync(directory, `${directory}.other`)
    vi.spyOn(process, 'kill').mockImplementation(() => {
      throw Object.assign(new Error('none'), { code: 'ESRCH' })
    })
    const { now } = Date
    vi.spyOn(Date, 'now').mockImplementation(() => now() + 50 * HOUR)
    await expectBusy(acquireSessionLock(directory, ID))
    await expectBusy(acquireSessionLock(`${directory}.other`, ID))
    expect(await lock.ownsLock()).toBe(true)
    await lock.release()
    expect(namesIn(directory)).toEqual([])
  })

  test('of another id or directory is not busy', async () => {
    const [one, other] = [directoryOf(), directoryOf()]
    const locks = await Promise.all([
      acquireSessionLock(one, ID),
      acquireSessionLock(one, `${ID}-2`),
      acquireSessionLock(other, ID),
    ])
    await Promise.all(locks.map((lock) => lock.release()))
    expect([namesIn(one), namesIn(other)]).toEqual([[], []])
  })

  test('of another process is busy until the first is released, or its process killed', async () => {
    const directory = directoryOf()
    const other = new LockProcess()
    try {
      expect(await other.acquire(directory)).toBe('held')
      expect(readLock(sessionLockPath(directory, ID)).pid).toBe(other.pid)
      await expectBusy(acquireSessionLock(directory, ID))
      expect([await isSessionLocked(directory, ID), await isLockStale(sessionLockPath(directory, ID))]).toEqual([
        true,
        false,
      ])
      await other.release()
      const lock = await acquireSessionLock(directory, ID)
      expect(await other.acquire(directory)).toBe('ESESSIONLOCKED')
      await lock.release()
      expect(await other.acquire(directory)).toBe('held')
    } finally {
      await other.kill()
    }
    expect([await isSessionLocked(directory, ID), await isLockStale(sessionLockPath(directory, ID))]).toEqual([
      false,
      true,
    ])
    const lock = await acquireSessionLock(directory, ID)
    expect(await lock.ownsLock()).toBe(true)
    await lock.release()
    expect(namesIn(directory)).toEqual([])
  })

  test('of another thread is busy, until the first is released', async () => {
    const directory = directoryOf()
    const script = `
      const { parentPort, workerData } = require('node:worker_threads');
      const { acquireSessionLock } = require(workerData.entry);
      parentPort.on('message', async () => {
        const outcome = await acquireSessionLock(workerData.directory, workerData.id).catch(({ code }) => code);
        parentPort.postMessage(typeof outcome === 'string' ? outcome : 'held');
        if (typeof outcome !== 'string') parentPort.once('message', outcome.release);
      });`
    const worker = new Worker(script, {
      eval: true,
      workerData: { entry: join(import.meta.dirname, '../../index.js'), directory, id: ID },
    })
    const tryIt = (): Promise<unknown> =>
      new Promise((resolve) => {
        worker.once('message', resolve)
        worker.postMessage('acquire')
      })
    const lock = await acquireSessionLock(directory, ID)
    expect(await tryIt()).toBe('ESESSIONLOCKED')
    await lock.release()
    expect(await tryIt()).toBe('held')
    await expectBusy(acquireSessionLock(directory, ID))
    expect(readLock(sessionLockPath(directory, ID)).pid).toBe(process.pid)
    await worker.terminate()
    // Records of the thread may still be on their way to the file.
    expect(await isSessionLocked(directory, ID)).toBe(true)
  })
})

describe('releasing', () => {
  test('twice or more, at once or later, by either holder, releases once', async () => {
    const directory = directoryOf()
    const lock = await acquireSessionLock(directory, ID)
    const holder: SessionLock = { ...lock }
    await Promise.all([lock.release(), holder.release(), lock.release()])
    const next = await acquireSessionLock(directory, ID)
    await Promise.all([lock.release(), holder.release()])
    expect(await next.ownsLock()).toBe(true)
    await next.release()
    expect(namesIn(directory)).toEqual([])
  })

  test('leaves a lock of another program alone, and so does the next acquisition', async () => {
    const rivals = [
      lockOf(process.pid),
      lockOf(process.pid, { ownerToken: undefined }),
      'rubbish',
      '',
      '7',
      '{"pid":1}',
    ]
    await eachCase(rivals, async (content) => {
      for (const replace of [
        (path: string) => writeFileSync(path, content),
        (path: string) => {
          unlinkSync(path)
          writeFileSync(path, content)
        },
      ]) {
        const directory = directoryOf()
        const lock = await acquireSessionLock(directory, ID)
        replace(lock.lockPath)
        expect(await lock.ownsLock()).toBe(false)
        await lock.release()
        expect(readFileSync(lock.lockPath, 'utf8')).toBe(content)
        await expect(acquireSessionLock(directory, ID)).rejects.toMatchObject(BUSY)
        expect(namesIn(directory)).toEqual([`${ID}.lock`])
      }
    })
  })

  test('leaves a copy of the lock with another inode alone', async () => {
    const directory = directoryOf()
    const lock = await acquireSessionLock(directory, ID)
    writeFileSync(join(directory, 'copy'), readFileSync(lock.lockPath))
    renameSync(join(directory, 'copy'), lock.lockPath)
    await lock.release()
    expect(namesIn(directory)).toEqual([`${ID}.lock`])
  })

  test('a lock whose file is gone is not an error and creates nothing', async () => {
    const directory = directoryOf()
    const lock = await acquireSessionLock(join(directory, 'chats'), ID)
    rmSync(join(directory, 'chats'), { recursive: true })
    expect(await lock.ownsLock()).toBe(false)
    await lock.release()
    expect(namesIn(directory)).toEqual([])
  })

  test('a lock that was lost and acquired again does not touch the new one', async () => {
    const directory = directoryOf()
    const lost = await acquireSessionLock(directory, ID)
    unlinkSync(lost.lockPath)
    const attempts = await Promise.allSettled([1, 2, 3].map(() => acquireSessionLock(directory, ID)))
    expect(attempts.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected'])
    const { value: lock } = attempts.find((attempt) => attempt.status === 'fulfilled')!
    await lost.release()
    expect([await lost.ownsLock(), await lock.ownsLock()]).toEqual([false, true])
    await lock.release()
    expect(namesIn(directory)).toEqual([])
  })

  test('needs neither the clock nor the timers of the program', async () => {
    const directory = directoryOf()
    const lock = await acquireSessionLock(directory, ID)
    writeFileSync(`${lock.lockPath}.tguard`, lockOf(process.ppid))
    vi.useFakeTimers({ now: 0 })
    const released = lock.release()
    while (!namesIn(directory).some((name) => name.endsWith('.locktmp'))) await realPause(5)
    await realPause(100)
    unlinkSync(`${lock.lockPath}.tguard`)
    await released
    expect(namesIn(directory)).toEqual([])
  })
})

test('waiting takes real time even if the library is loaded while timers are replaced', async () => {
  const require = createRequire(import.meta.url)
  const path = require.resolve('../../dist/locks/waiting.js')
  const loaded = require.cache[path]
  delete require.cache[path]
  try {
    vi.useFakeTimers()
    const { wait } = require(path) as { wait: (ms: number) => Promise<void> }
    await wait(5)
    expect(vi.getTimerCount()).toBe(0)
  } finally {
    require.cache[path] = loaded
  }
})

describe('a session that cannot be locked', () => {
  test('because there is a file in the way rejects with the error of the system', async () => {
    const directory = directoryOf({ file: 'text' })
    for (const path of ['file', 'file/', 'file/chats']) {
      await expect(acquireSessionLock(join(directory, path), ID)).rejects.toMatchObject({
        code: expect.stringMatching(/^(ENOTDIR|ENOENT)$/),
      })
      expect(await isSessionLocked(join(directory, path), ID)).toBe(false)
      expect(await removeStaleLock(join(directory, path), ID)).toBe(false)
      expect(await cleanUpLocks(join(directory, path))).toBe(0)
    }
    symlinkSync(join(directory, 'nowhere', 'x'), join(directory, 'dangling'))
    await expect(acquireSessionLock(join(directory, 'dangling'), ID)).rejects.toMatchObject({
      code: expect.stringMatching(/^(ENOTDIR|ENOENT)$/),
    })
    expect(namesIn(directory)).toEqual(['dangling', 'file'])
  })

  test('because the name is too long rejects with the error of the system', async () => {
    const directory = directoryOf()
    await expect(acquireSessionLock(directory, 'x'.repeat(256))).rejects.toMatchObject({
      code: expect.stringMatching(/^(ENAMETOOLONG|ENOENT)$/),
    })
    expect(namesIn(directory)).toEqual([])
  })

  test.skipIf(unprivileged === null)('because the directory is read-only rejects with EACCES', async () => {
    const directory = directoryOf({ [`${ID}.lock`]: lockOf(2 ** 30, { age: 50 * HOUR }) })
    mkdirSync(join(directory, 'inner'))
    chmodSync(directory, 0o555)
    const found = await childReport<Record<string, unknown>>('child-lock-read-only.mjs', [directory, ID], unprivileged!)
    expect(found).toEqual({
      acquire: 'EACCES',
      inside: 'EACCES',
      isLocked: false,
      isStale: true,
      removed: false,
      cleaned: 0,
    })
    chmodSync(directory, 0o755)
    expect(namesIn(directory)).toEqual([`${ID}.lock`, 'inner'])
  })

  test.skipIf(unprivileged === null)('because the directory may not be searched counts as locked', async () => {
    const directory = directoryOf()
    writeLock(directory, lockOf(2 ** 30))
    chmodSync(directory, 0o000)
    const found = await childReport<Record<string, unknown>>('child-lock-read-only.mjs', [directory, ID], unprivileged!)
    expect(found).toEqual({
      acquire: 'EACCES',
      inside: 'EACCES',
      isLocked: true,
      isStale: false,
      removed: false,
      cleaned: 0,
    })
    chmodSync(directory, 0o755)
  })
})

describe('the lock path of a file', () => {
  test.prop([safeId], { numRuns: 100 })('is that of the id in its name, in its directory', (id) => {
    for (const directory of ['/chats', '/a/../chats', 'chats', `.${sep}chats`, '.']) {
      expect(sessionLockPathOf(`${directory}${sep}session-${id}.jsonl`)).toBe(sessionLockPath(directory, id))
    }
    expect(sessionLockPathOf(`session-${id}.jsonl`)).toBe(`${id}.lock`)
  })

  test('is that of all between the prefix and the extension', () => {
    const path = join('/c', 'session-2026-02-11T16-00-f3a91c22.jsonl')
    expect(sessionLockPathOf(path)).toBe(join('/c', '2026-02-11T16-00-f3a91c22.lock'))
    expect(sessionLockPathOf('session-session-a.jsonl')).toBe('session-a.lock')
  })

  test('is refused for another name, with the path', () => {
    const others = [
      's1.jsonl',
      'session-.jsonl',
      'session-s1.json',
      'session-s1.jsonl.gz',
      'Session-s1.jsonl',
      'xsession-s1.jsonl',
      'session-s1',
      '/',
      join('/session-s1.jsonl', 'x'),
    ]
    for (const path of [...others, ...others.map((name) => join('/chats', name))]) {
      expect(() => sessionLockPathOf(path)).toThrow(new Error(`Cannot extract session ID from path: ${path}`))
    }
  })

  test('is refused for an unsafe id', () => {
    for (const id of ['a.b', 'a b', 'é', '..', 'a\nb', 'x'.repeat(257)]) {
      expect(() => sessionLockPathOf(join('/c', `session-${id}.jsonl`))).toThrow(
        new Error(`Unsafe session ID rejected: "${id}"`),
      )
    }
  })
})
