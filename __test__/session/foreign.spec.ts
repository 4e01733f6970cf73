/** Sessions of other programs: what a file is, its conversations, replays, imports and conversions. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createHash } from 'node:crypto'
import { join, dirname } from 'node:path'
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
  exportSession,
} from '../../index.js'
import { complaintOf, errorOf, resultOf, SAMPLE, shown, GOLDEN_RUN, PROJECT } from '../support/command-line'
import { fc, test } from '../support/property'
import { requestOf } from '../support/resuming'
import { sessionDirectory, writeSession, content, type Event, rewind, session } from '../support/session-file'
import { expectAccepted, noValidator } from '../support/atif'

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

const destination = (): string => join(sessionDirectory(), `trajectory-${++fresh}.json`)
const ATIF = { format: 'atif' } as const

interface Step {
  step_id: number
  source: string
  message: unknown
  tool_calls?: unknown[]
  observation?: { results: { extra?: { session_tape?: { none?: true } } }[] }
}
interface Document {
  schema_version: string
  steps: Step[]
  notes?: string
}
const documentAt = (path: string): Document => JSON.parse(readFileSync(path, 'utf8')) as Document

const item = (speaker: string, blocks: unknown[], metadata?: unknown): Event => [
  'content',
  { content: { speaker, blocks, ...(metadata !== undefined && { metadata }) } },
]
const call = (id: unknown, parameters: unknown = {}) => ({ type: 'tool_call', id, name: 'ls', parameters })
const response = (callId: unknown, result: unknown, more = {}) => ({
  type: 'tool_response',
  callId,
  toolName: 'ls',
  result,
  ...more,
})
const image = { type: 'media', mimeType: 'image/png', data: 'AAAA', encoding: 'base64' }
const pdf = { type: 'media', mimeType: 'application/pdf', data: 'AAEC', encoding: 'base64' }

const conversation = session(
  content('Look'),
  item(
    'ai',
    [
      { type: 'thinking', thought: 'Hm.', signature: 'x' },
      { type: 'text', text: 'Yes' },
      call('c1'),
      call('c2', 'raw'),
    ],
    { model: 'm', usage: { input: 7, output: 2, cost: 0.5 } },
  ),
  item('tool', [response('c1', 'shot'), image, response('c2', { a: [1] }, { error: 'exit code 1' })]),
  item('human', [image, pdf]),
  item('tool', [response('gone', null)]),
  content('wrong'),
  rewind(1),
)

describe('exportSession', () => {
  test('writes a document and its media, and says how many', async () => {
    const dest = destination()
    expect(await exportSession(writeSession(conversation), dest, ATIF)).toEqual({ steps: 4, media: 3 })
    const { schema_version: version, steps, notes } = documentAt(dest)
    expect([version, steps.map(({ source }) => source)]).toEqual(['ATIF-v1.8', ['user', 'agent', 'user', 'agent']])
    expect(steps[1]!.observation!.results).toHaveLength(2)
    expect(notes).toContain('1 item')
    expect(readdirSync(`${dest}.media`).sort()).toEqual(['1.png', '2.png', '3.pdf'])
  })

  test('reads a bundle', async () => {
    const [bundle, dest] = [join(sessionDirectory(), 'x.cath-bundle.tar.zst'), destination()]
    await exportBundle(writeSession(conversation), bundle)
    expect(await exportSession(bundle, dest, ATIF)).toEqual({ steps: 4, media: 3 })
  })

  test.each([
    ['an empty history', () => writeSession(session()), 'EFOREIGNEMPTY'],
    ['a file that is no session', () => writeSession('{"a":1}\n'), 'EFOREIGNFORMAT'],
    ['a missing file', () => join(sessionDirectory(), 'nowhere.jsonl'), 'ENOENT'],
    ['a directory', () => sessionDirectory(), 'EISDIR'],
  ])('rejects %s and leaves nothing', async (_, path, code) => {
    const dest = destination()
    await expect(exportSession(path(), dest, ATIF)).rejects.toMatchObject({ code })
    expect(readdirSync(dirname(dest)).filter((name) => name.includes('trajectory-') && name.startsWith('.'))).toEqual(
      [],
    )
    expect(existsSync(dest)).toBe(false)
  })

  test('replaces nothing', async () => {
    const dest = destination()
    writeFileSync(dest, 'mine')
    await expect(exportSession(writeSession(conversation), dest, ATIF)).rejects.toMatchObject({
      code: 'EEXIST',
      path: dest,
    })
    expect([readFileSync(dest, 'utf8'), existsSync(`${dest}.media`)]).toEqual(['mine', false])
  })
})

describe('session-tape export', () => {
  test('writes the document and prints what it holds', async () => {
    const dest = destination()
    expect(await shown(['export', SAMPLE, dest, '--format', 'atif'])).toMatch(/Steps +\d+/)
    expect(documentAt(dest).steps.length).toBeGreaterThan(3)
    expect(await resultOf(['export', writeSession(conversation), destination(), '--format', 'atif', '--json'])).toEqual(
      { steps: 4, media: 3 },
    )
  })

  test('needs a format, and refuses a run', async () => {
    expect(await complaintOf(['export', SAMPLE, destination()])).toContain('--format')
    expect(await complaintOf(['export', GOLDEN_RUN, destination(), '--format', 'atif'])).toContain('is a run')
  })
})

const ofType =
  (type: string) =>
  (each: unknown): boolean =>
    (each as { type?: unknown } | null)?.type === type

const AGENTS = join(PROJECT, 'crates/core/tests/agents')
const fixtures = Object.entries(
  JSON.parse(readFileSync(join(AGENTS, 'expected.json'), 'utf8')) as Record<
    string,
    [{ toolCalls: number; toolResults: number; items: Record<string, number> }]
  >,
).filter(([, [{ items }]]) => Object.values(items).some((count) => count > 0))

describe('a session of another program', () => {
  test('is exported, and what is read back has the same calls and results', async () => {
    for (const [name, [{ toolCalls, toolResults }]] of fixtures) {
      const dest = destination()
      await exportSession(join(AGENTS, name), dest, ATIF)
      const replay = await replaySession<any>(dest)
      if (!replay.ok) throw new Error(`${name}: ${replay.error}`)
      const blocks = replay.history.flatMap((each) => each.blocks)
      expect([name, blocks.filter(ofType('tool_call')).length, blocks.filter(ofType('tool_response')).length]).toEqual([
        name,
        toolCalls,
        toolResults,
      ])
    }
  })

  test('has to be chosen if there are several', async () => {
    const text = ['a', 'b']
      .map(
        (id) =>
          JSON.stringify({ id: `ses_${id}`, title: id }) +
          JSON.stringify({ id: `m${id}`, sessionID: `ses_${id}`, role: 'user' }) +
          JSON.stringify({ id: `p${id}`, sessionID: `ses_${id}`, messageID: `m${id}`, type: 'text', text: id }),
      )
      .join('')
    const path = writeSession(text)
    await expect(exportSession(path, destination(), ATIF)).rejects.toMatchObject({
      code: 'EFOREIGNMANY',
      conversations: ['ses_a', 'ses_b'],
    })
    await expect(exportSession(path, destination(), { ...ATIF, conversation: 'ses_c' })).rejects.toMatchObject({
      code: 'EFOREIGNMANY',
    })
    await expect(readSessionRecords(path).next()).rejects.toMatchObject({
      code: 'ESESSIONREAD',
      message: 'Several conversations: ses_a, ses_b (choose one)',
    })
    const dest = destination()
    await exportSession(path, dest, { ...ATIF, conversation: 'ses_b' })
    expect(documentAt(dest).steps[0]!.message).toBe('b')
    expect(
      await resultOf(['export', path, destination(), '--format', 'atif', '--conversation', 'ses_a', '--json']),
    ).toEqual({ steps: 1, media: 0 })
  })

  test.skipIf(noValidator !== null)(
    `gives a document that Harbor's validator accepts${noValidator === null ? '' : ` (${noValidator})`}`,
    async () => {
      // Two fixtures name files that they do not have.
      mkdirSync(join(sessionDirectory(), 'images'), { recursive: true })
      for (const name of ['result.png', 'workspace.png']) writeFileSync(join(sessionDirectory(), 'images', name), '')
      const paths: string[] = []
      for (const [name] of fixtures) {
        const dest = destination()
        await exportSession(join(AGENTS, name), dest, ATIF)
        paths.push(dest)
      }
      expect(paths.length).toBeGreaterThan(45)
      expectAccepted(...paths)
    },
  )
})

const text = fc.string({ unit: 'binary', maxLength: 12 })
const block = fc.oneof(
  fc.record({ type: fc.constant('text'), text }),
  fc.record({ type: fc.constant('text'), text: fc.constantFrom('\ud83d', '\udc00x', '') }),
  fc.record({ type: fc.constant('thinking'), thought: text, signature: text }, { requiredKeys: ['type', 'thought'] }),
  fc.record({
    type: fc.constant('tool_call'),
    id: fc.constantFrom('a', 'b', '', 3),
    name: fc.oneof(text, fc.constant(null)),
    parameters: fc.jsonValue({ maxDepth: 2 }),
    server: fc.boolean(),
  }),
  fc.record({
    type: fc.constant('tool_response'),
    callId: fc.constantFrom('a', 'b', 'c'),
    toolName: text,
    result: fc.jsonValue({ maxDepth: 2 }),
    error: fc.option(text),
    subagents: fc.jsonValue({ maxDepth: 2 }),
  }),
  fc.record({
    type: fc.constant('media'),
    mimeType: fc.constantFrom('image/png', 'IMAGE/JPEG', 'audio/mp3', 'x/y'),
    data: fc.constantFrom('AAAA', '!', 'data:image/gif;base64,AAAA'),
    encoding: fc.constant('base64'),
  }),
  fc.record({
    type: fc.constant('media'),
    mimeType: fc.constantFrom('image/webp', 'x/y'),
    data: fc.constantFrom('https://example.org/x', 'data:image/gif;base64,AAAA'),
    encoding: fc.constant('url'),
  }),
  fc.jsonValue({ maxDepth: 2 }),
)
const usage = fc.record(
  { input: fc.oneof(fc.nat(), fc.double(), text), output: fc.nat(), cached: fc.nat(), cost: fc.double() },
  { requiredKeys: [] },
)
const metadata = fc.record(
  {
    model: fc.oneof(text, fc.nat()),
    usage: fc.oneof(usage, fc.jsonValue({ maxDepth: 1 })),
    kind: fc.constantFrom('copied', 'summary'),
  },
  { requiredKeys: [] },
)
const items = fc.array(
  fc.tuple(
    fc.constantFrom('human', 'ai', 'tool', 'other'),
    fc.array(block, { maxLength: 6 }),
    fc.option(metadata, { nil: undefined }),
  ),
  { minLength: 1, maxLength: 6 },
)
const sessionOfItems = (all: (readonly [string, unknown[], unknown])[]): string =>
  writeSession(session(...all.map(([speaker, blocks, more]) => item(speaker, blocks, more))))

describe('documents of any session', () => {
  test.prop([items], { numRuns: 40 })('have every call and every result of the history', async (all) => {
    const dest = destination()
    await exportSession(sessionOfItems(all), dest, ATIF)
    const { steps } = documentAt(dest)
    expect(steps.map((step) => step.step_id)).toEqual(steps.map((_, at) => at + 1))
    const blocksOf = (...speakers: string[]) =>
      all.filter(([speaker]) => speakers.includes(speaker)).flatMap(([, blocks]) => blocks)
    expect(steps.flatMap((step) => step.tool_calls ?? [])).toHaveLength(
      blocksOf('ai').filter(ofType('tool_call')).length,
    )
    const results = steps
      .flatMap((step) => step.observation?.results ?? [])
      .filter((result) => !result.extra?.session_tape?.none)
    expect(results).toHaveLength(blocksOf('ai', 'tool').filter(ofType('tool_response')).length)
  })

  test.skipIf(noValidator !== null)(
    `are accepted by Harbor's validator${noValidator === null ? '' : ` (${noValidator})`}`,
    async () => {
      const paths: string[] = []
      for (const all of [...fc.sample(items, 60)]) {
        const dest = destination()
        await exportSession(sessionOfItems(all), dest, ATIF)
        paths.push(dest)
      }
      const [plain, sample] = [destination(), destination()]
      await exportSession(writeSession(conversation), plain, ATIF)
      await exportSession(SAMPLE, sample, ATIF)
      expectAccepted(plain, sample, ...paths)
    },
  )
})
