/** Resuming without a history in memory: the result has a session to read it from. */
import '../support/on-disk.js' // Hundreds of megabytes.
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import {
  CONTINUE_LATEST,
  archiveSession,
  openSession,
  replaySession,
  resumeSession,
  type CursorResumeRequest,
  type CursorResumeResult,
  type IContent,
} from '../../index.js'
import { childReport, isLinux } from '../support/processes'
import { expectNoLock, projectOf, sessionWith, titled } from '../support/project-files.js'
import { fc, test } from '../support/property'
import {
  compressed,
  content,
  envelope,
  item,
  PROJECT_HASH,
  rewind,
  session,
  START_PAYLOAD,
  textsOf,
} from '../support/session-file'
import { runs } from '../support/session-arbitraries.js'

const CLOSED = { code: 'ESESSIONCLOSED' }

const requestOf = (chatsDir: string, more: Partial<CursorResumeRequest> = {}): CursorResumeRequest => ({
  continueRef: CONTINUE_LATEST,
  projectHash: PROJECT_HASH,
  chatsDir,
  currentProvider: START_PAYLOAD.provider,
  currentModel: START_PAYLOAD.model,
  workspaceDirs: [],
  history: 'cursor',
  ...more,
})

/** Resumes a session that must resume. */
async function resumed(chatsDir: string, more: Partial<CursorResumeRequest> = {}): Promise<CursorResumeResult> {
  const result = await resumeSession(requestOf(chatsDir, more))
  if (!result.ok) throw new Error(result.error)
  return result
}

async function rowsOf(
  handle: CursorResumeResult['session'],
  range?: { from?: number; to?: number },
): Promise<IContent[]> {
  const rows = []
  for await (const row of handle.rows(range)) rows.push(row)
  return rows
}

/** Number of descriptors of this process that are open on the file. */
const descriptorsOf = (filePath: string): number =>
  readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(filePath)
    } catch {
      return false
    }
  }).length

const three = sessionWith('s-1', content('a'), content('b'), content('c'), titled('Título'))

describe('a session that is resumed with a cursor', () => {
  test('has a session instead of the history, which is that of openSession', async () => {
    const directory = projectOf({ 'session-1.jsonl': three, 'session-bad.jsonl': '' })
    const filePath = join(directory, 'session-1.jsonl')
    const opened = await openSession(filePath, PROJECT_HASH, { strict: true })
    const result = await resumed(directory)
    expect(Object.keys(result).sort()).toStrictEqual([
      'lastSeq',
      'lockHandle',
      'metadata',
      'ok',
      'recording',
      'session',
      'skippedRecordings',
      'warnings',
    ])
    expect(opened.ok && { ...opened.session }).toStrictEqual({ ...result.session })
    expect([result.session.historyLength, result.session.lastSeq, result.lastSeq, result.metadata.title]).toStrictEqual(
      [3, 5, 5, 'Título'],
    )
    expect(await result.session.items()).toStrictEqual([item('human', 'a'), item('human', 'b'), item('human', 'c')])
    expect(textsOf(await rowsOf(result.session))).toStrictEqual(['a', 'b', 'c'])
    expect(result.skippedRecordings).toHaveLength(1)
    await result.recording.dispose()
    if (opened.ok) opened.session.close()
  })

  test('has the lock, and a recorder that goes on behind the last record', async () => {
    const directory = projectOf({ 'session-1.jsonl': three })
    const { recording, lockHandle, session: held } = await resumed(directory, { currentModel: 'other' })
    expect([recording.getOwnedLockHandle() === lockHandle, await lockHandle.ownsLock()]).toStrictEqual([true, true])
    expect(await resumeSession(requestOf(directory))).toMatchObject({
      ok: false,
      code: 'AllLocked',
      skippedRecordings: [],
    })
    const { seq } = await recording.commit('content', { content: item('ai', 'd') })
    expect(seq).toBe(9)
    expect(textsOf(await rowsOf(held))).toStrictEqual(['a', 'b', 'c'])
    await recording.dispose()
    await expectNoLock(directory, 's-1')
    const again = await resumed(directory)
    expect(textsOf(await rowsOf(again.session))).toStrictEqual(['a', 'b', 'c', 'd'])
    await again.recording.dispose()
  })

  test('is closed by dispose of the recorder, before the lock is released', async () => {
    const directory = projectOf({ 'session-1.jsonl': three })
    const { recording, session: held } = await resumed(directory)
    const reading = held.rows()
    expect((await reading.next()).value).toStrictEqual(item('human', 'a'))
    await recording.dispose()
    await expect(held.items()).rejects.toMatchObject(CLOSED)
    await expect(held.rows().next()).rejects.toMatchObject(CLOSED)
    if (isLinux) expect(descriptorsOf(join(directory, 'session-1.jsonl'))).toBe(0)
    await expectNoLock(directory, 's-1')
  })

  test('is closed by the release of its lock; closing it leaves the lock', async () => {
    const directory = projectOf({ 'session-1.jsonl': three })
    const first = await resumed(directory)
    await first.lockHandle.release()
    await expect(first.session.items()).rejects.toMatchObject(CLOSED)
    await first.recording.dispose()
    const second = await resumed(directory)
    second.session.close()
    expect(await second.lockHandle.ownsLock()).toBe(true)
    await second.recording.dispose()
    await expectNoLock(directory, 's-1')
  })

  test.runIf(isLinux)('that cannot go on leaves no file open and no lock', async () => {
    const corrupt = `${sessionWith('corrupt')}${envelope(4, content('a'))}\n${envelope(3, content('b'))}\n`
    const directory = projectOf({ 'session-corrupt.jsonl': corrupt, 'session-1.jsonl': three })
    expect(await resumeSession(requestOf(directory, { continueRef: 'corrupt' }))).toMatchObject({
      ok: false,
      code: 'SequenceCorrupt',
    })
    const { recording, metadata, warnings } = await resumed(directory)
    expect([metadata.sessionId, warnings]).toStrictEqual([
      's-1',
      ['Session corrupt passed over: Failed to replay session: recording has non-monotonic sequences'],
    ])
    expect(descriptorsOf(join(directory, 'session-corrupt.jsonl'))).toBe(0)
    await recording.dispose()
    await expectNoLock(directory, 's-1', 'corrupt')
  })

  test('that is archived is restored', async () => {
    const directory = projectOf({ 'session-1.jsonl': three })
    await archiveSession(join(directory, 'session-1.jsonl'))
    const { recording, session: held } = await resumed(directory)
    expect(existsSync(join(directory, 'session-1.jsonl.zst'))).toBe(false)
    expect(textsOf(await rowsOf(held))).toStrictEqual(['a', 'b', 'c'])
    await recording.dispose()
  })

  test('can be reconciled with the live history: what the file has is not recorded again', async () => {
    const directory = projectOf({ 'session-1.jsonl': three })
    const { recording, session: held } = await resumed(directory)
    const live = await rowsOf(held)
    expect(recording.reconcile(live)).toStrictEqual({ removed: 0, added: 0, replaced: 0 })
    expect(recording.reconcile([...live.slice(0, 2), item('ai', 'd')])).toStrictEqual({
      removed: 1,
      added: 1,
      replaced: 0,
    })
    await recording.dispose()
    const replayed = await replaySession(join(directory, 'session-1.jsonl'), PROJECT_HASH, { strict: true })
    expect(replayed.ok && textsOf(replayed.history)).toStrictEqual(['a', 'b', 'd'])
  })
})

describe('rows', () => {
  const sizes = fc.array(fc.constantFrom(1, 200, 40_000, 600_000, 1_500_000), { maxLength: 12 })
  const bound = fc.option(fc.integer({ min: -14, max: 14 }), { nil: undefined })
  test.prop([sizes, bound, bound], runs(40))(
    'are a slice of the history, whatever the sizes of the items',
    async (lengths, from, to) => {
      const directory = projectOf({
        'session-1.jsonl': session(
          content('gone'),
          compressed('s'),
          ...lengths.map((length, i) => content(`${i} ${'x'.repeat(length)}`)),
          content('r'),
          rewind(1),
        ),
      })
      const opened = await openSession(join(directory, 'session-1.jsonl'))
      if (!opened.ok) throw new Error(opened.error)
      const range = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
      const all = await opened.session.items()
      expect(textsOf(await rowsOf(opened.session, range))).toStrictEqual(textsOf(all.slice(from, to)))
      const iterated = []
      for await (const one of opened.session) iterated.push(one)
      expect(iterated).toStrictEqual(all)
      opened.session.close()
      rmSync(directory, { recursive: true })
    },
  )

  test('have arguments that are checked at once', async () => {
    const directory = projectOf({ 'session-1.jsonl': three })
    const opened = await openSession(join(directory, 'session-1.jsonl'))
    if (!opened.ok) throw new Error(opened.error)
    for (const range of [{ from: '1' }, { to: null }])
      expect(() => opened.session.rows(range as never)).toThrow(/range\.(from|to) must be a number, if it is given/)
    opened.session.close()
  })
})

describe.runIf(isLinux)('a session of hundreds of megabytes', () => {
  const LIMIT = 64 << 20
  /** Writes a session of `count` items of this length. Returns its directory. */
  function bigProject(count: number, length: number): string {
    const directory = realpathSync(mkdtempSync(join(tmpdir(), 'session-tape-cursor-')))
    const file = openSync(join(directory, 'session-1.jsonl'), 'w')
    writeSync(file, session())
    const [before, after] = envelope(0, content('HERE')).split('HERE') as [string, string]
    const text = 'word '.repeat(length / 5)
    for (let i = 0; i < count; i += 1)
      writeSync(file, `${before.replace('"seq":0', `"seq":${i + 2}`)}${text}${after}\n`)
    closeSync(file)
    return directory
  }

  test.each([
    [320, 1_000_000],
    [75_000, 4000],
  ])(
    'is resumed and read in 64 MiB over the process’ base: %i items of %i characters',
    { timeout: 120_000 },
    async (count, length) => {
      const directory = bigProject(count, length)
      try {
        const { growth, ...read } = await childReport<{ growth: number }>(
          'child-cursor.mjs',
          [directory, PROJECT_HASH],
          { timeoutMs: 100_000 },
        )
        expect(read).toStrictEqual({ rows: count, characters: count * length, historyLength: count })
        expect(growth).toBeLessThan(LIMIT)
      } finally {
        rmSync(directory, { recursive: true })
      }
    },
  )
})

test('a file that is resumed with a cursor has the bytes that it has with a history', async () => {
  const directories = [
    projectOf({ 'session-1.jsonl': `${three}{"torn` }),
    projectOf({ 'session-1.jsonl': `${three}{"torn` }),
  ]
  const texts = []
  for (const [index, directory] of directories.entries()) {
    const { history: _, ...request } = requestOf(directory)
    const result = index === 0 ? await resumeSession(request) : await resumeSession(requestOf(directory))
    if (result.ok) await result.recording.dispose()
    texts.push(readFileSync(join(directory, 'session-1.jsonl'), 'utf8').replace(/"ts":"[^"]*"/g, ''))
  }
  expect(texts[0]).toBe(texts[1])
})
