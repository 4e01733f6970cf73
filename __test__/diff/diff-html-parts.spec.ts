// The plain functions behind the comparison page.

import { fc, test } from '../support/property'
import { codePoint } from '../support/code-points'
import { describe, expect } from 'vitest'
import { anyString, runs } from '../support/session-arbitraries.js'
import { part } from '../support/diff-html.js'

const { islandJson, islandOfLines, htmlText } = part('island')
const { cut } = part('cut')
const { Window } = part('diff/window')
const { alignedRows, ROW_KINDS } = part('diff/align')

const { wordDiff } = (await import('../../packages/cli/html/view/diff/words.mjs' as string)) as {
  wordDiff: (left: string, right: string) => ['=' | '-' | '+', string][]
}

const HOSTILE = [
  '</script>',
  '<script>alert(1)</script>',
  '<!--',
  '-->',
  ']]>',
  '&lt;',
  '\u2028',
  '\u2029',
  '\u001b[31m',
  '\u202e',
  '\u2066',
  '\u0000',
  '\ud800',
  '__proto__',
  '\'"`',
]
const text = fc.oneof(
  anyString,
  fc.array(fc.oneof(fc.constantFrom(...HOSTILE), fc.string())).map((parts) => parts.join('')),
)
const json = fc.jsonValue({ maxDepth: 4, stringUnit: 'binary' })

describe('an island of JSON', () => {
  test.prop([fc.oneof(text, json)], runs(300))(
    'parses back to the same value, and can neither end its element nor hide its end',
    (value) => {
      const island: string = islandJson(value)
      expect(JSON.parse(island)).toEqual(JSON.parse(JSON.stringify(value)))
      expect(island).not.toMatch(/[<\n\r\u2028\u2029\u202a-\u202e\u2066-\u2069]/u)
    },
  )

  test.prop([fc.array(fc.oneof(text, json), { minLength: 1 })], runs(200))(
    'of lines can be split at its newlines',
    (values) => {
      const island: string = islandOfLines(values.map(islandJson))
      const plain = JSON.parse(JSON.stringify(values))
      expect(JSON.parse(island)).toEqual(plain)
      expect(
        island
          .slice(2, -2)
          .split(',\n')
          .map((line) => JSON.parse(line)),
      ).toEqual(plain)
    },
  )

  test.prop([text], runs(200))('text in an element or an attribute contains no markup', (words) => {
    expect(htmlText(words)).not.toMatch(/[<>"']|&(?!(amp|lt|gt|quot|#39);)|[\u0000-\u001f\u202a-\u202e]/u)
  })
})

/** Length of a value as JSON. */
function sizeOf(value: unknown): number {
  return JSON.stringify(value).length
}

describe('a cut payload', () => {
  const limits = { string: 100, total: 400, depth: 5 }

  test.prop([json], runs(300))('is complete if it fits', (value) => {
    fc.pre(sizeOf(value) < 200)
    expect(cut(value, { string: 1000, total: 100_000, depth: 50 })).toEqual({ value, cuts: [] })
  })

  test.prop([fc.jsonValue({ maxDepth: 12 }), fc.string({ minLength: 500, maxLength: 2000 })], runs(200))(
    'is small, and lists every cut',
    (value, long) => {
      const { value: kept, cuts } = cut({ value, long, list: Array(1000).fill(long) }, limits)
      // Leaves room for the names and brackets of the values that fit.
      expect(sizeOf(kept)).toBeLessThan(limits.total * 12)
      expect(cuts.length).toBeGreaterThan(0)
      for (const { left, what, path } of cuts) {
        expect(left).toBeGreaterThan(0)
        expect(['text', 'items', 'fields', 'depth']).toContain(what)
        expect(path === '' || path.startsWith('/')).toBe(true)
      }
    },
  )

  test.prop([fc.string({ unit: codePoint, minLength: 101, maxLength: 600 })], runs(200))(
    'keeps the beginning and the end of a text, and splits no character',
    (long) => {
      const { value, cuts } = cut(long, limits)
      if (cuts.length === 0) return expect(long.length).toBeLessThanOrEqual(100)
      const { at, left } = cuts[0]
      expect(long.slice(0, at) + long.slice(at + left)).toBe(value)
      expect(/\p{Cs}/u.test(value)).toBe(/\p{Cs}/u.test(long))
    },
  )

  test('is made without recursion, however deep the nesting', () => {
    const deep = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000))
    const { value, cuts } = cut(deep, limits)
    expect(JSON.stringify(value)).toBe('[[[[[[]]]]]]')
    expect(cuts).toEqual([{ path: '/0/0/0/0/0', left: 1, what: 'depth' }])
  })

  test('may have a field named __proto__', () => {
    const { value } = cut(JSON.parse('{"__proto__":{"a":1},"b":2}'), limits)
    expect(JSON.stringify(value)).toBe('{"__proto__":{"a":1},"b":2}')
  })
})

describe('words that differ', () => {
  const side = (parts: [string, string][], ...ops: string[]): string =>
    parts
      .filter(([op]) => ops.includes(op))
      .map(([, words]) => words)
      .join('')
  const sentence = fc
    .array(fc.constantFrom('one', 'two', 'three', ' ', '\n', '212.4', '.', 'ü', '👍'), { maxLength: 60 })
    .map((words) => words.join(''))

  test.prop([fc.oneof(text, sentence), fc.oneof(text, sentence)], runs(400))(
    'cover both texts, in order',
    (left, right) => {
      const parts = wordDiff(left, right)
      expect(side(parts, '=', '-')).toBe(left)
      expect(side(parts, '=', '+')).toBe(right)
      for (const [at, [op]] of parts.entries()) expect(op).not.toBe(parts[at + 1]?.[0])
    },
  )

  test.prop([text], runs(100))('equal texts have no differences', (words) => {
    expect(wordDiff(words, words)).toEqual(words === '' ? [] : [['=', words]])
  })

  test('only what changed is marked', () => {
    expect(wordDiff('the price is 212.4 EUR today', 'the price is 215.9 EUR now')).toEqual([
      ['=', 'the price is '],
      ['-', '212.4'],
      ['+', '215.9'],
      ['=', ' EUR '],
      ['-', 'today'],
      ['+', 'now'],
    ])
  })

  test('texts with next to nothing in common are not interleaved', () => {
    expect(wordDiff('aaa. bbb. ccc, ddd', 'some. thing. else, here')).toEqual([
      ['-', 'aaa. bbb. ccc, ddd'],
      ['+', 'some. thing. else, here'],
    ])
  })

  test('long texts with nothing in common can be compared', () => {
    const [left, right] = ['l', 'r'].map((name) => Array.from({ length: 15_000 }, (_, i) => `${name}${i}`).join(' '))
    expect(side(wordDiff(left!, right!), '=', '-')).toBe(left)
  })
})

// ---- Which events, and in which rows -----------------------------------------------------------

interface Event {
  index: number
  place: number
  ordinal: number | null
  isCompared: boolean
  kind: string
  payload: string
}

/** The events of a side, given by a pattern: `.` is an event that is compared, any other character one that is not. */
function eventsOf(pattern: string, first = 0): Event[] {
  let ordinal = 0
  return [...pattern].map((letter, index) => {
    const isCompared = letter === '.'
    return {
      index,
      place: first + index,
      ordinal: isCompared ? ordinal++ : null,
      isCompared,
      kind: isCompared ? 'x' : letter,
      payload: 'x'.repeat(10),
    }
  })
}

const places = (left: number | null, right: number | null) => ({
  left: { divergence: left },
  right: { divergence: right },
})
const sides = (left: Event[], right: Event[]) => ({
  left: { events: left, count: left.length },
  right: { events: right, count: right.length },
})
const named = (rows: number[][]): unknown[] => rows.map(([kind, left, right]) => [ROW_KINDS[kind!], left, right])

describe('a window of a long log', () => {
  const limits = { events: 50, bytes: 10_000, head: 5, around: 4, tail: 3 }

  function keep(count: number, divergence: number | null, more = {}, wanted = new Set<number>()): number[] {
    const window = new Window({ ...limits, ...more }, divergence, wanted)
    for (const event of eventsOf('.'.repeat(count))) window.take(event.place, event.index, () => event)
    return window.finish().map((event: Event) => event.place)
  }

  test('is the whole log if it is short', () => {
    expect(keep(50, 20)).toEqual(Array.from({ length: 50 }, (_, i) => i))
  })

  test('holds the beginning, the surroundings of the divergence, the requested events, and the end', () => {
    expect(keep(1000, 500, {}, new Set([77, 501]))).toEqual([
      0, 1, 2, 3, 4, 77, 496, 497, 498, 499, 500, 501, 502, 503, 504, 997, 998, 999,
    ])
    expect(keep(1000, 500, { events: 1e6, bytes: 2000 })).toEqual([
      0, 1, 2, 3, 4, 496, 497, 498, 499, 500, 501, 502, 503, 504, 997, 998, 999,
    ])
    expect(keep(1000, null)).toEqual([0, 1, 2, 3, 4, 997, 998, 999])
  })

  test.prop([fc.nat(300), fc.nat(300), fc.nat(20), fc.nat(20), fc.nat(20)], runs(200))(
    'has each of these once, in order',
    (count, divergence, head, around, tail) => {
      const expected = Array.from({ length: count }, (_, i) => i).filter(
        (i) => count <= 50 || i < head || Math.abs(i - divergence) <= around || i >= count - tail,
      )
      expect(keep(count, divergence, { head, around, tail })).toEqual(expect.arrayContaining(expected))
      // The tail counts only events outside the other windows, so it may begin earlier.
      const kept = keep(count, divergence, { head, around, tail })
      expect(kept).toEqual([...new Set(kept)].sort((a, b) => a - b))
    },
  )

  test('drops the payloads farthest from the divergence if they still exceed the limit', () => {
    const window = new Window({ ...limits, bytes: 100 }, 500, new Set())
    for (const event of eventsOf('.'.repeat(1000))) window.take(event.place, event.index, () => event)
    const kept = window.finish() as Event[]
    expect(kept.filter(({ payload }) => payload !== null).map(({ place }) => place)).toEqual([
      4, 496, 497, 498, 499, 500, 501, 502, 503, 504,
    ])
  })
})

type Edit = { op: string; left?: number; right?: number }

/** The rows of two sides, given by their patterns. */
function rowsOf(
  left: string,
  right: string,
  [l, r]: [number | null, number | null],
  edits?: Edit[],
  firsts: [number, number] = [0, 0],
): unknown[] {
  return named(
    alignedRows(sides(eventsOf(left, firsts[0]), eventsOf(right, firsts[1])), places(l, r), edits && { edits }),
  )
}

describe('rows', () => {
  test('pair compared events up to the divergence, and show others alone or next to one of the same kind', () => {
    expect(rowsOf('.H..B.', '..S..', [3, 3])).toEqual([
      ['same', 0, 0],
      ['apart', 1, -1],
      ['same', 2, 1],
      ['apart', -1, 2],
      ['divergence', 3, 3],
      ['apart', 4, -1],
      ['after', 5, 4],
    ])
    expect(rowsOf('.H.', '.H.', [null, null])).toEqual([
      ['same', 0, 0],
      ['apart', 1, 1],
      ['same', 2, 2],
    ])
  })

  test('show one side alone after the other has ended', () => {
    expect(rowsOf('..', '....', [null, 2])).toEqual([
      ['same', 0, 0],
      ['same', 1, 1],
      ['divergence', -1, 2],
      ['after', -1, 3],
    ])
    expect(rowsOf('..H', '.', [1, null])).toEqual([
      ['same', 0, 0],
      ['divergence', 1, -1],
      ['apart', 2, -1],
    ])
  })

  test('also align the events after the divergence, given an edit list', () => {
    expect(
      rowsOf(
        '......',
        '.....',
        [2, 2],
        [
          { op: 'change', left: 2, right: 2 },
          { op: 'delete', left: 3 },
        ],
      ),
    ).toEqual([
      ['same', 0, 0],
      ['same', 1, 1],
      ['divergence', 2, 2],
      ['left', 3, -1],
      ['same', 4, 3],
      ['same', 5, 4],
    ])
  })

  test('show an inserted event alone, and the event it was compared with next to its partner', () => {
    expect(rowsOf('...', '....', [1, 1], [{ op: 'insert', right: 1 }])).toEqual([
      ['same', 0, 0],
      ['divergence', -1, 1],
      ['same', 1, 2],
      ['same', 2, 3],
    ])
  })

  test('show replaced events side by side at the divergence', () => {
    expect(
      rowsOf(
        '...',
        '...',
        [1, 1],
        [
          { op: 'delete', left: 1 },
          { op: 'insert', right: 1 },
        ],
      ),
    ).toEqual([
      ['same', 0, 0],
      ['divergence', 1, 1],
      ['same', 2, 2],
    ])
  })

  test('mark events from before the other recording begins as not compared', () => {
    const expected = [
      ['apart', 0, -1],
      ['apart', 1, -1],
      ['same', 2, 0],
      ['same', 3, 1],
    ]
    expect(rowsOf('....', '..', [null, null], undefined, [0, 2])).toEqual(expected)
    expect(rowsOf('..S.', 'S.', [null, null], undefined, [0, 2])).toEqual([
      ['apart', 0, -1],
      ['apart', 1, -1],
      ['apart', 2, 0],
      ['same', 3, 1],
    ])
    expect(rowsOf('....', '..', [3, 3], undefined, [0, 2])).toEqual([...expected.slice(0, 3), ['divergence', 3, 1]])
  })

  /** For each event of the left side: whether it is kept, changed or deleted, and how many events are inserted before it. */
  const script = fc.array(
    fc.record({
      op: fc.constantFrom('equal', 'equal', 'equal', 'change', 'delete'),
      more: fc.constantFrom(0, 0, 0, 1, 2),
    }),
    { maxLength: 40 },
  )

  test.prop([script, fc.boolean()], runs(300))(
    'contain each event once, in order, with equal ones next to each other',
    (ops, isPaired) => {
      const edits: Edit[] = []
      const partners = new Map<number, number>()
      let right = 0
      for (const [left, { op, more }] of ops.entries()) {
        for (let i = 0; i < more; i++) edits.push({ op: 'insert', right: right++ })
        if (op === 'delete') edits.push({ op, left })
        else partners.set(left, right++)
        if (op === 'change') edits.push({ op, left, right: right - 1 })
      }
      const first = edits.length === 0 ? null : Math.min(...edits.map((edit) => edit.left ?? edit.right!))
      const at = (count: number): number | null => (first !== null && first < count ? first : null)
      const rows = rowsOf(
        '.'.repeat(ops.length),
        '.'.repeat(right),
        [at(ops.length), at(right)],
        isPaired ? edits : undefined,
      ) as [string, number, number][]
      expect(rows.map(([, l]) => l).filter((l) => l >= 0)).toEqual(ops.map((_, i) => i))
      expect(rows.map(([, , r]) => r).filter((r) => r >= 0)).toEqual(Array.from({ length: right }, (_, i) => i))
      expect(rows.filter(([kind]) => kind === 'divergence').length).toBe(first === null ? 0 : 1)
      if (!isPaired) return
      for (const [kind, l, r] of rows.filter(([kind]) => kind === 'same' || kind === 'change'))
        expect([kind, l, partners.get(l)]).toEqual([kind, l, r])
    },
  )

  test.prop([fc.integer({ min: 1, max: 400 }), fc.nat(399), fc.nat(20), fc.nat(20), fc.nat(20)], runs(200))(
    'count the events left out, and pair correctly across the gap',
    (count, divergence, head, around, tail) => {
      fc.pre(divergence < count)
      const side = (more: number) => {
        const window = new Window({ events: 30, bytes: 1e6, head, around, tail }, divergence, new Set())
        for (const event of eventsOf('.'.repeat(count + more))) window.take(event.place, event.index, () => event)
        return { events: window.finish() as Event[], count: count + more }
      }
      const [left, right] = [side(0), side(7)]
      const rows = named(alignedRows({ left, right }, places(divergence, divergence), undefined)) as [
        string,
        number,
        number,
      ][]
      for (const [at, { events, count }] of [left, right].entries()) {
        const numbers = rows
          .filter(([kind]) => kind !== 'gap')
          .map((row) => row[at + 1] as number)
          .filter((index) => index >= 0)
        expect(numbers).toEqual(events.map((_, index) => index))
        const missing = rows.filter(([kind]) => kind === 'gap').reduce((sum, row) => sum + (row[at + 1] as number), 0)
        expect(missing).toBe(count - events.length)
      }
      for (const [kind, l, r] of rows)
        if (kind === 'same' && l >= 0 && r >= 0) expect(left.events[l]!.place).toBe(right.events[r]!.place)
    },
  )
})
