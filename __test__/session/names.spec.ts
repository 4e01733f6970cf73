/** Names of sessions and checkpoints: given, refused and removed, in open and in closed sessions. */
import { linkSync, readFileSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, vi } from 'vitest'
import { fc, test } from '../support/property'
import { directoryOf } from '../support/file-directory'
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
  recordsOf,
  renamed,
  said,
  sessionText,
  tape,
} from '../support/naming'
import { newRecorder, recorderConfig } from '../support/recording'
import { content, envelope, file, rewind, start } from '../support/session-file'
import { lockOf, LockProcess, writeLock } from '../support/session-locks'

const {
  acquireSessionLock,
  checkSessionName,
  CheckpointLockError,
  createCheckpoint,
  deleteCheckpoint,
  listCheckpoints,
  nameSession,
  renameCheckpoint,
  SessionLockedError,
} = tape

afterEach(() => void vi.useRealTimers())

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const OWN = [created('cp-own', 'Anfang')]

/** Every function that gives a name. */
const GIVE: Record<string, (place: Place, name: string, options?: { overwrite?: boolean }) => Promise<unknown>> = {
  createCheckpoint: (place, name, options) => createCheckpoint(place, HASH, name, options),
  renameCheckpoint: (place, name, options) => renameCheckpoint(place, HASH, 'cp-own', name, options),
  nameSession: (place, name, options) => nameSession(place, HASH, name, options),
}
const REMOVE: Record<string, (place: Place) => Promise<unknown>> = {
  deleteCheckpoint: (place) => deleteCheckpoint(place, HASH, 'cp-own'),
  'nameSession with null': (place) => nameSession(place, HASH, null),
}
const eachGive = Object.entries(GIVE)
const eachCall = [
  ...eachGive.map(([call, give]) => [call, (place: Place) => give(place, 'neu')] as const),
  ...Object.entries(REMOVE),
]

const NO_CONTENT = 'Error: Cannot create checkpoint: conversation has no content yet'
const exists = (name: string): string => `Error: Name '${name}' already exists`
const isGone = (id: string): string => `Error: Checkpoint ${id} not found or deleted`

/** The locks that remain after an operation: an open session keeps its own. */
const left = (place: Place): string[] => ('filePath' in place ? [] : [place.getSessionId()])

/** The error of a promise that must reject with one of these functions' own. */
async function errorOf(promise: Promise<unknown>): Promise<Error> {
  const error = await promise.catch((caught: Error) => caught)
  expect(error).toBeInstanceOf(CheckpointLockError)
  return error as Error
}

describe.each(eachPlace)('in %s', (kind, placeIn) => {
  test('checkpoints are created, renamed and deleted, and the session is named, each by a record with the trimmed name', async () => {
    const chats = projectOf({ a: [] })
    const place = await placeIn(chats, 'a')
    const made = await createCheckpoint(place, HASH, ' vor dem Umbau 🏗\u3000')
    const { checkpointId } = made
    expect(made).toEqual({ checkpointId: expect.stringMatching(UUID), name: 'vor dem Umbau 🏗', sequence: 3 })
    expect(await renameCheckpoint(place, HASH, checkpointId, '\tneu\n')).toBeUndefined()
    expect(await deleteCheckpoint(place, HASH, checkpointId)).toBeUndefined()
    expect(await nameSession(place, HASH, ' Größe ')).toBeUndefined()
    expect(await nameSession(place, HASH, null)).toBeUndefined()
    expect(addedTo(chats, 'a')).toEqual([
      ['checkpoint_created', { checkpointId, name: 'vor dem Umbau 🏗' }],
      ['checkpoint_renamed', { checkpointId, name: 'neu' }],
      ['checkpoint_deleted', { checkpointId }],
      ['session_named', { name: 'Größe' }],
      ['session_named', { name: null }],
    ])
    expect(lockedIn(chats)).toEqual(left(place))
  })

  test.each(eachGive)(
    '%s refuses any name and any id that is in use, an id with overwrite too, and accepts former names',
    async (_, give) => {
      const chats = projectOf({
        a: OWN,
        b: [created('cp-b', 'Prüfung'), created('cp-gone', 'weg'), deleted('cp-gone'), named('einst'), named('zweite')],
      })
      const place = await placeIn(chats, 'a')
      const before = bytesOf(chats)
      for (const name of ['Prüfung', ' zweite ', 'a', 'b', 'cp-b', 'cp-own'])
        expect(await messageOf(give(place, name))).toBe(exists(name.trim()))
      for (const name of ['a', 'b', 'cp-b', 'cp-own'])
        expect(await messageOf(give(place, name, { overwrite: true }))).toBe(exists(name))
      expect([bytesOf(chats), lockedIn(chats)]).toEqual([before, left(place)])
      for (const name of ['weg', 'cp-gone', 'einst']) expect(await messageOf(give(place, name))).toContain('resolved')
    },
  )

  test.each(eachGive)(
    '%s ignores sessions that do not replay, are sequence-corrupt or belong to another project',
    async (_, give) => {
      const torn = sessionText('torn', [named('neu')]).replace('"provider":"anthropic"', '"provider":0')
      const corrupt = sessionText('corrupt') + `${envelope(2, named('neu'))}\n`
      const other = sessionText('other', [named('neu')]).replace(HASH, 'another')
      const chats = projectOf({ a: OWN, torn, corrupt, other, rubbish: 'neu\n' })
      writeFileSync(join(chats, 'not-recorded.jsonl'), sessionText('elsewhere', [named('neu')]))
      const place = await placeIn(chats, 'a')
      for (const name of ['neu', 'torn', 'corrupt', 'other'])
        expect(await messageOf(give(place, name))).toContain('resolved')
    },
  )

  test('names are compared exactly', async () => {
    const chats = projectOf({ a: [], b: [named('Größe')] })
    const place = await placeIn(chats, 'a')
    for (const name of ['größe', 'Gro\u0308ße', 'Größe 2']) await createCheckpoint(place, HASH, name)
    expect(Object.keys(await holdersIn(chats))).toHaveLength(4)
  })

  test('a checkpoint that is not live can be neither renamed nor deleted', async () => {
    const chats = projectOf({ a: [...OWN, deleted('cp-own')], b: [created('cp-b', 'zwei')] })
    const place = await placeIn(chats, 'a')
    const before = bytesOf(chats)
    for (const id of ['cp-own', 'cp-b', 'niemals']) {
      expect(await messageOf(renameCheckpoint(place, HASH, id, 'zwei', { overwrite: true }))).toBe(isGone(id))
      expect(await messageOf(deleteCheckpoint(place, HASH, id))).toBe(isGone(id))
    }
    expect([bytesOf(chats), lockedIn(chats)]).toEqual([before, left(place)])
  })

  test('a session without a history can get a name, but no checkpoint', async () => {
    const chats = projectOf({ a: sessionText('a', [rewind(9)]), b: [named('zwei')] })
    const place = await placeIn(chats, 'a')
    for (const name of ['neu', 'zwei'])
      expect(await messageOf(createCheckpoint(place, HASH, name, { overwrite: true }))).toBe(NO_CONTENT)
    expect(await holdersIn(chats)).toEqual({ zwei: ['b'] })
    await nameSession(place, HASH, 'ohne Worte')
    expect(lockedIn(chats)).toEqual(left(place))
  })

  test.each(eachCall)('%s rejects with the error of the replay if its own file does not replay', async (_, call) => {
    const chats = projectOf({ a: OWN })
    const place = await placeIn(chats, 'a')
    writeFileSync(pathIn(chats, 'a'), 'kein Anfang\n')
    expect(await messageOf(call(place))).toBe('Error: Missing or corrupt session_start event')
    writeFileSync(pathIn(chats, 'a'), sessionText('a', OWN).replace(HASH, 'fremd'))
    expect(await messageOf(call(place))).toBe(`Error: Project hash mismatch: expected ${HASH} got fremd`)
    unlinkSync(pathIn(chats, 'a'))
    expect(await messageOf(call(place))).toContain('ENOENT')
    expect(lockedIn(chats)).toEqual(left(place))
  })

  test('a project hash that is not a safe id has no name lock', async () => {
    const chats = projectOf({ a: sessionText('a', OWN).replace(HASH, '../h') })
    const place = await placeIn(chats, 'a')
    const unsafe = 'Unsafe session ID rejected: "checkpoint-namespace-../h"'
    for (const call of [
      () => createCheckpoint(place, '../h', 'neu'),
      () => renameCheckpoint(place, '../h', 'cp-own', 'neu'),
      () => nameSession(place, '../h', 'neu'),
    ]) {
      expect(await errorOf(call())).toMatchObject({
        name: 'CheckpointLockError',
        message: `Failed to acquire lock for session checkpoint-namespace-../h: ${unsafe}`,
        cause: { message: unsafe },
      })
    }
    await deleteCheckpoint(place, '../h', 'cp-own')
    await nameSession(place, '../h', null)
    expect(lockedIn(chats)).toEqual(left(place))
  })

  test('a file that has several names in the directory counts once', async () => {
    const chats = projectOf({
      a: [...OWN, named('ich')],
      b: [created('cp-b', 'zwei'), created('cp-c', 'zwei'), named('zwei')],
    })
    for (const id of ['a', 'b']) {
      symlinkSync(pathIn(chats, id), join(chats, `session-link-${id}.jsonl`))
      linkSync(pathIn(chats, id), join(chats, `session-hard-${id}.jsonl`))
    }
    const place = await placeIn(chats, 'a')
    await nameSession(place, HASH, 'ich')
    await renameCheckpoint(place, HASH, 'cp-own', 'Anfang')
    await createCheckpoint(place, HASH, 'zwei', { overwrite: true })
    expect(addedTo(chats, 'b', 5).sort()).toEqual([
      ['checkpoint_deleted', { checkpointId: 'cp-b' }],
      ['checkpoint_deleted', { checkpointId: 'cp-c' }],
      ['session_named', { name: null }],
    ])
    expect(recordsOf(pathIn(chats, 'b')).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
  })

  test('another session with the same id counts as another session, under the same lock', async () => {
    const chats = projectOf({ a: [], b: sessionText('a', [created('cp-b', 'zwei'), named('zwei')]) })
    const place = await placeIn(chats, 'a')
    expect(await messageOf(nameSession(place, HASH, 'zwei'))).toBe(exists('zwei'))
    await nameSession(place, HASH, 'zwei', { overwrite: true })
    expect(addedTo(chats, 'b', 4).sort()).toEqual([
      ['checkpoint_deleted', { checkpointId: 'cp-b' }],
      ['session_named', { name: null }],
    ])
    expect(lockedIn(chats)).toEqual(left(place))
  })
})

describe('an open session', () => {
  test('gives the name through the methods of the object that was passed in', async () => {
    const chats = projectOf({ a: OWN, b: [named('zwei')] })
    const recorder = await opened(chats, 'a')
    const calls: unknown[][] = []
    for (const method of [
      'flush',
      'createCheckpoint',
      'renameCheckpoint',
      'deleteCheckpoint',
      'setSessionName',
    ] as const) {
      const original = recorder[method] as (...args: unknown[]) => Promise<unknown>
      Object.assign(recorder, { [method]: (...args: unknown[]) => (calls.push([method, ...args]), original(...args)) })
    }
    const made = await createCheckpoint(recorder, HASH, ' eins ')
    expect(calls[0]).toEqual(['flush'])
    await renameCheckpoint(recorder, HASH, made.checkpointId, ' uno ')
    await nameSession(recorder, HASH, 'zwei', { overwrite: true })
    await createCheckpoint(recorder, HASH, 'zwei', { overwrite: true })
    await renameCheckpoint(recorder, HASH, 'cp-own', 'uno', { overwrite: true })
    await deleteCheckpoint(recorder, HASH, 'cp-own')
    await nameSession(recorder, HASH, null)
    expect(calls.filter(([method]) => method !== 'flush')).toEqual([
      ['createCheckpoint', 'eins'],
      ['renameCheckpoint', made.checkpointId, 'uno'],
      ['setSessionName', 'zwei'],
      ['createCheckpoint', 'zwei'],
      ['setSessionName', null],
      ['renameCheckpoint', 'cp-own', 'uno'],
      ['deleteCheckpoint', made.checkpointId],
      ['deleteCheckpoint', 'cp-own'],
      ['setSessionName', null],
    ])
    const result = { checkpointId: 'mine', name: 'x', sequence: 7 }
    recorder.createCheckpoint = async () => result
    expect(await createCheckpoint(recorder, HASH, 'neu')).toBe(result)
  })

  test('may be of a subclass that has members of its own', async () => {
    class Facade extends tape.SessionRecordingService {
      filePath = 'elsewhere'
      override async createCheckpoint(name: string): Promise<{ checkpointId: string; name: string; sequence: number }> {
        return { ...(await super.createCheckpoint(`${name}!`)), name }
      }
    }
    const recorder = await Facade.createLocked(recorderConfig({ projectHash: HASH }))
    recorder.recordContent(said('hallo'))
    expect(await createCheckpoint(recorder, HASH, 'neu')).toMatchObject({ name: 'neu', sequence: 3 })
    await recorder.dispose()
    expect((await listCheckpoints(recorder.getFilePath()!, HASH)).map(({ name }) => name)).toEqual(['neu!'])
  })

  test.each(eachCall)('%s needs a recorder that is active and owns its lock', async (_, call) => {
    const chats = projectOf({ a: OWN })
    const ended = await opened(chats, 'a')
    await ended.dispose()
    const without = newRecorder({ sessionId: 'a', projectHash: HASH, chatsDir: chats })
    without.initializeForResume(pathIn(chats, 'a'), 3)
    const lost = await opened(chats, 'a')
    unlinkSync(join(chats, 'a.lock'))
    writeLock(chats, lockOf(process.ppid), { id: 'a' })
    for (const recorder of [ended, without, lost])
      expect(await messageOf(call(recorder))).toBe('Error: Active recording does not own its live session lock')
    unlinkSync(join(chats, 'a.lock'))
    expect([lockedIn(chats), recordsOf(pathIn(chats, 'a')).length]).toEqual([[], 3])
    await without.dispose()
  })

  test('without a file has no checkpoints, and gets a file by a name, or by the removal of its name', async () => {
    const chats = join(directoryOf(), 'chats')
    const recorder = await locked(chats, 'a')
    expect(await messageOf(createCheckpoint(recorder, HASH, 'neu'))).toBe(NO_CONTENT)
    for (const call of [
      () => renameCheckpoint(recorder, HASH, 'cp', 'neu'),
      () => deleteCheckpoint(recorder, HASH, 'cp'),
    ])
      expect(await messageOf(call())).toBe('Error: Active recording is not materialized')
    expect(recorder.getFilePath()).toBeNull()
    await nameSession(recorder, HASH, 'neu')
    expect(recordsOf(recorder.getFilePath()!).map(({ type }) => type)).toEqual(['session_start', 'session_named'])
    expect(lockedIn(chats)).toEqual(['a'])
    const other = await locked(directoryOf(), 'a')
    await nameSession(other, HASH, null)
    expect(recordsOf(other.getFilePath()!).at(-1)).toMatchObject({ type: 'session_named', payload: { name: null } })
  })

  test('is flushed first, so that enqueued events count', async () => {
    const recorder = await opened(projectOf({ a: [] }), 'a')
    recorder.enqueue('checkpoint_created', { checkpointId: 'cp-new', name: 'eben' })
    expect(await messageOf(nameSession(recorder, HASH, 'eben'))).toBe(exists('eben'))
    recorder.enqueue('checkpoint_deleted', { checkpointId: 'cp-new' })
    expect(await messageOf(deleteCheckpoint(recorder, HASH, 'cp-new'))).toBe(isGone('cp-new'))
  })
})

describe('a closed session', () => {
  /** What a session may be, or how it may be given, and the refusal. */
  const REFUSED: [what: string, text: string, place: (chats: string) => Partial<Place>, refusal: string | RegExp][] = [
    [
      'a sequence-corrupt file',
      sessionText('a', OWN) + `${envelope(2, content('wieder zwei'))}\n`,
      () => ({}),
      'Error: Cannot append metadata to a sequence-corrupt recording',
    ],
    [
      'a session id other than that of the file, since its lock would protect nothing',
      sessionText('a', OWN),
      () => ({ sessionId: 'b' }),
      'Error: Session ID mismatch: expected b got a',
    ],
    [
      'an id that no lock can have',
      sessionText('a b', OWN),
      () => ({ sessionId: 'a b' }),
      'CheckpointLockError: Failed to acquire lock for session a b: Unsafe session ID rejected: "a b"',
    ],
    [
      'a directory that is a file',
      sessionText('a', OWN),
      (chats) => ({ chatsDir: pathIn(chats, 'a') }),
      /^CheckpointLockError: Failed to acquire lock for session \S+: ENOTDIR: /,
    ],
  ]
  test.each(REFUSED)('of which no call accepts %s', async (_, text, change, refusal) => {
    const chats = projectOf({ a: text })
    const before = bytesOf(chats)
    for (const [, call] of eachCall) {
      expect(await messageOf(call({ ...closed(chats, 'a'), ...change(chats) } as Place))).toMatch(refusal)
      expect([bytesOf(chats), locksIn(chats)]).toEqual([before, []])
    }
  })

  test.each(eachCall)('%s refuses a session that is in use', async (_, call) => {
    const chats = projectOf({ a: OWN })
    const lock = await acquireSessionLock(chats, 'a')
    expect(await errorOf(call(closed(chats, 'a')))).toMatchObject({
      name: 'CheckpointLockError',
      message: 'Session a is in use by another process',
      cause: expect.any(SessionLockedError),
    })
    await lock.release()
    expect(locksIn(chats)).toEqual([])
  })

  test('gets a record with the number after the largest one', async () => {
    const text =
      file(start({ sessionId: 'a' })) + `${envelope(7, content('sieben'))}\n${envelope('x', content('nichts'))}\n`
    const chats = projectOf({ a: text })
    expect(await createCheckpoint(closed(chats, 'a'), HASH, 'neu')).toMatchObject({ sequence: 8 })
    expect(readFileSync(pathIn(chats, 'a'), 'utf8').startsWith(text)).toBe(true)
  })

  test('may be given by a path through a link, and be outside the directory', async () => {
    const chats = projectOf({ b: [named('zwei')] })
    const elsewhere = projectOf({ a: [named('ich')] })
    const link = join(elsewhere, 'verknüpft.jsonl')
    symlinkSync(pathIn(elsewhere, 'a'), link)
    const place = { filePath: link, chatsDir: chats, sessionId: 'a' }
    await nameSession(place, HASH, 'ich')
    expect(await messageOf(nameSession(place, HASH, 'zwei'))).toBe(exists('zwei'))
    expect(await messageOf(nameSession(place, HASH, 'a'))).toBe(exists('a'))
    expect([locksIn(chats), locksIn(elsewhere)]).toEqual([[], []])
  })

  test('is locked, and so is the project, until the operation ends', async () => {
    for (const [, call] of eachCall) {
      const chats = projectOf({ a: OWN })
      const seen = new Set<string>()
      let isDone = false
      const done = call(closed(chats, 'a')).finally(() => (isDone = true))
      while (!isDone) {
        seen.add(
          lockedIn(chats)
            .filter((name) => !name.includes('.'))
            .join(' '),
        )
        await new Promise((resolve) => setImmediate(resolve))
      }
      await done
      if (call === eachCall[0]![1]) expect(seen).toContain(`a ${NAME_LOCK}`)
      expect(locksIn(chats)).toEqual([])
    }
  })

  /** Everything that a crash can leave of a last line: each proper prefix of it. */
  const LINE = Buffer.from('{"v":1,"seq":4,"type":"fünf 👋"}')
  const TAILS = Array.from(LINE, (_, length) => LINE.subarray(0, length))
  const CALLS: [string, (place: Place) => Promise<unknown>, unknown[]][] = [
    [
      'createCheckpoint',
      (place) => createCheckpoint(place, HASH, 'neu'),
      [
        ['Anfang', 3],
        ['neu', 4],
      ],
    ],
    ['renameCheckpoint', (place) => renameCheckpoint(place, HASH, 'cp-own', 'neu'), [['neu', 3]]],
    ['deleteCheckpoint', (place) => deleteCheckpoint(place, HASH, 'cp-own'), []],
    ['nameSession', (place) => nameSession(place, HASH, 'neu'), [['Anfang', 3]]],
  ]

  test.each(CALLS)(
    'has a torn last line of any length ended first by %s: the record replays, and the earlier bytes stay',
    async (_, call, checkpoints) => {
      await Promise.all(
        TAILS.map(async (tail) => {
          const before = Buffer.concat([Buffer.from(sessionText('a', OWN)), tail])
          const chats = directoryOf({ 'session-a.jsonl': before })
          await call(closed(chats, 'a'))
          const after = readFileSync(pathIn(chats, 'a'))
          const added = after.subarray(before.length).toString()
          const listed = await listCheckpoints(pathIn(chats, 'a'), HASH)
          expect(after.subarray(0, before.length)).toEqual(before)
          expect(added.replace(/{.*}/, '{}')).toBe(tail.length === 0 ? '{}\n' : '\n{}\n')
          expect([JSON.parse(added).seq, listed.map(({ name, sequence }) => [name, sequence])]).toEqual([
            4,
            checkpoints,
          ])
        }),
      )
    },
  )
})

describe('waiting for the name lock', () => {
  test('ends when it is released', async () => {
    const chats = projectOf({ a: OWN })
    const holder = new LockProcess()
    try {
      for (const [call, give] of eachGive) {
        await holder.acquire(chats, NAME_LOCK)
        const released = new Promise((resolve) => setTimeout(() => resolve(holder.release()), 200))
        await give(closed(chats, 'a'), `nach ${call}`)
        await released
      }
    } finally {
      await holder.kill()
    }
    expect(locksIn(chats)).toEqual([])
  })

  test('goes on while the lock passes from one owner to the next', async () => {
    const chats = projectOf({ a: OWN })
    const owner = new LockProcess()
    await owner.ask('owns')
    const lock = join(chats, `${NAME_LOCK}.lock`)
    /** In one step, so that the lock is never free. */
    const pass = (ownerToken: string): void => {
      writeFileSync(`${lock}.next`, lockOf(owner.pid, { ownerToken, sessionId: NAME_LOCK }))
      renameSync(`${lock}.next`, lock)
    }
    try {
      pass('first')
      const creating = messageOf(createCheckpoint(closed(chats, 'a'), HASH, 'neu'))
      // Together longer than one owner may have it.
      for (const next of ['second', 'third', 'fourth']) {
        await new Promise((resolve) => setTimeout(resolve, 900))
        pass(next)
      }
      rmSync(lock)
      expect(await creating).toMatch(/^resolved to /)
    } finally {
      await owner.kill()
    }
  })

  test('ends when its owner is dead, and with a rejection if the owner keeps it', async () => {
    const chats = projectOf({ a: OWN })
    const holder = new LockProcess()
    await holder.acquire(chats, NAME_LOCK)
    expect(await errorOf(createCheckpoint(closed(chats, 'a'), HASH, 'neu'))).toMatchObject({
      message: `Session ${NAME_LOCK} is in use by another process`,
      cause: expect.any(SessionLockedError),
    })
    expect(recordsOf(pathIn(chats, 'a'))).toHaveLength(3)
    await deleteCheckpoint(closed(chats, 'a'), HASH, 'cp-own')
    await nameSession(closed(chats, 'a'), HASH, null)
    await holder.kill()
    await createCheckpoint(closed(chats, 'a'), HASH, 'neu')
    expect(locksIn(chats)).toEqual([])
  })
})

describe('listCheckpoints', () => {
  test('returns the live checkpoints in ascending order', async () => {
    const events = [created('cp-1', 'eins'), created('cp-2', 'zwei'), created('cp-3', ' drei ')]
    const chats = projectOf({ a: [...events, deleted('cp-2'), renamed('cp-1', 'uno')] })
    expect(await listCheckpoints(pathIn(chats, 'a'), HASH)).toEqual([
      { checkpointId: 'cp-1', name: 'uno', sequence: 3, deleted: false, createdAt: '2026-02-11T16:00:03.000Z' },
      { checkpointId: 'cp-3', name: ' drei ', sequence: 5, deleted: false, createdAt: '2026-02-11T16:00:05.000Z' },
    ])
  })

  test('reads strictly, and rejects with the error of the replay', async () => {
    const chats = projectOf({ a: sessionText('a', OWN).replace('"model":"claude-sonnet"', '"model":7') })
    expect(await messageOf(listCheckpoints(pathIn(chats, 'a'), HASH))).toBe(
      'Error: Invalid session_start: missing or malformed required fields',
    )
    expect(await messageOf(listCheckpoints(pathIn(chats, 'a'), 'other'))).toContain('Error: ')
    expect(await messageOf(listCheckpoints(pathIn(chats, 'fehlt'), HASH))).toContain('ENOENT')
  })

  test('accepts a sequence-corrupt session', async () => {
    const chats = projectOf({ a: sessionText('a', OWN) + `${envelope(1, content('noch einmal'))}\n` })
    expect(await listCheckpoints(pathIn(chats, 'a'), HASH)).toHaveLength(1)
  })
})

describe('a name', () => {
  test.prop([fc.oneof(fc.string({ unit: 'grapheme', maxLength: 12 }), fc.constantFrom(' latest', '007', ' \u2003'))], {
    numRuns: 40,
  })('is given trimmed, or refused as checkSessionName refuses it', async (name) => {
    const chats = projectOf({ Sitzung: [] })
    const settled = async (call: () => unknown) => {
      try {
        return await call()
      } catch (error) {
        return (error as Error).message
      }
    }
    const [given, checked] = [
      await settled(() => createCheckpoint(closed(chats, 'Sitzung'), HASH, name).then((made) => ({ name: made.name }))),
      await settled(() => ({ name: checkSessionName(name) })),
    ]
    expect(given).toEqual(checked)
    expect(locksIn(chats)).toEqual([])
  })
})
