// resumeSession: finds, locks and replays a session, and continues its file; a failure has a message and a code, and leaves no lock.

import { appendFileSync, chmodSync, readFileSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { afterEach, describe, expect, vi } from 'vitest'
import { fc, test } from '../support/property'
import {
  CONTINUE_LATEST,
  SessionRecordingService,
  acquireSessionLock,
  replaySession,
  resumeSession,
  sessionLockPath,
} from '../../index.js'
import type { RecordingWarning, ResumeRequest, SessionFailure } from '../../index.js'
import {
  PROJECT_HASH,
  START_PAYLOAD,
  content,
  envelope,
  file,
  item,
  session,
  start,
  textsOf,
  writeSession,
} from '../support/session-file.js'
import {
  afterListing,
  binding,
  expectNoLock,
  lockFilesIn,
  named,
  orderByAge,
  projectOf,
  sessionWith,
  titled,
  watched,
} from '../support/project-files.js'
import { LockProcess } from '../support/session-locks.js'
import { anyEvents, filledString, anyString, runs } from '../support/session-arbitraries.js'
import { directoryOf, root } from '../support/file-directory.js'
import { newRecorder, recordsOf } from '../support/recording'
import { requestOf, resumed, resumedAndEnded } from '../support/resuming'
import { eachCase } from '../support/each-case.js'
import { childReport, unprivileged } from '../support/processes'
import { expectSame } from '../support/same-replay.js'

const { provider, model, startTime } = START_PAYLOAD
const RESUMED = `Session resumed (originally started ${startTime})`

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const fails = (error: string, code: string): SessionFailure => ({
  ok: false,
  error,
  code: code as SessionFailure['code'],
})

const notFound = (ref: string) => fails(`Session not found for this project: ${ref}`, 'NotFound')
const LOCKED = fails('Session is in use by another process', 'Locked')

/** The failure of a project whose only files are damaged ones, with these names and reasons. */
const onlyDamaged = (chatsDir: string, ...damaged: [name: string, reason: string][]): SessionFailure => {
  const named = damaged.slice(0, 5).map(([name, reason]) => `${join(chatsDir, name)}: ${reason}`)
  const more = damaged.length > 5 ? [`and ${damaged.length - 5} more`] : []
  return fails(
    `No sessions found for this project; skipped unreadable recordings: ${[...named, ...more].join('; ')}`,
    'NoSessions',
  )
}

/** What a child of an unprivileged user reports. */
const asUser = (job: string, directory: string, ref: string): Promise<unknown> =>
  childReport('child-listing.mjs', [job, directory, PROJECT_HASH, ref], unprivileged ?? {})

/** The result of a request, without the files that were passed over. */
async function failureOf(request: ResumeRequest): Promise<unknown> {
  const { skippedRecordings, ...result } = await resumeSession(request)
  expect(skippedRecordings).toBeInstanceOf(Array)
  return result
}

/** Asserts that a request fails with this message and code, and leaves no lock of the ids. */
async function expectFailure(
  chatsDir: string,
  continueRef: string,
  failure: SessionFailure,
  ...ids: string[]
): Promise<void> {
  expect(await failureOf(requestOf(chatsDir, continueRef))).toStrictEqual(failure)
  await expectNoLock(chatsDir, ...ids)
}

/** Seq, type and payload of the records that were appended to a file with this text. */
function appendedTo(path: string, before: string): unknown[] {
  const text = readFileSync(path, 'utf8')
  expect(text.startsWith(before)).toBe(true)
  return text
    .slice(before.length)
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { seq: number; type: string; payload: unknown })
    .map(({ seq, type, payload }) => [seq, type, payload])
}

const corrupt = (id: string): string => `${sessionWith(id)}${envelope(4, content('a'))}\n${envelope(3, content('b'))}\n`
/** Why a listing and a replay refuse a header that lacks a field. */
const unreadable = 'Invalid session_start: missing or malformed required fields'
const NO_JSON = 'Missing or corrupt session_start event: first line is not valid JSON'
const corruptError = 'Failed to replay session: recording has non-monotonic sequences'

describe('a resumed session', () => {
  test('has its history, its metadata, a recorder, and the lock that the recorder owns', async () => {
    const text = sessionWith('s-1', content('Grüße'), content('b', 'ai'), titled('Título'))
    const directory = projectOf({ 'session-1.jsonl': text })
    const filePath = join(directory, 'session-1.jsonl')
    const result = await resumed(directory, 's-1')
    const { recording, lockHandle } = result
    expect(Object.keys(result).sort()).toStrictEqual([
      'history',
      'lastSeq',
      'lockHandle',
      'metadata',
      'ok',
      'recording',
      'skippedRecordings',
      'warnings',
    ])
    expect(result).toMatchObject({ ok: true, history: [item('human', 'Grüße'), item('ai', 'b')], warnings: [] })
    expect(result.metadata).toStrictEqual({ ...START_PAYLOAD, sessionId: 's-1', title: 'Título', kind: 'main' })
    expect(recording).toBeInstanceOf(SessionRecordingService)
    expect([
      recording.isActive(),
      recording.getSessionId(),
      recording.getFilePath(),
      recording.getChatsDir(),
      recording.getProjectHash(),
      recording.getSessionMetadataTitle(),
    ]).toStrictEqual([true, 's-1', filePath, directory, PROJECT_HASH, 'Título'])
    expect([
      recording.getOwnedLockHandle() === lockHandle,
      recording.ownsLockFor('s-1'),
      await lockHandle.ownsLock(),
      lockHandle.lockPath,
    ]).toStrictEqual([true, true, true, sessionLockPath(directory, 's-1')])
    recording.recordContent(item('human', 'weiter'))
    await recording.dispose()
    expect(appendedTo(filePath, text)).toStrictEqual([
      [5, 'session_event', { severity: 'info', message: RESUMED }],
      [6, 'content', { content: item('human', 'weiter') }],
    ])
    expect(await lockHandle.ownsLock()).toBe(false)
    await lockHandle.release()
    await expectNoLock(directory, 's-1')
  })

  test('is resumed by exactly one of several concurrent calls', async () => {
    const directory = projectOf({ 'session-1.jsonl': sessionWith('s-1', content('é')) })
    const results = await Promise.all(Array.from({ length: 6 }, () => resumeSession(requestOf(directory, '1'))))
    const winners = results.filter((result) => result.ok)
    expect(winners).toHaveLength(1)
    expect(results.filter((result) => !result.ok)).toStrictEqual(Array(5).fill({ ...LOCKED, skippedRecordings: [] }))
    await winners[0]!.recording.dispose()
    expect(recordsOf(join(directory, 'session-1.jsonl')).map(({ seq }) => seq)).toStrictEqual([1, 2, 3])
    await expectNoLock(directory, 's-1')
  })

  test('is the newest of several files with its id, whose warnings name the others', async () => {
    const names = ['session-2.jsonl', 'session-1.jsonl', 'session-0.jsonl']
    const directory = projectOf(
      Object.fromEntries(names.map((name, at) => [name, sessionWith(at < 2 ? 'same' : 'other')])),
    )
    const [newest, older] = names.map((name) => join(directory, name))
    const says = (other: string, one: string) => [`Session same is also in '${other}'. '${one}' was resumed`]
    for (const ref of ['same', '1', CONTINUE_LATEST]) {
      expect((await resumedAndEnded(directory, ref)).warnings).toStrictEqual(says(older!, newest!))
      orderByAge(directory, names)
    }
    expect((await resumedAndEnded(directory, '2')).warnings).toStrictEqual(says(newest!, older!))
    expect((await resumedAndEnded(directory, 'other')).warnings).toStrictEqual([])
  })
})

const step = fc.record({
  texts: fc.array(anyString, { maxLength: 4 }),
  currentProvider: fc.oneof(fc.constantFrom(provider, 'two'), filledString),
  currentModel: fc.oneof(fc.constantFrom(model, 'm-2'), anyString),
})
test.prop([fc.array(step, { minLength: 1, maxLength: 5 })], runs(60))(
  'any number of resumes: all content is recorded, and each change of provider or model once',
  async (steps) => {
    const before = sessionWith('s-1')
    const directory = projectOf({ 'session-1.jsonl': before })
    const path = join(directory, 'session-1.jsonl')
    const said: string[] = []
    const added: [type: string, payload: unknown][] = []
    let current = { provider, model }
    for (const { texts, currentProvider, currentModel } of steps) {
      const next = { provider: currentProvider, model: currentModel }
      const { recording, history, warnings, metadata } = await resumed(directory, CONTINUE_LATEST, {
        currentProvider,
        currentModel,
      })
      // A model that is empty is none: the one before it stays.
      current = { ...current, model: metadata.model }
      expect([textsOf(history), warnings, metadata.provider]).toStrictEqual([said, [], current.provider])
      texts.forEach((text) => recording.recordContent(item('human', text)))
      await recording.dispose()
      said.push(...texts)
      if (next.provider !== current.provider || next.model !== current.model) {
        const message = `Provider/model changed from ${current.provider}/${current.model} to ${next.provider}/${next.model}`
        added.push(['session_event', { severity: 'warning', message }], ['provider_switch', next])
      }
      added.push(['session_event', { severity: 'info', message: RESUMED }])
      added.push(...texts.map((text): [string, unknown] => ['content', { content: item('human', text) }]))
      current = next
    }
    expect(appendedTo(path, before)).toStrictEqual(added.map((one, at) => [at + 2, ...one]))
    expect(await replaySession(path, PROJECT_HASH, { strict: true })).toMatchObject({
      ok: true,
      warnings: [],
      sequenceCorrupt: false,
      metadata: { provider: current.provider },
    })
    await expectNoLock(directory, 's-1')
    rmSync(directory, { recursive: true })
  },
)

test.prop([anyEvents], runs(60))(
  'any session: the result of its strict replay, and the next record continues it',
  async (events) => {
    const directory = projectOf({ 'session-1.jsonl': session(...events) })
    const path = join(directory, 'session-1.jsonl')
    const replayed = await replaySession(path, PROJECT_HASH, { strict: true })
    const result = await resumeSession(requestOf(directory, START_PAYLOAD.sessionId))
    if (replayed.ok && !replayed.sequenceCorrupt) {
      if (!result.ok) throw new Error(result.error)
      const { history, metadata, warnings } = result
      const newer = Object.entries(replayed.unknownEvents ?? {}).map(([type, count]) => `${type} × ${count}`)
      if (newer.length > 0) {
        expect(warnings.shift()).toBe(
          `This session has events of a newer version (${newer.join(', ')}): its history may not be what it was`,
        )
      }
      expectSame(
        { history, metadata, warnings },
        { history: replayed.history, metadata: replayed.metadata, warnings: replayed.warnings },
      )
      expect(result.recording.getSessionMetadataTitle()).toBe(replayed.metadata.title)
      await result.recording.dispose()
      const again = await replaySession(path, PROJECT_HASH, { strict: true })
      const added = metadata.provider === provider && metadata.model === model ? 1 : 3
      expect(again).toMatchObject({
        ok: true,
        lastSeq: replayed.lastSeq + added,
        eventCount: replayed.eventCount + added,
        sequenceCorrupt: false,
      })
    } else expect(result.ok).toBe(false)
    expect(readdirSync(directory)).toStrictEqual(['session-1.jsonl'])
    await expectNoLock(directory, START_PAYLOAD.sessionId)
    rmSync(directory, { recursive: true })
  },
)

describe('a reference', () => {
  test('is an id, a position or the beginning of an id, in this order; a name only if it is none of them', async () => {
    const directory = projectOf({
      'session-1.jsonl': sessionWith('2', named('alpha')),
      'session-2.jsonl': sessionWith('alpha-1', named('2'), content('é')),
      'session-3.jsonl': sessionWith('beta', named('alp')),
      'session-4.jsonl': sessionWith('gamma', named('bet')),
      'session-5.jsonl': sessionWith('delta', named('beta')),
      'session-6.jsonl': sessionWith('epsilon', named('Straße 7')),
    })
    const files = readdirSync(directory).sort()
    const scan = watched('describeSessions')
    for (const [ref, id] of [
      ['2', '2'],
      ['3', 'beta'],
      ['al', 'alpha-1'],
      ['alp', 'alpha-1'],
      ['alpha', 'alpha-1'],
      ['bet', 'beta'],
      ['beta', 'beta'],
      ['006', 'epsilon'],
    ] as const) {
      expect([ref, (await resumedAndEnded(directory, ref)).metadata.sessionId]).toStrictEqual([ref, id])
      // The listing is sorted by time: the resumed session would be the first.
      orderByAge(directory, files)
    }
    expect(scan).not.toHaveBeenCalled()
    for (const ref of ['Straße 7', ' Straße 7\n']) {
      expect((await resumedAndEnded(directory, ref)).metadata.sessionId).toBe('epsilon')
      orderByAge(directory, files)
    }
    expect(scan).toHaveBeenCalledTimes(2)
  })

  test('by name means the current name of one session', async () => {
    const directory = projectOf({
      'session-a.jsonl': sessionWith('a', named('früher'), named('jetzt')),
      'session-b.jsonl': sessionWith('b', named('früher')),
      'session-c.jsonl': sessionWith('c', named('früher'), named(null)),
      'session-d.jsonl': sessionWith('d', titled('Titel')),
      'session-e.jsonl': sessionWith('e', named(' jetzt ')),
      'session-f.jsonl': sessionWith('f', named('dóppelt')),
      'session-g.jsonl': sessionWith('g', named('dóppelt')),
    })
    expect((await resumedAndEnded(directory, 'früher')).metadata.sessionId).toBe('b')
    expect((await resumedAndEnded(directory, 'jetzt')).metadata.sessionId).toBe('a')
    for (const ref of ['Titel', 'Früher', 'null', 'undefined', 'latest', 'constructor', '__proto__'])
      await expectFailure(directory, ref, notFound(ref), 'a', 'b', 'c', 'd')
    for (const ref of ['dóppelt', ' dóppelt '])
      await expectFailure(directory, ref, fails(`Ambiguous continue target name '${ref}'`, 'Ambiguous'), 'f', 'g')
  })

  test('by name ignores sessions that could not be resumed, and those of other projects', async () => {
    const directory = projectOf({
      'session-corrupt.jsonl': `${corrupt('x')}${envelope(9, named('náme'))}\n`,
      'session-headless.jsonl': file(start({ sessionId: 'y', provider: 0 }), named('náme')),
      'session-other.jsonl': file(start({ sessionId: 'z', projectHash: 'other' }), named('náme')),
      'foreign.jsonl': sessionWith('f', named('náme')),
      'session-good.jsonl': sessionWith('good'),
    })
    await expectFailure(directory, 'náme', notFound('náme'), 'x', 'y', 'good')
    appendFileSync(join(directory, 'session-good.jsonl'), `${envelope(2, named('náme'))}\n`)
    expect((await resumedAndEnded(directory, 'náme')).metadata.sessionId).toBe('good')
  })

  test('that denotes no session, or several, fails; a name does not decide then', async () => {
    const directory = projectOf({
      'session-1.jsonl': sessionWith('abc', named('ab')),
      'session-2.jsonl': sessionWith('abd', named('3')),
    })
    const scan = watched('describeSessions')
    await eachCase(
      [
        ['x', notFound('x')],
        ['3', fails('Session index 3 out of range (1-2)', 'IndexOutOfRange')],
        ['ab', fails("Ambiguous session prefix 'ab' matches: abc, abd", 'Ambiguous')],
        [`${CONTINUE_LATEST} `, notFound(`${CONTINUE_LATEST} `)],
      ] as const,
      ([ref, failure]) => expectFailure(directory, ref, failure, 'abc', 'abd'),
    )
    // Only two of these denote nothing.
    expect(scan).toHaveBeenCalledTimes(2)
  })
})

describe('a failure', () => {
  test('without any session of the project', async () => {
    const directories = [
      directoryOf(),
      directoryOf({ 'session-other.jsonl': file(start({ projectHash: 'øther' })), 'foreign.jsonl': session() }),
      join(root(), 'none'),
      join(root(), 'none', 'deeper'),
    ]
    for (const directory of directories) {
      for (const ref of ['x', '1', '', CONTINUE_LATEST])
        expect(await failureOf(requestOf(directory, ref))).toStrictEqual(
          fails('No sessions found for this project', 'NoSessions'),
        )
    }
    expect(directories.slice(0, 2).flatMap(lockFilesIn)).toStrictEqual([])
    expect(readdirSync(root())).not.toContain('none')
  })

  test('for a session that another process has', async () => {
    const directory = projectOf({ 'session-1.jsonl': sessionWith('s-1'), 'session-2.jsonl': sessionWith('s-2') })
    const other = new LockProcess()
    expect(await other.acquire(directory, 's-1')).toBe('held')
    const locked = readFileSync(sessionLockPath(directory, 's-1'), 'utf8')
    expect(await failureOf(requestOf(directory, 's-1'))).toStrictEqual(LOCKED)
    expect(readFileSync(sessionLockPath(directory, 's-1'), 'utf8')).toBe(locked)
    expect((await resumedAndEnded(directory)).metadata.sessionId).toBe('s-2')
    await other.release()
    await other.kill()
    await expectNoLock(directory, 's-1', 's-2')
  })

  test('to lock an unsafe id', () =>
    eachCase(['a/b', '..', 'é', 'a.b', ' '], async (id) => {
      const directory = projectOf({ 'session-1.jsonl': sessionWith(id) })
      const failure = fails(`Failed to lock session: Unsafe session ID rejected: "${id}"`, 'LockFailed')
      for (const ref of [id, CONTINUE_LATEST]) await expectFailure(directory, ref, failure)
    }))

  test.skipIf(process.platform === 'win32')("to lock for a reason of the system has the system's message", async () => {
    const id = 'n'.repeat(256)
    const directory = projectOf({ 'session-1.jsonl': sessionWith(id) })
    for (const ref of [id, CONTINUE_LATEST]) {
      await expect(resumeSession(requestOf(directory, ref))).rejects.toMatchObject({
        code: 'ENAMETOOLONG',
        path: expect.stringContaining(join(directory, 'nnn')) as string,
        message: expect.stringMatching(/^ENAMETOOLONG: name too long, open '/) as string,
      })
    }
    expect(lockFilesIn(directory)).toStrictEqual([])
    // An older session can be resumed.
    writeFileSync(join(directory, 'session-0.jsonl'), sessionWith('s-0'))
    utimesSync(join(directory, 'session-0.jsonl'), 1, 1)
    const { metadata, warnings } = await resumedAndEnded(directory)
    expect([metadata.sessionId, warnings]).toStrictEqual([
      's-0',
      [expect.stringMatching(`^Session ${id} passed over: Failed to lock session: ENAMETOOLONG: `)],
    ])
  })

  test.skipIf(unprivileged === null)("to lock the file for itself, because of that lock's permissions", async () => {
    const directory = projectOf({ 'session-1.jsonl': sessionWith('s-1'), 'session-1.jsonl.lock': '' })
    chmodSync(directory, 0o777)
    chmodSync(join(directory, 'session-1.jsonl.lock'), 0o600)
    expect(await asUser('exclusive', directory, 's-1')).toMatchObject({
      rejected: 'EACCES',
      path: expect.stringContaining(join(directory, 'session-1.jsonl')) as string,
    })
    await expectNoLock(directory, 's-1')
  })

  test.skipIf(unprivileged === null)('to lock in a directory that the user may not write to', async () => {
    const directory = projectOf({ 'session-1.jsonl': sessionWith('s-1') })
    chmodSync(directory, 0o555)
    for (const ref of ['s-1', '1', CONTINUE_LATEST]) {
      expect(await asUser('resume', directory, ref), ref).toStrictEqual({
        rejected: 'EACCES',
        message: expect.stringMatching(/^EACCES: permission denied, open '/) as string,
        path: expect.stringContaining(join(directory, 's-1.lock')) as string,
      })
    }
    chmodSync(directory, 0o755)
    expect(readdirSync(directory)).toStrictEqual(['session-1.jsonl'])
  })

  test('to replay', async () => {
    const directory = projectOf({
      'session-provider.jsonl': file(start({ sessionId: 'p', provider: 0 })),
      'session-corrupt.jsonl': corrupt('c'),
      'session-equal.jsonl': `${sessionWith('e', content('a'))}${envelope(2, content('b'))}\n`,
    })
    await expectFailure(directory, 'p', fails(`Session p can't be read: ${unreadable}`, 'ReplayFailed'), 'p')
    for (const id of ['c', 'e']) await expectFailure(directory, id, fails(corruptError, 'SequenceCorrupt'), id)
  })

  test('to replay a file that was removed or replaced after it had been found', async () => {
    const directory = projectOf({ 'session-1.jsonl': sessionWith('s-1') })
    const path = join(directory, 'session-1.jsonl')
    for (const [change, error] of [
      [
        () => writeFileSync(path, file(start({ projectHash: 'øther' }))),
        `Project hash mismatch: expected ${PROJECT_HASH} got øther`,
      ],
      [() => writeFileSync(path, 'x'), 'Missing or corrupt session_start event'],
      [() => rmSync(path), `Failed to read file: ENOENT: no such file or directory, open '${path}'`],
    ] as const) {
      afterListing(change)
      await expectFailure(directory, 's-1', fails(`Failed to replay session: ${error}`, 'ReplayFailed'), 's-1')
      writeFileSync(path, sessionWith('s-1'))
    }
  })

  test('to replay with a rejection has its message, too', async () => {
    const directory = projectOf({ 'session-1.jsonl': sessionWith('s-1'), 'session-2.jsonl': sessionWith('s-2') })
    const replay = binding['startReplay']!
    watched('startReplay').mockImplementation((bundles, path, ...rest) => {
      if (String(path).endsWith('session-1.jsonl')) throw new Error('das Addon kann nicht mehr')
      return replay(bundles, path, ...rest)
    })
    const error = 'Failed to replay session: das Addon kann nicht mehr'
    await expectFailure(directory, 's-1', fails(error, 'ReplayFailed'), 's-1')
    expect((await resumedAndEnded(directory)).warnings).toStrictEqual([`Session s-1 passed over: ${error}`])
    await expectNoLock(directory, 's-1', 's-2')
  })
})

describe('the latest', () => {
  test('is the newest; with equal times, the one with the last id', async () => {
    const directory = projectOf({ 'session-1.jsonl': sessionWith('old-id'), 'session-2.jsonl': sessionWith('z') })
    expect((await resumedAndEnded(directory, CONTINUE_LATEST)).metadata.sessionId).toBe('old-id')
    for (const name of ['session-1.jsonl', 'session-2.jsonl']) orderByAge(directory, [name])
    expect((await resumedAndEnded(directory, CONTINUE_LATEST)).metadata.sessionId).toBe('z')
  })

  test('has the warnings about the sessions before it before those of its replay', async () => {
    const directory = projectOf({
      'session-c.jsonl': corrupt('c'),
      'session-good.jsonl': `${sessionWith('good')}7 7\n${envelope(2, content('x'))}\n`,
    })
    const { metadata, warnings } = await resumedAndEnded(directory)
    expect([metadata.sessionId, ...warnings.slice(0, 2)]).toStrictEqual([
      'good',
      `Session c passed over: ${corruptError}`,
      'Line 2: failed to parse JSON',
    ])
    await expectNoLock(directory, 'c', 'good')
  })

  const KINDS = {
    good: (id: string) => sessionWith(id, content(id)),
    locked: (id: string) => sessionWith(id),
    corrupt,
    strict: (id: string) => file(start({ sessionId: id, startTime: '' })),
    unsafe: (id: string) => sessionWith(`é${id}`),
    torn: (id: string) => sessionWith(id).slice(0, -9),
    other: (id: string) => file(start({ sessionId: id, projectHash: 'øther' })),
  }
  const ERRORS: Partial<Record<keyof typeof KINDS, (id: string) => [string, string]>> = {
    corrupt: () => [corruptError, 'SequenceCorrupt'],
    unsafe: (id) => [`Failed to lock session: Unsafe session ID rejected: "é${id}"`, 'LockFailed'],
  }
  const damagedOf = (directory: string, kinds: readonly string[]): SessionFailure | undefined => {
    const damaged = kinds.flatMap((kind, i): [string, string][] =>
      kind === 'torn' || kind === 'strict' ? [[`session-${i}.jsonl`, kind === 'torn' ? NO_JSON : unreadable]] : [],
    )
    return damaged.length === 0 ? undefined : onlyDamaged(directory, ...damaged)
  }
  const anyKind = fc.constantFrom(...(Object.keys(KINDS) as (keyof typeof KINDS)[]))
  test.prop([fc.array(anyKind, { maxLength: 7 })], runs(60))(
    'of any mix is the newest that can be resumed',
    async (kinds) => {
      const idOf = (i: number) => `id-${i}`
      const directory = projectOf(
        Object.fromEntries(kinds.map((kind, i) => [`session-${i}.jsonl`, KINDS[kind](idOf(i))])),
      )
      const held = await Promise.all(
        kinds.flatMap((kind, i) => (kind === 'locked' ? [acquireSessionLock(directory, idOf(i))] : [])),
      )
      const { skippedRecordings: _, ...result } = await resumeSession(requestOf(directory, CONTINUE_LATEST))
      const good = kinds.indexOf('good')
      const problems = kinds
        .slice(0, good < 0 ? undefined : good)
        .flatMap((kind, i) =>
          ERRORS[kind] ? [[kind === 'unsafe' ? `é${idOf(i)}` : idOf(i), ...ERRORS[kind](idOf(i))] as const] : [],
        )
      if (result.ok) {
        expect([result.metadata.sessionId, result.warnings]).toStrictEqual([
          idOf(good),
          problems.map(([id, error]) => `Session ${id} passed over: ${error}`),
        ])
        await result.recording.dispose()
      } else if (problems.length > 0) expect(result).toStrictEqual(fails(problems[0]![1], problems[0]![2]))
      else if (held.length > 0)
        expect(result).toStrictEqual(fails('All sessions for this project are in use', 'AllLocked'))
      else
        expect(result).toStrictEqual(
          damagedOf(directory, kinds) ?? fails('No sessions found for this project', 'NoSessions'),
        )
      expect(result.ok).toBe(good >= 0)
      expect(lockFilesIn(directory)).toHaveLength(held.length)
      for (const lock of held) await lock.release()
      await expectNoLock(directory, ...kinds.map((_, i) => idOf(i)))
      rmSync(directory, { recursive: true })
    },
  )
})

describe('the request', () => {
  test('for a directory that cannot be read rejects', async () => {
    await expect(resumeSession(requestOf(writeSession('')))).rejects.toMatchObject({ code: 'ENOTDIR' })
    await expect(resumeSession(requestOf('a\0b'))).rejects.toMatchObject({ code: 'ERR_INVALID_ARG_VALUE' })
    const directory = projectOf({ 'session-1.jsonl': sessionWith('s-1') })
    chmodSync(directory, 0o311)
    if (unprivileged !== null) expect(await asUser('resume', directory, 's-1')).toMatchObject({ rejected: 'EACCES' })
  })

  test('passes its options to the recorder', async () => {
    const directory = projectOf({ 'session-1.jsonl': sessionWith('s-1') })
    const path = join(directory, 'session-1.jsonl')
    const first = await resumed(directory, 's-1', {
      recorder: { exclusive: true, durability: 'fsync', cwd: '/ẃ', fileName: 'seconds' },
    })
    await first.recording.flush()
    expect(readdirSync(directory)).toContain('session-1.jsonl.lock')
    await first.lockHandle.release()
    await first.recording.dispose()
    expect(recordsOf(path).map(({ type }) => type)).toStrictEqual(['session_start', 'session_event'])
    await expectNoLock(directory, 's-1')
  })

  test('fails if another exclusive recorder has the file, and leaves the file and its lock alone', async () => {
    const directory = projectOf({ 'session-1.jsonl': sessionWith('s-1'), 'session-0.jsonl': sessionWith('s-0') })
    const path = join(directory, 'session-1.jsonl')
    const other = newRecorder({ chatsDir: directory, exclusive: true })
    other.initializeForResume(path, 2)
    const warnings: RecordingWarning[] = []
    const recorder = { exclusive: true, onWarning: (warning: RecordingWarning) => void warnings.push(warning) }
    const before = readFileSync(path)
    expect(await failureOf(requestOf(directory, 's-1', { recorder }))).toStrictEqual(LOCKED)
    await expectNoLock(directory, 's-1')
    // The newest that can be resumed is the next one.
    const { metadata, warnings: told } = await resumedAndEnded(directory, CONTINUE_LATEST, { recorder })
    expect([metadata.sessionId, told]).toStrictEqual(['s-0', []])
    await other.dispose()
    expect([readFileSync(path), warnings]).toStrictEqual([before, []])
    await resumedAndEnded(directory, 's-1', { recorder })
  })

  test('fails for a session whose numbers are used up, and for one that has too few left', async () => {
    for (const last of [2 ** 53 - 1, 2 ** 53 - 2, 2 ** 53 - 4]) {
      const text = `${sessionWith('s-1')}${envelope(last, content('last'))}\n`
      const directory = projectOf({ 'session-1.jsonl': text })
      const error = 'Failed to replay session: recording has no sequence numbers left'
      await expectFailure(directory, 's-1', fails(error, 'SequenceCorrupt'), 's-1')
      expect(readFileSync(join(directory, 'session-1.jsonl'), 'utf8')).toBe(text)
    }
  })

  test('may be changed by its caller during the call', async () => {
    const directory = projectOf({ 'session-1.jsonl': sessionWith('s-1') })
    const recorder: Record<string, unknown> = { onWarning: undefined }
    const request: Record<string, unknown> = { ...requestOf(directory, 's-1'), workspaceDirs: ['/w'], recorder }
    const resuming = resumeSession(request as unknown as ResumeRequest)
    recorder['onWarning'] = 7
    ;(request['workspaceDirs'] as unknown[]).push(7)
    for (const name of Object.keys(request)) request[name] = 7
    const result = await resuming
    if (result.ok) await result.recording.dispose()
    expect(recordsOf(join(directory, 'session-1.jsonl'))).toMatchObject([{}, { payload: { message: RESUMED } }])
    await expectNoLock(directory, 's-1')
  })

  test('may name its directories by relative paths, even if the working directory changes meanwhile', async () => {
    const directory = projectOf({ 'session-1.jsonl': sessionWith('s-1', content('é')) })
    const elsewhere = directoryOf()
    const before = process.cwd()
    try {
      process.chdir(root())
      afterListing(() => process.chdir(elsewhere))
      const relativeDirectory = `${relative(root(), directory)}${sep}`
      const result = await resumed(relativeDirectory, 's-1')
      expect(result.recording.getChatsDir()).toBe(relativeDirectory)
      expect(result.recording.getFilePath()).toBe(join(directory, 'session-1.jsonl'))
      expect(lockFilesIn(directory)).toStrictEqual(['s-1.lock'])
      await result.recording.dispose()
    } finally {
      process.chdir(before)
    }
    expect(readdirSync(elsewhere)).toStrictEqual([])
    await expectNoLock(directory, 's-1')
  })
})
