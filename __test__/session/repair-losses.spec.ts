/** What a repair leaves out, replaces or guesses is counted and told; what is readable is kept. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect } from 'vitest'
import { archiveSession, repairSession, replaySession } from '../../index.js'
import { eachCase } from '../support/each-case'
import { errorOf, resultOf, shown } from '../support/command-line'
import { directoryOf } from '../support/file-directory'
import { test } from '../support/property'
import { resumed } from '../support/resuming'
import { content, envelope, item, PROJECT_HASH, start, textsOf } from '../support/session-file'
import { NAME, linesOf, repaired, text } from '../support/repairing'

const LINES = linesOf(start(), content('one'), content('zwölf 中文', 'ai'), content('three'))

const historyOf = async (file: string): Promise<unknown[]> => {
  const replay = await replaySession(file, undefined, { strict: true })
  if (!replay.ok) throw new Error(replay.error)
  return replay.history
}

describe('records that name no version', () => {
  const without = (line: string, v?: unknown): string => JSON.stringify({ ...(JSON.parse(line) as object), v })

  test('are kept, whatever stands there instead, and get "v":1', async () => {
    for (const v of [undefined, '1', 0, null, true, 1.5, -1, {}, [], '', '2']) {
      const source = text(LINES.map((line) => without(line, v)))
      const { receipt, lines } = await repaired(source)
      expect(
        lines.map((line) => JSON.parse(line)),
        JSON.stringify(v),
      ).toEqual(LINES.map((line) => JSON.parse(line)))
      expect(receipt).toMatchObject({
        changed: true,
        records: 4,
        versioned: 4,
        recovered: 0,
        fragments: [],
        lostBytes: 0,
        warnings: [],
      })
    }
    const { lines } = await repaired(text(LINES.map((line) => line.replace('{"v":1,', '{'))))
    expect(lines).toEqual(LINES)
  })

  test('but those of a later version stay out, and are counted', async () => {
    for (const v of [3, 17, '3']) {
      const later = without(LINES[2]!, v)
      const { receipt, lines } = await repaired(text([LINES[0]!, LINES[1]!, later, LINES[3]!]))
      expect(lines).toEqual([LINES[0], LINES[1], LINES[3]])
      expect(receipt).toMatchObject({
        versioned: 0,
        fragments: [{ length: Buffer.byteLength(later), reason: 'a record of a later version' }],
        lostBytes: Buffer.byteLength(later),
      })
    }
    const second = without(LINES[2]!, 2)
    expect((await repaired(text([...LINES.slice(0, 2), second]))).receipt).toMatchObject({
      changed: false,
      versioned: 0,
    })
  })

  test('are shown by the command line', async () => {
    const directory = directoryOf({ [NAME]: text(LINES.map((line) => without(line))) })
    expect(await shown(['repair', join(directory, NAME)])).toContain('No version    4 records, now version 1')
  })
})

describe('a file with several sessions', () => {
  const A = linesOf(start({ sessionId: 'aaaa' }), content('a one'), content('a two', 'ai'))
  const B = linesOf(start({ sessionId: 'bbbb' }), content('b one'), content('b two', 'ai'), content('b three'))
  const C = linesOf(start({ sessionId: 'cccc' }), content('c one'))

  test('is repaired to the first one, and the receipt names the others', async () => {
    const { receipt, lines } = await repaired(text([...A, ...B, ...C]))
    expect(lines).toEqual(A)
    expect(receipt).toMatchObject({
      changed: true,
      records: 3,
      recovered: 0,
      renumbered: false,
      lostBytes: 0,
      fragments: [],
    })
    expect(receipt.others).toEqual([
      { sessionId: 'bbbb', firstLine: 4, lastLine: 7 },
      { sessionId: 'cccc', firstLine: 8, lastLine: 9 },
    ])
  })

  test('is repaired to the one that is asked for', async () => {
    for (const [sessionId, lines, others] of [
      ['aaaa', A, ['bbbb', 'cccc']],
      ['bbbb', B, ['aaaa', 'cccc']],
      ['cccc', C, ['aaaa', 'bbbb']],
    ] as const) {
      const done = await repaired(text([...A, ...B, ...C]), { sessionId })
      expect(done.lines).toEqual(lines)
      expect(done.receipt.others.map((other) => other.sessionId)).toEqual(others)
    }
    const directory = directoryOf({ [NAME]: text([...A, ...B]) })
    await expect(
      repairSession(join(directory, NAME), join(directory, 'new'), { sessionId: 'nobody' }),
    ).rejects.toMatchObject({
      name: 'RepairError',
      code: 'NoSession',
      sessions: ['aaaa', 'bbbb'],
      path: join(directory, NAME),
      message: expect.stringContaining('has no session nobody: it has aaaa, bbbb'),
    })
    expect(readdirSync(directory)).toEqual([NAME])
  })

  test('that go on in turns: each has its own records', async () => {
    const more = [envelope(4, content('a three')), envelope(5, content('b four'))]
    const mixed = [...A, ...B, A[0]!, more[0]!, B[0]!, more[1]!]
    const first = await repaired(text(mixed))
    expect(first.lines).toEqual([...A, more[0]])
    expect(first.receipt.others).toEqual([
      { sessionId: 'bbbb', firstLine: 4, lastLine: 7 },
      { sessionId: 'bbbb', firstLine: 10, lastLine: 11 },
    ])
    expect((await repaired(text(mixed), { sessionId: 'bbbb' })).lines).toEqual([...B, more[1]])
  })

  test('of which the second is fused onto a fragment of the first', async () => {
    const { receipt, lines } = await repaired(`${A[0]}\n${A[1]}\n${A[2]!.slice(0, 120)}${text(B)}`)
    expect(lines).toEqual(A.slice(0, 2))
    expect(receipt).toMatchObject({ lostBytes: 120, others: [{ sessionId: 'bbbb', firstLine: 3, lastLine: 6 }] })
  })

  test('of which the first has lost its start: its records are none of the second', async () => {
    const source = text([A[0]!.slice(0, 60), ...A.slice(1), ...B])
    const { receipt, lines } = await repaired(source)
    expect(lines).toEqual(B)
    expect(receipt.others).toEqual([{ sessionId: null, firstLine: 2, lastLine: 3 }])
    const named = await repaired(source, { sessionId: 'mine', projectHash: PROJECT_HASH })
    expect(named.lines.slice(1)).toEqual(A.slice(1))
    expect(JSON.parse(named.lines[0]!).payload).toMatchObject({ sessionId: 'mine', projectHash: PROJECT_HASH })
    expect(named.receipt).toMatchObject({
      startInvented: true,
      others: [{ sessionId: 'bbbb', firstLine: 4, lastLine: 7 }],
    })
  })

  test('is shown with the others by the command line, which chooses by --session', async () => {
    const directory = directoryOf({ [NAME]: text([...A, ...B]) })
    const source = join(directory, NAME)
    expect(await shown(['repair', source, join(directory, 'a.jsonl')])).toContain(
      'lines 4 to 7, of another session: --session bbbb repairs it',
    )
    await resultOf(['repair', source, join(directory, 'b.jsonl'), '--session', 'bbbb'])
    expect(textsOf((await historyOf(join(directory, 'b.jsonl'))) as any)).toEqual(['b one', 'b two', 'b three'])
    expect(await resultOf(['repair', source, '--dry-run'])).toMatchObject({
      others: [{ sessionId: 'bbbb', firstLine: 4, lastLine: 7 }],
    })
  })
})

describe('what is lost, replaced or guessed', () => {
  test('NULs in the text of a record are counted; the text beside them stays', async () => {
    const long = envelope(2, content(`${'a'.repeat(2000)}${'b'.repeat(3000)}${'c'.repeat(2000)}`))
    const { receipt, lines } = await repaired(
      text([LINES[0]!, long.replace('b'.repeat(3000), '\0'.repeat(3000)), LINES[3]!]),
    )
    expect(lines).toEqual([LINES[0], long.replace('b'.repeat(3000), ''), LINES[3]])
    expect(receipt).toMatchObject({
      lostBytes: 3000,
      warnings: ['Dropped 3000 NULs inside 1 records: what they replaced is lost'],
    })
    // Between records, they replace nothing.
    const between = await repaired(`${LINES[0]}\n${'\0'.repeat(4096)}${LINES[1]}\n`)
    expect(between.receipt).toMatchObject({ lostBytes: 0, warnings: [] })
  })

  test('UTF-16 without a byte order mark is read, and the guess is named', async () => {
    const little = Buffer.from(text(LINES), 'utf16le')
    const big = Buffer.from(little).swap16()
    await eachCase(
      [
        [little, 'little'],
        [big, 'big'],
        [gzipSync(little), 'little'],
      ] as const,
      async ([bytes, order]) => {
        const { receipt, lines } = await repaired(bytes)
        expect(lines).toEqual(LINES)
        expect(receipt).toMatchObject({
          records: 4,
          lostBytes: 0,
          warnings: [`The text has no byte order mark: by its first bytes, it was read as ${order}-endian UTF-16`],
        })
      },
    )
    const cut = await repaired(Buffer.concat([Buffer.from('\ufeff', 'utf16le'), little, Buffer.from('{')]))
    expect(cut.lines).toEqual(LINES)
    expect(cut.receipt.warnings).toEqual(['The UTF-16 text ends with half a unit: its last byte is lost'])
  })

  test('UTF-16 that was appended to UTF-8 is read where its characters are certain, and else stays as it is', async () => {
    for (const swap of [false, true]) {
      const appended = Buffer.from(text([LINES[3]!, envelope(5, content('中文 ok'))]), 'utf16le')
      const { receipt, lines } = await repaired(
        Buffer.concat([Buffer.from(text(LINES.slice(0, 3))), swap ? appended.swap16() : appended]),
      )
      expect(lines).toEqual(LINES)
      expect(receipt.fragments.map(({ reason }) => reason)).toContain(
        'a record in UTF-16, in a file of UTF-8: nothing tells the order of its bytes',
      )
      expect(receipt.lostBytes).toBeGreaterThan(200)
      expect(receipt.warnings).toEqual(['Read 1 records as UTF-16, in a file that is not'])
    }
  })

  test('an id by which no lock can be named is another one then, so that the session can be resumed', async () => {
    for (const id of ['../../etc/passwd', 'a b', 'zwölf', 'x'.repeat(300), 'a\u0000b']) {
      const { receipt, destination, directory } = await repaired(
        text([envelope(1, start({ sessionId: id })), ...LINES.slice(1)]),
      )
      expect(receipt).toMatchObject({
        changed: true,
        warnings: [expect.stringContaining('nothing could resume the session')],
      })
      const chatsDir = mkdtempSync(join(directory, 'chats-'))
      writeFileSync(join(chatsDir, NAME), readFileSync(destination))
      const { metadata, recording } = await resumed(chatsDir)
      expect(metadata.sessionId).toMatch(/^[A-Za-z0-9_-]{1,200}$/)
      recording.recordContent(item('human', 'more'))
      await recording.dispose()
      expect(textsOf((await historyOf(join(chatsDir, NAME))) as any)).toEqual(['one', 'zwölf 中文', 'three', 'more'])
    }
    const unsafe = directoryOf({ [NAME]: text([envelope(1, start({ sessionId: 'a b' })), ...LINES.slice(1)]) })
    expect(await resultOf(['repair', join(unsafe, NAME), '--in-place'])).toMatchObject({ changed: true })
    expect(readFileSync(join(unsafe, NAME), 'utf8')).toContain('"sessionId":"a_b"')
    const torn = text([LINES[0]!.slice(0, 50), ...LINES.slice(1)])
    const given = await repaired(torn, { sessionId: 'my session', projectHash: PROJECT_HASH })
    expect(JSON.parse(given.lines[0]!).payload.sessionId).toBe('my_session')
    expect(given.receipt.warnings).toEqual([expect.stringContaining('"my session"')])
  })

  test('by the name of a session of which only the archive is there, the archive is repaired', async () => {
    const directory = directoryOf({ [NAME]: text([...LINES, '{"torn']) })
    const source = join(directory, NAME)
    expect(await archiveSession(source)).toBeDefined()
    expect(existsSync(source)).toBe(false)
    const { destination, records } = await resultOf(['repair', source])
    expect([destination, records]).toEqual([source.replace('.jsonl', '.repaired.jsonl'), 4])
    expect(await errorOf(['repair', source, '--in-place'])).toMatchObject({
      code: 'Usage',
      message: expect.stringContaining('not for compressed files'),
    })
  })
})

test("another program's session is named, and how to open it", async () => {
  const made = new URL('../../crates/core/tests/agents/made/claude-mixed.jsonl', import.meta.url)
  const directory = directoryOf({ 'claude.jsonl': readFileSync(made) })
  const source = join(directory, 'claude.jsonl')
  const error: any = await repairSession(source, join(directory, 'new')).catch((caught) => caught)
  expect(error).toMatchObject({ name: 'RepairError', code: 'NoRecords', path: source })
  expect(error.message).toBe(
    `${source} is a session of another program (claude, 16 records), and only native ones are repaired: import it with importSession or session-tape import`,
  )
  expect(readdirSync(directory)).toEqual(['claude.jsonl'])
})

test('an array with an element a line keeps its records, wherever it breaks off or goes on as lines', async () => {
  const array = `[\n${LINES.join(',\n')}\n]\n`
  for (const cut of [0, 1, 2, 3, 4, 5, 9, 40]) {
    const { lines } = await repaired(array.slice(0, array.length - cut))
    expect(lines.slice(0, 3), `${cut} bytes`).toEqual(LINES.slice(0, 3))
  }
  const { lines } = await repaired(`${array}${envelope(5, content('later'))}\n`)
  expect(lines).toEqual([...LINES, envelope(5, content('later'))])
})
