// The effect of contents, compressions and rewinds on a history.

import { renameSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, test } from 'vitest'
import { replaySession } from '../../index.js'
import {
  START_METADATA,
  compressed,
  content,
  item,
  replayOf,
  replayedOf,
  rewind,
  session,
  textsOf,
  writeSession,
} from '../support/session-file.js'
import { eachCase } from '../support/each-case.js'
import { expectSame } from '../support/same-replay.js'

describe('history', () => {
  test('a user turn and an answer are replayed in order, with the metadata of the session_start', async () => {
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

  test('a session that has only begun replays to an empty history', async () => {
    const result = await replayedOf(session())
    expect(result.history).toStrictEqual([])
    expect(result.lastSeq).toBe(1)
    expect(result.eventCount).toBe(1)
  })

  test('text, tool_call, tool_response and fields unknown to the addon are preserved, including key order', async () => {
    const call = {
      zeta: 1,
      speaker: 'ai',
      blocks: [
        { type: 'text', text: 'reading the file', vendor: { z: null, a: [1.5, -0.25, 'é\u2028😀'] } },
        {
          type: 'tool_call',
          id: 'call_1',
          name: 'read_file',
          parameters: { path: '/a b/ü.ts', limit: 20, deep: { list: [{}, []] } },
        },
        { type: 'hologram', rays: [0, 1e21, 1e-7] },
      ],
      metadata: { tokens: 12, cached: false },
      alpha: '',
    }
    const answer = {
      speaker: 'tool',
      blocks: [
        {
          type: 'tool_response',
          callId: 'call_1',
          toolName: 'read_file',
          result: { text: 'a\n\tb' },
          error: 'cut\u0000',
        },
      ],
    }
    const { history } = await replayedOf<unknown>(
      session(['content', { content: call }], ['content', { content: answer }]),
    )
    expectSame(history, [call, answer])
  })

  test('every speaker that is a non-empty string is a speaker', async () => {
    const items = ['human', 'ai', 'tool', 'critic', '__proto__', ' '].map((speaker) => ({ speaker }))
    const { history, warnings } = await replayedOf<unknown>(
      session(...items.map((entry) => ['content', { content: entry }] as const)),
    )
    expectSame(history, items)
    expect(warnings).toStrictEqual([])
  })

  test('a compression resets the history to its summary', async () => {
    const { history } = await replayedOf(session(content('a'), content('b'), compressed('a and b', 2), content('c')))
    expect(textsOf(history)).toStrictEqual(['a and b', 'c'])
    expect(history[0]).toStrictEqual(item('ai', 'a and b'))
  })

  test('the last of several compressions counts', async () => {
    const events = [
      content('a'),
      compressed('first', 1),
      content('b'),
      compressed('second', 2),
      content('c'),
      content('d'),
    ]
    const { history } = await replayedOf(session(...events))
    expect(textsOf(history)).toStrictEqual(['second', 'c', 'd'])
  })

  test('a compression of nothing still leaves its summary', async () => {
    const { history } = await replayedOf(session(compressed('nothing yet', 0)))
    expect(textsOf(history)).toStrictEqual(['nothing yet'])
  })

  test('a rewind removes the last items', async () => {
    const { history } = await replayedOf(session(content('a'), content('b'), content('c'), rewind(2), content('d')))
    expect(textsOf(history)).toStrictEqual(['a', 'd'])
  })

  test('a rewind beyond the length empties the history and reaches no further', async () => {
    const { history } = await replayedOf(session(content('a'), content('b'), rewind(3), content('c')))
    expect(textsOf(history)).toStrictEqual(['c'])
  })

  test('a rewind after a compression counts the summary as one item', async () => {
    const kept = await replayedOf(session(content('a'), compressed('sum', 1), content('b'), rewind(1)))
    expect(textsOf(kept.history)).toStrictEqual(['sum'])
    const emptied = await replayedOf(session(content('a'), compressed('sum', 1), content('b'), rewind(2), content('c')))
    expect(textsOf(emptied.history)).toStrictEqual(['c'])
  })

  test('a rewind by any number that JSON can spell: fractions round up, huge numbers empty the history', () =>
    eachCase(
      [
        ['0', ['a', 'b', 'c']],
        ['-0', ['a', 'b', 'c']],
        ['1.0', ['a', 'b']],
        ['1.5', ['a']],
        ['0.0000001', ['a', 'b']],
        ['5e-324', ['a', 'b']],
        ['1e-400', ['a', 'b', 'c']],
        ['2.0000000000000001', ['a']],
        ['2.000000000000001', []],
        ['4294967296', []],
        ['4294967297', []],
        ['18446744073709551617', []],
        ['9007199254740993', []],
        ['1e999', []],
      ],
      async ([itemsRemoved, left]) => {
        const line = `{"v":1,"seq":5,"type":"rewind","payload":{"itemsRemoved":${itemsRemoved}}}`
        const { history, warnings } = await replayedOf(session(content('a'), content('b'), content('c'), line))
        expect(warnings).toStrictEqual([])
        expect(textsOf(history)).toStrictEqual(left)
      },
    ))

  test('content, compressed and rewind interleaved', async () => {
    const { history } = await replayedOf(
      session(
        content('a'),
        rewind(1),
        content('b'),
        content('c'),
        compressed('bc', 2),
        rewind(0),
        content('d'),
        rewind(5),
        rewind(1),
        content('e'),
        content('f'),
        rewind(1),
        content('g'),
        compressed('eg', 2),
        content('h'),
      ),
    )
    expect(textsOf(history)).toStrictEqual(['eg', 'h'])
  })

  test('changes to the history of one replay do not affect a later replay of the same file', async () => {
    const filePath = writeSession(session(content('a'), rewind(1), content('b')))
    const first = await replaySession(filePath)
    if (first.ok) first.history.push(item('ai', 'added by the caller'))
    const second = await replaySession(filePath)
    expect(second.ok && textsOf(second.history)).toStrictEqual(['b'])
  })
})

test('a path in any script, and a relative one, replays', async () => {
  const from = writeSession(session(content('a')))
  const to = join(dirname(from), "sessão 漢 😀 'x'.jsonl")
  renameSync(from, to)
  expect((await replaySession(to)).ok).toBe(true)
  expect((await replaySession(relative(process.cwd(), to))).ok).toBe(true)
})

test('many replays at once, each of its own file', async () => {
  const files = Array.from({ length: 40 }, (_, at) =>
    writeSession(session(...Array.from({ length: at }, (_, turn) => content(`${at}.${turn}`)))),
  )
  const results = await Promise.all(files.map((filePath) => replaySession(filePath)))
  results.forEach((result, at) => {
    expect(result.ok && textsOf(result.history)).toStrictEqual(Array.from({ length: at }, (_, turn) => `${at}.${turn}`))
  })
})
