/** Any collisions, with a failure at any step or at none; and how many bytes are read to give a name. */
import { readFileSync, renameSync } from 'node:fs'
import { afterEach, describe, expect, vi } from 'vitest'
import {
  bytesOf,
  closed,
  created,
  deleted,
  HASH,
  holdersIn,
  lockedIn,
  messageOf,
  named,
  opened,
  pathIn,
  type Place,
  projectOf,
  recordsOf,
  renamed,
  said,
  sessionText,
  tape,
} from '../support/naming'
import { isLinux } from '../support/processes'
import { fc, test } from '../support/property'
import { runs } from '../support/session-arbitraries'
import { content, type Event } from '../support/session-file'

const { createCheckpoint, deleteCheckpoint, nameSession, renameCheckpoint } = tape
const { prototype } = tape.SessionRecordingService

afterEach(() => void vi.restoreAllMocks())

/** The collisions of a session with the name `x`, and the text at the end of its file. */
interface Other {
  isNamed: boolean
  checkpoints: number
  isBlank: boolean
  tail: string
}
type Call = 'createCheckpoint' | 'renameCheckpoint' | 'nameSession'
type Failure = 'instead' | 'afterwards' | 'disposed'
interface Plan {
  kind: 'open' | 'closed'
  call: Call
  own: { isNamed: boolean; checkpoints: number }
  others: Other[]
  step: number
  failure: Failure
}

const tail = fc.constantFrom('', '', '{', '{"v":1,"seq":99,"type":"content"', '\ufeff{"ü', 'null')
const plan = fc.record<Plan>({
  kind: fc.constantFrom('open', 'closed'),
  call: fc.constantFrom('createCheckpoint', 'renameCheckpoint', 'nameSession'),
  own: fc.record({ isNamed: fc.boolean(), checkpoints: fc.nat({ max: 1 }) }),
  others: fc.array(
    fc.record<Other>({ isNamed: fc.boolean(), checkpoints: fc.nat({ max: 2 }), isBlank: fc.boolean(), tail }),
    { maxLength: 3 },
  ),
  step: fc.nat({ max: 8 }),
  failure: fc.constantFrom('instead', 'afterwards', 'disposed'),
})

const x = (isBlank: boolean): string => (isBlank ? ' x\u3000' : 'x')
const checkpoints = (session: string, count: number, isBlank: boolean): Event[] =>
  Array.from({ length: count }, (_, at) => created(`cp-${session}-${at}`, x(isBlank)))

function prepared({ own, others }: Plan): string {
  const own_ = [
    created('cp-own', 'Anfang'),
    ...checkpoints('a', own.checkpoints, false),
    named(own.isNamed ? 'x' : 'ich'),
  ]
  const sessions = others.map(({ isNamed, checkpoints: count, isBlank, tail }, at) => {
    const id = `o${at}`
    return [id, sessionText(id, [...checkpoints(id, count, isBlank), named(isNamed ? x(isBlank) : `Nr. ${at}`)]) + tail]
  })
  return projectOf({ a: own_, ...Object.fromEntries(sessions) })
}

const give: Record<Call, (place: Place) => Promise<unknown>> = {
  createCheckpoint: (place) => createCheckpoint(place, HASH, 'x', { overwrite: true }),
  renameCheckpoint: (place) => renameCheckpoint(place, HASH, 'cp-own', 'x', { overwrite: true }),
  nameSession: (place) => nameSession(place, HASH, 'x', { overwrite: true }),
}

/** Makes one of the records of an operation fail, counted over all files. Returns a function that says whether it was reached. */
function failAt({ kind, step, failure }: Plan, place: Place): () => boolean {
  let at = 0
  let isReached = false
  const isNext = (): boolean => at++ === step && (isReached = true)
  // In a closed file: it is moved away while the writer wants to append.
  const { initializeForResume, dispose } = prototype
  let away: string | undefined
  vi.spyOn(prototype, 'initializeForResume').mockImplementation(function (this: typeof prototype, path, ...more) {
    if (isNext()) renameSync((away = path), `${path}.away`)
    return initializeForResume.call(this, path, ...more)
  })
  vi.spyOn(prototype, 'dispose').mockImplementation(async function (this: typeof prototype) {
    try {
      await dispose.call(this)
    } finally {
      if (away !== undefined) renameSync(`${away}.away`, away)
      away = undefined
    }
  })
  if (kind === 'closed') return () => isReached
  const recorder = place as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>
  for (const method of ['createCheckpoint', 'renameCheckpoint', 'deleteCheckpoint', 'setSessionName']) {
    const original = recorder[method]!
    recorder[method] = async (...args) => {
      if (!isNext()) return original(...args)
      if (failure === 'afterwards') await original(...args)
      if (failure === 'disposed') void recorder['dispose']!()
      throw new Error('Nein!')
    }
  }
  return () => isReached
}

describe('overwriting a name', () => {
  test.prop([plan], { ...runs(60), endOnFailure: true })(
    'gives it to one holder, or leaves each name with its holder and each closed file unchanged',
    async (plan) => {
      const chats = prepared(plan)
      const place = plan.kind === 'open' ? await opened(chats, 'a') : closed(chats, 'a')
      const [before, holders] = [bytesOf(chats), await holdersIn(chats)]
      const isReached = failAt(plan, place)
      const outcome = await messageOf(give[plan.call](place))
      vi.restoreAllMocks()
      if (!('filePath' in place)) {
        place.recordContent(said('weiter'))
        await place.dispose()
      }
      const after = bytesOf(chats)
      const now = await holdersIn(chats)
      const isDone = outcome.startsWith('resolved')
      // A method that rejects although the checkpoint is deleted has done its work.
      expect([outcome, isDone || isReached()]).toEqual([expect.stringMatching(/^(resolved|Error: )/), true])
      if (isDone) {
        expect(now['x']).toEqual([
          plan.call === 'nameSession'
            ? 'a'
            : plan.call === 'renameCheckpoint'
              ? 'a/cp-own'
              : expect.stringMatching(/^a\/[0-9a-f-]{36}$/),
        ])
      } else {
        expect(now).toEqual(holders)
        for (const name of Object.keys(before))
          if (plan.kind === 'closed' || name !== 'session-a.jsonl')
            expect([name, after[name]]).toEqual([name, before[name]])
      }
      for (const name of Object.keys(before)) expect(after[name]!.startsWith(before[name]!)).toBe(true)
      expect(recordsOf(pathIn(chats, 'a')).map(({ seq }, at) => seq - at)).not.toContain(0)
      expect(lockedIn(chats)).toEqual([])
    },
  )
})

/** A change of a name in one of three sessions. */
interface Change {
  call: Call | 'deleteCheckpoint' | 'removeName'
  session: number
  name: string
  checkpoint: number
  overwrite: boolean
}
const change = fc.record<Change>({
  call: fc.constantFrom(
    'createCheckpoint',
    'createCheckpoint',
    'renameCheckpoint',
    'nameSession',
    'deleteCheckpoint',
    'removeName',
  ),
  session: fc.nat({ max: 2 }),
  name: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom('rot', 'grün', ' blau ', 'latest', '7', '') },
    { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 6 }) },
  ),
  checkpoint: fc.nat({ max: 4 }),
  overwrite: fc.boolean(),
})

describe('a sequence of changes', () => {
  const SESSIONS = ['s0', 's1', 's2']

  test.prop([fc.array(change, { minLength: 1, maxLength: 14 })], { ...runs(25), endOnFailure: true })(
    'leaves the names that a model has, in one open and two closed sessions',
    async (changes) => {
      const chats = projectOf(Object.fromEntries(SESSIONS.map((id) => [id, []])))
      const recorder = await opened(chats, 's0')
      /** The names, by their holders: a session's id, or the ids of a session and a checkpoint. */
      const model = new Map<string, string>()
      const all: string[][] = SESSIONS.map(() => [])
      for (const { call, session, name, checkpoint, overwrite } of changes) {
        const id = SESSIONS[session]!
        const place = id === 's0' ? recorder : closed(chats, id)
        const cp = all[session]![checkpoint % (all[session]!.length + 1)] ?? 'cp-niemals'
        const calls = {
          createCheckpoint: () => createCheckpoint(place, HASH, name, { overwrite }),
          renameCheckpoint: () => renameCheckpoint(place, HASH, cp, name, { overwrite }),
          nameSession: () => nameSession(place, HASH, name, { overwrite }),
          deleteCheckpoint: () => deleteCheckpoint(place, HASH, cp),
          removeName: () => nameSession(place, HASH, null),
        }
        let made = ''
        const outcome = await (calls[call]() as Promise<{ checkpointId: string } | undefined>).then(
          (value) => ((made = value?.checkpointId ?? ''), 'done'),
          ({ message }: Error) => message,
        )
        const holder =
          call === 'nameSession' || call === 'removeName' ? id : `${id}/${call === 'createCheckpoint' ? made : cp}`
        const trimmed = name.trim()
        const isLive = model.has(`${id}/${cp}`)
        const givesName = call !== 'deleteCheckpoint' && call !== 'removeName'
        const has = [...model].filter(([one, given]) => given === trimmed && one !== holder).map(([one]) => one)
        const isId = [...SESSIONS, ...[...model.keys()].flatMap((one) => one.split('/')[1] ?? [])].includes(trimmed)
        const expected =
          givesName && trimmed === ''
            ? 'Name must not be empty'
            : givesName && (trimmed === 'latest' || /^[0-9]+$/.test(trimmed))
              ? `Name '${trimmed}' is reserved`
              : (call === 'renameCheckpoint' || call === 'deleteCheckpoint') && !isLive
                ? `Checkpoint ${cp} not found or deleted`
                : givesName && (isId || (has.length > 0 && !overwrite))
                  ? `Name '${trimmed}' already exists`
                  : givesName && id !== 's0' && has.some((one) => one.split('/')[0] === 's0')
                    ? 'Session s0 is in use by another process'
                    : 'done'
        expect([call, name, outcome]).toEqual([call, name, expected])
        if (outcome !== 'done') continue
        if (givesName) for (const one of has) model.delete(one)
        if (givesName) model.set(holder, trimmed)
        else model.delete(holder)
        if (call === 'createCheckpoint') all[session]!.push(made)
      }
      const expected: Record<string, string[]> = {}
      for (const [holder, name] of model) expected[name] = [holder]
      expect(await holdersIn(chats)).toEqual(expected)
      expect(lockedIn(chats)).toEqual(['s0'])
      await recorder.dispose()
      for (const id of SESSIONS) expect(recordsOf(pathIn(chats, id)).every(({ seq }, at) => seq === at + 1)).toBe(true)
    },
  )
})

describe.skipIf(!isLinux)('the bytes read for a name (where the system counts them)', () => {
  const SIZE = 1_000_000
  const COUNT = 8
  const bytesRead = (): number => Number(/rchar: (\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))![1])

  /** The number of bytes that an operation reads, as a multiple of the size of a session. */
  async function readBy(operation: () => Promise<unknown>): Promise<number> {
    const start = bytesRead()
    await operation()
    return Math.round((10 * (bytesRead() - start)) / SIZE) / 10
  }

  function project(): string {
    const big = content('Ä'.repeat(SIZE / 2))
    const ids = Array.from({ length: COUNT }, (_, at) => `s${at}`)
    return projectOf(
      Object.fromEntries(
        ids.map((id, at) => [
          id,
          sessionText(
            id,
            [
              created(`cp-${id}`, `Anfang ${at}`),
              renamed(`cp-${id}`, `Nr. ${at}`),
              ...(at === 3 ? [named('x')] : []),
              ...(at === 4 ? [created('cp-x', 'x'), deleted('cp-x')] : []),
            ],
            big,
          ),
        ]),
      ),
    )
  }

  /** An allowance for headers, locks and the test runner: the first lines of the files are small. */
  const LITTLE = 0.9

  test('amount to each session once for a closed session, and to holders of the name once more', async () => {
    const chats = project()
    const place = closed(chats, 's0')
    for (const operation of [
      () => createCheckpoint(place, HASH, 'neu'),
      () => renameCheckpoint(place, HASH, 'cp-s0', 'alt'),
      () => nameSession(place, HASH, 'ich'),
    ]) {
      const read = await readBy(operation)
      expect([read, read >= COUNT, read < COUNT + LITTLE]).toEqual([read, true, true])
    }
    const read = await readBy(() => nameSession(place, HASH, 'x', { overwrite: true }))
    expect([read, read >= COUNT + 1, read < COUNT + 1 + LITTLE]).toEqual([read, true, true])
  })

  test('include the own session once more for a checkpoint of an open session, whose history the recorder checks', async () => {
    const chats = project()
    const recorder = await opened(chats, 's0')
    const read = await readBy(() => createCheckpoint(recorder, HASH, 'neu'))
    expect([read, read < COUNT + 1 + LITTLE]).toEqual([read, true])
    const again = await readBy(() => nameSession(recorder, HASH, 'ich'))
    expect([again, again < COUNT + LITTLE]).toEqual([again, true])
  })

  test('amount to the own session alone for the removal of a name', async () => {
    const place = closed(project(), 's0')
    for (const operation of [() => deleteCheckpoint(place, HASH, 'cp-s0'), () => nameSession(place, HASH, null)]) {
      const read = await readBy(operation)
      expect([read, read < 1 + LITTLE]).toEqual([read, true])
    }
  })
})
