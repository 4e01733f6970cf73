// searchSessions: which files are searched, in which order, how far ahead, and how a search ends.

import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { archiveSession, listSessions, readSessionRecords, searchSessions } from '../../index.js'
import type { Progress, SearchOptions, SessionEventType, SessionHit, SessionSearch } from '../../index.js'
import { projectOf } from '../support/project-files.js'
import { searchBytes } from '../support/plain-search.mjs'
import { expectSame } from '../support/same-replay.js'
import {
  PROJECT_HASH,
  compressed,
  content,
  file,
  rewind,
  session,
  start,
  writeSession,
} from '../support/session-file.js'

/** Many sessions, each with one hit for `needle`. */
const many = (count: number, text = 'needle'): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${index}.jsonl`, session(content(text))]))

async function all(search: AsyncIterable<SessionHit>): Promise<SessionHit[]> {
  const hits: SessionHit[] = []
  for await (const hit of search) hits.push(hit)
  return hits
}

const hitsOf = (where: string | string[], query: string, options?: SearchOptions) =>
  all(searchSessions(where, query, options))

const namesOf = (hits: SessionHit[], directory: string) => hits.map(({ filePath }) => relative(directory, filePath))

/** The open files of this process in a directory. */
const openIn = (directory: string): string[] =>
  readdirSync('/proc/self/fd')
    .map((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`)
      } catch {
        return ''
      }
    })
    .filter((path) => path.startsWith(directory))

const nameOfThread = (id: string): string => {
  try {
    return readFileSync(`/proc/self/task/${id}/comm`, 'utf8').trim()
  } catch {
    return ''
  }
}

/** A session of some megabytes, which several threads share. */
function large(): string {
  const texts = Array.from({ length: 12_000 }, (_, index) =>
    content(`${index % 500 === 0 ? 'a needle' : 'hay'} ${'x'.repeat(400)} ${index}`),
  )
  return session(...texts.slice(0, 5000), compressed('a needle in a summary'), ...texts.slice(5000), rewind(700))
}

describe('files', () => {
  test('that are named come first, in their order, then those of the directories, the newest first', async () => {
    const one = projectOf({ 'new.jsonl': session(content('x')), 'old.jsonl': session(content('x')), 'notes.txt': 'x' })
    const other = projectOf({ 'b.jsonl': session(content('x')) })
    utimesSync(join(other, 'b.jsonl'), 1_700_000_000.5, 1_700_000_000.5)
    const named = [writeSession(session(content('x'))), join(one, 'old.jsonl')]
    const hits = await hitsOf([one, named[0]!, other, named[1]!, one], 'x')
    expect(hits.map(({ filePath }) => filePath)).toEqual([...named, join(other, 'b.jsonl'), join(one, 'new.jsonl')])
  })

  test('that were modified at the same time come in the order of listSessions, then those that are no sessions', async () => {
    const ids = ['b', 'B', 'ä', 'a', 'z']
    const sessions = ids.map((sessionId, index) => [`${index}.jsonl`, file(start({ sessionId }), content('x'))])
    const directory = projectOf({
      '_.jsonl': file(content('x')),
      ...Object.fromEntries(sessions),
      '-.jsonl': file(content('x')),
    })
    for (const name of readdirSync(directory)) utimesSync(join(directory, name), 1, 1)
    const listed = (await listSessions(directory)).sessions.map(({ filePath }) => relative(directory, filePath))
    expect(listed).toHaveLength(ids.length)
    expect(namesOf(await hitsOf(directory, 'x'), directory)).toEqual([...listed, '-.jsonl', '_.jsonl'])
  })

  test('that can not be read are told, and the others are searched', async () => {
    const directory = projectOf({ 'a.jsonl': session(content('x')) })
    mkdirSync(join(directory, 'b.jsonl'))
    symlinkSync('nothing', join(directory, 'c.jsonl'))
    symlinkSync('d.jsonl', join(directory, 'd.jsonl'))
    const search = searchSessions([join(directory, 'absent'), directory], 'x')
    expect(await all(search)).toHaveLength(1)
    expect(search.summary).toEqual({
      sessions: 1,
      bytes: session(content('x')).length,
      hits: 1,
      unreadable: [
        {
          filePath: join(directory, 'absent'),
          reason: `ENOENT: no such file or directory, open '${join(directory, 'absent')}'`,
        },
        { filePath: join(directory, 'b.jsonl'), reason: 'EISDIR: illegal operation on a directory, read' },
        { filePath: join(directory, 'd.jsonl'), reason: expect.stringMatching(/^E[A-Z]+: /) },
      ],
    })
  })

  test('of other projects are not searched', async () => {
    const directory = projectOf({
      'a.jsonl': session(content('x')),
      'b.jsonl': file(start({ projectHash: 'b' }), content('x')),
      'c.jsonl': file(content('x')),
    })
    const search = searchSessions(directory, 'x', { projectHash: PROJECT_HASH })
    expect(namesOf(await all(search), directory)).toEqual(['a.jsonl'])
    expect(search.summary.sessions).toBe(1)
  })
})

describe('archived sessions', () => {
  test('are found where their files were, and told', async () => {
    const directory = projectOf({
      'a.jsonl': session(content('x')),
      'b.jsonl': session(content('x')),
      'c.jsonl': session(content('x')),
    })
    await archiveSession(join(directory, 'b.jsonl'))
    const search = searchSessions(directory, 'x')
    const hits = await all(search)
    expect(hits.map(({ filePath, archived }) => [relative(directory, filePath), archived])).toEqual([
      ['a.jsonl', false],
      ['b.jsonl.zst', true],
      ['c.jsonl', false],
    ])
    expect(hits.map(({ filePath: _, archived: __, ...hit }) => hit)).toEqual(
      Array(3).fill({ ...searchBytes(Buffer.from(session(content('x'))), 'x')[0] }),
    )
    expect(search.summary).toMatchObject({ sessions: 3, bytes: 3 * session(content('x')).length, unreadable: [] })
  })

  test('are found by the name of the session and by their own, once', async () => {
    const directory = projectOf({ 'a.jsonl': session(content('x')) })
    const path = join(directory, 'a.jsonl')
    await archiveSession(path)
    for (const given of [path, `${path}.zst`]) {
      expect(await hitsOf([given, directory, `${path}.zst`, path], 'x')).toMatchObject([
        { filePath: given, archived: true },
      ])
    }
  })

  test('whose files are there too are passed over', async () => {
    const directory = projectOf({ 'a.jsonl': session(content('archived x')) })
    const path = join(directory, 'a.jsonl')
    await archiveSession(path)
    writeFileSync(path, session(content('x'), content('x')))
    expect(await hitsOf(directory, 'x')).toMatchObject([{ filePath: path, archived: false, snippet: 'x' }, { line: 3 }])
    expect(await hitsOf(`${path}.zst`, 'x')).toMatchObject([{ archived: true, snippet: 'archived x' }])
  })

  test('that are damaged are searched up to the damage', async () => {
    const directory = projectOf({ 'a.jsonl': large() })
    await archiveSession(join(directory, 'a.jsonl'))
    const archive = join(directory, 'a.jsonl.zst')
    const whole = await hitsOf(archive, 'needle')
    // Behind the first frame.
    truncateSync(archive, statSync(archive).size - 100)
    const search = searchSessions(archive, 'needle')
    const found = await all(search)
    expect(found.length).toBeGreaterThan(0)
    expect(found.map(({ line }) => line)).toEqual(whole.slice(0, found.length).map(({ line }) => line))
    expect(found.length).toBeLessThan(whole.length)
    expect(search.summary.unreadable).toEqual([
      { filePath: archive, reason: expect.stringMatching(/^The archive is damaged after \d+ bytes$/) },
    ])
  })

  test('are no receipts of imports', async () => {
    const directory = projectOf({ 'a.jsonl': session(content('x')) })
    copyFileSync(join(directory, 'a.jsonl'), join(directory, 'a.receipt.jsonl'))
    expect(namesOf(await hitsOf(directory, 'x'), directory)).toEqual(['a.jsonl'])
  })
})

describe('sessions of other programs', () => {
  const agents = fileURLToPath(new URL('../../crates/core/tests/agents/', import.meta.url))
  /** The hits in what a session becomes. */
  async function expectedOf(path: string, query: string, options?: SearchOptions) {
    const lines: string[] = []
    for await (const { record } of readSessionRecords(path)) lines.push(`${JSON.stringify(record)}\n`)
    return searchBytes(Buffer.from(lines.join('')), query, options).map((hit) => ({
      filePath: path,
      archived: false,
      ...hit,
    }))
  }

  test.each(['claude-mixed.jsonl', 'claude-branches.jsonl', 'codex-rollback.jsonl'])(
    'are searched as what they become: %s',
    async (name) => {
      const path = join(agents, 'made', name)
      for (const options of [{}, { history: 'current' }, { speaker: 'human' }] satisfies SearchOptions[]) {
        const search = searchSessions(path, 'e', options)
        const hits = await all(search)
        expectSame(hits, await expectedOf(path, 'e', options), { keyOrder: false })
        expect(hits.length).toBeGreaterThan(0)
        expect(search.summary).toEqual({ sessions: 1, bytes: statSync(path).size, hits: hits.length, unreadable: [] })
      }
    },
  )

  test('can be given with one of their conversations', async () => {
    const path = `${join(agents, 'made', 'claude-mixed.jsonl')}#ag1`
    const hits = await hitsOf(path, 'e')
    expectSame(hits, await expectedOf(path, 'e'), { keyOrder: false })
    expect(hits[0]).toMatchObject({ filePath: path, sessionId: 'agent-ag1' })
    const search = searchSessions(path.replace('ag1', 'ag2'), 'e')
    expect(await all(search)).toEqual([])
    expect(search.summary.unreadable).toMatchObject([{ reason: 'No conversation ag2' }])
  })
})

describe('items of events that edit the history', () => {
  const item = (text: string, seq?: number) => ({
    speaker: 'ai',
    blocks: [{ type: 'text', text }],
    ...(seq === undefined ? {} : { metadata: { chronology: { seq } } }),
  })
  const event = (type: SessionEventType, payload: object): [SessionEventType, object] => [type, payload]
  const found = async (path: string, options?: SearchOptions) =>
    (await hitsOf(path, 'needle', options)).map(({ line, type, pointer, inHistory }) => [
      line,
      type,
      pointer,
      inHistory,
    ])

  test('are found where they stand, and current as the history is at the end', async () => {
    const path = writeSession(
      session(
        event('content', { content: item('old needle', 1) }),
        event('content', { content: item('kept needle', 2) }),
        event('density_mutation', {
          removedSeqs: [],
          replacements: [
            { replacedSeq: 7, replacement: item('lost needle') },
            { replacedSeq: 1, replacement: item('new needle') },
          ],
        }),
        event('synthetic_insert', { content: item('put needle', 3), chronologySeq: 3, afterSeq: 2 }),
        event('synthetic_insert', { content: item('stray needle', 4), chronologySeq: 4, afterSeq: 99 }),
        event('synthetic_insert', {
          content: { ...item('malformed needle'), speaker: 'robot' },
          chronologySeq: 4,
          afterSeq: 2,
        }),
        event('chronology_bind', { rowIndex: 1, chronology: { seq: 9, userTurn: 1, step: 1, recordedAt: 1 } }),
        event('chronology_bind', {
          rowIndex: 2,
          chronology: { seq: 8, userTurn: 1, step: 1, recordedAt: 1 },
          content: item('bound needle'),
        }),
      ),
    )
    const all = [
      [2, 'content', '/content/blocks/0/text', false],
      [3, 'content', '/content/blocks/0/text', true],
      [4, 'density_mutation', '/replacements/0/replacement/blocks/0/text', false],
      [4, 'density_mutation', '/replacements/1/replacement/blocks/0/text', true],
      [5, 'synthetic_insert', '/content/blocks/0/text', false],
      [6, 'synthetic_insert', '/content/blocks/0/text', false],
      [9, 'chronology_bind', '/content/blocks/0/text', true],
    ]
    expect(await found(path)).toEqual(all)
    expect(await found(path, { history: 'current' })).toEqual(all.filter(([, , , inHistory]) => inHistory))
  })
})

describe('a large file', () => {
  const text = large()

  test.each<SearchOptions>([{}, { history: 'current' }, { speaker: 'ai' }, { limit: 3 }])(
    'has the hits of a plain loop with %j',
    async (options) => {
      const path = writeSession(text)
      const expected = searchBytes(Buffer.from(text), 'needle', options).slice(0, options.limit)
      expect(expected.length).toBeGreaterThan(0)
      for (const archived of [false, true]) {
        if (archived) await archiveSession(path)
        expectSame(
          await hitsOf(path, 'needle', options),
          expected.map((hit) => ({ filePath: path, archived, ...hit })),
          { keyOrder: false },
        )
      }
    },
  )
})

describe('changes meanwhile', () => {
  test('a file that disappears is left out', async () => {
    const directory = projectOf(many(100))
    const search = searchSessions(directory, 'needle')
    const hits: SessionHit[] = []
    for await (const hit of search) {
      if (hits.push(hit) === 1) rmSync(join(directory, '99.jsonl'))
    }
    expect(hits).toHaveLength(99)
    expect(search.summary).toMatchObject({ sessions: 99, unreadable: [] })
  })

  test('what is appended to a file after it was opened is not searched', async () => {
    const path = writeSession(large())
    const before = (await hitsOf(path, 'needle')).length
    const hits: SessionHit[] = []
    for await (const hit of searchSessions(path, 'needle')) {
      if (hits.push(hit) === 1) appendFileSync(path, session(content('needle')))
    }
    expect(hits).toHaveLength(before)
  })
})

describe('the end', () => {
  test.runIf(process.platform === 'linux')(
    'of a loop closes all files, and nothing is opened before its beginning',
    async () => {
      const directory = projectOf({ 'large.jsonl': large(), ...many(50) })
      const search = searchSessions(directory, 'needle')
      expect(openIn(directory)).toEqual([])
      for await (const _ of search) break
      expect(openIn(directory)).toEqual([])
      expect(search.summary).toMatchObject({ hits: 1, sessions: 1 })
      expect(await all(search)).toEqual([])
    },
  )

  test('is not far behind the last hit that was taken', async () => {
    const directory = projectOf(many(300))
    const iterator = searchSessions(directory, 'needle')[Symbol.asyncIterator]()
    await iterator.next()
    await sleep(200)
    rmSync(directory, { recursive: true })
    let others = 0
    while (!(await iterator.next()).done) others++
    expect(others).toBeLessThan(40)
  })

  test.runIf(process.platform === 'linux')('occupies no thread while it waits for the next request', async () => {
    const directory = projectOf({ ...many(60), 'large.jsonl': large() })
    const threads = () => readdirSync('/proc/self/task').filter((id) => nameOfThread(id) === 'session-tape').length
    const before = threads()
    const iterators = Array.from({ length: 60 }, (_, index) =>
      searchSessions(index % 2 === 0 ? directory : join(directory, 'large.jsonl'), 'needle')[Symbol.asyncIterator](),
    )
    for (const iterator of iterators) expect((await iterator.next()).value).toMatchObject({ field: 'text' })
    // Idle threads wait for other work, and are used again.
    expect(threads() - before).toBeLessThan(20)
    for (const iterator of iterators) await iterator.return!()
  })

  test('comes at once for a request that is under way', async () => {
    const directory = projectOf({ ...many(400, 'hay'), 'large.jsonl': large() })
    const iterator = searchSessions(directory, 'no such text')[Symbol.asyncIterator]()
    const next = iterator.next()
    expect(await iterator.return!()).toEqual({ done: true, value: undefined })
    expect(await next).toEqual({ done: true, value: undefined })
    if (process.platform === 'linux') expect(openIn(directory)).toEqual([])
  })

  test('by a signal is its reason, before, between and during requests', async () => {
    const directory = projectOf(many(100))
    const reason = new Error('enough')
    await expect(all(searchSessions(directory, 'needle', { signal: AbortSignal.abort(reason) }))).rejects.toBe(reason)
    const between = new AbortController()
    const hits: SessionHit[] = []
    const loop = async () => {
      for await (const hit of searchSessions(directory, 'needle', { signal: between.signal })) {
        hits.push(hit)
        between.abort(reason)
      }
    }
    await expect(loop()).rejects.toBe(reason)
    expect(hits).toHaveLength(1)
    const during = new AbortController()
    const next = searchSessions(directory, 'no such text', { signal: during.signal })[Symbol.asyncIterator]().next()
    during.abort(reason)
    await expect(next).rejects.toBe(reason)
  })

  test('comes with the last hit that the limit allows', async () => {
    const directory = projectOf(many(100))
    const search = searchSessions(directory, 'needle', { limit: 3 })
    expect(namesOf(await all(search), directory)).toEqual(['0.jsonl', '1.jsonl', '2.jsonl'])
    expect(search.summary).toMatchObject({ hits: 3, sessions: 3 })
    expect(await hitsOf(directory, 'needle', { limit: 0 })).toEqual([])
  })

  test('is told as the last progress', async () => {
    const directory = projectOf(many(100, 'hay'))
    const told: Progress[] = []
    const search = searchSessions(directory, 'needle', { onProgress: (progress) => told.push(progress) })
    expect(await all(search)).toEqual([])
    const { bytes } = search.summary
    expect(told.at(-1)).toEqual({ bytes, total: bytes, files: 100 })
  })

  test('by an error of onProgress is that error', async () => {
    const error = new Error('from onProgress')
    const onProgress = () => {
      throw error
    }
    await expect(hitsOf(projectOf(many(3)), 'needle', { onProgress })).rejects.toBe(error)
  })
})

describe('a snippet', () => {
  const snippet = async (text: string, query: string, options?: SearchOptions) => {
    const [hit] = await hitsOf(writeSession(session(content(text))), query, options)
    return [hit?.snippet, hit?.ranges, hit?.matches]
  }

  test('splits no surrogate pair', async () => {
    expect(await snippet('😀😀x😀😀', 'x', { context: 1 })).toEqual(['x', [[0, 1]], 1])
    expect(await snippet('😀😀x😀😀', 'x', { context: 3 })).toEqual(['😀x😀', [[2, 3]], 1])
    // A literal is found in the middle of a pair, as indexOf finds it.
    expect(await snippet('a😀b', '\ude00', { case: 'sensitive', context: 0 })).toEqual(['😀', [[1, 2]], 1])
    expect(await snippet('a😀b', '\ude00', { case: 'insensitive' })).toEqual([undefined, undefined, undefined])
  })
})

describe('arguments', () => {
  const refused =
    (...args: unknown[]) =>
    () =>
      (searchSessions as (...args: unknown[]) => SessionSearch)(...args)

  test.each<[string, unknown[]]>([
    ['where must be', [7, 'x']],
    ['where must be', [['a', ''], 'x']],
    ['where[1] must be', [['a', 'b\0'], 'x']],
    ['query must be a non-empty string', ['.', '']],
    ['query must be a non-empty string', ['.', /x/]],
    ['options must be', ['.', 'x', null]],
    ['options.regex must be', ['.', 'x', { regex: 1 }]],
    ["options.case must be one of 'smart'", ['.', 'x', { case: 'i' }]],
    ['options.fields must be', ['.', 'x', { fields: 'text' }]],
    ["options.fields[1] must be one of 'text'", ['.', 'x', { fields: ['text', 'media'] }]],
    ['options.speaker must be', ['.', 'x', { speaker: 'robot' }]],
    ['options.tool must be', ['.', 'x', { tool: 1 }]],
    ['options.projectHash must be', ['.', 'x', { projectHash: 1 }]],
    ['options.since must be', ['.', 'x', { since: 'yesterday' }]],
    ['options.until must be', ['.', 'x', { until: new Date(NaN) }]],
    ['options.history must be', ['.', 'x', { history: 'now' }]],
    ['options.context must be', ['.', 'x', { context: -1 }]],
    ['options.limit must be', ['.', 'x', { limit: 1.5 }]],
    ['options.signal must be', ['.', 'x', { signal: {} }]],
    ['options.onProgress must be', ['.', 'x', { onProgress: true }]],
    ['query must be a regular expression (unclosed group, at 3)', ['.', '😀a(b', { regex: true }]],
    ['query must be a regular expression (its compiled form is too large)', ['.', '\\w{1000}{1000}', { regex: true }]],
  ])('%s …', (message, args) => {
    const error = expect.objectContaining({
      name: 'TypeError',
      message: expect.stringContaining(message),
      code: 'ERR_INVALID_ARG_TYPE',
    })
    expect(refused(...args)).toThrow(error)
  })
})

test('a regular expression is that of the regex crate, and sees the whole string', async () => {
  const path = writeSession(session(content('one\ntwo'), content('Zwölf 12')))
  const linesWith = async (query: string) => (await hitsOf(path, query, { regex: true })).map(({ line }) => line)
  expect(await linesWith('e.t')).toEqual([])
  expect(await linesWith('(?s)e.t')).toEqual([2])
  expect(await linesWith('^two')).toEqual([])
  expect(await linesWith('(?m)^two')).toEqual([2])
  expect(await linesWith('ZWÖLF')).toEqual([])
  expect(await linesWith('zwÖlf')).toEqual([])
  expect(await linesWith('zw\\p{Alphabetic}lf \\d+$')).toEqual([3])
  expect(await linesWith('^$')).toEqual([])
})
