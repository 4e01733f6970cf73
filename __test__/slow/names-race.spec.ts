/**
 * Processes that give names at the same time, and processes that are killed meanwhile. NAME_ROUNDS is the number of rounds, each with 4 to 7
 * operations per process; the series with killed processes has half as many.
 */
import { appendFileSync } from 'node:fs'
import { afterAll, describe, expect } from 'vitest'
import {
  addedTo,
  closed,
  created,
  HASH,
  holdersIn,
  lockedIn,
  locksIn,
  messageOf,
  named,
  pathIn,
  projectOf,
  recordsOf,
  sessionText,
  tape,
} from '../support/naming'
import { hasMark } from '../support/lock-operations'
import { type Answer, NameProcess } from '../support/name-processes'
import { fc, test } from '../support/property'
import { ageAll, MINUTE } from '../support/session-locks'

const { createCheckpoint, listContinueTargets, nameSession, resolveContinueRef } = tape
const ROUNDS = Number(process.env['NAME_ROUNDS'] ?? 6)
const LIMIT_MS = 60_000 + ROUNDS * 4000

const processes: NameProcess[] = []
/** `count` live processes. Those that were killed are replaced. */
function living(count: number): NameProcess[] {
  for (let at = 0; at < count; at++)
    if (processes[at] === undefined || processes[at]!.hasEnded) processes[at] = new NameProcess()
  return processes.slice(0, count)
}
afterAll(() => Promise.all(processes.map((one) => one.kill())))

const ids = Array.from({ length: 8 }, (_, at) => `s${at}`)
const soon = (): number => Date.now() + 30

describe('of 8 processes', () => {
  test.each(['closed', 'open'])(
    'that save the same name at once, one succeeds and the others get an error: %s sessions',
    async (kind) => {
      const chats = projectOf(Object.fromEntries(ids.map((id) => [id, []])))
      const eight = living(8)
      if (kind === 'open') await Promise.all(eight.map((one, at) => one.open(chats, ids[at]!)))
      for (const [name, args] of [
        ['createCheckpoint', ['derselbe']],
        ['nameSession', ['ein anderer']],
      ] as const) {
        const time = soon()
        const answers = await Promise.all(eight.map((one, at) => one.callAt(time, chats, ids[at]!, name, ...args)))
        expect(answers.map(({ error }) => error).filter((error) => error !== undefined)).toEqual(
          Array(7).fill(`Error: Name '${args[0]}' already exists`),
        )
        expect((await holdersIn(chats))[args[0]]).toEqual([
          expect.stringMatching(new RegExp(`^s${answers.findIndex(({ error }) => error === undefined)}(/|$)`)),
        ])
      }
      await Promise.all(eight.map((one, at) => one.ask('close', chats, ids[at])))
      expect(locksIn(chats)).toEqual([])
    },
  )
})

const NAMES = ['rot', 'grün', 'blau', 'gelb 💛']
const CLOSED = ['c0', 'c1', 'c2']

/** An operation: on the session that the process has open, or on a closed one. The checkpoint is one that existed at first or was created since. */
interface Operation {
  call: 'createCheckpoint' | 'renameCheckpoint' | 'deleteCheckpoint' | 'nameSession'
  place: string | null
  name: string
  checkpoint: number
  overwrite: boolean
}

const operation = fc.record<Operation>({
  call: fc.constantFrom('createCheckpoint', 'createCheckpoint', 'renameCheckpoint', 'nameSession', 'deleteCheckpoint'),
  place: fc.constantFrom(null, null, ...CLOSED),
  name: fc.constantFrom(...NAMES),
  checkpoint: fc.nat({ max: 3 }),
  overwrite: fc.boolean(),
})
const COUNT = 4
const round = fc.array(fc.array(operation, { minLength: 4, maxLength: 7 }), { minLength: COUNT, maxLength: COUNT })

const OPEN = ids.slice(0, COUNT)
const project = (): string =>
  projectOf(Object.fromEntries([...OPEN, ...CLOSED].map((id) => [id, [created(`cp-${id}`, `Anfang von ${id}`)]])))

interface Done extends Operation {
  session: string
  checkpointId: string
  answer: Answer
}

/** Makes each process perform its operations, one after the other. */
async function played(
  chats: string,
  racing: NameProcess[],
  operations: Operation[][],
  kills: (number | null)[] = [],
): Promise<Done[]> {
  await Promise.all(racing.map((one, at) => one.open(chats, OPEN[at]!)))
  await Promise.all(racing.map((one, at) => (typeof kills[at] === 'number' ? one.ask('arm', kills[at]) : undefined)))
  const all = racing.map(async (one, at) => {
    const done: Done[] = []
    for (const each of operations[at]!) {
      const session = each.place ?? OPEN[at]!
      const own = [
        `cp-${session}`,
        ...done.filter((other) => other.session === session).flatMap(({ answer }) => answer.value?.checkpointId ?? []),
      ]
      const checkpointId = own[each.checkpoint % own.length]!
      const named = {
        createCheckpoint: [each.name],
        renameCheckpoint: [checkpointId, each.name],
        deleteCheckpoint: [checkpointId],
        nameSession: [each.name],
      }[each.call]
      const options = each.call === 'deleteCheckpoint' ? [] : [{ overwrite: each.overwrite }]
      const answer = await one.call(chats, session, each.call, ...named, ...options)
      done.push({ ...each, session, checkpointId, answer })
    }
    return done
  })
  return (await Promise.all(all)).flat()
}

/** The names given according to the files, and according to the operations, as sorted texts. */
const shown = (session: string, type: string, ...more: unknown[]): string => JSON.stringify([session, type, ...more])
function given(chats: string): string[] {
  return [...OPEN, ...CLOSED]
    .flatMap((id) =>
      addedTo(chats, id, 3).flatMap(([type, payload]: [string, any]) => {
        if (type === 'checkpoint_created' || type === 'checkpoint_renamed')
          return [shown(id, type, payload.checkpointId, payload.name)]
        return type === 'session_named' && payload.name !== null ? [shown(id, type, payload.name)] : []
      }),
    )
    .sort()
}
function resolved(done: Done[]): string[] {
  return done
    .filter(({ answer, call }) => answer.value !== undefined && call !== 'deleteCheckpoint')
    .map(({ call, session, checkpointId, name, answer }) => {
      if (call === 'nameSession') return shown(session, 'session_named', name)
      return call === 'createCheckpoint'
        ? shown(session, 'checkpoint_created', answer.value.checkpointId, name)
        : shown(session, 'checkpoint_renamed', checkpointId, name)
    })
    .sort()
}

const EXPECTED_ERROR =
  /^(Error: (Name '.*' (already exists|changed while acquiring locks)|Checkpoint \S+ not found or deleted)|CheckpointLockError: Session \S+ is in use by another process)$/

describe('of several processes that save, rename, overwrite and delete', () => {
  let operations = 0
  let successes = 0

  test.prop([round], { numRuns: ROUNDS, endOnFailure: true })(
    'no name has two holders afterwards; operations that resolved are in their files, and those that rejected left nothing',
    async (plan) => {
      const chats = project()
      const racing = living(COUNT)
      const done = await played(chats, racing, plan)
      expect(lockedIn(chats)).toEqual(OPEN)
      const errors = done.flatMap(({ answer }) => answer.error ?? [])
      expect(errors.filter((error) => !EXPECTED_ERROR.test(error))).toEqual([])
      expect(given(chats)).toEqual(resolved(done))
      const deletions = done.filter(({ call, answer }) => call === 'deleteCheckpoint' && answer.value !== undefined)
      for (const { session, checkpointId } of deletions)
        expect(addedTo(chats, session, 3)).toContainEqual(['checkpoint_deleted', { checkpointId }])
      const holders = await holdersIn(chats)
      expect(Object.entries(holders).filter(([, all]) => all.length > 1)).toEqual([])
      await Promise.all(racing.map((one, at) => one.ask('close', chats, OPEN[at])))
      expect(locksIn(chats)).toEqual([])
      operations += done.length
      successes += done.length - errors.length
    },
    LIMIT_MS,
  )

  test('many of which succeed', () => {
    expect([operations >= ROUNDS * COUNT * 4, successes > operations / 4]).toEqual([true, true])
    if (process.env['NAME_ROUNDS'] !== undefined)
      console.log(`${ROUNDS} rounds of ${COUNT} processes: ${operations} operations, ${successes} successful`)
  })

  const kill = fc.oneof(fc.nat({ max: 60 }), fc.constant(null))
  // One in its first operation: the others may end before they have come so far.
  const kills = fc.tuple(fc.nat({ max: 5 }), ...Array<typeof kill>(COUNT - 1).fill(kill))
  let killed = 0
  let ambiguous = 0

  test.prop([round, kills], { numRuns: Math.ceil(ROUNDS / 2), endOnFailure: true })(
    'while some are killed, at most an interrupted overwrite leaves a name with several holders',
    async (plan, at) => {
      const chats = project()
      const racing = living(COUNT)
      const done = await played(chats, racing, plan, at)
      await Promise.all(racing.map((one) => one.ask('arm')))
      const interrupted = racing.filter((one) => one.hasEnded).length
      // An operation that was not answered may be in its file.
      const found = given(chats)
      for (const one of resolved(done)) expect(found).toContain(one)
      const unanswered = done.filter(({ answer }) => answer.ended)
      expect(found.length - resolved(done).length).toBeLessThanOrEqual(Math.min(interrupted, unanswered.length))
      const several = Object.entries(await holdersIn(chats)).filter(([, all]) => all.length > 1)
      const mayBeAmbiguous = unanswered
        .filter(({ overwrite, call }) => overwrite && call !== 'deleteCheckpoint')
        .map(({ name }) => name)
      expect(several.filter(([name]) => !mayBeAmbiguous.includes(name))).toEqual([])
      expect(several.length).toBeLessThanOrEqual(interrupted)
      await Promise.all(racing.map((one, n) => one.ask('close', chats, OPEN[n])))
      // The locks of killed processes block nothing, and the ambiguity can be resolved.
      for (const [name] of several) await nameSession(closed(chats, 'c0'), HASH, name, { overwrite: true })
      expect(Object.values(await holdersIn(chats)).filter((all) => all.length > 1)).toEqual([])
      await tape.cleanUpLocks(chats)
      // A process that was killed while it removed the guard of another leaves its mark, which keeps others off that guard until it is old. Those that
      // could not release a lock for that reason would try again only minutes later.
      if (hasMark(chats)) {
        await Promise.all(racing.map((one) => one.kill()))
        ageAll(chats, 6 * MINUTE)
        await tape.cleanUpLocks(chats)
      }
      expect(locksIn(chats).filter((name) => !name.endsWith('.locktmp'))).toEqual([])
      killed += interrupted
      ambiguous += several.length
    },
    LIMIT_MS,
  )

  test('of which some were killed', () => {
    if (process.env['NAME_ROUNDS'] !== undefined)
      console.log(`${Math.ceil(ROUNDS / 2)} rounds: ${killed} processes killed, ${ambiguous} names left ambiguous`)
    expect(killed).toBeGreaterThan(0)
  })
})

describe('a process that is killed while it overwrites a name', () => {
  const KINDS = ['closed', 'open'] as const

  /** The session `a` is to get the name that `b` and a checkpoint of `c` have. */
  async function prepared(one: NameProcess, kind: (typeof KINDS)[number]): Promise<string> {
    const chats = projectOf({ a: [], b: [named('x')], c: `${sessionText('c', [created('cp-c', 'x')])}` })
    appendFileSync(pathIn(chats, 'c'), '{"torn')
    if (kind === 'open') await one.open(chats, 'a')
    return chats
  }

  async function stepsOf(kind: (typeof KINDS)[number]): Promise<number> {
    const one = living(1)[0]!
    const chats = await prepared(one, kind)
    await one.ask('arm', 10_000)
    expect(await one.call(chats, 'a', 'createCheckpoint', 'x', { overwrite: true })).toMatchObject({
      value: { name: 'x' },
    })
    const { value } = await one.ask('arm')
    await one.ask('close', chats, 'a')
    return 10_000 - value
  }

  test.each(KINDS)(
    'leaves the name with one holder or several, at each step, and never without one: %s session',
    async (kind) => {
      const steps = await stepsOf(kind)
      expect(steps).toBeGreaterThan(10)
      const chosen = Array.from({ length: steps }, (_, at) => at)
      const left = new Set<string>()
      for (let from = 0; from < chosen.length; from += 4) {
        const some = chosen.slice(from, from + 4)
        const victims = living(some.length)
        const outcomes = await Promise.all(
          some.map(async (at, n) => {
            const chats = await prepared(victims[n]!, kind)
            await victims[n]!.ask('arm', at)
            const answer = await victims[n]!.call(chats, 'a', 'createCheckpoint', 'x', { overwrite: true })
            return { at, chats, answer }
          }),
        )
        for (const { at, chats, answer } of outcomes) {
          const { targets } = await listContinueTargets(chats, HASH)
          const found = resolveContinueRef('x', targets)
          const holders = 'target' in found ? (await holdersOf(chats, 'x')).join() : found.error
          expect({
            at,
            isKilled: answer.ended === true,
            isThere: 'target' in found || found.error === "Ambiguous continue target name 'x'",
          }).toEqual({ at, isKilled: true, isThere: true })
          left.add(holders)
          // The next process is not blocked, and can take the name.
          expect(await messageOf(createCheckpoint(closed(chats, 'b'), HASH, 'x', { overwrite: true }))).toContain(
            'resolved',
          )
          expect((await holdersOf(chats, 'x')).map((holder) => holder.split('/')[0])).toEqual(['b'])
          expect(recordsOf(pathIn(chats, 'a')).map(({ seq }, n) => seq === n + 1)).not.toContain(false)
        }
      }
      expect([...left]).toContain("Ambiguous continue target name 'x'")
    },
  )

  test.each(KINDS)('between giving and taking leaves it with all holders: %s session', async (kind) => {
    const one = living(1)[0]!
    const chats = await prepared(one, kind)
    await one.ask(
      'killBeforeAppend',
      ['b', 'c'].map((id) => pathIn(chats, id)),
    )
    expect(await one.call(chats, 'a', 'createCheckpoint', 'x', { overwrite: true })).toEqual({ ended: true })
    expect(await holdersOf(chats, 'x')).toEqual([expect.stringMatching(/^a\//), 'b', 'c/cp-c'])
    await nameSession(closed(chats, 'a'), HASH, 'x', { overwrite: true })
    expect([await holdersOf(chats, 'x'), locksIn(chats)]).toEqual([['a'], []])
  })

  async function holdersOf(chats: string, name: string): Promise<string[]> {
    return (await holdersIn(chats))[name] ?? []
  }
})
