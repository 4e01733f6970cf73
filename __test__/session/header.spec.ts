// readSessionHeader: the payload of the first line, if that is a session_start, and null for everything else.
import '../support/on-disk.js'
import { describe, expect } from 'vitest'
import { fc, test } from '../support/property'
import {
  readSessionHeader,
  type SessionStartPayload,
  readSessionHeaders,
  type SessionFileHeader,
  describeSessions,
  forkSession,
  listContinueTargets,
  listSessions,
  openSession,
  readSessionRecords,
  replaySession,
  type ContinueTarget,
} from '../../index.js'
import {
  START_PAYLOAD,
  content,
  envelope,
  file,
  session,
  start,
  writeSession,
  item,
  PROJECT_HASH,
  textsOf,
} from '../support/session-file'
import { eachCase } from '../support/each-case'
import { expectSame } from '../support/same-replay'
import { anyFile } from '../support/line-arbitraries'
import { runs } from '../support/session-arbitraries'
import { headerOfBytes } from '../support/plain-engine.mjs'
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync, readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join, relative, sep } from 'node:path'
import { directoryOf, root } from '../support/file-directory'
import { childReport, isLinux, unprivileged } from '../support/processes'
import { checkpoint, projectOf } from '../support/project-files'
import { resumed } from '../support/resuming'

const MIB = 1024 * 1024
const headerOf = (data: string | Uint8Array): Promise<SessionStartPayload | null> =>
  readSessionHeader(writeSession(data))

describe('a header', () => {
  test('is the payload of the session_start on line 1', async () => {
    expect(await headerOf(session(content('a'), content('b')))).toStrictEqual(START_PAYLOAD)
  })

  test('may fill 1 MiB, the newline included', async () => {
    const room = MIB - Buffer.byteLength(file(start({ model: '' })))
    const filled = file(start({ model: 'm'.repeat(room) }), content('a'))
    expect(Buffer.from(filled).indexOf('\n')).toBe(MIB - 1)
    expect(await headerOf(filled)).toMatchObject({ model: 'm'.repeat(room) })
  })
})

describe('a header is null', () => {
  test('or what the plain engine finds, for first lines of any form', () =>
    eachCase(
      [
        ...[
          '',
          '\ufeff',
          `\ufeff\ufeff${session()}`,
          `\ufeff${session()}`,
          `\n${session()}`,
          file(content('a'), start()),
        ],
        ...[
          envelope(1, start()),
          `${envelope(1, start())}\r\n`,
          envelope(1, start()).slice(0, -1),
          'garbage\n',
          'null\n',
        ],
        ...[`[${envelope(1, start())}]\n`, '"session_start"\n', '{"type":"session_start"}\n'],
        ...['null', '[{"sessionId":"s"}]', '"s"', '{}', '{"sessionId":7}', '{"projectHash":null,"sessionId":""}'].map(
          (payload) => `{"type":"session_start","payload":${payload}}\n`,
        ),
        '{"type":"session_start","payload":{"__proto__":{"sessionId":"s"},"b":-0,"a":1e999}}\n',
        ...['"Session_start"', '["session_start"]'].map((type) => `{"type":${type},"payload":{}}\n`),
        ...['', '\r'].map((between) => `${envelope(1, start())}${between}${envelope(2, content('a'))}\n`),
        '{"type":"content","payload":1,"ty\\u0070e":"session\\u005fstart","payload":{"sessionId":"\\ud800"}}',
      ],
      async (text) => expectSame(await headerOf(text), headerOfBytes(Buffer.from(text))),
    ))

  test('for a first line beyond 1 MiB, complete or not', async () => {
    expect(await headerOf(file(start({ model: 'm'.repeat(MIB) }), content('a')))).toBeNull()
    expect(await headerOf(`{"type":"session_start","payload":{}}${' '.repeat(MIB)}\n`)).toBeNull()
    expect(await headerOf('x'.repeat(2 * MIB))).toBeNull()
  })
})

test.prop([fc.integer({ min: 1, max: 2 * MIB }).filter((size) => Math.abs(size - MIB) > 1), fc.boolean()], runs(25))(
  'a first line of any size: its payload up to 1 MiB, null beyond',
  async (size, ended) => {
    const frame = Buffer.byteLength(file(start({ model: '' })))
    const line = file(start({ model: 'm'.repeat(Math.max(0, size - frame)) }))
    const header = await headerOf(ended ? line + envelope(2, content('a')) : line.slice(0, -1))
    if (Math.max(size, frame) > MIB) expect(header).toBeNull()
    else expect(header).toStrictEqual(JSON.parse(line).payload)
  },
)

test.prop([fc.uint8Array({ maxLength: 300 })], runs(60))(
  'any bytes after the first line have no effect',
  async (bytes) => {
    expect(await headerOf(Buffer.concat([Buffer.from(session()), bytes]))).toStrictEqual(START_PAYLOAD)
  },
)

test.prop([anyFile], runs(300))('any file: what the plain engine finds', async (bytes) => {
  expectSame(await headerOf(bytes), headerOfBytes(bytes))
})

const canMakePipes = isLinux && spawnSync('mkfifo', ['--version']).status === 0

/** Names and headers of the entries, in their order. */
const found = (directory: string, entries: SessionFileHeader[]) =>
  entries.map(({ filePath, header }) => [relative(directory, filePath), header] as const)

describe('the headers of a directory', () => {
  test('are those of its .jsonl files, in the order of their names', async () => {
    const directory = directoryOf({
      'b.jsonl': session(content('a')),
      'a.jsonl': file(start({ model: 'é名' })),
      'B.jsonl': session(),
      'a.jsonl.lock': '{}',
      'c.JSONL': session(),
      'd.json': session(),
      jsonl: session(),
    })
    expect(await readSessionHeaders(directory)).toStrictEqual([
      { filePath: join(directory, 'B.jsonl'), header: START_PAYLOAD },
      { filePath: join(directory, 'a.jsonl'), header: { ...START_PAYLOAD, model: 'é名' } },
      { filePath: join(directory, 'b.jsonl'), header: START_PAYLOAD },
    ])
  })

  test('are in the order in which sort puts their names, even beyond the first plane of Unicode', async () => {
    const names = ['\uff5e.jsonl', '🎞.jsonl', 'é.jsonl', 'z.jsonl', 'Z.jsonl', '10.jsonl', '9.jsonl']
    const directory = directoryOf(Object.fromEntries(names.map((name) => [name, session()])))
    expect(found(directory, await readSessionHeaders(directory)).map(([name]) => name)).toStrictEqual(names.sort())
  })

  test('have the paths that join makes of the directory and the names', async () => {
    const directory = directoryOf({ 'a.jsonl': session() })
    const here = relative(process.cwd(), directory)
    await eachCase(
      [directory, `${directory}${sep}`, `${directory}${sep}.${sep}`, here, `.${sep}${here}`],
      async (spelled) => {
        expect(await readSessionHeaders(spelled)).toStrictEqual([
          { filePath: join(spelled, 'a.jsonl'), header: START_PAYLOAD },
        ])
      },
    )
    const before = process.cwd()
    process.chdir(directory)
    try {
      expect(await readSessionHeaders('.')).toStrictEqual([{ filePath: 'a.jsonl', header: START_PAYLOAD }])
    } finally {
      process.chdir(before)
    }
  })

  test('are null for files that are not sessions, which do not affect the others', async () => {
    const directory = directoryOf({
      'good.jsonl': session(),
      'empty.jsonl': '',
      'garbage.jsonl': '\xff\n',
      'long.jsonl': 'x'.repeat((1 << 20) + 1),
    })
    mkdirSync(join(directory, 'directory.jsonl'))
    writeFileSync(join(directory, 'directory.jsonl', 'deeper.jsonl'), session())
    symlinkSync('nowhere', join(directory, 'dangling.jsonl'))
    symlinkSync('circle.jsonl', join(directory, 'circle.jsonl'))
    symlinkSync('good.jsonl', join(directory, 'link.jsonl'))
    symlinkSync('directory.jsonl', join(directory, 'to-directory.jsonl'))
    expect(found(directory, await readSessionHeaders(directory))).toStrictEqual([
      ['circle.jsonl', null],
      ['dangling.jsonl', null],
      ['directory.jsonl', null],
      ['empty.jsonl', null],
      ['garbage.jsonl', null],
      ['good.jsonl', START_PAYLOAD],
      ['link.jsonl', START_PAYLOAD],
      ['long.jsonl', null],
      ['to-directory.jsonl', null],
    ])
  })

  test.skipIf(!canMakePipes)('are null for pipes and sockets, which do not block the call', async () => {
    const directory = directoryOf({ 'good.jsonl': session() })
    spawnSync('mkfifo', [join(directory, 'pipe.jsonl')])
    symlinkSync('pipe.jsonl', join(directory, 'to-pipe.jsonl'))
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(join(directory, 's.jsonl'), resolve))
    const entries = await childReport<SessionFileHeader[]>('child-listing.mjs', ['directory', directory])
    expect(found(directory, entries)).toStrictEqual([
      ['good.jsonl', START_PAYLOAD],
      ['pipe.jsonl', null],
      ['s.jsonl', null],
      ['to-pipe.jsonl', null],
    ])
    await new Promise((resolve) => server.close(resolve))
  })
})

const name = fc.stringMatching(/^[a-zA-Z0-9 .#%é"'\\\n-]{0,8}$/).map((text) => `n${text}.jsonl`)
test.prop([fc.uniqueArray(fc.tuple(name, anyFile), { maxLength: 8, selector: ([one]) => one })], runs(60))(
  'any files: the same headers as a call with their paths',
  async (files) => {
    const directory = directoryOf(Object.fromEntries(files))
    const filePaths = files
      .map(([one]) => one)
      .sort()
      .map((one) => join(directory, one))
    const headers = await readSessionHeaders(filePaths)
    expectSame(
      await readSessionHeaders(directory),
      filePaths.map((filePath, i) => ({ filePath, header: headers[i] })),
    )
    rmSync(directory, { recursive: true })
  },
)

describe('a directory that cannot be read', () => {
  /** The error with which a promise rejects. */
  const rejectionOf = (work: Promise<unknown>): Promise<Error> =>
    work.then(
      () => {
        throw new Error('did not reject')
      },
      (error: Error) => error,
    )

  test('rejects with the error of Node', () =>
    eachCase([join(root(), 'none'), writeSession(session()), '', 'a\0b', 'x'.repeat(5000)], async (directory) => {
      const error = await rejectionOf(readSessionHeaders(directory))
      const expected = await rejectionOf(readdir(directory))
      expect(error).toBeInstanceOf(Error)
      expect({ ...error, message: error.message }).toStrictEqual({ ...expected, message: expected.message })
    }))

  // Skipped if there is no user that permissions apply to and who can load the addon.
  test.skipIf(unprivileged === null)('rejects if permission is missing, too', async () => {
    const closed = directoryOf({ 'good.jsonl': session() })
    chmodSync(closed, 0)
    await expect(childReport('child-listing.mjs', ['directory', closed], unprivileged ?? {})).rejects.toThrow(
      /EACCES.*scandir/,
    )
  })
})

const ORIGIN = { parentSessionId: 'parent', parentSequence: 9, checkpointId: 'c', checkpointName: 'here' }
/** As the CLI forks: its header, the records of the history with the numbers that they had, then where it comes from. */
const child = [
  envelope(0, start({ sessionId: 'child' })),
  envelope(2, content('a')),
  envelope(5, content('b')),
  envelope(7, content('c')),
  envelope(8, ['rewind', { itemsRemoved: 1 }]),
  envelope(10, ['session_forked', ORIGIN]),
]
  .map((line) => `${line}\n`)
  .join('')
const projectWith = (text: string): string => projectOf({ 'session-child.jsonl': text })
const numbersOf = (path: string): number[] =>
  readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { seq: number }).seq)

describe('a session whose header has the number 0', () => {
  test('is replayed, opened and read with its numbers, and counts its header', async () => {
    const path = join(projectWith(child), 'session-child.jsonl')
    for (const strict of [true, false]) {
      const replayed = await replaySession(path, PROJECT_HASH, { strict })
      expect(replayed).toMatchObject({
        ok: true,
        lastSeq: 10,
        eventCount: 6,
        warnings: [],
        sequenceCorrupt: false,
        ancestry: ORIGIN,
      })
      expect(replayed.ok && textsOf(replayed.history)).toStrictEqual(['a', 'b'])
      const through = await replaySession(path, PROJECT_HASH, { strict, throughSeq: 2 })
      expect(through.ok && [textsOf(through.history), through.lastSeq, through.eventCount]).toStrictEqual([['a'], 2, 2])
      const nothing = await replaySession(path, PROJECT_HASH, { strict, throughSeq: 0 })
      expect(nothing).toMatchObject({ ok: true, history: [], lastSeq: 0, eventCount: 1 })
    }
    const opened = await openSession(path, PROJECT_HASH, { strict: true })
    expect(opened).toMatchObject({ ok: true, session: { historyLength: 2, lastSeq: 10, eventCount: 6 } })
    if (opened.ok) opened.session.close()
    expect(await readSessionHeader(path)).toMatchObject({ sessionId: 'child' })
    const seqs = []
    for await (const { record } of readSessionRecords(path)) seqs.push((record as { seq: number }).seq)
    expect(seqs).toStrictEqual([0, 2, 5, 7, 8, 10])
  })

  test('is in every list', async () => {
    const directory = projectWith(child)
    expect((await listSessions(directory)).sessions).toMatchObject([{ sessionId: 'child' }])
    expect(await describeSessions(directory)).toMatchObject({
      sessions: [{ sessionId: 'child', lastSeq: 10, eventCount: 6, historyLength: 2, sequenceCorrupt: false }],
      unreadable: [],
    })
    expect(await listContinueTargets(directory, PROJECT_HASH)).toMatchObject({
      targets: [{ session: { sessionId: 'child' } }],
      unreadable: [],
    })
  })

  test('is resumed behind its last number, also if that is 0', async () => {
    for (const [text, numbers] of [
      [child, [0, 2, 5, 7, 8, 10, 11, 12]],
      [child.slice(0, child.indexOf('\n') + 1), [0, 1, 2]],
    ] as const) {
      const directory = projectWith(text)
      const { recording } = await resumed(directory)
      recording.recordContent(item('human', 'd'))
      await recording.dispose()
      expect(numbersOf(join(directory, 'session-child.jsonl'))).toStrictEqual(numbers)
      expect(await replaySession(join(directory, 'session-child.jsonl'), PROJECT_HASH, { strict: true })).toMatchObject(
        { ok: true, sequenceCorrupt: false, warnings: [] },
      )
    }
  })

  test('is forked at a checkpoint that has the number 1 or a later one', async () => {
    const first = `${envelope(0, start({ sessionId: 'child' }))}\n${envelope(1, content('a'))}\n${envelope(2, checkpoint('k', 'now'))}\n${envelope(3, content('b'))}\n`
    for (const [text, sequence, texts] of [
      [first, 2, ['a']],
      [`${child}${envelope(11, checkpoint('k', 'now'))}\n`, 11, ['a', 'b']],
    ] as const) {
      const directory = projectWith(text)
      const target = (await listContinueTargets(directory, PROJECT_HASH)).targets.find(
        ({ kind }) => kind === 'checkpoint',
      ) as Extract<ContinueTarget, { kind: 'checkpoint' }>
      expect(target.sequence).toBe(sequence)
      const forked = await forkSession(target, {
        chatsDir: directory,
        projectHash: PROJECT_HASH,
        provider: 'p',
        model: 'm',
        workspaceDirs: [],
      })
      if (!forked.ok) throw new Error(forked.error)
      expect(textsOf(forked.history)).toStrictEqual(texts)
      await forked.recording.dispose()
      const path = forked.recording.getFilePath()!
      expect(await replaySession(path, PROJECT_HASH, { strict: true })).toMatchObject({
        ok: true,
        ancestry: { parentSessionId: 'child', parentSequence: sequence },
        sequenceCorrupt: false,
      })
    }
  })
})
