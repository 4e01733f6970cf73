/** Sessions of other programs: what a file is, its conversations, replays, imports and conversions. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect } from 'vitest'
import {
  convertSession,
  detectSessionFormat,
  exportBundle,
  importSession,
  listConversations,
  listSessions,
  openSession,
  readSessionHeader,
  readSessionPreview,
  readSessionRecords,
  readSessionTitle,
  replaySession,
  resumeSession,
  type ReceiptEntry,
} from '../../index.js'
import { complaintOf, errorOf, resultOf, SAMPLE, shown } from '../support/command-line'
import { fc, test } from '../support/property'
import { requestOf } from '../support/resuming'
import { sessionDirectory, writeSession } from '../support/session-file'

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../../crates/core/tests/agents/${name}`, import.meta.url))
const MIXED = fixture('made/claude-mixed.jsonl')
const BRANCHES = fixture('made/claude-branches.jsonl')
const ROLLBACK = fixture('made/codex-rollback.jsonl')
let fresh = 0
const target = () => ({ chatsDir: join(sessionDirectory(), `chats-${++fresh}`), projectHash: 'p' })

describe('detectSessionFormat', () => {
  test.each([
    [MIXED, 'claude'],
    [ROLLBACK, 'codex'],
    [SAMPLE, 'native'],
    [fixture('README.md'), null],
  ])('looks at the content of %s', async (path, format) => {
    expect(await detectSessionFormat(path)).toBe(format)
  })

  test('does not look at the name', async () => {
    const path = join(sessionDirectory(), 'session-2026-01-01T00-00-native.jsonl')
    writeFileSync(path, readFileSync(ROLLBACK))
    expect(await detectSessionFormat(path)).toBe('codex')
  })

  test('rejects with the error of the system', async () => {
    await expect(detectSessionFormat(join(sessionDirectory(), 'none'))).rejects.toMatchObject({ code: 'ENOENT' })
    expect(() => detectSessionFormat(1 as never)).toThrow(TypeError)
  })
})

describe('a conversation', () => {
  test('is one of those that are listed', async () => {
    const { format, conversations } = await listConversations(MIXED)
    expect([format, conversations.map(({ sessionId, agentId, title }) => [sessionId, agentId, title])]).toEqual([
      'claude',
      [
        ['s-claude', undefined, 'Greeting'],
        ['s-claude', 'ag1', undefined],
      ],
    ])
    const replay = await replaySession(MIXED, undefined, { conversation: 'ag1', strict: true })
    expect(replay).toMatchObject({ ok: true, metadata: { sessionId: 'agent-ag1' }, warnings: [] })
    expect(await replaySession(`${MIXED}#ag1`, undefined, { strict: true })).toEqual(replay)
  })

  test('that a file does not have is a failure', async () => {
    for (const path of [MIXED, SAMPLE])
      expect(await replaySession(path, undefined, { conversation: 'x' })).toMatchObject({
        ok: false,
        error: 'No conversation x',
      })
    expect(await replaySession(`${SAMPLE}#x`)).toMatchObject({ ok: false, error: expect.stringContaining('ENOENT') })
  })
})

describe('a reader of sessions', () => {
  test('reads the session of another program as what it becomes', async () => {
    const replay = await replaySession(MIXED, undefined, { strict: true })
    if (!replay.ok) throw new Error(replay.error)
    expect(replay.metadata).toMatchObject({
      sessionId: 's-claude',
      provider: 'anthropic',
      title: 'Greeting',
      cwd: '/w',
    })
    const opened = await openSession(MIXED)
    if (!opened.ok) throw new Error(opened.error)
    expect(await opened.session.items()).toEqual(replay.history)
    opened.session.close()
    expect(await readSessionHeader(MIXED)).toMatchObject({ sessionId: 's-claude' })
    expect(await readSessionPreview(MIXED)).toEqual({ hasContent: true, firstUserMessage: 'hello' })
    expect(await readSessionTitle(MIXED)).toBe('Greeting')
    let records = 0
    for await (const { status } of readSessionRecords(MIXED)) records += status === 'ok' ? 1 : 0
    expect(records).toBe(replay.eventCount)
  })

  test('counts converted events with throughSeq', async () => {
    expect(await replaySession(BRANCHES, undefined, { throughSeq: 3 })).toMatchObject({
      ok: true,
      eventCount: 3,
      lastSeq: 3,
    })
  })

  test('warns of damaged lines, and not of a torn one at the end', async () => {
    expect(await replaySession(fixture('claude/letta-claude-code-cleanup.jsonl'))).toMatchObject({
      ok: true,
      warnings: ['Line 1: failed to parse JSON'],
    })
    expect(await replaySession(fixture('claude/agentsview-truncated.jsonl'))).toMatchObject({ ok: true, warnings: [] })
  })

  test('refuses to continue it', async () => {
    const { chatsDir } = target()
    mkdirSync(chatsDir)
    const path = join(chatsDir, 'session-2026-09-01T10-00-s-claude.jsonl')
    writeFileSync(path, readFileSync(BRANCHES))
    const { projectHash } = (await readSessionHeader(BRANCHES))!
    expect(await resumeSession(requestOf(chatsDir, 's-claude', { projectHash }))).toMatchObject({ ok: false })
    expect(readFileSync(path)).toEqual(readFileSync(BRANCHES))
  })
})

describe('convertSession', () => {
  test('yields every record in order, and every event once in the order of seq', async () => {
    const seqs: number[] = []
    const entries: ReceiptEntry[] = []
    const converted = convertSession(BRANCHES)
    let next = await converted.next()
    for (; !next.done; next = await converted.next()) {
      entries.push(next.value.entry)
      seqs.push(...next.value.events.map(({ seq }) => seq as number))
    }
    expect(seqs).toEqual(seqs.map((_, index) => index + 1))
    expect(next.value).toMatchObject({ format: 'claude', records: entries.length, mapped: 8, kept: 0, dropped: 0 })
    expect(entries[2]).toMatchObject({ line: 3, fate: 'mapped', seqs: [4, 10] })
  })

  test.each([
    [SAMPLE, 'EFOREIGNFORMAT'],
    ['/no/such/file', 'ENOENT'],
  ])('of %s fails with %s', async (path, code) => {
    await expect(convertSession(path).next()).rejects.toMatchObject({ code })
  })

  test.prop([fc.nat(readFileSync(ROLLBACK).length)])(
    'of any beginning of a session proves every record by its hash',
    async (length) => {
      const bytes = readFileSync(ROLLBACK).subarray(0, length)
      const path = writeSession(bytes.toString())
      if ((await detectSessionFormat(path)) !== 'codex') return
      const converted = convertSession(path)
      let next = await converted.next()
      let [records, end] = [0, 0]
      for (; !next.done; next = await converted.next()) {
        const { offset, length: size, sha256 } = next.value.entry
        expect(offset).toBeGreaterThanOrEqual(end)
        end = offset + size
        expect(sha256).toBe(createHash('sha256').update(bytes.subarray(offset, end)).digest('hex'))
        records += 1
      }
      const { mapped, kept, dropped } = next.value
      expect([next.value.records, mapped + kept + dropped]).toEqual([records, records])
    },
  )
})

describe('importSession', () => {
  test('writes a session that a strict replay reads without a warning, with its receipt', async () => {
    const to = target()
    const { filePath, receiptPath, lastSeq, summary } = await importSession(MIXED, to)
    const [imported, read] = [await replaySession(filePath, 'p', { strict: true }), await replaySession(MIXED)]
    if (!imported.ok || !read.ok) throw new Error('not replayed')
    expect([imported.warnings, imported.lastSeq, imported.history]).toEqual([[], lastSeq, read.history])
    const lines = readFileSync(receiptPath, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as object)
    expect([lines[0], lines.length]).toEqual([summary, summary.records + 1])
    expect((await listSessions(to.chatsDir)).sessions).toHaveLength(1)
  })

  test.each([
    [
      'a session that is there',
      (to: ReturnType<typeof target>) => importSession(MIXED, to).then(() => importSession(MIXED, to)),
      'ESESSIONEXISTS',
    ],
    ['a native session', (to: ReturnType<typeof target>) => importSession(SAMPLE, to), 'EFOREIGNFORMAT'],
    [
      'a conversation that is not there',
      (to: ReturnType<typeof target>) => importSession(MIXED, { ...to, conversation: 'x' }),
      'EFOREIGNMANY',
    ],
    [
      'a session without items',
      (to: ReturnType<typeof target>) =>
        importSession(writeSession('{"type":"session_meta","payload":{"id":"e"}}\n'), to),
      'EFOREIGNEMPTY',
    ],
  ])('rejects %s', async (_, importing, code) => {
    await expect(importing(target())).rejects.toMatchObject({ code })
  })

  test('that is aborted leaves nothing', async () => {
    const to = target()
    await expect(importSession(MIXED, { ...to, signal: AbortSignal.abort('no') })).rejects.toBe('no')
    expect(existsSync(to.chatsDir) ? readdirSync(to.chatsDir) : []).toEqual([])
  })
})

describe('a bundle', () => {
  test('without redaction has the source byte for byte, and one with redaction has not', async () => {
    const [plain, redacted] = [
      join(sessionDirectory(), 'plain.cath-bundle'),
      join(sessionDirectory(), 'redacted.cath-bundle'),
    ]
    await exportBundle(MIXED, plain, { redact: false })
    await exportBundle(MIXED, redacted)
    expect(readFileSync(join(plain, 'source/original'))).toEqual(readFileSync(MIXED))
    expect(existsSync(join(redacted, 'source'))).toBe(false)
    expect(await replaySession(plain)).toEqual(await replaySession(MIXED))
    const { chatsDir: directory } = target()
    await shown(['bundle', 'import', plain, directory, '--original', `${directory}.jsonl`])
    expect(readFileSync(`${directory}.jsonl`)).toEqual(readFileSync(MIXED))
    expect(
      await complaintOf(['bundle', 'import', redacted, `${directory}-2`, '--original', `${directory}-2.jsonl`]),
    ).toContain('does not have')
  })
})

describe('session-tape', () => {
  test('inspects a healthy session of another program as healthy, and says what became of its records', async () => {
    const found = await resultOf(['inspect', MIXED])
    expect(found).toMatchObject({
      damaged: false,
      form: 'foreign',
      format: 'claude',
      receipt: { records: 16, mapped: 11, kept: 0, dropped: 5 },
    })
    expect(found.conversations).toHaveLength(2)
    expect(found).toMatchObject({
      turns: { human: 4, ai: 2, tool: 1 },
      tools: { Read: { calls: 1, responses: 1, failures: 0 } },
    })
    expect(found.usage).toEqual({ input: 226, cached: 200, cacheWrite: 20, output: 49 })
    expect(await resultOf(['inspect', fixture('claude/letta-claude-code-cleanup.jsonl')], 1)).toMatchObject({
      damaged: true,
    })
  })

  test('inspect names the program, its version and its models, and nothing that the file does not state', async () => {
    expect(await resultOf(['inspect', MIXED])).toMatchObject({
      version: '2.1.230',
      models: ['claude-opus-4-6'],
      receipt: { sourceVersion: '2.1.230' },
    })
    expect(await shown(['inspect', MIXED])).toMatch(/Format +Claude Code \(claude\)\n +Version +2\.1\.230\n/)
    const cursor = fixture('cursor/letta-cursor-tool-calls.jsonl')
    expect(await resultOf(['inspect', cursor])).toMatchObject({ version: null, models: [], receipt: { sessionId: '' } })
    const page = await shown(['inspect', cursor])
    expect(page).toMatch(
      /Version +not stated\n[^]*Session +the file states no id\n[^]*Model +not stated\n[^]*First +no time\n/,
    )
    expect(page).not.toMatch(/unknown|1970|Conversations|Project/)
  })

  test('inspect says how to choose one of several conversations', async () => {
    const path = join(sessionDirectory(), 'storage.json')
    const session = (id: string): string => JSON.stringify({ id, sessionID: id, role: 'user', messageID: `m-${id}` })
    writeFileSync(path, `${session('ses_a')}\n${session('ses_b')}\n`)
    const page = await shown(['inspect', path])
    expect(page).toMatch(
      /Format +OpenCode\n +Conversations +ses_a +1 record\n +ses_b +1 record\n +one at a time: inspect PATH#ID\n/,
    )
  })

  test('chooses a conversation behind a #', async () => {
    expect(await resultOf(['replay', `${MIXED}#ag1`])).toMatchObject({ metadata: { sessionId: 'agent-ag1' } })
    expect(await complaintOf(['replay', `${MIXED}#x`])).toContain('No conversation x')
    for (const form of ['--text', '--html=page.html', '--serve'])
      expect(await complaintOf(['view', `${MIXED}#x`, form])).toContain('No conversation x')
    expect(await errorOf(['inspect', `${SAMPLE}#x`])).toMatchObject({ code: 'ENOENT' })
  })

  test('imports one conversation or all, and prints receipts', async () => {
    const to = target()
    expect(await resultOf(['import', MIXED, '--to', to.chatsDir, '--project', 'p', '--all'])).toHaveLength(2)
    expect(await errorOf(['import', MIXED, '--to', to.chatsDir, '--project', 'p'])).toMatchObject({
      code: 'ESESSIONEXISTS',
    })
    const lines = (await shown(['receipt', MIXED, '--json'])).trimEnd().split('\n')
    expect(lines).toHaveLength(17)
    expect(await shown(['receipt', MIXED])).toContain('foreign-title')
  })
})
