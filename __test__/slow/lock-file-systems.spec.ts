/**
 * Session locks on file systems without hard links (exFAT, shares of SMB, virtiofs, Android) and without syncs, and under Node's permission model.
 * The calls fail as such systems make them fail, in real processes: seccomp refuses them.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect } from 'vitest'
import { sessionLockPath } from '../../index.js'
import { directoryOf } from '../support/file-directory'
import { test } from '../support/property'
import { canRefuse, refusing } from '../support/refused-calls'
import {
  DEAD_PID,
  guardOf,
  HOUR,
  ID,
  lockOf,
  LockProcess,
  markOf,
  MINUTE,
  namesIn,
  readLock,
  writeAged,
  writeLock,
} from '../support/session-locks'

const CHILD = fileURLToPath(new URL('../support/child-without-links.mjs', import.meta.url))

/** What the child does with sessions, in this environment and with these flags for Node. */
function lifeOfSessions(env: NodeJS.ProcessEnv, ...flags: string[]): unknown {
  const directory = directoryOf()
  const { stdout, stderr, status } = spawnSync(process.execPath, [...flags, CHILD, directory], {
    env: { ...process.env, ...env },
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(stderr)
  return JSON.parse(stdout)
}

const ALL_WELL = {
  checkpoint: 'after',
  outcomes: ['ok', 'Locked: Session is in use by another process', 'ok', 'ok'],
  names: [],
}

describe.skipIf(!canRefuse)('without hard links (needs Linux and a C compiler)', () => {
  test.each(['EPERM', 'ENOTSUP', 'EACCES', 'ENOSYS'] as const)(
    'sessions are resumed, named, checkpointed, forked and deleted: %s',
    (code) => {
      expect(lifeOfSessions(refusing({ link: code }))).toEqual(ALL_WELL)
      // Nor renames that spare a file at the new name.
      expect(lifeOfSessions(refusing({ link: code, renameat2: 'EINVAL' }))).toEqual(ALL_WELL)
    },
  )

  const WITHOUT = (): LockProcess => new LockProcess({ env: refusing({ link: 'EPERM' }) })
  const WITHOUT_BOTH = (): LockProcess => new LockProcess({ env: refusing({ link: 'EPERM', flock: 'ENOTSUP' }) })

  test.each([
    ['with locks of the system', WITHOUT],
    ['without', WITHOUT_BOTH],
  ] as const)(
    'one of several processes gets a lock, of a dead owner and with guards of dead processes too, and nothing is left: %s',
    async (_, start) => {
      const processes = [start(), start(), start(), start()]
      try {
        const states: ((directory: string) => void)[] = [
          () => {},
          (directory) => void writeLock(directory, lockOf(DEAD_PID)),
          (directory) => writeAged(guardOf(writeLock(directory, lockOf(DEAD_PID))), lockOf(DEAD_PID)),
          (directory) => writeAged(guardOf(writeLock(directory, lockOf(DEAD_PID))), '', 11 * MINUTE),
          (directory) => void writeLock(directory, '', { age: 49 * HOUR }),
        ]
        for (const prepare of [...states, ...states, ...states]) {
          const directory = directoryOf()
          prepare(directory)
          const begin = Date.now() + 10
          const answers = await Promise.all(processes.map((one) => one.ask('acquireAt', begin, directory, ID)))
          expect([...answers].sort()).toEqual(['ESESSIONLOCKED', 'ESESSIONLOCKED', 'ESESSIONLOCKED', 'held'])
          const winner = processes[answers.indexOf('held')]!
          expect([await winner.ask('owns'), readLock(sessionLockPath(directory, ID)).pid]).toEqual([true, winner.pid])
          await winner.release()
          expect(namesIn(directory)).toEqual([])
        }
      } finally {
        await Promise.all(processes.map((one) => one.kill()))
      }
    },
  )

  test('a process killed at each step of taking over leaves a lock that another one can take over, at the latest after the guard has become old', async () => {
    const [victim, other] = [WITHOUT(), WITHOUT()]
    try {
      const all: string[] = []
      for (let steps = 0; steps <= 12; steps++) {
        const directory = directoryOf()
        writeLock(directory, lockOf(DEAD_PID))
        await victim.ask('begin', directory, steps, 'acquire', directory, ID)
        all.push(directory)
      }
      await victim.kill()
      for (const directory of all) {
        // An empty lock blocks for 48 hours, an empty guard for 10 minutes: their owner ended between two steps.
        await other.ask('shiftClock', 49 * HOUR)
        expect([directory, await other.acquire(directory)]).toEqual([directory, 'held'])
        expect(await other.ask('owns')).toBe(true)
        await other.release()
        await other.ask('cleanUp', directory)
        expect(namesIn(directory)).toEqual([])
      }
    } finally {
      await Promise.all([victim.kill(), other.kill()])
    }
  })

  test('a guard that is left over is left alone while another process has its mark, which is removed after five minutes', async () => {
    const one = WITHOUT()
    try {
      const directory = directoryOf()
      const path = writeLock(directory, lockOf(DEAD_PID))
      writeAged(guardOf(path), lockOf(DEAD_PID))
      const mark = markOf(path, readFileSync(guardOf(path)))
      writeAged(mark, '', 6 * MINUTE)
      expect([await one.acquire(directory), namesIn(directory).length]).toEqual(['ESESSIONLOCKED', 3])
      await one.ask('cleanUp', directory)
      expect(await one.acquire(directory)).toBe('held')
      await one.release()
      expect(namesIn(directory)).toEqual([])
    } finally {
      await one.kill()
    }
  })
})

test.skipIf(!canRefuse).each(['EINVAL', 'ENOTSUP', 'ENOSYS'] as const)(
  'on a file system that cannot sync, sessions are locked all the same: %s (needs Linux and a C compiler)',
  async (code) => {
    const directory = directoryOf()
    const one = new LockProcess({ env: refusing({ fsync: code }) })
    try {
      expect(await one.acquire(directory)).toBe('held')
      await one.release()
      expect(namesIn(directory)).toEqual([])
    } finally {
      await one.kill()
    }
  },
)

const PERMISSION = ['--permission', '--experimental-permission'].find((flag) =>
  process.allowedNodeEnvironmentFlags.has(flag),
)
const ALLOWED = ['--allow-addons', '--allow-fs-read=*', '--allow-fs-write=*']

test.skipIf(PERMISSION === undefined)(
  "under Node's permission model with addons, sessions are locked (needs a Node that has it)",
  () => {
    expect(lifeOfSessions({}, PERMISSION!, ...ALLOWED)).toEqual(ALL_WELL)
  },
)
