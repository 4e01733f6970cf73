/** Items that are recorded together and can be taken back: numbers, queue and file are as they were. */
import { appendFileSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { describe, expect } from 'vitest'
import { fc, test } from '../support/property'
import {
  type Recorder,
  type Warning,
  freshDirectory,
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
} from '../support/recording'
import { runChild } from '../support/processes'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const pending = (recorder: Recorder) => [
  recorder.getLastEnqueuedSequence(),
  recorder.getPendingRecordCount(),
  recorder.getPendingByteCount(),
  recorder.getFilePath(),
]
const typesOf = (path: string) => recordsOf(path).map(({ seq, type }) => `${seq} ${type}`)

describe('a batch', () => {
  test('is recorded as its items one by one would be', async () => {
    const items = [said('a\u2028'), said('b', 'ai'), said('ü'.repeat(1000), 'tool')]
    const one = newRecorder()
    items.forEach((item) => one.recordContent(item))
    const other = newRecorder()
    const batch = other.prepareContentBatch(items)
    batch.publish()
    batch.finalize()
    await Promise.all([one.dispose(), other.dispose()])
    const bare = (path: string) =>
      linesOf(path)
        .slice(1)
        .map((line) => line.replace(/"ts":"[^"]*"/, ''))
    expect(bare(pathOf(other))).toEqual(bare(pathOf(one)))
  })

  test('is serialised when it is prepared, and has the numbers after the last record when it is published', async () => {
    const { recorder, path } = await startedRecorder()
    const item = said('before')
    const items = [item]
    const batch = recorder.prepareContentBatch(items)
    item.blocks = []
    items.push(said('too late'))
    expect(recorder.getLastEnqueuedSequence()).toBe(2)
    batch.publish()
    expect(recorder.getLastEnqueuedSequence()).toBe(3)
    batch.finalize()
    expect(recorder.enqueue('note', 1)!.seq).toBe(4)
    await recorder.dispose()
    expect(recordsOf(path)[2]!.payload.content).toEqual(said('before'))
    expect(typesOf(path)).toEqual(['1 session_start', '2 content', '3 content', '4 note'])
  })

  test('that is rolled back leaves no file that was not made, and what waited for it waits again', async () => {
    for (const [exclusive, flushed] of [
      [false, false],
      [true, false],
      [false, true],
    ] as const) {
      const recorder = newRecorder({ exclusive })
      recorder.recordSessionEvent('info', 'waits')
      const before = pending(recorder)
      const batch = recorder.prepareContentBatch([said('a'), said('b')])
      batch.publish()
      const path = pathOf(recorder)
      if (flushed) await recorder.flush()
      else expect([recorder.getLastEnqueuedSequence(), recorder.getPendingRecordCount()]).toEqual([4, 4])
      batch.rollback()
      expect(pending(recorder)).toEqual(before)
      expect(readdirSync(dirname(path))).toEqual([])
      await turn()
      await recorder.flush()
      expect(pending(recorder)).toEqual(before)
      recorder.recordContent(said('c'))
      await recorder.dispose()
      expect(typesOf(pathOf(recorder))).toEqual(['1 session_start', '2 session_event', '3 content'])
    }
  })

  test('is not cut off a file to which another program has appended', async () => {
    const { recorder, path } = await startedRecorder()
    const batch = recorder.prepareContentBatch([said('a')])
    batch.publish()
    await recorder.flush()
    appendFileSync(path, '{"v":1,"seq":9}\n')
    const bytes = readFileSync(path)
    expect(() => batch.rollback()).toThrow(/^Cannot roll back content batch: another program has appended/)
    expect(readFileSync(path)).toEqual(bytes)
    expect(recorder.enqueue('note', 1)!.seq).toBe(4)
    await recorder.dispose()
  })

  const FOLLOWING: [what: string, follow: (recorder: Recorder) => unknown][] = [
    ['an event', (recorder) => recorder.enqueue('note', 1)],
    ['a content', (recorder) => recorder.recordContent(said('x'))],
    ['a commit', (recorder) => recorder.commit('note', 1)],
    ['another batch', (recorder) => recorder.prepareContentBatch([said('x')]).publish()],
    [
      'a purge from a stream',
      (recorder) => recorder.recordSemanticMediaPurgeRows([], { contentIndex: 0, blockIndex: 0 }),
    ],
  ]
  test.each(FOLLOWING)("can't be rolled back after %s, but finalized", async (_, follow) => {
    const { recorder, path } = await startedRecorder()
    const batch = recorder.prepareContentBatch([said('a')])
    batch.publish()
    await follow(recorder)
    expect(() => batch.rollback()).toThrow('Cannot roll back content batch: another record was recorded after it')
    batch.finalize()
    await recorder.dispose()
    expect(typesOf(path).slice(0, 3)).toEqual(['1 session_start', '2 content', '3 content'])
    expect(recordsOf(path)).toHaveLength(4)
  })

  test('works once, in order: everything else throws and changes nothing', async () => {
    const { recorder, path } = await startedRecorder()
    const make = () => recorder.prepareContentBatch([said('a')])
    const first = make()
    expect(() => first.finalize()).toThrow('Cannot finalize content batch: it is not published')
    first.publish()
    expect(() => first.publish()).toThrow('Cannot publish content batch: it is published already')
    first.finalize()
    for (const again of ['publish', 'rollback', 'finalize'] as const)
      expect(() => first[again]()).toThrow(/content batch: it is finalized already/)
    await recorder.flush()
    const second = make()
    second.publish()
    second.rollback()
    for (const again of ['publish', 'rollback', 'finalize'] as const)
      expect(() => second[again]()).toThrow(/content batch: it is rolled back already/)
    const dropped = make()
    dropped.rollback()
    expect(() => dropped.publish()).toThrow(/it is rolled back already/)
    expect(recorder.getLastEnqueuedSequence()).toBe(3)
    await recorder.dispose()
    expect(recordsOf(path)).toHaveLength(3)
  })

  test('is refused by a recorder that is not active, when it is prepared and when it is published', async () => {
    const { recorder, path } = await startedRecorder()
    const batch = recorder.prepareContentBatch([said('a')])
    await recorder.dispose()
    const message = 'Cannot record content batch: recording is not active'
    expect(() => recorder.prepareContentBatch([said('a')])).toThrow(message)
    expect(() => batch.publish()).toThrow(message)
    expect(recordsOf(path)).toHaveLength(2)
  })

  test('is refused exactly while a flush, a commit or a wait has not settled, however fast the writer is', async () => {
    const message = 'Cannot record content batch while recording is draining'
    const isWritten = (recorder: Recorder) =>
      statSync(pathOf(recorder)).size > 0 && readFileSync(pathOf(recorder), 'utf8').endsWith('\n')
    for (let round = 0; round < 20; round++) {
      const { recorder, path } = await startedRecorder()
      const { size } = statSync(path)
      recorder.recordContent(said('x'))
      // Enqueued, and nothing waits for it.
      recorder.prepareContentBatch([said('a')])
      const flush = recorder.flush()
      if (round % 2 === 0) while (statSync(path).size === size || !isWritten(recorder));
      expect(() => recorder.prepareContentBatch([said('a')])).toThrow(message)
      await flush
      recorder.prepareContentBatch([said('a')])
      const idle = recorder.flush()
      expect(() => recorder.prepareContentBatch([said('a')])).toThrow(message)
      await idle
      const commits = [recorder.commit('note', 1), recorder.commit('note', 2)]
      await commits[0]
      expect(() => recorder.prepareContentBatch([said('a')])).toThrow(message)
      await commits[1]
      recorder.prepareContentBatch([said('a')])
      recorder.recordContent(said('of an earlier turn'))
      await turn()
      recorder.prepareContentBatch([said('a')])
      await recorder.dispose()
    }
  })

  test('whose file cannot be made throws, and the recorder has ended', async () => {
    const { recorder, warnings } = watchedRecorder({ chatsDir: '/dev/null/chats' })
    const batch = recorder.prepareContentBatch([said('a')])
    expect(() => batch.publish()).toThrow('Cannot record content batch: recording is not active')
    expect(await theWarning(warnings as Warning[])).toMatchObject({ code: 'ENOTDIR' })
    await recorder.dispose()
  })

  test('of something else than objects is refused, with what cannot be serialised; of nothing it does nothing', async () => {
    const recorder = newRecorder()
    for (const items of [undefined, {}, [1], [null], [said('a'), []]])
      expect(() => recorder.prepareContentBatch(items as never)).toThrow(TypeError)
    expect(() => recorder.prepareContentBatch([{ ...said('a'), n: 1n } as never])).toThrow(TypeError)
    const empty = recorder.prepareContentBatch([])
    empty.publish()
    empty.finalize()
    expect([recorder.getFilePath(), recorder.getLastEnqueuedSequence()]).toEqual([null, 1])
    await recorder.dispose()
  })

  test('that is never finalized is written by dispose, and when the process ends', async () => {
    const { recorder, path } = await startedRecorder()
    recorder.prepareContentBatch([said('a')]).publish()
    await recorder.dispose()
    expect(recordsOf(path)).toHaveLength(3)
    const script = `
      const { SessionRecordingService } = require(${JSON.stringify(resolve('index.js'))});
      const recorder = new SessionRecordingService({ sessionId: 's', projectHash: 'p', chatsDir: process.argv[2], workspaceDirs: [], provider: 'p', model: 'm' });
      recorder.prepareContentBatch([{ speaker: 'human', blocks: [] }]).publish();
      console.log(recorder.getFilePath());
      process.exit(0);`
    const file = `${freshDirectory()}/child.cjs`
    writeFileSync(file, script)
    const { stdout } = await runChild(file, [freshDirectory()])
    expect(typesOf(stdout.trim())).toEqual(['1 session_start', '2 content'])
  })

  test('that is rolled back is not taken for recorded: a comparison records its items again', async () => {
    for (const flushed of [false, true]) {
      const { recorder, path } = await startedRecorder()
      const items = [said('a'), said('b')]
      const batch = recorder.prepareContentBatch(items)
      batch.publish()
      if (flushed) await recorder.flush()
      expect(recorder.reconcile([said('all is well'), ...items])).toEqual({ removed: 0, added: 0, replaced: 0 })
      batch.rollback()
      expect(recorder.reconcile([said('all is well'), items[1]!])).toEqual({ removed: 0, added: 1, replaced: 0 })
      await recorder.dispose()
      const replay = await replaySession(path)
      expect(replay).toMatchObject({ ok: true, history: [said('all is well'), items[1]] })
    }
  })

  test('that is rolled back after it was acknowledged: the next record with its number is acknowledged too', async () => {
    const told: number[] = []
    const { recorder } = await startedRecorder({ onCommitWatermark: ({ seq }) => void told.push(seq) })
    const batch = recorder.prepareContentBatch([said('a')])
    batch.publish()
    await recorder.flush()
    batch.rollback()
    recorder.recordContent(said('b'))
    await recorder.flush()
    expect(told).toEqual([2, 3, 3])
    await recorder.dispose()
  })

  test('refuses a wait for a record that is rolled back', async () => {
    const told: number[] = []
    const { recorder } = await startedRecorder({ onCommitWatermark: ({ seq }) => void told.push(seq) })
    const batch = recorder.prepareContentBatch([said('a')])
    batch.publish()
    const waiting = recorder.waitForCommitSequence(3)
    batch.rollback()
    await expect(waiting).rejects.toThrow('The record was rolled back before it was acknowledged')
    expect(await recorder.commit('note', 1)).toMatchObject({ seq: 3 })
    await recorder.dispose()
    expect(told.at(-1)).toBe(3)
  })

  test('of another file is refused, when it is published and when it is rolled back', async () => {
    const path = await recordedSession()
    const { recorder } = await startedRecorder()
    const old = recorder.prepareContentBatch([said('old')])
    const prepared = recorder.prepareContentBatch([said('prepared')])
    old.publish()
    recorder.initializeForResume(path, 2)
    const bytes = readFileSync(path)
    expect(() => prepared.publish()).toThrow(
      'Cannot publish content batch: another file was resumed after it was prepared',
    )
    const batch = recorder.prepareContentBatch([said('a')])
    batch.publish()
    expect(() => old.rollback()).toThrow('Cannot roll back content batch: another record was recorded after it')
    old.finalize()
    batch.rollback()
    expect(readFileSync(path)).toEqual(bytes)
    await recorder.dispose()
  })

  test('that was followed by another one, which is rolled back, is not taken for that', async () => {
    const { recorder, path } = await startedRecorder()
    const [first, second, third] = [said('a'), said('b'), said('c')].map((item) => recorder.prepareContentBatch([item]))
    first!.publish()
    second!.publish()
    second!.rollback()
    expect(() => first!.rollback()).toThrow('another record was recorded after it')
    third!.publish()
    expect(() => first!.rollback()).toThrow('another record was recorded after it')
    await recorder.dispose()
    expect(typesOf(path)).toEqual(['1 session_start', '2 content', '3 content', '4 content'])
  })

  test('in a file with a torn end is cut off with the newline that was added for it', async () => {
    for (const waits of [false, true]) {
      const path = await recordedSession()
      appendFileSync(path, '{"torn')
      const bytes = readFileSync(path)
      const recorder = newRecorder()
      recorder.initializeForResume(path, 2)
      if (waits) await recorder.flush()
      for (const _ of [1, 2]) {
        const batch = recorder.prepareContentBatch([said('a'), said('b')])
        batch.publish()
        await recorder.flush()
        expect(readFileSync(path).length).toBeGreaterThan(bytes.length)
        batch.rollback()
        expect(readFileSync(path)).toEqual(bytes)
      }
      expect(await recorder.commit('note', 1)).toEqual({ seq: 3, byteOffset: statSync(path).size })
      const behind = recorder.prepareContentBatch([said('a')])
      behind.publish()
      await recorder.flush()
      behind.rollback()
      await recorder.dispose()
      expect(readFileSync(path, 'utf8').startsWith(`${bytes.toString()}\n{"v":1,"seq":3,`)).toBe(true)
      expect(readFileSync(path, 'utf8').endsWith('"payload":1}\n')).toBe(true)
    }
  })
})

const act = fc.record({
  act: fc.constantFrom(
    'note',
    'content',
    'flush',
    'commit',
    'turn',
    'purge',
    'batch',
    'batch',
    'batch',
    'batch',
    'stream',
    'stream',
  ),
  items: fc.nat({ max: 4 }),
  end: fc.constantFrom('rollback', 'finalize', 'open'),
  flushed: fc.boolean(),
  /** Number of records during a stream. */
  wait: fc.nat({ max: 3 }),
})

test.prop([fc.array(act, { maxLength: 14 }), fc.constantFrom('os', 'fsync')], { numRuns: 150 })(
  'any program: the file has what a plain list has, and every rollback leaves everything as it was',
  async (acts, durability) => {
    const recorder = newRecorder({ durability: durability as 'os' })
    /** What the file must have, and what still waits for it. */
    const model: string[] = []
    let isMade = false
    let n = 0
    const record = (type: string, creates: boolean) => {
      isMade ||= creates
      model.push(`${type} ${n}`)
      expect(recorder.getLastEnqueuedSequence()).toBe(model.length + 1)
    }
    for (const one of acts) {
      n++
      if (one.act === 'note') expect(recorder.enqueue('note', { n })!.seq).toBe(model.length + 2), record('note', false)
      else if (one.act === 'content') recorder.recordContent({ ...said('x'), n } as never), record('content', true)
      else if (one.act === 'flush') await recorder.flush()
      else if (one.act === 'turn') await turn()
      else if (one.act === 'commit') {
        const { seq } = await recorder.commit('note', { n })
        record('note', true)
        expect(seq).toBe(model.length + 1)
      } else if (one.act === 'purge') {
        recorder.recordSemanticMediaPurge([], { contentIndex: 0, blockIndex: 0 })
        record('purge', true)
        model[model.length - 1] = 'semantic_media_purge undefined'
      } else if (one.act === 'stream') {
        const rows = async function* () {
          for (let i = 0; i < one.items; i++) yield said(String(i))
          if (one.end === 'rollback') throw new Error('stopped')
        }
        const frontier = { contentIndex: Math.max(one.items - 1, 0), blockIndex: 0 }
        const stream = recorder.recordSemanticMediaPurgeRows(rows(), frontier)
        const lines = Array.from({ length: one.wait }, () => recorder.enqueue('note', { n })!)
        const commits = Promise.all(lines.map((line) => recorder.waitForCommit(line)))
        commits.catch(() => {})
        if (one.end === 'rollback') await expect(stream).rejects.toThrow('stopped')
        else {
          const { seq } = await stream
          expect(seq).toBe(model.length + 2)
          model.push('semantic_media_purge undefined')
          isMade = true
        }
        const first = model.length + 2
        lines.forEach(() => model.push(`note ${n}`))
        if (isMade) expect((await commits).map(({ seq }) => seq)).toEqual(lines.map((_, i) => first + i))
        expect(recorder.getLastEnqueuedSequence()).toBe(model.length + 1)
      } else {
        await recorder.flush()
        await turn()
        const before = pending(recorder)
        const bytes = isMade ? readFileSync(pathOf(recorder)) : undefined
        const batch = recorder.prepareContentBatch(
          Array.from({ length: one.items }, () => ({ ...said('x'), n }) as never),
        )
        batch.publish()
        if (one.flushed) await recorder.flush()
        if (one.end === 'rollback') {
          batch.rollback()
          expect(pending(recorder)).toEqual(before)
          if (bytes !== undefined) expect(readFileSync(pathOf(recorder))).toEqual(bytes)
          continue
        }
        if (one.end === 'finalize') batch.finalize()
        for (let i = 0; i < one.items; i++) model.push(`content ${n}`)
        isMade ||= one.items > 0
      }
      expect(recorder.getFilePath() !== null).toBe(isMade)
    }
    await recorder.dispose()
    if (!isMade) return
    const records = recordsOf(pathOf(recorder))
    expect(records.map(({ seq }) => seq)).toEqual(records.map((_, i) => i + 1))
    expect(
      records.slice(1).map(({ type, payload }) => `${type} ${type === 'content' ? payload.content.n : payload.n}`),
    ).toEqual(model)
  },
)
