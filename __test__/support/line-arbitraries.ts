// Lines of a session file as bytes, sound and odd: envelopes whose keys are escaped, duplicated and shuffled,
// payloads that fit or nearly fit, and files made of such lines.

import * as fc from 'fast-check'
import { START_PAYLOAD, envelope, start } from './session-file.js'
import { anyEvent } from './session-arbitraries.js'
import {
  anyBytes,
  blankText,
  brokenNumberText,
  damaged,
  illFormedUtf8,
  jsonText,
  objectText,
  soundJson,
  soundNumberText,
  soundStringText,
  spelled,
} from './json-arbitraries.js'

type Member = readonly [key: string, value: string]
const member = (name: string, value: fc.Arbitrary<string>): fc.Arbitrary<Member> =>
  fc.tuple(
    fc.oneof({ weight: 3, arbitrary: fc.constant(JSON.stringify(name)) }, { weight: 1, arbitrary: spelled(name) }),
    value,
  )

/** The given members, possibly with some repeated with other values, in another order, or mixed with unknown members. */
function objectOf(expected: Record<string, fc.Arbitrary<string>>): fc.Arbitrary<string> {
  const names = Object.keys(expected)
  const once = fc.tuple(...names.map((name) => member(name, expected[name] as fc.Arbitrary<string>)))
  const again = fc
    .constantFrom(...names)
    .chain((name) => member(name, fc.oneof(expected[name] as fc.Arbitrary<string>, jsonText)))
  const stranger = fc.constantFrom('v', 'x', '__proto__', 'constructor', '').chain((name) => member(name, jsonText))
  const extras = fc.oneof(
    { weight: 3, arbitrary: fc.constant<Member[]>([]) },
    { weight: 2, arbitrary: fc.array(fc.oneof(again, stranger), { minLength: 1, maxLength: 3 }) },
  )
  return fc
    .tuple(once, extras)
    .chain(([members, more]) => {
      const all = [...members, ...more]
      return fc.oneof(
        { weight: 4, arbitrary: fc.constant(all) },
        { weight: 3, arbitrary: fc.shuffledSubarray(all, { minLength: all.length }) },
        { weight: 1, arbitrary: fc.shuffledSubarray(all) },
      )
    })
    .map(objectText)
}

const mostly = (usual: fc.Arbitrary<string>) =>
  fc.oneof({ weight: 8, arbitrary: usual }, { weight: 1, arbitrary: jsonText })
const numberText = fc.oneof({ weight: 20, arbitrary: soundNumberText }, { weight: 1, arbitrary: brokenNumberText })
const smallCountText = fc.constantFrom(
  '0',
  '1',
  '2',
  '3',
  '-0',
  '1.5',
  '0.1',
  '-1',
  '1e0',
  '1e999',
  '2E0',
  '1e-300',
  '-1e-300',
)
const stringsText = fc.array(soundStringText, { maxLength: 3 }).map((texts) => `[${texts.join(',')}]`)
const itemText = objectOf({
  speaker: mostly(
    fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom('"human"', '"ai"', '"tool"', '"h\\u0075man"', '"Human"', '""') },
      { weight: 1, arbitrary: soundStringText },
    ),
  ),
  blocks: mostly(fc.array(jsonText, { maxLength: 3 }).map((texts) => `[${texts.join(',')}]`)),
})
/** Ids in several spellings, and the empty string, which is not an id. */
const idText = fc.constantFrom('"c1"', '"\\u0063\\u0031"', '"c2"', '"\\ud800"', '"\\ud801"', '"__proto__"', '""')
/** Names, including blank ones: white space of JavaScript, and characters that only look like it. */
const nameText = fc.oneof(
  { weight: 3, arbitrary: soundStringText },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '" "',
      '"\\u0020\\n"',
      '"\u2003\\ufeff"',
      '"\u0085"',
      '"\u180e"',
      '"\\u200b"',
      '"\\b"',
      '"n"',
    ),
  },
)
/** Values at the limits of what a position can be. */
const positionText = fc.constantFrom(
  '0',
  '-0',
  '1.0',
  '1e1',
  '1.5',
  '-1',
  '9007199254740991',
  '9007199254740992',
  '9007199254740991.4',
  '1e999',
  '"1"',
  'null',
)

const payloadTexts: Record<string, fc.Arbitrary<string>> = {
  session_start: objectOf({
    sessionId: mostly(soundStringText),
    projectHash: mostly(soundStringText),
    workspaceDirs: mostly(stringsText),
  }),
  content: objectOf({ content: mostly(itemText) }),
  compressed: objectOf({ summary: mostly(itemText), itemsCompressed: mostly(numberText) }),
  rewind: objectOf({ itemsRemoved: mostly(smallCountText) }),
  provider_switch: objectOf({ provider: mostly(soundStringText), model: mostly(soundStringText) }),
  session_event: objectOf({
    severity: mostly(fc.constantFrom('"info"', '"warning"', '"error"', '"\\u0069nfo"', '"Info"')),
    message: mostly(soundStringText),
  }),
  directories_changed: objectOf({ directories: mostly(stringsText) }),
  session_metadata: objectOf({ title: mostly(fc.oneof(soundStringText, fc.constant('null'))) }),
  checkpoint_created: objectOf({ checkpointId: mostly(idText), name: mostly(nameText) }),
  checkpoint_renamed: objectOf({ checkpointId: mostly(idText), name: mostly(nameText) }),
  checkpoint_deleted: objectOf({ checkpointId: mostly(idText) }),
  session_forked: objectOf({
    parentSessionId: mostly(soundStringText),
    parentSequence: fc.oneof(fc.nat().map(String), positionText),
    checkpointId: mostly(idText),
    checkpointName: mostly(soundStringText),
  }),
  session_named: objectOf({ name: mostly(fc.oneof(soundStringText, fc.constant('null'))) }),
}

export const envelopeText: fc.Arbitrary<string> = fc
  .oneof(
    { weight: 5, arbitrary: fc.constant('content') },
    { weight: 6, arbitrary: fc.constantFrom(...Object.keys(payloadTexts)) },
  )
  .chain((type) =>
    objectOf({
      seq: mostly(
        fc.oneof(
          { weight: 3, arbitrary: fc.integer({ min: -2, max: 40 }).map(String) },
          { weight: 1, arbitrary: numberText },
          { weight: 1, arbitrary: positionText },
        ),
      ),
      ts: mostly(soundStringText),
      type: fc.oneof(
        { weight: 8, arbitrary: spelled(type) },
        { weight: 1, arbitrary: jsonText },
        { weight: 1, arbitrary: soundStringText },
      ),
      payload: mostly(payloadTexts[type] as fc.Arbitrary<string>),
    }),
  )

const oddText = fc.oneof(
  fc
    .tuple(
      blankText,
      fc.oneof(
        fc.constantFrom('null', 'nul', '{}', '[]', 'true', '0', '"content"', '[{"type":"content"}]', ''),
        soundJson,
      ),
      blankText,
    )
    .map(([before, text, after]) => before + text + after),
  blankText,
)
const bytesOf = (text: string) => Uint8Array.from(Buffer.from(text, 'utf8'))
const soundLine = fc.tuple(fc.nat({ max: 50 }), anyEvent).map(([seq, event]) => bytesOf(envelope(seq, event)))

/** A content event with a string that contains bytes that are not UTF-8. */
const illFormedLine = fc
  .tuple(
    fc.array(fc.oneof(illFormedUtf8, fc.constantFrom([0x41], [0xc3, 0xa9], [0xf0, 0x9f, 0x98, 0x80])), {
      maxLength: 6,
    }),
    fc.nat({ max: 50 }),
  )
  .map(([pieces, seq]) => {
    const [before, after] = envelope(seq, ['content', { content: { speaker: 'ai', blocks: ['HERE'] } }]).split(
      'HERE',
    ) as [string, string]
    return Uint8Array.from([...bytesOf(before), ...pieces.flat(), ...bytesOf(after)])
  })

export const anyLine: fc.Arbitrary<Uint8Array> = fc.oneof(
  { weight: 6, arbitrary: envelopeText.map(bytesOf) },
  { weight: 2, arbitrary: soundLine },
  { weight: 3, arbitrary: damaged(fc.oneof(soundLine, envelopeText.map(bytesOf)), 2) },
  { weight: 2, arbitrary: illFormedLine },
  { weight: 2, arbitrary: oddText.map(bytesOf) },
  { weight: 1, arbitrary: jsonText.map(bytesOf) },
  { weight: 1, arbitrary: anyBytes },
)

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf]
const startLine = bytesOf(envelope(1, start()))
const firstLine: fc.Arbitrary<Uint8Array> = fc.oneof(
  { weight: 12, arbitrary: fc.constant(startLine) },
  {
    weight: 3,
    arbitrary: objectOf({
      seq: mostly(numberText),
      type: mostly(spelled('session_start')),
      payload: mostly(
        objectOf({
          sessionId: mostly(soundStringText),
          projectHash: mostly(fc.constant(JSON.stringify(START_PAYLOAD.projectHash))),
          provider: mostly(soundStringText),
          model: mostly(soundStringText),
          startTime: mostly(soundStringText),
          cwd: mostly(soundStringText),
          workspaceDirs: mostly(stringsText),
        }),
      ),
    }).map(bytesOf),
  },
  { weight: 1, arbitrary: damaged(fc.constant(startLine), 1) },
  { weight: 1, arbitrary: anyLine },
)

/** A file: perhaps a BOM, a first line that is mostly a session_start, any lines, perhaps no newline at the end. */
export const anyFile: fc.Arbitrary<Uint8Array> = fc
  .tuple(
    fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom([], BYTE_ORDER_MARK) },
      { weight: 1, arbitrary: fc.constantFrom([...BYTE_ORDER_MARK, ...BYTE_ORDER_MARK], [0xef, 0xbb]) },
    ),
    firstLine,
    fc.array(anyLine, { maxLength: 14 }),
    fc.array(fc.constantFrom('\n', '\n', '\n', '\r\n', '\n\n', '\r\r\n', '\n\r\n'), { minLength: 15, maxLength: 15 }),
    fc.boolean(),
  )
  .map(([mark, first, lines, ends, ended]) => {
    const bytes: number[] = [...mark]
    ;[first, ...lines].forEach((line, at) => {
      bytes.push(...line)
      if (at < lines.length || ended) bytes.push(...bytesOf(ends[at] as string))
    })
    return Uint8Array.from(bytes)
  })
