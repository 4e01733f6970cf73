/** Rules 4, 10 and 11 under load: many recorders, threads and processes; big records and many records. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { fc, test } from '../support/property'
import { describe, expect } from 'vitest'
import {
  freshDirectory,
  newRecorder,
  pathOf,
  recordedSession,
  recordsOf,
  replaySession,
  said,
} from '../support/recording'
import { childReport, isLinux, runChild } from '../support/processes'

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i)

describe('many recorders', () => {
  test('16 worker threads at once', async () => {
    const chatsDir = freshDirectory()
    const paths = await Promise.all(
      range(16).map(
        (n) =>
          new Promise<string>((resolve, reject) => {
            const worker = new Worker(fileURLToPath(new URL('../support/child-worker.mjs', import.meta.url)), {
              workerData: { job: 'recordAndFlush', chatsDir, count: 1000, id: `w${n}` },
            })
            let path = ''
            worker.on('message', (message: string) => {
              if (message !== 'flushed') path = message
            })
            worker
              .once('error', reject)
              .once('exit', (code) => (code === 0 ? resolve(path) : reject(new Error(`exit code ${code}`))))
          }),
      ),
    )
    for (const [n, path] of paths.entries()) {
      const records = recordsOf(path)
      expect(records[0]!.payload.sessionId).toBe(`w${n}`)
      expect(records.slice(2).map((record) => record.payload.i)).toEqual(range(1000))
    }
  })

  const turns = fc.array(fc.tuple(fc.nat({ max: 3 }), fc.integer({ min: 0, max: 3000 }), fc.boolean()), {
    maxLength: 120,
  })
  test.prop([turns], { numRuns: 20 })(
    'four on one file: the records of each are complete and in order',
    async (steps) => {
      const path = await recordedSession()
      const recorders = range(4).map(() => {
        const recorder = newRecorder()
        recorder.initializeForResume(path, 2)
        return recorder
      })
      const sent: number[] = [0, 0, 0, 0]
      for (const [n, size, flushed] of steps) {
        recorders[n]!.enqueue('note', { writer: String(n), i: sent[n]++, text: 'é'.repeat(size) })
        if (flushed) await recorders[n]!.flush()
      }
      await Promise.all(recorders.map((recorder) => recorder.dispose()))
      const notes = recordsOf(path).slice(2)
      expect(notes).toHaveLength(steps.length)
      for (const n of range(4))
        expect(notes.filter((note) => note.payload.writer === String(n)).map((note) => note.payload.i)).toEqual(
          range(sent[n]!),
        )
    },
  )

  test.prop(
    [
      fc.array(fc.tuple(fc.integer({ min: 1, max: 400 }), fc.integer({ min: 1, max: 50 })), {
        minLength: 2,
        maxLength: 4,
      }),
    ],
    { numRuns: 4 },
  )(
    'any few processes on one file',
    async (plans) => {
      const path = await recordedSession()
      const ended = await Promise.all(
        plans.map(([count, every], n) =>
          runChild('child-appender.mjs', [path, `w${n}`, String(count), '2', String(every)]),
        ),
      )
      for (const { code, stderr } of ended) expect([code, stderr]).toEqual([0, ''])
      const notes = recordsOf(path).slice(2)
      expect(notes).toHaveLength(plans.reduce((sum, [count]) => sum + count, 0))
      for (const [n, [count]] of plans.entries()) {
        expect(notes.filter((note) => note.payload.writer === `w${n}`).map((note) => note.payload.i)).toEqual(
          range(count),
        )
      }
    },
    60_000,
  )

  test.prop([fc.integer({ min: 0, max: 25 }), fc.integer({ min: 1, max: 20 })], { numRuns: 8 })(
    'one is killed in the middle of a write: the other loses nothing to its torn bytes',
    async (delayMs, before) => {
      const path = await recordedSession()
      const survivor = newRecorder()
      survivor.initializeForResume(path, 2)
      for (const i of range(before)) survivor.enqueue('note', { writer: 'survivor', i })
      const victim = await runChild('child-appender.mjs', [path, 'victim', '1000000', '2', '1', '2000000'], {
        onLine: (_, kill) => void setTimeout(() => kill('SIGKILL'), delayMs),
      })
      expect(victim.signal).toBe('SIGKILL')
      for (const i of range(20)) {
        survivor.enqueue('note', { writer: 'survivor', i: before + i })
        if (i % 4 === 0) await survivor.flush()
      }
      await survivor.dispose()
      const own = readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => line.includes('"payload":{"writer":"survivor"'))
        .map((line) => JSON.parse(line).payload.i)
      expect(own).toEqual(range(before + 20))
      expect(await replaySession(path)).toMatchObject({ ok: true, history: [said('first')] })
    },
    60_000,
  )
})

describe('much at once', () => {
  test('a record of 20 MB', async () => {
    const recorder = newRecorder()
    const image = {
      speaker: 'tool' as const,
      blocks: [
        {
          type: 'media' as const,
          mimeType: 'image/png',
          data: 'iVBORw0K'.repeat(2_621_440),
          encoding: 'base64' as const,
        },
      ],
    }
    recorder.recordContent(said('before'))
    recorder.recordContent(image)
    recorder.recordContent(said('after'))
    await recorder.dispose()
    const replayed = await replaySession(pathOf(recorder))
    expect(replayed.ok).toBe(true)
    // Not deep equality, which would print a difference of 20 MB.
    expect(replayed.ok && replayed.history.length).toBe(3)
    expect(replayed.ok && JSON.stringify(replayed.history[1]) === JSON.stringify(image)).toBe(true)
  })

  test('200 000 records without a pause', async () => {
    const recorder = newRecorder()
    recorder.recordContent(said('first'))
    for (let i = 0; i < 200_000; i++) recorder.enqueue('note', { i })
    await recorder.flush()
    expect([recorder.getPendingRecordCount(), recorder.getPendingByteCount()]).toEqual([0, 0])
    const lines = readFileSync(pathOf(recorder), 'utf8').split('\n')
    expect(lines).toHaveLength(200_003)
    const wrong = lines
      .slice(2, -1)
      .findIndex(
        (line, i) =>
          !line.startsWith(`{"v":1,"seq":${i + 3},`) || !line.endsWith(`,"type":"note","payload":{"i":${i}}}`),
      )
    expect(wrong).toBe(-1)
    await recorder.dispose()
  })
})

describe.skipIf(!isLinux)('nothing leaks', () => {
  interface Leak {
    before: { descriptors: number; threads: number }
    after: { descriptors: number; threads: number }
  }

  test('300 recorders, one after the other: no descriptor stays open, and not every recorder leaves a thread', async () => {
    const { before, after, sessionsOpen } = await childReport<Leak & { sessionsOpen: number }>('child-load.mjs', [
      'recorders',
      freshDirectory(),
    ])
    expect(sessionsOpen).toBe(0)
    expect(after.descriptors).toBeLessThanOrEqual(before.descriptors + 2)
    // A pool may keep a few threads for a while; one per recorder would be 300.
    expect(after.threads).toBeLessThan(before.threads + 60)
  })

  test('40 worker threads that only load the addon end well and leave nothing', async () => {
    const { exitCodes, before, after } = await childReport<Leak & { exitCodes: number[] }>('child-load.mjs', [
      'workers',
      freshDirectory(),
    ])
    expect(exitCodes).toEqual(range(40).map(() => 0))
    expect(after.descriptors).toBeLessThanOrEqual(before.descriptors + 2)
    expect(after.threads).toBeLessThan(before.threads + 20)
  })

  test('memory is released: five more times 40 MB cost no more than the first', async () => {
    const { before, after } = await childReport<{ before: number; after: number }>(
      'child-load.mjs',
      ['memory', freshDirectory()],
      { execArgv: ['--expose-gc'] },
    )
    expect(after - before).toBeLessThan(100 * 1024)
  })
})
