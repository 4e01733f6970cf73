// Payloads that don't fit their type, one by one, and unknown types.

import { describe, expect } from 'vitest'
import { fc, test } from '../support/property'
import { eachCase } from '../support/each-case.js'
import {
  START_METADATA,
  content,
  file,
  item,
  replayOf,
  replayedOf,
  session,
  start,
  textsOf,
  written,
} from '../support/session-file.js'
import type { Event } from '../support/session-file.js'
import {
  anyItem,
  anyNumber,
  anyString,
  filledString,
  malformedPayloads,
  malformedStartPayload,
  notAFilledString,
  runs,
  severity,
} from '../support/session-arbitraries.js'
import { expectSame } from '../support/same-replay.js'

/** Asserts that the event has no effect between two sound ones. Returns the first warning of the session. */
async function warningOf(type: string, payload: unknown): Promise<string | undefined> {
  const result = await replayedOf(session(content('before'), [type, payload], content('after')))
  expect(textsOf(result.history)).toStrictEqual(['before', 'after'])
  expect(result.metadata).toStrictEqual(START_METADATA)
  expect(result.sessionEvents).toStrictEqual([])
  expect(result.eventCount).toBe(4)
  expect(result.lastSeq).toBe(4)
  return result.warnings[0]
}

describe('session_start', () => {
  const invalid = { ok: false, error: 'Invalid session_start: missing required fields', warnings: [] }

  test('on line 1 without its required fields ends the replay there', () =>
    eachCase(
      [
        undefined,
        null,
        'abc',
        ['s', 'p'],
        {},
        { projectHash: 'p' },
        { sessionId: '', projectHash: 'p' },
        { sessionId: 7, projectHash: 'p' },
        { sessionId: 's' },
        { sessionId: 's', projectHash: '' },
        { sessionId: 's', projectHash: ['p'] },
        { sessionid: 's', project_hash: 'p' },
      ],
      async (payload) => {
        expect(await replayOf(file(['session_start', payload], content('a'), ['rewind', {}]))).toStrictEqual(invalid)
      },
    ))

  test('has no required field from a polluted prototype', async () => {
    const line = '{"type":"session_start","payload":{"__proto__":{"sessionId":"s","projectHash":"p"}}}'
    expect(await replayOf(line)).toStrictEqual(invalid)
  })

  test('in the middle is misplaced, not malformed, whatever its payload', () =>
    eachCase([undefined, null, {}, 'text', { sessionId: 7 }], async (payload) => {
      const result = await replayedOf(session(content('a'), ['session_start', payload], content('b')))
      expect(result.warnings).toStrictEqual(['session_start at line 3 (expected line 1)'])
      expect(result.eventCount).toBe(4)
    }))

  test.prop([malformedStartPayload], runs(60))(
    'on line 1 with any payload that does not fit ends the replay',
    async (payload) => {
      expect(await replayOf(file(['session_start', payload], content('a')))).toStrictEqual(invalid)
    },
  )

  test.prop([malformedStartPayload], runs(60))(
    'in the middle with any such payload is only misplaced',
    async (payload) => {
      expect(await warningOf('session_start', payload)).toBe('session_start at line 3 (expected line 1)')
    },
  )
})

describe('a payload that is missing, empty or not an object', () => {
  test('fits no type', async () => {
    for (const type of ['content', 'compressed', 'rewind', 'provider_switch', 'directories_changed']) {
      await eachCase([undefined, null, 0, 1, '', 'text', true, [], [{}], {}], async (payload) => {
        expect(await warningOf(type, payload)).toBe(`Line 3: malformed ${type} event, skipping`)
      })
    }
  })
})

describe('content', () => {
  test('whose item is not valid is malformed', () =>
    eachCase(
      [
        null,
        'hello',
        [item('ai', 'x')],
        7,
        { blocks: [] },
        { speaker: '', blocks: [] },
        { speaker: ['ai'], blocks: [] },
        { speaker: null, blocks: [] },
        { Speaker: 'ai', blocks: [] },
      ],
      async (entry) => {
        expect(await warningOf('content', { content: entry })).toBe('Line 3: malformed content event, skipping')
      },
    ))

  test('whose item has no blocks, or blocks that are not an array, is valid: only the speaker is checked', async () => {
    const items = [{ speaker: 'ai' }, { speaker: 'ai', blocks: null }, { speaker: 'ai', blocks: 'text' }]
    const result = await replayedOf<unknown>(session(...items.map((entry): Event => ['content', { content: entry }])))
    expect(result.history).toStrictEqual(items)
    expect(result.warnings).toStrictEqual([])
  })

  test.prop([malformedPayloads.content], runs(60))(
    'with any payload that does not fit has no effect',
    async (payload) => {
      expect(await warningOf('content', payload)).toBe('Line 3: malformed content event, skipping')
    },
  )
})

describe('compressed', () => {
  const summary = item('ai', 'sum')
  const malformed = 'Line 3: malformed compressed event, skipping'

  test('without a summary that is an item is malformed', () =>
    eachCase(
      [undefined, null, 'sum', [summary], { blocks: [] }, { speaker: '', blocks: [] }, { speaker: 1, blocks: [] }],
      async (entry) => {
        expect(await warningOf('compressed', { summary: entry, itemsCompressed: 2 })).toBe(malformed)
        expect(await warningOf('compressed', { content: summary, summary: entry, itemsCompressed: 2 })).toBe(malformed)
      },
    ))

  test('without itemsCompressed, or with one that is not a number, is malformed', () =>
    eachCase([undefined, null, '2', [2], {}, true], async (itemsCompressed) => {
      expect(await warningOf('compressed', { summary, itemsCompressed })).toBe(malformed)
    }))

  test('fits with any number of itemsCompressed', () =>
    eachCase(['0', '-1', '-0', '1.5', '1e999', '-1e999', '1e-400'], async (count) => {
      const line = `{"seq":3,"type":"compressed","payload":{"itemsCompressed":${count},"summary":{"speaker":"ai"}}}`
      const result = await replayedOf<unknown>(session(content('a'), line))
      expect(result.history).toStrictEqual([{ speaker: 'ai' }])
      expect(result.warnings).toStrictEqual([])
    }))

  test.prop([malformedPayloads.compressed], runs(60))(
    'with any payload that does not fit resets nothing',
    async (payload) => {
      expect(await warningOf('compressed', payload)).toBe(malformed)
    },
  )

  test.prop([anyItem, anyNumber], runs(60))('with any item and any number resets', async (entry, itemsCompressed) => {
    const { history, warnings } = await replayedOf(
      session(content('a'), ['compressed', { summary: entry, itemsCompressed }]),
    )
    expectSame(history, [written(entry)])
    expect(warnings).toStrictEqual([])
  })
})

describe('rewind', () => {
  test('without a number, or with a negative one, is malformed', () =>
    eachCase(
      [
        '{}',
        '{"itemsRemoved":-1}',
        '{"itemsRemoved":-5e-324}',
        '{"itemsRemoved":-1e999}',
        '{"itemsRemoved":"1"}',
        '{"itemsRemoved":null}',
        '{"itemsRemoved":true}',
        '{"itemsRemoved":[1]}',
        '{"itemsRemoved":1,"itemsRemoved":-1}',
      ],
      async (payload) => {
        const result = await replayedOf(
          session(content('a'), `{"seq":3,"type":"rewind","payload":${payload}}`, content('b')),
        )
        expect(textsOf(result.history)).toStrictEqual(['a', 'b'])
        expect(result.warnings[0]).toBe('Line 3: malformed rewind event, skipping')
      },
    ))

  test('by a negative number so small that it is -0 fits', async () => {
    const result = await replayedOf(
      session(content('a'), '{"seq":3,"type":"rewind","payload":{"itemsRemoved":-1e-400}}'),
    )
    expect(result.warnings).toStrictEqual([])
    expect(textsOf(result.history)).toStrictEqual(['a'])
  })

  test.prop([malformedPayloads.rewind], runs(60))(
    'with any payload that does not fit removes nothing',
    async (payload) => {
      expect(await warningOf('rewind', payload)).toBe('Line 3: malformed rewind event, skipping')
    },
  )
})

describe('provider_switch', () => {
  test('whose provider is not a filled string is malformed, with or without a model', () =>
    eachCase([undefined, '', null, 1, ['openai'], {}], async (provider) => {
      expect(await warningOf('provider_switch', { provider, model: 'gpt-5' })).toBe(
        'Line 3: malformed provider_switch event, skipping',
      )
    }))

  test.prop([malformedPayloads.provider_switch], runs(60))(
    'with any payload that does not fit switches nothing',
    async (payload) => {
      expect(await warningOf('provider_switch', payload)).toBe('Line 3: malformed provider_switch event, skipping')
    },
  )

  test.prop([filledString, notAFilledString], runs(40))(
    'with any filled provider fits, and keeps the model if it has none',
    async (provider, model) => {
      const { metadata, warnings } = await replayedOf(session(['provider_switch', { provider, model }]))
      expect(metadata).toStrictEqual({ ...START_METADATA, provider })
      expect(warnings).toStrictEqual([])
    },
  )
})

describe('session_event', () => {
  test('without one of the three severities and a message is malformed; the warning does not say "event" twice', () =>
    eachCase(
      [
        undefined,
        null,
        [],
        'info',
        {},
        { severity: 'info' },
        { message: 'm' },
        { severity: 'info', message: 7 },
        { severity: 'info', message: null },
        { severity: 'Info', message: 'm' },
        { severity: 'fatal', message: 'm' },
        { severity: '', message: 'm' },
        { severity: ['info'], message: 'm' },
        { severity: 'constructor', message: 'm' },
      ],
      async (payload) => {
        expect(await warningOf('session_event', payload)).toBe('Line 3: malformed session_event, skipping')
      },
    ))

  test.prop([malformedPayloads.session_event], runs(60))(
    'with any payload that does not fit is not collected',
    async (payload) => {
      expect(await warningOf('session_event', payload)).toBe('Line 3: malformed session_event, skipping')
    },
  )

  test.prop([severity, anyString], runs(40))('with any message is collected', async (level, message) => {
    const { sessionEvents, warnings } = await replayedOf(session(['session_event', { severity: level, message }]))
    expect(sessionEvents).toStrictEqual([{ severity: level, message }])
    expect(warnings).toStrictEqual([])
  })
})

describe('directories_changed', () => {
  test('whose directories are not an array of strings is malformed', () =>
    eachCase(['/a', null, ['/a', 1], [null], [['/a']], { 0: '/a', length: 1 }], async (directories) => {
      expect(await warningOf('directories_changed', { directories })).toBe(
        'Line 3: malformed directories_changed event, skipping',
      )
    }))

  test.prop([malformedPayloads.directories_changed], runs(60))(
    'with any payload that does not fit changes nothing',
    async (payload) => {
      expect(await warningOf('directories_changed', payload)).toBe(
        'Line 3: malformed directories_changed event, skipping',
      )
    },
  )
})

describe('unknown types', () => {
  test('are shown as they are', () =>
    eachCase(
      [
        'checkpoint',
        '',
        'Content',
        'content ',
        'undefined',
        '__proto__',
        'constructor',
        'toString',
        "it's 'quoted'",
        'a\nb\u2028',
        'é漢😀',
      ],
      async (type) => {
        const result = await replayedOf(session(content('a'), [type, { any: 'thing' }], content('b')))
        expect(result.warnings).toStrictEqual([`Line 3: unknown event type '${type}', skipping`])
        expect(textsOf(result.history)).toStrictEqual(['a', 'b'])
      },
    ))

  test('that are not strings are shown as JSON text', () =>
    eachCase(
      [
        ['null', 'null'],
        ['7', '7'],
        ['-0', '0'],
        ['1e999', 'null'],
        ['1E3', '1000'],
        ['0.10', '0.1'],
        ['true', 'true'],
        ['[]', '[]'],
        ['{ }', '{}'],
        ['["content" , 1.0]', '["content",1]'],
        ['{"b":1,"a":"\\u0041\\/","b":2}', '{"b":2,"a":"A/"}'],
        ['{"x":0,"10":1,"9":2}', '{"9":2,"10":1,"x":0}'],
        ['["\\ud800","\\ud83d\\ude00","\\u2028","\\u007f"]', '["\\ud800","😀","\u2028","\u007f"]'],
        ['[1e21,1e-7,123456789012345678901]', '[1e+21,1e-7,123456789012345680000]'],
        ['{"__proto__":[]}', '{"__proto__":[]}'],
        ['["\\b\\f\\u000b\\u0000"]', '["\\b\\f\\u000b\\u0000"]'],
      ],
      async ([type, shown]) => {
        const result = await replayedOf(session(`{"seq":2,"type":${type},"payload":{}}`))
        expect(result.warnings).toStrictEqual([`Line 2: unknown event type '${shown}', skipping`])
      },
    ))

  test('nested thousands deep are shown, too', async () => {
    const type = '['.repeat(5_000) + ']'.repeat(5_000)
    const result = await replayedOf(session(`{"type":${type}}`, content('a')))
    expect(result.warnings).toStrictEqual([`Line 2: unknown event type '${type}', skipping`])
    expect(textsOf(result.history)).toStrictEqual(['a'])
  })

  test('that are absent are shown as undefined', async () => {
    const lines = [
      '{}',
      '{"Type":"content"}',
      '{"payload":{"type":"content"}}',
      JSON.stringify(item('ai', 'a')),
      JSON.stringify(start()[1]),
    ]
    const result = await replayedOf(session(...lines))
    expect(result.warnings).toStrictEqual(
      lines.map((_, at) => `Line ${at + 2}: unknown event type 'undefined', skipping`),
    )
  })

  test('that are a lone surrogate are shown as that surrogate', async () => {
    const result = await replayedOf(session('{"type":"\\ud83d","seq":2}'))
    expect(result.warnings).toStrictEqual(["Line 2: unknown event type '\ud83d', skipping"])
  })

  test.prop([fc.oneof(fc.jsonValue(), fc.constant(undefined))], runs(40))(
    'are not malformed, whatever their payload',
    async (payload) => {
      expect(await warningOf('novelty', payload)).toBe("Line 3: unknown event type 'novelty', skipping")
    },
  )
})
