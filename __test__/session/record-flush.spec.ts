/** Rules 4, 5, 8 and 10: the guarantees of flush and dispose, the pending records, and how they are written. */
import {
  existsSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  statSync,
  mkdirSync,
  renameSync,
  rmdirSync,
  unlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import { fc, test } from '../support/property'
import { codePoint } from '../support/code-points'
import { describe, expect, vi } from 'vitest'
import {
  eventually,
  freshDirectory,
  lineText,
  newRecorder,
  pathOf,
  recordedSession,
  recordsOf,
  said,
  startedRecorder,
  type Recorder,
  type Warning,
  watchedRecorder,
  linesOf,
} from '../support/recording'
import { canTrace, childReport, isLinux, runChild } from '../support/processes'

/** Number of complete lines in a file. */
function countOf(path: string): number {
  const bytes = readFileSync(path)
  let count = 0
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) count++
  return count
}

/** Number and size of the records enqueued at once: some take longer to write than a promise takes to resolve. */
const burst = fc.tuple(fc.integer({ min: 0, max: 150 }), fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 20_000 })))
const durability = fc.constantFrom('os' as const, 'fsync' as const)

describe('flush', () => {
  test.prop([fc.array(burst, { minLength: 1, maxLength: 5 }), durability], { numRuns: 25 })(
    'when it resolves, everything that was enqueued before it is in the file',
    async (bursts, durability) => {
      const recorder = newRecorder({ durability })
      recorder.recordContent(said('first'))
      let enqueued = 2
      for (const [count, size] of bursts) {
        for (let i = 0; i < count; i++) recorder.enqueue('note', { i, text: 'x'.repeat(size) })
        enqueued += count
        await recorder.flush()
        expect(countOf(pathOf(recorder))).toBe(enqueued)
      }
      await recorder.dispose()
      expect(recordsOf(pathOf(recorder)).map((record) => record.seq)).toEqual(
        Array.from({ length: enqueued }, (_, i) => i + 1),
      )
    },
  )

  test.prop([fc.array(burst, { minLength: 2, maxLength: 6 }), durability], { numRuns: 20 })(
    'many at once: each resolves with its own records in the file',
    async (bursts, durability) => {
      const recorder = newRecorder({ durability })
      recorder.recordContent(said('first'))
      let enqueued = 2
      const flushes = bursts.map(([count, size]) => {
        for (let i = 0; i < count; i++) recorder.enqueue('note', { i, text: 'x'.repeat(size) })
        enqueued += count
        const due = enqueued
        return recorder.flush().then(() => ({ due, there: countOf(pathOf(recorder)) }))
      })
      for (const { due, there } of await Promise.all(flushes)) expect(there).toBeGreaterThanOrEqual(due)
      await recorder.dispose()
      expect(countOf(pathOf(recorder))).toBe(enqueued)
    },
  )

  test('resolves to undefined if the recorder is idle, inactive or disposed of', async () => {
    const recorder = newRecorder()
    recorder.recordContent(said('x'))
    await recorder.flush()
    expect(await recorder.flush()).toBeUndefined()
    const disposed = recorder.dispose()
    expect(await recorder.flush()).toBeUndefined()
    await disposed
    expect(await recorder.flush()).toBeUndefined()
  })

  test('works under fake timers: the test suite of a CLI may have stopped every clock', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'setImmediate', 'setInterval', 'Date'] })
    try {
      const recorder = newRecorder()
      recorder.recordContent(said('x'))
      await recorder.flush()
      expect(countOf(pathOf(recorder))).toBe(2)
      await recorder.dispose()
    } finally {
      vi.useRealTimers()
    }
  })
})

describe('the background writer', () => {
  test('writes while the JavaScript thread is busy', () => {
    const recorder = newRecorder()
    recorder.recordContent(said('x'))
    for (let i = 0; i < 500; i++) recorder.enqueue('note', { i })
    const path = pathOf(recorder)
    // Blocks the event loop until everything is written; the time limit only ends a failed test.
    for (const end = performance.now() + 100_000; countOf(path) < 502 && performance.now() < end; ) Math.sqrt(2)
    expect(countOf(path)).toBe(502)
  })

  // Regression test: a writer that went to sleep looked at its queue, waited once more, and ended without a second look.
  // A record of just that moment stayed in memory, and its flush never resolved.
  test('does not miss a record that is enqueued just when it goes idle', async () => {
    for (const flushed of [true, false]) {
      const { recorder, path } = await startedRecorder()
      // Pauses of up to fifteen milliseconds, each a tenth of a millisecond longer: one of them meets the moment.
      for (let i = 0; i < 150; i++) {
        for (const end = performance.now() + i / 10; performance.now() < end; ) Math.sqrt(2)
        recorder.enqueue('note', { i })
        let resolved = !flushed
        if (flushed)
          void recorder.flush().then(() => {
            resolved = true
          })
        await eventually('the record in the file and its flush resolved', () => resolved && countOf(path) === i + 3)
      }
      await recorder.dispose()
    }
  })

  test.skipIf(!isLinux || !existsSync('/proc/self/io'))(
    'does not write once per event when many are waiting',
    async () => {
      const { writes, path } = await childReport<{ writes: number; path: string }>('child-flush.mjs', [
        'waiting',
        freshDirectory(),
      ])
      expect(recordsOf(path)).toHaveLength(5002)
      expect(writes).toBeGreaterThan(0)
      expect(writes).toBeLessThan(500)
    },
  )

  test('only appends: the bytes of earlier batches never change', async () => {
    const path = await recordedSession()
    const recorder = newRecorder()
    recorder.initializeForResume(path, 2)
    let before = readFileSync(path)
    const { ino } = statSync(path)
    for (let i = 0; i < 20; i++) {
      recorder.recordContent(said(`${i}`))
      await recorder.flush()
      const after = readFileSync(path)
      expect(after.subarray(0, before.length).equals(before)).toBe(true)
      before = after
    }
    expect(statSync(path).ino).toBe(ino)
    await recorder.dispose()
  })

  test.skipIf(!canTrace)(
    'with durability fsync, 64 flushes at once share a few syncs, and each batch is synced before its flush',
    async () => {
      const directory = freshDirectory()
      const trace = join(directory, 'trace')
      const wrapper = ['strace', '-f', '-y', '-o', trace, '-e', 'trace=write,writev,fsync,fdatasync,openat']
      const chats = join(directory, 'chats')
      const ended = await runChild('child-flush.mjs', ['durable', chats], { wrapper })
      expect(ended.code).toBe(0)
      const calls = readFileSync(trace, 'utf8').split('\n')
      const mark = (text: string): number => calls.findIndex((call) => call.includes(`"${text}`))
      const isSync = (call: string): boolean => /\bf(data)?sync\(\d+<[^>]*\.jsonl>/.test(call)
      for (const round of [0, 1, 2]) {
        const between = calls.slice(mark(`begin ${round}`), mark(`flushed ${round}`))
        const syncs = between.filter(isSync).length
        expect(syncs).toBeGreaterThanOrEqual(1)
        expect(syncs).toBeLessThan(32)
        const lastWrite = between.findLastIndex((call) => /writev?\(\d+<[^>]*\.jsonl>/.test(call))
        expect(lastWrite).toBeGreaterThan(0)
        expect(between.findLastIndex(isSync)).toBeGreaterThan(lastWrite)
      }
      // The directory entry is synced too before the first flush resolves: a synced file without an entry is lost.
      expect(
        calls.slice(0, mark('begin 0')).filter((call) => call.includes(`sync(`) && call.includes(`<${chats}>`)),
      ).toHaveLength(1)
      // Each batch is written through a new O_APPEND descriptor that creates nothing.
      const opened = calls.filter((call) => /openat\(.*session-.*\.jsonl"/.test(call))
      expect(opened.length).toBeGreaterThan(3)
      for (const call of opened.slice(1)) {
        expect(call).toContain('O_APPEND')
        expect(call).not.toContain('O_CREAT')
        expect(call).not.toContain('O_TRUNC')
      }
    },
  )
})

describe('dispose', () => {
  test.prop([fc.nat({ max: 300 })], { numRuns: 25 })(
    'writes the records enqueued before it, and none enqueued after it',
    async (count) => {
      const recorder = newRecorder()
      recorder.recordContent(said('x'))
      for (let i = 0; i < count; i++) recorder.enqueue('note', { i })
      const disposed = recorder.dispose()
      expect(recorder.isActive()).toBe(false)
      recorder.enqueue('note', { late: true })
      recorder.recordContent(said('late'))
      await disposed
      expect(
        recordsOf(pathOf(recorder))
          .slice(2)
          .map((record) => record.payload),
      ).toEqual(Array.from({ length: count }, (_, i) => ({ i })))
    },
  )

  test('a second call returns the same promise, before and after it has resolved', async () => {
    const recorder = newRecorder()
    recorder.recordContent(said('x'))
    const first = recorder.dispose()
    expect(recorder.dispose()).toBe(first)
    expect(await first).toBeUndefined()
    expect(recorder.dispose()).toBe(first)
  })

  test.skipIf(!existsSync('/proc/self/fd'))('when it has resolved, the file is closed', async () => {
    const recorder = newRecorder()
    recorder.recordContent(said('x'))
    await recorder.dispose()
    const open = readdirSync('/proc/self/fd').map((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`)
      } catch {
        return ''
      }
    })
    expect(open).not.toContain(pathOf(recorder))
  })
})

describe('the number of pending records and bytes', () => {
  test('is zero once flushed, and includes what is buffered before the first content', async () => {
    const recorder = newRecorder()
    expect(recorder.getPendingRecordCount()).toBe(1)
    for (let i = 0; i < 9; i++) recorder.recordRewind(0)
    expect(recorder.getPendingRecordCount()).toBe(10)
    recorder.recordContent(said('x'))
    await recorder.flush()
    expect([recorder.getPendingRecordCount(), recorder.getPendingByteCount()]).toEqual([0, 0])
    await recorder.dispose()
    expect([recorder.getPendingRecordCount(), recorder.getPendingByteCount()]).toEqual([0, 0])
  })

  test.prop([fc.array(fc.string({ unit: codePoint }), { maxLength: 10 })], { numRuns: 40 })(
    'counts bytes as they will be in the file',
    async (texts) => {
      const recorder = newRecorder()
      for (const text of texts) recorder.recordSessionEvent('info', text)
      const waiting = recorder.getPendingByteCount()
      recorder.recordContent(said('x'))
      await recorder.dispose()
      const path = pathOf(recorder)
      const last = recordsOf(path).at(-1)!
      const content = lineText(last.seq, last.ts, last.type, last.payload)
      expect(waiting).toBe(statSync(path).size - Buffer.byteLength(content))
    },
  )
})

/** Blocks the event loop until the writer has failed, so that the failure cannot have been reported; the time limit only ends a failed test. */
function waitBusily(recorder: Recorder): void {
  for (const end = performance.now() + 100_000; recorder.isActive() && performance.now() < end; ) Math.sqrt(2)
  expect(recorder.isActive()).toBe(false)
}

/** A recorder whose session file is a directory: EISDIR, an error that rejects flushes. */
function onADirectory(): { recorder: Recorder; warnings: Warning[]; path: string } {
  const path = freshDirectory()
  const watched = watchedRecorder()
  watched.recorder.initializeForResume(path, 3)
  return { ...watched, path }
}

const counts = fc.tuple(fc.integer({ min: 1, max: 30 }), fc.nat({ max: 30 }), fc.integer({ min: 1, max: 4 }))

describe('a failure that has not been reported', () => {
  test.prop([counts], { numRuns: 60 })(
    'rejects every flush until then, and counts everything that was enqueued',
    async ([before, after, flushes]) => {
      const { recorder, warnings, path } = onADirectory()
      for (let i = 0; i < before; i++) recorder.recordContent(said('lost'))
      waitBusily(recorder)
      for (let i = 0; i < after; i++) recorder.recordContent(said('lost as well'))
      const asked = await Promise.allSettled(Array.from({ length: flushes }, () => recorder.flush()))
      for (const flush of asked)
        expect(flush).toMatchObject({ status: 'rejected', reason: { code: 'EISDIR', syscall: 'open', path } })
      expect(warnings).toMatchObject([
        {
          code: 'EISDIR',
          eventsDropped: before + after,
          message: expect.stringMatching(` ${before + after} records? w`),
        },
      ])
      expect(await recorder.flush()).toBeUndefined()
      recorder.recordContent(said('ignored'))
      expect(await recorder.flush()).toBeUndefined()
      await recorder.dispose()
      expect(warnings).toHaveLength(1)
    },
  )

  test.prop([fc.integer({ min: 1, max: 300 })], { numRuns: 40 })(
    'may occur at any moment while records are enqueued',
    async (count) => {
      const { recorder, warnings } = onADirectory()
      for (let i = 0; i < count; i++) recorder.recordContent(said('x'.repeat(i * 10)))
      await expect(recorder.flush()).rejects.toMatchObject({ code: 'EISDIR' })
      expect(warnings).toMatchObject([{ eventsDropped: count }])
    },
  )

  test('resolves a flush if it is one after which a CLI continues without a recording', async () => {
    for (const count of [1, 10, 2000]) {
      const { recorder, warnings, path } = await startedRecorder()
      unlinkSync(path)
      recorder.recordContent(said('lost'))
      waitBusily(recorder)
      for (let i = 1; i < count; i++) recorder.recordContent(said('lost as well'))
      expect(await recorder.flush()).toBeUndefined()
      expect(warnings).toMatchObject([{ code: 'ENOENT', eventsDropped: count }])
    }
  })

  test('does not affect a flush without pending records', async () => {
    const { recorder, warnings, path } = await startedRecorder()
    const flushed = recorder.flush()
    unlinkSync(path)
    mkdirSync(path)
    recorder.recordContent(said('lost'))
    expect(await flushed).toBeUndefined()
    await expect(recorder.flush()).rejects.toMatchObject({ code: 'EISDIR' })
    expect(warnings).toMatchObject([{ eventsDropped: 1 }])
    rmdirSync(path)
  })

  test('is reported before its flush settles; within onWarning there is nothing to flush', async () => {
    const order: string[] = []
    const recorder = newRecorder({
      onWarning: () =>
        void recorder.flush().then(
          () => order.push('flushed within'),
          () => order.push('rejected within'),
        ),
    })
    recorder.initializeForResume(freshDirectory(), 1)
    recorder.recordContent(said('lost'))
    waitBusily(recorder)
    await recorder.flush().catch(() => order.push('rejected'))
    expect(order).toEqual(['flushed within', 'rejected'])
  })
})

test.prop([fc.integer({ min: 1, max: 400 })], { numRuns: 25 })(
  'the records in the file and the dropped ones add up to the enqueued ones',
  async (count) => {
    const { recorder, warnings, path } = await startedRecorder()
    for (let i = 0; i < count; i++) recorder.recordContent(said(`${i}`))
    const kept = `${path}.kept`
    // While the writer is writing.
    renameSync(path, kept)
    for (let i = 0; i < count; i++) recorder.recordContent(said(`${count + i}`))
    await recorder.flush()
    expect(recordsOf(kept).length + warnings[0]!.eventsDropped).toBe(2 + 2 * count)
  },
)

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Blocks this thread until the writer has written so many lines. */
function waitForLines(path: string, count: number): void {
  const gate = new Int32Array(new SharedArrayBuffer(4))
  const deadline = performance.now() + 100_000
  while (linesOf(path).length < count) {
    if (performance.now() > deadline) throw new Error('the lines were not written')
    Atomics.wait(gate, 0, 0, 1)
  }
}

test('a record that is written counts as pending until the event loop has turned', async () => {
  const { recorder, path } = await startedRecorder()
  const before = linesOf(path).length
  expect([recorder.getPendingRecordCount(), recorder.getPendingByteCount()]).toEqual([0, 0])
  recorder.recordContent(said('one'))
  recorder.recordContent(said('two'))
  waitForLines(path, before + 2)
  const bytes = linesOf(path)
    .slice(before)
    .reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0)
  expect([recorder.getPendingRecordCount(), recorder.getPendingByteCount()]).toEqual([2, bytes])
  await Promise.resolve()
  expect(recorder.getPendingRecordCount()).toBe(2)
  await turn()
  await turn()
  expect([recorder.getPendingRecordCount(), recorder.getPendingByteCount()]).toEqual([0, 0])
  recorder.recordContent(said('three'))
  waitForLines(path, before + 3)
  expect(recorder.getPendingRecordCount()).toBe(1)
  await recorder.dispose()
})

test('each recorder counts its own records, also in a turn that another one has begun', async () => {
  const [first, second] = [await startedRecorder(), await startedRecorder()]
  first.recorder.recordContent(said('of the first'))
  second.recorder.recordContent(said('of the second'))
  second.recorder.recordContent(said('and one more'))
  waitForLines(first.path, 3)
  waitForLines(second.path, 4)
  expect([first.recorder.getPendingRecordCount(), second.recorder.getPendingRecordCount()]).toEqual([1, 2])
  await Promise.all([first.recorder.dispose(), second.recorder.dispose()])
})

test('a flush or the end of the recorder ends the turn', async () => {
  const { recorder, path } = await startedRecorder()
  recorder.recordContent(said('flushed'))
  await recorder.flush()
  expect(recorder.getPendingRecordCount()).toBe(0)
  recorder.recordContent(said('written already'))
  waitForLines(path, 4)
  await recorder.flush()
  expect(recorder.getPendingRecordCount()).toBe(0)
  recorder.recordContent(said('disposed of'))
  await recorder.dispose()
  expect(recorder.getPendingRecordCount()).toBe(0)
})
