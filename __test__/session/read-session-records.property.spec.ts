// readSessionRecords compared with a plain loop, for any bytes, and with a replay.

import { truncateSync } from 'node:fs'
import { describe, expect } from 'vitest'
import { readSessionRecords, replaySession } from '../../index.js'
import type { SessionLine, SessionRecordsOptions } from '../../index.js'
import { anyFile } from '../support/line-arbitraries.js'
import { historiesOfBytes, recordsOfBytes } from '../support/plain-engine.mjs'
import { fc, test } from '../support/property'
import { expectSame } from '../support/same-replay.js'
import { anyEvents, editEvent, KNOWN_TYPES, runs } from '../support/session-arbitraries.js'
import { session, writeSession } from '../support/session-file.js'

async function linesOf(path: string, options?: SessionRecordsOptions): Promise<SessionLine[]> {
  const lines: SessionLine[] = []
  for await (const line of readSessionRecords(path, options)) lines.push(line)
  return lines
}

/** Applies what lines do to a history. Returns, after each of them, the line of each of its items. */
function developed(lines: SessionLine[], items: number[] = []): number[][] {
  return lines.map(({ line, changes = [] }) => {
    for (const { removed, added, behind } of changes)
      items.splice(items.length - behind - removed, removed, ...new Array<number>(added).fill(line))
    return [...items]
  })
}

const withoutHistory = (lines: SessionLine[]) => lines.map(({ inHistory: _, ...line }) => line)

/** The item that a line adds to the history. */
const itemOf = ({ record }: SessionLine): unknown => {
  const { type, payload } = record as any
  return type === 'compressed' ? payload.summary : payload.content
}

/** Events that bring several items, change items, or name one: the history is then no list of items of lines. */
const EDITS = ['density_mutation', 'synthetic_insert', 'chronology_bind', 'semantic_media_purge']

const isEdit = (event: readonly [unknown, unknown?]): boolean =>
  EDITS.includes(event[0] as string) || Object.hasOwn(Object(event[1]), 'cutSeq')

const history = (lines: SessionLine[]) => lines.filter(({ inHistory }) => inHistory).map(itemOf)

describe('any bytes', () => {
  test.prop([anyFile, fc.boolean()], runs(400))(
    'have the lines of a plain loop, in the same order and with the same keys',
    async (bytes, strict) => {
      const lines = await linesOf(writeSession(bytes), { history: true, strict })
      const expected = recordsOfBytes(bytes, { strict })
      expectSame(lines, expected)
    },
  )

  test.prop([anyFile], runs(100))('have the same lines without the history', async (bytes) => {
    expectSame(await linesOf(writeSession(bytes)), withoutHistory(recordsOfBytes(bytes)))
  })

  test.prop([anyFile, fc.nat()], runs(100))('are read on from any line', async (bytes, at) => {
    const all = recordsOfBytes(bytes)
    fc.pre(all.length > 0)
    const { line, offset, length } = all[at % all.length]!
    const path = writeSession(bytes)
    expectSame(await linesOf(path, { history: true, from: { line, offset } }), all.slice(line - 1))
    // Behind a line, whatever its ending.
    expectSame(
      await linesOf(path, { history: true, from: { line: line + 1, offset: offset + length + 1 } }),
      all.slice(line),
    )
  })

  test.prop([anyFile, fc.subarray([...KNOWN_TYPES, 'new', ''])], runs(100))(
    'have the lines of some types',
    async (bytes, types) => {
      const hasType = ({ record }: SessionLine) =>
        types.includes((record as any)?.type) && typeof record === 'object' && !Array.isArray(record)
      expectSame(await linesOf(writeSession(bytes), { history: true, types }), recordsOfBytes(bytes).filter(hasType))
    },
  )
})

describe('what lines do to the history', () => {
  test.prop([anyFile, fc.boolean()], runs(200))(
    'leads from each history to the next, for any bytes',
    async (bytes, strict) => {
      expectSame(
        developed(await linesOf(writeSession(bytes), { changes: true, strict })),
        historiesOfBytes(bytes, { strict }),
      )
    },
  )

  test.prop([fc.array(editEvent, { maxLength: 25 }), fc.nat()], runs(300))(
    'leads from each history to the next, for any edits, also from any line on',
    async (events, at) => {
      const text = Buffer.from(session(...events))
      const path = writeSession(text)
      const [lines, expected] = [await linesOf(path, { changes: true }), historiesOfBytes(text)]
      expectSame(developed(lines), expected)
      for (const { changes } of lines) expect(changes ?? [null]).not.toStrictEqual([])
      const first = at % lines.length
      expectSame(
        developed(await linesOf(path, { changes: true, from: lines[first] }), [...(expected[first - 1] ?? [])]),
        expected.slice(first),
      )
    },
  )
})

describe('a session', () => {
  test.prop([anyEvents, fc.nat()], runs(150))(
    'that is cut anywhere has the items of its replay',
    async (events, at) => {
      const text = Buffer.from(session(...events.filter((event) => !isEdit(event))))
      const path = writeSession(text)
      truncateSync(path, text.length - (at % 400 < text.length ? at % 400 : 0))
      const replay = await replaySession(path)
      const lines = await linesOf(path, { history: true })
      if (replay.ok) expectSame(history(lines), replay.history)
      const counted = lines.filter(({ status }) => status === 'ok' || status === 'malformed' || status === 'unknown')
      if (replay.ok) expect(counted).toHaveLength(replay.eventCount)
    },
  )
})
