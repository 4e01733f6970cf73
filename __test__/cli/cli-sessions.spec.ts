/** `session-tape sessions`: lists the sessions of a directory. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fc, test as property } from '../support/property'
import { describe, expect, test } from 'vitest'
import { acquireSessionLock, describeSessions, readSessionPreview, resumeSession } from '../../index.js'
import {
  complaintOf,
  errorOf,
  HOSTILE,
  hasTerminal,
  onTerminal,
  resultOf,
  sessionTape,
  shown,
  UNSAFE,
} from '../support/command-line'
import { unprivileged } from '../support/processes'
import { projectOf } from '../support/project-files'
import { content, envelope, file, item, PROJECT_HASH, sessionDirectory, start } from '../support/session-file'
import type { Event } from '../support/session-file'

const ofId = (sessionId: string, ...events: (Event | string)[]): string => file(start({ sessionId }), ...events)
const named = (name: string | null): Event => ['session_named', { name }]
const titled = (title: string | null): Event => ['session_metadata', { title }]
const created = (checkpointId: string, name: string): Event => ['checkpoint_created', { checkpointId, name }]
const deleted = (checkpointId: string): Event => ['checkpoint_deleted', { checkpointId }]

/** A session that was written to by two recorders. */
const corrupt = (sessionId: string): string => `${ofId(sessionId, content('x'))}${envelope(2, content('y'))}\n`

/** The files of a directory, each with everything that writing to it would change. */
const everythingIn = (directory: string): unknown[] =>
  readdirSync(directory).map((name) => [
    name,
    statSync(join(directory, name)).mtimeMs,
    readFileSync(join(directory, name), 'latin1'),
  ])

/** The parts of the text between its blank lines, without the heading. */
const blocksOf = (page: string): string[] =>
  page
    .split('\n\n')
    .slice(1)
    .map((block) => block.replace(/\n$/, ''))

async function expectedOf(directory: string, projectHash?: string): Promise<object> {
  const { sessions, unreadable } = await describeSessions(directory, { projectHash })
  const inUse = (sessionId: string): boolean => sessionId === 'locked'
  const detailed = sessions.map(async (session) => ({
    ...session,
    ...(await readSessionPreview(session.filePath)),
    inUse: inUse(session.sessionId),
  }))
  return JSON.parse(JSON.stringify({ sessions: await Promise.all(detailed), unreadable }))
}

describe('JSON', () => {
  test('is the result of describeSessions, with a preview of each session and whether it is in use', async () => {
    const directory = projectOf({
      'session-a.jsonl': ofId(
        'locked',
        content('Grüße', 'ai'),
        content('Wie spät ist Flut?'),
        named('umbau'),
        titled(null),
        created('c', 'n'),
      ),
      'b.jsonl': ofId('other'),
    })
    const lock = await acquireSessionLock(directory, 'locked')
    try {
      const result = await resultOf(['sessions', directory])
      expect(result).toEqual(await expectedOf(directory))
      expect(result.sessions).toMatchObject([
        {
          sessionId: 'locked',
          name: 'umbau',
          title: null,
          firstUserMessage: 'Wie spät ist Flut?',
          hasContent: true,
          inUse: true,
        },
        { sessionId: 'other', firstUserMessage: null, hasContent: false, inUse: false },
      ])
      expect(result.sessions[0].lastModified).toBe('2017-07-14T02:40:00.000Z')
    } finally {
      await lock.release()
    }
    expect((await resultOf(['sessions', directory])).sessions[0].inUse).toBe(false)
  })

  test('has times even if an ancestry is nested deeper than the stack is', async () => {
    const fork = { parentSessionId: 'p', parentSequence: 1, checkpointId: 'c', checkpointName: 'n', deep: 0 }
    const text = ofId('a', ['session_forked', fork]).replace(
      '"deep":0',
      `"deep":${'['.repeat(20_000)}${']'.repeat(20_000)}`,
    )
    const [session] = (await resultOf(['sessions', projectOf({ 'session-a.jsonl': text })])).sessions
    expect(session.lastModified).toBe('2017-07-14T02:40:00.000Z')
  })

  test('says that a session is not in use if its id cannot be locked', async () => {
    const [session] = (await resultOf(['sessions', projectOf({ 'session-a.jsonl': ofId('../ä b') })])).sessions
    expect(session).toMatchObject({ sessionId: '../ä b', inUse: false })
  })
})

describe('the text', () => {
  test('shows the known facts of each session', async () => {
    const directory = projectOf({
      'session-a.jsonl': ofId(
        'locked',
        content('Wie spät\n\tist Flut in 日本?'),
        named('umbau'),
        titled('Die Gezeitenuhr'),
        created('c', 'n'),
        created('d', 'm'),
        deleted('d'),
      ),
      'session-b.jsonl': ofId(
        'second',
        ['provider_switch', { provider: 'openai', model: 'gpt-5' }],
        titled(null),
        named('x'),
        named(null),
        content('only', 'ai'),
      ),
      'session-c.jsonl': ofId('third'),
    })
    const lock = await acquireSessionLock(directory, 'locked')
    const page = await shown(['sessions', directory]).finally(() => lock.release())
    expect(page.startsWith(`\nSessions\n${directory}\n\n`)).toBe(true)
    const size = (name: string): string => {
      const bytes = statSync(join(directory, name)).size
      return bytes < 1024 ? `${bytes} bytes` : `${(bytes / 1024).toFixed(1)} KiB`
    }
    expect(blocksOf(page)).toEqual([
      [
        '  1  locked  in use',
        `     2017-07-14 02:40:00 UTC · ${size('session-a.jsonl')} · anthropic / claude-sonnet · 1 checkpoint`,
        '     Name    umbau',
        '     Title   Die Gezeitenuhr',
        '     Begins  Wie spät ist Flut in 日本?',
      ].join('\n'),
      [
        '  2  second',
        `     2017-07-14 02:39:59 UTC · ${size('session-b.jsonl')} · openai / gpt-5`,
        '     Title   explicitly none',
        '     Begins  nothing by the user',
      ].join('\n'),
      [
        '  3  third',
        `     2017-07-14 02:39:58 UTC · ${size('session-c.jsonl')} · anthropic / claude-sonnet`,
        '     Begins  nothing yet',
      ].join('\n'),
      expect.stringMatching(/^ {2}3 sessions, [\d.]+ KiB$/),
    ])
  })

  test('numbers sessions as functions that take a position do: only files named by recorders with a whole header, unusable ones included', async () => {
    const directory = projectOf({
      'session-newest.jsonl': ofId('a'),
      'notes.jsonl': ofId('b'),
      'session-strict.jsonl': file(start({ sessionId: 'c', startTime: '' })),
      'session-headless.jsonl': 'hello\n',
      'session-oldest.jsonl': corrupt('d'),
    })
    const page = await shown(['sessions', directory], {}, 1)
    const heads = blocksOf(page).flatMap((block) => block.split('\n').filter((line) => /^ {2}\S {2}/.test(line)))
    expect(heads).toEqual([
      '  1  a',
      '  –  b',
      '  2  d',
      '  –  ✗ session-headless.jsonl  Missing or corrupt session_start event: first line is not valid JSON',
      '  –  ✗ session-strict.jsonl  Invalid session_start: missing or malformed required fields',
    ])
    expect(page).toContain('! seq does not always ascend; inspect says what that means')
  })

  test('has positions that resumeSession understands', async () => {
    const directory = projectOf({
      'session-b.jsonl': file(start({ sessionId: 'foreign', projectHash: 'anderes' })),
      'notes.jsonl': ofId('notes', content('x')),
      'session-c.jsonl': file(start({ sessionId: 'refused', startTime: '' })),
      'session-d.jsonl': ofId('older', content('x')),
    })
    expect(await shown(['sessions', directory], {}, 1)).toContain('  2  older\n')
    const page = await shown(['sessions', directory, '--project', PROJECT_HASH], {}, 1)
    const [, position] = /^ {2}(\d) {2}older$/m.exec(page)!
    const request = {
      continueRef: position!,
      projectHash: PROJECT_HASH,
      chatsDir: directory,
      currentProvider: 'p',
      currentModel: 'm',
      workspaceDirs: [],
    }
    const resumed = await resumeSession(request)
    if (!resumed.ok) throw new Error(resumed.error)
    await resumed.recording.dispose()
    expect(resumed.metadata.sessionId).toBe('older')
  })

  test('names the projects, if there are several', async () => {
    const directory = projectOf({
      'session-a.jsonl': ofId('a'),
      'session-b.jsonl': file(start({ sessionId: 'b', projectHash: 'anderes' })),
    })
    const page = await shown(['sessions', directory])
    expect(page).toContain(`     Project ${PROJECT_HASH}\n`)
    expect(page).toContain('     Project anderes\n')
    expect(page).toContain('\n  of 2 projects; --project <hash> counts those of one\n')
    expect(await shown(['sessions', directory, '--project', 'anderes'])).not.toMatch(/Project|projects/)
  })

  test('of a directory without sessions says so', async () => {
    const directory = projectOf({ 'notes.txt': 'not looked at' })
    expect(await shown(['sessions', directory])).toBe(`\nSessions\n${directory}\n\n  0 sessions, 0 bytes\n`)
  })

  test('keeps titles and messages on one line', async () => {
    const long = 'ein langer Satz '.repeat(40)
    const page = await shown([
      'sessions',
      projectOf({ 'session-a.jsonl': ofId('a', titled(long), named(long), content(long)) }),
    ])
    const rows = page.split('\n').filter((line) => /^ +(Name|Title|Begins) /.test(line))
    // A pipe counts as 120 columns wide.
    expect(rows.map((row) => row.length)).toEqual([120, 120, 120])
    for (const row of rows) expect(row).toMatch(/…$/)
  })

  test.skipIf(!hasTerminal)('is no wider than the terminal (needs util-linux script)', async () => {
    const long = 'ein langer Satz '.repeat(40)
    const directory = projectOf({ 'session-a.jsonl': ofId('a', titled(long), named(long), content(long)) })
    const { stdout } = await onTerminal(['sessions', directory], { env: { NO_COLOR: '1' } })
    const rows = stdout
      .replaceAll('\r', '')
      .split('\n')
      .filter((line) => /^ +(Name|Title|Begins) /.test(line))
    expect(rows).toHaveLength(3)
    for (const row of rows) expect(row).toMatch(/^.{20,80}…$/)
  })
})

describe('exit codes', () => {
  test('1 if a file does not replay, or its sequence is corrupt', async () => {
    expect(
      await resultOf(['sessions', projectOf({ 'session-a.jsonl': ofId('a'), 'b.jsonl': 'hello' })], 1),
    ).toMatchObject({
      sessions: [{}],
      unreadable: [{}],
    })
    expect(await resultOf(['sessions', projectOf({ 'session-a.jsonl': corrupt('a') })], 1)).toMatchObject({
      sessions: [{ sequenceCorrupt: true }],
      unreadable: [],
    })
    const warned = projectOf({ 'session-a.jsonl': ofId('a', 'torn', content('x')) })
    expect((await resultOf(['sessions', warned])).sessions[0].warnings).not.toEqual([])
  })

  test('2 if there is no such directory', async () => {
    const missing = join(sessionDirectory(), 'not there')
    expect(await complaintOf(['sessions', missing])).toBe(`there is nothing at ${missing}`)
    expect(await errorOf(['sessions', missing])).toMatchObject({ code: 'ENOENT', path: missing })
    expect(await complaintOf(['sessions'])).toContain("missing required argument 'directory'")
  })

  test('2 if it is a file', async () => {
    const filePath = join(projectOf({ 'session-a.jsonl': ofId('a') }), 'session-a.jsonl')
    expect(await complaintOf(['sessions', filePath])).toBe(`${filePath} is not a directory`)
    expect(await errorOf(['sessions', filePath])).toMatchObject({ code: 'ENOTDIR', path: filePath })
  })

  test.skipIf(unprivileged === null)(
    '2 if it cannot be read, 1 if a file in it cannot (needs a user to whom permissions apply)',
    async () => {
      const directory = projectOf({ 'session-a.jsonl': ofId('a'), 'session-b.jsonl': ofId('b') })
      const secret = join(directory, 'session-b.jsonl')
      spawnSync('chmod', ['755', sessionDirectory(), directory])
      spawnSync('chmod', ['000', secret])
      const { unreadable } = await resultOf(['sessions', directory], 1, unprivileged!)
      expect(unreadable).toEqual([{ filePath: secret, reason: expect.stringContaining('EACCES') }])
      spawnSync('chmod', ['000', directory])
      expect(await errorOf(['sessions', directory], 2, unprivileged!)).toMatchObject({
        code: 'EACCES',
        path: directory,
      })
      spawnSync('chmod', ['755', directory])
    },
  )
})

describe('the directory', () => {
  test('is left unchanged: no lock, no snapshot, no stale lock removed', async () => {
    const stale = JSON.stringify({
      pid: 2 ** 30,
      timestamp: '2020-01-01T00:00:00.000Z',
      sessionId: 'a',
      ownerToken: 'x',
    })
    const directory = projectOf({
      'session-a.jsonl': ofId('a', content('x')),
      'a.lock': stale,
      'session-b.jsonl': corrupt('b'),
    })
    symlinkSync(join(directory, 'session-a.jsonl'), join(directory, 'session-link.jsonl'))
    const before = everythingIn(directory)
    for (const options of [[], ['--json'], ['--project', PROJECT_HASH]])
      await sessionTape(['sessions', directory, ...options])
    expect(everythingIn(directory)).toEqual(before)
    expect((await resultOf(['sessions', directory], 1)).sessions.map(({ inUse }: any) => inUse)).toEqual([
      false,
      false,
      false,
    ])
  })

  const anyText = fc.oneof(fc.constantFrom(HOSTILE, 'ä', '日本', ''), fc.string({ unit: 'binary' }))
  const says = (speaker: string, text: string): Event => [
    'content',
    { content: speaker === 'ai' ? item('ai', text) : item('human', text) },
  ]
  const anyEvent = fc.oneof(
    anyText.map(named),
    anyText.map(titled),
    fc.constantFrom(named(null), titled(null), 'torn', 'null'),
    fc.tuple(fc.constantFrom('ai', 'human'), anyText).map(([speaker, text]) => says(speaker, text)),
    fc.tuple(fc.constantFrom('a', 'b'), anyText).map(([id, name]) => created(id, name)),
    fc.constantFrom('a', 'b').map(deleted),
  )
  const anyStart = fc.record({
    sessionId: fc.oneof(fc.constantFrom('a', 'b', '..', 'x/y'), anyText),
    model: fc.constantFrom('m', ''),
    projectHash: fc.constantFrom('p', 'q', ''),
  })
  const anyFile = fc.oneof(
    {
      weight: 5,
      arbitrary: fc
        .tuple(anyStart, fc.array(anyEvent, { maxLength: 6 }), fc.boolean())
        .map(
          ([changes, events, twice]) =>
            file(start(changes), ...events) + (twice ? `${envelope(1, content('z'))}\n` : ''),
        ),
    },
    { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
  )
  const anyName = fc.constantFrom('session-1.jsonl', 'session-2.jsonl', 'session-ü.jsonl', 'notes.jsonl', 'other.txt')

  property.prop([fc.dictionary(anyName, anyFile, { maxKeys: 5 }), fc.constantFrom(undefined, 'p')], { numRuns: 60 })(
    'with any files gives the result of describeSessions, and nothing that a terminal acts on',
    async (files, projectHash) => {
      const directory = projectOf(files)
      const before = everythingIn(directory)
      const args = ['sessions', directory, ...(projectHash === undefined ? [] : ['--project', projectHash])]
      const expected: any = await expectedOf(directory, projectHash)
      const isFine =
        expected.unreadable.length === 0 && expected.sessions.every(({ sequenceCorrupt }: any) => !sequenceCorrupt)
      expect(await resultOf(args, isFine ? 0 : 1)).toEqual(expected)
      const page = await shown(args, {}, isFine ? 0 : 1)
      expect(page).not.toMatch(UNSAFE)
      expect(page.match(/^ +Begins /gm) ?? []).toHaveLength(expected.sessions.length)
      expect(page.match(/ ✗ /g) ?? []).toHaveLength(expected.unreadable.length)
      expect(everythingIn(directory)).toEqual(before)
    },
  )
})
