// Damaged archives: everything that reads one says so in the same words, and shows what is before the damage. What is behind it is repaired.

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  archiveSession,
  describeSessions,
  exportBundle,
  listSessions,
  openSession,
  readSessionHeader,
  readSessionRecords,
  repairSession,
  replaySession,
  searchSessions,
  verifyBundle,
} from '../../index.js'
import { complaintOf, resultOf, sessionTape } from '../support/command-line.js'
import { runChild } from '../support/processes.js'
import { PROJECT_HASH, content } from '../support/session-file.js'
import { projectOf, sessionWith } from '../support/project-files.js'

const NAME = 'session-1.jsonl'
const ITEMS = 24_000
const hasZstd = spawnSync('zstd', ['--version']).status === 0

/** Text that hardly compresses, so that frames are long. */
const noise = (at: number) => createHash('sha512').update(`${at}`).digest('base64').repeat(8)
const TEXT = sessionWith('abc', ...Array.from({ length: ITEMS }, (_, at) => content(`${at} ${noise(at)}`)))
const LINES = TEXT.trimEnd()
  .split('\n')
  .map((line) => line.length + 1)

/** Offset and size of each frame of an archive and of its content, from its seek table. */
function framesOf(archive: Buffer) {
  const count = archive.readUInt32LE(archive.length - 9)
  const table = archive.length - 9 - 12 * count
  let [packed, plain] = [0, 0]
  return Array.from({ length: count }, (_, at) => {
    const frame = {
      packed,
      plain,
      size: archive.readUInt32LE(table + 12 * at),
      length: archive.readUInt32LE(table + 12 * at + 4),
    }
    packed += frame.size
    plain += frame.length
    return frame
  })
}

/** The number of records in the first bytes of the session. */
function recordsIn(bytes: number): number {
  let [at, count] = [0, 0]
  while (at < bytes) at += LINES[count++]!
  return count
}

const whole = (async () => {
  const directory = projectOf({ [NAME]: TEXT })
  await archiveSession(join(directory, NAME))
  return readFileSync(join(directory, `${NAME}.zst`))
})()

/** An archive with a byte that was changed in the middle of a frame. */
async function damaged(number = 2) {
  const bytes = Buffer.from(await whole)
  const frame = framesOf(bytes)[number]!
  bytes[frame.packed + Math.trunc(frame.size / 2)]! ^= 1
  const directory = projectOf({})
  const archive = join(directory, `${NAME}.zst`)
  writeFileSync(archive, bytes)
  return {
    directory,
    archive,
    frame,
    bytes,
    warning: `The archive is damaged after ${frame.plain} bytes`,
    items: recordsIn(frame.plain) - 1,
  }
}

describe('a damaged archive', () => {
  test('is read up to the damage, with one warning in every result', async () => {
    const { directory, archive, warning, items } = await damaged()
    for (const options of [{}, { strict: true }]) {
      for (let attempt = 0; attempt < 5; attempt++) {
        const replayed = await replaySession(archive, PROJECT_HASH, options)
        expect(replayed.ok && [replayed.history.length, replayed.warnings]).toStrictEqual([items, [warning]])
      }
    }
    const opened = await openSession(archive)
    expect(opened.ok && [opened.session.historyLength, opened.session.warnings]).toStrictEqual([items, [warning]])
    if (opened.ok) opened.session.close()
    expect((await describeSessions(directory)).sessions).toMatchObject([{ historyLength: items, warnings: [warning] }])
    for (const options of [{}, { history: true }, { changes: true }]) {
      const lines = []
      for await (const line of readSessionRecords(archive, options)) lines.push(line)
      expect([lines.length, lines.at(-1)]).toMatchObject([items + 2, { status: 'torn', warning }])
      expect(lines.at(-2)).not.toHaveProperty('warning')
    }
    const search = searchSessions(archive, ' ', { fields: ['text'] })
    let hits = 0
    for await (const hit of search) hits += Number(hit.archived)
    expect([hits, search.summary.unreadable]).toStrictEqual([items, [{ filePath: archive, reason: warning }]])
  })

  test('is a bundle only if that is asked for', async () => {
    const { directory, archive, warning } = await damaged()
    const bundle = join(directory, 'a.cath-bundle')
    await expect(exportBundle(archive, bundle, { redact: false })).rejects.toMatchObject({
      code: 'SourceInvalid',
      message: expect.stringContaining(warning),
    })
    expect(existsSync(bundle)).toBe(false)
    await exportBundle(archive, bundle, { redact: false, allowDamaged: true })
    expect(await verifyBundle(bundle)).toMatchObject({ ok: true })
    expect(() => exportBundle(archive, bundle, { allowDamaged: 1 as never })).toThrow(TypeError)
    expect(await complaintOf(['bundle', 'export', archive, join(directory, 'b.cath-bundle')], 1)).toContain(warning)
  })

  test('is shown up to the damage on the command line, which says so', async () => {
    const { archive, warning, items } = await damaged()
    for (const command of ['replay', 'inspect']) {
      const { stdout, stderr } = await sessionTape([command, archive])
      expect(stdout + stderr).toContain(warning)
    }
    expect(await resultOf(['replay', archive])).toMatchObject({ warnings: [warning], eventCount: items + 1 })
  })

  test('with a damaged first frame has a reason that says so, not one about its header', async () => {
    const { directory, archive } = await damaged(0)
    const bytes = readFileSync(archive)
    writeFileSync(archive, bytes.subarray(0, 20))
    const reason = 'The archive is damaged after 0 bytes'
    expect(await replaySession(archive)).toMatchObject({
      ok: false,
      error: `Failed to read file: ${reason}`,
      warnings: [reason],
    })
    expect(await readSessionHeader(archive)).toBe(null)
    expect((await describeSessions(directory)).unreadable).toMatchObject([
      { filePath: archive, reason: expect.stringContaining(reason) },
    ])
    expect(await listSessions(directory)).toMatchObject({ sessions: [], unreadable: [{ filePath: archive, reason }] })
  })

  test('of another agent gives its conversation the warning', async () => {
    const lines = Array.from({ length: 60_000 }, (_, at) => ({
      type: 'user',
      uuid: `u${at}`,
      parentUuid: at === 0 ? null : `u${at - 1}`,
      sessionId: 's',
      timestamp: '2026-01-01T00:00:00.000Z',
      cwd: '/',
      version: '1',
      message: { role: 'user', content: `${at} ${noise(at).slice(0, 90)}` },
    }))
    const directory = projectOf({ 'a.jsonl': lines.map((line) => `${JSON.stringify(line)}\n`).join('') })
    const archive = join(directory, 'a.jsonl.zst')
    const archived = spawnSync('zstd', ['-q', '-B1MiB', '-T2', '--rm', join(directory, 'a.jsonl')])
    if (archived.status !== 0) return
    const bytes = readFileSync(archive)
    writeFileSync(archive, bytes.subarray(0, Math.trunc(bytes.length / 2)))
    const replayed = await replaySession(archive)
    expect(replayed).toMatchObject({ ok: true })
    expect(replayed.warnings[0]).toMatch(/^The archive is damaged after \d+ bytes$/)
  })
})

describe('repairSession of a damaged archive', () => {
  const repaired = async (archive: string, directory: string) => {
    const receipt = await repairSession(archive, join(directory, 'repaired.jsonl'), {
      receiptPath: join(directory, 'receipt.jsonl'),
    })
    const replayed = await replaySession(receipt.destination, PROJECT_HASH, { strict: true })
    return {
      receipt,
      items: replayed.ok
        ? replayed.history.map(({ blocks }) => Number((blocks[0] as { text: string }).text.split(' ')[0]))
        : [],
    }
  }

  test('finds the frames behind the damage, and says what is lost', async () => {
    const { directory, archive, frame, warning } = await damaged()
    const [begin, end] = [recordsIn(frame.plain) - 1, recordsIn(frame.plain + frame.length) - 1]
    const { receipt, items } = await repaired(archive, directory)
    expect(items).toStrictEqual(Array.from({ length: ITEMS }, (_, at) => at).filter((at) => at < begin || at >= end))
    expect(receipt).toMatchObject({
      changed: true,
      lostBytes: frame.size,
      fragments: [{ offset: frame.packed, length: frame.size, reason: expect.stringContaining('archive') }],
    })
    expect(receipt.warnings[0]).toBe(warning)
    const lost = readFileSync(join(directory, 'receipt.jsonl'), 'utf8').split('\n')[1]!
    expect(JSON.parse(lost)).toMatchObject({ offset: frame.packed, length: frame.size, fate: 'lost' })
  })

  test('finds them by their first bytes, when the seek table is damaged too', async () => {
    const { directory, archive, frame, bytes } = await damaged()
    bytes.writeUInt32LE(7, bytes.length - 30)
    bytes.writeUInt32LE(7, frame.packed)
    writeFileSync(archive, bytes)
    const { receipt, items } = await repaired(archive, directory)
    expect(items).toHaveLength(ITEMS + recordsIn(frame.plain) - recordsIn(frame.plain + frame.length))
    expect(receipt.lostBytes).toBe(frame.size)
  })

  test('loses nothing if only the seek table is damaged, wherever', async () => {
    const bytes = await whole
    const count = framesOf(bytes).length
    const directory = projectOf({})
    const archive = join(directory, `${NAME}.zst`)
    const table = bytes.length - 17 - 12 * count
    for (const at of [
      table,
      table + 4,
      table + 7,
      table + 8 + 12,
      table + 8 + 16,
      table + 8 + 20,
      bytes.length - 9,
      bytes.length - 1,
    ]) {
      const changed = Buffer.from(bytes)
      changed[at]! ^= 1
      writeFileSync(archive, changed)
      const receipt = await repairSession(archive, join(directory, 'x'), { dryRun: true })
      expect([at - table, receipt.records, receipt.lostBytes]).toStrictEqual([at - table, ITEMS + 1, 0])
    }
  })
})

describe.skipIf(!hasZstd)('an archive of zstd, of one frame (needs zstd)', () => {
  const zstd = (text: string) => spawnSync('zstd', ['-q', '-c'], { input: text, maxBuffer: 1 << 30 }).stdout

  test('that is cut off gives its beginning, to every reader and to repair', async () => {
    const packed = zstd(TEXT)
    const directory = projectOf({})
    const archive = join(directory, `${NAME}.zst`)
    writeFileSync(archive, packed.subarray(0, Math.trunc(packed.length * 0.6)))
    const replayed = await replaySession(archive, PROJECT_HASH)
    const items = replayed.ok ? replayed.history.length : 0
    expect(items).toBeGreaterThan(ITEMS / 2)
    expect(replayed.warnings[0]).toMatch(/^The archive is damaged after \d+ bytes$/)
    const receipt = await repairSession(archive, join(directory, 'repaired.jsonl'))
    expect(receipt).toMatchObject({ changed: true, records: items + 1 })
    expect(receipt.warnings[0]).toBe(replayed.warnings[0])
  })

  test.skipIf(process.platform !== 'linux')(
    'of gigabytes of zeros is not unpacked by readers that look for a format',
    async () => {
      const directory = projectOf({})
      const path = join(directory, 'zeros.jsonl.zst')
      expect(spawnSync('sh', ['-c', `head -c 3G /dev/zero | zstd -q -o ${path}`]).status).toBe(0)
      // A file of more than 64 MiB can't be written.
      const wrapper = ['sh', '-c', 'ulimit -f 65536; exec "$@"', '-']
      const calls = [
        ['replaySession', path],
        ['readSessionHeader', path],
        ['readSessionTitle', path],
        ['readSessionPreview', path],
        ['describeSessions', directory],
        ['listSessions', directory],
      ]
      const { stdout, stderr, signal } = await runChild('child-call.mjs', [JSON.stringify(calls)], { wrapper })
      expect([stderr, signal]).toStrictEqual(['', null])
      expect(JSON.parse(stdout)[0].value).toMatchObject({ ok: false, error: 'Missing or corrupt session_start event' })
      expect(JSON.stringify(JSON.parse(stdout))).not.toContain('EFBIG')
    },
  )
})
