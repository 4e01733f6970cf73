/**
 * Processes that want the lock of one session at the same moment: one gets it, the others find it busy. LOCK_ROUNDS is the number of rounds; the
 * same processes take part in all of them.
 */
import { existsSync, linkSync, unlinkSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { sessionLockPath } from '../../index.js'
import { directoryOf } from '../support/file-directory'
import { fc, test } from '../support/property'
import {
  DEAD_PID,
  guardOf,
  HOUR,
  ID,
  lockOf,
  LockProcess,
  namesIn,
  readLock,
  writeLock,
} from '../support/session-locks'

const ROUNDS = Number(process.env.LOCK_ROUNDS ?? 100)
const ROUNDS_A_RUN = 10
const MOST = 8

const processes: LockProcess[] = []
beforeAll(async () => {
  for (let n = 0; n < MOST; n++) processes.push(new LockProcess())
  await Promise.all(processes.map((one) => one.ask('shiftClock', 0)))
})
afterAll(() => Promise.all(processes.map((one) => one.kill())))

/** The locks that the processes may find. */
const STATES: Record<string, (directory: string) => void> = {
  'no lock': () => {},
  'a dead owner': (directory) => void writeLock(directory, lockOf(DEAD_PID)),
  'a dead owner whose pid a living process has': (directory) =>
    void writeLock(directory, lockOf(process.pid, { held: 'flock' })),
  'a dead owner without a token': (directory) => void writeLock(directory, lockOf(DEAD_PID, { ownerToken: undefined })),
  'an old file that is not JSON': (directory) => void writeLock(directory, 'rubbish', { age: 49 * HOUR }),
  'an old timestamp': (directory) => void writeLock(directory, lockOf(process.pid, { age: 49 * HOUR })),
}

/** The guards that an interrupted process has left. */
const GUARDS: Record<string, (lockPath: string) => void> = {
  'no guard': () => {},
  'the lock as guard': (path) => {
    const isThere = existsSync(path)
    if (!isThere) writeFileSync(path, lockOf(DEAD_PID))
    linkSync(path, guardOf(path))
    if (!isThere) unlinkSync(path)
  },
  'a guard of a dead process': (path) => writeFileSync(guardOf(path), lockOf(DEAD_PID)),
  'a guard of a dead process whose pid a living process has': (path) =>
    writeFileSync(guardOf(path), lockOf(process.pid, { held: 'flock' })),
}

interface Round {
  count: number
  state: string
  guard: string
  /** When each process begins, in milliseconds after the first possible moment. */
  delays: number[]
}

const round = fc.record<Round>({
  count: fc.integer({ min: 2, max: MOST }),
  state: fc.constantFrom(...Object.keys(STATES)),
  guard: fc.constantFrom(...Object.keys(GUARDS)),
  delays: fc.oneof(
    fc.constant(Array<number>(MOST).fill(0)),
    fc.array(fc.nat({ max: 8 }), { minLength: MOST, maxLength: MOST }),
  ),
})

function prepared({ state, guard }: Round): string {
  const directory = directoryOf()
  STATES[state]!(directory)
  GUARDS[guard]!(sessionLockPath(directory, ID))
  return directory
}

async function play({ count, delays }: Round, directory: string): Promise<void> {
  const racing = processes.slice(0, count)
  const start = Date.now() + 10
  const answers = await Promise.all(racing.map((one, n) => one.ask('acquireAt', start + delays[n]!, directory, ID)))
  expect([...answers].sort()).toEqual([...Array<string>(count - 1).fill('ESESSIONLOCKED'), 'held'])
  const winner = racing[answers.indexOf('held')]!
  const others = racing.filter((one) => one !== winner)
  expect(await Promise.all(others.map((one) => one.acquire(directory)))).toEqual(others.map(() => 'ESESSIONLOCKED'))
  expect([await winner.ask('owns'), readLock(sessionLockPath(directory, ID)).pid]).toEqual([true, winner.pid])
  await winner.release()
  expect(namesIn(directory)).toEqual([])
  expect([await others[0]!.acquire(directory), await others[0]!.release()]).toEqual(['held', 'released'])
  expect(namesIn(directory)).toEqual([])
}

describe('of several processes that want a lock', () => {
  test.prop([fc.array(round, { minLength: ROUNDS_A_RUN, maxLength: ROUNDS_A_RUN })], {
    numRuns: Math.ceil(ROUNDS / ROUNDS_A_RUN),
    endOnFailure: true,
  })(
    'exactly one acquires it and owns it until it is released, and no file is left',
    async (rounds) => {
      // All are prepared first: a guard counts as left over only after a while.
      const directories = rounds.map(prepared)
      for (let n = 0; n < rounds.length; n++) await play(rounds[n]!, directories[n]!)
    },
    60_000 + ROUNDS * 1000,
  )

  // With a left-over guard a takeover has 15 steps.
  const STOPS = Array.from({ length: 16 }, (_, steps) => steps)
  const PAIRS = STOPS.flatMap((stop) => STOPS.map((other) => ({ stop, other })))

  test.each(Object.keys(GUARDS))(
    'one of two processes acquires it, whichever steps they are stopped before: %s',
    async (guard) => {
      const prepare = (): string => prepared({ count: 2, state: 'a dead owner', guard, delays: [] })
      const pairs = PAIRS.map((pair) => ({ ...pair, directory: prepare() }))
      // A guard that is the lock is left over only after a while.
      await new Promise((resolve) => setTimeout(resolve, 260))
      const outcomes = await Promise.all(
        pairs.map(async ({ stop, other, directory }) => ({
          stop,
          other,
          ...(await interleaved(stop, other, directory)),
        })),
      )
      expect(outcomes).toEqual(
        PAIRS.map((pair) => ({
          ...pair,
          answers: ['ESESSIONLOCKED', 'held'],
          isOfWinner: true,
          names: [`${ID}.lock`],
        })),
      )
    },
  )

  /** Two processes acquire a lock. The second starts when the first is stopped; then the first continues to its end, and then the second. */
  async function interleaved(stop: number, other: number, directory: string): Promise<object> {
    const [first, second] = processes as [LockProcess, LockProcess]
    await first.ask('begin', directory, stop, 'acquire', directory, ID)
    await second.ask('begin', directory, other, 'acquire', directory, ID)
    const answers = [await first.ask('finish', directory), await second.ask('finish', directory)]
    const winner = answers[0] === 'held' ? first : second
    return {
      answers: [...answers].sort(),
      isOfWinner: readLock(sessionLockPath(directory, ID)).pid === winner.pid,
      names: namesIn(directory),
    }
  }
})
