// Edits of the history, scene by scene: what a CLI records when it changes items that are already in the file.

import { describe, expect, test } from 'vitest'
import { openSession, replaySession } from '../../index.js'
import { eachCase } from '../support/each-case.js'
import {
  content,
  envelope,
  replayOf,
  replayedOf,
  rewind,
  session,
  sessionOf,
  start,
  textsOf,
  writeSession,
} from '../support/session-file.js'
import type { Event } from '../support/session-file.js'

const MODES = [{ strict: false }, { strict: true }]

/** An item with a marker. */
const keyed = (text: string, seq: unknown, more: object = {}) => ({
  speaker: 'ai' as const,
  blocks: [{ type: 'text' as const, text }],
  metadata: { ...more, chronology: { seq, userTurn: 1, step: 2, recordedAt: 3 } },
})
const bare = (text: string) => ({ speaker: 'ai' as const, blocks: [{ type: 'text' as const, text }] })
const item = (text: string, seq: unknown): Event => ['content', { content: keyed(text, seq) }]
const mutation = (removedSeqs: unknown, replacements: unknown): Event => [
  'density_mutation',
  { removedSeqs, replacements },
]
const insertion = (text: string, chronologySeq: unknown, afterSeq: unknown): Event => [
  'synthetic_insert',
  { content: keyed(text, chronologySeq), chronologySeq, afterSeq },
]
const binding = (rowIndex: unknown, seq: unknown, more: object = {}): Event => [
  'chronology_bind',
  { rowIndex, chronology: { seq, userTurn: 7, step: 8, recordedAt: 9 }, ...more },
]
const purge = (history: unknown, contentIndex: unknown, blockIndex: unknown): Event => [
  'semantic_media_purge',
  { history, frontier: { contentIndex, blockIndex } },
]
const cut = (itemsRemoved: unknown, cutSeq: unknown): Event => ['rewind', { itemsRemoved, cutSeq }]

/** A warning that ends the list: modes sum up differently. */
const isSummary = (warning: string) => /^(Replay: \d+ malformed|WARNING: >)/.test(warning)

/** The texts and the warnings of a session of these events, which are the same in both modes. */
async function replayed(...events: Event[]) {
  const [one, other] = [await replayedOf(session(...events), MODES[0]), await replayedOf(session(...events), MODES[1])]
  expect(other.history).toStrictEqual(one.history)
  const lines = (warnings: string[]) => warnings.filter((warning) => !isSummary(warning))
  expect(lines(other.warnings)).toStrictEqual(lines(one.warnings))
  return {
    texts: textsOf(one.history),
    history: one.history as unknown[],
    warnings: one.warnings,
    frontier: one.semanticMediaPurgeFrontier,
  }
}

describe('a change of density', () => {
  test('removes and replaces items wherever they are, and replacements keep the place and the marker', async () => {
    const { history, warnings } = await replayed(
      item('a', 10),
      item('b', 11),
      content('c'),
      item('d', 12),
      mutation(
        [10, 12],
        [
          { replacedSeq: 11, replacement: bare('B') },
          { replacedSeq: 12, replacement: keyed('D', 99, { x: 1 }) },
        ],
      ),
    )
    expect(warnings).toStrictEqual([])
    expect(history).toStrictEqual([
      { ...bare('B'), metadata: { chronology: { seq: 11, userTurn: 1, step: 2, recordedAt: 3 } } },
      { speaker: 'human', blocks: [{ type: 'text', text: 'c' }] },
      keyed('D', 12, { x: 1 }),
    ])
  })

  test('finds an item under its key after it was replaced, and the last replacement counts', async () => {
    const replace = (...texts: string[]) =>
      mutation(
        [],
        texts.map((text) => ({ replacedSeq: 5, replacement: bare(text) })),
      )
    expect((await replayed(item('a', 5), item('b', 5), replace('x'), replace('y', 'z'))).texts).toStrictEqual([
      'z',
      'z',
    ])
  })

  test('leaves alone what has no key', async () => {
    const events = [content('a'), item('b', -1), item('c', '4'), item('d', undefined)]
    expect(
      (await replayed(...events, mutation([4], [{ replacedSeq: 0, replacement: bare('x') }]))).texts,
    ).toStrictEqual(['a', 'b', 'c', 'd'])
  })
})

describe('an insertion', () => {
  test('comes behind the first item with the key', async () => {
    expect(
      (
        await replayed(
          item('a', 1),
          item('b', 1),
          item('c', 2),
          insertion('x', 3, 1),
          insertion('y', 4, 3),
          insertion('z', 5, 2),
        )
      ).texts,
    ).toStrictEqual(['a', 'x', 'y', 'b', 'c', 'z'])
  })

  test('behind an item that is not there is malformed', async () => {
    const { texts, warnings } = await replayed(item('a', 1), rewind(1), insertion('x', 2, 1))
    expect([texts, warnings[0]]).toStrictEqual([[], 'Line 4: malformed synthetic_insert event, skipping'])
  })
})

describe('a binding', () => {
  test('sets just the four numbers, and the item is found under its new key', async () => {
    const { history } = await replayed(
      content('a'),
      item('b', 1),
      binding(0, 4),
      binding(1, 5, { chronology: { recordedAt: 9, more: 1, seq: 5, userTurn: 7, step: 8 }, content: bare('B') }),
      insertion('x', 6, 4),
    )
    expect(history).toStrictEqual([
      {
        speaker: 'human',
        blocks: [{ type: 'text', text: 'a' }],
        metadata: { chronology: { seq: 4, userTurn: 7, step: 8, recordedAt: 9 } },
      },
      keyed('x', 6),
      { ...bare('B'), metadata: { chronology: { seq: 5, userTurn: 7, step: 8, recordedAt: 9 } } },
    ])
    expect(Object.keys((history[2] as { metadata: { chronology: object } }).metadata.chronology)).toStrictEqual([
      'seq',
      'userTurn',
      'step',
      'recordedAt',
    ])
  })

  test('of an item that is not there is malformed', async () => {
    expect((await replayed(content('a'), binding(1, 4))).warnings[0]).toBe(
      'Line 3: malformed chronology_bind event, skipping',
    )
  })

  test.each([
    [null, {}],
    [7, {}],
    ['ab', { 0: 'a', 1: 'b' }],
    [['x', ['y']], { 0: 'x', 1: ['y'] }],
    [
      { z: 1, chronology: 0, 2: 3 },
      { 2: 3, z: 1 },
    ],
  ])('of an item with the metadata %j spreads it as JavaScript does', async (metadata, spread) => {
    const { history } = await replayed(['content', { content: { ...bare('a'), metadata } }], binding(0, 4))
    expect(history[0]).toStrictEqual({
      ...bare('a'),
      metadata: { ...spread, chronology: { seq: 4, userTurn: 7, step: 8, recordedAt: 9 } },
    })
  })
})

describe('a rewind to a key', () => {
  test('cuts before the first item with it, whatever the count is', async () => {
    const events = [item('a', 1), item('b', 2), item('c', 3), item('d', 2)]
    expect((await replayed(...events, cut(0, 2))).texts).toStrictEqual(['a'])
    expect((await replayed(...events, cut(1, 9))).texts).toStrictEqual(['a', 'b', 'c'])
    expect((await replayed(...events, cut(99, 3))).texts).toStrictEqual(['a', 'b'])
  })

  test('that is none cuts by the count, and says so', async () => {
    const { texts, warnings } = await replayed(item('a', 1), item('b', 2), cut(1, '2'))
    expect(texts).toStrictEqual(['a'])
    expect(warnings.slice(0, 2)).toStrictEqual([
      'Line 4: malformed rewind cut marker, falling back to item count',
      'Replay: 1 malformed events skipped',
    ])
    expect((await replayed(item('a', 1), cut(-1, 1))).warnings[0]).toBe('Line 3: malformed rewind event, skipping')
  })
})

describe('a purge', () => {
  test('makes the history another one; the last frontier is told, also of lines of version 2', async () => {
    const lines = [
      item('a', 1),
      purge([keyed('A', 1), bare('B')], 1, 0),
      content('c'),
      mutation([], [{ replacedSeq: 1, replacement: bare('x') }]),
    ]
    expect(await replayed(...lines)).toMatchObject({
      texts: ['x', 'B', 'c'],
      warnings: [],
      frontier: { contentIndex: 1, blockIndex: 0 },
    })
    const text = session(...lines).replaceAll(/"v":1(?=[^\n]*semantic_media_purge)/g, '"v":2')
    expect(text).toContain('"v":2')
    expect(textsOf((await replayedOf(text, { strict: true })).history)).toStrictEqual(['x', 'B', 'c'])
    expect(await replayed(content('a'), purge([], 0, 0))).toMatchObject({
      texts: [],
      frontier: { contentIndex: 0, blockIndex: 0 },
    })
    expect('semanticMediaPurgeFrontier' in (await replayedOf(session()))).toBe(false)
  })

  test('whose frontier is not in it is malformed', () =>
    eachCase(
      [
        purge([], 1, 0),
        purge([], 0, 1),
        purge([bare('x')], 1, 0),
        purge([bare('x')], 0, 1),
        purge([bare('x')], 0, -1),
        purge({}, 0, 0),
        purge([1], 0, 0),
      ],
      async (event) => {
        const { texts, warnings, frontier } = await replayed(content('a'), event)
        expect([texts, warnings[0], frontier]).toStrictEqual([
          ['a'],
          'Line 3: malformed semantic_media_purge event, skipping',
          undefined,
        ])
      },
    ))
})

describe('events of a newer version', () => {
  test('are counted by their types in strict replays, and a later version of a line ends one', async () => {
    const text = session(
      content('a'),
      ['newer', {}],
      ['__proto__', 1],
      ['newer', 2],
      '{"v":1,"seq":9,"type":["x", 1]}',
      '{"v":1,"seq":10}',
    )
    const { unknownEvents } = await replayedOf(text, { strict: true })
    expect(Object.entries(unknownEvents!)).toStrictEqual([
      ['newer', 2],
      ['__proto__', 1],
      ['["x",1]', 1],
      ['undefined', 1],
    ])
    expect('unknownEvents' in (await replayedOf(text))).toBe(false)
    const opened = await openSession(writeSession(text), undefined, { strict: true })
    if (!opened.ok) throw new Error(opened.error)
    expect(opened.session.unknownEvents).toStrictEqual(unknownEvents)
    opened.session.close()
    expect(await replayOf(`${text}{"v":3,"seq":11}\n`, undefined, { strict: true })).toStrictEqual({
      ok: false,
      error: 'Unsupported recording version 3 at line 8',
      warnings: expect.arrayContaining(["Line 3: unknown event type 'newer', skipping"]) as string[],
    })
  })
})

describe('edits', () => {
  test('that do not fit the history are reported in the order of the file, under one limit', async () => {
    const misfits = Array.from({ length: 120 }, (_, at) =>
      at % 3 === 0 ? binding(5, 1) : at % 3 === 1 ? insertion('x', 1, 9) : (['rewind', {}] as Event),
    )
    const { warnings } = await replayedOf(sessionOf([item('a', 1), ...misfits]))
    const types = ['chronology_bind', 'synthetic_insert', 'rewind']
    expect(warnings.slice(0, 100)).toStrictEqual(
      Array.from({ length: 100 }, (_, at) => `Line ${at + 3}: malformed ${types[at % 3]!} event, skipping`),
    )
    expect(warnings.slice(100, 102)).toStrictEqual([
      'Replay: 20 further warnings not shown',
      'Replay: 120 malformed events skipped',
    ])
  })

  test('of a session that several threads scan see items of all its parts', async () => {
    const text = 'x'.repeat(2000)
    const count = 6000
    const events: Event[] = Array.from({ length: count }, (_, at) => item(`${at} ${text}`, at))
    events.splice(
      3000,
      0,
      mutation(
        Array.from({ length: 1000 }, (_, at) => 2 * at),
        [{ replacedSeq: 1, replacement: bare('one') }],
      ),
    )
    events.push(insertion('inserted', 9000, 1), cut(0, 5990), binding(0, 7))
    const filePath = writeSession(sessionOf(events))
    for (const options of [{}, { strict: true }]) {
      const result = await replaySession(filePath, undefined, options)
      if (!result.ok) throw new Error(result.error)
      expect(result.history).toHaveLength(5990 - 1000 + 1)
      expect(result.history[0]).toStrictEqual({
        ...bare('one'),
        metadata: { chronology: { seq: 7, userTurn: 7, step: 8, recordedAt: 9 } },
      })
      expect(textsOf(result.history.slice(1, 3))).toStrictEqual(['inserted', `3 ${text}`])
      expect(result.warnings).toStrictEqual([])
    }
  })

  test('are in the history of a subagent, whose kind and parent strict replays tell', async () => {
    const text = `${envelope(1, start({ kind: 'subagent', parentSessionId: 'p' }))}\n${envelope(2, item('a', 1))}\n`
    const { metadata } = await replayedOf(text, { strict: true })
    expect([metadata.kind, metadata.parentSessionId]).toStrictEqual(['subagent', 'p'])
    expect(Object.keys((await replayedOf(text)).metadata)).not.toContain('kind')
    const other = await replayedOf(`${envelope(1, start({ kind: 1, parentSessionId: 1 }))}\n`, { strict: true })
    expect([other.metadata.kind, 'parentSessionId' in other.metadata]).toStrictEqual(['main', false])
  })
})
