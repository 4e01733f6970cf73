/** Texts that break off: what looks for the format of a file, or for the values of a storage, reads no part of it again and again. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  convertSession,
  detectSessionFormat,
  listConversations,
  listSessions,
  readSessionRecords,
  replaySession,
  searchSessions,
} from '../../index.js'
import { sessionDirectory } from '../support/session-file'

// 4 MiB of each: read from each line to the end of the text, one of them takes an hour.
const LENGTH = 4 << 20
const long = (line: string, end = ''): string => line.repeat(Math.floor((LENGTH - end.length) / line.length)) + end
const SHAPES: [string, string][] = [
  ['members without values', long('{"a":\n')],
  ['members without values, and something else at the end', long('{"a":\n', '!')],
  ['lines that end with a carriage return', long('{"a":\r\n')],
  ['a byte order mark', `\uFEFF${long('{"a":\n')}`.slice(0, LENGTH - 2)],
  ['objects in arrays', long('\n{"a":[')],
  ['objects in objects on one line', long('{"a":{')],
  ['arrays', long('[\n')],
  ['arrays on one line', long('[')],
  ['quotes', long('"')],
  ['quotes and lines', long('{"a":"\n')],
  ['objects that look like strings', long('{"a":{\n"{":')],
  ['whole values inside', long('{"a":{"b":1}, "c":\n')],
  ['whole values before', long('{"a":1} {"b":\n')],
  ['whole lines before', `{"x":1}\n{"y":2}\n${long('{"a":1}\n{"b":\n')}`.slice(0, LENGTH)],
  ['arrays that are closed as objects', long('{"a":[\n', '}')],
]
const MESSAGE = '{"id":"msg_1","sessionID":"ses_1","role":"user","time":{"created":1}}'

function written(text: string): string {
  const path = join(sessionDirectory(), 'x.jsonl')
  writeFileSync(path, text)
  return path
}

async function countOf(lines: AsyncIterable<unknown>): Promise<number> {
  let count = 0
  for await (const _ of lines) count += 1
  return count
}

describe('4 MiB that break off again and again', () => {
  test.each(SHAPES)('are no session: %s', async (_, text) => {
    expect(await detectSessionFormat(written(text))).toBe(null)
  })

  test('are read by every reader', async () => {
    const text = long('{"a":\n')
    const path = written(text)
    const lines = text.split('\n').length - 1
    expect(await replaySession(path)).toMatchObject({ ok: false })
    expect(await countOf(readSessionRecords(path))).toBe(lines)
    await expect(listConversations(path)).rejects.toMatchObject({ code: 'EFOREIGNFORMAT' })
    await expect(countOf(convertSession(path))).rejects.toMatchObject({ code: 'EFOREIGNFORMAT' })
    expect(await listSessions(join(path, '..'))).toMatchObject({ sessions: [], unreadable: [{ filePath: path }] })
    expect(await countOf(searchSessions([path], 'needle'))).toBe(0)
  })
})

describe('a storage of OpenCode', () => {
  test.each(SHAPES.filter(([name]) => name !== 'a byte order mark'))('is read to its end with %s', async (_, text) => {
    const path = written(
      `${MESSAGE}\n${text}\n${MESSAGE.replaceAll('_1', '_2')}\n${MESSAGE.replace('msg_1', 'msg_3')}\n`,
    )
    const { format, conversations } = await listConversations(path)
    expect(format).toBe('opencode')
    expect(conversations.map(({ sessionId }) => sessionId)).toContain('ses_1')
  })

  test('is converted', async () => {
    const path = written(`${MESSAGE}\n${'{"a":\n'.repeat(50_000)}${MESSAGE.replace('msg_1', 'msg_2')}\n`)
    expect(await replaySession(path)).toMatchObject({ ok: true, metadata: { sessionId: 'ses_1' } })
    expect(await countOf(convertSession(path))).toBe(50_002)
  })
})
