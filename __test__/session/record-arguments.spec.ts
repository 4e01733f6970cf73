/** Wrong arguments synchronously throw a TypeError that names them; the clock is that of `Date.now()`. */
import { basename } from 'node:path'
import { fc, test } from '../support/property'
import { afterEach, beforeEach, describe, expect, vi } from 'vitest'
import {
  type RecorderConfig,
  newRecorder,
  pathOf,
  recordedSession,
  recorderConfig,
  recordsOf,
  said,
  SessionRecordingService,
} from '../support/recording'

const anyRecorder = SessionRecordingService as unknown as new (
  ...args: unknown[]
) => InstanceType<typeof SessionRecordingService>

/** Anything that is not a string. */
const notAString = fc.anything().filter((value) => typeof value !== 'string')

const FORK = { parentSessionId: 'p', parentSequence: 3, checkpointId: 'c', checkpointName: 'before' }

/** Expects a TypeError whose message has `name` in it as a word. */
function expectNamed(name: string, call: () => unknown): void {
  let thrown: unknown
  try {
    call()
  } catch (error) {
    thrown = error
  }
  expect(thrown, `${name} was accepted`).toBeInstanceOf(TypeError)
  expect((thrown as TypeError).message).toMatch(new RegExp(`\\b${name}\\b`))
}

describe('the config', () => {
  const strings = ['sessionId', 'projectHash', 'chatsDir', 'provider', 'model'] as const

  test('missing fields', () => {
    for (const field of [...strings, 'workspaceDirs'] as const) {
      const config: Partial<RecorderConfig> = recorderConfig()
      delete config[field]
      expectNamed(field, () => new anyRecorder(config))
    }
  })

  test.prop([fc.constantFrom(...strings), notAString], { numRuns: 100 })(
    'a field that is not a string',
    (field, value) => {
      expectNamed(field, () => new anyRecorder({ ...recorderConfig(), [field]: value }))
    },
  )

  test.prop(
    [
      fc.oneof(
        notAString.filter((value) => !Array.isArray(value)),
        fc.string(),
        fc.array(fc.string()).chain((good) => notAString.map((bad) => [...good, bad])),
      ),
    ],
    { numRuns: 60 },
  )('workspaceDirs that is not an array of strings', (workspaceDirs) =>
    expectNamed('workspaceDirs', () => new anyRecorder({ ...recorderConfig(), workspaceDirs })),
  )

  test('optional fields of the wrong type', () => {
    for (const onWarning of ['log', {}, 1, true])
      expectNamed('onWarning', () => new anyRecorder({ ...recorderConfig(), onWarning }))
    for (const durability of ['disk', 'FSYNC', '', 1, true, {}])
      expectNamed('durability', () => new anyRecorder({ ...recorderConfig(), durability }))
    for (const cwd of [null, 1, {}, ['/']]) expectNamed('cwd', () => new anyRecorder({ ...recorderConfig(), cwd }))
    for (const fileName of [null, 'hours', '', 1, {}])
      expectNamed('fileName', () => new anyRecorder({ ...recorderConfig(), fileName }))
    for (const exclusive of ['yes', 1, {}])
      expectNamed('exclusive', () => new anyRecorder({ ...recorderConfig(), exclusive }))
  })

  test('optional fields may be undefined, and unknown ones are ignored', () => {
    const config = {
      ...recorderConfig(),
      onWarning: undefined,
      durability: undefined,
      exclusive: undefined,
      theme: 'dark',
    }
    expect(new anyRecorder(config).isActive()).toBe(true)
  })
})

describe('the arguments of the methods', () => {
  type Bad = [name: string, call: (recorder: any, value: unknown) => void, values: unknown[]]
  const strings = [undefined, null, 1, {}, ['x'], Symbol('s')]
  const cases: Bad[] = [
    ['type', (r, v) => r.enqueue(v, {}), [...strings, '']],
    ['content', (r, v) => r.recordContent(v), [undefined, null, 'text', 1, true]],
    ['summary', (r, v) => r.recordCompressed(v, 1), [undefined, null, 'text', 1]],
    ['itemsCompressed', (r, v) => r.recordCompressed(said('s'), v), [undefined, null, '1', NaN, Infinity, {}, 1n]],
    ['itemsRemoved', (r, v) => r.recordRewind(v), [undefined, null, '1', NaN, Infinity, -1, -0.5, {}, 1n]],
    ['provider', (r, v) => r.recordProviderSwitch(v, 'm'), strings],
    ['model', (r, v) => r.recordProviderSwitch('p', v), strings],
    ['severity', (r, v) => r.recordSessionEvent(v, 'm'), [...strings, '', 'fatal', 'INFO']],
    ['message', (r, v) => r.recordSessionEvent('info', v), strings],
    ['directories', (r, v) => r.recordDirectoriesChanged(v), [undefined, null, '/a', {}, ['/a', 1], [undefined]]],
    ['filePath', (r, v) => r.initializeForResume(v, 1), [...strings, '']],
    ['title', (r, v) => r.recordSessionMetadata(v), [undefined, 1, {}, ['x']]],
    ['title', (r, v) => r.initializeForResume('/nowhere/session.jsonl', 1, v), [1, {}, ['x'], true]],
    ['fork', (r, v) => r.recordSessionFork(v), [undefined, null, 'x', []]],
    ['parentSessionId', (r, v) => r.recordSessionFork({ ...FORK, parentSessionId: v }), strings],
    [
      'parentSequence',
      (r, v) => r.recordSessionFork({ ...FORK, parentSequence: v }),
      [undefined, null, '1', -1, 1.5, 2 ** 53, NaN],
    ],
    ['checkpointId', (r, v) => r.recordSessionFork({ ...FORK, checkpointId: v }), [...strings, '']],
    ['checkpointName', (r, v) => r.recordSessionFork({ ...FORK, checkpointName: v }), strings],
    ['name', (r, v) => r.createCheckpoint(v), strings],
    ['checkpointId', (r, v) => r.renameCheckpoint(v, 'n'), [...strings, '']],
    ['name', (r, v) => r.renameCheckpoint('c', v), strings],
    ['checkpointId', (r, v) => r.deleteCheckpoint(v), [...strings, '']],
    ['name', (r, v) => r.setSessionName(v), [undefined, 1, {}, ['x']]],
    ['lock', (r, v) => r.adoptLock(v), [undefined, null, 'lock', {}, { release() {} }]],
    [
      'lastSeq',
      (r, v) => r.initializeForResume('/nowhere/session.jsonl', v),
      [undefined, null, '1', NaN, Infinity, {}, 1n],
    ],
  ]

  test('a wrong argument throws a TypeError that names it', () => {
    for (const [name, call, values] of cases) {
      for (const value of values) expectNamed(name, () => call(newRecorder(), value))
    }
  })

  test.prop(
    [fc.array(fc.tuple(fc.nat({ max: cases.length - 3 }), fc.nat(), fc.boolean()), { minLength: 1, maxLength: 30 })],
    { numRuns: 30 },
  )('a refused call takes no seq and leaves no trace', async (calls) => {
    const recorder = newRecorder()
    recorder.recordContent(said('x'))
    let good = 0
    for (const [which, pick, also] of calls) {
      const [name, call, values] = cases[which]!
      expectNamed(name, () => call(recorder, values[pick % values.length]))
      if (also) recorder.enqueue('note', { good: good++ })
    }
    await recorder.dispose()
    const records = recordsOf(pathOf(recorder))
    expect(records.map((record) => record.seq)).toEqual(Array.from({ length: good + 2 }, (_, i) => i + 1))
    expect(records.slice(2).map((record) => record.payload.good)).toEqual(Array.from({ length: good }, (_, i) => i))
  })

  test('a resume whose arguments were refused changes nothing', async () => {
    const recorder = newRecorder()
    expect(() => recorder.initializeForResume('', 1)).toThrow(TypeError)
    expect(() => recorder.initializeForResume('/nowhere/x.jsonl', NaN)).toThrow(TypeError)
    expect(recorder.getFilePath()).toBeNull()
    recorder.recordContent(said('x'))
    await recorder.dispose()
    expect(recordsOf(pathOf(recorder)).map((record) => record.type)).toEqual(['session_start', 'content'])
  })

  test.prop([fc.anything(), fc.anything()], { numRuns: 60 })(
    'an inactive recorder accepts anything and does nothing',
    async (type, payload) => {
      const recorder = newRecorder()
      await recorder.dispose()
      expect((recorder.enqueue as (...args: unknown[]) => unknown)(type, payload)).toBeNull()
      expect(recorder.getPendingRecordCount()).toBe(0)
      expect(recorder.getFilePath()).toBeNull()
    },
  )
})

describe('a clock that a test has stopped', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
  afterEach(() => void vi.useRealTimers())

  test.prop(
    [
      fc.array(
        fc.oneof(
          fc.date({ min: new Date(0), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true }),
          fc.date({ noInvalidDate: true }),
        ),
        { minLength: 1, maxLength: 20 },
      ),
    ],
    { numRuns: 40 },
  )('any time is written as toISOString writes it, even if it runs backwards', async (dates) => {
    vi.setSystemTime(dates[0]!)
    const recorder = newRecorder({ sessionId: 't' })
    recorder.recordContent(said('x'))
    for (const date of dates) {
      vi.setSystemTime(date)
      recorder.enqueue('note', null)
    }
    await recorder.dispose()
    const name = dates[0]!.toISOString().slice(0, -':00.000Z'.length).replace(':', '-')
    expect(basename(pathOf(recorder))).toBe(`session-${name}-t.jsonl`)
    expect(
      recordsOf(pathOf(recorder))
        .slice(2)
        .map((record) => record.ts),
    ).toEqual(dates.map((date) => date.toISOString()))
    expect(recordsOf(pathOf(recorder))[0]).toMatchObject({
      ts: dates[0]!.toISOString(),
      payload: { startTime: dates[0]!.toISOString() },
    })
  })

  test('is read for each record, even after a resume', async () => {
    vi.setSystemTime(1000)
    const path = await recordedSession()
    const recorder = newRecorder()
    vi.setSystemTime(2000)
    recorder.recordSessionEvent('info', 'buffered at two seconds')
    vi.setSystemTime(3000)
    recorder.initializeForResume(path, 2)
    vi.setSystemTime(4000)
    recorder.recordSessionEvent('info', 'recorded at four')
    await recorder.dispose()
    expect(recordsOf(path).map((record) => Date.parse(record.ts))).toEqual([1000, 1000, 2000, 4000])
  })
})
