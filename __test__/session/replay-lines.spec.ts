// Where lines begin and end, which of them parse, and what happens to the others.

import { describe, expect, test } from 'vitest'
import { content, envelope, replayOf, replayedOf, session, start, textsOf } from '../support/session-file.js'
import { eachCase } from '../support/each-case.js'

const BYTE_ORDER_MARK = '\ufeff'

describe('line ends', () => {
  test('\\r\\n ends a line like \\n', async () => {
    const result = await replayedOf(session(content('a'), content('b')).replaceAll('\n', '\r\n'))
    expect(textsOf(result.history)).toStrictEqual(['a', 'b'])
    expect(result.warnings).toStrictEqual([])
  })

  test('a lone \\r does not end a line: two records around it are one line that does not parse', async () => {
    const result = await replayedOf(
      `${envelope(1, start())}\n${envelope(2, content('a'))}\r${envelope(3, content('b'))}\n${envelope(4, content('c'))}\n`,
    )
    expect(textsOf(result.history)).toStrictEqual(['c'])
    expect(result.warnings[0]).toBe('Line 2: failed to parse JSON')
  })

  test('U+2028 and U+2029 are text, inside a record and between records', async () => {
    const raw = envelope(2, content('one\u2028two\u2029three'))
    expect(raw).toContain('\u2028')
    const result = await replayedOf(session(raw, content('after')))
    expect(textsOf(result.history)).toStrictEqual(['one\u2028two\u2029three', 'after'])
    const fused = await replayedOf(session(`${raw}\u2028${envelope(3, content('x'))}`, content('after')))
    expect(textsOf(fused.history)).toStrictEqual(['after'])
    expect(fused.warnings[0]).toBe('Line 2: failed to parse JSON')
  })

  test('the last line needs no line ending', async () => {
    const result = await replayedOf(session(content('a'), content('b')).trimEnd())
    expect(textsOf(result.history)).toStrictEqual(['a', 'b'])
    expect((await replayedOf(`${session(content('a')).trimEnd()}\r`)).warnings).toStrictEqual([])
  })
})

describe('blank lines and null', () => {
  test('blank lines are skipped but counted, with \\r\\n and any white space that JavaScript knows', async () => {
    const blanks = [
      '',
      '\r',
      ' \t ',
      '\v\f',
      '\u00a0',
      '\ufeff',
      '\u2028\u2029',
      '\u1680\u2000\u200a\u202f\u205f\u3000',
    ]
    const result = await replayedOf(session(...blanks, 'corrupt', content('a')))
    expect(result.warnings[0]).toBe(`Line ${blanks.length + 2}: failed to parse JSON`)
    expect(result.eventCount).toBe(2)
    expect(textsOf(result.history)).toStrictEqual(['a'])
  })

  test('a character that only resembles white space does not parse', () =>
    eachCase(['\u0085', '\u180e', '\u200b', '\u0000', '\u001f', '\u2060'], async (text) => {
      const result = await replayedOf(session(text, content('a')))
      expect(result.warnings[0]).toBe('Line 2: failed to parse JSON')
    }))

  test('null is skipped without a warning and is not counted', async () => {
    const result = await replayedOf(session('null', ' \tnull\r', content('a')))
    expect(result.warnings).toStrictEqual([])
    expect(result.eventCount).toBe(2)
  })

  test('any other value that is not an object is an unknown event of type undefined', async () => {
    const values = [
      '0',
      '-1.5e3',
      'true',
      'false',
      '""',
      '"content"',
      '[]',
      '[{"type":"content","seq":1}]',
      '"null"',
      '[null]',
    ]
    const result = await replayedOf(session(...values))
    expect(result.warnings).toStrictEqual(
      values.map((_, at) => `Line ${at + 2}: unknown event type 'undefined', skipping`),
    )
    expect(result.eventCount).toBe(1 + values.length)
  })
})

describe('lines that do not parse', () => {
  test('a torn last line causes no warning and is not counted', async () => {
    const whole = session(content('a'), content('b'))
    const result = await replayOf(whole + envelope(4, content('c')).slice(0, 40))
    expect(result).toStrictEqual(await replayOf(whole))
    expect(result.warnings).toStrictEqual([])
  })

  test('a torn last line with a newline causes no warning either', async () => {
    expect((await replayedOf(session(content('a'), 'torn'))).warnings).toStrictEqual([])
  })

  test('a last line torn inside a character', async () => {
    const bytes = Buffer.from(session(content('a')) + envelope(3, content('é😀')))
    const result = await replayedOf(bytes.subarray(0, bytes.indexOf('😀') + 2))
    expect(textsOf(result.history)).toStrictEqual(['a'])
    expect(result.warnings).toStrictEqual([])
  })

  test('a corrupt line followed by a blank one is not the last line', async () => {
    const expected = ['Line 3: failed to parse JSON', 'WARNING: >33.3% of lines are unparseable (1/3)']
    expect((await replayedOf(session(content('a'), 'corrupt', ''))).warnings).toStrictEqual(expected)
    expect((await replayedOf(session(content('a'), 'corrupt', '').slice(0, -1) + ' ')).warnings).toStrictEqual(expected)
  })

  test('only the last of several such lines counts as torn', async () => {
    expect((await replayedOf(session(content('a'), 'corrupt', 'torn'))).warnings[0]).toBe(
      'Line 3: failed to parse JSON',
    )
    expect((await replayedOf(session(content('a'), 'corrupt', 'torn'))).warnings.join()).not.toContain('Line 4')
  })

  test('a corrupt line in the middle is reported with its number, and the rest is read', async () => {
    const result = await replayedOf(session(content('a'), '{"v":1,"seq":3,"ty', content('b')))
    expect(result.warnings).toContain('Line 3: failed to parse JSON')
    expect(textsOf(result.history)).toStrictEqual(['a', 'b'])
    expect(result.eventCount).toBe(3)
  })

  test('a torn line that is fused with a record is one corrupt line', async () => {
    const fused = envelope(3, content('b')).slice(0, 30) + envelope(3, content('c'))
    const result = await replayedOf(session(content('a'), fused, content('d')))
    expect(textsOf(result.history)).toStrictEqual(['a', 'd'])
    expect(result.warnings[0]).toBe('Line 3: failed to parse JSON')
  })

  test('a line that JSON.parse refuses does not parse', () =>
    eachCase(
      [
        'NaN',
        'undefined',
        "{'a':1}",
        '{"a":1,}',
        '[1,]',
        '01',
        '-',
        '1.',
        '.5',
        '+1',
        '1e',
        '0x1f',
        'nul',
        'truee',
        '"\\x41"',
        '"\\u12"',
        '"\\ud8zz"',
        '"\t"',
        '"\u0000"',
        '"',
        '{"a"',
        '{} {}',
        '//x',
        '\ufeff{}',
        '{}\u00a0',
        '\v1',
        '[}',
        '{"a":1 "b":2}',
        '{1:2}',
        '"\\',
      ],
      async (text) => {
        expect(() => JSON.parse(text)).toThrow()
        expect((await replayedOf(session(text, content('a')))).warnings[0]).toBe('Line 2: failed to parse JSON')
      },
    ))
})

describe('bytes that are not UTF-8', () => {
  const START = Buffer.from(session())
  const around = (bytes: readonly number[]) =>
    Buffer.concat([
      START,
      Buffer.from('{"seq":2,"type":"content","payload":{"content":{"speaker":"ai","text":"<'),
      Buffer.from(bytes),
      Buffer.from('>"}}}\n'),
    ])

  test('become U+FFFD, one for each maximal part of a well-formed sequence', () =>
    eachCase(
      [
        [[0x80], '\ufffd'],
        [[0xc3], '\ufffd'],
        [[0xc0, 0x80], '\ufffd\ufffd'],
        [[0xe2, 0x82], '\ufffd'],
        [[0xed, 0xa0, 0x80], '\ufffd\ufffd\ufffd'],
        [[0xf0, 0x9f, 0x98], '\ufffd'],
        [[0xf0, 0x9f, 0x41], '\ufffdA'],
        [[0xf4, 0x90, 0x80, 0x80], '\ufffd\ufffd\ufffd\ufffd'],
        [[0xff, 0xfe], '\ufffd\ufffd'],
        [[0xef, 0xbb, 0xbf], '\ufeff'],
        [[0xc3, 0xa9, 0xe9], 'é\ufffd'],
      ],
      async ([bytes, text]) => {
        const { history } = await replayedOf<{ text: string }>(around(bytes))
        expect(history.map((entry) => entry.text)).toStrictEqual([`<${text}>`])
      },
    ))

  test('outside a string make a line that does not parse', async () => {
    const result = await replayedOf(
      Buffer.concat([START, Buffer.from([0xff, 0x0a]), Buffer.from(envelope(2, content('a')))]),
    )
    expect(result.warnings[0]).toBe('Line 2: failed to parse JSON')
  })

  test('that a newline cuts short do not swallow the newline', async () => {
    const result = await replayedOf(
      Buffer.concat([START, Buffer.from([0xf0, 0x9f, 0x0a]), Buffer.from(envelope(2, content('a')))]),
    )
    expect(textsOf(result.history)).toStrictEqual(['a'])
    expect(result.warnings[0]).toBe('Line 2: failed to parse JSON')
  })
})

describe('the byte order mark', () => {
  test('at the very start is dropped', async () => {
    const result = await replayOf(BYTE_ORDER_MARK + session(content('a')))
    expect(result).toStrictEqual(await replayOf(session(content('a'))))
    expect(result.ok).toBe(true)
  })

  test('is dropped only once: a second one makes line 1 unreadable', async () => {
    expect(await replayOf(BYTE_ORDER_MARK + BYTE_ORDER_MARK + session(content('a')))).toStrictEqual({
      ok: false,
      error: 'Missing or corrupt session_start event',
      warnings: ['Line 1: failed to parse JSON'],
    })
  })

  test('anywhere else it is a character: text in a string, an error before a record', async () => {
    const result = await replayedOf(
      session(BYTE_ORDER_MARK + envelope(2, content('lost')), content(`${BYTE_ORDER_MARK}kept`)),
    )
    expect(textsOf(result.history)).toStrictEqual([`${BYTE_ORDER_MARK}kept`])
    expect(result.warnings[0]).toBe('Line 2: failed to parse JSON')
  })

  test('is not recognised by a part of it', async () => {
    expect(
      await replayOf(Buffer.concat([Buffer.from([0xef, 0xbb]), Buffer.from(session(content('a')))])),
    ).toMatchObject({
      ok: false,
      warnings: ['Line 1: failed to parse JSON'],
    })
  })
})

describe('files with nothing in them', () => {
  test('no line at all is an empty file', () =>
    eachCase(
      [
        ['no byte', ''],
        ['a byte order mark alone', BYTE_ORDER_MARK],
      ],
      async ([_, text]) => {
        expect(await replayOf(text)).toStrictEqual({ ok: false, error: 'Empty file', warnings: [] })
      },
    ))

  test('lines, but no session_start among them', () =>
    eachCase(
      [
        ['a newline', '\n'],
        ['blank lines', '\r\n \r\n\t'],
        ['one space', ' '],
        ['null', 'null\n'],
        ['a byte order mark and a newline', `${BYTE_ORDER_MARK}\n`],
        ['two byte order marks', BYTE_ORDER_MARK + BYTE_ORDER_MARK],
        ['a torn session_start', envelope(1, start()).slice(0, -1)],
      ],
      async ([_, text]) => {
        expect(await replayOf(text)).toStrictEqual({
          ok: false,
          error: 'Missing or corrupt session_start event',
          warnings: [],
        })
      },
    ))
})
