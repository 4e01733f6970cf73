// throughSeq, auditTrail, signal and onProgress.

import { getEventListeners } from 'node:events'
import { statSync } from 'node:fs'
import { beforeAll, describe, expect } from 'vitest'
import { fc, test } from '../support/property'
import { replaySession } from '../../index.js'
import type { Progress } from '../../index.js'
import {
  compressed,
  content,
  envelope,
  replayOf,
  replayedOf,
  rewind,
  session,
  sessionEvent,
  start,
  textsOf,
  writeSession,
} from '../support/session-file.js'
import { anyEvents, runs } from '../support/session-arbitraries.js'
import { eachCase } from '../support/each-case.js'
import { soundJson } from '../support/json-arbitraries.js'
import { expectSame, expectSameReplay } from '../support/same-replay.js'
import { replayBytes } from '../support/plain-engine.mjs'

describe('throughSeq', () => {
  const text = session(content('a'), content('b'), compressed('ab', 2), content('c'), rewind(1), sessionEvent('x'))

  test('returns the session as it was then', () =>
    eachCase(
      [
        [2, ['a'], 2],
        [3, ['a', 'b'], 3],
        [3.5, ['a', 'b'], 3],
        [4, ['ab'], 4],
        [5, ['ab', 'c'], 5],
        [6, ['ab'], 6],
        [1e9, ['ab'], 7],
        [Infinity, ['ab'], 7],
      ],
      async ([throughSeq, texts, lastSeq]) => {
        const result = await replayedOf(text, { throughSeq })
        expect(textsOf(result.history)).toStrictEqual(texts)
        expect(result.lastSeq).toBe(lastSeq)
        expect(result.eventCount).toBe(lastSeq)
        expect(result.warnings).toStrictEqual([])
      },
    ))

  test('left out or undefined: the whole file', async () => {
    expect((await replayedOf(text, {})).lastSeq).toBe(7)
    expect((await replayedOf(text, { throughSeq: undefined })).lastSeq).toBe(7)
  })

  test('below the first seq it stops before the session_start', () =>
    eachCase([0, -1, 0.5, -Infinity], async (throughSeq) => {
      expect(await replayOf(text, undefined, { throughSeq })).toStrictEqual({
        ok: false,
        error: 'Missing or corrupt session_start event',
        warnings: [],
      })
    }))

  test('the first event with a larger seq ends it, whatever follows', async () => {
    const lines = [start(), content('a'), content('b'), content('c')].map((event, at) =>
      envelope([1, 2, 9, 3][at], event),
    )
    expect(textsOf((await replayedOf(lines.join('\n'), { throughSeq: 3 })).history)).toStrictEqual(['a'])
  })

  test('an unknown, malformed or misplaced event with a larger seq ends it too, without a warning', async () => {
    for (const event of [
      ['novelty', {}],
      ['rewind', {}],
      ['session_start', {}],
      [7, {}],
    ] as const) {
      const line = JSON.stringify({ seq: 99, type: event[0], payload: event[1] })
      const result = await replayedOf(session(content('a'), line, content('b')), { throughSeq: 50 })
      expect(textsOf(result.history)).toStrictEqual(['a'])
      expect(result.eventCount).toBe(2)
      expect(result.warnings).toStrictEqual([])
    }
  })

  test('events without a numeric seq are not affected', async () => {
    const line = (text: string) => envelope('999', content(text))
    const result = await replayedOf(session(line('x'), content('a'), line('y'), content('b'), line('z')), {
      throughSeq: 2,
    })
    expect(textsOf(result.history)).toStrictEqual(['x', 'a', 'y'])
  })

  test('a corrupt line just before the stop is not the last line of the file: its warning stays', async () => {
    const result = await replayedOf(session(content('a'), 'corrupt', content('b')), { throughSeq: 2 })
    expect(result.warnings).toStrictEqual([
      'Line 3: failed to parse JSON',
      'WARNING: >33.3% of lines are unparseable (1/3)',
    ])
  })

  test('a torn last line causes no warning if it is reached', async () => {
    expect((await replayedOf(session(content('a'), 'torn'), { throughSeq: 2 })).warnings).toStrictEqual([])
  })

  test('the project hash is still checked', async () => {
    expect(await replayOf(text, 'feedface', { throughSeq: 3 })).toMatchObject({
      ok: false,
      error: expect.stringMatching(/^Project hash mismatch/),
    })
  })

  const seqs = fc.array(fc.oneof(fc.integer({ min: -2, max: 12 }), fc.constant('none')), { maxLength: 20 })
  test.prop([seqs, fc.integer({ min: 1, max: 12 })], runs(80))(
    'in any order of seqs it stops before the first that is larger',
    async (order, throughSeq) => {
      const lines = order.map((seq, at) => envelope(seq, content(String(at))))
      const stop = order.findIndex((seq) => typeof seq === 'number' && seq > throughSeq)
      const { history } = await replayedOf([envelope(1, start()), ...lines].join('\n'), { throughSeq })
      expect(textsOf(history)).toStrictEqual(
        order.slice(0, stop === -1 ? order.length : stop).map((_, at) => String(at)),
      )
    },
  )

  test.prop([anyEvents, fc.oneof(fc.integer({ min: 0, max: 30 }), fc.double({ noNaN: true }))], runs(120))(
    'equals a replay of the file cut there',
    async (events, throughSeq) => {
      const whole = session(...events)
      const found = await replayOf(whole, undefined, { throughSeq })
      expectSameReplay(found, replayBytes(Buffer.from(whole), undefined, { throughSeq }))
      const strictly = { throughSeq, strict: true }
      expectSameReplay(await replayOf(whole, undefined, strictly), replayBytes(Buffer.from(whole), undefined, strictly))
      if (throughSeq >= 1) {
        expectSameReplay(found, await replayOf(session(...events.slice(0, Math.floor(Math.min(throughSeq, 1e6)) - 1))))
      }
    },
  )
})

describe('auditTrail', () => {
  const note = (envelopeText: string) =>
    `{${envelopeText}"type":"session_event","payload":{"severity":"info","message":"m"}}`

  test('adds the ts and the seq of the envelope', async () => {
    const text = session(content('a'), sessionEvent('one', 'warning'), sessionEvent('two'))
    expect((await replayedOf(text, { auditTrail: true })).sessionEvents).toStrictEqual([
      { severity: 'warning', message: 'one', timestamp: '2026-02-11T16:00:03.000Z', seq: 3 },
      { severity: 'info', message: 'two', timestamp: '2026-02-11T16:00:04.000Z', seq: 4 },
    ])
  })

  test('without it they are exactly severity and message', () =>
    eachCase([{}, { auditTrail: false }, { auditTrail: undefined }], async (options) => {
      expect((await replayedOf(session(sessionEvent('one')), options)).sessionEvents).toStrictEqual([
        { severity: 'info', message: 'one' },
      ])
    }))

  test('takes ts and seq as they are in the envelope', () =>
    eachCase(
      [
        ['neither', '', {}],
        ['a seq that is no number', '"seq":"7","ts":"t",', { timestamp: 't' }],
        ['only a seq', '"seq":7.5,', { seq: 7.5 }],
        ['the last of two', '"ts":"a","seq":7,"ts":"b","seq":8,', { timestamp: 'b', seq: 8 }],
        ['escaped keys', '"t\\u0073":"\\u0061","se\\u0071":9,', { timestamp: 'a', seq: 9 }],
        ['a ts that is no string, as it stands', '"ts":{"b":[1,null],"a":-0},', { timestamp: { b: [1, null], a: -0 } }],
        ['a ts of null', '"ts":null,', { timestamp: null }],
        ['an infinite seq', '"seq":1e999,', { seq: Infinity }],
      ],
      async ([_, envelopeText, audit]) => {
        const { sessionEvents } = await replayedOf(session(note(envelopeText)), { auditTrail: true })
        expect(sessionEvents).toStrictEqual([{ severity: 'info', message: 'm', ...audit }])
      },
    ))

  test.prop([soundJson, soundJson], runs(100))(
    'takes any ts as it is, and seq only if it is a number',
    async (ts, seq) => {
      const { sessionEvents } = await replayedOf(session(note(`"ts":${ts},"seq":${seq},`)), { auditTrail: true })
      const value: unknown = JSON.parse(seq)
      const audit = { timestamp: JSON.parse(ts) as unknown, ...(typeof value === 'number' ? { seq: value } : {}) }
      expectSame(sessionEvents, [{ severity: 'info', message: 'm', ...audit }], { keyOrder: false })
      expectSame(sessionEvents[0]?.timestamp, audit.timestamp)
    },
  )

  test.prop([anyEvents], runs(60))('changes nothing else', async (events) => {
    const text = session(...events)
    const audited = await replayedOf(text, { auditTrail: true })
    const plain = await replayedOf(text)
    expectSameReplay({ ...audited, sessionEvents: [] }, { ...plain, sessionEvents: [] })
    expect(audited.sessionEvents.map(({ severity, message }) => ({ severity, message }))).toStrictEqual(
      plain.sessionEvents,
    )
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

  test('already aborted: rejects with its reason, an AbortError when none was given', async () => {
    const filePath = writeSession(session())
    const signal = AbortSignal.abort()
    const reason = await rejection(replaySession(filePath, undefined, { signal }))
    expect(reason).toBe(signal.reason)
    expect(reason).toMatchObject({ name: 'AbortError' })
    expect(listenersOf(signal)).toBe(0)
  })

  test('already aborted takes precedence over a file that does not exist', async () => {
    const reason = new Error('closed')
    expect(
      await rejection(replaySession('no-such-session.jsonl', undefined, { signal: AbortSignal.abort(reason) })),
    ).toBe(reason)
  })

  test('aborted in the turn of the call', async () => {
    const controller = new AbortController()
    const promise = replaySession(big, undefined, { signal: controller.signal })
    controller.abort('at once')
    expect(await rejection(promise)).toBe('at once')
    expect(listenersOf(controller.signal)).toBe(0)
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

  test('aborted after the replay: nothing happens', async () => {
    const controller = new AbortController()
    const result = await replaySession(writeSession(session(content('a'))), undefined, { signal: controller.signal })
    expect(listenersOf(controller.signal)).toBe(0)
    controller.abort()
    expect(result.ok).toBe(true)
  })

  test('its listener is removed after a failed replay, too', async () => {
    const { signal } = new AbortController()
    expect((await replaySession('no-such-session.jsonl', undefined, { signal })).ok).toBe(false)
    expect((await replaySession(writeSession(''), undefined, { signal })).ok).toBe(false)
    expect(listenersOf(signal)).toBe(0)
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
