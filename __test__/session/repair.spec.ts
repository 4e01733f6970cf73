/** `repairSession`: the records of damaged sessions (docs/repair.md). */
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect } from 'vitest'
import { repairSession, replaySession, archiveSession } from '../../index.js'
import { eachCase } from '../support/each-case'
import { directoryOf } from '../support/file-directory'
import { childReport, mountNamespace, runChild } from '../support/processes'
import { test } from '../support/property'
import { resumed } from '../support/resuming'
import { content, envelope, item, PROJECT_HASH, start, textsOf } from '../support/session-file'
import { NAME, linesOf, repaired, text } from '../support/repairing'
import { errorOf, resultOf, shown } from '../support/command-line'

const LINES = linesOf(start(), content('one'), content('zwölf "2"', 'ai'), content('three\nlines'))

describe('an undamaged session', () => {
  test('is copied', async () => {
    for (const whole of [
      text(LINES),
      text(LINES).trimEnd(),
      text(LINES).replaceAll('\n', '\r\n'),
      `\ufeff${text(LINES)}`,
    ]) {
      const { receipt, destination, directory } = await repaired(whole)
      expect(receipt).toMatchObject({
        changed: false,
        destination,
        records: 4,
        recovered: 0,
        fragments: [],
        lostBytes: 0,
        duplicates: 0,
        renumbered: false,
        startInvented: false,
        warnings: [],
      })
      expect(receipt.source).toEqual({
        bytes: Buffer.byteLength(whole),
        sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      })
      expect(readFileSync(destination)).toEqual(readFileSync(join(directory, NAME)))
    }
  })

  test('keeps records of types that this release does not know, and says so', async () => {
    const directory = directoryOf({ [NAME]: text([...LINES, envelope(5, ['newer', { a: 1 }])]) })
    const receipt = await repairSession(join(directory, NAME), join(directory, 'copy'))
    expect(receipt).toMatchObject({
      changed: false,
      records: 5,
      warnings: ["A replay of what was recovered warns: Line 5: unknown event type 'newer', skipping"],
    })
  })
})

describe('damage of public reports', () => {
  test.skipIf(mountNamespace === null)(
    'an append that a full disk cut off, fused with the next: the next is recovered',
    async () => {
      const lines = linesOf(start(), content('one'), content('x'.repeat(100_000)), content('after'), content('last'))
      const directory = directoryOf()
      const report = await childReport<any>(
        'child-repair.mjs',
        [JSON.stringify({ scenario: 'fullDisk', directory, lines })],
        { wrapper: mountNamespace! },
      )
      expect(report.code).toBe('ENOSPC')
      expect(report.damaged.split('\n')).toHaveLength(5)
      expect(report.repaired.split('\n').slice(0, 4)).toEqual([lines[0], lines[1], lines[3], lines[4]])
      expect(report.receipt).toMatchObject({ records: 4, recovered: 1 })
      expect(report.receipt.lostBytes).toBeGreaterThan(4096)
    },
  )

  test('a writer that was killed, fused with the one that came after it', async () => {
    const directory = directoryOf()
    const lines = LINES.slice(0, 3)
    const ended = await runChild('child-repair.mjs', [JSON.stringify({ scenario: 'killed', directory, lines })])
    expect(ended.signal).toBe('SIGKILL')
    appendFileSync(join(directory, NAME), `${LINES[3]}\n`)
    const receipt = await repairSession(join(directory, NAME), join(directory, 'repaired'))
    expect(receipt).toMatchObject({ records: 3, recovered: 1, lostBytes: 100 })
    expect(readFileSync(join(directory, 'repaired'), 'utf8').split('\n').slice(0, 3)).toEqual([
      LINES[0],
      LINES[1],
      LINES[3],
    ])
  })

  test('a block of NULs, as a file has that was enlarged and never written', async () => {
    const directory = directoryOf({ [NAME]: text(LINES.slice(0, 2)) })
    truncateSync(join(directory, NAME), statSync(join(directory, NAME)).size + 8192)
    appendFileSync(join(directory, NAME), text(LINES.slice(2)))
    const { receipt, lines } = await repaired(readFileSync(join(directory, NAME)))
    expect(lines).toEqual(LINES)
    expect(receipt).toMatchObject({ recovered: 1, lostBytes: 0 })
  })

  test('line feeds in strings', async () => {
    const { receipt, lines } = await repaired(text(LINES).replaceAll('\\n', '\n'))
    expect(lines).toEqual(LINES)
    expect(receipt).toMatchObject({ recovered: 1, lostBytes: 0 })
  })

  test('a string goes on for ten thousand lines at most', async () => {
    const raw = (feeds: number) =>
      text([LINES[0]!, envelope(2, content('a\n'.repeat(feeds))), LINES[2]!]).replaceAll('\\n', '\n')
    expect((await repaired(raw(10_000))).receipt).toMatchObject({ records: 3, lostBytes: 0 })
    expect((await repaired(raw(10_001))).receipt).toMatchObject({ records: 2 })
  })

  test('a torn first line: a session_start further on, or one that is made up from the name and the first time', async () => {
    const torn = `${LINES[0]!.slice(0, 80)}\n${text(LINES.slice(1))}`
    await expect(repaired(torn)).rejects.toMatchObject({
      name: 'RepairError',
      code: 'NoStart',
      message: expect.stringContaining('projectHash'),
    })
    const { receipt, lines, destination } = await repaired(torn, { projectHash: PROJECT_HASH })
    expect(receipt).toMatchObject({ startInvented: true, renumbered: false, records: 3, recovered: 3, lostBytes: 80 })
    expect(lines.slice(1)).toEqual(LINES.slice(1))
    const { ts } = JSON.parse(LINES[1]!)
    expect(JSON.parse(lines[0]!).payload).toMatchObject({
      sessionId: 'abcdefgh',
      projectHash: PROJECT_HASH,
      startTime: ts,
    })
    const named = await repaired(torn, { projectHash: PROJECT_HASH, sessionId: 'whole' })
    expect(JSON.parse(named.lines[0]!).payload.sessionId).toBe('whole')
    expect(existsSync(destination)).toBe(true)
    const later = await repaired(torn + text([LINES[0]!]))
    expect(later.receipt).toMatchObject({ startInvented: false })
    expect(later.lines).toEqual(LINES)
  })

  test('another encoding', async () => {
    const utf16 = Buffer.from(`\ufeff${text(LINES)}`, 'utf16le')
    const values = LINES.map((line): unknown => JSON.parse(line))
    await eachCase(
      [
        utf16,
        Buffer.from(utf16).swap16(),
        gzipSync(text(LINES)),
        Buffer.concat([gzipSync(LINES[0]! + '\n'), gzipSync(text(LINES.slice(1)))]),
        gzipSync(utf16),
        text(LINES).replaceAll('\n', '\r'),
        JSON.stringify(values),
        JSON.stringify(values, null, 2),
        values.map((value) => JSON.stringify(value, null, '\t')).join('\n'),
        `[${LINES.join(',\n')}]\n`,
      ],
      async (bytes) => {
        const { receipt, lines } = await repaired(bytes)
        expect(lines).toEqual(LINES)
        expect(receipt).toMatchObject({
          changed: true,
          records: 4,
          recovered: 4,
          fragments: [],
          lostBytes: 0,
          warnings: [],
        })
      },
    )
  })

  test('a gzip stream that was cut off gives what is before the cut', async () => {
    const many = linesOf(start(), ...Array.from({ length: 2000 }, (_, at) => content(`${at} ${Math.sin(at)}`)))
    const packed = gzipSync(text(many))
    const { receipt, lines } = await repaired(packed.subarray(0, packed.length >> 1))
    expect(lines).toEqual(many.slice(0, lines.length))
    expect(lines.length).toBeGreaterThan(500)
    expect(receipt.warnings).toEqual([
      expect.stringMatching(/^The gzip stream is damaged: nothing after \d+ unpacked bytes can be read$/),
    ])
  })
})

describe('the records', () => {
  test('that are there twice count once, and a failed attempt is no loss', async () => {
    const { receipt, lines } = await repaired(
      `${LINES[0]}\n${LINES[1]}\n${LINES[1]}\n${LINES[2]!.slice(0, 70)}${LINES[2]}\n${LINES[3]}\n`,
    )
    expect(lines).toEqual(LINES)
    expect(receipt).toMatchObject({
      duplicates: 1,
      lostBytes: 0,
      fragments: [{ length: 70, reason: 'a failed attempt to write the record after it' }],
    })
  })

  test('get new numbers, all of them, if theirs do not ascend; the file of the receipt has the map', async () => {
    const directory = directoryOf()
    const receiptPath = join(directory, 'receipt.jsonl')
    const mixed = [LINES[0]!, LINES[3]!, LINES[1]!, LINES[2]!]
    const { receipt, lines } = await repaired(text([...mixed, '{"v":1,']), {})
    expect(receipt).toMatchObject({ renumbered: true, records: 4, lostBytes: 7 })
    expect(lines.map((line) => JSON.parse(line).seq)).toEqual([1, 2, 3, 4])
    expect(textsOf(lines.slice(1).map((line) => JSON.parse(line).payload.content))).toEqual([
      'three\nlines',
      'one',
      'zwölf "2"',
    ])
    writeFileSync(join(directory, NAME), text([...mixed, '{"v":1,']))
    await repairSession(join(directory, NAME), join(directory, 'repaired'), { receiptPath })
    const [heading, ...entries] = readFileSync(receiptPath, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line): any => JSON.parse(line))
    expect(heading).toMatchObject({ sourceSha256: receipt.source.sha256, renumbered: true })
    expect(entries.map(({ seq, newSeq, fate }) => [seq, newSeq, fate])).toEqual([
      [1, 1, 'kept'],
      [4, 2, 'kept'],
      [2, 3, 'kept'],
      [3, 4, 'kept'],
      [undefined, undefined, 'lost'],
    ])
    expect(
      entries.every(
        ({ offset, length, sha256 }) => Number.isInteger(offset) && length > 0 && /^[0-9a-f]{64}$/.test(sha256),
      ),
    ).toBe(true)
  })

  test('with bytes that are not UTF-8 have U+FFFD there, and no others', async () => {
    const bytes = Buffer.from(text(LINES))
    bytes[bytes.indexOf('ö')] = 0xff
    const { receipt, lines } = await repaired(bytes)
    expect(lines).toEqual([LINES[0], LINES[1], LINES[2]!.replace('ö', '\ufffd\ufffd'), LINES[3]])
    expect(receipt.warnings).toEqual(['Replaced bytes that are not UTF-8 by U+FFFD in 1 records'])
  })
})

test('a repaired session can be resumed', async () => {
  const { directory, destination } = await repaired(`${LINES[0]}\n${LINES[1]!.slice(0, 40)}${LINES[2]}\n`)
  const chatsDir = mkdtempSync(join(directory, 'chats-'))
  writeFileSync(join(chatsDir, NAME), readFileSync(destination))
  const { history, warnings, recording } = await resumed(chatsDir)
  expect([textsOf(history), warnings]).toEqual([['zwölf "2"'], []])
  recording.recordContent(item('human', 'more'))
  await recording.dispose()
  expect(await replaySession(join(chatsDir, NAME), PROJECT_HASH, { strict: true })).toMatchObject({
    ok: true,
    warnings: [],
  })
})

describe('a repair that does not happen', () => {
  const damaged = `${LINES[0]}\n${LINES[1]}${LINES[2]}\n`

  test('leaves nothing, and never replaces anything', async () => {
    const directory = directoryOf({ [NAME]: damaged, taken: 'mine', foreign: '{"type":"x"}\n', empty: '' })
    const [source, taken] = [join(directory, NAME), join(directory, 'taken')]
    const before = readdirSync(directory).sort()
    await expect(repairSession(source, taken)).rejects.toMatchObject({ code: 'DestinationExists', path: taken })
    await expect(repairSession(source, join(directory, 'new'), { receiptPath: taken })).rejects.toMatchObject({
      code: 'DestinationExists',
      path: taken,
    })
    await expect(repairSession(join(directory, 'none'), join(directory, 'new'))).rejects.toMatchObject({
      code: 'ENOENT',
      syscall: 'open',
    })
    await expect(repairSession(directory, join(directory, 'new'))).rejects.toMatchObject({ code: 'EISDIR' })
    await expect(repairSession(source, join(directory, 'no/such'))).rejects.toMatchObject({ code: 'ENOENT' })
    for (const name of ['foreign', 'empty'])
      await expect(repairSession(join(directory, name), join(directory, 'new'))).rejects.toMatchObject({
        code: 'NoRecords',
      })
    expect(await repairSession(source, taken, { dryRun: true })).toMatchObject({ changed: true, recovered: 2 })
    expect(readdirSync(directory).sort()).toEqual(before)
    expect(readFileSync(taken, 'utf8')).toBe('mine')
  })

  test('was aborted', async () => {
    const directory = directoryOf({ [NAME]: damaged.repeat(20_000) })
    const controller = new AbortController()
    const onProgress = () => controller.abort(new Error('enough'))
    await expect(
      repairSession(join(directory, NAME), join(directory, 'new'), { signal: controller.signal, onProgress }),
    ).rejects.toThrow('enough')
    expect(readdirSync(directory)).toEqual([NAME])
    const thrown = new Error('thrown')
    await expect(
      repairSession(join(directory, NAME), join(directory, 'new'), {
        onProgress: () => {
          throw thrown
        },
      }),
    ).rejects.toBe(thrown)
    expect(readdirSync(directory)).toEqual([NAME])
  })
})

test('text without an end takes linear time', async () => {
  const rest = text(LINES.slice(0, 2))
  for (const unit of ['{', '{"a":', '{"', '[', '"\n']) {
    const { receipt } = await repaired(`${rest}${unit.repeat((1 << 20) / unit.length)}\n${LINES[2]}\n`)
    expect(receipt.records).toBe(3)
  }
  const { receipt } = await repaired(`${rest}${'{'.repeat(50 << 20)}\n${LINES[2]}\n`)
  expect(receipt).toMatchObject({ records: 3, lostBytes: 50 << 20 })
})

const SOUND = linesOf(start(), content('one'), content('zwölf 中文', 'ai'), content('three'))

const historyOf = async (file: string): Promise<unknown[]> => {
  const replay = await replaySession(file, undefined, { strict: true })
  if (!replay.ok) throw new Error(replay.error)
  return replay.history
}

describe('records that name no version', () => {
  const without = (line: string, v?: unknown): string => JSON.stringify({ ...(JSON.parse(line) as object), v })

  test('are kept, whatever stands there instead, and get "v":1', async () => {
    for (const v of [undefined, '1', 0, null, true, 1.5, -1, {}, [], '', '2']) {
      const source = text(SOUND.map((line) => without(line, v)))
      const { receipt, lines } = await repaired(source)
      expect(
        lines.map((line) => JSON.parse(line)),
        JSON.stringify(v),
      ).toEqual(SOUND.map((line) => JSON.parse(line)))
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
    const { lines } = await repaired(text(SOUND.map((line) => line.replace('{"v":1,', '{'))))
    expect(lines).toEqual(SOUND)
  })

  test('but those of a later version stay out, and are counted', async () => {
    for (const v of [3, 17, '3']) {
      const later = without(SOUND[2]!, v)
      const { receipt, lines } = await repaired(text([SOUND[0]!, SOUND[1]!, later, SOUND[3]!]))
      expect(lines).toEqual([SOUND[0], SOUND[1], SOUND[3]])
      expect(receipt).toMatchObject({
        versioned: 0,
        fragments: [{ length: Buffer.byteLength(later), reason: 'a record of a later version' }],
        lostBytes: Buffer.byteLength(later),
      })
    }
    const second = without(SOUND[2]!, 2)
    expect((await repaired(text([...SOUND.slice(0, 2), second]))).receipt).toMatchObject({
      changed: false,
      versioned: 0,
    })
  })

  test('are shown by the command line', async () => {
    const directory = directoryOf({ [NAME]: text(SOUND.map((line) => without(line))) })
    expect(await shown(['repair', join(directory, NAME)])).toContain('No version    4 records, now version 1')
  })
})

describe('a file with several sessions', () => {
  const FIRST = linesOf(start({ sessionId: 'aaaa' }), content('a one'), content('a two', 'ai'))
  const SECOND = linesOf(start({ sessionId: 'bbbb' }), content('b one'), content('b two', 'ai'), content('b three'))
  const THIRD = linesOf(start({ sessionId: 'cccc' }), content('c one'))

  test('is repaired to the first one, and the receipt names the others', async () => {
    const { receipt, lines } = await repaired(text([...FIRST, ...SECOND, ...THIRD]))
    expect(lines).toEqual(FIRST)
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
      ['aaaa', FIRST, ['bbbb', 'cccc']],
      ['bbbb', SECOND, ['aaaa', 'cccc']],
      ['cccc', THIRD, ['aaaa', 'bbbb']],
    ] as const) {
      const done = await repaired(text([...FIRST, ...SECOND, ...THIRD]), { sessionId })
      expect(done.lines).toEqual(lines)
      expect(done.receipt.others.map((other) => other.sessionId)).toEqual(others)
    }
    const directory = directoryOf({ [NAME]: text([...FIRST, ...SECOND]) })
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
    const mixed = [...FIRST, ...SECOND, FIRST[0]!, more[0]!, SECOND[0]!, more[1]!]
    const first = await repaired(text(mixed))
    expect(first.lines).toEqual([...FIRST, more[0]])
    expect(first.receipt.others).toEqual([
      { sessionId: 'bbbb', firstLine: 4, lastLine: 7 },
      { sessionId: 'bbbb', firstLine: 10, lastLine: 11 },
    ])
    expect((await repaired(text(mixed), { sessionId: 'bbbb' })).lines).toEqual([...SECOND, more[1]])
  })

  test('of which the second is fused onto a fragment of the first', async () => {
    const { receipt, lines } = await repaired(`${FIRST[0]}\n${FIRST[1]}\n${FIRST[2]!.slice(0, 120)}${text(SECOND)}`)
    expect(lines).toEqual(FIRST.slice(0, 2))
    expect(receipt).toMatchObject({ lostBytes: 120, others: [{ sessionId: 'bbbb', firstLine: 3, lastLine: 6 }] })
  })

  test('of which the first has lost its start: its records are none of the second', async () => {
    const source = text([FIRST[0]!.slice(0, 60), ...FIRST.slice(1), ...SECOND])
    const { receipt, lines } = await repaired(source)
    expect(lines).toEqual(SECOND)
    expect(receipt.others).toEqual([{ sessionId: null, firstLine: 2, lastLine: 3 }])
    const named = await repaired(source, { sessionId: 'mine', projectHash: PROJECT_HASH })
    expect(named.lines.slice(1)).toEqual(FIRST.slice(1))
    expect(JSON.parse(named.lines[0]!).payload).toMatchObject({ sessionId: 'mine', projectHash: PROJECT_HASH })
    expect(named.receipt).toMatchObject({
      startInvented: true,
      others: [{ sessionId: 'bbbb', firstLine: 4, lastLine: 7 }],
    })
  })

  test('is shown with the others by the command line, which chooses by --session', async () => {
    const directory = directoryOf({ [NAME]: text([...FIRST, ...SECOND]) })
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
      text([SOUND[0]!, long.replace('b'.repeat(3000), '\0'.repeat(3000)), SOUND[3]!]),
    )
    expect(lines).toEqual([SOUND[0], long.replace('b'.repeat(3000), ''), SOUND[3]])
    expect(receipt).toMatchObject({
      lostBytes: 3000,
      warnings: ['Dropped 3000 NULs inside 1 records: what they replaced is lost'],
    })
    // Between records, they replace nothing.
    const between = await repaired(`${SOUND[0]}\n${'\0'.repeat(4096)}${SOUND[1]}\n`)
    expect(between.receipt).toMatchObject({ lostBytes: 0, warnings: [] })
  })

  test('UTF-16 without a byte order mark is read, and the guess is named', async () => {
    const little = Buffer.from(text(SOUND), 'utf16le')
    const big = Buffer.from(little).swap16()
    await eachCase(
      [
        [little, 'little'],
        [big, 'big'],
        [gzipSync(little), 'little'],
      ] as const,
      async ([bytes, order]) => {
        const { receipt, lines } = await repaired(bytes)
        expect(lines).toEqual(SOUND)
        expect(receipt).toMatchObject({
          records: 4,
          lostBytes: 0,
          warnings: [`The text has no byte order mark: by its first bytes, it was read as ${order}-endian UTF-16`],
        })
      },
    )
    const cut = await repaired(Buffer.concat([Buffer.from('\ufeff', 'utf16le'), little, Buffer.from('{')]))
    expect(cut.lines).toEqual(SOUND)
    expect(cut.receipt.warnings).toEqual(['The UTF-16 text ends with half a unit: its last byte is lost'])
  })

  test('UTF-16 that was appended to UTF-8 is read where its characters are certain, and else stays as it is', async () => {
    for (const swap of [false, true]) {
      const appended = Buffer.from(text([SOUND[3]!, envelope(5, content('中文 ok'))]), 'utf16le')
      const { receipt, lines } = await repaired(
        Buffer.concat([Buffer.from(text(SOUND.slice(0, 3))), swap ? appended.swap16() : appended]),
      )
      expect(lines).toEqual(SOUND)
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
        text([envelope(1, start({ sessionId: id })), ...SOUND.slice(1)]),
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
    const unsafe = directoryOf({ [NAME]: text([envelope(1, start({ sessionId: 'a b' })), ...SOUND.slice(1)]) })
    expect(await resultOf(['repair', join(unsafe, NAME), '--in-place'])).toMatchObject({ changed: true })
    expect(readFileSync(join(unsafe, NAME), 'utf8')).toContain('"sessionId":"a_b"')
    const torn = text([SOUND[0]!.slice(0, 50), ...SOUND.slice(1)])
    const given = await repaired(torn, { sessionId: 'my session', projectHash: PROJECT_HASH })
    expect(JSON.parse(given.lines[0]!).payload.sessionId).toBe('my_session')
    expect(given.receipt.warnings).toEqual([expect.stringContaining('"my session"')])
  })

  test('by the name of a session of which only the archive is there, the archive is repaired', async () => {
    const directory = directoryOf({ [NAME]: text([...SOUND, '{"torn']) })
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
    `${source} is a session of another program (claude, 15 records), and only native ones are repaired: import it with importSession or session-tape import`,
  )
  expect(readdirSync(directory)).toEqual(['claude.jsonl'])
})

test('an array with an element a line keeps its records, wherever it breaks off or goes on as lines', async () => {
  const array = `[\n${SOUND.join(',\n')}\n]\n`
  for (const cut of [0, 1, 2, 3, 4, 5, 9, 40]) {
    const { lines } = await repaired(array.slice(0, array.length - cut))
    expect(lines.slice(0, 3), `${cut} bytes`).toEqual(SOUND.slice(0, 3))
  }
  const { lines } = await repaired(`${array}${envelope(5, content('later'))}\n`)
  expect(lines).toEqual([...SOUND, envelope(5, content('later'))])
})
