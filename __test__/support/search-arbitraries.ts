// Sessions and queries that have something to do with each other: few different characters, each in every form that JSON allows.

import * as fc from 'fast-check'
import type { SearchOptions } from '../../index.js'
import { objectText } from './json-arbitraries.js'
import { PROJECT_HASH, envelope, start } from './session-file.js'

const CHARACTERS = [
  'a',
  'A',
  'b',
  's',
  'ſ',
  'k',
  'K',
  '\u212a',
  'é',
  'É',
  'ß',
  '\u1e9e',
  'я',
  'Я',
  '😀',
  '𐐀',
  '𐐨',
  '/',
  '"',
  '\\',
  '\n',
  '\t',
  '\u0001',
  ' ',
  '.',
  '\ufffd',
  '\ud83d',
  '\ude00',
]
const character = fc.constantFrom(...CHARACTERS)

const SHORT: Record<string, string> = { '"': '\\"', '\\': '\\\\', '\n': '\\n', '\t': '\\t' }

function numeric(text: string, isUpper: boolean): string {
  const digits = (unit: string) => unit.charCodeAt(0).toString(16).padStart(4, '0')
  return text
    .split('')
    .map((unit) => `\\u${isUpper ? digits(unit).toUpperCase() : digits(unit)}`)
    .join('')
}

/** A character in one of its forms. */
const spelledCharacter = fc.tuple(character, fc.nat({ max: 9 })).map(([text, form]) => {
  const mustBeNumeric = text === '\u0001' || /^[\ud800-\udfff]$/.test(text)
  if (mustBeNumeric || form < 2) return numeric(text, form % 2 === 0)
  if (text === '/' && form < 5) return '\\/'
  return SHORT[text] ?? text
})
const stringText = fc.array(spelledCharacter, { maxLength: 24 }).map((parts) => `"${parts.join('')}"`)

const keyText = fc.oneof(
  fc.constantFrom('"x"', '"10"', '"9"', '"a/b"', '"~"', '"\\u0078"', '"__proto__"', '""'),
  stringText,
)
const valueText: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    { weight: 4, arbitrary: stringText },
    { weight: 1, arbitrary: fc.constantFrom('1', 'null', 'true', '{}', '[]') },
    { weight: 2, arbitrary: fc.array(tie('value'), { maxLength: 3 }).map((texts) => `[${texts.join(' ,')}]`) },
    { weight: 2, arbitrary: fc.array(fc.tuple(keyText, tie('value')), { maxLength: 4 }).map(objectText) },
  ),
})).value

const BLOCKS: Record<string, string[]> = {
  text: ['text'],
  code: ['code', 'text'],
  thinking: ['thought'],
  tool_call: ['name', 'parameters', 'id'],
  tool_response: ['toolName', 'result', 'error'],
  media: ['data'],
  newer: ['text'],
}
const toolName = fc.constantFrom('"Bash"', '"\\u0042ash"', '"as"', '1')
const blockText = fc.constantFrom(...Object.keys(BLOCKS)).chain((type) => {
  const member = (key: string) => {
    const isName = (type === 'tool_call' && key === 'name') || key === 'toolName'
    return fc.tuple(fc.constant(`"${key}"`), isName ? toolName : valueText)
  }
  const members = fc.tuple(...BLOCKS[type]!.map(member))
  const again = fc.array(fc.constantFrom(...BLOCKS[type]!).chain(member), { maxLength: 1 })
  const kind = fc.constantFrom(`"${type}"`, `"${type}"`, `"${numeric(type[0]!, false)}${type.slice(1)}"`)
  return fc.tuple(kind, members, again, fc.boolean()).map(([name, own, more, isLast]) => {
    const typed: [string, string][] = [['"type"', name]]
    return objectText(isLast ? [...own, ...more, ...typed] : [...typed, ...own, ...more])
  })
})

const keyOfItem = fc.nat({ max: 2 })
const itemOf = (...speakers: string[]) =>
  fc
    .tuple(
      fc.constantFrom(...speakers),
      fc.array(fc.oneof({ weight: 9, arbitrary: blockText }, { weight: 1, arbitrary: valueText }), { maxLength: 3 }),
      fc.boolean(),
      fc.option(keyOfItem),
    )
    .map(([speaker, blocks, isFirst, key]) => {
      const members: [string, string][] = [
        ['"speaker"', speaker],
        ['"blocks"', `[${blocks.join(', ')}]`],
      ]
      if (key !== null) members.push(['"metadata"', `{"chronology":{"seq":${key}}}`])
      return objectText(isFirst ? members : members.reverse())
    })
const itemText = itemOf('"human"', '"ai"', '"tool"', '"\\u0061i"', '"robot"', '""')
const wholeItemText = fc.oneof(
  { weight: 9, arbitrary: itemOf('"human"', '"ai"', '"tool"') },
  { weight: 1, arbitrary: itemText },
)

/** Payloads of events that edit the history. The items of most fit. */
const numbers = fc.array(keyOfItem, { maxLength: 2 }).map((keys) => JSON.stringify(keys))
const replacementText = fc
  .tuple(keyOfItem, wholeItemText)
  .map(([key, item]) => `{"replacedSeq":${key},"replacement":${item}}`)
const markerText = keyOfItem.map((key) => `{"seq":${key},"userTurn":1,"step":1,"recordedAt":1}`)
const editText = fc.oneof(
  fc.tuple(
    fc.constant('density_mutation'),
    fc
      .tuple(numbers, fc.array(replacementText, { maxLength: 3 }))
      .map(([keys, replacements]) => `{"removedSeqs":${keys},"replacements":[${replacements.join(',')}]}`),
  ),
  fc.tuple(
    fc.constant('synthetic_insert'),
    fc
      .tuple(wholeItemText, keyOfItem)
      .map(([item, after]) => `{"content":${item},"chronologySeq":9,"afterSeq":${after}}`),
  ),
  fc.tuple(
    fc.constant('chronology_bind'),
    fc
      .tuple(fc.nat({ max: 3 }), markerText, fc.option(wholeItemText))
      .map(
        ([index, chronology, item]) =>
          `{"rowIndex":${index},"chronology":${chronology}${item === null ? '' : `,"content":${item}`}}`,
      ),
  ),
  fc.tuple(
    fc.constant('semantic_media_purge'),
    fc
      .array(wholeItemText, { maxLength: 3 })
      .map((items) => `{"history":[${items.join(',')}],"frontier":{"contentIndex":0,"blockIndex":0}}`),
  ),
  fc.tuple(
    fc.constant('rewind'),
    keyOfItem.map((key) => `{"itemsRemoved":1,"cutSeq":${key}}`),
  ),
)

const eventText = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.tuple(
      fc.constant('content'),
      itemText.map((item) => `{"content":${item}}`),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(
      fc.constant('compressed'),
      itemText.map((item) => `{"summary":${item},"itemsCompressed":1}`),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(
      fc.constant('rewind'),
      fc.nat({ max: 3 }).map((count) => `{"itemsRemoved":${count}}`),
    ),
  },
  { weight: 5, arbitrary: editText },
  {
    weight: 1,
    arbitrary: fc.tuple(
      fc.constant('session_event'),
      fc
        .tuple(fc.constantFrom('"info"', '"note"'), stringText)
        .map(([severity, message]) => `{"severity":${severity},"message":${message}}`),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(
      fc.constant('session_metadata'),
      fc.oneof(stringText, fc.constantFrom('null', '1')).map((title) => `{"title":${title}}`),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(
      fc.constant('session_named'),
      fc.oneof(stringText, fc.constant('null')).map((name) => `{"name":${name}}`),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(
      fc.constantFrom('checkpoint_created', 'checkpoint_renamed', 'checkpoint_deleted', 'newer'),
      stringText.map((name) => `{"checkpointId":"c","name":${name}}`),
    ),
  },
)

const TIMES = [
  '"2026-02-11T16:00:01.000Z"',
  '"2026-02-11T16:00:02.000Z"',
  '"2026-02-11T18:00:03.000+02:00"',
  '"2026-02-30T00:00:00.000Z"',
  '"2026-03-01T00:00:00.000Z"',
  '"\\u0032026-02-11T16:00:02.000Z"',
  '"at noon"',
  'null',
]
const lineText = fc
  .tuple(
    fc.oneof(fc.nat({ max: 99 }).map(String), fc.constantFrom('null', '1.5', '1e999')),
    fc.constantFrom(...TIMES),
    eventText,
  )
  .map(([seq, ts, [type, payload]]) => `{"v":1,"seq":${seq},"ts":${ts},"type":"${type}","payload":${payload}}`)

const oddLine = fc.oneof(
  lineText.map((text) => text.slice(0, -2)),
  lineText.map((text) => ` ${text}\t`),
  fc.constantFrom('', '  ', 'null', '7', '{"type":"content"}'),
)
const ILL_FORMED = [[0xff], [0xed, 0xa0, 0xbd], [0xc5], [0xe2, 0x84]]

/** A file of a session: perhaps with a BOM, without a start, with damaged lines, CRLF and bytes that are not UTF-8. */
export const searchedFile: fc.Arbitrary<Uint8Array> = fc
  .tuple(
    fc.constantFrom('', '', '\ufeff'),
    fc.oneof(
      { weight: 5, arbitrary: fc.constant(`${envelope(1, start())}\n`) },
      {
        weight: 1,
        arbitrary: fc.constantFrom(
          '',
          `${envelope(1, start({ sessionId: 's"\ud83d/' }))}\n`,
          `${envelope(1, start({ projectHash: '' }))}\n`,
        ),
      },
    ),
    fc.array(
      fc.tuple(
        fc.oneof({ weight: 9, arbitrary: lineText }, { weight: 2, arbitrary: oddLine }),
        fc.constantFrom('\n', '\n', '\r\n', '\n\n'),
      ),
      { maxLength: 12 },
    ),
    fc.array(fc.tuple(fc.nat(), fc.constantFrom(...ILL_FORMED)), { maxLength: 2 }),
    fc.boolean(),
  )
  .map(([mark, first, lines, illFormed, isEnded]) => {
    const text = `${mark}${first}${lines.map(([line, end]) => line + end).join('')}`
    const bytes = [...Buffer.from(isEnded ? text : text.slice(0, -1))]
    for (const [at, extra] of illFormed) bytes.splice(at % (bytes.length + 1), 0, ...extra)
    return Uint8Array.from(bytes)
  })

export const searchedQuery = fc
  .oneof(
    { weight: 3, arbitrary: fc.array(character, { minLength: 1, maxLength: 1 }) },
    { weight: 1, arbitrary: fc.array(character, { minLength: 2, maxLength: 3 }) },
  )
  .map((parts) => parts.join(''))

/** Expressions that mean the same in both languages, and match no empty text. */
export const searchedExpression = fc.constantFrom(
  'a+',
  'b|s',
  '[ak]',
  '\\.',
  '[^a]',
  's.',
  '^a',
  'a$',
  '(?:a|b){2}',
  'é',
  '\\p{Lu}',
  '\\p{Emoji_Presentation}',
  'я{1,2}',
  '"',
  '\\\\',
  '\\n',
)

const anyOption = {
  case: fc.constantFrom('smart', 'sensitive', 'insensitive'),
  fields: fc.uniqueArray(
    fc.constantFrom('text', 'code', 'thinking', 'tool_call', 'tool_response', 'session_event', 'name'),
    { minLength: 3 },
  ),
  speaker: fc.constantFrom('human', 'ai', 'tool'),
  tool: fc.constantFrom('Bash', 'as'),
  projectHash: fc.constantFrom(PROJECT_HASH, PROJECT_HASH, 'another'),
  since: fc.constantFrom('2026-02-11T16:00:02Z', new Date('2026-03-02T00:00:00Z')),
  until: fc.constantFrom('2026-02-11T16:00:02Z', '2026-03-01'),
  history: fc.constantFrom('all', 'current'),
  context: fc.nat({ max: 6 }),
} as const

/** A few options at a time: with all of them hardly anything is found. */
export const searchOptions: fc.Arbitrary<SearchOptions> = fc
  .tuple(fc.record(anyOption), fc.subarray(Object.keys(anyOption), { maxLength: 2 }))
  .map(([options, names]) => Object.fromEntries(Object.entries(options).filter(([name]) => names.includes(name))))
