/** The file and the live history: whatever was recorded, missed or recorded wrongly, `reconcile` makes a replay of the file give the history. */
import { appendFileSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { resumeSession } from '../../index.js'
import { fc, test } from '../support/property'
import { describe, expect } from 'vitest'
import {
  type Content,
  type Recorder,
  linesOf,
  newRecorder,
  pathOf,
  recordsOf,
  replaySession,
  said,
  startedRecorder,
  theWarning,
  watchedRecorder,
} from '../support/recording'

const NOTHING = { removed: 0, added: 0, replaced: 0 }

const marker = (seq: number) => ({ seq, userTurn: 1, step: 0, recordedAt: 5 })
const keyed = (text: string, seq: number): Content => ({ ...said(text, 'ai'), metadata: { chronology: marker(seq) } })
const types = (path: string): string[] => recordsOf(path).map(({ type }) => type)

async function historyOf(recorder: Recorder): Promise<Content[]> {
  await recorder.flush()
  const replayed = await replaySession<Content>(pathOf(recorder), undefined, { strict: true })
  if (!replayed.ok) throw new Error(replayed.error)
  return replayed.history
}

/** Asserts that a replay gives these items, key order included, and that reconciling again records nothing. */
async function expectReconciled(recorder: Recorder, items: Content[]): Promise<void> {
  expect((await historyOf(recorder)).map((item) => JSON.stringify(item))).toEqual(
    items.map((item) => JSON.stringify(item)),
  )
  const size = statSync(pathOf(recorder)).size
  expect(recorder.reconcile(items)).toEqual(NOTHING)
  // Other objects, equal items.
  expect(recorder.reconcile(structuredClone(items))).toEqual(NOTHING)
  await recorder.flush()
  expect(statSync(pathOf(recorder)).size).toBe(size)
}

describe('an equal history', () => {
  test('records nothing, at any time: before anything is recorded, queued, written, resumed', async () => {
    const recorder = newRecorder()
    expect(recorder.reconcile([])).toEqual(NOTHING)
    const items = [said('one'), keyed('two', 2), said('three \u2028 ü \ud83d', 'tool')]
    items.forEach((item, index) => {
      recorder.recordContent(item)
      expect(recorder.reconcile(items.slice(0, index + 1))).toEqual(NOTHING)
    })
    await expectReconciled(recorder, items)
    const path = pathOf(recorder)
    await recorder.dispose()
    const next = newRecorder()
    next.initializeForResume(path, 4)
    next.recordSessionEvent('info', 'resumed')
    expect(next.reconcile(items)).toEqual(NOTHING)
    await next.dispose()
    expect(types(path)).toEqual(['session_start', 'content', 'content', 'content', 'session_event'])
  })

  test('of a recorder without a file makes the file, also of no items', async () => {
    const [bare, buffered, emptied] = [newRecorder(), newRecorder(), newRecorder()]
    expect(bare.reconcile([])).toEqual(NOTHING)
    buffered.recordCompressed(said('summary', 'ai'), 3)
    const note = buffered.waitForCommit(buffered.enqueue('note', 1))
    expect(buffered.reconcile([said('summary', 'ai')])).toEqual(NOTHING)
    emptied.recordCompressed(said('summary', 'ai'), 3)
    expect(emptied.reconcile([])).toEqual({ removed: 1, added: 0, replaced: 0 })
    await expectReconciled(bare, [])
    await expectReconciled(buffered, [said('summary', 'ai')])
    expect(await note).toMatchObject({ seq: 3 })
    await expectReconciled(emptied, [])
    for (const recorder of [bare, buffered, emptied]) await recorder.dispose()
    expect([bare, buffered, emptied].map((recorder) => types(pathOf(recorder)))).toEqual([
      ['session_start'],
      ['session_start', 'compressed', 'note'],
      ['session_start', 'compressed', 'rewind'],
    ])
  })

  test('of a recorder whose file cannot be made ends the recording', async () => {
    for (const [items, dropped] of [
      [[], 1],
      [[said('x')], 2],
    ] as const) {
      const { recorder, warnings } = watchedRecorder({ chatsDir: '/dev/null/chats' })
      recorder.reconcile([...items])
      expect(recorder.isActive()).toBe(false)
      expect(await theWarning(warnings)).toMatchObject({ code: 'ENOTDIR', eventsDropped: dropped })
      await recorder.dispose()
    }
  })
})

describe('a difference', () => {
  test('an item with a key is replaced in place, and the rest stays', async () => {
    const recorder = newRecorder()
    const items = Array.from({ length: 6 }, (_, i) => keyed(`old ${i}`, i))
    items.forEach(recorder.recordContent)
    const changed = [
      ...items.slice(0, 2),
      keyed('new', 2),
      items[3]!,
      keyed('new too', 4),
      items[5]!,
      keyed('added', 6),
    ]
    expect(recorder.reconcile(changed)).toEqual({ removed: 0, added: 1, replaced: 2 })
    await expectReconciled(recorder, changed)
    const { payload } = recordsOf(pathOf(recorder))[7]!
    expect(payload).toEqual({
      removedSeqs: [],
      replacements: [
        { replacedSeq: 2, replacement: changed[2] },
        { replacedSeq: 4, replacement: changed[4] },
      ],
    })
    await recorder.dispose()
  })

  test('a rewind names the key of the first item that it removes', async () => {
    const recorder = newRecorder()
    const items = [keyed('a', 10), keyed('b', 11), said('c')]
    items.forEach(recorder.recordContent)
    expect(recorder.reconcile([items[0]!])).toEqual({ removed: 2, added: 0, replaced: 0 })
    await recorder.flush()
    expect(recordsOf(pathOf(recorder)).at(-1)!.payload).toEqual({ itemsRemoved: 2, cutSeq: 11 })
    await expectReconciled(recorder, [items[0]!])
    await recorder.dispose()
  })

  test('in a file that another program has formatted is recorded once', async () => {
    const recorder = newRecorder()
    recorder.recordContent(said('spaced'))
    await recorder.dispose()
    const path = pathOf(recorder)
    writeFileSync(path, readFileSync(path, 'utf8').replace('"speaker":"human"', '"speaker" : "human"'))
    const next = newRecorder()
    next.initializeForResume(path, 2)
    expect(next.reconcile([said('spaced')])).toEqual({ removed: 1, added: 1, replaced: 0 })
    await expectReconciled(next, [said('spaced')])
    await next.dispose()
  })
})

describe('any history', () => {
  const text = fc.constantFrom('a', 'b', 'ü\u2028', 'x'.repeat(300))
  const anyItem = fc
    .tuple(
      text,
      fc.constantFrom('human', 'ai', 'tool'),
      fc.option(fc.nat({ max: 4 })),
      fc.constantFrom('first', 'last', 'beside'),
    )
    .map(([said, speaker, seq, place]): Content => {
      const blocks: Content['blocks'] = [{ type: 'text', text: said }]
      const item = { speaker: speaker as 'ai', blocks }
      if (seq === null) return place === 'beside' ? { ...item, metadata: { tokens: 1 } } : item
      if (place === 'first') return { metadata: { chronology: marker(seq) }, ...item }
      return {
        ...item,
        metadata: place === 'last' ? { chronology: marker(seq) } : { id: 'x', chronology: marker(seq), tokens: 3 },
      }
    })
  const seqs = fc.array(fc.nat({ max: 4 }), { maxLength: 3 })
  type Step = (recorder: Recorder) => void
  const step: fc.Arbitrary<Step> = fc.oneof(
    {
      weight: 6,
      arbitrary: anyItem.map(
        (item): Step =>
          (r) =>
            r.recordContent(item),
      ),
    },
    anyItem.map(
      (item): Step =>
        (r) =>
          r.recordCompressed(item, 1),
    ),
    fc.tuple(fc.nat({ max: 3 }), fc.option(fc.nat({ max: 4 }), { nil: undefined })).map(
      ([count, cut]): Step =>
        (r) =>
          r.recordRewind(count, cut),
    ),
    fc.tuple(seqs, fc.array(fc.tuple(fc.nat({ max: 4 }), anyItem), { maxLength: 3 })).map(
      ([removedSeqs, replaced]): Step =>
        (r) =>
          r.recordDensityChange({
            removedSeqs,
            replacements: replaced.map(([replacedSeq, replacement]) => ({ replacedSeq, replacement })),
          }),
    ),
    fc.tuple(anyItem, fc.nat({ max: 4 })).map(
      ([content, afterSeq]): Step =>
        (r) =>
          r.recordSyntheticInsert({ content, chronologySeq: 1, afterSeq }),
    ),
    fc.tuple(fc.nat({ max: 6 }), fc.nat({ max: 4 }), fc.option(anyItem, { nil: undefined })).map(
      ([rowIndex, seq, content]): Step =>
        (r) =>
          r.recordChronologyBind({ rowIndex, chronology: marker(seq), ...(content && { content }) }),
    ),
    fc.array(anyItem, { minLength: 1, maxLength: 3 }).map(
      (history): Step =>
        (r) =>
          r.recordSemanticMediaPurge({ history, frontier: { contentIndex: 0, blockIndex: 0 } }),
    ),
    anyItem.map(
      (item): Step =>
        (r) =>
          void r.enqueue('content', { content: { ...item, speaker: 'nobody' } }),
    ),
    fc.constant((r: Recorder) => r.recordSessionEvent('info', 'x')),
  )
  /** What becomes of the history that the file gives. */
  const change = fc.oneof(
    fc.tuple(fc.nat(), anyItem).map(
      ([at, item]) =>
        (items: Content[]) =>
          items.toSpliced(at % (items.length + 1), 0, item),
    ),
    fc.nat().map((at) => (items: Content[]) => items.toSpliced(at % (items.length + 1), 1)),
    fc.tuple(fc.nat(), text).map(
      ([at, said]) =>
        (items: Content[]) =>
          items.map((item, index) =>
            index === at % items.length
              ? { ...item, blocks: [{ type: 'text', text: `${said}!` }] as Content['blocks'] }
              : item,
          ),
    ),
    fc.array(anyItem, { maxLength: 4 }).map((items) => () => items),
    fc.constant((items: Content[]) => items),
  )

  test.prop(
    [
      fc.array(fc.tuple(fc.array(step, { maxLength: 12 }), fc.array(change, { maxLength: 3 })), {
        minLength: 1,
        maxLength: 4,
      }),
      fc.boolean(),
    ],
    { numRuns: 150 },
  )(
    'after any events and any changes: a replay of the file gives the list, and a second call records nothing',
    async (rounds, isKnownFromTheStart) => {
      const recorder = newRecorder()
      if (isKnownFromTheStart) recorder.reconcile([])
      for (const [steps, changes] of rounds) {
        steps.forEach((record) => record(recorder))
        const before = recorder.getFilePath() === null ? [] : await historyOf(recorder)
        const wanted = changes.reduce((items, make) => make(items), before)
        recorder.reconcile(wanted)
        await expectReconciled(recorder, wanted)
      }
      await recorder.dispose()
    },
  )

  test.prop([fc.array(step, { maxLength: 25 })], { numRuns: 100 })(
    'what was recorded is in force, whether it is queued or in the file',
    async (steps) => {
      const recorder = newRecorder()
      recorder.recordContent(said('first'))
      recorder.reconcile([said('first')])
      steps.forEach((record) => record(recorder))
      // Without waiting for the writer.
      const copy = newRecorder()
      copy.recordContent(said('first'))
      steps.forEach((record) => record(copy))
      expect(recorder.reconcile(await historyOf(copy))).toEqual(NOTHING)
      await Promise.all([recorder.dispose(), copy.dispose()])
    },
  )
})

describe('items that the recorder has seen', () => {
  /** Counts how often items are serialised. */
  const counting = (items: Content[]): { times: number } => {
    const counted = { times: 0 }
    for (const item of items)
      Object.defineProperty(item, 'toJSON', { value: () => (counted.times++, { ...item }), enumerable: false })
    return counted
  }

  test('are not serialised again by the first call if they were recorded', async () => {
    const recorder = newRecorder()
    const items = [said('one'), keyed('two', 2), said('three \u2028'), said('four')]
    const counted = counting(items)
    items.forEach(recorder.recordContent)
    expect(counted.times).toBe(4)
    expect(recorder.reconcile(items)).toEqual(NOTHING)
    expect(counted.times).toBe(4)
    expect(recorder.reconcile([...items.slice(0, 3), said('five')])).toEqual({ removed: 1, added: 1, replaced: 0 })
    await recorder.dispose()
  })

  test('are not serialised by the first call of a resumed session', async () => {
    const first = newRecorder()
    const items = [said('one'), keyed('two', 2), keyed('three', 3), said('four')]
    items.forEach(first.recordContent)
    first.recordChronologyBind({ rowIndex: 0, chronology: marker(1) })
    first.recordDensityChange({
      removedSeqs: [3],
      replacements: [{ replacedSeq: 2, replacement: said('smaller', 'ai') }],
    })
    await first.dispose()
    const request = {
      continueRef: first.getSessionId(),
      projectHash: first.getProjectHash(),
      chatsDir: dirname(pathOf(first)),
      currentProvider: 'p',
      currentModel: 'm',
      workspaceDirs: [],
    }
    const resumed = await resumeSession<Content>(request)
    if (!resumed.ok) throw new Error(resumed.error)
    const { recording, history } = resumed
    expect(history).toHaveLength(3)
    const counted = counting(history)
    expect(recording.reconcile(history)).toEqual(NOTHING)
    expect(counted.times).toBe(0)
    expect(recording.reconcile(structuredClone(history.map((item) => ({ ...item }))))).toEqual(NOTHING)
    const next = said('next')
    recording.recordContent(next)
    expect(recording.reconcile([...history, next])).toEqual(NOTHING)
    expect(recording.reconcile(history.slice(0, 1))).toEqual({ removed: 3, added: 0, replaced: 0 })
    await recording.dispose()
  })

  test('are in force only where the file has them: not in another file, nor behind what another program has appended', async () => {
    const { recorder, path } = await startedRecorder()
    await recorder.dispose()
    const next = newRecorder()
    const [old, own] = [said('old'), said('own')]
    next.recordContent(old)
    // The new record has the number that the old one has in the other file.
    next.initializeForResume(path, 1)
    next.recordContent(own)
    expect(next.reconcile([said('all is well'), old])).toEqual({ removed: 1, added: 1, replaced: 0 })
    await expectReconciled(next, [said('all is well'), old])
    const path2 = pathOf(next)
    await next.dispose()
    const last = newRecorder()
    last.initializeForResume(path2, 5)
    const [before, after] = [said('before'), said('after')]
    last.recordContent(before)
    await last.flush()
    appendFileSync(path2, readFileSync(path2, 'utf8').trimEnd().split('\n').at(-1)!.replace('before', 'others') + '\n')
    last.recordContent(after)
    expect(last.reconcile([said('all is well'), old, before, after])).toEqual({ removed: 2, added: 1, replaced: 0 })
    await expectReconciled(last, [said('all is well'), old, before, after])
    await last.dispose()
  })

  test('and were changed in place since are looked at again if the file has something else', async () => {
    const recorder = newRecorder()
    const items = [said('one'), said('two')]
    items.forEach(recorder.recordContent)
    expect(recorder.reconcile(items)).toEqual(NOTHING)
    items.forEach((item, rowIndex) => {
      const chronology = marker(rowIndex + 1)
      recorder.recordChronologyBind({ rowIndex, chronology })
      item.metadata = { chronology }
    })
    await expectReconciled(recorder, items)
    items[0]!.metadata = { chronology: marker(1), tokens: 5 } as never
    recorder.recordRewind(1)
    expect(recorder.reconcile(items)).toEqual({ removed: 0, added: 1, replaced: 0 })
    await recorder.dispose()
  })

  const pick = fc.array(fc.nat(), { maxLength: 8 })
  test.prop(
    [
      fc.array(
        fc.tuple(
          fc.constantFrom('content', 'summary', 'rewind', 'mutate', 'insert', 'bind', 'flush'),
          fc.nat({ max: 4 }),
        ),
        { maxLength: 25 },
      ),
      pick,
    ],
    { numRuns: 150 },
  )('and any others: a replay gives the list that was passed', async (steps, picked) => {
    const recorder = newRecorder()
    const seen: Content[] = [said('first')]
    recorder.recordContent(seen[0]!)
    const made = (seq: number): Content => {
      const item = seq % 2 === 0 ? said(`${seen.length % 3}`) : keyed(`${seen.length % 3}`, seq)
      seen.push(item)
      return item
    }
    for (const [kind, seq] of steps) {
      if (kind === 'content') recorder.recordContent(made(seq))
      if (kind === 'summary') recorder.recordCompressed(made(seq), 1)
      if (kind === 'rewind') recorder.recordRewind(seq)
      if (kind === 'mutate')
        recorder.recordDensityChange({
          removedSeqs: [seq],
          replacements: [{ replacedSeq: seq ^ 2, replacement: made(seq) }],
        })
      if (kind === 'insert') recorder.recordSyntheticInsert({ content: made(seq), chronologySeq: 1, afterSeq: seq })
      if (kind === 'bind') recorder.recordChronologyBind({ rowIndex: seq, chronology: marker(seq) })
      if (kind === 'flush') await recorder.flush()
    }
    const wanted = picked.map((at) => seen[at % seen.length]!)
    recorder.reconcile(wanted)
    await expectReconciled(recorder, wanted)
    await recorder.dispose()
  })
})

describe('limits', () => {
  test('what is no list of items is refused with its place, and nothing is recorded', async () => {
    const { recorder, path } = await startedRecorder()
    const wrong: [unknown, string][] = [
      [null, 'items must be an array'],
      [[null], 'items[0] must be an object'],
      [[said('x'), 'y'], 'items[1] must be an object'],
      [[{ speaker: 'nobody', blocks: [] }], 'items[0].speaker must be one of'],
      [[{ speaker: 'ai', blocks: {} }], 'items[0].blocks must be an array'],
    ]
    for (const [items, message] of wrong) expect(() => recorder.reconcile(items as Content[])).toThrow(message)
    await recorder.dispose()
    expect(linesOf(path)).toHaveLength(2)
  })

  test('a file that does not replay is said to be so', async () => {
    const { recorder, path } = await startedRecorder()
    const next = newRecorder()
    writeFileSync(path, 'not a session\n')
    next.initializeForResume(path, 2)
    expect(() => next.reconcile([])).toThrow('Cannot reconcile: Missing or corrupt session_start event')
    await next.dispose()
    await recorder.dispose()
  })
})
