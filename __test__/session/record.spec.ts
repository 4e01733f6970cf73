/** Rules 1 and 2, and the bytes of section 1: the form of a line, which is what `JSON.stringify` would write. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fc, test } from '../support/property'
import { describe, expect, vi, afterEach } from 'vitest'
import {
  type Recorder,
  lineText,
  linesOf,
  newRecorder,
  pathOf,
  recordedSession,
  recorderConfig,
  recordsOf,
  replaySession,
  said,
  SessionRecordingService,
  type Content,
  freshDirectory,
} from '../support/recording'

/** Records events after a first content, and closes. Resolves to the lines after the first two. */
async function recorded(record: (recorder: Recorder) => void): Promise<string[]> {
  const recorder = newRecorder()
  recorder.recordContent(said('hello'))
  record(recorder)
  await recorder.dispose()
  return linesOf(pathOf(recorder)).slice(2)
}

/** Records each event of a table and compares its line with what `JSON.stringify` writes for it. */
async function expectStringified(events: [type: string, payload: unknown, why?: string][]): Promise<string[]> {
  const lines = await recorded((recorder) => {
    for (const [type, payload] of events) recorder.enqueue(type, payload)
  })
  expect(lines).toHaveLength(events.length)
  for (const [i, [type, payload, why = type]] of events.entries()) {
    expect(`${lines[i]}\n`, why).toBe(lineText(3 + i, JSON.parse(lines[i]!).ts, type, payload))
  }
  return lines
}

describe('the envelope', () => {
  test('a session, byte for byte', async () => {
    vi.useFakeTimers({ now: Date.UTC(2026, 1, 11, 16, 0, 0, 7), toFake: ['Date'] })
    try {
      const config = recorderConfig({ sessionId: 'abc', workspaceDirs: ['/a', 'b "c"'] })
      const recorder = new SessionRecordingService(config)
      recorder.recordContent(said('héllo\n'))
      vi.setSystemTime(Date.UTC(2026, 1, 11, 16, 0, 1))
      recorder.recordRewind(1)
      await recorder.dispose()
      expect(readFileSync(pathOf(recorder), 'utf8')).toBe(
        '{"v":1,"seq":1,"ts":"2026-02-11T16:00:00.007Z","type":"session_start","payload":{"sessionId":"abc","projectHash":"a3f5c1",' +
          '"workspaceDirs":["/a","b \\"c\\""],"provider":"anthropic","model":"model-1","startTime":"2026-02-11T16:00:00.007Z"}}\n' +
          '{"v":1,"seq":2,"ts":"2026-02-11T16:00:00.007Z","type":"content","payload":{"content":{"speaker":"human","blocks":[{"type":"text","text":"héllo\\n"}]}}}\n' +
          '{"v":1,"seq":3,"ts":"2026-02-11T16:00:01.000Z","type":"rewind","payload":{"itemsRemoved":1}}\n',
      )
    } finally {
      vi.useRealTimers()
    }
  })

  const special = fc.constantFrom(0x2028, 0x2029, 0x22, 0x5c, 0x0a, 0x00, 0xfeff)
  const codeUnits = fc.array(
    fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.integer({ min: 0xd800, max: 0xdfff }), special),
    { minLength: 1, maxLength: 8 },
  )
  test.prop([codeUnits], { numRuns: 60 })(
    'any non-empty type is written as it is, and its record can be read',
    async (units) => {
      await expectStringified([[String.fromCharCode(...units), { n: 1 }]])
    },
  )
})

describe('a payload is written as JSON.stringify writes it', () => {
  test('including everything that JSON.stringify treats in a special way', async () => {
    await expectStringified([
      ['note', { a: { toJSON: () => ({ deep: [1, undefined] }) }, when: new Date(Date.UTC(2026, 0, 2)) }, 'toJSON'],
      ['note', { toJSON: () => 'just this' }, 'a payload with toJSON'],
      [
        'note',
        { gone: undefined, f: () => 1, s: Symbol('s'), kept: null },
        'undefined, functions and symbols in objects',
      ],
      ['note', [undefined, () => 1, , 2], 'undefined in arrays and holes'],
      ['note', [NaN, Infinity, -Infinity, -0, 1e21, 1e-7, 0.1 + 0.2, 2 ** 53 + 2], 'numbers that JSON has not'],
      ['note', [Object('s'), Object(1), Object(false)], 'boxed values'],
      ['note', { b: 1, 2: 1, a: 1, 1: 1, ['__proto__']: 'own' }, 'keys in their order, integers first'],
      ['note', { '\ud800': '\udfff', pair: '\ud83d\ude00', reversed: '\ude00\ud83d' }, 'lone surrogates'],
      ['note', { 'k\u2028': 'v\u2029', array: ['\u2028\u2029', 'plain'] }, 'line separators in values and keys'],
      ['note', { text: '\\u2028', more: '\\\\u2029', mixed: '\\\u2028' }, 'what only looks like an escaped separator'],
      ['note', String.fromCharCode(...Array.from({ length: 0x20 }, (_, i) => i), 0x7f, 0x85), 'control characters'],
      ['note', '\ufeff', 'a byte order mark'],
      ['note', [new Map([[1, 2]]), new Uint8Array([1, 2])], 'a map and a typed array'],
      ...['text', '', 4, null, true, {}, []].map((payload): [string, unknown, string] => [
        'note',
        payload,
        `the payload ${JSON.stringify(payload)}`,
      ]),
    ])
  })

  test('a payload that JSON.stringify leaves out leaves no payload key', async () => {
    const lines = await expectStringified([
      ['note', undefined, 'undefined'],
      ['note', () => 1, 'a function'],
      ['note', Symbol('s'), 'a symbol'],
      ['note', { toJSON: () => undefined }, 'a toJSON without a result'],
    ])
    for (const line of lines) expect(line).toMatch(/"type":"note"\}$/)
  })

  test('line separators are always escaped in the file: other tools would split lines there', async () => {
    const path = await recordedSession({ sessionId: 'a\u2028b', model: '\u2029' })
    const bytes = readFileSync(path)
    expect(bytes.includes(Buffer.from('\u2028'))).toBe(false)
    expect(bytes.includes(Buffer.from('\u2029'))).toBe(false)
    expect(await replaySession(path)).toMatchObject({ ok: true, metadata: { sessionId: 'a\u2028b', model: '\u2029' } })
  })

  test.prop(
    [
      fc.anything({
        withDate: true,
        withMap: true,
        withSet: true,
        withSparseArray: true,
        withTypedArray: true,
        withBoxedValues: true,
        withNullPrototype: true,
        withBigInt: true,
      }),
    ],
    { numRuns: 150 },
  )('anything at all: the same text, or the same error and no seq', async (payload) => {
    let expected: string | undefined
    let refused: unknown
    try {
      expected = lineText(3, '', 'note', payload)
    } catch (error) {
      refused = error
    }
    let thrown: unknown
    const lines = await recorded((recorder) => {
      try {
        recorder.enqueue('note', payload)
      } catch (error) {
        thrown = error
      }
      recorder.enqueue('end', null)
    })
    expect(String(thrown)).toBe(String(refused))
    expect(lines).toHaveLength(refused === undefined ? 2 : 1)
    expect(JSON.parse(lines.at(-1)!)).toMatchObject({ seq: refused === undefined ? 4 : 3, type: 'end' })
    if (expected !== undefined) expect(`${lines[0]!.replace(/"ts":"[^"]*"/, '"ts":""')}\n`).toBe(expected)
  })
})

describe('what JSON.stringify refuses', () => {
  const cycle: { list: unknown[]; name: string } = { list: [], name: 'cycle' }
  cycle.list.push({ back: cycle })

  test('a cycle or a BigInt throws the same error and takes no seq', async () => {
    for (const payload of [cycle, { n: [1n] }, 2n]) {
      let expected: unknown
      try {
        JSON.stringify(payload)
      } catch (error) {
        expected = error
      }
      expect(expected).toBeInstanceOf(TypeError)
      const lines = await recorded((recorder) => {
        expect(() => recorder.enqueue('note', payload)).toThrow(expected as Error)
        recorder.enqueue('next', {})
      })
      expect(lines.map((line) => JSON.parse(line).seq)).toEqual([3])
    }
  })

  test('an exception from toJSON or a getter is passed on unchanged', async () => {
    const mine = new RangeError('mine')
    const lines = await recorded((recorder) => {
      const caught: unknown[] = []
      for (const payload of [
        {
          toJSON: () => {
            throw mine
          },
        },
        {
          get text() {
            throw mine
          },
        },
      ]) {
        try {
          recorder.enqueue('note', payload)
        } catch (error) {
          caught.push(error)
        }
      }
      expect(caught).toEqual([mine, mine])
      expect(caught[0]).toBe(mine)
    })
    expect(lines).toEqual([])
  })

  test('a first content that is refused does not create the file', async () => {
    const recorder = newRecorder()
    expect(() => recorder.enqueue('content', cycle)).toThrow(TypeError)
    expect(recorder.getFilePath()).toBeNull()
    expect(recorder.getPendingRecordCount()).toBe(1)
    recorder.recordContent(said('second try'))
    await recorder.dispose()
    expect(recordsOf(pathOf(recorder)).map((record) => record.seq)).toEqual([1, 2])
  })
})

describe('the moment of enqueue', () => {
  test.prop([fc.array(fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 }), { minLength: 1, maxLength: 20 })], {
    numRuns: 30,
  })('changing a payload later has no effect', async (payloads) => {
    const before = payloads.map((payload) => JSON.stringify(payload))
    const lines = await recorded((recorder) => {
      for (const payload of payloads) {
        recorder.enqueue('note', payload)
        for (const key of Object.keys(payload)) payload[key] = 'changed'
      }
    })
    expect(lines.map((line) => JSON.stringify(JSON.parse(line).payload))).toEqual(before)
  })

  test('buffered payloads are serialised then, too', async () => {
    const recorder = newRecorder()
    const directories = ['/a']
    recorder.recordDirectoriesChanged(directories)
    directories.push('/later')
    recorder.recordContent(said('hello'))
    await recorder.dispose()
    expect(recordsOf(pathOf(recorder))[1]!.payload).toEqual({ directories: ['/a'] })
  })

  test('the workspace directories of the config are those of the constructor call', async () => {
    const config = recorderConfig({ workspaceDirs: ['/a'] })
    const recorder = new SessionRecordingService(config)
    config.workspaceDirs.push('/later')
    recorder.recordContent(said('hello'))
    await recorder.dispose()
    expect(recordsOf(pathOf(recorder))[0]!.payload.workspaceDirs).toEqual(['/a'])
  })

  test('a toJSON that records something itself: both are recorded, the seqs in order', async () => {
    const lines = await recorded((recorder) => {
      recorder.enqueue('outer', {
        toJSON() {
          recorder.enqueue('inner', 1)
          return 2
        },
      })
    })
    expect(lines.map((line) => JSON.parse(line).seq)).toEqual([3, 4])
    expect(lines.map((line) => JSON.parse(line).type).sort()).toEqual(['inner', 'outer'])
  })

  test('the constructor and events without content touch nothing on the disk', async () => {
    const config = recorderConfig()
    const recorder = new SessionRecordingService(config)
    recorder.recordSessionEvent('error', 'nothing yet')
    await recorder.flush()
    expect(existsSync(config.chatsDir)).toBe(false)
    expect(existsSync(dirname(config.chatsDir))).toBe(true)
    expect([recorder.isActive(), recorder.getFilePath(), recorder.getSessionId()]).toEqual([
      true,
      null,
      config.sessionId,
    ])
  })
})

const ANY_TYPE = fc.constantFrom(
  'content',
  'session_metadata',
  'session_named',
  'rewind',
  'note',
  'checkpoint_created',
  'émoji 🎞',
)

afterEach(() => void vi.useRealTimers())

describe('a returned record', () => {
  test.prop(
    [
      fc.array(
        fc.tuple(
          ANY_TYPE,
          fc.jsonValue().map((value) => ({ value })),
        ),
        { maxLength: 20 },
      ),
    ],
    { numRuns: 60 },
  )('is the one in the file, its keys in the same order', async (events) => {
    const recorder = newRecorder()
    const returned = events.map(([type, payload]) => recorder.enqueue(type, payload)!)
    recorder.recordContent(said('the end'))
    await recorder.dispose()
    const inFile = recordsOf(pathOf(recorder)).slice(1, -1)
    expect(returned.map((record) => JSON.parse(JSON.stringify(record)))).toEqual(inFile)
    for (const [i, record] of returned.entries()) {
      expect(Object.keys(record)).toEqual(['v', 'seq', 'ts', 'type', 'payload'])
      expect(record.payload).toBe(events[i]![1])
    }
  })

  test.prop(
    [fc.oneof(fc.double(), fc.integer({ min: -9e15, max: 9e15 }), fc.constantFrom(8.64e15, -8.64e15, 8.7e15, -8.7e15))],
    { numRuns: 60 },
  )('has the time that the file has, whatever the clock shows', async (now) => {
    const recorder = newRecorder()
    recorder.recordContent(said('x'))
    const clock = vi.spyOn(Date, 'now').mockReturnValue(now)
    const { ts } = recorder.enqueue('note', {})!
    clock.mockRestore()
    await recorder.dispose()
    expect(ts).toBe(recordsOf(pathOf(recorder))[2]!.ts)
  })

  test('keeps its number when a resume renumbers what was buffered', async () => {
    const path = await recordedSession()
    const recorder = newRecorder()
    const buffered = recorder.enqueue('note', {})!
    recorder.initializeForResume(path, 41)
    const next = recorder.enqueue('note', {})!
    await recorder.dispose()
    expect([buffered.seq, next.seq]).toEqual([2, 43])
    expect(
      recordsOf(path)
        .slice(-2)
        .map((record) => record.seq),
    ).toEqual([42, 43])
  })

  test('is null when the recorder was disposed, has failed, or cannot create its file', async () => {
    const disposed = newRecorder()
    await disposed.dispose()
    expect(disposed.enqueue('content', { content: said('x') })).toBeNull()
    const file = join(freshDirectory(), 'file')
    writeFileSync(file, '')
    const failing = newRecorder({ chatsDir: join(file, 'chats') })
    expect(failing.enqueue('note', {})).not.toBeNull()
    expect(failing.enqueue('content', { content: said('x') })).toBeNull()
    expect(failing.enqueue('content', { content: said('y') })).toBeNull()
    await failing.dispose()
  })
})

describe('methods without their object', () => {
  const names = Object.getOwnPropertyNames(SessionRecordingService.prototype).filter(
    (name) => name !== 'constructor',
  ) as (keyof Recorder)[]

  test('each of them is a bound, writable, configurable and not enumerable property', () => {
    const recorder = newRecorder()
    expect(names.length).toBeGreaterThan(20)
    for (const name of names) {
      const property = Object.getOwnPropertyDescriptor(recorder, name)
      expect(property, name).toMatchObject({
        value: expect.any(Function),
        writable: true,
        configurable: true,
        enumerable: false,
      })
    }
    expect(Object.keys(recorder)).toEqual([])
  })

  test('record as on the object', async () => {
    const recorder = newRecorder({ cwd: '/home/ada' })
    const loose = Object.fromEntries(names.map((name) => [name, recorder[name]])) as unknown as Recorder
    const fork = { parentSessionId: 'p', parentSequence: 3, checkpointId: 'c', checkpointName: 'before' }
    loose.recordContent(said('x'))
    loose.recordCompressed(said('sum', 'ai'), 1)
    loose.recordRewind(1)
    loose.recordProviderSwitch('p2', 'm2')
    loose.recordSessionEvent('info', 'noted')
    loose.recordDirectoriesChanged(['/a'])
    loose.recordSessionMetadata('A title')
    loose.recordSessionFork(fork)
    loose.enqueue('note', {})
    loose.onCommitWatermark(() => {})()
    const { publish, finalize } = loose.prepareContentBatch([])
    publish()
    finalize()
    await loose.flush()
    expect(await loose.commit('note', 1)).toMatchObject({ seq: 11 })
    expect(await loose.waitForCommitSequence(loose.getLastEnqueuedSequence())).toMatchObject({ seq: 11 })
    expect([loose.getSessionMetadataTitle(), loose.isActive()]).toEqual(['A title', true])
    expect([loose.getSessionId(), loose.getProjectHash()]).toEqual([recorderConfig().sessionId, 'a3f5c1'])
    expect([loose.ownsLockFor(loose.getSessionId()), loose.getOwnedLockHandle()]).toEqual([false, null])
    expect(loose.getFilePath()!.startsWith(loose.getChatsDir())).toBe(true)
    await loose.dispose()
    expect(
      recordsOf(pathOf(recorder))
        .map(({ type }) => type)
        .join(),
    ).toBe(
      'session_start,content,compressed,rewind,provider_switch,session_event,directories_changed,session_metadata,session_forked,note,note',
    )
  })

  test('an override of a subclass is bound, and is called by other methods', async () => {
    class Shouting extends SessionRecordingService<Content> {
      readonly seen: string[] = []
      override enqueue(type: string, payload: unknown) {
        this.seen.push(type)
        return super.enqueue(type, payload)
      }
      override recordContent(content: Content) {
        super.recordContent({ ...content, speaker: 'ai' })
      }
    }
    const recorder = new Shouting(recorderConfig())
    const { recordContent, recordRewind } = recorder
    recordContent(said('x'))
    recordRewind(0)
    await recorder.dispose()
    expect(recorder.seen).toEqual(['content', 'rewind'])
    expect(recordsOf(pathOf(recorder))[1]!.payload.content.speaker).toBe('ai')
  })

  test('a method that is replaced on the instance is used', async () => {
    const recorder = newRecorder()
    recorder.recordContent(said('x'))
    const flush = vi.spyOn(recorder, 'flush')
    await recorder.dispose()
    expect(flush).toHaveBeenCalledTimes(1)
  })
})
