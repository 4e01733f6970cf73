/** Names that are taken from their holders: which locks are held, in which order things happen, and what remains if something fails in the middle. */
import { appendFileSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import fsPromises from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename } from 'node:path'
import { afterEach, describe, expect, vi } from 'vitest'
import {
  addedTo,
  bytesOf,
  closed,
  created,
  deleted,
  eachPlace,
  HASH,
  holdersIn,
  locked,
  lockedIn,
  locksIn,
  messageOf,
  named,
  NAME_LOCK,
  opened,
  pathIn,
  type Place,
  projectOf,
  type Recorder,
  recordsOf,
  renamed,
  said,
  sessionText,
  tape,
} from '../support/naming'
import { childReport, isLinux, mountNamespace } from '../support/processes'
import { test } from '../support/property'
import { content, envelope } from '../support/session-file'
import { LockProcess } from '../support/session-locks'

const { CheckpointLockError, createCheckpoint, nameSession, renameCheckpoint } = tape
const { native: binding } = createRequire(import.meta.url)('../../dist/addon.js') as {
  native: { fileIdentities(paths: string[]): Promise<string> }
}
const { fileIdentities } = binding

afterEach(() => {
  vi.restoreAllMocks()
  binding.fileIdentities = fileIdentities
})

const OVERWRITE = { overwrite: true }
const OWN = [created('cp-own', 'Anfang')]
const GIVE: Record<string, (place: Place, name?: string) => Promise<unknown>> = {
  createCheckpoint: (place, name = 'x') => createCheckpoint(place, HASH, name, OVERWRITE),
  renameCheckpoint: (place, name = 'x') => renameCheckpoint(place, HASH, 'cp-own', name, OVERWRITE),
  nameSession: (place, name = 'x') => nameSession(place, HASH, name, OVERWRITE),
}
const eachGive = Object.entries(GIVE)
const left = (place: Place): string[] => ('filePath' in place ? [] : [place.getSessionId()])

/** Calls `then` when the lock of a session is acquired for the first time. */
function whenLocked(sessionId: string, then: () => void): void {
  const { link } = fsPromises
  vi.spyOn(fsPromises, 'link').mockImplementation(async (from, to) => {
    await link(from, to)
    if (basename(String(to)) === `${sessionId}.lock`) then()
  })
}

/** Calls `then` when a record is about to be appended to a session's file for the first time. */
function beforeAppend(chats: string, sessionId: string, then: () => void): void {
  const { stat } = fsPromises
  let isFirst = true
  vi.spyOn(fsPromises, 'stat').mockImplementation((async (path: string, options: object) => {
    const found = await stat(path, options)
    if (isFirst && path === pathIn(chats, sessionId)) {
      isFirst = false
      then()
    }
    return found
  }) as typeof stat)
}

/** Makes a session the oldest one, from which the name is taken last. */
const makeLast = (chats: string, sessionId: string): void => utimesSync(pathIn(chats, sessionId), 1, 1)

describe.each(eachPlace)('in %s', (_kind, placeIn) => {
  test.each(eachGive)('%s takes the name from all its holders, and changes nothing else', async (_, give) => {
    const chats = projectOf({
      a: OWN,
      b: [created('cp-b', ' x '), created('cp-other', 'y'), named('zweite')],
      c: [named('x'), created('cp-c1', 'x'), created('cp-c2', 'x'), created('cp-gone', 'x'), deleted('cp-gone')],
      d: [named('X')],
    })
    const place = await placeIn(chats, 'a')
    const untouched = bytesOf(chats)['session-d.jsonl']
    await give(place)
    expect(addedTo(chats, 'b', 5)).toEqual([['checkpoint_deleted', { checkpointId: 'cp-b' }]])
    expect(addedTo(chats, 'c', 7)).toEqual([
      ['session_named', { name: null }],
      ['checkpoint_deleted', { checkpointId: 'cp-c1' }],
      ['checkpoint_deleted', { checkpointId: 'cp-c2' }],
    ])
    expect(recordsOf(pathIn(chats, 'c')).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    expect(bytesOf(chats)['session-d.jsonl']).toBe(untouched)
    expect((await holdersIn(chats))['x']).toHaveLength(1)
    expect(lockedIn(chats)).toEqual(left(place))
  })

  test('the session itself loses the name too, last, after it was given', async () => {
    const chats = projectOf({ a: [...OWN, created('cp-x', 'x'), named('x')], b: [named('x')] })
    const place = await placeIn(chats, 'a')
    const { checkpointId } = await createCheckpoint(place, HASH, 'x', OVERWRITE)
    expect(addedTo(chats, 'a', 5)).toEqual([
      ['checkpoint_created', { checkpointId, name: 'x' }],
      ['session_named', { name: null }],
      ['checkpoint_deleted', { checkpointId: 'cp-x' }],
    ])
    expect(await holdersIn(chats)).toEqual({ Anfang: ['a/cp-own'], x: [`a/${checkpointId}`] })
    await nameSession(place, HASH, 'Anfang', OVERWRITE)
    expect(addedTo(chats, 'a', 8)).toEqual([
      ['session_named', { name: 'Anfang' }],
      ['checkpoint_deleted', { checkpointId: 'cp-own' }],
    ])
    await renameCheckpoint(place, HASH, checkpointId, 'Anfang', OVERWRITE)
    expect(addedTo(chats, 'a', 10)).toEqual([
      ['checkpoint_renamed', { checkpointId, name: 'Anfang' }],
      ['session_named', { name: null }],
    ])
  })

  test.each(eachGive)(
    '%s locks the others in the order of their ids, and releases all in reverse order',
    async (_, give) => {
      const chats = projectOf({
        a: OWN,
        'm-2': [named('x')],
        B: [named('x')],
        k: [named('x'), created('cp-k', 'x')],
        z: [named('y')],
      })
      const place = await placeIn(chats, 'a')
      const events: string[] = []
      const { link, unlink } = fsPromises
      const lockName = (path: unknown): string | undefined => /([^/]+)\.lock$/.exec(String(path))?.[1]
      const seen = (sign: string, path: unknown): void =>
        void (lockName(path) !== undefined && events.push(sign + lockName(path)))
      vi.spyOn(fsPromises, 'link').mockImplementation(async (from, to) => (await link(from, to), seen('+', to)))
      vi.spyOn(fsPromises, 'unlink').mockImplementation(async (path) => (await unlink(path), seen('-', path)))
      let during: string[] = []
      beforeAppend(chats, 'B', () => void (during = lockedIn(chats)))
      await give(place)
      const own = left(place).length === 0 ? ['a'] : []
      const all = [NAME_LOCK, ...own, 'B', 'k', 'm-2']
      expect(during).toEqual([...all, ...left(place)].sort())
      expect(events).toEqual([...all.map((id) => `+${id}`), ...[...all].reverse().map((id) => `-${id}`)])
    },
  )

  test.each(eachGive)('%s changes nothing if one of the others is in use', async (_, give) => {
    const chats = projectOf({ a: OWN, b: [named('x')], c: [created('cp-c', 'x')], d: [named('x')] })
    const place = await placeIn(chats, 'a')
    const before = bytesOf(chats)
    const holder = new LockProcess()
    await holder.acquire(chats, 'c')
    const error = await give(place).catch((caught: Error) => caught)
    expect(error).toBeInstanceOf(CheckpointLockError)
    expect(error).toMatchObject({
      message: 'Session c is in use by another process',
      cause: { code: 'ESESSIONLOCKED' },
    })
    expect([bytesOf(chats), lockedIn(chats)]).toEqual([before, [...left(place), 'c'].sort()])
    await holder.kill()
    await give(place)
    expect((await holdersIn(chats))['x']).toHaveLength(1)
  })

  describe('a change while the others are being locked', () => {
    /** The outcome of naming the session `x`, which `b` and `d` have, when something happens as soon as `b` is locked. */
    async function meanwhile(
      happens: (chats: string, place: Place) => void,
    ): Promise<{ chats: string; place: Place; outcome: string }> {
      const chats = projectOf({ a: OWN, b: [named('x')], c: [], d: [named('x')] })
      const place = await placeIn(chats, 'a')
      whenLocked('b', () => happens(chats, place))
      const outcome = await messageOf(nameSession(place, HASH, 'x', OVERWRITE))
      expect(lockedIn(chats)).toEqual(left(place))
      return { chats, place, outcome }
    }
    const record = (chats: string, id: string, ...events: Parameters<typeof envelope>[1][]): void =>
      events.forEach((event, at) => appendFileSync(pathIn(chats, id), `${envelope(20 + at, event)}\n`))
    const CHANGED = "Error: Name 'x' changed while acquiring locks"

    test('that gives the name to a session that is not locked ends the operation', async () => {
      const { chats, outcome } = await meanwhile((chats) => record(chats, 'c', created('cp-c', 'x')))
      expect(outcome).toBe(CHANGED)
      expect(await holdersIn(chats)).toMatchObject({ x: ['b', 'c/cp-c', 'd'] })
    })

    test('that takes the name from a session leaves that session alone', async () => {
      const { chats, outcome } = await meanwhile((chats) => record(chats, 'd', named('dritte')))
      expect(outcome).toBe('resolved to undefined')
      expect(addedTo(chats, 'd', 4)).toEqual([])
      expect((await holdersIn(chats))['dritte']).toEqual(['d'])
    })

    test('that removes a session or makes it sequence-corrupt excludes it', async () => {
      const { chats, outcome } = await meanwhile((chats) => {
        rmSync(pathIn(chats, 'b'))
        record(chats, 'd', content('zwanzig'), content('einundzwanzig'))
        appendFileSync(pathIn(chats, 'd'), `${envelope(3, content('wieder drei'))}\n`)
      })
      expect(outcome).toBe('resolved to undefined')
      expect(recordsOf(pathIn(chats, 'd'))).toHaveLength(6)
    })
  })

  test.each(eachGive)('%s leaves every file as it was if a file is gone when it is its turn', async (_, give) => {
    const chats = projectOf({
      a: OWN,
      b: `${sessionText('b', [named('x'), created('cp-b', 'x')])}{"v":1,"se`,
      c: [named('x')],
    })
    const place = await placeIn(chats, 'a')
    makeLast(chats, 'c')
    const { 'session-c.jsonl': lost, ...before } = bytesOf(chats)
    beforeAppend(chats, 'c', () => rmSync(pathIn(chats, 'c')))
    expect(await messageOf(give(place))).toContain(pathIn(chats, 'c'))
    vi.restoreAllMocks()
    const after = bytesOf(chats)
    expect(after['session-b.jsonl']).toBe(before['session-b.jsonl'])
    if ('filePath' in place) expect(after).toEqual(before)
    else expect(after['session-a.jsonl']!.startsWith(before['session-a.jsonl']!)).toBe(true)
    writeFileSync(pathIn(chats, 'c'), lost!, 'latin1')
    expect(await holdersIn(chats)).toEqual({ Anfang: ['a/cp-own'], x: ['b', 'b/cp-b', 'c'] })
    expect(lockedIn(chats)).toEqual(left(place))
  })

  test('a file that was replaced in the meantime is not truncated', async () => {
    const chats = projectOf({ a: OWN, b: [named('x')], c: [named('x')] })
    const place = await placeIn(chats, 'a')
    makeLast(chats, 'c')
    const replacement = sessionText('b', [named('x'), content('lang und länger')])
    beforeAppend(chats, 'c', () => {
      writeFileSync(`${pathIn(chats, 'b')}.new`, replacement)
      renameSync(`${pathIn(chats, 'b')}.new`, pathIn(chats, 'b'))
      rmSync(pathIn(chats, 'c'))
    })
    const error = (await nameSession(place, HASH, 'x', OVERWRITE).catch((caught: Error) => caught)) as AggregateError
    expect(error).toBeInstanceOf(AggregateError)
    expect([error.message, error.errors.length]).toEqual(['Checkpoint overwrite rollback failed', 2])
    expect(String(error.errors[0])).toContain(`could not append to '${pathIn(chats, 'c')}'`)
    expect(error.errors.map(String)).toContain(`Error: Another file is in the place of '${pathIn(chats, 'b')}'`)
    expect(readFileSync(pathIn(chats, 'b'), 'utf8')).toBe(replacement)
    expect((await holdersIn(chats))['x']).toEqual(['b'])
    expect(lockedIn(chats)).toEqual(left(place))
  })
})

describe('in an open session, when a step fails', () => {
  type Method = 'createCheckpoint' | 'renameCheckpoint' | 'deleteCheckpoint' | 'setSessionName'

  /** Makes a method of a recorder fail once: instead of recording, or after it. */
  function failOnce(
    recorder: Recorder,
    method: Method,
    recordsAllTheSame: boolean,
    also: () => unknown = () => {},
  ): void {
    const original = recorder[method] as (...args: unknown[]) => Promise<unknown>
    const failing = async (...args: unknown[]): Promise<never> => {
      Object.assign(recorder, { [method]: original })
      if (recordsAllTheSame) await original(...args)
      await also()
      throw new Error(`${method} failed`)
    }
    Object.assign(recorder, { [method]: failing })
  }

  /** Records without pause until the returned function is called, which resolves to the recorded texts. */
  function recordAlways(recorder: Recorder): () => Promise<string[]> {
    const texts: string[] = []
    let isOver = false
    const turn = (): void => {
      if (isOver || recorder.enqueue('content', { content: said(`Satz ${texts.length} – ${'ü'.repeat(50)}`) }) === null)
        return
      texts.push(`Satz ${texts.length} – ${'ü'.repeat(50)}`)
      setImmediate(turn)
    }
    turn()
    return async () => {
      isOver = true
      await recorder.flush()
      return texts
    }
  }

  const recorded = (chats: string): string[] =>
    recordsOf(pathIn(chats, 'a'))
      .filter(({ type }) => type === 'content')
      .slice(1)
      .map(({ payload }) => payload.content.blocks[0].text)
  const ascends = (chats: string): boolean => recordsOf(pathIn(chats, 'a')).every(({ seq }, at) => seq === at + 1)

  const STEPS: [string, string, Method, boolean][] = [
    ['giving', 'createCheckpoint', 'createCheckpoint', false],
    ['giving', 'createCheckpoint', 'createCheckpoint', true],
    ['giving', 'renameCheckpoint', 'renameCheckpoint', false],
    ['giving', 'renameCheckpoint', 'renameCheckpoint', true],
    ['giving', 'nameSession', 'setSessionName', false],
    ['giving', 'nameSession', 'setSessionName', true],
    ['taking the name from the session', 'createCheckpoint', 'setSessionName', false],
    ['taking the name from the session', 'createCheckpoint', 'setSessionName', true],
    ['taking the name from the session', 'renameCheckpoint', 'setSessionName', true],
    ['taking the name from a checkpoint', 'createCheckpoint', 'deleteCheckpoint', false],
    ['taking the name from a checkpoint', 'renameCheckpoint', 'deleteCheckpoint', false],
    ['taking the name from a checkpoint', 'nameSession', 'deleteCheckpoint', false],
  ]

  test.each(STEPS)(
    '%s by %s (%s; recorded anyway: %s): each name stays with its holder, and no record is lost',
    async (_, give, method, recordsAllTheSame) => {
      const own = give === 'nameSession' ? [named('alt'), created('cp-x', 'x')] : [named('x'), created('cp-x', 'x')]
      const chats = projectOf({ a: [...OWN, ...own], b: `${sessionText('b', [created('cp-b', 'x')])}{"to` })
      const recorder = await opened(chats, 'a')
      const [before, names] = [bytesOf(chats), await holdersIn(chats)]
      const end = recordAlways(recorder)
      failOnce(recorder, method, recordsAllTheSame)
      expect(await messageOf(GIVE[give]!(recorder))).toBe(`Error: ${method} failed`)
      const texts = await end()
      expect(texts.length).toBeGreaterThan(1)
      expect(recorded(chats)).toEqual(texts)
      expect([ascends(chats), await holdersIn(chats), lockedIn(chats)]).toEqual([true, names, ['a']])
      expect(bytesOf(chats)['session-b.jsonl']).toBe(before['session-b.jsonl'])
    },
  )

  test('a checkpoint that was deleted although the method rejects stays deleted: it cannot be restored', async () => {
    const chats = projectOf({ a: [created('cp-x', 'x')] })
    const recorder = await opened(chats, 'a')
    failOnce(recorder, 'deleteCheckpoint', true)
    const { checkpointId } = await createCheckpoint(recorder, HASH, 'x', OVERWRITE)
    expect(await holdersIn(chats)).toEqual({ x: [`a/${checkpointId}`] })
  })

  test('a blank former name counts as no name', async () => {
    const chats = projectOf({ a: [named(' '), created('cp-x', 'x')] })
    const recorder = await opened(chats, 'a')
    failOnce(recorder, 'deleteCheckpoint', false)
    expect(await messageOf(nameSession(recorder, HASH, 'x', OVERWRITE))).toBe('Error: deleteCheckpoint failed')
    expect(addedTo(chats, 'a', 4)).toEqual([
      ['session_named', { name: 'x' }],
      ['session_named', { name: null }],
    ])
  })

  test('and undoing it fails too, both errors are reported, and other files are restored anyway', async () => {
    const chats = projectOf({ a: [created('cp-x', 'x')], b: [named('x')] })
    const recorder = await opened(chats, 'a')
    const before = bytesOf(chats)['session-b.jsonl']
    recorder.deleteCheckpoint = async (id) => {
      throw new Error(`no ${id}`)
    }
    const error = (await nameSession(recorder, HASH, 'neu')
      .then(() => createCheckpoint(recorder, HASH, 'x', OVERWRITE))
      .catch((caught: Error) => caught)) as AggregateError
    expect(error).toBeInstanceOf(AggregateError)
    expect([error.message, error.errors.map(({ message }: Error) => message)]).toEqual([
      'Checkpoint overwrite rollback failed',
      ['no cp-x', expect.stringMatching(/^no [0-9a-f-]{36}$/)],
    ])
    expect(bytesOf(chats)['session-b.jsonl']).toBe(before)
    expect(lockedIn(chats)).toEqual(['a'])
  })

  test.each(eachGive)(
    'because the recorder was disposed of, %s is undone by an append after its last record',
    async (_, give) => {
      const own = _ === 'nameSession' ? [named('alt'), created('cp-x', 'x')] : [named('x'), created('cp-x', 'x')]
      const chats = projectOf({ a: [...OWN, ...own], b: [named('x')] })
      const recorder = await opened(chats, 'a')
      const [names, other] = [await holdersIn(chats), bytesOf(chats)['session-b.jsonl']]
      let disposed: Promise<void> | undefined
      failOnce(recorder, 'deleteCheckpoint', false, () => {
        for (let at = 0; at < 500; at++) recorder.recordContent(said(`Satz ${at} ${'é'.repeat(2000)}`))
        disposed = recorder.dispose()
      })
      expect(await messageOf(give(recorder))).toBe('Error: deleteCheckpoint failed')
      await disposed
      expect(recorded(chats)).toHaveLength(500)
      expect([ascends(chats), await holdersIn(chats), locksIn(chats)]).toEqual([true, names, []])
      expect(bytesOf(chats)['session-b.jsonl']).toBe(other)
    },
  )

  test('because the recorder was disposed of, and another process has taken the session, both errors are reported', async () => {
    const chats = projectOf({ a: [...OWN, created('cp-x', 'x')] })
    const recorder = await opened(chats, 'a')
    const holder = new LockProcess()
    failOnce(recorder, 'deleteCheckpoint', false, async () => {
      await recorder.dispose()
      await holder.acquire(chats, 'a')
    })
    const error = (await GIVE['renameCheckpoint']!(recorder).catch((caught: Error) => caught)) as AggregateError
    expect(error.errors.map(String)).toEqual([
      'Error: deleteCheckpoint failed',
      'CheckpointLockError: Session a is in use by another process',
    ])
    expect(lockedIn(chats)).toEqual(['a'])
    await holder.kill()
    await renameCheckpoint(closed(chats, 'a'), HASH, 'cp-own', 'Anfang', OVERWRITE)
    expect(await holdersIn(chats)).toEqual({ Anfang: ['a/cp-own'], x: ['a/cp-x'] })
  })

  test('because the recording has failed, no rejection is unhandled and the lock stays until it is disposed of', async () => {
    const unhandled = vi.fn()
    process.on('unhandledRejection', unhandled)
    const chats = projectOf({ a: OWN, b: [named('x')] })
    const recorder = await opened(chats, 'a', { onWarning: () => {} })
    const before = bytesOf(chats)['session-b.jsonl']
    failOnce(recorder, 'createCheckpoint', false, () => {
      renameSync(pathIn(chats, 'a'), `${pathIn(chats, 'a')}.away`)
      recorder.recordContent(said('ins Leere'))
    })
    expect(await messageOf(createCheckpoint(recorder, HASH, 'x', OVERWRITE))).toBe('Error: createCheckpoint failed')
    expect([recorder.isActive(), bytesOf(chats)['session-b.jsonl'], lockedIn(chats)]).toEqual([false, before, ['a']])
    await recorder.dispose().catch(() => {})
    await new Promise((resolve) => setImmediate(resolve))
    process.off('unhandledRejection', unhandled)
    expect([locksIn(chats), unhandled.mock.calls]).toEqual([[], []])
  })

  test('before the session had a file, its name is removed again', async () => {
    const chats = projectOf({ b: [named('x')] })
    const recorder = await locked(chats, 'a')
    const before = bytesOf(chats)['session-b.jsonl']
    failOnce(recorder, 'setSessionName', true)
    expect(await messageOf(nameSession(recorder, HASH, 'x', OVERWRITE))).toBe('Error: setSessionName failed')
    expect(recordsOf(recorder.getFilePath()!).slice(1)).toMatchObject([
      { payload: { name: 'x' } },
      { payload: { name: null } },
    ])
    expect(bytesOf(chats)['session-b.jsonl']).toBe(before)
  })
})

describe.skipIf(!isLinux)('a file that may not grow (RLIMIT_FSIZE)', () => {
  interface Outcome {
    outcome: string
    isAsBefore: boolean
    names: boolean
    locks: string[]
    unhandled: string[]
  }

  test.each(['closed', 'open'])(
    'ends an overwrite with an error, and each name stays with its holder: %s session',
    async (kind) => {
      const chats = projectOf({})
      const outcomes = await childReport<Record<string, Outcome>>('child-names-faults.mjs', ['limited', chats, kind], {
        wrapper: ['prlimit', '--fsize=65536', '--'],
      })
      expect(Object.keys(outcomes)).toEqual(['createCheckpoint', 'renameCheckpoint', 'nameSession'])
      for (const [call, found] of Object.entries(outcomes)) {
        expect({ call, ...found }).toEqual({
          call,
          outcome: expect.stringMatching(/^Error: EFBIG: .*session-c\.jsonl'$/),
          isAsBefore: true,
          names: true,
          locks: [],
          unhandled: [],
        })
      }
    },
  )
})

describe.skipIf(mountNamespace === null)('a full disk (where name spaces are allowed)', () => {
  interface Outcome {
    outcome: string
    isAsBefore: boolean
    locks: string[]
    unhandled: string[]
  }
  const run = (scenario: string, kind: string): Promise<Record<string, Outcome>> =>
    childReport('child-names-faults.mjs', [scenario, projectOf({}), kind], { wrapper: mountNamespace! })
  const CALLS = ['createCheckpoint', 'renameCheckpoint', 'nameSession', 'deleteCheckpoint', 'removeName']

  test.each([
    ['noRoomForALock', /^CheckpointLockError: Failed to acquire lock for session \S+: ENOSPC: /],
    ['noRoomForARecord', /^Error: ENOSPC: could not append to '.*session-a\.jsonl'$/],
  ])('ends an operation with an error, leaves a closed file as it was, and no lock: %s', async (scenario, message) => {
    const outcomes = await run(scenario, 'closed')
    expect(Object.keys(outcomes)).toEqual(CALLS)
    for (const [call, found] of Object.entries(outcomes)) {
      expect({ call, ...found }).toEqual({
        call,
        outcome: expect.stringMatching(message),
        isAsBefore: true,
        locks: [],
        unhandled: [],
      })
    }
  })
})

test('a checkpoint can be renamed to its former name', async () => {
  const chats = projectOf({ a: [...OWN, renamed('cp-own', 'jetzt')], b: [named('Anfang')] })
  await renameCheckpoint(closed(chats, 'a'), HASH, 'cp-own', 'Anfang', OVERWRITE)
  expect(await holdersIn(chats)).toEqual({ Anfang: ['a/cp-own'] })
})
