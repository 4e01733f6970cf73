/** Rule 7: continuing an existing file, in whatever state the last process left it. */
import { appendFileSync, existsSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fc, test } from '../support/property'
import { describe, expect } from 'vitest'
import {
  eventually,
  freshDirectory,
  linesOf,
  newRecorder,
  recordedSession,
  recordsOf,
  replaySession,
  said,
  watchedRecorder,
} from '../support/recording'

describe('the next record', () => {
  test('has the seq after lastSeq, in the same file, without a second session_start', async () => {
    const path = await recordedSession()
    const recorder = newRecorder()
    recorder.initializeForResume(path, 41)
    expect(recorder.getFilePath()).toBe(path)
    recorder.recordContent(said('again'))
    recorder.recordRewind(1)
    await recorder.dispose()
    expect(recordsOf(path).map((record) => [record.seq, record.type])).toEqual([
      [1, 'session_start'],
      [2, 'content'],
      [42, 'content'],
      [43, 'rewind'],
    ])
  })

  test('does not wait for a content: after a resume every event goes to the file', async () => {
    const path = await recordedSession()
    const recorder = newRecorder()
    recorder.initializeForResume(path, 2)
    recorder.recordSessionEvent('info', 'resumed')
    await recorder.flush()
    expect(recordsOf(path).map((record) => record.type)).toEqual(['session_start', 'content', 'session_event'])
    await recorder.dispose()
  })

  test('does not exist if a resume records nothing: the file stays as it is, including a torn line', async () => {
    const path = await recordedSession()
    appendFileSync(path, '{"v":1,"seq":3')
    const before = readFileSync(path)
    const recorder = newRecorder()
    recorder.initializeForResume(path, 2)
    expect(recorder.getPendingRecordCount()).toBe(0)
    await recorder.flush()
    await recorder.dispose()
    expect(readFileSync(path).equals(before)).toBe(true)
  })

  test.prop([fc.nat({ max: 20 }), fc.integer({ min: 2, max: 2 ** 52 })], { numRuns: 30 })(
    'comes after what was buffered before the resume, numbered after lastSeq',
    async (buffered, lastSeq) => {
      const path = await recordedSession()
      const recorder = newRecorder()
      for (let i = 0; i < buffered; i++) recorder.enqueue('note', { i })
      recorder.initializeForResume(path, lastSeq)
      recorder.enqueue('note', { i: buffered })
      await recorder.dispose()
      const resumed = recordsOf(path).slice(2)
      expect(resumed.map((record) => record.payload.i)).toEqual(Array.from({ length: buffered + 1 }, (_, i) => i))
      expect(resumed.map((record) => record.seq)).toEqual(resumed.map((_, i) => lastSeq + 1 + i))
    },
  )
})

describe('after a seq that no recorder writes', () => {
  // Double arithmetic ends where a double can't hold a fraction: that is where adding 1 gives the number itself, or the one after the next.
  const odd = fc.oneof(
    fc.constantFrom(7.5, 4503599627370495.5, 2251799813685247.75, 0.1, -0.5, -3, -1, 0, -0, 1e15 + 0.3, -1e308, 5e-324),
    fc.double({ min: -10, max: 2 ** 53 - 20, noNaN: true }),
  )

  test.prop([odd, fc.integer({ min: 1, max: 4 }), fc.boolean()], { numRuns: 40 })(
    'a recorder gives numbers of which strict replays skip none, and every commit settles',
    async (last, count, buffered) => {
      const path = await recordedSession()
      const line = {
        v: 1,
        seq: last,
        ts: '2026-02-11T16:00:00.000Z',
        type: 'content',
        payload: { content: said('odd') },
      }
      writeFileSync(path, `${linesOf(path)[0]}\n${JSON.stringify(line)}\n`)
      const before = recordsOf(path).length
      const replayed = await replaySession(path)
      if (!replayed.ok) throw new Error(replayed.error)
      const recorder = newRecorder()
      const early = buffered ? recorder.enqueue('session_event', { severity: 'info', content: 'early' }) : null
      recorder.initializeForResume(path, replayed.lastSeq)
      const records = Array.from(
        { length: count },
        (_, n) => recorder.enqueue('content', { content: said(String(n)) })!,
      )
      const commits = await Promise.all(
        [...records, ...(early ? [early] : [])].map((record) => recorder.waitForCommit(record)),
      )
      const committed = await recorder.commit('content', { content: said('committed') })
      await recorder.dispose()

      const written = recordsOf(path).slice(before)
      const first = (Number.isSafeInteger(last) && last >= 0 ? last : Math.max(Math.floor(last), 1)) + 1
      expect(written.map(({ seq }) => seq)).toEqual(written.map((_, n) => first + n))
      expect(records.map(({ seq }) => seq)).toEqual(
        written
          .filter(({ type }) => type === 'content')
          .map(({ seq }) => seq)
          .slice(0, -1),
      )
      expect([...commits.map(({ seq }) => seq).sort((a, b) => a - b), committed.seq]).toEqual(
        written.map(({ seq }) => seq),
      )
      const strict = await replaySession(path, undefined, { strict: true })
      if (!strict.ok) throw new Error(strict.error)
      // A valid number is not larger than that of the session_start, or all ascend.
      expect(strict.sequenceCorrupt).toBe(last === 0 || last === 1)
      expect(strict.history.slice(-count - 1)).toEqual([...records.map((_, n) => said(String(n))), said('committed')])
    },
  )
})

describe('the last number that replays accept', () => {
  const LAST = Number.MAX_SAFE_INTEGER

  test('is the last one that is recorded: then the recording ends with a warning, and a flush rejects', async () => {
    const path = await recordedSession()
    const { recorder, warnings } = watchedRecorder()
    recorder.initializeForResume(path, LAST - 4)
    const numbers = [1, 2, 3, 4, 5].map((n) => recorder.enqueue('content', { content: said(String(n)) })?.seq)
    expect(numbers).toEqual([LAST - 3, LAST - 2, LAST - 1, LAST, undefined])
    await expect(recorder.flush()).rejects.toMatchObject({ code: 'SequenceExhausted', path })
    expect([warnings, recorder.isActive()]).toMatchObject([
      [{ code: 'SequenceExhausted', filePath: path, eventsDropped: 1 }],
      false,
    ])
    await recorder.dispose()
    const replayed = await replaySession(path, undefined, { strict: true })
    expect(replayed).toMatchObject({ ok: true, lastSeq: LAST, warnings: [] })
    expect(
      recordsOf(path)
        .slice(-4)
        .map(({ seq }) => seq),
    ).toEqual([LAST - 3, LAST - 2, LAST - 1, LAST])
  })

  test('leaves no room for a resume: nothing is recorded', async () => {
    for (const last of [LAST, LAST - 1, LAST - 3, 2 ** 60]) {
      const path = await recordedSession()
      const before = readFileSync(path)
      const { recorder, warnings } = watchedRecorder()
      recorder.initializeForResume(path, last)
      expect([recorder.isActive(), recorder.enqueue('content', { content: said('a') })]).toEqual([false, null])
      await expect(recorder.dispose()).rejects.toMatchObject({ code: 'SequenceExhausted', path })
      expect([readFileSync(path), warnings]).toMatchObject([
        before,
        [{ code: 'SequenceExhausted', filePath: path, eventsDropped: 1 }],
      ])
    }
  })
})

describe('the end of the file', () => {
  test.prop([fc.nat(), fc.boolean()], { numRuns: 60 })(
    'torn anywhere: the torn bytes stay, the next record is complete',
    async (cut, afterwards) => {
      const path = await recordedSession({ model: 'modèle 日本 𝄞' })
      const recorder = newRecorder()
      if (!afterwards) truncateSync(path, 1 + (cut % (statSync(path).size - 1)))
      recorder.initializeForResume(path, 2)
      // A crash of another writer may also come after this one has opened the session.
      if (afterwards) appendFileSync(path, readFileSync(path).subarray(0, cut % (statSync(path).size + 1)))
      const torn = readFileSync(path)
      recorder.recordContent(said('whole'))
      await recorder.flush()
      recorder.recordContent(said('and next'))
      await recorder.dispose()
      const bytes = readFileSync(path)
      const newline = torn.at(-1) === 10 ? '' : '\n'
      expect(bytes.subarray(0, torn.length).equals(torn)).toBe(true)
      const appended = bytes.subarray(torn.length).toString()
      expect(appended.startsWith(`${newline}{"v":1,"seq":3,`)).toBe(true)
      const lines = appended
        .slice(newline.length, -1)
        .split('\n')
        .map((line) => JSON.parse(line))
      expect(lines.map((line) => [line.seq, line.payload.content])).toEqual([
        [3, said('whole')],
        [4, said('and next')],
      ])
    },
  )

  test('an empty file gets the records and nothing else', async () => {
    const path = join(freshDirectory(), 'session.jsonl')
    writeFileSync(path, '')
    const recorder = newRecorder()
    recorder.initializeForResume(path, 0)
    recorder.recordContent(said('x'))
    await recorder.dispose()
    expect(
      linesOf(path)
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line).seq),
    ).toEqual([1])
  })

  test('a file that does not exist is not created: ENOENT', async () => {
    const path = join(freshDirectory(), 'gone.jsonl')
    const { recorder, warnings } = watchedRecorder()
    recorder.initializeForResume(path, 9)
    recorder.recordContent(said('x'))
    await recorder.flush()
    await eventually('the warning', () => warnings.length > 0)
    expect(warnings).toMatchObject([{ code: 'ENOENT', filePath: path, eventsDropped: 1 }])
    expect(existsSync(path)).toBe(false)
  })
})

describe('resume after resume', () => {
  test('a recorder that was never disposed of and its successor lose nothing', async () => {
    const path = await recordedSession()
    const forgotten = newRecorder()
    forgotten.initializeForResume(path, 2)
    const successor = newRecorder()
    successor.initializeForResume(path, 2)
    for (let i = 0; i < 300; i++) (i % 2 ? forgotten : successor).enqueue('note', { i })
    await Promise.all([forgotten.flush(), successor.flush()])
    const notes = recordsOf(path)
      .slice(2)
      .map((record) => record.payload.i as number)
    expect([...notes].sort((a, b) => a - b)).toEqual(Array.from({ length: 300 }, (_, i) => i))
    for (const parity of [0, 1])
      expect(notes.filter((i) => i % 2 === parity)).toEqual(Array.from({ length: 150 }, (_, i) => 2 * i + parity))
    await Promise.all([forgotten.dispose(), successor.dispose()])
  })
})
