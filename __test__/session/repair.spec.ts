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
import { repairSession, replaySession } from '../../index.js'
import { eachCase } from '../support/each-case'
import { directoryOf } from '../support/file-directory'
import { childReport, mountNamespace, runChild } from '../support/processes'
import { test } from '../support/property'
import { resumed } from '../support/resuming'
import { content, envelope, item, PROJECT_HASH, start, textsOf } from '../support/session-file'
import { NAME, linesOf, repaired, text } from '../support/repairing'

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
