/** Acknowledgements: what a commit promises, in which order, and what becomes of it when the file, the disk or the process is lost. */
import { appendFileSync, mkdirSync, readFileSync, rmSync, statSync, unlinkSync } from 'node:fs'
import { dirname } from 'node:path'
import { fc, test } from '../support/property'
import { describe, expect } from 'vitest'
import type { Commit, SessionRecordLine } from '../../index.js'
import {
  type Recorder,
  linesOf,
  newRecorder,
  pathOf,
  recordedSession,
  recordsOf,
  replaySession,
  said,
  startedRecorder,
  theWarning,
  watchedRecorder,
  type Warning,
} from '../support/recording'

/** The ends of the lines of a file. */
function endsOf(path: string): number[] {
  let end = 0
  return linesOf(path).map((line) => (end += Buffer.byteLength(line) + 1))
}

const content = (text: string) => ({ content: said(text) })
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Commits whose order of settling is noted. */
function noting(order: number[]) {
  return (promise: Promise<Commit>, index: number) =>
    promise.then(
      () => void order.push(index),
      () => void order.push(index),
    )
}

describe('a commit', () => {
  test('64 in one turn are one batch', async () => {
    const batches: Commit[] = []
    const { recorder } = await startedRecorder({ onCommitWatermark: (commit) => void batches.push(commit) })
    for (let round = 0; round < 20; round++) {
      const before = batches.length
      const commits = await Promise.all(
        Array.from({ length: 64 }, (_, i) => recorder.commit('content', content(String(i)))),
      )
      expect(batches.slice(before)).toEqual([commits.at(-1)])
    }
    await recorder.dispose()
  })

  test('of any type makes the file, with what was recorded before it, in order', async () => {
    for (const [type, payload] of [
      ['session_event', { severity: 'info', message: 'begun' }],
      ['rewind', { itemsRemoved: 1 }],
      ['note', 1],
      ['note', undefined],
    ] as const) {
      const recorder = newRecorder()
      const order: number[] = []
      const before = recorder.enqueue('provider_switch', { provider: 'p', model: 'm' })!
      const waiting = recorder.waitForCommit(before)
      const commits = [recorder.commit(type, payload), recorder.commit(type, payload)]
      ;[waiting, ...commits].forEach(noting(order))
      const path = pathOf(recorder)
      recorder.recordContent(said('after'))
      expect(await Promise.all([waiting, ...commits]), type).toEqual(
        endsOf(path)
          .slice(1, 4)
          .map((byteOffset, i) => ({ seq: i + 2, byteOffset })),
      )
      await recorder.dispose()
      expect(recordsOf(path).map(({ type }) => type)).toEqual([
        'session_start',
        'provider_switch',
        type,
        type,
        'content',
      ])
      expect(order).toEqual([0, 1, 2])
    }
  })

  test("of a sub-agent's journal begins its file, which replays", async () => {
    const recorder = newRecorder({ kind: 'subagent', parentSessionId: 'parent' })
    expect(await recorder.commit('session_event', { severity: 'info', message: 'begun' })).toEqual({
      seq: 2,
      byteOffset: statSync(pathOf(recorder)).size,
    })
    await recorder.dispose()
    expect(await replaySession(pathOf(recorder), undefined, { strict: true })).toMatchObject({
      ok: true,
      history: [],
      lastSeq: 2,
      metadata: { kind: 'subagent' },
    })
  })

  test('whose payload is refused makes no file', async () => {
    const recorder = newRecorder()
    expect(() => recorder.commit('note', 1n)).toThrow(TypeError)
    expect(recorder.getFilePath()).toBeNull()
    await recorder.dispose()
  })

  test('of a recorder that has its file to itself: the second one in a file rejects, and the first goes on', async () => {
    const first = newRecorder({ exclusive: true })
    await first.commit('note', 1)
    const { recorder, warnings } = watchedRecorder({ exclusive: true })
    recorder.initializeForResume(pathOf(first), 2)
    await expect(recorder.commit('note', 2)).rejects.toMatchObject({ code: 'ESESSIONLOCKED' })
    expect(await theWarning(warnings)).toMatchObject({ code: 'ESESSIONLOCKED' })
    await recorder.dispose()
    expect(await first.commit('note', 3)).toMatchObject({ seq: 3 })
    await first.dispose()
  })

  test("that cannot make the file rejects with the system's error, and so do later ones", async () => {
    const { recorder, warnings } = watchedRecorder({ chatsDir: '/dev/null/chats' })
    await expect(recorder.commit('note', 1)).rejects.toMatchObject({ code: 'ENOTDIR' })
    await expect(recorder.commit('note', 2)).rejects.toMatchObject({ code: 'ENOTDIR' })
    expect(await theWarning(warnings)).toMatchObject({ code: 'ENOTDIR' })
    await recorder.dispose()
  })

  test('counts what others have appended, and the newline after a torn line', async () => {
    const { recorder, path } = await startedRecorder()
    appendFileSync(path, '{"v":1,"seq":3,"ts":"2026')
    expect((await recorder.commit('content', content('after'))).byteOffset).toBe(statSync(path).size)
    appendFileSync(path, '{"v":1,"seq":9}\n')
    expect((await recorder.commit('content', content('again'))).byteOffset).toBe(statSync(path).size)
    await recorder.dispose()
  })

  test('that cannot be serialised throws at once and uses no number', async () => {
    const { recorder } = await startedRecorder()
    const cycle: Record<string, unknown> = {}
    cycle.self = cycle
    expect(() => recorder.commit('note', cycle)).toThrow(TypeError)
    expect(() => recorder.commit('', {})).toThrow(/type must be a non-empty string/)
    expect(await recorder.commit('note', 1)).toMatchObject({ seq: 3 })
    await recorder.dispose()
  })
})

describe('waiting for a record', () => {
  test('that is only buffered lasts until another one makes the file', async () => {
    const recorder = newRecorder()
    const order: number[] = []
    const early = [recorder.enqueue('note', 1), recorder.enqueue('rewind', { itemsRemoved: 1 })].map((line) =>
      recorder.waitForCommit(line),
    )
    early.forEach(noting(order))
    await turn()
    await recorder.flush()
    expect(order).toEqual([])
    expect(recorder.getFilePath()).toBeNull()
    recorder.recordContent(said('now'))
    expect(await Promise.all(early)).toEqual(
      endsOf(pathOf(recorder))
        .slice(1, 3)
        .map((byteOffset, i) => ({ seq: i + 2, byteOffset })),
    )
    expect(order).toEqual([0, 1])
    await recorder.dispose()
  })

  test('that is only buffered gives the number that the resumed session gives it', async () => {
    const path = await recordedSession()
    const before = statSync(path).size
    const recorder = newRecorder()
    const [kept, too] = [recorder.enqueue('note', 'kept')!, recorder.waitForCommit(recorder.enqueue('note', 'too'))]
    recorder.initializeForResume(path, 2)
    expect(await too).toEqual({ seq: 4, byteOffset: statSync(path).size })
    expect(await recorder.waitForCommit(kept)).toEqual({ seq: 3, byteOffset: endsOf(path)[2] })
    expect(endsOf(path)[1]).toBe(before)
    await recorder.dispose()
  })

  test('resolves for records in any state: queued, written, long ago', async () => {
    const { recorder, path } = await startedRecorder()
    const lines = Array.from({ length: 50 }, (_, i) => recorder.enqueue('note', i)!)
    const last = await recorder.waitForCommit(lines[49]!)
    const ends = endsOf(path)
    expect(last).toEqual({ seq: 52, byteOffset: ends[51] })
    expect(await Promise.all(lines.map((line) => recorder.waitForCommit(line)))).toEqual(
      lines.map(({ seq }) => ({ seq, byteOffset: ends[seq - 1] })),
    )
    await recorder.dispose()
    expect(await recorder.waitForCommit(lines[7]!)).toEqual({ seq: 10, byteOffset: ends[9] })
  })

  test('of another recorder, of before the resume, or of nothing: rejects', async () => {
    const path = await recordedSession()
    const recorder = newRecorder()
    recorder.initializeForResume(path, 2)
    const line = recorder.enqueue('note', 1)!
    for (const seq of [0, 1, 2, 2.5, 4, 1e9]) {
      await expect(recorder.waitForCommit({ ...line, seq }), String(seq)).rejects.toThrow(
        `no record with the seq ${seq}`,
      )
    }
    expect(() => recorder.waitForCommit({} as SessionRecordLine)).toThrow(/line\.seq must be a finite number/)
    await recorder.dispose()
    await expect(recorder.waitForCommit(recorder.enqueue('note', 2))).rejects.toThrow('recording is not active')
  })
})

test('a commit in a file that the recorder leaves for another one is settled, and later ones are acknowledged', async () => {
  const { recorder: first, path } = await startedRecorder()
  await first.dispose()
  const recorder = newRecorder()
  const left = recorder.commit('note', { a: 1 })
  recorder.initializeForResume(path, 2)
  const [one, later] = await Promise.allSettled([left, recorder.commit('note', { a: 2 })])
  expect(one).toMatchObject({ status: 'rejected', reason: { message: expect.stringContaining('another file') } })
  expect(later).toEqual({ status: 'fulfilled', value: { seq: 3, byteOffset: statSync(path).size } })
  await recorder.dispose()
})

describe('order', () => {
  const act = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constantFrom('commit', 'enqueue', 'wait'), size: fc.nat({ max: 3000 }) }),
    },
    fc.record({ kind: fc.constantFrom('turn', 'flush', 'tick'), size: fc.constant(0) }),
  )
  test.prop(
    [
      fc.array(act, { minLength: 1, maxLength: 60 }),
      fc.constantFrom('os', 'fsync'),
      fc.constantFrom(1, 2000, Infinity),
    ],
    { numRuns: 60 },
  )(
    'whatever is committed, enqueued and awaited: acknowledgements come in the order of the numbers, and each is true',
    async (acts, durability, maxQueueBytes) => {
      const recorder = newRecorder({ durability: durability as 'os', maxQueueBytes })
      const got: Commit[] = []
      const sizes: number[] = []
      const note = (commit: Commit) => {
        got.push(commit)
        sizes.push(statSync(pathOf(recorder)).size)
      }
      const promises: Promise<unknown>[] = []
      const texts: string[] = []
      for (const [i, { kind, size }] of acts.entries()) {
        const payload = content(`${i} ${'y'.repeat(size)}`)
        if (kind === 'commit') promises.push(recorder.commit('content', payload).then(note))
        if (kind === 'commit') texts.push(payload.content.blocks[0]!.type === 'text' ? `${i}` : '')
        if (kind === 'wait') promises.push(recorder.waitForCommit(recorder.enqueue('content', payload)).then(note))
        if (kind === 'enqueue') recorder.enqueue('content', payload)
        if (kind === 'turn') await turn()
        if (kind === 'tick') await undefined
        if (kind === 'flush') await recorder.flush()
      }
      await Promise.all(promises)
      await recorder.dispose()
      if (recorder.getFilePath() === null) return
      const path = pathOf(recorder)
      const ends = endsOf(path)
      const records = recordsOf(path)
      expect(records.map(({ seq }) => seq)).toEqual(records.map((_, i) => i + 1))
      expect(got).toEqual(got.map(({ seq }) => ({ seq, byteOffset: ends[seq - 1] })))
      got.forEach(({ byteOffset }, i) => expect(sizes[i]).toBeGreaterThanOrEqual(byteOffset))
      // Commits keep their order, also those that waited for room.
      const committed = records
        .filter(({ payload }) => texts.includes(payload.content?.blocks[0].text.split(' ')[0]))
        .map(({ payload }) => payload.content.blocks[0].text.split(' ')[0])
      expect(committed).toEqual(texts)
    },
  )

  test('each of one batch resolves in a microtask of its own: what follows the first precedes the second', async () => {
    const { recorder } = await startedRecorder()
    const order: string[] = []
    const note = (what: string) => async (): Promise<void> => {
      order.push(what)
      await undefined
      order.push(`after ${what}`)
    }
    const batch = [
      recorder.commit('note', 1).then(note('first')),
      recorder.commit('note', 2).then(note('second')),
      recorder.commit('note', 3).then(note('third')),
    ]
    // What is called later settles later.
    batch.push(recorder.flush().then(note('flush')))
    await Promise.all(batch)
    expect(order).toEqual([
      'first',
      'after first',
      'second',
      'after second',
      'third',
      'after third',
      'flush',
      'after flush',
    ])
    await recorder.dispose()
  })

  test('of waits of one turn is that of the records, also if all are in the file', async () => {
    const { recorder } = await startedRecorder()
    const lines = Array.from({ length: 10 }, (_, i) => recorder.enqueue('note', i)!)
    await recorder.flush()
    const order: number[] = []
    const wait = (index: number): Promise<number> =>
      recorder.waitForCommit(lines[index]!).then(({ byteOffset }) => (order.push(index), byteOffset))
    const offsets = await Promise.all([9, 3, 7, 0, 3].map(wait))
    expect(order).toEqual([0, 3, 3, 7, 9])
    await recorder.dispose()
    expect(await Promise.all([9, 3, 7, 0, 3].map(wait))).toEqual(offsets)
  })

  test('a record is acknowledged after the end of a recorder that was not asked before', async () => {
    const { recorder } = await startedRecorder()
    const line = recorder.enqueue('note', 1)!
    await recorder.dispose()
    expect(await recorder.waitForCommit(line)).toEqual({ seq: line.seq, byteOffset: expect.any(Number) })
  })
})

describe('room in the queue', () => {
  test('a record larger than the queue is written alone, and what follows waits for it', async () => {
    const { recorder, path } = await startedRecorder({ maxQueueBytes: 1000 })
    const commits = [
      recorder.commit('content', content('a'.repeat(5000))),
      recorder.commit('content', content('b')),
      recorder.commit('content', content('c')),
    ]
    const overtaking = recorder.enqueue('note', 'never waits')!
    expect(overtaking.seq).toBe(4)
    expect((await Promise.all(commits)).map(({ seq }) => seq)).toEqual([3, 5, 6])
    expect(recordsOf(path).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6])
    await recorder.dispose()
  })

  test('enqueue never waits and never drops', async () => {
    const { recorder, path } = await startedRecorder({ maxQueueBytes: 1 })
    for (let i = 0; i < 500; i++) expect(recorder.enqueue('note', 'x'.repeat(100))!.seq).toBe(i + 3)
    await recorder.dispose()
    expect(linesOf(path)).toHaveLength(502)
  })

  test.prop([fc.integer({ min: 1, max: 5000 }), fc.array(fc.nat({ max: 3000 }), { minLength: 1, maxLength: 40 })], {
    numRuns: 30,
  })('commits never fill the queue beyond its limit, unless with a single record', async (maxQueueBytes, sizes) => {
    const { recorder } = await startedRecorder({ maxQueueBytes })
    const commits = sizes.map((size) => {
      const commit = recorder.commit('content', content('z'.repeat(size)))
      const bytes = recorder.getPendingByteCount()
      expect(bytes <= maxQueueBytes || recorder.getPendingRecordCount() === 1, `${bytes} in the queue`).toBe(true)
      return commit
    })
    expect((await Promise.all(commits)).map(({ seq }) => seq)).toEqual(sizes.map((_, i) => i + 3))
    await recorder.dispose()
  })

  test('flush and dispose wait for commits that wait for room', async () => {
    for (const end of ['flush', 'dispose'] as const) {
      const { recorder, path } = await startedRecorder({ maxQueueBytes: 10 })
      const commits = Array.from({ length: 8 }, (_, i) => recorder.commit('note', i))
      await recorder[end]()
      expect(linesOf(path)).toHaveLength(10)
      expect((await Promise.all(commits)).map(({ seq }) => seq)).toEqual([3, 4, 5, 6, 7, 8, 9, 10])
      await recorder.dispose()
    }
  })
})

describe('a commit that fails', () => {
  test("a file that was deleted: it, all that wait and all later ones reject with the system's error", async () => {
    const { recorder, path, warnings } = await startedRecorder()
    unlinkSync(path)
    const failed = await Promise.allSettled([
      recorder.commit('content', content('a')),
      recorder.commit('note', 1),
      recorder.waitForCommit(recorder.enqueue('note', 2)),
    ])
    for (const one of failed)
      expect(one).toMatchObject({ status: 'rejected', reason: { code: 'ENOENT', syscall: 'open', path } })
    expect((await theWarning(warnings)).code).toBe('ENOENT')
    expect(recorder.enqueue('note', 3)).toBeNull()
    await expect(recorder.commit('note', 4)).rejects.toMatchObject({ code: 'ENOENT' })
    await expect(recorder.waitForCommit(recorder.enqueue('note', 5))).rejects.toMatchObject({ code: 'ENOENT' })
    await recorder.dispose()
    await expect(recorder.commit('note', 6)).rejects.toMatchObject({ code: 'ENOENT' })
  })

  test('a file in the place of a directory: EISDIR; what was acknowledged before stays acknowledged', async () => {
    const { recorder, path } = await startedRecorder()
    const kept = recorder.enqueue('note', 'kept')!
    const before = await recorder.waitForCommit(kept)
    unlinkSync(path)
    mkdirSync(path)
    await expect(recorder.commit('content', content('lost'))).rejects.toMatchObject({ code: 'EISDIR' })
    expect(await recorder.waitForCommit(kept)).toEqual(before)
    await recorder.dispose().catch(() => {})
  })

  test('a recorder that was disposed of rejects, also what never got a file', async () => {
    const recorder = newRecorder()
    const never = recorder.waitForCommit(recorder.enqueue('note', 1))
    const [, settled] = await Promise.all([recorder.dispose(), Promise.allSettled([never])])
    expect(settled).toMatchObject([
      { status: 'rejected', reason: { message: 'Cannot commit: recording is not active' } },
    ])
    await expect(recorder.commit('content', content('x'))).rejects.toThrow('Cannot commit: recording is not active')
  })

  test('commits that wait for room reject too', async () => {
    const { recorder, path } = await startedRecorder({ maxQueueBytes: 10 })
    rmSync(dirname(path), { recursive: true })
    const failed = await Promise.allSettled(Array.from({ length: 5 }, (_, i) => recorder.commit('note', i)))
    expect(failed.map((one) => (one as PromiseRejectedResult).reason.code)).toEqual(Array(5).fill('ENOENT'))
    await recorder.dispose()
  })
})

describe('the watermark', () => {
  test('is told after each batch, before a flush or the end resolves, and never goes back', async () => {
    const told: Commit[] = []
    const { recorder, path } = await startedRecorder({ onCommitWatermark: (commit) => void told.push(commit) })
    expect(told.at(-1)).toEqual({ seq: 2, byteOffset: statSync(path).size })
    for (let i = 0; i < 10; i++) {
      recorder.recordContent(said(String(i)))
      if (i % 3 === 0) await recorder.flush()
      if (i % 3 === 0) expect(told.at(-1)).toEqual({ seq: i + 3, byteOffset: statSync(path).size })
    }
    await recorder.dispose()
    const ends = endsOf(path)
    expect(told.at(-1)).toEqual({ seq: 12, byteOffset: ends[11] })
    expect(told).toEqual(told.map(({ seq }) => ({ seq, byteOffset: ends[seq - 1] })))
    expect(told.map(({ seq }) => seq)).toEqual([...new Set(told.map(({ seq }) => seq))].sort((a, b) => a - b))
  })

  test('may record, and dispose of the recorder', async () => {
    let left = 3
    const recorder: Recorder = newRecorder({
      onCommitWatermark: () => void (left-- > 0 ? recorder.recordContent(said('more')) : recorder.dispose()),
    })
    await recorder.commit('content', content('first'))
    while (recorder.isActive()) await turn()
    await recorder.dispose()
    expect(readFileSync(pathOf(recorder), 'utf8').match(/more/g)).toHaveLength(3)
  })
})

describe('onCommitWatermark()', () => {
  test('is called before a wait for the record resolves, even if it was written before the wait', async () => {
    for (let round = 0; round < 60; round++) {
      const { recorder } = await startedRecorder()
      const told: number[] = []
      recorder.onCommitWatermark(({ seq }) => void told.push(seq))
      const { seq } = recorder.enqueue('note', {})!
      for (const until = performance.now() + round / 20; performance.now() < until; );
      await recorder.waitForCommitSequence(seq)
      expect(told.at(-1)).toBe(seq)
      await recorder.dispose()
    }
  })

  test('tells each listener after each batch, until it unsubscribes', async () => {
    const option: number[] = []
    const { recorder, path } = await startedRecorder({ onCommitWatermark: ({ seq }) => void option.push(seq) })
    const first: Commit[] = []
    const second: number[] = []
    const end = recorder.onCommitWatermark((commit) => void first.push(commit))
    const endOfSecond = recorder.onCommitWatermark(({ seq }) => void second.push(seq))
    await recorder.commit('note', 1)
    expect(first.at(-1)).toEqual({ seq: 3, byteOffset: statSync(path).size })
    end()
    end()
    recorder.recordContent(said('b'))
    await recorder.flush()
    expect([option.at(-1), first.at(-1)!.seq, second.at(-1)]).toEqual([4, 3, 4])
    endOfSecond()
    await recorder.commit('note', 2)
    expect([option.at(-1), second.at(-1)]).toEqual([5, 4])
    await recorder.dispose()
  })

  test('tells the others if one throws or rejects, and warns once', async () => {
    const warnings: Warning[] = []
    const told: number[] = []
    const recorder = newRecorder({ onWarning: (warning) => void warnings.push(warning) })
    recorder.onCommitWatermark(() => {
      throw new Error('broken')
    })
    recorder.onCommitWatermark((() => Promise.reject(new Error('broken too'))) as () => void)
    recorder.onCommitWatermark(({ seq }) => void told.push(seq))
    for (let i = 0; i < 4; i++) await recorder.commit('note', i)
    await turn()
    expect(warnings).toMatchObject([{ code: 'ObserverFailed', cause: { message: 'broken' }, eventsDropped: 0 }])
    expect(told).toEqual([2, 3, 4, 5])
    expect(recorder.isActive()).toBe(true)
    await recorder.dispose()
  })

  test('may unsubscribe while it is told, and subscribe twice', async () => {
    const recorder = newRecorder()
    const told: number[] = []
    const listener = ({ seq }: Commit): void => void told.push(seq)
    const ends = [recorder.onCommitWatermark(listener), recorder.onCommitWatermark(listener)]
    const self = recorder.onCommitWatermark(() => self())
    await recorder.commit('note', 1)
    ends[0]!()
    await recorder.commit('note', 2)
    expect(told).toEqual([2, 2, 3])
    expect(() => recorder.onCommitWatermark(1 as never)).toThrow(/listener must be a function/)
    await recorder.dispose()
  })
})

describe('a wait by number', () => {
  test('resolves when the record is in the file, also one that waits for the file', async () => {
    const recorder = newRecorder()
    expect(recorder.getLastEnqueuedSequence()).toBe(1)
    const { seq } = recorder.enqueue('note', 1)!
    expect(recorder.getLastEnqueuedSequence()).toBe(seq)
    const waiting = recorder.waitForCommitSequence(seq)
    recorder.recordContent(said('a'))
    const last = await recorder.waitForCommitSequence(recorder.getLastEnqueuedSequence())
    expect(last).toEqual({ seq: 3, byteOffset: statSync(pathOf(recorder)).size })
    expect(await waiting).toMatchObject({ seq: 2 })
    await recorder.dispose()
    expect(await recorder.waitForCommitSequence(3)).toEqual(last)
    expect(recorder.getLastEnqueuedSequence()).toBe(3)
  })

  test('rejects for a number that no record has, and throws for none', async () => {
    const { recorder } = await startedRecorder()
    for (const seq of [0, 3, 99])
      await expect(recorder.waitForCommitSequence(seq)).rejects.toThrow(
        `The recorder has no record with the seq ${seq} in its file`,
      )
    for (const seq of [-1, 1.5, NaN, '1', undefined])
      expect(() => recorder.waitForCommitSequence(seq as number)).toThrow(TypeError)
    await recorder.dispose()
  })

  test('resolves at once for what was in a file before it was resumed', async () => {
    const path = await recordedSession()
    const recorder = newRecorder()
    recorder.initializeForResume(path, 2)
    expect(recorder.getLastEnqueuedSequence()).toBe(2)
    expect(await recorder.waitForCommitSequence(2)).toEqual({ seq: 2, byteOffset: NaN })
    await expect(recorder.waitForCommitSequence(3)).rejects.toThrow(/no record with the seq 3/)
    await recorder.dispose()
  })
})
