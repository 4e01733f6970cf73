/** A header with the number 0, as today's CLI writes it in forks, is read and counted as it is, and the numbers of the records behind it stay. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import {
  describeSessions,
  forkSession,
  listContinueTargets,
  listSessions,
  openSession,
  readSessionHeader,
  readSessionRecords,
  replaySession,
  type ContinueTarget,
} from '../../index.js'
import { checkpoint, projectOf } from '../support/project-files.js'
import { test } from '../support/property'
import { resumed } from '../support/resuming'
import { content, envelope, item, PROJECT_HASH, start, textsOf } from '../support/session-file'

const FORKED = { parentSessionId: 'parent', parentSequence: 9, checkpointId: 'c', checkpointName: 'here' }
/** As the CLI forks: its header, the records of the history with the numbers that they had, then where it comes from. */
const child = [
  envelope(0, start({ sessionId: 'child' })),
  envelope(2, content('a')),
  envelope(5, content('b')),
  envelope(7, content('c')),
  envelope(8, ['rewind', { itemsRemoved: 1 }]),
  envelope(10, ['session_forked', FORKED]),
]
  .map((line) => `${line}\n`)
  .join('')
const directoryOf = (text: string): string => projectOf({ 'session-child.jsonl': text })
const numbersOf = (path: string): number[] =>
  readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { seq: number }).seq)

describe('a session whose header has the number 0', () => {
  test('is replayed, opened and read with its numbers, and counts its header', async () => {
    const path = join(directoryOf(child), 'session-child.jsonl')
    for (const strict of [true, false]) {
      const replayed = await replaySession(path, PROJECT_HASH, { strict })
      expect(replayed).toMatchObject({
        ok: true,
        lastSeq: 10,
        eventCount: 6,
        warnings: [],
        sequenceCorrupt: false,
        ancestry: FORKED,
      })
      expect(replayed.ok && textsOf(replayed.history)).toStrictEqual(['a', 'b'])
      const through = await replaySession(path, PROJECT_HASH, { strict, throughSeq: 2 })
      expect(through.ok && [textsOf(through.history), through.lastSeq, through.eventCount]).toStrictEqual([['a'], 2, 2])
      const nothing = await replaySession(path, PROJECT_HASH, { strict, throughSeq: 0 })
      expect(nothing).toMatchObject({ ok: true, history: [], lastSeq: 0, eventCount: 1 })
    }
    const opened = await openSession(path, PROJECT_HASH, { strict: true })
    expect(opened).toMatchObject({ ok: true, session: { historyLength: 2, lastSeq: 10, eventCount: 6 } })
    if (opened.ok) opened.session.close()
    expect(await readSessionHeader(path)).toMatchObject({ sessionId: 'child' })
    const seqs = []
    for await (const { record } of readSessionRecords(path)) seqs.push((record as { seq: number }).seq)
    expect(seqs).toStrictEqual([0, 2, 5, 7, 8, 10])
  })

  test('is in every list', async () => {
    const directory = directoryOf(child)
    expect((await listSessions(directory)).sessions).toMatchObject([{ sessionId: 'child' }])
    expect(await describeSessions(directory)).toMatchObject({
      sessions: [{ sessionId: 'child', lastSeq: 10, eventCount: 6, historyLength: 2, sequenceCorrupt: false }],
      unreadable: [],
    })
    expect(await listContinueTargets(directory, PROJECT_HASH)).toMatchObject({
      targets: [{ session: { sessionId: 'child' } }],
      unreadable: [],
    })
  })

  test('is resumed behind its last number, also if that is 0', async () => {
    for (const [text, numbers] of [
      [child, [0, 2, 5, 7, 8, 10, 11, 12]],
      [child.slice(0, child.indexOf('\n') + 1), [0, 1, 2]],
    ] as const) {
      const directory = directoryOf(text)
      const { recording } = await resumed(directory)
      recording.recordContent(item('human', 'd'))
      await recording.dispose()
      expect(numbersOf(join(directory, 'session-child.jsonl'))).toStrictEqual(numbers)
      expect(await replaySession(join(directory, 'session-child.jsonl'), PROJECT_HASH, { strict: true })).toMatchObject(
        { ok: true, sequenceCorrupt: false, warnings: [] },
      )
    }
  })

  test('is forked at a checkpoint that has the number 1 or a later one', async () => {
    const first = `${envelope(0, start({ sessionId: 'child' }))}\n${envelope(1, content('a'))}\n${envelope(2, checkpoint('k', 'now'))}\n${envelope(3, content('b'))}\n`
    for (const [text, sequence, texts] of [
      [first, 2, ['a']],
      [`${child}${envelope(11, checkpoint('k', 'now'))}\n`, 11, ['a', 'b']],
    ] as const) {
      const directory = directoryOf(text)
      const target = (await listContinueTargets(directory, PROJECT_HASH)).targets.find(
        ({ kind }) => kind === 'checkpoint',
      ) as Extract<ContinueTarget, { kind: 'checkpoint' }>
      expect(target.sequence).toBe(sequence)
      const forked = await forkSession(target, {
        chatsDir: directory,
        projectHash: PROJECT_HASH,
        provider: 'p',
        model: 'm',
        workspaceDirs: [],
      })
      if (!forked.ok) throw new Error(forked.error)
      expect(textsOf(forked.history)).toStrictEqual(texts)
      await forked.recording.dispose()
      const path = forked.recording.getFilePath()!
      expect(await replaySession(path, PROJECT_HASH, { strict: true })).toMatchObject({
        ok: true,
        ancestry: { parentSessionId: 'child', parentSequence: sequence },
        sequenceCorrupt: false,
      })
    }
  })
})
