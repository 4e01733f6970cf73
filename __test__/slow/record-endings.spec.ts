/** Rules 9 and 11: however a process ends, the events that it enqueued are in the file, and no recorder keeps it alive. */
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fc, test } from '../support/property'
import { describe, expect } from 'vitest'
import {
  type Warning,
  freshDirectory,
  linesOf,
  newRecorder,
  recordsOf,
  replaySession,
  said,
} from '../support/recording'
import { type Ended, runChild } from '../support/processes'

/** Asserts that a file has the whole session of a child: its start, one content, all `count` notes in order, and the large record at the end. */
function expectAllOf(path: string, count: number): void {
  const records = recordsOf(path)
  expect(records).toHaveLength(count + 3)
  const last = records.pop()!
  expect([last.seq, last.type, last.payload.length]).toEqual([count + 3, 'last', 24 << 20])
  expect(records.map((record) => record.seq)).toEqual(records.map((_, i) => i + 1))
  expect(records.slice(2).map((record) => record.payload.i)).toEqual(Array.from({ length: count }, (_, i) => i))
}

const pathFrom = (ended: Ended): string => ended.stdout.split('\n')[0]!

describe('5 000 records that nobody awaits are all in the file when the process has ended', () => {
  const run = (ending: string): Promise<Ended> =>
    runChild('child-endings.mjs', [ending, join(freshDirectory(), 'chats')], { execArgv: ['--expose-gc'] })
  const ends = (title: string, ending: string, code: number, stderr = '', isPossible = true): void => {
    test.skipIf(!isPossible)(title, async () => {
      const ended = await run(ending)
      expect(ended).toMatchObject({ code, signal: null, stderr: expect.stringContaining(stderr) })
      expectAllOf(pathFrom(ended), 5000)
    })
  }

  ends('process.exit right after', 'exit', 0)
  ends('the end of main without a flush', 'endOfMain', 0)
  ends('an uncaught exception', 'uncaughtException', 1, 'uncaught on purpose')
  ends('a rejected promise', 'rejectedPromise', 1, 'rejected on purpose')
  ends('dispose without await, then process.exit', 'disposeWithoutAwait', 0)
  ends('dispose without await, then the end of main', 'disposeAtTheEndOfMain', 0)
  ends('a handler of SIGTERM that calls process.exit', 'exitInAHandlerOfSigterm', 0)
  ends('records of an exit handler', 'lastWords', 0)
  ends('records of an exit listener that is newer than the recorder, then process.exit', 'lastWordsBeforeExit', 0)
  ends(
    'records of an exit listener that is newer than the recorder, after an uncaught exception',
    'lastWordsAfterAnException',
    1,
    'uncaught on purpose',
  )
  ends('records of an exit listener that calls process.exit again', 'lastWordsAndAnotherExit', 0)
  ends(
    'records of an exit listener that is older than the recorder and calls process.exit again',
    'lastWordsOfAnOlderListener',
    0,
  )
  ends('records of a recorder that an exit listener creates', 'firstWordsInAnExitListener', 0)
  ends('a recorder that was forgotten and collected', 'forgottenAndCollected', 0)
  ends('worker.terminate()', 'terminatedWorker', 0)
  ends('the end of a worker', 'endOfWorker', 0)
  ends('process.exit in a worker', 'exitInAWorker', 0)
  ends('process.exit while a worker records', 'exitWithARecordingWorker', 0)
  ends('process.execve (needs Node.js 24)', 'execve', 0, '', 'execve' in process)
})

describe('an awaited flush or dispose keeps the process alive until it resolves', () => {
  for (const ending of ['awaitedFlush', 'awaitedDispose']) {
    test(`${ending}, then kill -9`, async () => {
      const ended = await runChild('child-endings.mjs', [ending, freshDirectory()])
      expect(ended.signal).toBe('SIGKILL')
      expect(ended.stdout.split('\n')[1]).toBe('resolved')
      expectAllOf(pathFrom(ended), 5000)
    })
  }
})

describe('kill -9', () => {
  /** Kills a child after this many acknowledged flushes. Resolves to the path and the last seq that it acknowledged. */
  async function killedAfter(
    acknowledgements: number,
    durability: string,
  ): Promise<{ path: string; acknowledged: number }> {
    let seen = 0
    const ended = await runChild('child-endings.mjs', ['acknowledging', freshDirectory(), durability], {
      onLine: (_, kill) => {
        if (seen++ === acknowledgements) kill('SIGKILL')
      },
    })
    expect(ended.signal).toBe('SIGKILL')
    const [path, ...seqs] = ended.stdout.slice(0, ended.stdout.lastIndexOf('\n')).split('\n')
    return { path: path!, acknowledged: Math.max(2, ...seqs.map(Number)) }
  }

  test.prop([fc.integer({ min: 1, max: 120 }), fc.constantFrom('os', 'fsync')], { numRuns: 10 })(
    'every acknowledged record is in the file once, and the session replays and can be resumed',
    async (acknowledgements, durability) => {
      const { path, acknowledged } = await killedAfter(acknowledgements, durability)
      const replayed = await replaySession(path)
      if (!replayed.ok) throw new Error(replayed.error)
      expect(replayed.lastSeq).toBeGreaterThanOrEqual(acknowledged)
      const text = readFileSync(path, 'utf8')
      const whole = text
        .slice(0, text.lastIndexOf('\n'))
        .split('\n')
        .map((line) => JSON.parse(line))
      expect(whole.map((record) => record.seq)).toEqual(whole.map((_, i) => i + 1))
      expect(whole.length).toBeGreaterThanOrEqual(acknowledged)
      for (const record of whole.slice(2)) expect(record.payload.seq).toBe(record.seq)

      const recorder = newRecorder()
      recorder.initializeForResume(path, replayed.lastSeq)
      recorder.recordContent(said('after the crash'))
      await recorder.dispose()
      expect(await replaySession(path)).toMatchObject({
        ok: true,
        lastSeq: replayed.lastSeq + 1,
        history: [said('first', 'ai'), said('after the crash')],
      })
    },
    120_000,
  )

  test('the writer does not idle while work is waiting: everything is written although the thread that recorded never runs again', async () => {
    let path = ''
    let look: NodeJS.Timeout | undefined
    const ended = await runChild('child-endings.mjs', ['busyForEver', freshDirectory()], {
      onLine: (line, kill) => {
        path = line
        look = setInterval(() => {
          if (readFileSync(path).subarray(-1)[0] === 10 && linesOf(path).length >= 5003) kill('SIGKILL')
        }, 20)
      },
    })
    clearInterval(look)
    expect(ended.signal).toBe('SIGKILL')
    expectAllOf(path, 5000)
  })
})

describe('a process with a recorder ends by itself', () => {
  test('if it is idle, has no file yet, or is done', async () => {
    const chats = join(freshDirectory(), 'chats')
    const ended = await runChild('child-endings.mjs', ['idle', chats])
    expect(ended).toMatchObject({ code: 0, signal: null, stderr: '' })
    expect(recordsOf(pathFrom(ended))).toHaveLength(2)
    expect(readdirSync(chats)).toHaveLength(1)
  })

  for (const [ending, dropped] of [
    ['warned', 1],
    ['warnedAtOnce', 1],
    ['warnedInAnExitListener', 1],
  ] as const) {
    test(`but not before its warning has been given (${ending})`, async () => {
      const chats = join(freshDirectory(), 'chats')
      const ended = await runChild('child-endings.mjs', [ending, chats])
      expect(ended).toMatchObject({ code: 0, signal: null, stderr: '' })
      const warnings = ended.stdout
        .trim()
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Warning)
      expect(warnings).toMatchObject([{ code: 'ENOENT', eventsDropped: dropped }])
      expect(existsSync(chats)).toBe(false)
    })
  }
})
