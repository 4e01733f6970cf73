// Eight recordings of one task by a real coding agent, if they are available: next to the project, not in it. The expectation for each pair is
// the judgement of a person who has read both.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { diff } from '../../index.js'
import { parted } from '../support/diffing.js'

const RECORDINGS = fileURLToPath(new URL('../../../shared/data/sessions', import.meta.url))
const absent = !existsSync(join(RECORDINGS, 'marshmallow-default-from-source.jsonl'))
const path = (name: string) => join(RECORDINGS, `marshmallow-${name}.jsonl`)

const SOURCE = 'default-from-source'
const CURSORS = 'default-sys-env-cursors-window100'
const PLAIN = 'default-sys-env-window100'
const CALLS_REPLACE_SOURCE = 'function-calling-replace-from-source'
const CALLS_REPLACE = 'function-calling-replace'
const CALLS = 'function-calling'
const XML_CURSORS = 'xml-sys-env-cursors-window100'
const XML = 'xml-sys-env-window100'
const ALL = [SOURCE, CURSORS, PLAIN, CALLS_REPLACE_SOURCE, CALLS_REPLACE, CALLS, XML_CURSORS, XML]

/** Pairs with the same first message. In all other pairs the first messages differ. */
const SAME_QUESTION: [left: string, right: string, at: number, cause: string][] = [
  // One looks around first, the other reproduces the bug at once: a choice of the model, for which no reason is recorded.
  [SOURCE, CURSORS, 2, 'Unknown'],
  [SOURCE, PLAIN, 2, 'Unknown'],
  // The same command, but one environment marks cursors in its output.
  [CURSORS, PLAIN, 3, 'ExternalDataChanged'],
  [XML_CURSORS, XML, 3, 'ExternalDataChanged'],
  // The same text, but `insert` in one and `edit` in the other: they had different tools, which the recordings do not say.
  [CALLS_REPLACE, CALLS, 4, 'Unknown'],
]

test('the recordings are available', ({ skip }) => {
  skip(absent, 'the folder ../shared/data/sessions is absent: nothing real to compare')
  expect(ALL).toHaveLength(8)
})

describe.skipIf(absent)('eight recordings of one task', () => {
  test.each(ALL)('%s is equal to itself', async (name) => {
    expect(await diff(path(name), path(name), { full: true })).toBeNull()
  })

  test.each(SAME_QUESTION)('%s and %s diverge at %i: %s', async (left, right, at, cause) => {
    for (const [one, other] of [
      [left, right],
      [right, left],
    ] as const) {
      const found = parted(await diff(path(one), path(other)))
      expect(found).toMatchObject({ divergence_event: at, kind: 'EventMismatch', likely_cause: cause })
      expect(found.common_ancestor).toBe(`rec_${at - 1}`)
      expect(found.causal_ancestors).toStrictEqual(Array.from({ length: at }, (_, n) => `rec_${at - 1 - n}`))
    }
  })

  const pairs = ALL.flatMap((left, at) => ALL.slice(at + 1).map((right) => [left, right] as const))
  const others = pairs.filter(([left, right]) => !SAME_QUESTION.some(([one, other]) => one === left && other === right))

  test.each(others)('%s and %s were asked different questions', async (left, right) => {
    const found = parted(await diff(path(left), path(right)))
    expect(found).toMatchObject({ divergence_event: 1, likely_cause: 'InputChanged', left: { speaker: 'human' } })
    expect(found.fields.map(({ path: field }) => field)).toStrictEqual(['/payload/content/blocks/0/text'])
  })

  test('two prompts that differ in a space at the end of a line are reported as differing in white space', async () => {
    const found = parted(await diff(path(PLAIN), path(XML)))
    expect(found.fields[0]!.note).toBe('whitespace')
    expect(found.left!['excerpt']).toContain('before each line! \n')
    expect(found.right!['excerpt']).toContain('before each line!\n')
  })
})
