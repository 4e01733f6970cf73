// The limit on warnings, and the lines that summarise a damaged session.

import { describe, expect } from 'vitest'
import { eachCase } from '../support/each-case.js'
import { fc, test } from '../support/property'
import { content, file, replayOf, replayedOf, rewind, session } from '../support/session-file.js'
import type { Event } from '../support/session-file.js'
import { runs } from '../support/session-arbitraries.js'

const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value)
const UNKNOWN: Event = ['novelty', {}]
const MALFORMED: Event = ['rewind', {}]
const unknownLine = (line: number) => `Line ${line}: unknown event type 'novelty', skipping`

describe('at most 100 warnings about lines', () => {
  test('exactly 100 are all shown', async () => {
    const { warnings } = await replayedOf(session(...times(100, UNKNOWN)))
    expect(warnings).toStrictEqual(times(100, 0).map((_, at) => unknownLine(at + 2)))
  })

  test('of 101 one is not shown', async () => {
    const { warnings } = await replayedOf(session(...times(101, UNKNOWN)))
    expect(warnings).toHaveLength(101)
    expect(warnings[99]).toBe(unknownLine(101))
    expect(warnings[100]).toBe('Replay: 1 further warnings not shown')
  })

  test('of 102 two are not shown', async () => {
    const { warnings } = await replayedOf(session(...times(102, UNKNOWN)))
    expect(warnings).toHaveLength(101)
    expect(warnings[100]).toBe('Replay: 2 further warnings not shown')
  })

  test('a torn last line counts neither as shown nor as not shown', async () => {
    const hundred = await replayedOf(session(...times(100, UNKNOWN), 'torn'))
    expect(hundred.warnings).toHaveLength(100)
    const hundredOne = await replayedOf(session(...times(101, UNKNOWN), 'torn'))
    expect(hundredOne.warnings.at(-1)).toBe('Replay: 1 further warnings not shown')
  })

  test('a torn last line takes back only its own warning', async () => {
    const { warnings } = await replayedOf(session(...times(99, UNKNOWN), 'corrupt', 'torn', '', UNKNOWN, 'torn'))
    expect(warnings.slice(98)).toStrictEqual([
      unknownLine(100),
      'Line 101: failed to parse JSON',
      'Replay: 2 further warnings not shown',
    ])
  })

  test('every kind of line warning counts towards the limit, in file order', async () => {
    const kinds = times(30, ['corrupt', UNKNOWN, MALFORMED, ['session_start', {}] as Event]).flat()
    const { warnings } = await replayedOf(session(...kinds))
    expect(warnings.slice(0, 4)).toStrictEqual([
      'Line 2: failed to parse JSON',
      unknownLine(3),
      'Line 4: malformed rewind event, skipping',
      'session_start at line 5 (expected line 1)',
    ])
    expect(warnings[99]).toBe('session_start at line 101 (expected line 1)')
    expect(warnings[100]).toBe('Replay: 20 further warnings not shown')
    expect(warnings).toHaveLength(104)
  })

  test('a failed replay has the same limit, and no summary', async () => {
    const result = await replayOf(file(...times(150, MALFORMED)))
    expect(result.ok).toBe(false)
    expect(result.warnings).toHaveLength(101)
    expect(result.warnings[0]).toBe('Line 1: malformed rewind event, skipping')
    expect(result.warnings[100]).toBe('Replay: 50 further warnings not shown')
  })
})

describe('the summary', () => {
  test('of a sound session is empty', async () => {
    expect((await replayedOf(session(...times(30, content('a'))))).warnings).toStrictEqual([])
  })

  test('exactly 5 % malformed: counted, not warned of', async () => {
    const { warnings } = await replayedOf(session(...times(18, content('a')), MALFORMED))
    expect(warnings).toStrictEqual(['Line 20: malformed rewind event, skipping', 'Replay: 1 malformed events skipped'])
  })

  test('just over 5 % malformed', async () => {
    const { warnings } = await replayedOf(session(...times(17, content('a')), MALFORMED))
    expect(warnings.slice(1)).toStrictEqual([
      'Replay: 1 malformed events skipped',
      'WARNING: >5.3% of known events are malformed (1/19)',
    ])
  })

  test('known events are those that parsed, without the unknown ones; a misplaced session_start is known', async () => {
    const { warnings } = await replayedOf(
      session(
        ...times(16, content('a')),
        ['session_start', {}],
        MALFORMED,
        UNKNOWN,
        '42',
        '',
        'null',
        'corrupt',
        rewind(0),
      ),
    )
    expect(warnings).toContain('Replay: 1 malformed events skipped')
    expect(warnings.join('\n')).not.toMatch(/of known events/)
    const fewer = await replayedOf(session(...times(16, content('a')), ['session_start', {}], MALFORMED, UNKNOWN))
    expect(fewer.warnings).toContain('WARNING: >5.3% of known events are malformed (1/19)')
  })

  test('exactly 5 % unparseable: not warned of', async () => {
    const { warnings } = await replayedOf(session('corrupt', ...times(18, content('a'))))
    expect(warnings).toStrictEqual(['Line 2: failed to parse JSON'])
  })

  test('just over 5 % unparseable', async () => {
    const { warnings } = await replayedOf(session('corrupt', ...times(17, content('a'))))
    expect(warnings).toStrictEqual(['Line 2: failed to parse JSON', 'WARNING: >5.3% of lines are unparseable (1/19)'])
  })

  test('blank lines, null and a torn last line do not count as lines in that share; unknown events do', async () => {
    const { warnings } = await replayedOf(
      session('corrupt', '', 'null', UNKNOWN, ...times(16, content('a')), '', 'torn'),
    )
    expect(warnings).toContain('WARNING: >5.3% of lines are unparseable (1/19)')
    const enough = await replayedOf(session('corrupt', UNKNOWN, UNKNOWN, ...times(16, content('a'))))
    expect(enough.warnings.join('\n')).not.toMatch(/unparseable/)
  })

  test('all three lines in their order, after the count of warnings not shown', async () => {
    const { warnings } = await replayedOf(session(...times(60, MALFORMED), ...times(60, 'corrupt'), content('a')))
    expect(warnings.slice(100)).toStrictEqual([
      'Replay: 20 further warnings not shown',
      'Replay: 60 malformed events skipped',
      'WARNING: >96.8% of known events are malformed (60/62)',
      'WARNING: >49.2% of lines are unparseable (60/122)',
    ])
  })

  test('the share is shown as toFixed rounds it', () =>
    eachCase(
      [
        [1, 16, '6.3'],
        [3, 16, '18.8'],
        [1, 8, '12.5'],
        [1, 3, '33.3'],
        [2, 3, '66.7'],
        [1, 2, '50.0'],
        [5, 80, '6.3'],
        [21, 400, '5.3'],
        [201, 4000, '5.0'],
      ],
      async ([malformed, known, shown]) => {
        const { warnings } = await replayedOf(
          session(...times(known - 1 - malformed, content('a')), ...times(malformed, MALFORMED)),
        )
        expect(warnings.at(-1)).toBe(`WARNING: >${shown}% of known events are malformed (${malformed}/${known})`)
      },
    ))

  test.prop([fc.integer({ min: 1, max: 60 }), fc.integer({ min: 0, max: 240 })], runs(60))(
    'M malformed among K known events: both lines as the rule computes them',
    async (malformed, sound) => {
      const { warnings } = await replayedOf(session(...times(malformed, MALFORMED), ...times(sound, rewind(0))))
      const known = 1 + malformed + sound
      const expected = [`Replay: ${malformed} malformed events skipped`]
      if (malformed / known > 0.05) {
        expected.push(
          `WARNING: >${((100 * malformed) / known).toFixed(1)}% of known events are malformed (${malformed}/${known})`,
        )
      }
      expect(warnings.slice(malformed)).toStrictEqual(expected)
    },
  )

  test.prop([fc.integer({ min: 1, max: 60 }), fc.integer({ min: 0, max: 240 })], runs(60))(
    'U unparseable among R lines: the line as the rule computes it',
    async (unparseable, sound) => {
      const { warnings } = await replayedOf(session(...times(unparseable, '{'), UNKNOWN, ...times(sound, rewind(0))))
      const lines = 2 + unparseable + sound
      const expected =
        unparseable / lines > 0.05
          ? [
              `WARNING: >${((100 * unparseable) / lines).toFixed(1)}% of lines are unparseable (${unparseable}/${lines})`,
            ]
          : []
      expect(warnings.slice(unparseable + 1)).toStrictEqual(expected)
    },
  )

  test.prop([fc.integer({ min: 0, max: 260 }), fc.boolean()], runs(40))(
    'n warnings: min(n, 100) shown, the rest counted',
    async (count, torn) => {
      const { warnings } = await replayedOf(session(...times(count, UNKNOWN), ...(torn ? ['{"torn'] : [])))
      const shown = times(Math.min(count, 100), 0).map((_, at) => unknownLine(at + 2))
      expect(warnings).toStrictEqual(
        count > 100 ? [...shown, `Replay: ${count - 100} further warnings not shown`] : shown,
      )
    },
  )
})
