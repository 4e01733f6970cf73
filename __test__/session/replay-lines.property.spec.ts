// Where lines begin and end, for any text and any bytes.

import { describe, expect } from 'vitest'
import { fc, test } from '../support/property'
import { content, envelope, replayOf, replayedOf, session, textsOf, written } from '../support/session-file.js'
import { anyString, runs } from '../support/session-arbitraries.js'
import { illFormedUtf8, soundJson, spaceToJavaScriptOnly, noSpace } from '../support/json-arbitraries.js'

const BYTE_ORDER_MARK = '\ufeff'

describe('any file', () => {
  const corrupt = (line: number) => `Line ${line}: failed to parse JSON`

  test.prop(
    [
      fc.constantFrom('', ' ', '\r', '\v', '\f', '\u0085', '\u2028', '\u2029', '\u00a0', ',', '\u0000'),
      anyString,
      anyString,
    ],
    runs(60),
  )(
    'two records with anything but a newline between them are one line, which does not parse',
    async (separator, one, two) => {
      const fused = envelope(2, content(one)) + separator + envelope(3, content(two))
      const result = await replayedOf(session(fused, content('after')))
      expect(textsOf(result.history)).toStrictEqual(['after'])
      expect(result.warnings[0]).toBe(corrupt(2))
    },
  )

  const space = fc.oneof(fc.constantFrom(' ', '\t', '\r'), spaceToJavaScriptOnly)
  const spaces = fc.array(space, { maxLength: 6 }).map((parts) => parts.join(''))
  test.prop([fc.array(spaces, { maxLength: 10 }), noSpace], runs(80))(
    'lines of white space are skipped but counted, any other line is reported with its number',
    async (blanks, other) => {
      const result = await replayedOf(session(...blanks, other, content('after')))
      expect(result.warnings[0]).toBe(corrupt(blanks.length + 2))
      expect(result.eventCount).toBe(2)
    },
  )

  test.prop(
    [
      fc
        .oneof(fc.integer({ min: 0, max: 0x2ff }), fc.integer({ min: 0, max: 0x10ffff }))
        .filter((point) => point !== 0x0a),
    ],
    runs(300),
  )('a line of one character is blank, a digit or corrupt', async (point) => {
    const character = String.fromCodePoint(point)
    const { warnings } = await replayedOf(session(character, content('after')))
    const blank = character.trim() === ''
    const digit = /^[0-9]$/.test(character)
    expect(warnings[0]).toBe(
      blank ? undefined : digit ? "Line 2: unknown event type 'undefined', skipping" : corrupt(2),
    )
  })

  test.prop([soundJson], runs(100))(
    'a value that is not an object is an unknown event, null is no event at all',
    async (text) => {
      const value: unknown = JSON.parse(text)
      const line = typeof value === 'object' && value !== null && !Array.isArray(value) ? `[${text}]` : text
      const { warnings, eventCount } = await replayedOf(session(line))
      expect(warnings).toStrictEqual(value === null ? [] : ["Line 2: unknown event type 'undefined', skipping"])
      expect(eventCount).toBe(value === null ? 1 : 2)
    },
  )

  const withSeparators = fc
    .array(fc.oneof(fc.constantFrom('\u2028', '\u2029', '\u0085'), anyString), { maxLength: 6 })
    .map((parts) => parts.join(''))
  test.prop([fc.array(withSeparators, { maxLength: 5 })], runs(80))(
    "other scripts' line ends are text",
    async (list) => {
      const { history, warnings } = await replayedOf(session(...list.map((text) => content(text))))
      expect(textsOf(history)).toStrictEqual(written(list))
      expect(warnings).toStrictEqual([])
    },
  )

  test.prop([illFormedUtf8, fc.constantFrom('before', 'within', 'after')], runs(60))(
    'bytes that are not UTF-8 outside a string spoil only their own line',
    async (bytes, where) => {
      const record = Buffer.from(envelope(2, content('spoilt')))
      const at = { before: 0, within: 1, after: record.length }[where]
      const spoilt = Buffer.concat([record.subarray(0, at), Buffer.from(bytes), record.subarray(at)])
      const result = await replayedOf(
        Buffer.concat([Buffer.from(session(content('a'))), spoilt, Buffer.from(`\n${envelope(3, content('b'))}`)]),
      )
      expect(textsOf(result.history)).toStrictEqual(['a', 'b'])
      expect(result.warnings[0]).toBe(corrupt(3))
    },
  )

  test.prop([fc.nat({ max: 4 })], runs(20))('only the first of several byte order marks is dropped', async (count) => {
    const result = await replayOf(BYTE_ORDER_MARK.repeat(count) + session(content('a')))
    expect(result.ok).toBe(count < 2)
    expect(result.warnings).toStrictEqual(count < 2 ? [] : [corrupt(1)])
  })

  const torn = fc
    .uint8Array({ minLength: 1, maxLength: 40 })
    .map((bytes) => bytes.map((byte) => (byte === 0x0a ? 0x20 : byte)))
  test.prop([torn, fc.constantFrom('', '\n', '\r\n')], runs(100))(
    'a last line that starts like a record causes no warning, whatever bytes follow',
    async (bytes, end) => {
      const tail = Buffer.concat([Buffer.from('{"v":1,'), bytes, Buffer.from(`}]${end}`)])
      const result = await replayOf(Buffer.concat([Buffer.from(session(content('a'))), tail]))
      expect(result).toStrictEqual(await replayOf(session(content('a'))))
    },
  )
})
