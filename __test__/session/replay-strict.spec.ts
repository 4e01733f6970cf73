// `strict: true`: the differences from the other mode, and no others.

import { describe, expect } from 'vitest'
import { fc, test } from '../support/property'
import { openSession, replaySession } from '../../index.js'
import {
  START_PAYLOAD,
  compressed,
  content,
  envelope,
  file,
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
import { KNOWN_TYPES, anyEvents, runs } from '../support/session-arbitraries.js'
import { eachCase } from '../support/each-case.js'
import { expectSame, expectSameReplay } from '../support/same-replay.js'

const strict = { strict: true }
const INVALID = [
  '"2"',
  'null',
  'true',
  '[2]',
  '{}',
  '-1',
  '1.5',
  '9007199254740992',
  '1e999',
  '-1e999',
  '1e-5',
  undefined,
]
const withSeq = (seq: string | undefined, type = 'content', payload: unknown = content('odd')[1]) =>
  `{"v":1,${seq === undefined ? '' : `"seq":${seq},`}"type":${JSON.stringify(type)},"payload":${JSON.stringify(payload)}}`
const skipped = (line: number) => `Line ${line}: malformed sequence number, skipping`

describe('a line without a valid seq', () => {
  test('is skipped, whatever its type is', () =>
    eachCase(
      INVALID.flatMap((seq) =>
        ['content', 'rewind', 'session_start', 'unheard of', 'checkpoint_created', 'session_named'].map((type) =>
          withSeq(seq, type),
        ),
      ),
      async (line) => {
        const result = await replayedOf(session(line, ...Array.from({ length: 40 }, () => content('a'))), strict)
        expect(result.warnings).toStrictEqual([skipped(2)])
        expect(result).toMatchObject({ eventCount: 41, lastSeq: 41, sequenceCorrupt: false, checkpoints: [] })
        expect(result.history).toHaveLength(40)
      },
    ))

  test('may have no seq at all', () =>
    eachCase(['{"v":1}', '{"v":2,"SEQ":2}', '{"v":1,"seq":2,"seq":-2}'], async (line) => {
      expect((await replayedOf(session(line), strict)).warnings[0]).toBe(skipped(2))
      for (const silent of ['null', ' null ', '', '\u2003'])
        expect((await replayedOf(session(silent), strict)).warnings).toStrictEqual([])
    }))

  test('is not one whose seq JavaScript reads as a valid number', () =>
    eachCase(['0', '-0', '2.0', '1e3', '2e0', '9007199254740991', '0.2e1'], async (seq) => {
      expect((await replayedOf(session(withSeq(seq)), strict)).history).toHaveLength(1)
    }))

  test('counts as malformed in the one summary, as unparseable lines do', async () => {
    const result = await replayedOf(
      session(withSeq('1.5'), withSeq('-1', 'new'), ['rewind', {}], 'not json', ['newer', {}], content('a')),
      strict,
    )
    expect(result.eventCount).toBe(4)
    expect(result.warnings.slice(4)).toStrictEqual([
      "Line 6: unknown event type 'newer', skipping",
      'WARNING: >57.1% of session events are malformed (4/7)',
    ])
  })

  test('has a summary only if more than 5 % of the events and lines are unusable, together', async () => {
    const summaryOf = async (good: number, ...bad: (string | Event)[]): Promise<string[]> =>
      (await replayedOf(session(...bad, ...Array.from({ length: good }, () => content('a'))), strict)).warnings.slice(
        bad.length,
      )
    expect(await summaryOf(18, withSeq('-1'))).toStrictEqual([])
    expect(await summaryOf(17, withSeq('-1'))).toStrictEqual(['WARNING: >5.3% of session events are malformed (1/19)'])
    expect(await summaryOf(36, ['rewind', {}], 'not json')).toStrictEqual([
      'WARNING: >5.1% of session events are malformed (2/39)',
    ])
    expect(await summaryOf(37, ['rewind', {}], 'not json')).toStrictEqual([])
    // Each event counts once, also of those whose warnings are not shown.
    const { warnings } = await replayedOf(
      session(...Array.from({ length: 120 }, () => 'not json'), content('a')),
      strict,
    )
    expect(warnings.slice(100)).toStrictEqual([
      'Replay: 20 further warnings not shown',
      'WARNING: >98.4% of session events are malformed (120/122)',
    ])
  })

  test('is reported with the others, under one limit', async () => {
    const { warnings } = await replayedOf(sessionOf(Array.from({ length: 120 }, () => withSeq('"x"'))), strict)
    expect(warnings.slice(98, 102)).toStrictEqual([
      skipped(100),
      skipped(101),
      'Replay: 20 further warnings not shown',
      'WARNING: >99.2% of session events are malformed (120/121)',
    ])
  })

  test('is not a session_start', async () => {
    const line = envelope(1.5, start())
    expect(await replayOf(`${line}\n${envelope(2, content('a'))}\n`, undefined, strict)).toStrictEqual({
      ok: false,
      error: 'Missing or corrupt session_start event',
      warnings: [skipped(1)],
    })
  })

  test('makes an unparseable line before it one in the middle', async () => {
    expect((await replayedOf(`${session('torn')}{"v":1}`, strict)).warnings.slice(0, 2)).toStrictEqual([
      'Line 2: failed to parse JSON',
      skipped(3),
    ])
  })
})

describe('seq', () => {
  const lines = (...seqs: (number | string)[]) =>
    seqs.map((seq) => (typeof seq === 'string' ? seq : envelope(seq, rewind(0)))).join('\n')

  test('the largest is lastSeq, and a warning names the previous one', async () => {
    const text = `${session()}${lines(9, 4, '{"v":1,"seq":20.5}', 6, 'null', 5)}\n`
    const { lastSeq, warnings, sequenceCorrupt } = await replayedOf(text, strict)
    expect([lastSeq, sequenceCorrupt]).toStrictEqual([9, true])
    expect(warnings.slice(0, 3)).toStrictEqual([
      'Line 3: non-monotonic seq 4 (expected > 9)',
      skipped(4),
      'Line 7: non-monotonic seq 5 (expected > 6)',
    ])
    expect((await replayedOf(text)).lastSeq).toBe(5)
  })

  test('0 and -0 are lastSeq 0', async () => {
    for (const seq of ['0', '-0']) {
      const text = `${envelope(1, start()).replace('"seq":1', `"seq":${seq}`)}\n`
      expectSame((await replayedOf(text, strict)).lastSeq, 0)
      const again = await replayedOf(`${text}{"v":1,"seq":-0}\n`, strict)
      expect(again.warnings[0]).toBe('Line 2: non-monotonic seq 0 (expected > 0)')
    }
  })

  const seq = fc.oneof(
    fc.integer({ min: -2, max: 30 }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constant(2 ** 53),
  )
  test.prop(
    [fc.array(seq, { maxLength: 30 }), fc.option(fc.integer({ min: 1, max: 30 }), { nil: undefined })],
    runs(100),
  )('only the valid ones of any seqs count', async (seqs, throughSeq) => {
    const isValid = (value: number) => Number.isSafeInteger(value) && value >= 0
    const valid = seqs.filter(isValid)
    const stop = valid.findIndex((value) => value > (throughSeq ?? Infinity))
    const read = [1, ...valid.slice(0, stop === -1 ? valid.length : stop)]
    const text = [envelope(1, start()), ...seqs.map((value) => envelope(value, content('a')))].join('\n')
    const result = await replayedOf(text, { strict: true, throughSeq })
    expect(result.lastSeq).toBe(Math.max(...read))
    expect(result.eventCount).toBe(read.length)
    expect(result.sequenceCorrupt).toBe(read.some((value, at) => at > 0 && value <= Math.max(...read.slice(0, at))))
  })
})

describe('throughSeq', () => {
  const later = (seq: string) => [
    `{"v":3,"seq":${seq},"type":"content","payload":{}}`,
    `{"seq":${seq}}`,
    `{"v":"1","seq":${seq},"type":"newer"}`,
  ]
  const readThrough = async (text: string, throughSeq: number): Promise<unknown> => {
    const result = await replayOf(text, undefined, { strict: true, throughSeq })
    return result.ok ? [textsOf(result.history), result.warnings] : result.error
  }

  test('ends the reading before a line of a later version that is beyond it', async () => {
    for (const line of later('4')) {
      const text = session(content('a'), content('b'), line, content('c'))
      expect(await readThrough(text, 3), line).toStrictEqual([['a', 'b'], []])
      expect(await readThrough(text, 4), line).toMatch(/^Unsupported recording version .* at line 4$/)
      expect(await replayOf(text, undefined, strict), line).toMatchObject({ ok: false })
      const opened = await openSession(writeSession(text), undefined, { strict: true, throughSeq: 3 })
      expect(opened.ok && opened.session.historyLength, line).toBe(2)
      if (opened.ok) opened.session.close()
    }
  })

  test('does not end at a line of a later version whose seq is not valid: that one is refused', async () => {
    for (const line of ['9007199254740992', '4.5', '1e999', '"4"'].flatMap(later)) {
      expect(await readThrough(session(content('a'), line), 3), line).toMatch(
        /^Unsupported recording version .* at line 3$/,
      )
    }
  })

  test('does so wherever the line is in a file that several threads scan, and whatever is behind it', async () => {
    const events = Array.from({ length: 3000 }, (_, at) => content(`${at} ${'x'.repeat(2000)}`))
    const all = sessionOf(events).trimEnd().split('\n')
    for (const at of [2, 700, 1500, 2999]) {
      const text = [
        ...all.slice(0, at),
        `{"v":9,"seq":${at + 1}}`,
        ...all.slice(at + 1),
        '{"v":10}',
        'not json',
        '',
      ].join('\n')
      const path = writeSession(text)
      const through = await replaySession(path, undefined, { strict: true, throughSeq: at })
      expect(through.ok && [through.history.length, through.lastSeq, through.warnings], String(at)).toStrictEqual([
        at - 1,
        at,
        [],
      ])
      expect(await replaySession(path, undefined, { strict: true, throughSeq: at + 1 })).toMatchObject({
        ok: false,
        error: `Unsupported recording version 9 at line ${at + 1}`,
      })
    }
  })

  test('is compared with valid numbers only', async () => {
    const text = session(content('a'), withSeq('9007199254740992'), withSeq('7.5'), content('b'), content('c'))
    const result = await replayedOf(text, { strict: true, throughSeq: 3 })
    expect(textsOf(result.history)).toStrictEqual(['a', 'b'])
    expect(result.warnings.slice(0, 2)).toStrictEqual([skipped(3), skipped(4)])
    expect(textsOf((await replayedOf(text, { throughSeq: 3 })).history)).toStrictEqual(['a'])
  })
})

describe('v', () => {
  test('other than 1 and 2 ends the replay, before the seq is looked at', () =>
    eachCase(
      [
        ['{"v":3,"seq":2}', '3'],
        ['{"v":"1","seq":2}', '1'],
        ['{"seq":2}', 'undefined'],
        ['{"v":null}', 'null'],
        ['{"v":true}', 'true'],
        ['{"v":1.5}', '1.5'],
        ['{"v":-0}', '0'],
        ['{"v":1e999}', 'Infinity'],
        ['{"v":{"a":1}}', '[object Object]'],
        ['{"v":[1,[null,"x"],{}]}', '1,,x,[object Object]'],
        ['{"v":"\\ud800"}', '\ud800'],
        ['{"v":1,"v":7}', '7'],
        ['5', 'undefined'],
        ['"x"', 'undefined'],
        ['[{"v":1}]', 'undefined'],
        ['true', 'undefined'],
      ],
      async ([line, shown]) => {
        const text = session(content('a'), 'torn', line!, content('b'))
        expect(await replayOf(text, undefined, strict)).toStrictEqual({
          ok: false,
          error: `Unsupported recording version ${shown} at line 4`,
          warnings: ['Line 3: failed to parse JSON'],
        })
        expect(await replayOf(text, undefined, { strict: true, throughSeq: 1 })).toMatchObject({ ok: true })
        expect(await replayOf(text)).toMatchObject({ ok: true })
      },
    ))

  test('is looked at in the first line, too', async () => {
    const text = envelope(1, start({ provider: 1 })).replace('"v":1', '"v":9')
    expect(await replayOf(text, undefined, strict)).toMatchObject({
      ok: false,
      error: 'Unsupported recording version 9 at line 1',
    })
  })

  test('may be 2, or written in another way', async () => {
    const line = envelope(2, content('a'))
    for (const v of ['2', '1.0', '0.2e1']) {
      expect((await replayedOf(session(line.replace('"v":1', `"v":${v}`)), strict)).history).toHaveLength(1)
    }
  })
})

describe('session_start', () => {
  const FIELDS = ['sessionId', 'projectHash', 'provider', 'model', 'startTime']
  const error = 'Invalid session_start: missing or malformed required fields'

  test('needs five strings, of which provider and model may be empty', () =>
    eachCase(
      FIELDS.flatMap((field) => [undefined, null, '', 0, ['x']].map((value) => [field, value] as const)),
      async ([field, value]) => {
        if (value === '' && ['provider', 'model'].includes(field)) {
          expect((await replayedOf(file(start({ [field]: value }), content('a')), strict)).metadata).toMatchObject({
            [field]: '',
          })
          return
        }
        const text = file(start({ [field]: value }), content('a'))
        expect(await replayOf(text, undefined, strict)).toStrictEqual({ ok: false, error, warnings: [] })
        const required = field === 'sessionId' || field === 'projectHash'
        expect(await replayOf(text)).toMatchObject(
          required ? { ok: false, error: 'Invalid session_start: missing required fields' } : { ok: true },
        )
      },
    ))

  test('of another project that is incomplete is reported as incomplete', async () => {
    expect(await replayOf(file(start({ model: 1 })), 'other', strict)).toMatchObject({ ok: false, error })
    expect(await replayOf(file(start()), 'other', strict)).toMatchObject({
      ok: false,
      error: `Project hash mismatch: expected other got ${START_PAYLOAD.projectHash}`,
    })
  })

  test('with directories or a cwd of another type replays', async () => {
    const { metadata } = await replayedOf(file(start({ workspaceDirs: 1, cwd: 1 })), strict)
    expect(metadata).toStrictEqual({ ...START_PAYLOAD, workspaceDirs: [], kind: 'main' })
  })
})

describe('an item', () => {
  const malformed = async (event: Event) => (await replayedOf(session(event), strict)).warnings[0]

  test('has one of three speakers, and blocks', () =>
    eachCase(
      [
        {},
        { blocks: {} },
        { blocks: null },
        { blocks: 'x' },
        { speaker: 'user', blocks: [] },
        { speaker: 'Human', blocks: [] },
        { speaker: 'ai ', blocks: [] },
      ].map((changes) => ({ speaker: 'ai', ...changes })),
      async (entry) => {
        for (const event of [
          ['content', { content: entry }],
          ['compressed', { summary: entry, itemsCompressed: 1 }],
        ] as Event[]) {
          expect(await malformed(event)).toBe(`Line 2: malformed ${event[0]} event, skipping`)
          expect((await replayedOf(session(event))).history).toHaveLength(1)
        }
      },
    ))

  test('that is complete is accepted', async () => {
    for (const speaker of ['human', 'ai', 'tool'] as const) {
      expect((await replayedOf(session(content('a', speaker), compressed('b')), strict)).warnings).toStrictEqual([])
    }
    const line =
      '{"v":1,"seq":2,"type":"content","payload":{"content":{"speaker":1,"blocks":0,"blocks":[],"speaker":"\\u0061i"}}}'
    expect((await replayedOf(session(line), strict)).history).toHaveLength(1)
  })
})

describe('in strict mode', () => {
  test.prop([anyEvents], runs(60))('a session that a recorder wrote replays as in the other mode', async (events) => {
    const whole = events.filter(([type]) => !['content', 'compressed'].includes(type))
    const text = session(content('a'), ...whole, compressed('b'))
    const { unknownEvents = {}, metadata, ...replayed } = await replayedOf(text, strict)
    const { kind, ...asInTheOtherMode } = metadata
    const { sessionName, ancestry, ...others } = await replayedOf(text)
    // The summaries are other ones.
    const details = ({ warnings }: { warnings: string[] }): string[] =>
      warnings.filter((warning) => !/^(Replay: \d+ malformed|WARNING)/.test(warning))
    expectSameReplay({ ...replayed, warnings: details(replayed), metadata: asInTheOtherMode }, {
      sessionName,
      ancestry,
      ...others,
      warnings: details(others),
    } as never)
    expect([kind, Object.values(unknownEvents).length > 0]).toStrictEqual([
      'main',
      whole.some(([type]) => !KNOWN_TYPES.includes(type)),
    ])
  })

  test('name and ancestry are always members of a result, unknown events only if there are some', async () => {
    const none = writeSession(session(content('a')))
    const all = writeSession(
      session(
        content('a'),
        ['session_named', { name: null }],
        ['session_forked', { parentSessionId: 'p', parentSequence: 1, checkpointId: 'c', checkpointName: 'n' }],
        ['newer', {}],
      ),
    )
    for (const isOpened of [false, true]) {
      const resultOf = async (path: string, options?: object): Promise<object> => {
        if (!isOpened) return replaySession(path, undefined, options)
        const opened = await openSession(path, undefined, options)
        if (!opened.ok) throw new Error(opened.error)
        opened.session.close()
        return opened.session
      }
      const members = async (path: string, options?: object) =>
        Object.entries(await resultOf(path, options)).filter(([name]) =>
          ['sessionName', 'ancestry', 'unknownEvents'].includes(name),
        )
      expect(await members(none, strict)).toStrictEqual([
        ['sessionName', undefined],
        ['ancestry', undefined],
      ])
      expect(await members(all, strict)).toStrictEqual([
        ['sessionName', null],
        ['ancestry', expect.objectContaining({ checkpointId: 'c' })],
        ['unknownEvents', { newer: 1 }],
      ])
      expect(await members(none)).toStrictEqual([])
      expect((await members(all)).map(([name]) => name)).toStrictEqual(['sessionName', 'ancestry'])
    }
  })

  test('a file that several threads scan is replayed by the same rules', async () => {
    const big = 'x'.repeat(2000)
    const odd = [withSeq('0.5'), withSeq(undefined), 'null', '{"v":1}', envelope(3, content('late')), '{']
    const events = Array.from({ length: 4000 }, (_, at) =>
      at % 500 === 250 ? (odd[(at / 500) | 0] ?? 'null') : content(`${at} ${big}`),
    )
    const filePath = writeSession(sessionOf(events))
    const result = await replaySession(filePath, undefined, strict)
    if (!result.ok) throw new Error(result.error)
    expect(result.warnings.slice(0, 5)).toStrictEqual([
      skipped(252),
      skipped(752),
      skipped(1752),
      expect.stringMatching(/^Line 2252: non-monotonic seq 3 \(expected > \d+\)$/),
      'Line 2752: failed to parse JSON',
    ])
    expect(result.sequenceCorrupt).toBe(true)
    expect(result.lastSeq).toBe(3993)
    const opened = await openSession(filePath, undefined, strict)
    expect(opened.ok && opened.session.historyLength).toBe(result.history.length)
    if (opened.ok) opened.session.close()
  })
})
