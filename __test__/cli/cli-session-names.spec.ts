/** What `session-tape inspect` and `replay` show of a session's name, title, checkpoints, ancestry and order; `replay --strict`. */
import { createRequire } from 'node:module'
import { fc, test as property } from '../support/property'
import { describe, expect, test } from 'vitest'
import * as tape from '../../index.js'
import { replaySession } from '../../index.js'
import {
  beside,
  complaintOf,
  HOSTILE,
  hasTerminal,
  onTerminal,
  resultOf,
  SAMPLE,
  sessionTape,
  shown,
  UNSAFE,
} from '../support/command-line'
import { compressed, content, envelope, PROJECT_HASH, session, start, writeSession } from '../support/session-file'
import type { Event } from '../support/session-file'

const load = createRequire(import.meta.url)
const { tallyOf } = load('../../packages/cli/session/tally.js')

const created = (checkpointId: string, name: string): Event => ['checkpoint_created', { checkpointId, name }]
const deleted = (checkpointId: string): Event => ['checkpoint_deleted', { checkpointId }]
const named = (name: string | null): Event => ['session_named', { name }]
const titled = (title: string | null): Event => ['session_metadata', { title }]
const FORK = {
  parentSessionId: 'ur-sitzung',
  parentSequence: 41,
  checkpointId: 'abzweig',
  checkpointName: 'vor dem Umbau 日本',
  more: [1],
}
const forked = (changes: object = {}): Event => ['session_forked', { ...FORK, ...changes }]

const PAGES = ['inspect', 'replay']

function eventful(): string {
  return writeSession(
    session(
      forked(),
      content('hello'),
      named('früher'),
      created('c1', 'erster'),
      titled('Die Gezeitenuhr'),
      created('c2', 'zweiter'),
      ['checkpoint_renamed', { checkpointId: 'c1', name: 'der erste 👩‍🚒' }],
      deleted('c2'),
      named('umbau'),
    ),
  )
}

describe.each(PAGES)('the text of %s', (command) => {
  test('shows name, title, ancestry and checkpoints', async () => {
    const stdout = await shown([command, eventful()])
    expect(beside('Name', stdout)).toEqual(['umbau'])
    expect(beside('Title', stdout)).toEqual(['Die Gezeitenuhr'])
    expect(beside('Forked from', stdout)).toEqual(['ur-sitzung', 'at checkpoint #41  abzweig', 'vor dem Umbau 日本'])
    expect(beside('Checkpoints', stdout)).toEqual(['#5  2026-02-11 16:00:05 UTC  c1  der erste 👩‍🚒'])
    expect(beside('  deleted', stdout)).toEqual(['#7  2026-02-11 16:00:07 UTC  c2  zweiter'])
  })

  test('has no row for what a session never had', async () => {
    for (const filePath of [SAMPLE, writeSession(session(content('x')))]) {
      expect(await shown([command, filePath])).not.toMatch(/^ +(Name|Title|Forked from|Checkpoints|deleted) /m)
    }
  })

  test('distinguishes a removed name or title from one that was never set', async () => {
    const stdout = await shown([
      command,
      writeSession(session(content('x'), named('a'), titled('b'), named(null), titled(null))),
    ])
    expect(beside('Name', stdout)).toEqual(['removed'])
    expect(beside('Title', stdout)).toEqual(['explicitly none'])
  })

  test('shows the newest of a thousand checkpoints, and the number of the others', async () => {
    const checkpoints = Array.from({ length: 1000 }, (_, i) => created(`id-${i}`, `n° ${i}`))
    const deletions = Array.from({ length: 20 }, (_, i) => deleted(`id-${2 * i}`))
    const stdout = await shown([command, writeSession(session(...checkpoints, ...deletions))])
    const live = beside('Checkpoints', stdout)
    expect(live).toHaveLength(11)
    expect(live[0]).toMatch(/^#1001 .* id-999 {2}n° 999$/)
    expect(live[9]).toMatch(/^#992 .* id-990 {2}n° 990$/)
    expect(live[10]).toBe('… and 970 more')
    expect(beside('  deleted', stdout)).toEqual([
      expect.stringContaining(' id-38 '),
      expect.stringContaining(' id-36 '),
      expect.stringContaining(' id-34 '),
      '… and 17 more',
    ])
  })

  test('shows a checkpoint without a time', async () => {
    const line = envelope(3, created('c', 'n')).replace(/"ts":"[^"]*"/, '"ts":7')
    expect(beside('Checkpoints', await shown([command, writeSession(session(content('x'), line))]))[0]).toMatch(
      /^#3 {2}no time +c {2}n$/,
    )
  })

  test.skipIf(!hasTerminal)('gives a checkpoint two rows on a narrow terminal (needs util-linux script)', async () => {
    const id = '3f152bb8-888c-4ac8-ba7f-5775b06e3e33'
    const filePath = writeSession(session(content('x'), created(id, 'a name '.repeat(30))))
    const { stdout } = await onTerminal([command, filePath], { env: { NO_COLOR: '1' } })
    const rows = beside('Checkpoints', stdout.replaceAll('\r', ''))
    expect(rows).toHaveLength(2)
    expect(rows[0]).toMatch(/ UTC {2}a name .*…$/)
    expect(rows[1]!.trim()).toBe(id)
  })

  test('warns of sequence numbers that do not ascend, and says what that means', async () => {
    const filePath = writeSession(`${session(content('x'))}${envelope(2, content('y'))}\n`)
    const { code, stdout } = await sessionTape([command, filePath])
    expect(code).toBe(command === 'inspect' ? 1 : 0)
    expect(stdout).toMatch(
      / {4}! seq does not always ascend: .*\n.* can't be resumed or forked, nor get new checkpoints\n/,
    )
    expect(stdout).toContain('Line 3: non-monotonic seq 2')
    expect((await resultOf([command, filePath], code!)).sequenceCorrupt).toBe(true)
    expect(await shown([command, SAMPLE])).not.toContain('ascend')
  })
})

describe('JSON', () => {
  const members = ['sequenceCorrupt', 'checkpoints', 'sessionName', 'ancestry', 'metadata']
  const some = (result: any): object =>
    Object.fromEntries(members.filter((name) => name in result).map((name) => [name, result[name]]))
  const anyName = fc
    .oneof(fc.constantFrom(HOSTILE, 'ä', '日本'), fc.string({ unit: 'binary' }))
    .filter((text) => text.trim() !== '')
  const anyEvent = fc.oneof(
    anyName.map(named),
    anyName.map(titled),
    fc.constantFrom(named(null), titled(null), content('x')),
    fc.tuple(fc.constantFrom('a', 'b'), anyName).map(([id, name]) => created(id, name)),
    fc.constantFrom('a', 'b').map(deleted),
    anyName.map((checkpointName) => forked({ checkpointName })),
  )

  property.prop([fc.array(anyEvent, { maxLength: 12 }), fc.constantFrom(...PAGES)], { numRuns: 60 })(
    'has the names and checkpoints of replaySession, and like the text contains nothing that a terminal acts on',
    async (events, command) => {
      const filePath = writeSession(session(...events))
      const expected = some(await replaySession(filePath))
      const asJson = await sessionTape([command, filePath, '--json'])
      expect(some(JSON.parse(asJson.stdout))).toEqual(expected)
      const asText = await sessionTape([command, filePath])
      expect(asJson.stdout + asText.stdout).not.toMatch(UNSAFE)
    },
  )
})

describe('replay --strict', () => {
  test('is the result of a strict replay', async () => {
    const filePath = writeSession(
      `${session(content('x'), ['content', { content: { speaker: 'observer', blocks: [] } }])}${envelope('9', content('no number'))}\n`,
    )
    const { kind, path, ...result } = await resultOf(['replay', filePath, '--strict'])
    expect({ kind, path }).toEqual({ kind: 'session', path: filePath })
    expect(result).toEqual(await replaySession(filePath, undefined, { strict: true }))
    expect(result.warnings).toContain('Line 4: malformed sequence number, skipping')
    expect((await resultOf(['replay', filePath])).history).toHaveLength(3)
    expect(
      (await resultOf(['replay', filePath, '--strict', '--project', PROJECT_HASH, '--until', '1'])).history,
    ).toEqual([])
  })

  test('refuses a session whose header is incomplete', async () => {
    const filePath = writeSession(`${envelope(1, start({ startTime: '' }))}\n`)
    expect(await complaintOf(['replay', filePath, '--strict'], 1)).toContain(
      'Invalid session_start: missing or malformed required fields',
    )
    await shown(['replay', filePath])
  })

  const anySeq = fc.oneof(fc.nat(30), fc.constantFrom(-1, 1.5, 2 ** 53, '7', null, undefined, [3], {}))
  const anyItem = fc.record({
    speaker: fc.constantFrom('human', 'ai', 'tool', 'observer', '', 7),
    blocks: fc.constantFrom([], [{ type: 'text', text: 'ä' }], {}, undefined),
  })
  const anyLine = fc.oneof(
    fc.tuple(anySeq, anyItem).map(([seq, item]) => envelope(seq, ['content', { content: item }])),
    fc.constantFrom('7', 'null', '[]', '"text"', '{"torn'),
  )

  property.prop([fc.array(anyLine, { maxLength: 20 }), fc.boolean(), fc.option(fc.nat(40), { nil: undefined })], {
    numRuns: 150,
  })('and the default mode count exactly the items of their replay', async (lines, strict, throughSeq) => {
    const filePath = writeSession(`${session()}${lines.map((line) => `${line}\n`).join('')}`)
    const replayed = await replaySession(filePath, undefined, { strict, throughSeq })
    // A line of another version ends a strict replay, and its command before anything is counted.
    if (!replayed.ok && replayed.error.startsWith('Unsupported')) return
    const tally = await tallyOf(tape, filePath, { size: 1, strict, throughSeq })
    const turns = [...(tally.turns as Map<string, number>).values()].reduce((a, b) => a + b, 0)
    // Up to a `seq` before the first line there is no session.
    expect(turns).toBe(replayed.ok ? replayed.history.length : 0)
  })

  test('counts only the compressions that have an effect', async () => {
    const filePath = writeSession(
      session(content('x'), compressed('ä', 1), ['compressed', { summary: { speaker: 'ai' }, itemsCompressed: 1 }]),
    )
    expect(beside('Compressions', await shown(['replay', filePath, '--strict']))).toEqual(['1 (1 item summed up)'])
    expect(beside('Compressions', await shown(['replay', filePath]))).toEqual(['2 (2 items summed up)'])
  })
})
