// JSON as text: every spelling of a value, spellings that only look valid, and bytes close to either.
// Spelling matters here: `"ty\u0070e"` and `"type"` are the same key, `1e999` and `01` are not the same mistake.

import * as fc from 'fast-check'
import { codePoint } from './code-points.js'

const joined = (parts: readonly (string | number)[]) => parts.join('')

// ---- White space --------------------------------------------------------------------------------

const space = fc.oneof(
  { weight: 12, arbitrary: fc.constant('') },
  { weight: 3, arbitrary: fc.constantFrom(' ', '\t', '\r', ' \t\r ') },
)
/** White space in JavaScript, but not in JSON. */
export const spaceToJavaScriptOnly = fc.constantFrom(
  '\v',
  '\f',
  '\u00a0',
  '\ufeff',
  '\u1680',
  '\u2003',
  '\u2028',
  '\u2029',
  '\u202f',
  '\u3000',
)
/** Looks like white space, but is not in either. */
export const noSpace = fc.constantFrom('\u0085', '\u180e', '\u200b', '\u0000', '\u001c')

export const blankText = fc
  .array(fc.oneof(space, spaceToJavaScriptOnly, { weight: 1, arbitrary: noSpace }), { maxLength: 5 })
  .map(joined)

// ---- Strings ------------------------------------------------------------------------------------

const hex = fc.tuple(fc.integer({ min: 0, max: 0xffff }), fc.boolean()).map(([unit, upper]) => {
  const digits = unit.toString(16).padStart(4, '0')
  return `\\u${upper ? digits.toUpperCase() : digits}`
})
const soundPiece = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 3 })
      .map((text) => JSON.stringify(text).slice(1, -1)),
  },
  {
    weight: 2,
    arbitrary: fc
      .string({ unit: codePoint, minLength: 1, maxLength: 2 })
      .map((text) => JSON.stringify(text).slice(1, -1)),
  },
  { weight: 2, arbitrary: hex },
  { weight: 1, arbitrary: fc.constantFrom('\\"', '\\\\', '\\/', '\\b', '\\f', '\\n', '\\r', '\\t') },
  {
    weight: 1,
    arbitrary: fc.constantFrom('\\ud83d', '\\ude00', '\\ud83d\\ude00', '\\ude00\\ud83d', '\\uD83D\\u0041', '\\u0000'),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('\u2028', '\u2029', '\u007f', '\u0080', '\u00ff', '\ufffe', '\ufeff', '\u{10ffff}'),
  },
)
const brokenPiece = fc.constantFrom(
  '\\x41',
  '\\u12',
  '\\u',
  '\\u{41}',
  '\\uD8G0',
  '\\u 041',
  '\\U0041',
  '\\0',
  "\\'",
  '\\',
  '"',
  '\u0000',
  '\u0001',
  '\t',
  '\u001f',
  '\b',
)
const stringWith = (piece: fc.Arbitrary<string>) =>
  fc.array(piece, { maxLength: 6 }).map((pieces) => `"${pieces.join('')}"`)

export const soundStringText = stringWith(soundPiece)
export const stringText = stringWith(
  fc.oneof({ weight: 40, arbitrary: soundPiece }, { weight: 1, arbitrary: brokenPiece }),
)

/** A name as a JSON string in which any letter may be written as an escape. */
export const spelled = (name: string): fc.Arbitrary<string> =>
  fc
    .tuple(
      ...[...name].map((letter) =>
        fc.constantFrom(
          letter,
          letter,
          letter,
          letter,
          escaped(letter),
          escaped(letter).toUpperCase().replace('U', 'u'),
        ),
      ),
    )
    .map((letters) => `"${letters.join('')}"`)
const escaped = (letter: string) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`

// ---- Numbers ------------------------------------------------------------------------------------

const digits = (maxLength: number) => fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength }).map(joined)
const composedNumber = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.oneof(
      fc.constant('0'),
      digits(3).map((text) => text.replace(/^0+(?=\d)/, '')),
      digits(30).map((text) => text.replace(/^0+(?=\d)/, '')),
    ),
    fc.option(digits(25), { nil: '' }),
    fc.option(fc.tuple(fc.constantFrom('e', 'E', 'e+', 'E-', 'e-', 'e+0'), digits(3)).map(joined), { nil: '' }),
  )
  .map(([sign, whole, fraction, exponent]) => sign + whole + (fraction === '' ? '' : `.${fraction}`) + exponent)

export const soundNumberText = fc.oneof(
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  composedNumber,
  fc.constantFrom(
    '0',
    '-0',
    '0.0',
    '-0.0',
    '-0e9',
    '0e-999',
    '1e999',
    '-1e999',
    '1e400',
    '1E308',
    '1.7976931348623157e308',
    '1.7976931348623159e308',
    '5e-324',
    '2.4703282292062327e-324',
    '2.4703282292062328e-324',
    '1e-400',
    '9007199254740991',
    '9007199254740992',
    '9007199254740993',
    '18446744073709551615',
    '18446744073709551616',
    '123456789012345678901234567890',
    '1e21',
    '1e-7',
    '0.1',
    '0.30000000000000004',
    '100000000000000000000',
    '1000000000000000128',
    '4.35',
    '2.2250738585072011e-308',
    '7.2057594037927933e16',
  ),
)
export const brokenNumberText = fc.constantFrom(
  '01',
  '-01',
  '00',
  '1.',
  '.5',
  '-',
  '+1',
  '--1',
  '1e',
  '1e+',
  '1E-',
  '-.5',
  '1.e5',
  '0x10',
  '1_000',
  '1n',
  'NaN',
  '-NaN',
  'Infinity',
  '-Infinity',
  '1e5.5',
  '٣',
)

// ---- Values -------------------------------------------------------------------------------------

const soundLiteral = fc.constantFrom('true', 'false', 'null')
const brokenLiteral = fc.constantFrom(
  'True',
  'nul',
  'nulll',
  'undefined',
  'truefalse',
  "'x'",
  '',
  ',',
  '{',
  '[',
  '}',
  '/**/1',
  '1//',
)
/** Keys that have a meaning in JavaScript objects, and keys that objects reorder. */
const keyText = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .constantFrom('a', 'b', '', '__proto__', 'constructor', 'toString', 'length', '0', '1', '10', '4294967295', '-1')
      .map((key) => JSON.stringify(key)),
  },
  { weight: 1, arbitrary: spelled('__proto__') },
  { weight: 2, arbitrary: soundStringText },
)

const spaced = (text: fc.Arbitrary<string>) => fc.tuple(space, text, space).map(joined)
const listOf = (texts: readonly string[]) => `[${texts.join(',')}]`
export const objectText = (members: readonly (readonly [key: string, value: string])[]) =>
  `{${members.map(([key, value]) => `${key}:${value}`).join(',')}}`

function values(scalar: fc.Arbitrary<string>, brokenShape: fc.Arbitrary<string> | null): fc.Arbitrary<string> {
  return fc.letrec<{ value: string }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      { weight: 30, arbitrary: spaced(scalar) },
      { weight: 10, arbitrary: spaced(fc.array(tie('value'), { maxLength: 3 }).map(listOf)) },
      { weight: 10, arbitrary: spaced(fc.array(fc.tuple(keyText, tie('value')), { maxLength: 4 }).map(objectText)) },
      ...(brokenShape === null ? [] : [{ weight: 1, arbitrary: brokenShape }]),
    ),
  })).value
}

/** Text that JSON.parse accepts. */
export const soundJson = values(fc.oneof(soundLiteral, soundNumberText, soundStringText), null)

/** Text that JSON.parse mostly accepts. */
export const jsonText = values(
  fc.oneof(
    { weight: 20, arbitrary: soundLiteral },
    { weight: 30, arbitrary: soundNumberText },
    { weight: 30, arbitrary: stringText },
    { weight: 1, arbitrary: brokenNumberText },
    { weight: 1, arbitrary: brokenLiteral },
  ),
  fc.oneof(
    fc.constantFrom(
      '[1,]',
      '{"a":1,}',
      '[,1]',
      '{,}',
      '{"a"}',
      '{"a":}',
      '{a:1}',
      '[1 2]',
      '{"a":1 "b":2}',
      '[1}',
      '{"a":1]',
      '[[',
      '"',
      '{1:2}',
    ),
    spaceToJavaScriptOnly,
    noSpace,
  ),
)

// ---- Bytes --------------------------------------------------------------------------------------

/** Bytes that are not UTF-8: cut short, overlong, surrogates, beyond U+10FFFF. */
export const illFormedUtf8 = fc.constantFrom(
  [0x80],
  [0xbf],
  [0xc0, 0x80],
  [0xc1, 0xbf],
  [0xc3],
  [0xe2, 0x82],
  [0xe0, 0x80, 0xaf],
  [0xed, 0xa0, 0x80],
  [0xed, 0xbf, 0xbf],
  [0xf0, 0x9f, 0x98],
  [0xf0, 0x80, 0x80, 0x80],
  [0xf4, 0x90, 0x80, 0x80],
  [0xf5],
  [0xf8, 0x88, 0x80, 0x80, 0x80],
  [0xff],
  [0xfe, 0xff],
  [0xef, 0xbb],
)

const biasedByte = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...Buffer.from('{}[]":,\\ \t\r\n0123456789-+.eEutrfnals')) },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 255 }) },
  { weight: 1, arbitrary: fc.constantFrom(0xef, 0xbb, 0xbf, 0xed, 0xa0, 0xf0, 0x9f, 0xc2, 0xa0, 0xe2, 0x80, 0xa8) },
)

type Edit = (bytes: number[]) => void
const within = (share: number, length: number) => Math.min(length, Math.floor(share * (length + 1)))
const place = fc.double({ min: 0, max: 1, noNaN: true })
const edit: fc.Arbitrary<Edit> = fc.oneof(
  fc.tuple(place, biasedByte).map(
    ([at, byte]): Edit =>
      (bytes) =>
        void bytes.splice(within(at, bytes.length - 1), 1, byte),
  ),
  fc.tuple(place, fc.integer({ min: 0, max: 7 })).map(
    ([at, bit]): Edit =>
      (bytes) => {
        const index = within(at, bytes.length - 1)
        bytes[index] = (bytes[index] ?? 0) ^ (1 << bit)
      },
  ),
  fc.tuple(place, fc.array(biasedByte, { minLength: 1, maxLength: 3 })).map(
    ([at, added]): Edit =>
      (bytes) =>
        void bytes.splice(within(at, bytes.length), 0, ...added),
  ),
  fc.tuple(place, illFormedUtf8).map(
    ([at, added]): Edit =>
      (bytes) =>
        void bytes.splice(within(at, bytes.length), 0, ...added),
  ),
  fc.tuple(place, fc.integer({ min: 1, max: 40 })).map(
    ([at, count]): Edit =>
      (bytes) =>
        void bytes.splice(within(at, bytes.length), count),
  ),
  fc.tuple(place, place, fc.integer({ min: 1, max: 40 })).map(
    ([from, to, count]): Edit =>
      (bytes) => {
        const start = within(from, bytes.length)
        void bytes.splice(within(to, bytes.length), 0, ...bytes.slice(start, start + count))
      },
  ),
)

/** The bytes after a few small accidents: flipped, inserted, deleted, repeated. */
export const damaged = (bytes: fc.Arbitrary<Uint8Array>, maxEdits = 4): fc.Arbitrary<Uint8Array> =>
  fc.tuple(bytes, fc.array(edit, { minLength: 1, maxLength: maxEdits })).map(([sound, edits]) => {
    const result = [...sound]
    for (const change of edits) change(result)
    return Uint8Array.from(result)
  })

export const anyBytes = fc.oneof(
  fc.uint8Array({ maxLength: 80 }),
  fc.array(biasedByte, { maxLength: 60 }).map((bytes) => Uint8Array.from(bytes)),
)
