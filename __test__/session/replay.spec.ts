// What a replay returns, from which paths, and that files which several threads scan follow the same rules (replay-rules.spec.ts).
import { renameSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, beforeAll } from 'vitest'
import { test, fc } from '../support/property'
import {
  openSession,
  replaySession,
  type ReplayOptions,
  readSessionHeader,
  type ReplayResult,
  foldCheckpoints,
  type SessionRecordLine,
  type Progress,
} from '../../index.js'
import {
  START_METADATA,
  content,
  envelope,
  item,
  replayOf,
  rewind,
  session,
  sessionOf,
  textsOf,
  writeSession,
  type Event,
  replayedOf,
  written,
} from '../support/session-file'
import { fileURLToPath } from 'node:url'
import { expectSame, expectSameReplay } from '../support/same-replay'
import { runs, anyEvents, checkpointEvent } from '../support/session-arbitraries'
import { headerOfBytes, replayBytes, replayFileWithReadline } from '../support/plain-engine.mjs'
import { anyFile } from '../support/line-arbitraries'
import { getEventListeners } from 'node:events'

describe('a replay', () => {
  test('has the items in order, the metadata of the session_start, and counts', async () => {
    const result = await replayOf(session(content('hello', 'human'), content('good day', 'ai')))
    expect(result).toStrictEqual({
      ok: true,
      history: [item('human', 'hello'), item('ai', 'good day')],
      metadata: START_METADATA,
      lastSeq: 3,
      eventCount: 3,
      warnings: [],
      sessionEvents: [],
      sequenceCorrupt: false,
      checkpoints: [],
    })
  })

  test('is not affected by changes to the history of an earlier one', async () => {
    const filePath = writeSession(session(content('a'), rewind(1), content('b')))
    const first = await replaySession(filePath)
    if (first.ok) first.history.push(item('ai', 'added by the caller'))
    const second = await replaySession(filePath)
    expect(second.ok && textsOf(second.history)).toStrictEqual(['b'])
  })

  test('takes a path in any script, and a relative one', async () => {
    const from = writeSession(session(content('a')))
    const to = join(dirname(from), "sessão 漢 😀 'x'.jsonl")
    renameSync(from, to)
    expect((await replaySession(to)).ok).toBe(true)
    expect((await replaySession(relative(process.cwd(), to))).ok).toBe(true)
  })

  test('is one of many at once, each of its own file', async () => {
    const texts = Array.from({ length: 40 }, (_, at) => Array.from({ length: at }, (_, turn) => `${at}.${turn}`))
    const files = texts.map((each) => writeSession(session(...each.map((text) => content(text)))))
    const results = await Promise.all(files.map((filePath) => replaySession(filePath)))
    expect(results.map((result) => result.ok && textsOf(result.history))).toStrictEqual(texts)
  })
})

describe('a file that several threads scan', () => {
  const BIG = 'x'.repeat(2000)
  async function replayed(filePath: string, options?: ReplayOptions) {
    const result = await replaySession(filePath, undefined, options)
    if (!result.ok) throw new Error(result.error)
    return result
  }

  test('is replayed by the same rules', async () => {
    const odd = ['{"v":1,"seq":0.5}', '{"v":1}', 'null', '{"v":1}', envelope(3, content('late')), '{']
    const events = Array.from({ length: 4000 }, (_, at) =>
      at % 500 === 250 ? (odd[(at / 500) | 0] ?? 'null') : content(`${at} ${BIG}`),
    )
    const filePath = writeSession(sessionOf(events))
    const { warnings, sequenceCorrupt, lastSeq, history } = await replayed(filePath, { strict: true })
    expect(warnings.slice(0, 5)).toStrictEqual([
      ...[252, 752, 1752].map((line) => `Line ${line}: malformed sequence number, skipping`),
      expect.stringMatching(/^Line 2252: non-monotonic seq 3 \(expected > \d+\)$/),
      'Line 2752: failed to parse JSON',
    ])
    expect([sequenceCorrupt, lastSeq]).toStrictEqual([true, 3993])
    const opened = await openSession(filePath, undefined, { strict: true })
    expect(opened.ok && opened.session.historyLength).toBe(history.length)
    if (opened.ok) opened.session.close()
  })

  test('ends before a line of a later version that is beyond throughSeq, wherever it is', async () => {
    const all = sessionOf(Array.from({ length: 3000 }, (_, at) => content(`${at} ${BIG}`)))
      .trimEnd()
      .split('\n')
    for (const at of [2, 700, 1500, 2999]) {
      const later = [`{"v":9,"seq":${at + 1}}`, ...all.slice(at + 1), '{"v":10}', 'not json', '']
      const path = writeSession([...all.slice(0, at), ...later].join('\n'))
      const { history, lastSeq, warnings } = await replayed(path, { strict: true, throughSeq: at })
      expect([history.length, lastSeq, warnings]).toStrictEqual([at - 1, at, []])
      expect(await replaySession(path, undefined, { strict: true, throughSeq: at + 1 })).toMatchObject({
        ok: false,
        error: `Unsupported recording version 9 at line ${at + 1}`,
      })
    }
  })

  test('has edits of items in all its parts', async () => {
    const chronology = (seq: number) => ({ seq, userTurn: 7, step: 8, recordedAt: 9 })
    const keyed = (text: string, seq: number) => ({ ...item('ai', text), metadata: { chronology: chronology(seq) } })
    const events = Array.from({ length: 6000 }, (_, at): Event => ['content', { content: keyed(`${at} ${BIG}`, at) }])
    const removedSeqs = Array.from({ length: 1000 }, (_, at) => 2 * at)
    const replacements = [{ replacedSeq: 1, replacement: item('ai', 'one') }]
    events.splice(3000, 0, ['density_mutation', { removedSeqs, replacements }])
    events.push(
      ['synthetic_insert', { content: keyed('inserted', 9000), chronologySeq: 9000, afterSeq: 1 }],
      ['rewind', { itemsRemoved: 0, cutSeq: 5990 }],
      ['chronology_bind', { rowIndex: 0, chronology: chronology(7) }],
    )
    const filePath = writeSession(sessionOf(events))
    for (const options of [{}, { strict: true }]) {
      const { history, warnings } = await replayed(filePath, options)
      expect([history.length, warnings]).toStrictEqual([5990 - 1000 + 1, []])
      expect(history[0]).toStrictEqual(keyed('one', 7))
      expect(textsOf(history.slice(1, 3))).toStrictEqual(['inserted', `3 ${BIG}`])
    }
  })
})

const FIXTURES = fileURLToPath(new URL('../fixtures/session/v1', import.meta.url))
const CASES = ['new-session', 'resumed', 'with-compression', 'several-resumes', 'resume-compression-resume']

test('every fixture has its test', () => {
  expect(readdirSync(FIXTURES).sort()).toStrictEqual([...CASES].sort())
})

describe.each(CASES)('%s', (name) => {
  const filePath = join(FIXTURES, name, 'session.jsonl')
  const expected = {
    // Members that were added to results later.
    ...{ sequenceCorrupt: false, checkpoints: [] },
    ...(JSON.parse(readFileSync(join(FIXTURES, name, 'expected.json'), 'utf8')) as ReplayResult),
  } as ReplayResult

  test('replays to what was recorded, and has the header of its session', async () => {
    expectSameReplay(await replaySession(filePath), expected)
    expect(expected.ok && (await readSessionHeader(filePath))?.sessionId).toBe(
      expected.ok && expected.metadata.sessionId,
    )
  })

  test('replays to the same in the plain engine', async () => {
    expectSameReplay(replayBytes(readFileSync(filePath)), expected)
    expectSameReplay(await replayFileWithReadline(filePath), expected)
  })

  test.prop([fc.double({ min: 0, max: 1, noNaN: true })], runs(25))(
    'truncated at any byte, it replays as in the plain engine, and so does its header',
    async (share) => {
      const whole = readFileSync(filePath)
      const bytes = whole.subarray(0, Math.floor(share * whole.length))
      expectSameReplay(await replayOf(bytes), replayBytes(bytes))
      expectSame(await readSessionHeader(writeSession(bytes)), headerOfBytes(bytes))
    },
  )
})

describe('foldCheckpoints', () => {
  test('ignores everything that is not a valid event about a checkpoint', () => {
    const fold = foldCheckpoints as (events: unknown[]) => unknown[]
    const line = (changes: object, payload: unknown) => ({
      v: 1,
      seq: 2,
      ts: 't',
      type: 'checkpoint_created',
      payload,
      ...changes,
    })
    const good = { checkpointId: 'c', name: 'n' }
    const odd = [
      undefined,
      null,
      1,
      'checkpoint_created',
      [],
      {},
      () => 1,
      line({ type: 'content' }, good),
      line({ seq: '2' }, good),
      line({ seq: 1.5 }, good),
      line({ seq: -1 }, good),
      line({ seq: 2 ** 53 }, good),
      line({ seq: 2n }, good),
      line({}, null),
      line({}, [good]),
      line({}, 'c'),
      line({}, { checkpointId: 'c' }),
      line({}, { checkpointId: '', name: 'n' }),
      line({}, { checkpointId: 'c', name: '\ufeff ' }),
      line({}, Object.create(good) as object),
      line({ type: 'checkpoint_renamed' }, { checkpointId: 'c', name: 1 }),
      line({ type: 'checkpoint_deleted' }, {}),
    ]
    expect(fold(odd)).toStrictEqual([])
    // Holes are not records either.
    // eslint-disable-next-line no-sparse-arrays
    expect(fold([, line({ ts: 7 }, { ...good, more: 1 }), ...odd])).toStrictEqual([
      { checkpointId: 'c', name: 'n', sequence: 2, deleted: false, createdAt: '' },
    ])
  })

  test('leaves the records unchanged', () => {
    const events = [
      { v: 1, seq: 3, ts: 't', type: 'checkpoint_created', payload: { checkpointId: 'c', name: 'one' } },
      { v: 1, seq: 4, ts: 't', type: 'checkpoint_renamed', payload: { checkpointId: 'c', name: 'two' } },
    ] as SessionRecordLine[]
    const before = written(events)
    expect(foldCheckpoints(events)[0]?.name).toBe('two')
    expect(events).toStrictEqual(before)
  })

  /** The lines of a file that parse, as records. */
  const recordsOf = (text: string) =>
    text.split('\n').flatMap((line) => {
      try {
        return [JSON.parse(line) as SessionRecordLine]
      } catch {
        return []
      }
    })

  test.prop([fc.array(fc.oneof(checkpointEvent, fc.constant(rewind(1))), { maxLength: 40 }), anyEvents], runs(100))(
    'agrees with a replay of the same lines',
    async (events, others) => {
      const text = session(...events, ...others)
      const { checkpoints } = await replayedOf(text)
      expectSame(foldCheckpoints(recordsOf(text)), checkpoints, { keyOrder: false })
      expect(checkpoints).toStrictEqual([...checkpoints].sort((a, b) => a.sequence - b.sequence))
    },
  )

  test.prop([anyFile], runs(300))('agrees with a replay of any file', async (bytes) => {
    const result = await replayOf(bytes)
    const text = new TextDecoder('utf-8').decode(bytes).replaceAll('\r\n', '\n')
    if (result.ok) expectSame(foldCheckpoints(recordsOf(text)), result.checkpoints, { keyOrder: false })
  })
})

describe('signal', () => {
  const rejection = (promise: Promise<unknown>): Promise<unknown> =>
    promise.then(
      () => expect.fail('expected the promise to reject, it resolved'),
      (reason: unknown) => reason,
    )
  const listenersOf = (signal: AbortSignal) => getEventListeners(signal, 'abort').length
  let big: string

  beforeAll(() => {
    const line = envelope(2, content('x'.repeat(2_000)))
    big = writeSession(session(...Array.from({ length: 16_000 }, () => line)))
  })

  test('already aborted: rejects with its reason, an AbortError when none was given, also for a file that does not exist', async () => {
    const signal = AbortSignal.abort()
    for (const path of [writeSession(session()), 'no-such-session.jsonl'])
      expect(await rejection(replaySession(path, undefined, { signal }))).toBe(signal.reason)
    expect(signal.reason).toMatchObject({ name: 'AbortError' })
    expect(listenersOf(signal)).toBe(0)
  })

  test('aborted in the middle: rejects, and there is no more progress', async () => {
    const controller = new AbortController()
    const seen: Progress[] = []
    const onProgress = (progress: Progress) => {
      seen.push(progress)
      controller.abort('in the middle')
    }
    expect(await rejection(replaySession(big, undefined, { signal: controller.signal, onProgress }))).toBe(
      'in the middle',
    )
    expect(seen).toHaveLength(1)
    expect(listenersOf(controller.signal)).toBe(0)
  })

  test('aborted after the replay: nothing happens, and no listener is left', async () => {
    const controller = new AbortController()
    const { signal } = controller
    for (const [path, ok] of [
      [writeSession(session()), true],
      [writeSession(''), false],
      ['none.jsonl', false],
    ] as const) {
      expect((await replaySession(path, undefined, { signal })).ok).toBe(ok)
      expect(listenersOf(signal)).toBe(0)
    }
    controller.abort()
  })

  test("the caller's own onabort and listeners stay and are called", async () => {
    const controller = new AbortController()
    const called: string[] = []
    controller.signal.onabort = () => called.push('onabort')
    controller.signal.addEventListener('abort', () => called.push('listener'))
    const promise = replaySession(big, undefined, { signal: controller.signal })
    controller.abort('why')
    expect(await rejection(promise)).toBe('why')
    expect(called).toStrictEqual(['onabort', 'listener'])
  })

  test('one signal ends several replays, and spares the one without it', async () => {
    const controller = new AbortController()
    const { signal } = controller
    const promises = [replaySession(big, undefined, { signal }), replaySession(big, undefined, { signal })].map(
      rejection,
    )
    const spared = replaySession(big)
    controller.abort('all of you')
    expect(await Promise.all(promises)).toStrictEqual(['all of you', 'all of you'])
    expect((await spared).ok).toBe(true)
  })

  test.prop([fc.anything({ withBigInt: true, withDate: true }), fc.boolean()], runs(40))(
    'the reason is the very same value',
    async (reason, early) => {
      const controller = new AbortController()
      if (early) controller.abort(reason)
      const promise = replayOf(session(), undefined, { signal: controller.signal })
      controller.abort(reason)
      expect(Object.is(await rejection(promise), controller.signal.reason)).toBe(true)
      expect(listenersOf(controller.signal)).toBe(0)
    },
  )
})

describe('onProgress', () => {
  test('increases up to the size of the file, which it reports once at the end', async () => {
    const filePath = writeSession(session(...Array.from({ length: 12_000 }, () => content('y'.repeat(2_000)))))
    const total = statSync(filePath).size
    const seen: Progress[] = []
    await replaySession(filePath, undefined, { onProgress: (progress) => seen.push(progress) })
    const bytes = seen.map((progress) => progress.bytes)
    expect(seen.every((progress) => progress.total === total)).toBe(true)
    expect(bytes).toStrictEqual([...new Set(bytes)].sort((a, b) => a - b))
    expect(bytes.at(-1)).toBe(total)
  })

  test('reports a small file in one step, before the promise resolves', async () => {
    const text = session(content('a'))
    const seen: Progress[] = []
    await replayOf(text, undefined, { onProgress: (progress) => seen.push(progress) })
    expect(seen).toStrictEqual([{ bytes: Buffer.byteLength(text), total: Buffer.byteLength(text) }])
  })
})
