/** Why a list passes a file over: the same reason in every list, and in a session that was resumed or deleted instead. */
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect } from 'vitest'
import {
  CONTINUE_LATEST,
  deleteSession,
  describeSessions,
  listContinueTargets,
  listSessions,
  replaySession,
  resolveSessionRef,
  resumeSession,
  type SkippedSession,
} from '../../index.js'
import { projectOf, sessionWith } from '../support/project-files.js'
import { test } from '../support/property'
import { requestOf, resumedAndEnded } from '../support/resuming'
import { content, envelope, file, PROJECT_HASH, start } from '../support/session-file'

const EMPTY = 'Empty file or unreadable first line'
const NO_JSON = 'Missing or corrupt session_start event: first line is not valid JSON'
const NO_START = 'Missing or corrupt session_start event: first line is not a session_start event'
const INVALID = 'Invalid session_start: missing or malformed required fields'
const NONE = 'No sessions found for this project'
const MIB = 1 << 20

const invalid = (changes: Record<string, unknown>): string => file(start(changes), content('a'))
const good = sessionWith('good', content('kept'))

/** What the first file of a directory is, and why it is passed over. */
const FILES: Record<string, [text: string | Uint8Array, reason: string, sessionId?: string]> = {
  'is empty': ['', EMPTY],
  'has a byte order mark only': ['\ufeff', EMPTY],
  'begins with an empty line': [`\n${good}`, EMPTY],
  'begins with white space': [` \t\u00a0\n${good}`, EMPTY],
  'is torn in its first line': [good.slice(0, 60), NO_JSON],
  'has zeros only': [new Uint8Array(500), NO_JSON],
  'is a binary file': [gzipSync('a'), NO_JSON],
  'has a long first line that is no JSON': [`{"v":1,"x":"${'x'.repeat(2 * MIB)}`, NO_JSON],
  'has a long first line that cannot be JSON': ['x'.repeat(2 * MIB), NO_JSON],
  'begins with another event': [`${envelope(1, content('no start'))}\n${good}`, NO_START],
  'begins with null': [`null\n${good}`, NO_START],
  'begins with a list': [`[]\n${good}`, NO_START],
  'begins with a string': [`"session_start"\n${good}`, NO_START],
  'begins with an object without a type': [`{"v":1}\n${good}`, NO_START],
  'has a long first line of another type': [`${envelope(1, content('x'.repeat(2 * MIB)))}\n`, NO_START],
  'has a start without a payload': ['{"v":1,"seq":1,"type":"session_start"}\n', INVALID],
  'has a start whose payload is a list': ['{"v":1,"seq":1,"type":"session_start","payload":[]}\n', INVALID],
  'has a start whose payload is null': ['{"v":1,"seq":1,"type":"session_start","payload":null}\n', INVALID],
  'has an empty payload': ['{"v":1,"seq":1,"type":"session_start","payload":{}}\n', INVALID],
  'has a number as its id': [invalid({ sessionId: 7 }), INVALID],
  'has an empty id': [invalid({ sessionId: '' }), INVALID],
  'has no project': [invalid({ sessionId: 'a', projectHash: undefined }), INVALID, 'a'],
  'has an empty project': [invalid({ sessionId: 'a', projectHash: '' }), INVALID, 'a'],
  'has no time': [invalid({ sessionId: 'a', startTime: '' }), INVALID, 'a'],
  'has no provider': [invalid({ sessionId: 'a', provider: undefined }), INVALID, 'a'],
  'has a model that is null': [invalid({ sessionId: 'a', model: null }), INVALID, 'a'],
}

/** What every list of a directory passes over. */
async function passedOver(directory: string): Promise<SkippedSession[][]> {
  const { targets: _, ...rest } = await listContinueTargets(directory, PROJECT_HASH)
  const lists = [
    await listSessions(directory),
    await listSessions(directory, { projectHash: PROJECT_HASH }),
    await describeSessions(directory),
    rest,
  ]
  return [...lists.map(({ unreadable }) => unreadable), rest.skipped]
}

describe('a file that', () => {
  test.each(Object.entries(FILES))(
    '%s is passed over with its reason by every list, and when another session is resumed or deleted',
    async (_, [text, reason, sessionId]) => {
      const directory = projectOf({ 'session-bad.jsonl': text, 'session-good.jsonl': good })
      const filePath = join(directory, 'session-bad.jsonl')
      const expected = [{ filePath, ...(sessionId === undefined ? {} : { sessionId }), reason }]
      for (const unreadable of await passedOver(directory)) expect(unreadable).toStrictEqual(expected)
      for (const ref of [CONTINUE_LATEST, 'good', '1']) {
        const { metadata, warnings, skippedRecordings } = await resumedAndEnded(directory, ref)
        expect([metadata.sessionId, warnings, skippedRecordings]).toStrictEqual(['good', [], expected])
      }
      const failed = { ok: false, error: 'Session not found for this project: unknown', code: 'NotFound' }
      expect(await resumeSession(requestOf(directory, 'unknown'))).toStrictEqual({
        ...failed,
        skippedRecordings: expected,
      })
      expect(await deleteSession('unknown', directory, PROJECT_HASH)).toStrictEqual({ ...failed, unreadable: expected })
      expect(readFileSync(filePath)).toStrictEqual(Buffer.from(text))
      rmSync(join(directory, 'session-good.jsonl'))
      expect(await resumeSession(requestOf(directory))).toMatchObject({
        ok: false,
        error: `${NONE}; skipped unreadable recordings: ${filePath}: ${reason}`,
        code: 'NoSessions',
        skippedRecordings: [{ reason }],
      })
    },
  )

  test('is of a newer version, or has no number, does not stop who continues the last session, nor do all of these', async () => {
    const numberless = `${JSON.stringify({ ...JSON.parse(envelope(1, start({ sessionId: 'a' }))), seq: 'one' })}\n`
    const newer = numberless.replace('"v":1', '"v":3').replace('"one"', '1')
    const all = [numberless, newer, ...Object.values(FILES).map(([text]) => text)]
    for (const texts of [[numberless], [newer], all]) {
      const files = texts.map((text, at): [string, string | Uint8Array] => [`session-${at}.jsonl`, text])
      const directory = projectOf({ ...Object.fromEntries(files), 'session-good.jsonl': good })
      expect((await resumedAndEnded(directory)).metadata.sessionId).toBe('good')
      expect((await describeSessions(directory)).unreadable).toHaveLength(texts.length)
    }
  })

  test('is a directory has the message of the system, with the code', async () => {
    const directory = projectOf({ 'session-good.jsonl': good })
    mkdirSync(join(directory, 'session-bad.jsonl'))
    for (const unreadable of await passedOver(directory))
      expect(unreadable).toStrictEqual([
        { filePath: join(directory, 'session-bad.jsonl'), reason: expect.stringMatching(/^EISDIR: /) },
      ])
  })

  test('has a header of another project is not passed over', async () => {
    const directory = projectOf({
      'session-other.jsonl': sessionWith('other').replace(PROJECT_HASH, 'another'),
      'session-bad.jsonl': invalid({ projectHash: 'another', model: 7 }),
    })
    expect(await listContinueTargets(directory, PROJECT_HASH)).toStrictEqual({
      targets: [],
      skipped: [],
      unreadable: [],
    })
    expect(await resumeSession(requestOf(directory))).toStrictEqual({
      ok: false,
      error: NONE,
      code: 'NoSessions',
      skippedRecordings: [],
    })
  })

  test('is replayed has the error of a replay, as before', async () => {
    const directory = projectOf({ 'session-a.jsonl': '', 'session-b.jsonl': 'torn', 'session-c.jsonl': 'null' })
    const replays = await Promise.all(
      ['a', 'b', 'c'].map((name) =>
        replaySession(join(directory, `session-${name}.jsonl`), PROJECT_HASH, { strict: true }),
      ),
    )
    const missing = 'Missing or corrupt session_start event'
    expect(replays.map((one) => one.ok || one.error)).toStrictEqual(['Empty file', missing, missing])
  })
})

describe('a failure that names what was passed over', () => {
  const directoryOf = (count: number): string =>
    projectOf(Object.fromEntries(Array.from({ length: count }, (_, i) => [`session-${i}.jsonl`, ''])))
  const named = (directory: string, count: number): string =>
    Array.from({ length: count }, (_, i) => `${join(directory, `session-${i}.jsonl`)}: ${EMPTY}`).join('; ')

  test.each([1, 5, 6, 9])('names up to five of %i files, and counts the others', async (count) => {
    const directory = directoryOf(count)
    const more = count > 5 ? `; and ${count - 5} more` : ''
    const result = await resumeSession(requestOf(directory, '1'))
    const error = `${NONE}; skipped unreadable recordings: ${named(directory, Math.min(count, 5))}${more}`
    expect(result).toMatchObject({ ok: false, error })
    expect(result.skippedRecordings).toHaveLength(count)
  })

  test('of a deletion has them beside its text', async () => {
    const directory = directoryOf(1)
    const unreadable = [{ filePath: join(directory, 'session-0.jsonl'), reason: EMPTY }]
    const failed = { ok: false, error: NONE, code: 'NoSessions', unreadable }
    expect(await deleteSession('1', directory, PROJECT_HASH)).toStrictEqual(failed)
  })
})

describe('the sessions that the latest was tried after', () => {
  const corrupt = `${sessionWith('corrupt')}${envelope(4, content('a'))}\n${envelope(3, content('b'))}\n`
  const reason = 'recording has non-monotonic sequences'

  test('are behind the files of the listing, with the reason that lists give', async () => {
    const directory = projectOf({
      'session-corrupt.jsonl': corrupt,
      'session-unsafe.jsonl': sessionWith('../x'),
      'session-good.jsonl': good,
      'session-torn.jsonl': '{',
    })
    const unsafe = 'Failed to lock session: Unsafe session ID rejected: "../x"'
    const expected = [
      { filePath: join(directory, 'session-torn.jsonl'), reason: NO_JSON },
      { filePath: join(directory, 'session-corrupt.jsonl'), sessionId: 'corrupt', reason },
      { filePath: join(directory, 'session-unsafe.jsonl'), sessionId: '../x', reason: unsafe },
    ]
    expect((await resumedAndEnded(directory)).skippedRecordings).toStrictEqual(expected)
    expect((await listContinueTargets(directory, PROJECT_HASH)).unreadable).toStrictEqual(expected.slice(0, 2))
  })

  test('are there if none could be resumed, but not those in use', async () => {
    const directory = projectOf({ 'session-corrupt.jsonl': corrupt, 'session-used.jsonl': good })
    const open = await resumeSession(requestOf(directory, 'good'))
    const result = await resumeSession(requestOf(directory))
    expect(result).toStrictEqual({
      ok: false,
      error: `Failed to replay session: ${reason}`,
      code: 'SequenceCorrupt',
      skippedRecordings: [{ filePath: join(directory, 'session-corrupt.jsonl'), sessionId: 'corrupt', reason }],
    })
    if (open.ok) await open.recording.dispose()
  })
})

test('a reference to a file that cannot be read has its reason, whether its id is absent or null', () => {
  for (const id of [{}, { sessionId: null }, { sessionId: undefined }]) {
    expect(
      resolveSessionRef('session-a', [], [{ filePath: '/x/session-a.jsonl', ...id, reason: EMPTY }]),
    ).toStrictEqual({ error: `Session session-a can't be read: ${EMPTY}`, code: 'ReplayFailed' })
  }
})
