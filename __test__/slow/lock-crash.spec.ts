/** Processes that are killed while they acquire, take over, renew, release or clean up: the files that they leave never block a session for good. */
import { expect } from 'vitest'
import { acquireSessionLock } from '../../index.js'
import { directoryOf } from '../support/file-directory'
import { expectLockable, OPERATIONS, stoppedAtEachStep } from '../support/lock-operations'
import { test } from '../support/property'
import { HOUR, ID, LockProcess } from '../support/session-locks'

test.each(Object.entries(OPERATIONS))(
  'a process killed at each step of %s leaves a session that can be locked',
  async (_, operation) => {
    const victim = new LockProcess()
    const all = await stoppedAtEachStep(victim, operation)
    await victim.kill()
    // The number of steps is exact.
    const completed = all.map(({ isCompleted }) => isCompleted)
    expect(completed.slice(0, operation.steps)).toEqual(Array<boolean>(operation.steps).fill(false))
    expect(completed.slice(operation.steps)).toContain(true)
    await Promise.all(all.map(({ chats }, steps) => expectLockable(chats, steps)))
  },
)

test('a process killed at each step of renewing leaves a session that can be locked', async () => {
  const STEPS = 6
  const completed = await Promise.all(
    Array.from({ length: STEPS + 1 }, async (_, steps) => {
      const [victim, chats] = [new LockProcess(), directoryOf()]
      await victim.acquire(chats)
      await victim.ask('shiftClock', 2 * HOUR)
      await victim.ask('arm', steps)
      const isCompleted = (await victim.ask('look')) !== 'ended'
      await victim.kill()
      await expectLockable(chats, steps)
      return isCompleted
    }),
  )
  expect(completed).toEqual([...Array<boolean>(STEPS).fill(false), true])
})

test.each(Object.keys(OPERATIONS).filter((name) => name.startsWith('taking over')))(
  'a process killed at each step of %s while others want the lock: at most one of them gets it, and after it the next one',
  async (name) => {
    const [victim, ...others] = [new LockProcess(), new LockProcess(), new LockProcess()] as const
    try {
      const all = await stoppedAtEachStep(victim, OPERATIONS[name]!)
      const racing = all.map(({ chats }) => Promise.all(others.map((other) => other.acquire(chats))))
      await victim.kill()
      await Promise.all(
        all.map(async ({ chats }, steps) => {
          const answers = await racing[steps]!
          const winners = others.filter((_, index) => answers[index] === 'held')
          expect([steps, winners.length]).toEqual([steps, Math.min(1, winners.length)])
          for (const winner of winners) {
            await expect(acquireSessionLock(chats, ID)).rejects.toMatchObject({ code: 'ESESSIONLOCKED' })
            expect([await winner.ask('owns', chats), await winner.ask('release', chats)]).toEqual([true, 'released'])
          }
          await expectLockable(chats, steps)
        }),
      )
    } finally {
      await Promise.all([victim, ...others].map((one) => one.kill()))
    }
  },
)
