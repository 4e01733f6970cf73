/** `cleanUpLocks`: the files that it removes from a directory of sessions, and similar ones that it keeps. */
import { linkSync, lutimesSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { randomUUID } from 'node:crypto'
import { afterEach, describe, expect, vi } from 'vitest'
import { acquireSessionLock, cleanUpLocks } from '../../index.js'
import { eachCase } from '../support/each-case'
import { directoryOf } from '../support/file-directory'
import { projectOf, sessionWith } from '../support/project-files'
import { fc, test } from '../support/property'
import { content } from '../support/session-file'
import {
  ageAll,
  DEAD_PID,
  guardOf,
  HOUR,
  ID,
  lockOf,
  LockProcess,
  makeOlder,
  markOf,
  MINUTE,
  namesIn,
  writeAged,
  writeLock,
} from '../support/session-locks'

afterEach(() => void vi.restoreAllMocks())

const UUID = 'b1946ac9-2492-4d23-85a1-0c7a7ef0f0ba'
const SNAPSHOT = 'session-tape snapshot 3, version 0.1.0\n'
const dead = (id: string): string => lockOf(DEAD_PID, { sessionId: id })

/** Files that are removed, by name: content, and age of the last modification. */
const REMOVED: Record<string, [content: string, age?: number]> = {
  'dead.lock': [dead('dead')],
  'without-token.lock': [lockOf(DEAD_PID, { sessionId: 'without-token', ownerToken: undefined })],
  'old.lock': [lockOf(process.ppid, { sessionId: 'old', age: 49 * HOUR })],
  'without-id.lock': [lockOf(DEAD_PID, { sessionId: undefined })],
  'without-timestamp.lock': [`{"pid":${DEAD_PID},"sessionId":"without-timestamp"}`],
  'id-is-no-text.lock': [lockOf(DEAD_PID, { sessionId: 7 })],
  'id-is-not-safe.lock': [lockOf(DEAD_PID, { sessionId: '../x' })],
  'checkpoint-namespace-c0ffee.lock': [dead('checkpoint-namespace-c0ffee')],
}
const OTHERS_REMOVED: typeof REMOVED = {
  'a.lock.tguard': [lockOf(DEAD_PID)],
  'b.lock.tguard': [lockOf(process.ppid, { age: 11 * MINUTE })],
  'c.lock.tguard': ['', 11 * MINUTE],
  [`a.lock.${UUID}.locktmp`]: ['', 6 * MINUTE],
  [`b.lock.${UUID}.locktmp`]: [dead('b'), 49 * HOUR],
  [`d.lock.${UUID}.locktmp`]: [lockOf(process.ppid, { held: 'flock' }), 6 * MINUTE],
  [`e.lock.${UUID}.locktmp`]: [lockOf(process.ppid, { age: 49 * HOUR }), 6 * MINUTE],
  'session-2026-02-11T16-00-deadbeef.jsonl.snap': [SNAPSHOT],
  'named-by-hand.jsonl.snap': ['session-tape snapshot 99'],
  '.session-tape-x': ['', 61 * MINUTE],
  '.session-tape-': ['', 61 * MINUTE],
}
/** Files that are kept. */
const KEPT: typeof REMOVED = {
  'alive.lock': [lockOf(process.ppid, { sessionId: 'alive' })],
  // Of package managers and other programs.
  'flake.lock': ['{"nodes":{"root":{}},"root":"root","version":7}', 100 * HOUR],
  'composer.lock': [
    '{"_readme":[],"content-hash":"0","packages":[],"timestamp":"2026-01-01T00:00:00.000Z"}',
    100 * HOUR,
  ],
  'deno.lock': ['{"version":"4"}', 100 * HOUR],
  'Pipfile.lock': ['{"_meta":{"hash":{"sha256":"0"},"pid":7},"default":{}}', 100 * HOUR],
  'pid-alone.lock': [`{"pid":${DEAD_PID}}`, 100 * HOUR],
  'pid-is-text.lock': [lockOf(`${DEAD_PID}`, { sessionId: 'pid-is-text' }), 100 * HOUR],
  'array.lock': [`[${dead('array')}]`, 100 * HOUR],
  'without-pid.lock': ['{}', 100 * HOUR],
  'without-time.lock': [`{"pid":${DEAD_PID},"timestamp":7,"sessionId":null}`, 100 * HOUR],
  'of-another.lock': [lockOf(DEAD_PID, { sessionId: 'another' }), 100 * HOUR],
  'not-json.lock': ['12:34', 100 * HOUR],
  'empty.lock': ['', 100 * HOUR],
  'young.lock': ['{}', 47 * HOUR],
  'yarn.lock.bak': [dead('yarn'), 100 * HOUR],
  'a.b.lock': [dead('a.b'), 100 * HOUR],
  '.lock': [dead('x'), 100 * HOUR],
  'x.LOCK': [dead('x'), 100 * HOUR],
  'session-2026-02-11T16-00-71e871bd.jsonl.lock': [dead('x'), 100 * HOUR],
  'session-2026-02-11T16-00-71e871bd.jsonl': ['', 100 * HOUR],
  'session-2026-02-11T16-00-71e871bd.jsonl.snap': ['', 100 * HOUR],
  'd.lock.tguard': [lockOf(process.ppid, { age: 9 * MINUTE }), 100 * HOUR],
  'e.lock.tguard': ['', 9 * MINUTE],
  'a.b.lock.tguard': [lockOf(DEAD_PID), 100 * HOUR],
  'a.tguard': [lockOf(DEAD_PID), 100 * HOUR],
  'a.jsonl.lock.tguard': [lockOf(DEAD_PID), 100 * HOUR],
  [`c.lock.${UUID}.locktmp`]: ['', 4 * MINUTE],
  [`f.lock.${UUID}.locktmp`]: [lockOf(process.ppid), 6 * MINUTE],
  'session-2026-02-11T16-00-00000000.jsonl.snap': ['a snapshot of another program', 100 * HOUR],
  'session-2026-02-11T16-00-71e871bd.snap': [SNAPSHOT, 100 * HOUR],
  'x.snap': [SNAPSHOT, 100 * HOUR],
  'c.lock.not-a-uuid.locktmp': ['', 100 * HOUR],
  [`c.lock.${UUID}x.locktmp`]: ['', 100 * HOUR],
  [`a.b.lock.${UUID}.locktmp`]: ['', 100 * HOUR],
  [`c.${UUID}.locktmp`]: ['', 100 * HOUR],
  [`c.lock.${UUID}.tmp`]: ['', 100 * HOUR],
  'c.locktmp': ['', 100 * HOUR],
  '.session-tape-young': ['', 59 * MINUTE],
  '.session-tap': ['', 100 * HOUR],
  'session-tape-x': ['', 100 * HOUR],
}

const makeOldLink = (target: string, path: string): void => {
  symlinkSync(target, path)
  const then = (Date.now() - 100 * HOUR) / 1000
  lutimesSync(path, then, then)
}

const fill = (directory: string, files: typeof REMOVED): void => {
  for (const [name, [content, age]] of Object.entries(files)) writeAged(join(directory, name), content, age)
}

test('keeps the temporary file of a process that was suspended before it could publish its lock', async () => {
  const directory = directoryOf()
  const other = new LockProcess()
  try {
    expect(await other.ask('begin', 'acquire', 2, 'acquire', directory, ID)).toBe('stopped')
    ageAll(directory, 6 * MINUTE)
    await cleanUpLocks(directory)
    expect(await other.ask('finish', 'acquire')).toBe('held')
  } finally {
    await other.kill()
  }
  await cleanUpLocks(directory)
  expect(namesIn(directory)).toEqual([])
})

test('snapshots that earlier versions kept of removed sessions are deleted, so that the directory can become empty', async () => {
  const directory = projectOf({ 'session-1.jsonl': sessionWith('s-1', content('a')) })
  writeFileSync(join(directory, 'session-1.jsonl.snap'), SNAPSHOT)
  await cleanUpLocks(directory)
  expect(namesIn(directory)).toEqual(['session-1.jsonl', 'session-1.jsonl.snap'])
  rmSync(join(directory, 'session-1.jsonl'))
  await cleanUpLocks(directory)
  expect(namesIn(directory)).toEqual([])
})

describe('a directory', () => {
  test.each(Object.entries({ ...REMOVED, ...OTHERS_REMOVED }))('is left without %s', async (name, [content, age]) => {
    const directory = directoryOf()
    writeAged(join(directory, name), content, age)
    expect(await cleanUpLocks(directory)).toBe(name in REMOVED ? 1 : 0)
    expect(namesIn(directory)).toEqual([])
  })

  test('keeps files that only look similar', async () => {
    const directory = directoryOf()
    fill(directory, KEPT)
    expect(await cleanUpLocks(directory)).toBe(0)
    expect(namesIn(directory)).toEqual(Object.keys(KEPT).sort())
    for (const [name, [content]] of Object.entries(KEPT))
      expect(readFileSync(join(directory, name), 'utf8')).toBe(content)
  })

  const some = (files: typeof REMOVED) => fc.subarray(Object.keys(files))
  test.prop([some(REMOVED), some(OTHERS_REMOVED), some(KEPT)], { numRuns: 25 })(
    'with any mixture of files keeps the right ones, and the result is the number of removed locks',
    async (locks, others, kept) => {
      const directory = directoryOf()
      const all: typeof REMOVED = { ...REMOVED, ...OTHERS_REMOVED, ...KEPT }
      for (const name of [...locks, ...others, ...kept]) writeAged(join(directory, name), ...all[name]!)
      expect(await cleanUpLocks(`${directory}/`)).toBe(locks.length)
      expect(namesIn(directory)).toEqual([...kept].sort())
      expect(await cleanUpLocks(directory)).toBe(0)
    },
  )

  test('keeps directories and links with any of these names, and the targets of the links', async () => {
    const names = Object.keys({ ...REMOVED, ...OTHERS_REMOVED })
    const makers: ((path: string, content: string) => unknown)[] = [
      (path) => mkdirSync(path),
      (path) => makeOldLink('nowhere', path),
      (path, content) => {
        const target = writeAged(join(directoryOf(), 'target'), content, 100 * HOUR)
        makeOldLink(target, path)
      },
    ]
    await eachCase(names, async (name) => {
      for (const make of makers) {
        const directory = directoryOf()
        make(join(directory, name), { ...REMOVED, ...OTHERS_REMOVED }[name]![0])
        const before = namesIn(directory)
        expect(await cleanUpLocks(directory)).toBe(0)
        expect(namesIn(directory)).toEqual(before)
      }
    })
  })

  test('that does not exist or is a file has no locks; one that is not a string throws', async () => {
    const directory = directoryOf({ file: '' })
    expect([await cleanUpLocks(join(directory, 'none')), await cleanUpLocks(join(directory, 'file'))]).toEqual([0, 0])
    expect(() => cleanUpLocks(7 as never)).toThrow(TypeError)
  })

  test('keeps the locks that are held, by this thread too', async () => {
    const directory = directoryOf()
    const locks = await Promise.all(['a', 'b', 'c'].map((id) => acquireSessionLock(directory, id)))
    fill(directory, { 'dead.lock': [dead('dead')] })
    ageAll(directory, 100 * HOUR)
    expect(await cleanUpLocks(directory)).toBe(1)
    expect(await Promise.all(locks.map((lock) => lock.ownsLock()))).toEqual([true, true, true])
    await Promise.all(locks.map((lock) => lock.release()))
  })

  test('that several processes clean at once has each lock removed once', async () => {
    const directory = directoryOf()
    const ids = Array.from({ length: 20 }, () => randomUUID())
    for (const id of ids) writeLock(directory, dead(id), { id })
    const counts = await Promise.all([1, 2, 3].map(() => cleanUpLocks(directory)))
    expect(counts.reduce((sum, count) => sum + count)).toBe(20)
    expect(namesIn(directory)).toEqual([])
  })
})

describe('files with two names', () => {
  const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

  test('a guard that is the lock itself is removed once its inode no longer changes', async () => {
    const directory = directoryOf()
    const path = writeLock(directory, lockOf(process.ppid))
    linkSync(path, guardOf(path))
    await cleanUpLocks(directory)
    expect(namesIn(directory)).toEqual([`${ID}.lock`, `${ID}.lock.tguard`])
    await pause(300)
    expect(await cleanUpLocks(directory)).toBe(0)
    expect(namesIn(directory)).toEqual([`${ID}.lock`])
  })

  test('the mark of a process that has ended is removed, and the guard with it', async () => {
    for (const link of [true, false]) {
      const directory = directoryOf()
      const path = writeLock(directory, lockOf(process.ppid))
      if (link) linkSync(path, guardOf(path))
      else writeFileSync(guardOf(path), lockOf(DEAD_PID))
      linkSync(guardOf(path), markOf(path, readFileSync(guardOf(path))))
      await pause(260)
      ageAll(directory, 6 * MINUTE)
      expect(await cleanUpLocks(directory)).toBe(0)
      await pause(300)
      await cleanUpLocks(directory)
      expect(namesIn(directory)).toEqual([`${ID}.lock`])
    }
  })

  test('a temporary file that is linked to the lock is removed, the lock stays', async () => {
    const directory = directoryOf()
    const path = writeLock(directory, lockOf(process.ppid), { age: 6 * MINUTE })
    linkSync(path, `${path}.${UUID}.locktmp`)
    expect(await cleanUpLocks(directory)).toBe(0)
    expect(namesIn(directory)).toEqual([`${ID}.lock`])
  })

  test('the mark of a process that is at work stays, whatever the age of the guard', async () => {
    const directory = directoryOf()
    const path = writeLock(directory, lockOf(process.ppid))
    writeAged(guardOf(path), lockOf(DEAD_PID), 6 * MINUTE)
    const mark = markOf(path, readFileSync(guardOf(path)))
    linkSync(guardOf(path), mark)
    // Its inode changes while `cleanUpLocks` watches.
    const working = setInterval(() => makeOlder(mark, 6 * MINUTE), 50)
    await cleanUpLocks(directory)
    clearInterval(working)
    expect(namesIn(directory)).toHaveLength(3)
  })
})
