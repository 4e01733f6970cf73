/** The events that edit the history, as the recorder writes them; and the kind of a session in its header. */
import { fc, test } from '../support/property'
import { describe, expect } from 'vitest'
import { type Recorder, linesOf, newRecorder, pathOf, recordsOf, said } from '../support/recording'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { importSession } from '../../index.js'
import { directoryOf } from '../support/file-directory'
import { hasReference, reference, stored } from '../support/plain-media'
import { created, forked, sourceOf } from '../support/session-fork'
import { content, session } from '../support/session-file'

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

const shown = (...blocks: unknown[]) => ({ speaker: 'human' as const, blocks: blocks as [] })

/** What may be wrong with a reference, or else about it: a member, where, and its value; `undefined` leaves it out. */
const anyChange = fc.tuple(
  fc.constantFrom([], ['originalObject'], ['selectedObject'], ['dimensions'], ['selectedObject', 'dimensions']),
  fc.constantFrom(
    'type',
    'encoding',
    'data',
    'sourcePath',
    'contentId',
    'originalContentId',
    'selectedContentId',
    'originalObject',
    'selectedObject',
    'mimeType',
    'byteLength',
    'normalizedBase64Length',
    'dimensions',
    'width',
    'height',
    'caption',
    'transformation',
    'providerFiles',
  ),
  fc.constantFrom<unknown>(
    undefined,
    null,
    '',
    'media',
    'reference',
    'image/png',
    'image/jpeg',
    'url',
    0,
    1,
    3,
    4,
    8,
    2.5,
    -1,
    1e300,
    stored('one').contentId,
    stored('two').contentId,
    `sha256:${'A'.repeat(64)}`,
    `sha256:${'0'.repeat(63)}`,
    ` ${stored('one').contentId}`,
    stored('one'),
    stored('two'),
    { width: 3, height: 2 },
    { width: 3 },
    [],
    {},
    [stored('one')],
  ),
)

function changed(block: any, changes: [string[], string, unknown][]): unknown {
  const copy = structuredClone(block)
  for (const [path, name, value] of changes) {
    const at = path.reduce((inner, step) => (typeof inner?.[step] === 'object' ? inner[step] : undefined), copy)
    // A copy: a later change may be one of its members.
    if (at !== undefined && at !== null) at[name] = structuredClone(value)
  }
  return copy
}

const anyBlock = fc
  .tuple(fc.constantFrom(['one', 'one'], ['one', 'two']), fc.array(anyChange, { maxLength: 2 }))
  .map(([[original, selected], changes]) => changed(reference(original!, selected), changes as []))
/** A payload with something like a reference in it, at any depth. */
const anyPayload = fc.letrec((tie) => ({
  payload: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    { weight: 3, arbitrary: anyBlock },
    fc.jsonValue({ maxDepth: 1 }),
    fc.array(tie('payload'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('content', 'blocks', 'originalObject', 'dimensions', 'a'), tie('payload'), {
      maxKeys: 3,
    }),
  ),
})).payload

describe('the version of a line', () => {
  test.prop([fc.array(anyPayload, { minLength: 1, maxLength: 12 })], { numRuns: 300 })(
    'is 2 exactly if its payload has a reference, whatever the type',
    async (payloads) => {
      const recorder = newRecorder()
      const before = recorder.enqueue('note', { payload: payloads[0] })!
      recorder.recordContent(said('x'))
      const returned = payloads.map((payload) => recorder.enqueue('note', { payload })!)
      const other = recorder.enqueue('content', { content: { ...said('y'), payloads } })!
      await recorder.dispose()
      const inFile = recordsOf(pathOf(recorder))
      const versions = payloads.map((payload) => (hasReference(JSON.parse(JSON.stringify({ payload }))) ? 2 : 1))
      expect(inFile.map((record) => record.v)).toEqual([1, versions[0], 1, ...versions, Math.max(...versions)])
      expect([before, ...returned, other].map(({ v, seq }) => [v, seq])).toEqual(
        [inFile[1]!, ...inFile.slice(3)].map(({ v, seq }) => [v, seq]),
      )
    },
  )

  test('is 1 for every block that breaks a rule, and 2 for one that has only what it must have', async () => {
    const whole = reference('one', 'two')
    const { caption: _, transformation: _1, semanticMetadata: _2, ...bare } = whole
    const { dimensions: _3, ...small } = stored('one')
    const undimensioned = {
      ...bare,
      ...small,
      ...reference('one'),
      dimensions: undefined,
      originalObject: small,
      selectedObject: small,
    }
    const right = [whole, bare, undimensioned, { ...whole, providerFileIds: { kimi: 'x' }, filename: 'é', further: [] }]
    const wrong = [
      { ...whole, type: 'text' },
      { ...whole, encoding: 'base64' },
      { ...whole, data: '' },
      { ...whole, data: null },
      { ...whole, sourcePath: '/x' },
      { ...whole, contentId: whole.originalContentId },
      { ...whole, originalContentId: whole.contentId },
      { ...whole, selectedContentId: whole.originalContentId },
      { ...whole, mimeType: 'image/gif' },
      { ...whole, byteLength: 4 },
      { ...whole, normalizedBase64Length: 8 },
      { ...whole, dimensions: { width: 3, height: 3 } },
      { ...whole, dimensions: undefined },
      { ...whole, originalObject: undefined },
      { ...whole, selectedObject: stored('one') },
      { ...whole, originalObject: stored('one', { normalizedBase64Length: 5 }) },
      { ...reference('one'), originalObject: stored('one', { mimeType: 'image/gif' }) },
      { ...whole, originalContentId: 'sha256:xyz', originalObject: stored('one', { contentId: 'sha256:xyz' }) },
    ]
    const recorder = newRecorder()
    for (const block of [...right, ...wrong]) recorder.recordContent(shown(block))
    await recorder.dispose()
    expect(
      recordsOf(pathOf(recorder))
        .slice(1)
        .map((record) => record.v),
    ).toEqual([...right.map(() => 2), ...wrong.map(() => 1)])
  })

  test('is what it must be in records that a reconciliation, a commit and a fork write', async () => {
    const recorder = newRecorder()
    recorder.recordContent(said('first'))
    await recorder.commit('content', { content: shown(reference('one')) })
    recorder.reconcile([said('first'), shown(reference('two')), shown({ ...reference('one'), data: '' })])
    await recorder.dispose()
    expect(recordsOf(pathOf(recorder)).map(({ v, type }) => [v, type])).toEqual([
      [1, 'session_start'],
      [1, 'content'],
      [2, 'content'],
      [1, 'rewind'],
      [2, 'content'],
      [1, 'content'],
    ])

    const source = sourceOf(session(content('one'), ['content', { content: shown(reference('one')) }], created('c1')))
    const plain = await forked(source.target(), source.options())
    const mapped = await forked(
      source.target(),
      source.options({ map: (one: any) => ({ ...one, blocks: [reference('two')] }) }),
    )
    const versionsOf = (path: string) =>
      readFileSync(path, 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).v as number)
    expect(versionsOf(plain.recording.getFilePath()!)).toEqual([1, 1, 1, 2])
    expect(versionsOf(mapped.recording.getFilePath()!)).toEqual([1, 1, 2, 2])
    await Promise.all([plain.recording.dispose(), mapped.recording.dispose()])
  })

  test('is what it must be in an imported session', async () => {
    const directory = directoryOf()
    const source = join(directory, 'claude.jsonl')
    const record = (type: string, uuid: string, parentUuid: string | null, message: unknown) =>
      JSON.stringify({
        parentUuid,
        sessionId: 'an-import',
        type,
        uuid,
        timestamp: '2026-02-11T16:00:00.000Z',
        cwd: '/w',
        version: '2.0.0',
        message,
      })
    const used = (id: string, input: unknown) => ({
      role: 'assistant',
      model: 'm',
      content: [{ type: 'tool_use', id, name: 'Look', input }],
    })
    const lines = [
      record('user', 'u1', null, { role: 'user', content: 'look' }),
      record('assistant', 'a1', 'u1', used('t1', { image: reference('one') })),
      record('assistant', 'a2', 'a1', used('t2', { image: { ...reference('one'), data: '' } })),
    ]
    writeFileSync(source, `${lines.join('\n')}\n`)
    const imported = await importSession(source, { chatsDir: join(directory, 'chats'), projectHash: 'p' })
    const records = readFileSync(imported.filePath, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { v: number; payload: unknown })
    expect(records.map(({ v }) => v)).toEqual(records.map(({ payload }) => (hasReference(payload) ? 2 : 1)))
    expect(records.filter(({ v }) => v === 2)).toHaveLength(1)
  })
})
