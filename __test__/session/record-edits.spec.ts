/** The events that edit the history, as the recorder writes them; and the kind of a session in its header. */
import { fc, test } from '../support/property'
import { describe, expect } from 'vitest'
import { type Recorder, linesOf, newRecorder, pathOf, recordsOf, said } from '../support/recording'

const MARKER = { seq: 3, userTurn: 1, step: 0, recordedAt: 1_760_000_000_000 }

/** Each method with an argument, and the event that it records. */
const WAYS: [type: string, record: (recorder: Recorder) => void, payload: unknown][] = [
  ['rewind', (r) => r.recordRewind(2), { itemsRemoved: 2 }],
  ['rewind', (r) => r.recordRewind(2, 17), { itemsRemoved: 2, cutSeq: 17 }],
  [
    'density_mutation',
    (r) =>
      r.recordDensityChange({ removedSeqs: [1, 2], replacements: [{ replacedSeq: 3, replacement: said('short') }] }),
    { removedSeqs: [1, 2], replacements: [{ replacedSeq: 3, replacement: said('short') }] },
  ],
  [
    'synthetic_insert',
    (r) => r.recordSyntheticInsert({ content: said('made up'), chronologySeq: 9, afterSeq: 3 }),
    { content: said('made up'), chronologySeq: 9, afterSeq: 3 },
  ],
  [
    'compression_detail',
    (r) => r.recordCompressionDetail({ fromSeq: 1, toSeq: 8, itemsCompressed: 8 }),
    { fromSeq: 1, toSeq: 8, itemsCompressed: 8 },
  ],
  [
    'chronology_bind',
    (r) => r.recordChronologyBind({ rowIndex: 0, chronology: MARKER }),
    { rowIndex: 0, chronology: MARKER },
  ],
  [
    'chronology_bind',
    (r) => r.recordChronologyBind({ rowIndex: 0, chronology: MARKER, content: said('new'), invalidateResponses: true }),
    { rowIndex: 0, chronology: MARKER, content: said('new'), invalidateResponses: true },
  ],
  [
    'semantic_media_purge',
    (r) => r.recordSemanticMediaPurge({ history: [said('kept')], frontier: { contentIndex: 0, blockIndex: 0 } }),
    { history: [said('kept')], frontier: { contentIndex: 0, blockIndex: 0 } },
  ],
  [
    'semantic_media_purge',
    (r) => r.recordSemanticMediaPurge([said('kept')], { contentIndex: 0, blockIndex: 0 }),
    { history: [said('kept')], frontier: { contentIndex: 0, blockIndex: 0 } },
  ],
  [
    'semantic_media_purge',
    (r) => r.recordSemanticMediaPurge([], { contentIndex: 0, blockIndex: 0 }),
    { history: [], frontier: { contentIndex: 0, blockIndex: 0 } },
  ],
]

describe('an event that edits the history', () => {
  test.each(WAYS)(
    '%s is recorded as it was given, with the version that readers must know for it',
    async (type, record, payload) => {
      const recorder = newRecorder()
      recorder.recordContent(said('first'))
      record(recorder)
      await recorder.dispose()
      const last = recordsOf(pathOf(recorder)).at(-1)!
      expect(last).toMatchObject({ v: type === 'semantic_media_purge' ? 2 : 1, seq: 3, type })
      expect(last.payload).toEqual(payload)
      expect(Object.keys(last)).toEqual(['v', 'seq', 'ts', 'type', 'payload'])
    },
  )

  test.each(WAYS)('%s creates the file only if it is whole without what was before it', async (type, record) => {
    const recorder = newRecorder()
    record(recorder)
    expect(recorder.getFilePath() !== null).toBe(type === 'semantic_media_purge')
    await recorder.dispose()
  })

  test('a returned record has the version of its line', async () => {
    const recorder = newRecorder()
    const records = ['content', 'semantic_media_purge', 'rewind'].map((type) => recorder.enqueue(type, { n: 1 })!)
    await recorder.dispose()
    expect(records.map(({ v }) => v)).toEqual([1, 2, 1])
    expect(recordsOf(pathOf(recorder)).slice(1)).toEqual(records)
  })

  test('a purge that creates the file comes after what was buffered, each line with its own version', async () => {
    const recorder = newRecorder()
    recorder.enqueue('note', {})
    recorder.recordSemanticMediaPurge({ history: [], frontier: { contentIndex: 0, blockIndex: 0 } })
    await recorder.dispose()
    expect(recordsOf(pathOf(recorder)).map(({ v, seq, type }) => [v, seq, type])).toEqual([
      [1, 1, 'session_start'],
      [1, 2, 'note'],
      [2, 3, 'semantic_media_purge'],
    ])
  })

  const notSeqs = [-1, 0.5, NaN, Infinity, 2 ** 53, '1', null, undefined]
  const refused: [name: string, call: (recorder: any) => void][] = [
    ...notSeqs.slice(0, -1).map((seq): [string, (r: any) => void] => ['cutSeq', (r) => r.recordRewind(1, seq)]),
    ...notSeqs.map((seq): [string, (r: any) => void] => [
      'change.removedSeqs[1]',
      (r) => r.recordDensityChange({ removedSeqs: [1, seq], replacements: [] }),
    ]),
    ['change', (r) => r.recordDensityChange()],
    ['change.removedSeqs', (r) => r.recordDensityChange({ replacements: [] })],
    ['change.replacements', (r) => r.recordDensityChange({ removedSeqs: [] })],
    [
      'change.replacements[0].replacedSeq',
      (r) => r.recordDensityChange({ removedSeqs: [], replacements: [{ replacement: said('x') }] }),
    ],
    [
      'change.replacements[0].replacement',
      (r) => r.recordDensityChange({ removedSeqs: [], replacements: [{ replacedSeq: 1 }] }),
    ],
    ['insert.content', (r) => r.recordSyntheticInsert({ chronologySeq: 1, afterSeq: 1 })],
    ['insert.chronologySeq', (r) => r.recordSyntheticInsert({ content: said('x'), afterSeq: 1 })],
    ['insert.afterSeq', (r) => r.recordSyntheticInsert({ content: said('x'), chronologySeq: 1, afterSeq: -1 })],
    ['detail.toSeq', (r) => r.recordCompressionDetail({ fromSeq: 1, itemsCompressed: 1 })],
    ['bind.rowIndex', (r) => r.recordChronologyBind({ rowIndex: -1, chronology: MARKER })],
    ['bind.chronology.step', (r) => r.recordChronologyBind({ rowIndex: 0, chronology: { ...MARKER, step: '1' } })],
    ['bind.content', (r) => r.recordChronologyBind({ rowIndex: 0, chronology: MARKER, content: null })],
    [
      'bind.invalidateResponses',
      (r) => r.recordChronologyBind({ rowIndex: 0, chronology: MARKER, invalidateResponses: 1 }),
    ],
    ['purge.history', (r) => r.recordSemanticMediaPurge({ frontier: { contentIndex: 0, blockIndex: 0 } })],
    [
      'purge.frontier',
      (r) => r.recordSemanticMediaPurge({ history: [], frontier: { contentIndex: 0, blockIndex: 1 } }),
    ],
    [
      'purge.frontier',
      (r) => r.recordSemanticMediaPurge({ history: [said('x')], frontier: { contentIndex: 0, blockIndex: 1 } }),
    ],
    [
      'purge.frontier',
      (r) => r.recordSemanticMediaPurge({ history: [said('x')], frontier: { contentIndex: 1, blockIndex: 0 } }),
    ],
    ['purge', (r) => r.recordSemanticMediaPurge()],
    ['history', (r) => r.recordSemanticMediaPurge(null, { contentIndex: 0, blockIndex: 0 })],
    ['history', (r) => r.recordSemanticMediaPurge({ 0: said('x'), length: 1 }, { contentIndex: 0, blockIndex: 0 })],
    ['history[1]', (r) => r.recordSemanticMediaPurge([said('x'), 'y'], { contentIndex: 0, blockIndex: 0 })],
    ['frontier', (r) => r.recordSemanticMediaPurge([said('x')])],
    ['frontier', (r) => r.recordSemanticMediaPurge([said('x')], null)],
    ['frontier.blockIndex', (r) => r.recordSemanticMediaPurge([said('x')], { contentIndex: 0 })],
    ['frontier', (r) => r.recordSemanticMediaPurge([said('x')], { contentIndex: 1, blockIndex: 0 })],
  ]
  test('that replay would skip is refused with the name of what is wrong, and nothing is recorded', async () => {
    const recorder = newRecorder()
    recorder.recordContent(said('first'))
    for (const [name, call] of refused) {
      expect(() => call(recorder), name).toThrow(
        expect.objectContaining({
          name: 'TypeError',
          message: expect.stringContaining(`${name} must be`),
          code: 'ERR_INVALID_ARG_TYPE',
        }),
      )
    }
    await recorder.dispose()
    expect(linesOf(pathOf(recorder))).toHaveLength(2)
  })
})

describe('the kind of a session', () => {
  test('is in the header as configured, with the parent, after the fields that every header has', async () => {
    const recorder = newRecorder({ kind: 'subagent', parentSessionId: 'the-parent', cwd: '/w' })
    recorder.recordContent(said('x'))
    await recorder.dispose()
    const { payload } = recordsOf(pathOf(recorder))[0]!
    expect(Object.keys(payload)).toEqual([
      'sessionId',
      'projectHash',
      'workspaceDirs',
      'cwd',
      'provider',
      'model',
      'startTime',
      'kind',
      'parentSessionId',
    ])
    expect(payload).toMatchObject({ kind: 'subagent', parentSessionId: 'the-parent' })
  })

  test.prop([fc.anything()], { numRuns: 60 })('of any other value is refused', (kind) => {
    fc.pre(kind !== 'main' && kind !== 'subagent' && kind !== undefined)
    expect(() => newRecorder({ kind: kind as 'main' })).toThrow(/config\.kind must be one of/)
  })

  test('a parent that is no id is refused', () => {
    for (const parentSessionId of ['', 1, null, {}]) {
      expect(() => newRecorder({ parentSessionId: parentSessionId as string })).toThrow(
        /config\.parentSessionId must be/,
      )
    }
  })
})
