// The data of a session's page, compared with the replay.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { inflateSync } from 'node:zlib'
import { describe, expect } from 'vitest'
import { readSessionRecords, replaySession } from '../../index.js'
import { RECORDINGS, SAMPLE } from '../support/command-line'
import { anyFile } from '../support/line-arbitraries.js'
import { fc, test } from '../support/property'
import { anyEvents, editEvent, runs } from '../support/session-arbitraries.js'
import { compressed, content, envelope, file, rewind, session, start, writeSession } from '../support/session-file.js'
import { dataIn, part, sessionPage, sourceOf } from '../support/view-page'

const { gather } = part('session/gather')
const { islandElement } = part('document')
const { islandJson } = part('island')
const { EDITS, FLAGS } = part('session/items')

/** The items that the page marks as being in the history, read from the lines of the file. */
async function shownHistory(log: string): Promise<unknown[]> {
  const { conversation } = await gather(sourceOf(log))
  const lines = new TextDecoder('utf-8').decode(readFileSync(log)).split('\n')
  return conversation.rows
    .filter(({ flags }: { flags: number }) => flags & FLAGS.inHistory)
    .map(({ line }: { line: number }) => {
      const { type, payload } = JSON.parse(lines[line - 1]!)
      return type === 'compressed' ? payload.summary : payload.content
    })
}

async function expectHistory(log: string): Promise<void> {
  const replay = await replaySession(log)
  if (!replay.ok) return
  const { conversation } = await gather(sourceOf(log))
  // The items of edits are not in the order of lines, and one line may have several.
  if (!conversation.rows.some(({ type }: { type: string }) => EDITS.includes(type)))
    return expect(await shownHistory(log)).toEqual(replay.history)
  const shown = conversation.rows
    .filter(({ flags }: { flags: number }) => flags & FLAGS.inHistory)
    .map(({ line }: { line: number }) => line)
  const expected = []
  for await (const { line, inHistory } of readSessionRecords(log, { history: true })) if (inHistory) expected.push(line)
  expect(shown).toEqual(expected)
  expect(conversation.history.length).toBe(replay.history.length)
}

describe('the data of a page', () => {
  test.prop([fc.jsonValue(), fc.boolean()], runs(100))(
    'is in its script element, plain or compressed',
    (value, isLong) => {
      const json = islandJson([value, isLong ? '✓'.repeat(300_000) : ''])
      const [, attributes, text] = /^<script type="[a-z/]+"(.*) id="x">([^<]*)<\/script>$/.exec(
        islandElement('x', json),
      )!
      expect(attributes).toBe(isLong ? ' data-packed' : '')
      expect(isLong ? inflateSync(Buffer.from(text!, 'base64')).toString() : text).toBe(json)
    },
  )
})

describe('the history that the page shows', () => {
  test.prop([anyEvents], runs(100))('is the history of the replay, for any events', async (events) => {
    await expectHistory(writeSession(session(...events)))
  })

  test.prop([fc.array(editEvent, { maxLength: 25 })], runs(200))(
    'is the history of the replay, for any edits',
    async (events) => {
      await expectHistory(writeSession(session(...events)))
    },
  )

  test.prop([anyFile], runs(100))('is the history of the replay, for any bytes', async (bytes) => {
    await expectHistory(writeSession(bytes))
  })

  test('is that of real recordings (needs ../shared/data/sessions)', async ({ skip }) => {
    skip(!existsSync(RECORDINGS), 'there are no recordings')
    for (const name of readdirSync(RECORDINGS).filter((each) => each.endsWith('.jsonl')))
      await expectHistory(join(RECORDINGS, name))
  })

  test('names the first event that removed an item', async () => {
    const log = writeSession(
      session(content('a'), content('b'), rewind(1), content('c'), compressed('s', 2), rewind(1)),
    )
    const { conversation } = await gather(sourceOf(log))
    expect(conversation.rows.map(({ line, removedBy }: any) => [line, removedBy])).toEqual([
      [1, 0],
      [2, 6],
      [3, 4],
      [4, 0],
      [5, 6],
      [6, 7],
      [7, 0],
    ])
  })
})

describe('the line of an edit with several items', () => {
  test('is in the history while one of its items is, wherever they are', async () => {
    const item = (text: string, seq: number) => ({
      speaker: 'ai',
      blocks: [{ type: 'text', text }],
      metadata: { chronology: { seq } },
    })
    const items = [1, 2, 3].map((seq) => ['content', { content: item('long', seq) }] as const)
    const edit = [
      'density_mutation',
      { removedSeqs: [], replacements: [1, 3].map((replacedSeq) => ({ replacedSeq, replacement: item('short', 0) })) },
    ] as const
    const rowOfEdit = async (...rewinds: number[]) => {
      const { conversation } = await gather(
        sourceOf(writeSession(session(...items, edit, ...rewinds.map((count) => rewind(count))))),
      )
      const { flags, removedBy, gone } = conversation.rows[4]
      return [(flags & FLAGS.inHistory) !== 0, removedBy, gone]
    }
    expect(await rowOfEdit()).toEqual([true, 0, 2])
    expect(await rowOfEdit(1)).toEqual([true, 0, 2])
    expect(await rowOfEdit(1, 2)).toEqual([false, 7, 2])
  })
})

describe('the data of the page', () => {
  test('pairs calls with their results, even if an id is reused', async () => {
    const call = (id: string, name: string) =>
      ['content', { content: { speaker: 'ai', blocks: [{ type: 'tool_call', id, name, parameters: {} }] } }] as const
    const answer = (callId: string, error?: string) =>
      [
        'content',
        {
          content: {
            speaker: 'tool',
            blocks: [{ type: 'tool_response', callId, toolName: 't', result: 1, ...(error && { error }) }],
          },
        },
      ] as const
    const log = writeSession(
      session(call('1', 'ls'), answer('1'), call('1', 'cat'), answer('2'), answer('1', 'no such file')),
    )
    expect(dataIn(await sessionPage(log)).calls).toEqual([
      ['ls', 2, 0, 3, 0, 0, 1000],
      ['cat', 4, 0, 6, 0, 1, 2000],
    ])
  })

  test('has totals: turns, tools with failures and durations', async () => {
    const { totals } = dataIn(await sessionPage(SAMPLE))
    const replay = await replaySession(SAMPLE)
    expect(totals.history).toBe(replay.ok && replay.history.length)
    expect(totals.speakers.map(({ name, turns }: any) => [name, turns])).toEqual([
      ['human', 6],
      ['ai', 18],
      ['tool', 16],
    ])
    expect(totals.tools.find(({ name }: any) => name === 'run_command')).toMatchObject({
      calls: 6,
      failures: 2,
      open: 1,
      longest: 14_700,
    })
  })

  test('has the warnings at their lines, and damaged lines', async () => {
    const log = writeSession(file(start(), 'no json {', content('x')))
    const data = dataIn(await sessionPage(log))
    expect(data.warnings[0]).toEqual([2, 'failed to parse JSON'])
    expect(data.rows.map(([line, , , , flags]: number[]) => [line, flags! & FLAGS.damaged])).toEqual([
      [1, 0],
      [2, FLAGS.damaged],
      [3, 0],
    ])
  })

  test('exists even if the session cannot be replayed', async () => {
    const data = dataIn(await sessionPage(writeSession(`${envelope(1, content('x'))}\n`)))
    expect(data.error).toBe('Missing or corrupt session_start event')
    expect(data.rows).toHaveLength(1)
  })

  test('is the same for the same recording', async () => {
    const pages = [await sessionPage(SAMPLE), await sessionPage(SAMPLE)]
    expect(readFileSync(pages[0]!, 'utf8')).toBe(readFileSync(pages[1]!, 'utf8'))
  })
})

describe('the size of the page', () => {
  const long = 'word '.repeat(400)

  test('stays near its limit: long texts are cut before records lose theirs', async () => {
    const log = writeSession(session(...Array.from({ length: 300 }, (_, at) => content(`${at} ${long}`))))
    const { conversation, excerptsBefore } = await gather(sourceOf(log), { limits: { bytes: 500_000 } })
    expect(excerptsBefore).toBe(1)
    const sizes = conversation.rows.map(({ payload }: any) => payload.length)
    expect(sizes.reduce((sum: number, size: number) => sum + size, 0)).toBeLessThan(500_000)
    expect(Math.min(...sizes.slice(1))).toBeGreaterThan(1000)
  })

  test('is limited by keeping only the beginning of early records, while the end of the session is whole', async () => {
    const log = writeSession(session(...Array.from({ length: 300 }, (_, at) => content(`${at} ${long}`))))
    const { conversation, excerptsBefore } = await gather(sourceOf(log), { limits: { bytes: 100_000 } })
    expect(excerptsBefore).toBeGreaterThan(200)
    const [first, last] = [conversation.rows[1], conversation.rows.at(-1)].map(({ payload }: any) =>
      JSON.parse(payload),
    )
    expect(first).toMatch(/^0 word word/)
    expect(first.length).toBeLessThanOrEqual(120)
    expect(last[0].content.speaker).toBe('human')
  })

  test.prop([fc.integer({ min: 1, max: 400 }), fc.integer({ min: 1, max: 5000 })], runs(20))(
    'stays below its limit plus an index, for any session',
    async (count, length) => {
      const log = writeSession(
        session(...Array.from({ length: count }, (_, at) => content(`${at}${'x'.repeat(length)}`))),
      )
      const { conversation } = await gather(sourceOf(log), { limits: { bytes: 200_000 } })
      const size = conversation.rows.reduce((sum: number, { payload }: any) => sum + payload.length, 0)
      expect(size).toBeLessThan(200_000 + 2500 + count * 130)
    },
  )
})
