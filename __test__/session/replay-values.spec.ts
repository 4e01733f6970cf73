// Values are the same as from JSON.parse, however a file spells them and however deep they go.

import { describe, expect, test } from 'vitest'
import { content, item, replayedOf, session, textsOf } from '../support/session-file.js'
import { eachCase } from '../support/each-case.js'
import { firstDifference } from '../support/same-replay.js'

describe('values are the same as from JSON.parse', () => {
  const valueOf = async (text: string) => {
    const line = `{"seq":2,"type":"content","payload":{"content":{"speaker":"ai","value":${text}}}}`
    const { history } = await replayedOf<{ value: unknown }>(session(line))
    return history[0]?.value
  }

  test('numbers, strings, duplicate and odd keys', () =>
    eachCase(
      [
        '-0',
        '0.1',
        '1e999',
        '-1e999',
        '9007199254740993',
        '123456789012345678901234567890',
        '5e-324',
        '1e-400',
        '"\\ud800"',
        '"\\udc00\\ud83d"',
        '{"a":1,"a":2}',
        '{"b":1,"a":2,"b":3}',
        '{"10":1,"9":2,"x":3,"0":4}',
        '{"__proto__":{"polluted":true}}',
        '{"__proto__":1,"__proto__":[]}',
        '{"constructor":null,"toString":1}',
        '{"\\u0061":1,"a":2}',
        '{"":{"":[]}}',
        '"\u2028\u2029"',
        '"\\u2028"',
        '"\u0080\u00ff\u0100\uffff😀"',
        '[ 1 ,\t2 ,\r3 ]',
      ],
      async (text) => {
        expect(firstDifference(await valueOf(text), JSON.parse(text))).toBeNull()
      },
    ))

  test('arrays nested up to 200 000 deep', () =>
    eachCase([127, 128, 129, 5_000, 200_000], async (depth) => {
      const text = '['.repeat(depth) + ']'.repeat(depth)
      expect(firstDifference(await valueOf(text), JSON.parse(text))).toBeNull()
    }))

  test('objects nested 5 000 deep, even in a payload that is not used', async () => {
    const text = '{"a":'.repeat(5_000) + 'null' + '}'.repeat(5_000)
    expect(firstDifference(await valueOf(text), JSON.parse(text))).toBeNull()
    const result = await replayedOf(
      session(
        `{"seq":2,"type":"novelty","payload":${text}}`,
        `{"seq":3,"type":"rewind","payload":${text}}`,
        content('a'),
      ),
    )
    expect(result.eventCount).toBe(4)
    expect(textsOf(result.history)).toStrictEqual(['a'])
  })

  test('deep nesting that is never closed does not parse', async () => {
    const result = await replayedOf(
      session('['.repeat(200_000), `${'['.repeat(5_000)}${']'.repeat(4_999)}`, content('a')),
    )
    expect(result.warnings.slice(0, 2)).toStrictEqual(['Line 2: failed to parse JSON', 'Line 3: failed to parse JSON'])
  })

  test('__proto__ is only a key: no item and no field comes from it', async () => {
    const result = await replayedOf(
      session(
        '{"seq":2,"type":"content","payload":{"__proto__":{"content":{"speaker":"ai"}}}}',
        '{"seq":3,"__proto__":{"type":"content"},"payload":{"content":{"speaker":"ai"}}}',
        '{"seq":4,"type":"content","payload":{"content":{"__proto__":{"speaker":"ai"}}}}',
      ),
    )
    expect(result.warnings.slice(0, 3)).toStrictEqual([
      'Line 2: malformed content event, skipping',
      "Line 3: unknown event type 'undefined', skipping",
      'Line 4: malformed content event, skipping',
    ])
    expect(({} as Record<string, unknown>)['speaker']).toBeUndefined()
  })

  test('the last of duplicate keys wins, for type, seq, payload, speaker and every other', async () => {
    const result = await replayedOf<unknown>(
      session(
        '{"type":"rewind","seq":1,"payload":{"itemsRemoved":1},"type":"content","seq":2,"payload":{"content":{"speaker":"ai","speaker":"tool","n":1,"n":2}}}',
        '{"type":"content","payload":{"content":{"speaker":"ai"}},"payload":{"content":{"speaker":"ai","speaker":""}}}',
        '{"type":"content","seq":9,"payload":{"content":{"speaker":"ai"},"content":7},"seq":"x"}',
        '{"type":"content","payload":{"content":{"speaker":"ai"}},"type":7}',
      ),
    )
    expect(result.history).toStrictEqual([{ speaker: 'tool', n: 2 }])
    expect(result.lastSeq).toBe(2)
    expect(result.warnings.slice(0, 3)).toStrictEqual([
      'Line 3: malformed content event, skipping',
      'Line 4: malformed content event, skipping',
      "Line 5: unknown event type '7', skipping",
    ])
  })

  test('a key or a type is the same however it is spelled', async () => {
    const result = await replayedOf(
      session(
        '{"ty\\u0070e":"c\\u006Fntent","\\u0073eq":7,"p\\u0061yload":{"c\\u006fntent":{"sp\\u0065aker":"\\u0061i","blocks":[{"type":"text","text":"a"}]}}}',
        '{"type":"content","ty\\u0070e":"session_event","payload":{"s\\u0065verity":"\\u0069nfo","message":"x"}}',
      ),
    )
    expect(result.history).toStrictEqual([item('ai', 'a')])
    expect(result.lastSeq).toBe(7)
    expect(result.sessionEvents).toStrictEqual([{ severity: 'info', message: 'x' }])
    expect(result.warnings).toStrictEqual([])
  })
})
