// What a replay returns, from which paths, and that files which several threads scan follow the same rules (replay-rules.spec.ts).

import { renameSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openSession, replaySession } from '../../index.js'
import type { ReplayOptions } from '../../index.js'
import {
  START_METADATA,
  content,
  envelope,
  item,
  replayOf,
  rewind,
  session,
  sessionOf,
  textsOf,
  writeSession,
} from '../support/session-file.js'
import type { Event } from '../support/session-file.js'

describe('a replay', () => {
  test('has the items in order, the metadata of the session_start, and counts', async () => {
    const result = await replayOf(session(content('hello', 'human'), content('good day', 'ai')))
    expect(result).toStrictEqual({
      ok: true,
      history: [item('human', 'hello'), item('ai', 'good day')],
      metadata: START_METADATA,
      lastSeq: 3,
      eventCount: 3,
      warnings: [],
      sessionEvents: [],
      sequenceCorrupt: false,
      checkpoints: [],
    })
  })

  test('is not affected by changes to the history of an earlier one', async () => {
    const filePath = writeSession(session(content('a'), rewind(1), content('b')))
    const first = await replaySession(filePath)
    if (first.ok) first.history.push(item('ai', 'added by the caller'))
    const second = await replaySession(filePath)
    expect(second.ok && textsOf(second.history)).toStrictEqual(['b'])
  })

  test('takes a path in any script, and a relative one', async () => {
    const from = writeSession(session(content('a')))
    const to = join(dirname(from), "sessão 漢 😀 'x'.jsonl")
    renameSync(from, to)
    expect((await replaySession(to)).ok).toBe(true)
    expect((await replaySession(relative(process.cwd(), to))).ok).toBe(true)
  })

  test('is one of many at once, each of its own file', async () => {
    const texts = Array.from({ length: 40 }, (_, at) => Array.from({ length: at }, (_, turn) => `${at}.${turn}`))
    const files = texts.map((each) => writeSession(session(...each.map((text) => content(text)))))
    const results = await Promise.all(files.map((filePath) => replaySession(filePath)))
    expect(results.map((result) => result.ok && textsOf(result.history))).toStrictEqual(texts)
  })
})

describe('a file that several threads scan', () => {
  const BIG = 'x'.repeat(2000)
  async function replayed(filePath: string, options?: ReplayOptions) {
    const result = await replaySession(filePath, undefined, options)
    if (!result.ok) throw new Error(result.error)
    return result
  }

  test('is replayed by the same rules', async () => {
    const odd = ['{"v":1,"seq":0.5}', '{"v":1}', 'null', '{"v":1}', envelope(3, content('late')), '{']
    const events = Array.from({ length: 4000 }, (_, at) =>
      at % 500 === 250 ? (odd[(at / 500) | 0] ?? 'null') : content(`${at} ${BIG}`),
    )
    const filePath = writeSession(sessionOf(events))
    const { warnings, sequenceCorrupt, lastSeq, history } = await replayed(filePath, { strict: true })
    expect(warnings.slice(0, 5)).toStrictEqual([
      ...[252, 752, 1752].map((line) => `Line ${line}: malformed sequence number, skipping`),
      expect.stringMatching(/^Line 2252: non-monotonic seq 3 \(expected > \d+\)$/),
      'Line 2752: failed to parse JSON',
    ])
    expect([sequenceCorrupt, lastSeq]).toStrictEqual([true, 3993])
    const opened = await openSession(filePath, undefined, { strict: true })
    expect(opened.ok && opened.session.historyLength).toBe(history.length)
    if (opened.ok) opened.session.close()
  })

  test('ends before a line of a later version that is beyond throughSeq, wherever it is', async () => {
    const all = sessionOf(Array.from({ length: 3000 }, (_, at) => content(`${at} ${BIG}`)))
      .trimEnd()
      .split('\n')
    for (const at of [2, 700, 1500, 2999]) {
      const later = [`{"v":9,"seq":${at + 1}}`, ...all.slice(at + 1), '{"v":10}', 'not json', '']
      const path = writeSession([...all.slice(0, at), ...later].join('\n'))
      const { history, lastSeq, warnings } = await replayed(path, { strict: true, throughSeq: at })
      expect([history.length, lastSeq, warnings]).toStrictEqual([at - 1, at, []])
      expect(await replaySession(path, undefined, { strict: true, throughSeq: at + 1 })).toMatchObject({
        ok: false,
        error: `Unsupported recording version 9 at line ${at + 1}`,
      })
    }
  })

  test('has edits of items in all its parts', async () => {
    const chronology = (seq: number) => ({ seq, userTurn: 7, step: 8, recordedAt: 9 })
    const keyed = (text: string, seq: number) => ({ ...item('ai', text), metadata: { chronology: chronology(seq) } })
    const events = Array.from({ length: 6000 }, (_, at): Event => ['content', { content: keyed(`${at} ${BIG}`, at) }])
    const removedSeqs = Array.from({ length: 1000 }, (_, at) => 2 * at)
    const replacements = [{ replacedSeq: 1, replacement: item('ai', 'one') }]
    events.splice(3000, 0, ['density_mutation', { removedSeqs, replacements }])
    events.push(
      ['synthetic_insert', { content: keyed('inserted', 9000), chronologySeq: 9000, afterSeq: 1 }],
      ['rewind', { itemsRemoved: 0, cutSeq: 5990 }],
      ['chronology_bind', { rowIndex: 0, chronology: chronology(7) }],
    )
    const filePath = writeSession(sessionOf(events))
    for (const options of [{}, { strict: true }]) {
      const { history, warnings } = await replayed(filePath, options)
      expect([history.length, warnings]).toStrictEqual([5990 - 1000 + 1, []])
      expect(history[0]).toStrictEqual(keyed('one', 7))
      expect(textsOf(history.slice(1, 3))).toStrictEqual(['inserted', `3 ${BIG}`])
    }
  })
})
