/** What is inside a fragment is never taken for a record: a repair invents no messages. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { repairSession } from '../../index.js'
import type { RepairReceipt } from '../../index.js'
import { directoryOf } from '../support/file-directory'
import { fc, test } from '../support/property'
import { runs } from '../support/session-arbitraries'
import { content, envelope, PROJECT_HASH, start, type Event } from '../support/session-file'

interface Repaired {
  receipt: RepairReceipt
  /** The records without a note about the repair. */
  lines: string[]
}

async function repaired(bytes: string | Uint8Array): Promise<Repaired> {
  const directory = directoryOf({ 'a.jsonl': bytes })
  const receipt = await repairSession(join(directory, 'a.jsonl'), join(directory, 'b.jsonl'), {
    projectHash: PROJECT_HASH,
  })
  const lines = readFileSync(join(directory, 'b.jsonl'), 'utf8').trimEnd().split('\n')
  return { receipt, lines: receipt.changed ? lines.slice(0, -1) : lines }
}

const call = (parameters: unknown): Event => [
  'content',
  { content: { speaker: 'ai', blocks: [{ type: 'tool_call', id: 'c1', name: 'read', parameters }] } },
]
const answer = (result: unknown): Event => [
  'content',
  { content: { speaker: 'tool', blocks: [{ type: 'tool_response', callId: 'c1', toolName: 'read', result }] } },
]
const INJECTED = envelope(9, content('INJECTED', 'human'))
const record: unknown = JSON.parse(INJECTED)
const [START, ONE, LAST] = [envelope(1, start()), envelope(2, content('one')), envelope(4, content('last', 'ai'))]
const text = (...lines: string[]): string => lines.map((line) => `${line}\n`).join('')

describe('a tool call that is torn behind a record inside it', () => {
  const shapes: [string, unknown][] = [
    ['a member', { rec: record, x: 'long enough to be torn' }],
    ['the last member', { x: 1, rec: record }],
    ['an element', { list: [record, record, 'x'] }],
    ['the last element', { list: ['x', record] }],
    ['the parameters themselves', record],
    ['a member of a member', { a: { payload: record, seq: 9, type: 'x' } }],
    ['text', { rec: INJECTED, more: `${INJECTED}\n${INJECTED}` }],
  ]
  test.each(shapes)(
    '%s: no message of it is recovered, wherever it is torn',
    async (_, parameters) => {
      for (const event of [call(parameters), answer(parameters)]) {
        const torn = envelope(3, event)
        for (let cut = torn.indexOf('INJECTED') + 8; cut < torn.length; cut += 1) {
          const between = ['', '\n', '', '\0\0\0\0', '', '\0\0\n'][cut % 6]!
          const { receipt, lines } = await repaired(text(START, ONE) + torn.slice(0, cut) + between + text(LAST))
          expect(
            lines.filter((line) => line.includes('INJECTED')),
            torn.slice(0, cut),
          ).toEqual([])
          expect(receipt.lostBytes).toBeGreaterThan(0)
        }
      }
    },
    60_000,
  )
})

describe('a record that begins where a fragment breaks off', () => {
  const fragment = envelope(3, call({ path: 'a "b"', list: [1, true, { deep: [null] }] }))
  /** Whether a value may begin there, so that an object may be one. */
  const mayHoldObject = (prefix: string): boolean => {
    if (/"(?:v|seq|ts|type)":$/.test(prefix) && !prefix.includes('"payload"')) return false
    try {
      JSON.parse(`${prefix}{}${closing(prefix)}`)
      return true
    } catch {
      return false
    }
  }
  /** The brackets that are open at the end of a text without a string that is open. */
  const closing = (prefix: string): string => {
    const open: string[] = []
    for (const token of prefix.match(/"(?:[^"\\]|\\.)*"|[{}[\]]/g) ?? []) {
      if (token === '{') open.push('}')
      else if (token === '[') open.push(']')
      else if (token === '}' || token === ']') open.pop()
    }
    return open.reverse().join('')
  }

  test('is recovered, unless it may be a value inside it: then it is left out and counted', async () => {
    const seen = { recovered: 0, leftOut: 0 }
    for (let cut = 1; cut < fragment.length; cut += 1) {
      const prefix = fragment.slice(0, cut)
      const { receipt, lines } = await repaired(text(START, ONE) + prefix + text(LAST))
      if (mayHoldObject(prefix)) {
        seen.leftOut += 1
        expect(lines, prefix).toEqual([START, ONE])
        expect(receipt, prefix).toMatchObject({ recovered: 0, lostBytes: cut + LAST.length })
        expect(receipt.fragments.at(-1)).toEqual({
          offset: text(START, ONE).length + cut,
          length: LAST.length,
          reason: 'a record, or an object inside a record that breaks off: nothing tells which',
        })
        expect(receipt.warnings).toEqual([
          'Left out 1 objects that are records, or parts of a record that breaks off: nothing tells which',
        ])
      } else {
        seen.recovered += 1
        expect(lines, prefix).toEqual([START, ONE, LAST])
        expect(receipt, prefix).toMatchObject({ recovered: 1, lostBytes: LAST.startsWith(prefix) ? 0 : cut })
      }
    }
    expect(seen.leftOut).toBeGreaterThan(5)
    expect(seen.recovered).toBeGreaterThan(100)
  }, 60_000)

  test('is recovered behind NULs and line feeds wherever the fragment breaks off', async () => {
    for (let cut = 1; cut < fragment.length; cut += 1) {
      const between = ['\0'.repeat(100), '\n', '\r\n', '\n\0\0'][cut % 4]!
      const { lines } = await repaired(
        text(START, ONE) + fragment.slice(0, cut) + between + LAST + text(envelope(5, content('end'))),
      )
      expect(lines, fragment.slice(0, cut) + JSON.stringify(between)).toEqual([
        START,
        ONE,
        LAST,
        envelope(5, content('end')),
      ])
    }
  }, 60_000)

  test('is none if a comma or a bracket follows it', async () => {
    for (const before of ['', '\0\0', fragment.slice(0, 30), fragment.slice(0, -20), 'junk', `${ONE}`]) {
      for (const after of [',"x":1}', '}]}', ']', ',', ' }', '\0,1', `,${ONE}}`, '\n}', '\n\n  ]}']) {
        // It is a line of its own then, which every replay reads.
        if (before === '' && after.startsWith('\n')) continue
        const { lines } = await repaired(text(START) + before + INJECTED + after + text('', LAST))
        expect(
          lines.filter((line) => line.includes('INJECTED')),
          JSON.stringify([before, after]),
        ).toEqual([])
        expect(lines.at(-1)).toBe(LAST)
      }
    }
  })
})

describe('records in other forms', () => {
  const torn = envelope(3, answer({ list: [record, record], rec: record }))
  const values = [START, ONE, torn, LAST].map((line): unknown => JSON.parse(line))

  test('pretty-printed ones with a damaged byte give none of what is inside', async () => {
    const array = JSON.stringify(values, null, 2)
    const records = values.map((value) => JSON.stringify(value, null, 2)).join('\n')
    for (const whole of [array, records]) {
      expect((await repaired(whole)).lines).toEqual([START, ONE, torn, LAST])
      const from = whole.indexOf('"callId"')
      const end = whole.lastIndexOf('INJECTED')
      // What gives the text its structure; of the blanks, those beside it.
      const places = [...whole.slice(from, end + 200).matchAll(/[^\w\s]|\n|(?<=\n) | (?=[{}[\]"])/g)].map(
        ({ index }) => from + index,
      )
      expect(places.length).toBeGreaterThan(200)
      for (const at of places) {
        const { lines } = await repaired(`${whole.slice(0, at)}#${whole.slice(at + 1)}`)
        const humans = lines.filter((line) => (JSON.parse(line) as any).payload.content?.speaker === 'human').length
        expect(humans, whole.slice(at - 10, at + 10)).toBe(1)
      }
    }
  }, 60_000)

  test('an array that has lost its beginning gives none of what is inside', async () => {
    const line = text(torn, LAST)
    for (let cut = 1; cut < torn.length; cut += 1) {
      const lines = await repaired(line.slice(cut)).then(
        (done) => done.lines,
        () => [],
      )
      expect(
        lines.filter((one) => one.includes('INJECTED')),
        line.slice(cut),
      ).toEqual([])
    }
  }, 60_000)
})

// What a tool may give: values that look like records, in any place.
const inner = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom<unknown>(
      1,
      null,
      '{',
      '{"v":1,',
      'a {',
      '\\',
      '"',
      '}]}',
      ':',
      INJECTED,
      `${INJECTED}\n`,
      JSON.stringify(INJECTED),
    ),
    fc.constant(record),
    fc
      .tuple(fc.nat({ max: 12 }), fc.constantFrom('human', 'ai', 'tool'))
      .map(([seq, speaker]): unknown => JSON.parse(envelope(seq, content('INJECTED', speaker as 'ai')))),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('v', 'seq', 'type', 'payload', 'content', 'speaker', 'x {', ','), tie('value'), {
      maxKeys: 4,
    }),
  ),
})).value
const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 3, arbitrary: inner.map(answer) },
  { weight: 2, arbitrary: inner.map(call) },
  { weight: 1, arbitrary: fc.constantFrom('mine', 'a {', '{').map((said) => content(said)) },
)
const session = fc
  .array(event, { minLength: 1, maxLength: 5 })
  .map((events) => [start(), ...events].map((one, at) => envelope(at + 1, one)))
const place = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true })
/** A record is cut off there, and this stands between it and the next one. */
const tear = fc.record({
  which: place,
  where: place,
  between: fc.constantFrom('', '', '', '\n', '\0\0\0', ' ', '\0\n'),
})

const speakersOf = (lines: readonly string[]): Record<string, number> => {
  const counts: Record<string, number> = {}
  for (const line of lines) {
    const speaker: unknown = (JSON.parse(line) as any).payload?.content?.speaker
    if (typeof speaker === 'string') counts[speaker] = (counts[speaker] ?? 0) + 1
  }
  return counts
}
const expectNoMore = (lines: string[], whole: string[]): void => {
  const [found, had] = [speakersOf(lines), speakersOf(whole)]
  for (const [speaker, count] of Object.entries(found))
    expect(count, `of ${speaker}: ${lines.join('\n')}`).toBeLessThanOrEqual(had[speaker] ?? 0)
}

test.prop([session, fc.array(tear, { minLength: 1, maxLength: 3 })], runs(400))(
  'records that are torn and fused leave no others than those that were written',
  async (lines, tears) => {
    const torn = lines.map((line) => `${line}\n`)
    for (const { which, where, between } of tears) {
      const at = Math.floor(which * lines.length)
      torn[at] = lines[at]!.slice(0, Math.floor(where * lines[at]!.length)) + between
    }
    const done = await repaired(torn.join('')).catch((error: { code: string }) => {
      expect(error.code).toBe('NoRecords')
      return null
    })
    if (done === null) return
    const bodies = (of: string[]) => of.map((line) => JSON.stringify({ ...(JSON.parse(line) as object), seq: 0 }))
    const found = done.receipt.startInvented ? done.lines.slice(1) : done.lines
    const written = bodies(lines)
    for (const one of bodies(found)) expect(written).toContain(one)
    expectNoMore(done.lines, lines)
  },
)

test.prop([session, place, fc.nat({ max: 400 }), fc.constantFrom('', '\0\0', '\n', '#')], runs(400))(
  'a hole in a session adds no message of anybody',
  async (lines, where, length, filled) => {
    const whole = lines.map((line) => `${line}\n`).join('')
    const from = Math.floor(where * whole.length)
    const done = await repaired(whole.slice(0, from) + filled + whole.slice(from + length)).catch(() => null)
    if (done !== null) expectNoMore(done.lines, lines)
  },
)
