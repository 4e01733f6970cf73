// Operations on a session lock, for specs that kill the process or cut the power at each step.

import { existsSync, linkSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { acquireSessionLock, cleanUpLocks, type SessionLock, sessionLockPath } from '../../index.js'
import { directoryOf } from './file-directory'
import {
  ageAll,
  DEAD_PID,
  guardOf,
  HOUR,
  ID,
  inodeOf,
  lockOf,
  type LockProcess,
  MINUTE,
  namesIn,
  writeAged,
  writeLock,
} from './session-locks'

export interface Operation {
  /** Creates the files that the operation starts from. */
  prepare?: (chats: string) => void
  /** What the process does before the operation, in which it is stopped. */
  begin?: (victim: LockProcess, chats: string) => Promise<unknown>
  command: (chats: string) => unknown[]
  /** Number of steps. */
  steps: number
  /** Time in milliseconds for which the prepared files must be left alone: before that, an operation retries, and has more steps. */
  rest?: number
}

const acquire = (chats: string): unknown[] => ['acquire', chats, ID]
const release = (chats: string): unknown[] => ['release', chats]
const makeDirectory = (chats: string): void => void mkdirSync(chats)
const dead = (chats: string): string => {
  makeDirectory(chats)
  return writeLock(chats, lockOf(DEAD_PID))
}
const deadGuard = (path: string): void => writeFileSync(guardOf(path), lockOf(DEAD_PID))
const linkedGuard = (path: string): void => linkSync(path, guardOf(path))

async function acquireOld(victim: LockProcess, chats: string): Promise<void> {
  await victim.ask('shiftClock', 0)
  await victim.acquire(chats)
  await victim.ask('shiftClock', 25 * HOUR)
}

/** Everything that a process does with a lock, in a directory of its own. */
export const OPERATIONS: Record<string, Operation> = {
  acquiring: { prepare: makeDirectory, command: acquire, steps: 4 },
  'acquiring in a directory that is made': { command: acquire, steps: 6 },
  'taking over': { prepare: dead, command: acquire, steps: 11 },
  'taking over with a guard of a dead process': {
    prepare: (chats) => deadGuard(dead(chats)),
    command: acquire,
    steps: 15,
  },
  'taking over with a guard that is the lock': {
    prepare: (chats) => linkedGuard(dead(chats)),
    command: acquire,
    steps: 15,
    rest: 300,
  },
  'removing a stale lock': { prepare: dead, command: (chats) => ['removeStale', chats, ID], steps: 6 },
  'cleaning up': {
    prepare: (chats) => {
      const path = dead(chats)
      deadGuard(path)
      writeAged(`${path}.b1946ac9-2492-4d23-85a1-0c7a7ef0f0ba.locktmp`, '', 6 * MINUTE)
    },
    command: (chats) => ['cleanUp', chats],
    steps: 12,
  },
  releasing: { begin: (victim, chats) => victim.acquire(chats), command: release, steps: 1 },
  'releasing a lock that programs may soon take over that go by its time': {
    begin: acquireOld,
    command: release,
    steps: 6,
  },
  'releasing with a guard of a dead process': {
    begin: async (victim, chats) => {
      await victim.acquire(chats)
      deadGuard(sessionLockPath(chats, ID))
    },
    command: release,
    steps: 10,
  },
}

/** On a busy machine an operation that waits may need one try more than usual. */
const WHOLE_RUNS = 4

/**
 * Lets a process run an operation that is stopped after 0 steps, after 1 step and so on, and then a few times to its end, each time in a directory
 * of its own. Calls `prepared` before the first run. Resolves to the directories, each with whether the operation completed there.
 */
export async function stoppedAtEachStep(
  victim: LockProcess,
  { prepare, begin, command, steps, rest = 0 }: Operation,
  newDirectory = (): string => directoryOf(),
  prepared = (): void => {},
): Promise<{ chats: string; isCompleted: boolean }[]> {
  const all = Array.from({ length: steps + WHOLE_RUNS }, () => join(newDirectory(), 'chats'))
  for (const chats of all) {
    prepare?.(chats)
    await begin?.(victim, chats)
  }
  prepared()
  await new Promise((resolve) => setTimeout(resolve, rest))
  return Promise.all(
    all.map(async (chats, at) => ({
      chats,
      isCompleted: (await victim.ask('begin', chats, Math.min(at, steps), ...command(chats))) !== 'stopped',
    })),
  )
}

/** Whether a process had begun to remove a guard: the mark is the guard under a second name. */
export function hasMark(chats: string): boolean {
  const inodesOf = (suffix: string): bigint[] =>
    namesIn(chats)
      .filter((name) => name.endsWith(suffix))
      .map((name) => inodeOf(join(chats, name)))
  const marks = inodesOf('.locktmp')
  return inodesOf('.tguard').some((guard) => marks.includes(guard))
}

const acquired = (chats: string): Promise<SessionLock | string> =>
  acquireSessionLock(chats, ID).catch(({ code }: { code: string }) => code)

/** Asserts that the session can be locked and everything cleaned up. `steps` identifies the state in a failure. */
export async function expectLockable(chats: string, steps: unknown): Promise<void> {
  const isMarked = existsSync(chats) && hasMark(chats)
  const cleanUpLater = async (): Promise<void> => {
    ageAll(chats, 6 * MINUTE)
    await cleanUpLocks(chats)
  }
  let lock = await acquired(chats)
  if (typeof lock === 'string') {
    // The one state that needs a clean-up first, as every program does at its start.
    expect([steps, lock, isMarked]).toEqual([steps, 'ESESSIONLOCKED', true])
    await cleanUpLater()
    lock = await acquireSessionLock(chats, ID)
  }
  // Without a clean-up, the timer would release the lock, as soon as its guard is available.
  if (isMarked) await cleanUpLater()
  expect(await lock.ownsLock()).toBe(true)
  await lock.release()
  await cleanUpLater()
  expect([steps, namesIn(chats)]).toEqual([steps, []])
}
