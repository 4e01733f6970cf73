// "The model is JavaScript": for any bytes, every line's verdict and every value are those of JSON.parse.
// The first properties ask JSON.parse itself; the later ones compare whole replays with the plain engine.

import { describe, expect } from 'vitest'
import { fc, test } from '../support/property'
import { content, replayOf, replayedOf, session, START_METADATA } from '../support/session-file.js'
import { runs } from '../support/session-arbitraries.js'
import { expectSame, expectSameReplay } from '../support/same-replay.js'
import {
  anyBytes,
  blankText,
  brokenNumberText,
  damaged,
  illFormedUtf8,
  jsonText,
  soundJson,
  soundNumberText,
  stringText,
} from '../support/json-arbitraries.js'
import { anyFile, anyLine, envelopeText } from '../support/line-arbitraries.js'
import { replayBytes } from '../support/plain-engine.mjs'

const NEWLINE = Buffer.from('\n')
const bytesOf = (...parts: (string | Uint8Array)[]) => Buffer.concat(parts.map((part) => Buffer.from(part as string)))
const itemLine = (value: string) =>
  `{"v":1,"seq":2,"type":"content","payload":{"content":{"speaker":"ai","value":${value}}}}`

/** JSON.parse's verdict on a line that is not the last; a blank line has none. */
function verdictOf(line: string): 'parses' | 'fails' | 'blank' {
  if (line.trim() === '') return 'blank'
  try {
    JSON.parse(line)
    return 'parses'
  } catch {
    return 'fails'
  }
}

/** The numbers of the lines that the replay could not parse. */
async function failedLines(lines: readonly string[]): Promise<number[]> {
  const { warnings } = await replayedOf(session(...lines, content('the last line is never reported')))
  return warnings.flatMap((text) => /^Line (\d+): failed to parse JSON$/.exec(text)?.[1] ?? []).map(Number)
}

const expectedFailures = (lines: readonly string[]) =>
  lines.flatMap((line, at) => (verdictOf(line) === 'fails' ? [at + 2] : []))
const oneLine = (text: string) => text.replaceAll('\n', '\\n')
const list = (text: fc.Arbitrary<string>) => fc.array(text.map(oneLine), { minLength: 1, maxLength: 20 })

describe("a line's verdict is JSON.parse's", () => {
  const digitSoup = fc.string({ unit: fc.constantFrom(...'0123456789-+.eE '), minLength: 1, maxLength: 10 })
  const spaced = fc
    .tuple(blankText, fc.constantFrom('', '{}', '7', 'null', '"x"'), blankText)
    .map((parts) => parts.join(''))
  const punctuation = fc.string({ unit: fc.constantFrom(...'{}[]",:\\utrfalsn01 \r'), maxLength: 12 })
  test.prop(
    [fc.oneof(...[jsonText, stringText, soundNumberText, brokenNumberText, digitSoup, spaced, punctuation].map(list))],
    runs(1200),
  )('for JSON, nearly JSON, strings, numbers, white space and soups of punctuation', async (lines) => {
    expect(await failedLines(lines)).toStrictEqual(expectedFailures(lines))
  })

  test.prop(
    [
      fc.array(envelopeText, { minLength: 1, maxLength: 10 }),
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 10, maxLength: 10 }),
    ],
    runs(150),
  )('for records cut anywhere', async (records, shares) => {
    const lines = records.map((record, at) => oneLine(record.slice(0, Math.floor((shares[at] ?? 1) * record.length))))
    expect(await failedLines(lines)).toStrictEqual(expectedFailures(lines))
  })

  test.prop(
    [
      fc.integer({ min: 0, max: 5_000 }),
      fc.integer({ min: -2, max: 2 }),
      fc.constantFrom(['[', ']'], ['{"a":', '}'], ['[{"":', '}]']),
    ],
    runs(40),
  )('for nesting up to thousands of levels, closed or not', async (depth, surplus, [open, close]) => {
    const line = `${(open as string).repeat(depth)}1${(close as string).repeat(Math.max(0, depth + surplus))}`
    expect(await failedLines([line])).toStrictEqual(expectedFailures([line]))
  })
})

describe("a value is JSON.parse's", () => {
  test.prop([soundJson], runs(400))('any value in an item', async (text) => {
    const { history } = await replayedOf<{ value: unknown }>(session(itemLine(text)))
    expectSame(history[0]?.value, JSON.parse(text))
  })

  const pieces = fc.array(
    fc.oneof(
      illFormedUtf8,
      fc.constantFrom([0x41], [0xc3, 0xa9], [0xef, 0xbb, 0xbf], [0xf0, 0x9f, 0x98, 0x80]),
      fc.tuple(fc.integer({ min: 0x80, max: 0xff })),
    ),
    { maxLength: 10 },
  )
  test.prop([pieces], runs(300))('bytes that are not UTF-8, as the WHATWG decoder replaces them', async (parts) => {
    const bytes = Uint8Array.from(parts.flat())
    const [before, after] = itemLine('"<>"').split('<>') as [string, string]
    const { history } = await replayedOf<{ value: unknown }>(bytesOf(session(), before, bytes, after, NEWLINE))
    expect(history[0]?.value).toBe(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes))
  })
})

describe('the plain engine agrees', () => {
  const same = async (bytes: Uint8Array, options?: { strict?: boolean }) =>
    expectSameReplay(await replayOf(bytes, undefined, options), replayBytes(bytes, undefined, options))

  const options = fc.record({
    auditTrail: fc.boolean(),
    strict: fc.boolean(),
    throughSeq: fc.option(fc.integer({ min: -1, max: 50 }), { nil: undefined }),
  })
  test.prop([anyFile, options, fc.constantFrom(undefined, START_METADATA.projectHash)], runs(1500))(
    'on any file, with any options',
    async (bytes, some, hash) => {
      expectSameReplay(await replayOf(bytes, hash, some), replayBytes(bytes, hash, some))
    },
  )

  test.prop([fc.array(anyLine, { minLength: 1, maxLength: 30 }), fc.boolean()], runs(400))(
    'on any lines after a session_start',
    async (lines, strict) => {
      await same(bytesOf(session(), ...lines.flatMap((line) => [line, NEWLINE])), { strict })
    },
  )

  const sound = fc
    .array(
      envelopeText.map((text) => bytesOf(text, NEWLINE)),
      { minLength: 1, maxLength: 8 },
    )
    .map((records) => bytesOf(session(), ...records))
  test.prop([damaged(sound, 6), fc.boolean()], runs(400))(
    'on sessions with bytes flipped, inserted, deleted and repeated',
    async (bytes, strict) => {
      await same(bytes, { strict })
    },
  )

  test.prop([sound, fc.double({ min: 0, max: 1, noNaN: true })], runs(200))(
    'on sessions cut at any byte',
    async (bytes, share) => {
      await same(bytes.subarray(0, Math.floor(share * bytes.length)))
    },
  )

  test.prop([anyBytes], runs(300))('on any bytes', async (bytes) => {
    await same(bytes)
    await same(bytesOf(session(), bytes))
  })

  test.prop([fc.array(anyLine, { minLength: 60, maxLength: 200 })], { numRuns: runs(30).numRuns, endOnFailure: true })(
    'on files with more warnings than are shown',
    async (lines) => {
      await same(bytesOf(session(), ...lines.flatMap((line) => [line, NEWLINE])))
    },
  )
})
