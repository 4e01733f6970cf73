// seq numbers and counts: a step back is reported, but never reorders anything.

import { describe, expect } from 'vitest'
import { fc, test } from '../support/property'
import { content, envelope, replayedOf, rewind, session, start, textsOf, written } from '../support/session-file.js'
import { anyEvents, runs } from '../support/session-arbitraries.js'
import { expectSame } from '../support/same-replay.js'

describe('seq and counts', () => {
  test('seq 1, 3, 2, 4: reported, never reordered', async () => {
    const text = [start(), content('a'), content('b'), content('c')]
      .map((event, at) => envelope([1, 3, 2, 4][at], event))
      .join('\n')
    const result = await replayedOf(text)
    expect(textsOf(result.history)).toStrictEqual(['a', 'b', 'c'])
    expect(result.warnings).toStrictEqual(['Line 3: non-monotonic seq 2 (expected > 3)'])
    expect(result.lastSeq).toBe(4)
  })

  test('lastSeq is the last one seen, not the largest', async () => {
    const text = [start(), content('a'), content('b')].map((event, at) => envelope([1, 9, 5][at], event)).join('\n')
    const result = await replayedOf(text)
    expect(result.lastSeq).toBe(5)
    expect(result.warnings).toStrictEqual(['Line 3: non-monotonic seq 5 (expected > 9)'])
  })

  test('a seq that repeats is not monotonic', async () => {
    const text = [start(), content('a')].map((event) => envelope(1, event)).join('\n')
    expect((await replayedOf(text)).warnings).toStrictEqual(['Line 2: non-monotonic seq 1 (expected > 1)'])
  })

  test('a seq that is not a number is treated as missing: no warning, lastSeq stays', async () => {
    const odd = [undefined, null, '7', true, [3], {}].map((seq) => envelope(seq, content('a')))
    const result = await replayedOf(session(content('a'), ...odd))
    expect(result.warnings).toStrictEqual([])
    expect(result.lastSeq).toBe(2)
    expect(result.eventCount).toBe(8)
  })

  test('before any numeric seq the previous one counts as 0', async () => {
    const result = await replayedOf(
      [envelope('x', start()), envelope(0, content('a')), envelope(-3, content('b'))].join('\n'),
    )
    expect(result.warnings).toStrictEqual([
      'Line 2: non-monotonic seq 0 (expected > 0)',
      'Line 3: non-monotonic seq -3 (expected > 0)',
    ])
    expect(result.lastSeq).toBe(-3)
  })

  test('numbers print as JavaScript prints them', async () => {
    const seqs = [
      '1e999',
      '1e21',
      '-1e999',
      '-0',
      '0.1',
      '1e-7',
      '123456789012345678901',
      '9007199254740993',
      '100',
      '-1E3',
      '0.00001',
    ]
    const lines = seqs.map((seq) => `{"seq":${seq},"type":"content","payload":{"content":{"speaker":"ai"}}}`)
    const result = await replayedOf(session(...lines))
    expect(result.warnings).toStrictEqual([
      'Line 3: non-monotonic seq 1e+21 (expected > Infinity)',
      'Line 4: non-monotonic seq -Infinity (expected > 1e+21)',
      'Line 7: non-monotonic seq 1e-7 (expected > 0.1)',
      'Line 9: non-monotonic seq 9007199254740992 (expected > 123456789012345680000)',
      'Line 10: non-monotonic seq 100 (expected > 9007199254740992)',
      'Line 11: non-monotonic seq -1000 (expected > 100)',
    ])
    expect(result.lastSeq).toBe(0.00001)
  })

  test('-0 is a seq, prints as 0 and stays -0 in lastSeq', async () => {
    const line = (seq: string) => `{"seq":${seq},"type":"content","payload":{"content":{"speaker":"ai"}}}`
    const result = await replayedOf(session(line('-0')))
    expect(result.warnings).toStrictEqual(['Line 2: non-monotonic seq 0 (expected > 1)'])
    expectSame(result.lastSeq, -0)
  })

  test('1e999 is a seq: nothing is larger', async () => {
    const line = '{"seq":1e999,"type":"content","payload":{"content":{"speaker":"ai"}}}'
    const result = await replayedOf(session(line, line))
    expect(result.lastSeq).toBe(Infinity)
    expect(result.warnings).toStrictEqual(['Line 3: non-monotonic seq Infinity (expected > Infinity)'])
  })

  test('eventCount and lastSeq include unknown, malformed and misplaced events, but not corrupt lines, blank lines and null', async () => {
    const result = await replayedOf(
      session(['novelty', {}], ['rewind', {}], start(), 'corrupt', '', 'null', '42', '[]', content('a')),
    )
    expect(result.eventCount).toBe(7)
    expect(result.lastSeq).toBe(5)
  })

  test('one line may cause two warnings: that of the seq comes first', async () => {
    const result = await replayedOf(
      [envelope(5, start()), envelope(5, ['rewind', {}]), envelope(4, ['novelty', 1])].join('\n'),
    )
    expect(result.warnings.slice(0, 4)).toStrictEqual([
      'Line 2: non-monotonic seq 5 (expected > 5)',
      'Line 2: malformed rewind event, skipping',
      'Line 3: non-monotonic seq 4 (expected > 5)',
      "Line 3: unknown event type 'novelty', skipping",
    ])
  })
})

describe('for any session', () => {
  test.prop([anyEvents], runs(100))('eventCount is the number of events, lastSeq the final one’s', async (events) => {
    const result = await replayedOf(session(...events))
    expect(result.eventCount).toBe(1 + events.length)
    expect(result.lastSeq).toBe(1 + events.length)
  })

  const seq = fc.oneof(fc.integer({ min: -3, max: 30 }), fc.double({ noNaN: true, noDefaultInfinity: true }))
  test.prop([fc.array(seq, { minLength: 1, maxLength: 30 })], runs(150))(
    'any seqs: lastSeq is the last one seen, every one that does not increase is reported',
    async (seqs) => {
      const lines = [envelope(1, start()), ...seqs.map((value) => envelope(value, rewind(0)))]
      const { lastSeq, warnings } = await replayedOf(lines.join('\n'))
      const seen = [1, ...written(seqs)]
      expectSame(lastSeq, seen.at(-1))
      const expected = seen.flatMap((value, at) => {
        const previous = seen[at - 1]
        return previous !== undefined && value <= previous
          ? [`Line ${at + 1}: non-monotonic seq ${value} (expected > ${previous})`]
          : []
      })
      expect(warnings).toStrictEqual(expected)
    },
  )

  test.prop([fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 1, maxLength: 6 })], runs(60))(
    'seq is monotonic over any number of resumes, without a warning',
    async (parts) => {
      let text = session()
      for (const [at, count] of parts.entries()) {
        const { lastSeq, warnings } = await replayedOf(text)
        expect(warnings).toStrictEqual([])
        for (let turn = 1; turn <= count; turn += 1) text += `${envelope(lastSeq + turn, content(`${at}.${turn}`))}\n`
      }
      const result = await replayedOf(text)
      expect(result.warnings).toStrictEqual([])
      expect(result.lastSeq).toBe(1 + parts.reduce((sum, count) => sum + count, 0))
      expect(textsOf(result.history)).toStrictEqual(
        parts.flatMap((count, at) => Array.from({ length: count }, (_, turn) => `${at}.${turn + 1}`)),
      )
    },
  )
})
