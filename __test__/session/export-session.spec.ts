/** `exportSession` and `session-tape export`: the history of a session as an ATIF document. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect } from 'vitest'
import { exportBundle, exportSession, readSessionRecords, replaySession } from '../../index.js'
import { expectAccepted, noValidator } from '../support/atif'
import { complaintOf, GOLDEN_RUN, PROJECT, resultOf, SAMPLE, shown } from '../support/command-line'
import { fc, test } from '../support/property'
import { content, type Event, rewind, session, sessionDirectory, writeSession } from '../support/session-file'

let fresh = 0
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
