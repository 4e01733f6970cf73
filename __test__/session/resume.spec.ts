// resumeSession: finds, locks and replays a session, and continues its file; a failure has a message and a code, and leaves no lock.

import {
  appendFileSync,
  chmodSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { afterEach, describe, expect, vi } from 'vitest'
import { fc, test } from '../support/property'
import {
  CONTINUE_LATEST,
  SessionRecordingService,
  acquireSessionLock,
  describeSessions,
  isSessionLocked,
  listContinueTargets,
  listSessions,
  replaySession,
  resumeSession,
  sessionLockPath,
} from '../../index.js'
import type { RecordingWarning, ResumeRequest, ResumeResult, SessionFailure } from '../../index.js'
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
import type { Event } from '../support/session-file.js'
import {
  BAD_IDS,
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
import { DEAD_PID, LockProcess, lockOf, writeLock } from '../support/session-locks.js'
import { anyEvents, filledString, anyString, runs } from '../support/session-arbitraries.js'
import { directoryOf, root } from '../support/file-directory.js'
import { recordsOf } from '../support/recording.js'
import { eachCase } from '../support/each-case.js'
import { childReport, unprivileged } from '../support/processes'
import { expectSame } from '../support/same-replay.js'

const { provider, model, startTime } = START_PAYLOAD
const RESUMED = `Session resumed (originally started ${startTime})`

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

function requestOf(chatsDir: string, continueRef: string, more: Partial<ResumeRequest> = {}): ResumeRequest {
  return {
    continueRef,
    chatsDir,
    projectHash: PROJECT_HASH,
    currentProvider: provider,
    currentModel: model,
    workspaceDirs: ['/w'],
    ...more,
  }
}

/** Resumes a session that can be resumed. */
async function resumed(
  chatsDir: string,
  continueRef: string,
  more: Partial<ResumeRequest> = {},
): Promise<ResumeResult> {
  const result = await resumeSession(requestOf(chatsDir, continueRef, more))
  if (!result.ok) throw new Error(`${result.code}: ${result.error}`)
  return result
}

/** Resumes a session, and ends the recording at once. */
async function resumedAndEnded(
  chatsDir: string,
  continueRef: string,
  more: Partial<ResumeRequest> = {},
): Promise<ResumeResult> {
  const result = await resumed(chatsDir, continueRef, more)
  await result.recording.dispose()
  return result
}

const fails = (error: string, code: string): SessionFailure => ({
  ok: false,
  error,
  code: code as SessionFailure['code'],
})

/** The failure of a project whose only files are damaged ones, with these names and reasons. */
const onlyDamaged = (chatsDir: string, ...damaged: [name: string, reason: string][]): SessionFailure => {
  const named = damaged.slice(0, 5).map(([name, reason]) => `${join(chatsDir, name)}: ${reason}`)
  const more = damaged.length > 5 ? [`and ${damaged.length - 5} more`] : []
  return fails(
    `No sessions found for this project; skipped unreadable recordings: ${[...named, ...more].join('; ')}`,
    'NoSessions',
  )
}

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

  test('is not flushed', async () => {
    const directory = projectOf({ 'session-1.jsonl': sessionWith('s-1') })
    const flush = vi.spyOn(SessionRecordingService.prototype, 'flush')
    const { recording } = await resumed(directory, 's-1')
    expect(flush).not.toHaveBeenCalled()
    await recording.dispose()
    expect(flush).toHaveBeenCalledOnce()
  })

  test('stays locked until its recorder ends, and can be resumed then', async () => {
    const directory = projectOf({ 'session-1.jsonl': sessionWith('s-1') })
    const { recording } = await resumed(directory, 's-1')
    expect(await isSessionLocked(directory, 's-1')).toBe(true)
    expect(await failureOf(requestOf(directory, 's-1'))).toStrictEqual(
      fails('Session is in use by another process', 'Locked'),
    )
    expect(await failureOf(requestOf(directory, CONTINUE_LATEST))).toStrictEqual(
      fails('All sessions for this project are in use', 'AllLocked'),
    )
    await recording.dispose()
    await resumedAndEnded(directory, 's-1')
    await expectNoLock(directory, 's-1')
  })

  test('is resumed by exactly one of several concurrent calls', async () => {
    const directory = projectOf({ 'session-1.jsonl': sessionWith('s-1', content('é')) })
    const results = await Promise.all(Array.from({ length: 6 }, () => resumeSession(requestOf(directory, '1'))))
    const winners = results.filter((result) => result.ok)
    expect(winners).toHaveLength(1)
    expect(results.filter((result) => !result.ok)).toStrictEqual(
      Array(5).fill({ ...fails('Session is in use by another process', 'Locked'), skippedRecordings: [] }),
    )
    await winners[0]!.recording.dispose()
    expect(recordsOf(join(directory, 'session-1.jsonl')).map(({ seq }) => seq)).toStrictEqual([1, 2, 3])
    await expectNoLock(directory, 's-1')
  })

  test('has the title that was recorded, in three states', async () => {
    const directory = projectOf({
      'session-none.jsonl': sessionWith('none', ['session_metadata', {}]),
      'session-null.jsonl': sessionWith('null', titled('x'), titled(null)),
      'session-text.jsonl': sessionWith('text', titled('ß')),
    })
    for (const [id, title] of [
      ['none', undefined],
      ['null', null],
      ['text', 'ß'],
    ] as const) {
      const { recording, metadata } = await resumedAndEnded(directory, id)
      expect([recording.getSessionMetadataTitle(), metadata.title, 'title' in metadata]).toStrictEqual([
        title,
        title,
        id !== 'none',
      ])
    }
  })

  test('replaces a stale lock', async () => {
    const directory = projectOf({ 'session-1.jsonl': sessionWith('s-1') })
    writeLock(directory, lockOf(DEAD_PID, { sessionId: 's-1' }), { id: 's-1' })
    await resumedAndEnded(directory, 's-1')
    await expectNoLock(directory, 's-1')
  })

  test('is the newest of several files with its id', async () => {
    const directory = projectOf({
      'session-2.jsonl': sessionWith('same', content('neu')),
      'session-1.jsonl': sessionWith('same', content('alt')),
    })
    expect(textsOf((await resumedAndEnded(directory, 'same')).history)).toStrictEqual(['neu'])
    expect(textsOf((await resumedAndEnded(directory, '2')).history)).toStrictEqual(['alt'])
  })

  test('names the other files with its id in its warnings', async () => {
    const names = ['session-2.jsonl', 'session-1.jsonl']
    const directory = projectOf(
      Object.fromEntries(
        [...names, 'session-0.jsonl'].map((name) => [name, sessionWith(name === 'session-0.jsonl' ? 'other' : 'same')]),
      ),
    )
    const [newest, older] = names.map((name) => join(directory, name))
    const says = (other: string, resumed: string): string[] => [
      `Session same is also in '${other}'. '${resumed}' was resumed`,
    ]
    for (const ref of ['same', '1', CONTINUE_LATEST]) {
      expect((await resumedAndEnded(directory, ref)).warnings).toStrictEqual(says(older!, newest!))
      orderByAge(directory, [...names, 'session-0.jsonl'])
    }
    expect((await resumedAndEnded(directory, '2')).warnings).toStrictEqual(says(newest!, older!))
    expect((await resumedAndEnded(directory, 'other')).warnings).toStrictEqual([])
  })

  test('may be a symbolic link, and has the warnings of its replay', async () => {
    const elsewhere = writeSession(
      `${sessionWith('s-1')}null\n{"v":1}\n${envelope(2, ['rewind', {}])}\n${envelope(3, content('a'))}\n`,
    )
    const directory = directoryOf()
    symlinkSync(elsewhere, join(directory, 'session-link.jsonl'))
    const replayed = await replaySession(elsewhere, PROJECT_HASH, { strict: true })
    const { warnings, recording } = await resumedAndEnded(directory, 's-1')
    expect(warnings).toStrictEqual(replayed.warnings)
    expect(warnings[0]).toBe('Line 3: malformed sequence number, skipping')
    expect(recording.getFilePath()).toBe(join(directory, 'session-link.jsonl'))
    expect(recordsOf(elsewhere).at(-1)).toMatchObject({ seq: 4, type: 'session_event' })
  })
})

describe('provider and model', () => {
  const change = (from: string, to: string) => ({
    severity: 'warning',
    message: `Provider/model changed from ${from} to ${to}`,
  })
  const noted = { severity: 'info', message: RESUMED }

  test.each([
    ['both', 'öpenai', 'gpt-µ'],
    ['the provider', 'öpenai', model],
    ['the model', provider, 'gpt-µ'],
  ])('that differ, %s, are recorded once', async (_, currentProvider, currentModel) => {
    const text = sessionWith('s-1', content('é'))
    const directory = projectOf({ 'session-1.jsonl': text })
    const path = join(directory, 'session-1.jsonl')
    const first = await resumedAndEnded(directory, 's-1', { currentProvider, currentModel })
    expect([first.metadata.provider, first.metadata.model]).toStrictEqual([provider, model])
    const afterFirst = [
      [3, 'session_event', change(`${provider}/${model}`, `${currentProvider}/${currentModel}`)],
      [4, 'provider_switch', { provider: currentProvider, model: currentModel }],
      [5, 'session_event', noted],
    ]
    expect(appendedTo(path, text)).toStrictEqual(afterFirst)
    const second = await resumedAndEnded(directory, 's-1', { currentProvider, currentModel })
    expect([second.metadata.provider, second.metadata.model]).toStrictEqual([currentProvider, currentModel])
    expect(appendedTo(path, text)).toStrictEqual([...afterFirst, [6, 'session_event', noted]])
    await resumedAndEnded(directory, 's-1')
    expect(appendedTo(path, text).slice(4)).toStrictEqual([
      [7, 'session_event', change(`${currentProvider}/${currentModel}`, `${provider}/${model}`)],
      [8, 'provider_switch', { provider, model }],
      [9, 'session_event', noted],
    ])
  })

  test('are compared with what the session ended with', async () => {
    const text = sessionWith('s-1', ['provider_switch', { provider: 'p2', model: 'm2' }])
    const directory = projectOf({ 'session-1.jsonl': text })
    await resumedAndEnded(directory, 's-1', { currentProvider: 'p2', currentModel: 'm2' })
    expect(appendedTo(join(directory, 'session-1.jsonl'), text)).toStrictEqual([[3, 'session_event', noted]])
  })
})

type Step = { texts: string[]; provider: string }
const step: fc.Arbitrary<Step> = fc.record({
  texts: fc.array(anyString, { maxLength: 4 }),
  provider: fc.constantFrom(provider, 'two', 'thrée'),
})
test.prop([fc.array(step, { minLength: 1, maxLength: 5 })], runs(40))(
  'any number of resumes: seq increases by one, all content is recorded, each change of provider once',
  async (steps) => {
    const directory = projectOf({ 'session-1.jsonl': sessionWith('s-1') })
    const path = join(directory, 'session-1.jsonl')
    let [said, current, switches] = [[] as string[], provider, 0]
    for (const { texts, provider: next } of steps) {
      const { recording, history, warnings } = await resumed(directory, CONTINUE_LATEST, { currentProvider: next })
      expect([textsOf(history), warnings]).toStrictEqual([said, []])
      texts.forEach((text) => recording.recordContent(item('human', text)))
      await recording.dispose()
      said = [...said, ...texts]
      if (next !== current) switches += 1
      current = next
    }
    const records = recordsOf(path)
    expect(records.map(({ seq }) => seq)).toStrictEqual(records.map((_, i) => i + 1))
    expect(records.filter(({ type }) => type === 'provider_switch')).toHaveLength(switches)
    expect(records.filter(({ payload }) => payload.message === RESUMED)).toHaveLength(steps.length)
    expect(await replaySession(path, PROJECT_HASH, { strict: true })).toMatchObject({
      ok: true,
      warnings: [],
      sequenceCorrupt: false,
      metadata: { provider: current },
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

test('a torn last line of any length: its bytes stay, and what is recorded next replays', async () => {
  const whole = Buffer.from(sessionWith('s-1', content('first')))
  const last = Buffer.from(`${envelope(3, content('zerrissen ü\u{1f39e}'))}\n`)
  for (let length = 0; length <= last.length; length++) {
    const directory = projectOf({ 'session-1.jsonl': Buffer.concat([whole, last.subarray(0, length)]) })
    const path = join(directory, 'session-1.jsonl')
    const before = readFileSync(path)
    const { recording, history } = await resumed(directory, 's-1')
    recording.recordContent(item('human', 'nächste'))
    await recording.dispose()
    const isWhole = length >= last.length - 1
    const warnings =
      isWhole || length === 0
        ? []
        : ['Line 3: failed to parse JSON', 'WARNING: >20.0% of session events are malformed (1/5)']
    expect(textsOf(history)).toStrictEqual(isWhole ? ['first', 'zerrissen ü\u{1f39e}'] : ['first'])
    const after = readFileSync(path)
    expect(after.subarray(0, before.length).equals(before)).toBe(true)
    expect(
      after
        .subarray(before.length)
        .toString()
        .startsWith(before.at(-1) === 10 ? '{"v":1,' : '\n{"v":1,'),
    ).toBe(true)
    const replayed = await replaySession(path, PROJECT_HASH, { strict: true })
    expect(replayed).toMatchObject({ ok: true, lastSeq: isWhole ? 5 : 4, sequenceCorrupt: false, warnings })
    expect(replayed.ok && textsOf(replayed.history)).toStrictEqual([...textsOf(history), 'nächste'])
    expect(replayed.ok && replayed.sessionEvents).toStrictEqual([{ severity: 'info', message: RESUMED }])
    rmSync(directory, { recursive: true })
  }
})

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
    })
    expect((await resumedAndEnded(directory, 'früher')).metadata.sessionId).toBe('b')
    expect((await resumedAndEnded(directory, 'jetzt')).metadata.sessionId).toBe('a')
    for (const ref of ['Titel', 'Früher', 'null', 'undefined', 'latest', 'constructor', '__proto__']) {
      await expectFailure(
        directory,
        ref,
        fails(`Session not found for this project: ${ref}`, 'NotFound'),
        'a',
        'b',
        'c',
        'd',
        'e',
      )
    }
  })

  test('by a name that several sessions have is ambiguous', async () => {
    const directory = projectOf({
      'session-a.jsonl': sessionWith('a', named('dóppelt')),
      'session-b.jsonl': sessionWith('b', named('dóppelt')),
      'session-c.jsonl': sessionWith('c'),
    })
    for (const ref of ['dóppelt', ' dóppelt '])
      await expectFailure(directory, ref, fails(`Ambiguous continue target name '${ref}'`, 'Ambiguous'), 'a', 'b', 'c')
  })

  test('by name ignores sessions that could not be resumed, and those of other projects', async () => {
    const directory = projectOf({
      'session-corrupt.jsonl': `${corrupt('x')}${envelope(9, named('náme'))}\n`,
      'session-headless.jsonl': file(start({ sessionId: 'y', provider: 0 }), named('náme')),
      'session-other.jsonl': file(start({ sessionId: 'z', projectHash: 'other' }), named('náme')),
      'foreign.jsonl': sessionWith('f', named('náme')),
      'session-good.jsonl': sessionWith('good'),
    })
    await expectFailure(
      directory,
      'náme',
      fails('Session not found for this project: náme', 'NotFound'),
      'x',
      'y',
      'good',
    )
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
        ['x', fails('Session not found for this project: x', 'NotFound')],
        ['0', fails('Session index 0 out of range (1-2)', 'IndexOutOfRange')],
        ['3', fails('Session index 3 out of range (1-2)', 'IndexOutOfRange')],
        ['99999999999999999999999', fails('Session index 1e+23 out of range (1-2)', 'IndexOutOfRange')],
        ['ab', fails("Ambiguous session prefix 'ab' matches: abc, abd", 'Ambiguous')],
        ['', fails("Ambiguous session prefix '' matches: abc, abd", 'Ambiguous')],
        [`${CONTINUE_LATEST} `, fails(`Session not found for this project: ${CONTINUE_LATEST} `, 'NotFound')],
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

  test('without any session but with damaged files names them', async () => {
    for (const ref of ['x', CONTINUE_LATEST]) {
      const directory = projectOf({ 'session-1.jsonl': sessionWith('a').slice(0, -9), 'session-0.jsonl': '' })
      const [empty, torn] = [
        ['session-0.jsonl', 'Empty file or unreadable first line'],
        ['session-1.jsonl', NO_JSON],
      ] as [string, string][]
      await expectFailure(directory, ref, onlyDamaged(directory, empty!, torn!))
      writeFileSync(join(directory, 'session-2.jsonl'), sessionWith(7))
      await expectFailure(directory, ref, onlyDamaged(directory, empty!, torn!, ['session-2.jsonl', unreadable]))
    }
  })

  test('for a session that another process has', async () => {
    const directory = projectOf({ 'session-1.jsonl': sessionWith('s-1'), 'session-2.jsonl': sessionWith('s-2') })
    const other = new LockProcess()
    expect(await other.acquire(directory, 's-1')).toBe('held')
    const locked = readFileSync(sessionLockPath(directory, 's-1'), 'utf8')
    expect(await failureOf(requestOf(directory, 's-1'))).toStrictEqual(
      fails('Session is in use by another process', 'Locked'),
    )
    expect(readFileSync(sessionLockPath(directory, 's-1'), 'utf8')).toBe(locked)
    expect((await resumedAndEnded(directory, CONTINUE_LATEST)).metadata.sessionId).toBe('s-2')
    await other.release()
    await other.kill()
    await expectNoLock(directory, 's-1', 's-2')
  })

  test.each([['a/b'], ['..'], ['é'], ['x'.repeat(257)], ['a.b'], [' ']])('to lock the unsafe id %j', async (id) => {
    const directory = projectOf({ 'session-1.jsonl': sessionWith(id) })
    const error = `Failed to lock session: Unsafe session ID rejected: "${id}"`
    await expectFailure(directory, id, fails(error, 'LockFailed'))
    await expectFailure(directory, CONTINUE_LATEST, fails(error, 'LockFailed'))
  })

  test.skipIf(process.platform === 'win32')("to lock for a reason of the system has the system's message", async () => {
    const id = 'n'.repeat(256)
    const directory = projectOf({ 'session-1.jsonl': sessionWith(id) })
    const tooLong = {
      code: 'ENAMETOOLONG',
      path: expect.stringContaining(join(directory, 'nnn')) as string,
      message: expect.stringMatching(/^ENAMETOOLONG: name too long, open '/) as string,
    }
    await expect(resumeSession(requestOf(directory, id))).rejects.toMatchObject(tooLong)
    await expect(resumeSession(requestOf(directory, CONTINUE_LATEST))).rejects.toMatchObject(tooLong)
    expect(lockFilesIn(directory)).toStrictEqual([])
    // An older session can be resumed.
    writeFileSync(join(directory, 'session-0.jsonl'), sessionWith('s-0'))
    utimesSync(join(directory, 'session-0.jsonl'), 1, 1)
    const { recording, warnings } = await resumed(directory, CONTINUE_LATEST)
    expect(recording.getSessionId()).toBe('s-0')
    expect(warnings).toStrictEqual([
      expect.stringMatching(`^Session ${id} passed over: Failed to lock session: ENAMETOOLONG: `),
    ])
    await recording.dispose()
  })

  test.skipIf(unprivileged === null)("to lock the file for itself, because of that lock's permissions", async () => {
    const directory = projectOf({ 'session-1.jsonl': sessionWith('s-1'), 'session-1.jsonl.lock': '' })
    chmodSync(directory, 0o777)
    chmodSync(join(directory, 'session-1.jsonl.lock'), 0o600)
    const result = await childReport(
      'child-listing.mjs',
      ['exclusive', directory, PROJECT_HASH, 's-1'],
      unprivileged ?? {},
    )
    expect(result).toMatchObject({
      rejected: 'EACCES',
      path: expect.stringContaining(join(directory, 'session-1.jsonl')) as string,
    })
    await expectNoLock(directory, 's-1')
  })

  test('to lock in a directory that was replaced by a file', async () => {
    const directory = projectOf({ 'session-1.jsonl': sessionWith('s-1') })
    afterListing(() => {
      renameSync(directory, `${directory}-away`)
      writeFileSync(directory, 'a file')
    })
    await expect(resumeSession(requestOf(directory, 's-1'))).rejects.toMatchObject({
      code: expect.stringMatching(/^(ENOTDIR|ENOENT)$/) as string,
      path: expect.stringContaining(directory) as string,
    })
    rmSync(directory)
    renameSync(`${directory}-away`, directory)
    await expectNoLock(directory, 's-1')
  })

  test.skipIf(unprivileged === null)('to lock in a directory that the user may not write to', async () => {
    const directory = projectOf({ 'session-1.jsonl': sessionWith('s-1') })
    chmodSync(directory, 0o555)
    const refused = {
      rejected: 'EACCES',
      message: expect.stringMatching(/^EACCES: permission denied, open '/) as string,
      path: expect.stringContaining(join(directory, 's-1.lock')) as string,
    }
    for (const ref of ['s-1', '1', CONTINUE_LATEST]) {
      expect(
        await childReport('child-listing.mjs', ['resume', directory, PROJECT_HASH, ref], unprivileged ?? {}),
        ref,
      ).toStrictEqual(refused)
    }
    chmodSync(directory, 0o755)
    expect(readdirSync(directory)).toStrictEqual(['session-1.jsonl'])
  })

  test('to replay', async () => {
    const directory = projectOf({
      'session-provider.jsonl': file(start({ sessionId: 'p', provider: 0 })),
      'session-model.jsonl': file(start({ sessionId: 'm', model: 7 })),
      'session-time.jsonl': file(start({ sessionId: 't', startTime: undefined })),
      'session-corrupt.jsonl': corrupt('c'),
      'session-equal.jsonl': `${sessionWith('e', content('a'))}${envelope(2, content('b'))}\n`,
    })
    for (const id of ['p', 'm', 't'])
      await expectFailure(directory, id, fails(`Session ${id} can't be read: ${unreadable}`, 'ReplayFailed'), id)
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
    await expectFailure(
      directory,
      's-1',
      fails('Failed to replay session: das Addon kann nicht mehr', 'ReplayFailed'),
      's-1',
    )
    expect((await resumedAndEnded(directory, CONTINUE_LATEST)).warnings).toStrictEqual([
      'Session s-1 passed over: Failed to replay session: das Addon kann nicht mehr',
    ])
    await expectNoLock(directory, 's-1', 's-2')
  })

  test.each(BAD_IDS)('is not caused by another file with the id %j in its header', async (id) => {
    const directory = projectOf({
      'session-bad.jsonl': sessionWith(id, named('bad')),
      'session-a.jsonl': sessionWith('a'),
      'session-b.jsonl': sessionWith('b', named('ƀ')),
    })
    expect((await resumedAndEnded(directory, CONTINUE_LATEST)).metadata.sessionId).toBe('a')
    for (const [ref, found] of [
      ['b', 'b'],
      ['a', 'a'],
      ['1', 'a'],
      ['ƀ', 'b'],
    ] as const)
      expect([ref, (await resumedAndEnded(directory, ref)).metadata.sessionId]).toStrictEqual([ref, found])
    await expectFailure(directory, 'bad', fails('Session not found for this project: bad', 'NotFound'), 'a', 'b')
  })
})

describe('the latest', () => {
  test('is the newest; with equal times, the one with the last id', async () => {
    const directory = projectOf({ 'session-1.jsonl': sessionWith('old-id'), 'session-2.jsonl': sessionWith('z') })
    expect((await resumedAndEnded(directory, CONTINUE_LATEST)).metadata.sessionId).toBe('old-id')
    for (const name of ['session-1.jsonl', 'session-2.jsonl']) orderByAge(directory, [name])
    expect((await resumedAndEnded(directory, CONTINUE_LATEST)).metadata.sessionId).toBe('z')
  })

  test('is the next one if the newest is torn in its first line', async () => {
    const directory = projectOf({
      'session-torn.jsonl': sessionWith('torn').slice(0, -9),
      'session-good.jsonl': sessionWith('good'),
    })
    const { metadata, warnings } = await resumedAndEnded(directory, CONTINUE_LATEST)
    expect([metadata.sessionId, warnings]).toStrictEqual(['good', []])
  })

  test('is the next one if the first line of the newest is malformed in any way, which lists report with the reason', async () => {
    const starts = [
      { sessionId: undefined },
      { sessionId: 7 },
      { sessionId: '' },
      { projectHash: undefined },
      { startTime: '' },
      { startTime: 1 },
      { provider: undefined },
      { provider: null },
      { model: undefined },
      { model: [] },
      { sessionId: null, projectHash: null, startTime: null, provider: null, model: null },
    ].map((changes) => file(start(changes)))
    const firsts = [
      ...starts,
      '',
      '{"type":"session_start"}\n',
      '{"v":1,"seq":1,"type":"session_start","payload":[]}\n',
      'null\n',
      '[]\n',
      sessionWith('torn').slice(0, -9),
    ]
    for (const first of firsts) {
      const directory = projectOf({ 'session-bad.jsonl': first, 'session-good.jsonl': sessionWith('good') })
      const { sessions, unreadable: listed } = await listSessions(directory)
      expect([sessions.map(({ sessionId }) => sessionId), listed.map(({ filePath }) => filePath)], first).toStrictEqual(
        [['good'], [join(directory, 'session-bad.jsonl')]],
      )
      const { metadata } = await resumedAndEnded(directory, CONTINUE_LATEST)
      expect(metadata.sessionId, first).toBe('good')
      expect(readFileSync(join(directory, 'session-bad.jsonl'), 'utf8')).toBe(first)
    }
  })

  test('is the next one if the newest is sequence-corrupt: the warnings say so, before those of the replay', async () => {
    const directory = projectOf({
      'session-c.jsonl': corrupt('c'),
      'session-p.jsonl': file(start({ sessionId: 'p', provider: 0 })),
      'session-good.jsonl': `${sessionWith('good')}7 7\n${envelope(2, content('x'))}\n`,
    })
    const { metadata, warnings } = await resumedAndEnded(directory, CONTINUE_LATEST)
    expect(metadata.sessionId).toBe('good')
    expect(warnings.slice(0, 2)).toStrictEqual([
      `Session c passed over: ${corruptError}`,
      'Line 2: failed to parse JSON',
    ])
    await expectNoLock(directory, 'c', 'p', 'good')
  })

  test('fails with the error of the first one if none can be resumed', async () => {
    const directory = projectOf({
      'session-c.jsonl': corrupt('c'),
      'session-p.jsonl': file(start({ sessionId: 'p', provider: 0 })),
    })
    await expectFailure(directory, CONTINUE_LATEST, fails(corruptError, 'SequenceCorrupt'), 'c', 'p')
    rmSync(join(directory, 'session-c.jsonl'))
    await expectFailure(directory, CONTINUE_LATEST, onlyDamaged(directory, ['session-p.jsonl', unreadable]), 'p')
    const torn = projectOf({ 'session-1.jsonl': sessionWith('a').slice(0, -9), 'session-2.jsonl': '' })
    await expectFailure(
      torn,
      CONTINUE_LATEST,
      onlyDamaged(torn, ['session-1.jsonl', NO_JSON], ['session-2.jsonl', 'Empty file or unreadable first line']),
    )
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
  test('of a wrong type synchronously throws a TypeError that names it', () =>
    eachCase(
      [
        ['request', null],
        ['request', 'latest'],
        ['request.continueRef', { continueRef: 7 }],
        ['request.continueRef', { continueRef: undefined }],
        ['request.projectHash', { projectHash: '' }],
        ['request.chatsDir', { chatsDir: '' }],
        ['request.chatsDir', { chatsDir: ['.'] }],
        ['request.currentProvider', { currentProvider: '' }],
        ['request.currentProvider', { currentProvider: undefined }],
        ['request.currentModel', { currentModel: null }],
        ['request.workspaceDirs', { workspaceDirs: '/w' }],
        ['request.workspaceDirs', { workspaceDirs: ['/w', 7] }],
        ['request.recorder', { recorder: null }],
        ['request.recorder.cwd', { recorder: { cwd: 7 } }],
        ['request.recorder.fileName', { recorder: { fileName: 'hours' } }],
        ['request.recorder.onWarning', { recorder: { onWarning: 'call me' } }],
        ['request.recorder.durability', { recorder: { durability: 'disk' } }],
        ['request.recorder.exclusive', { recorder: { exclusive: 1 } }],
      ] as const,
      ([name, changes]) => {
        const request =
          typeof changes === 'object' && changes !== null ? { ...requestOf('.', 'x'), ...changes } : changes
        const call = () => resumeSession(request as unknown as ResumeRequest)
        expect(call).toThrow(
          expect.objectContaining({
            name: 'TypeError',
            code: 'ERR_INVALID_ARG_TYPE',
            message: expect.stringMatching(new RegExp(`^${name} `)) as string,
          }),
        )
      },
    ))

  test('for a directory that cannot be read rejects, and locks nothing', async () => {
    const inPlace = writeSession('')
    await expect(resumeSession(requestOf(inPlace, 'x'))).rejects.toMatchObject({ code: 'ENOTDIR' })
    await expect(resumeSession(requestOf('a\0b', CONTINUE_LATEST))).rejects.toMatchObject({
      code: 'ERR_INVALID_ARG_VALUE',
    })
  })

  test.skipIf(unprivileged === null)('for a directory that the user may not read rejects', async () => {
    const directory = projectOf({ 'session-1.jsonl': sessionWith('s-1') })
    chmodSync(directory, 0o311)
    expect(
      await childReport('child-listing.mjs', ['resume', directory, PROJECT_HASH, 's-1'], unprivileged ?? {}),
    ).toMatchObject({ rejected: 'EACCES' })
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
    const other = new SessionRecordingService({
      sessionId: 's-1',
      projectHash: PROJECT_HASH,
      chatsDir: directory,
      workspaceDirs: [],
      provider,
      model,
      exclusive: true,
    })
    other.initializeForResume(path, 2)
    const warnings: RecordingWarning[] = []
    const recorder = { exclusive: true, onWarning: (warning: RecordingWarning) => void warnings.push(warning) }
    const before = readFileSync(path)
    expect(await failureOf(requestOf(directory, 's-1', { recorder }))).toStrictEqual({
      ok: false,
      error: 'Session is in use by another process',
      code: 'Locked',
    })
    await expectNoLock(directory, 's-1')
    // The newest that can be resumed is the next one.
    const { recording, warnings: told } = await resumed(directory, CONTINUE_LATEST, { recorder })
    expect([recording.getSessionId(), recording.isActive(), told]).toStrictEqual(['s-0', true, []])
    await recording.dispose()
    await other.dispose()
    expect([readFileSync(path), warnings]).toStrictEqual([before, []])
    await (await resumed(directory, 's-1', { recorder })).recording.dispose()
  })

  test('fails for a session whose numbers are used up, and for one that has too few left', async () => {
    for (const last of [2 ** 53 - 1, 2 ** 53 - 2, 2 ** 53 - 4]) {
      const directory = projectOf({
        'session-1.jsonl': `${sessionWith('s-1')}{"v":1,"seq":${last},"ts":"","type":"session_event","payload":{"severity":"info","message":"m"}}\n`,
      })
      const before = readFileSync(join(directory, 'session-1.jsonl'))
      const error = 'Failed to replay session: recording has no sequence numbers left'
      expect(await failureOf(requestOf(directory, 's-1'))).toStrictEqual({ ok: false, error, code: 'SequenceCorrupt' })
      expect(readFileSync(join(directory, 'session-1.jsonl'))).toStrictEqual(before)
      await expectNoLock(directory, 's-1')
    }
  })

  test('may be changed by its caller during the call', async () => {
    const directory = projectOf({ 'session-1.jsonl': sessionWith('s-1') })
    const recorder: Record<string, unknown> = { onWarning: undefined }
    const request: Record<string, unknown> = { ...requestOf(directory, 's-1'), workspaceDirs: ['/w'], recorder }
    const resuming = resumeSession(request as unknown as ResumeRequest)
    recorder['onWarning'] = 7
    ;(request['workspaceDirs'] as unknown[]).push(7)
    Object.assign(request, {
      continueRef: 7,
      currentProvider: 7,
      currentModel: 7,
      chatsDir: 7,
      projectHash: 7,
      recorder: 7,
    })
    const result = await resuming
    expect(result).toMatchObject({ ok: true })
    if (result.ok) await result.recording.dispose()
    expect(recordsOf(join(directory, 'session-1.jsonl'))).toMatchObject([
      { type: 'session_start' },
      { payload: { message: RESUMED } },
    ])
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

test('faked timers do not stop a resumption, even if a stale lock has to be replaced', async () => {
  const directory = projectOf({ 'session-1.jsonl': sessionWith('s-1', named('fäked')) })
  writeLock(directory, lockOf(DEAD_PID, { sessionId: 's-1' }), { id: 's-1' })
  vi.useFakeTimers()
  const { recording, history } = await resumed(directory, 'fäked')
  await recording.dispose()
  vi.useRealTimers()
  expect(history).toStrictEqual([])
  await expectNoLock(directory, 's-1')
})

test('a worker thread locks a session against the main thread, and the other way round', async () => {
  const directory = projectOf({ 'session-1.jsonl': sessionWith('s-1', content('é')) })
  const worker = new Worker(fileURLToPath(new URL('../support/child-worker.mjs', import.meta.url)), {
    workerData: { job: 'resume', chatsDir: directory, request: requestOf(directory, 's-1') },
  })
  const messages: unknown[] = []
  worker.on('message', (message) => messages.push(message))
  await vi.waitFor(() => expect(messages).toStrictEqual([{ ok: true }]), { timeout: 100_000 })
  expect(await failureOf(requestOf(directory, 's-1'))).toStrictEqual(
    fails('Session is in use by another process', 'Locked'),
  )
  worker.postMessage('end')
  await vi.waitFor(() => expect(messages[1]).toBe('disposed'), { timeout: 100_000 })
  const mine = await resumed(directory, 's-1')
  worker.postMessage('again')
  await vi.waitFor(
    () =>
      expect(messages[2]).toStrictEqual({
        ...fails('Session is in use by another process', 'Locked'),
        skippedRecordings: [],
      }),
    { timeout: 100_000 },
  )
  await mine.recording.dispose()
  await worker.terminate()
  await expectNoLock(directory, 's-1')
})

test('a resumed session can be found by what was recorded', async () => {
  const directory = projectOf({ 'session-1.jsonl': sessionWith('s-1', content('é')) })
  const { recording } = await resumed(directory, '1')
  const made = await recording.createCheckpoint(' vör ')
  await recording.setSessionName('náme')
  recording.recordSessionMetadata('Título')
  await recording.dispose()
  const { targets } = await listContinueTargets(directory, PROJECT_HASH)
  expect(targets).toMatchObject([
    { session: { name: 'náme', title: 'Título' } },
    { checkpointId: made.checkpointId, checkpointName: 'vör', sequence: made.sequence },
  ])
  expect((await describeSessions(directory)).sessions).toMatchObject([
    { historyLength: 1, lastSeq: 6, metadata: { title: 'Título' } },
  ])
  expect((await resumedAndEnded(directory, 'náme')).metadata.title).toBe('Título')
})

test.prop([filledString, anyString, filledString, anyString], runs(40))(
  'any provider and model: the message about the change, and the switch',
  async (before, beforeModel, after, afterModel) => {
    const events: Event[] = [['provider_switch', { provider: before, model: beforeModel }]]
    const directory = projectOf({ 'session-1.jsonl': sessionWith('s-1', ...events) })
    const { metadata } = await resumedAndEnded(directory, 's-1', { currentProvider: after, currentModel: afterModel })
    const [change, switched] = recordsOf(join(directory, 'session-1.jsonl')).slice(2)
    if (metadata.provider === after && metadata.model === afterModel) expect(change!.payload.message).toBe(RESUMED)
    else {
      const words = `Provider/model changed from ${metadata.provider}/${metadata.model} to ${after}/${afterModel}`
      expect([change!.payload, switched!.payload]).toStrictEqual([
        { severity: 'warning', message: words },
        { provider: after, model: afterModel },
      ])
    }
    rmSync(directory, { recursive: true })
  },
)
