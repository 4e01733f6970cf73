/** The parts of the command line that handle arbitrary content of files: text, values, lines. */
import { createRequire } from 'node:module'
import { fc, test as property } from '../support/property'
import { codePoint } from '../support/code-points'
import { describe, expect, test } from 'vitest'
import * as tape from '../../index.js'
import { UNSAFE } from '../support/command-line'
import { compressed, content, envelope, rewind, session, writeSession } from '../support/session-file'

const load = createRequire(import.meta.url)
const { escaped, escapedLines, printable } = load('../../packages/cli/safe-text.js')
const { jsonText } = load('../../packages/cli/json-text.js')
const { tallyOf } = load('../../packages/cli/session/tally.js')
const { soundness } = load('../../packages/cli/session/soundness.js')

const anyText = fc.oneof(
  fc.string({ unit: codePoint }),
  fc
    .array(
      fc.oneof(
        fc.constantFrom(
          '\u001b[2J',
          '\u009b',
          '\u202e',
          '\u2028',
          '\ud800',
          '\u{e0041}',
          '\u200d',
          '\n',
          '\r',
          'ä',
          '👩‍🚒',
        ),
        fc.string(),
      ),
    )
    .map((parts) => parts.join('')),
)
const LONE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/

describe('text on its way to a terminal', () => {
  property.prop([anyText])('contains nothing unsafe, and is otherwise unchanged', (text) => {
    const safe = escaped(text)
    expect(safe).not.toMatch(UNSAFE)
    expect(safe).not.toMatch(LONE)
    expect(safe).not.toContain('\n')
    if (!UNSAFE.test(text) && !LONE.test(text) && !/[\n\ufff9-\ufffb]|\p{Default_Ignorable_Code_Point}/u.test(text))
      expect(safe).toBe(text)
  })

  property.prop([anyText, fc.integer({ min: 1, max: 50 })])(
    'is one line of bounded length when it is printed in a row',
    (text, longest) => {
      const row = printable(text, longest)
      expect(row).not.toMatch(UNSAFE)
      expect([...row].length).toBeLessThanOrEqual(longest)
    },
  )

  property.prop([fc.array(anyText.map((text) => text.replaceAll('\n', '')))])(
    'keeps its lines if it has several',
    (lines) => {
      expect(escapedLines(lines.join('\n')).split('\n')).toHaveLength(Math.max(1, lines.length))
    },
  )

  test('shows unsafe characters as escapes', () => {
    expect(escaped('a\u001b[2J\u009b\t\r\n\u202e\u{e0041}\ud800')).toBe(
      'a\\x1b[2J\\x9b\\t\\r\\n\\u202e\\u{e0041}\\ud800',
    )
    expect(escaped('Ärger 👩‍🚒 日本')).toBe('Ärger 👩‍🚒 日本')
    expect(printable('a \n\t b'.repeat(100), 10)).toBe('a ba ba b…')
  })

  test('drops the joiner of an emoji that is cut', () => {
    expect(printable('👩‍🚒!', 3)).toBe('👩…')
  })
})

describe('a value as JSON', () => {
  property.prop([fc.jsonValue(), anyText])('is the same value, and safe on a terminal', (value, text) => {
    const document = JSON.parse(JSON.stringify({ value, text, [text]: [text, { text }] }))
    const written = jsonText(document)
    expect(written).not.toMatch(UNSAFE)
    expect(written).not.toContain('\n')
    expect(JSON.parse(written)).toEqual(document)
  })

  property.prop([fc.array(fc.jsonValue(), { maxLength: 4 }), fc.boolean()])(
    'may be nested deeper than the stack is',
    (any, inObjects) => {
      const leaves = JSON.parse(JSON.stringify(any))
      const [open, close] = inObjects ? ['{"a":', '}'] : ['[', ']']
      const levels = 20_000
      const text = `${open.repeat(levels)}${JSON.stringify(leaves)}${close.repeat(levels)}`
      const value = JSON.parse(text)
      expect(() => JSON.stringify(value)).toThrow(RangeError)
      expect(jsonText(value) === `${open.repeat(levels)}${jsonText(leaves)}${close.repeat(levels)}`).toBe(true)
    },
  )
})

/** The tally of a file with these lines. */
const tallied = (lines: string[], options = {}) =>
  tallyOf(tape, writeSession(`${lines.join('\n')}\n`), { size: 1, ...options })

describe('the tally of a session', () => {
  property.prop([fc.array(fc.constantFrom('content', 'compressed', 'rewind', 'other', 'torn'))], { numRuns: 50 })(
    'counts each event that has an effect once, in any interleaving',
    async (kinds) => {
      const events: Record<string, string> = {
        content: envelope(1, content('x', 'ai')),
        compressed: envelope(1, compressed('y', 2)),
        rewind: envelope(1, rewind(3)),
        other: envelope(1, ['other', { content: { speaker: 'ai' } }]),
        torn: envelope(1, content('z')).slice(0, -3),
      }
      const tally = await tallied(kinds.map((kind) => events[kind]!))
      const times = (kind: string): number => kinds.filter((other) => other === kind).length
      let [length, itemsRewound] = [0, 0]
      for (const kind of kinds) {
        const gone = kind === 'rewind' ? Math.min(length, 3) : 0
        itemsRewound += gone
        length = kind === 'compressed' ? 1 : kind === 'content' ? length + 1 : length - gone
      }
      expect(tally).toMatchObject({
        unknown: times('other'),
        compressions: times('compressed'),
        itemsCompressed: 2 * times('compressed'),
        rewinds: times('rewind'),
        itemsRewound,
      })
      expect(tally.turns.get('ai') ?? 0).toBe(times('content'))
      expect(tally.types.get('content') ?? 0).toBe(times('content'))
    },
  )

  test('counts the items that rewinds took back, and edits that found what they edit', async () => {
    const items = ['a', 'b', 'c'].map((text, seq) =>
      envelope(seq, ['content', { content: { speaker: 'ai', blocks: [], text, metadata: { chronology: { seq } } } }]),
    )
    const rewindTo = (cutSeq: unknown) => envelope(9, ['rewind', { itemsRemoved: 1, cutSeq }])
    expect(await tallied([...items, rewindTo(1)])).toMatchObject({ rewinds: 1, itemsRewound: 2 })
    expect(await tallied([...items, rewindTo('no key')])).toMatchObject({ rewinds: 1, itemsRewound: 1 })
    const insertBehind = (afterSeq: number) =>
      envelope(9, ['synthetic_insert', { content: { speaker: 'ai', blocks: [] }, chronologySeq: 9, afterSeq }])
    expect((await tallied([...items, insertBehind(0), insertBehind(7)])).edits).toEqual(
      new Map([['synthetic_insert', 1]]),
    )
  })

  const TRAP = { toString: {}, valueOf: {} }

  test('looks nothing up by a type that is not a string', async () => {
    const payload = { content: { speaker: 'ai' }, itemsRemoved: 1 }
    const types = [TRAP, ['content'], [['rewind']], null, 0]
    const tally = await tallied(
      types.map((type) => JSON.stringify({ seq: TRAP, ts: TRAP, type, payload })),
      { throughSeq: 5 },
    )
    expect(tally).toMatchObject({ unknown: 5, rewinds: 0, turns: new Map(), types: new Map([['(no type)', 5]]) })
  })

  const anyValue = fc.oneof(fc.jsonValue(), fc.constantFrom(TRAP, [TRAP], { toString: 'x' }))
  property.prop([fc.string({ unit: codePoint }), fc.json(), anyValue], { numRuns: 50 })(
    'accepts any line',
    async (text, json, value) => {
      const lines = [
        text.replaceAll('\n', ''),
        json,
        JSON.stringify({ type: 'content', payload: value, ts: value, seq: value }),
        JSON.stringify({ type: 'content', payload: { content: { speaker: 'ai', blocks: value } } }),
      ]
      for (const type of [
        'session_start',
        'compressed',
        'rewind',
        'provider_switch',
        'session_event',
        '__proto__',
        'toString',
        value,
      ]) {
        lines.push(JSON.stringify({ type, payload: value }))
      }
      expect((await tallied(lines)).turns.get('ai')).toBeGreaterThanOrEqual(1)
    },
  )
})

describe('whether a session is sound', () => {
  const FOREIGN = envelope(9, ['usage', { tokens: 1 }]).replace('"seq":9,', '')
  const TORN = '{"torn'

  property.prop([fc.array(fc.constantFrom(FOREIGN, TORN, '7'), { minLength: 95, maxLength: 260 })], { numRuns: 40 })(
    'does not depend on how many warnings are shown',
    async (lines) => {
      const filePath = writeSession(`${session(content('x'))}${lines.join('\n')}\n${FOREIGN}\n`)
      const replayed = await tape.replaySession(filePath)
      const { damage, notes } = soundness(replayed.warnings, await tallyOf(tape, filePath, { size: 1 }))
      expect(damage.length > 0).toBe(lines.includes(TORN))
      expect(damage.length + notes.length).toBe(replayed.warnings.length)
    },
  )
})
