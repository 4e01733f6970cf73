// Comparing sessions.

import { describe, expect, test } from 'vitest'
import { diff, diffToText, traceAncestors } from '../../index.js'
import type { ContentBlock, IContent } from '../../index.js'
import { diffSessions, parted, rejection } from '../support/diffing.js'
import { completedRun, freshPath } from '../support/run-directory.js'
import {
  compressed,
  content,
  file,
  rewind,
  session,
  sessionEvent,
  start,
  writeSession,
} from '../support/session-file.js'
import type { Event } from '../support/session-file.js'

const said = (speaker: IContent['speaker'], blocks: ContentBlock[], metadata?: Record<string, unknown>): Event => [
  'content',
  { content: { speaker, blocks, ...(metadata && { metadata }) } },
]
const call = (id: string, command = 'ls'): Event =>
  said('ai', [{ type: 'tool_call', id, name: 'run', parameters: { command } }])
const answer = (id: string, output: string): Event =>
  said('tool', [{ type: 'tool_response', callId: id, toolName: 'run', result: { output } }])
const talk = (id: string, output: string) => [
  content('list it'),
  call(id),
  answer(id, output),
  content('there it is', 'ai'),
]

describe('two sessions', () => {
  test('that say the same are equal, whatever their ids, times and figures', async () => {
    const recorded = (n: number) =>
      file(
        start({ sessionId: `s-${n}`, startTime: `${n}` }),
        ...talk(`call-${n}`, 'a'),
        said('ai', [], { model: 'm', usage: { tokens: n }, requestId: `r-${n}`, createdAt: n }),
      )
    expect(await diffSessions(recorded(1), recorded(2).replaceAll('16:00', '17:00'), { full: true })).toBeNull()
  })

  describe('with parallel calls', () => {
    const asked = said(
      'ai',
      ['x', 'y'].map((name, n) => ({ type: 'tool_call' as const, id: `c${n}`, name, parameters: {} })),
    )
    const response = (n: number, output: string): ContentBlock => ({
      type: 'tool_response',
      callId: `c${n}`,
      toolName: 'xy'[n]!,
      result: output,
    })

    test('have one change for one different answer, even if the other answer is the same', async () => {
      const answers = (first: string) =>
        session(content('go'), asked, said('tool', [response(0, first)]), said('tool', [response(1, 'ok')]))
      const found = parted(await diffSessions(answers('ok'), answers('BAD'), { full: true }))
      const fields = [{ path: '/payload/content/blocks/0/result', left: 'ok', right: 'BAD' }]
      expect(found.edits).toStrictEqual([{ op: 'change', left: 3, right: 3, fields }])
      expect(found.equal).toStrictEqual([{ left: 4, right: 4, length: 1 }])
    })

    test('name the call whose answer differs, if one item answers both', async () => {
      const answers = (second: string) =>
        session(content('go'), asked, said('tool', [response(0, 'ok'), response(1, second)]))
      const { left, right } = parted(await diffSessions(answers('ok'), answers('BAD')))
      expect([left!.tool, right!.tool]).toStrictEqual(['y', 'y'])
      expect(left!.output_hash).not.toBe(right!.output_hash)
    })
  })

  test('with different integers beyond 2^53 diverge there, and tell their digits', async () => {
    const of = (id: string) =>
      session(
        content('go'),
        said('ai', [{ type: 'tool_call', id: 'c', name: 'get', parameters: { id: '@', of: [1] } }]),
      ).replace('"@"', id)
    for (const [left, right] of [
      ['9007199254740993', '9007199254740992'],
      ['-1762000000000000001', '-1762000000000000002'],
      ['1'.repeat(400), '1'.repeat(401)],
      ['9007199254740993e0', '9007199254740992e0'],
    ] as const) {
      const found = parted(await diffSessions(of(left), of(right), { full: true }))
      const fields = [{ path: '/payload/content/blocks/0/parameters/id', left, right, note: 'precision' }]
      expect(found).toMatchObject({ divergence_event: 2, kind: 'EventMismatch', fields })
      expect(found.edits).toStrictEqual([{ op: 'change', left: 2, right: 2, fields }])
      if (left.length < 20) expect(diffToText(found, { details: true })).toContain(`"${left}" → "${right}" (precision)`)
    }
    // These are the same numbers, in another notation.
    for (const [left, right] of [
      ['9007199254740992', '9007199254740992.0'],
      ['1e20', '100000000000000000000'],
      ['0.1', '0.10'],
      ['9007199254740993', '9007199254740993.0'],
      ['123456789012345678e1', '1234567890123456780'],
      ['1e23', '1' + '0'.repeat(23)],
    ] as const) {
      expect(await diffSessions(of(left), of(right))).toBeNull()
    }
  })

  test('with different tool responses diverge there', async () => {
    const found = parted(await diffSessions(session(...talk('a', 'one\u001b[31m')), session(...talk('b', 'two'))))
    expect(found).toMatchObject({
      divergence_event: 3,
      kind: 'EventMismatch',
      left: { event_id: 'rec_3', kind: 'content', speaker: 'tool', tool: 'run', excerpt: 'one\u001b[31m' },
      fields: [{ path: '/payload/content/blocks/0/result/output', left: 'one\u001b[31m', right: 'two' }],
      causal_ancestors: ['rec_2', 'rec_1', 'rec_0'],
      common_ancestor: 'rec_2',
      affected_nodes: [],
      likely_cause: 'ExternalDataChanged',
    })
    expect(found.ancestors.left[0]).toStrictEqual({
      event_id: 'rec_2',
      kind: 'content',
      label: 'ai: run',
      evidence: 'inferred',
    })
    const text = diffToText(found)
    expect(text).toContain(
      'Left (71e871bd-70f9-4b2e-90d9-a15ea3fcfa19):\n  kind: content\n  tool: run\n  speaker: tool\n',
    )
    expect(text).toContain('  excerpt: one\\u{1b}[31m\n')
    expect(
      text.endsWith('Causal chain:\n  - #2: content (ai: run)\n  - #1: content (human)\n  - #0: session_start'),
    ).toBe(true)
  })

  test.each<[string, Event, string]>([
    ['another question', content('list them'), 'InputChanged'],
    ['another answer of the AI', content('no', 'ai'), 'InputChanged'],
    ['a rewind', rewind(1), 'InputChanged'],
    ['a compression', compressed('so far'), 'InputChanged'],
  ])('%s instead of a question', async (_, event, cause) => {
    const found = parted(await diffSessions(session(content('list it')), session(event)))
    expect(found).toMatchObject({ divergence_event: 1, likely_cause: cause })
  })

  test('diverge for an unknown cause if the AI replies differently to the same input', async () => {
    const found = parted(
      await diffSessions(session(content('hi'), call('a', 'ls')), session(content('hi'), call('b', 'pwd'))),
    )
    expect(found).toMatchObject({ divergence_event: 2, likely_cause: 'Unknown' })
  })

  test('of different projects differ in their header', async () => {
    const other = file(start({ projectHash: 'other' }), content('hi'))
    const found = parted(await diffSessions(session(content('hi')), other))
    expect(found).toMatchObject({ divergence_event: 0, kind: 'HeaderMismatch', likely_cause: 'WorkflowChanged' })
  })

  test('of which one ended early diverge at its end', async () => {
    const [whole, cut] = [session(...talk('a', 'x')), session(...talk('b', 'x').slice(0, 2))]
    expect(parted(await diffSessions(whole, cut))).toMatchObject({
      kind: 'RightEnded',
      divergence_event: 3,
      likely_cause: 'LogTruncated',
    })
    expect(parted(await diffSessions(cut, whole))).toMatchObject({ kind: 'LeftEnded', divergence_event: 3, left: null })
    const over = session(...talk('a', 'x'), sessionEvent('bye'))
    expect(parted(await diffSessions(session(...talk('b', 'x')), over))).toMatchObject({
      kind: 'LeftEnded',
      likely_cause: 'Unknown',
    })
  })

  test('are compared without the lines that a replay skips', async () => {
    const [left, right] = [session(...talk('a', 'x')), session('torn{', ...talk('b', 'x'), '', 'null', '{"v":1')]
    expect(await diffSessions(left, right)).toBeNull()
    const unknown = session(['from_the_future', {}], ...talk('b', 'x'))
    expect(parted(await diffSessions(left, unknown, { full: true })).edits).toStrictEqual([{ op: 'insert', right: 1 }])
  })

  test('are refused if one of them is not a session', async () => {
    const whole = writeSession(session(content('hi')))
    for (const [text, code] of [
      ['', 'EmptyFile'],
      ['{}\n', 'MissingStart'],
      [file(['session_start', {}]), 'InvalidStart'],
    ] as const) {
      const path = writeSession(text)
      expect(await rejection(diff(whole, path))).toMatchObject({ code, side: 'right' })
      expect(await rejection(diff(path, whole))).toMatchObject({ code, side: 'left' })
      expect(await rejection(traceAncestors(path, 'rec_0'))).toMatchObject({ code })
    }
    expect(await rejection(diff(whole, '/no/such/file'))).toMatchObject({
      code: 'ENOENT',
      side: 'right',
      path: '/no/such/file',
    })
    const run = completedRun().write(freshPath())
    expect(await rejection(diff(whole, run))).toMatchObject({ code: 'NotComparable' })
  })

  test('of large size are compared while they are read', async () => {
    const long = Array.from({ length: 3000 }, (_, n) => content(`${n} ${'x'.repeat(2000)}`, n % 2 ? 'ai' : 'human'))
    const last = content('the end')
    expect(await diffSessions(session(...long), session(...long))).toBeNull()
    const progress: number[] = []
    const found = await diffSessions(session(...long, last), session(...long, content('no end')), {
      onProgress: ({ bytes, total }) => progress.push(bytes / total),
    })
    expect(parted(found)).toMatchObject({ divergence_event: 3001, likely_cause: 'InputChanged' })
    expect(progress.at(-1)).toBe(1)
    expect(progress).toStrictEqual(progress.toSorted((one, other) => one - other))
  })
})

test('values nested a million levels deep are compared without recursion', async () => {
  const deep = (inner: string) => `${'['.repeat(1e6)}${inner}${']'.repeat(1e6)}`
  const line = (inner: string) => `{"v":1,"type":"x","payload":{"a":${deep(inner)}}}`
  expect(await diffSessions(session(line('1')), session(line('1.0')))).toBeNull()
  const found = parted(await diffSessions(session(line('1')), session(line('2')), { ignore: ['/payload/b'] }))
  expect(found.fields).toHaveLength(1)
})
