// archiveSession and restoreSession: an archived session is read like any other, restored by whatever writes to it, and never lost.
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  readFileSync,
  readdirSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { test, fc } from '../support/property'
import {
  SessionLockedError,
  acquireSessionLock,
  archiveSession,
  cleanUpLocks,
  createCheckpoint,
  describeSessions,
  diff,
  exportBundle,
  forkSession,
  listCheckpoints,
  listContinueTargets,
  listSessions,
  nameSession,
  openSession,
  readSessionHeader,
  readSessionHeaders,
  readSessionPreview,
  readSessionRecords,
  readSessionTitle,
  replaySession,
  restoreSession,
  resumeSession,
  verifyBundle,
  searchSessions,
} from '../../index.js'
import { PROJECT_HASH, content, file, item, start, envelope } from '../support/session-file'
import { named, projectOf, sessionWith, titled } from '../support/project-files'
import { directoryOf } from '../support/file-directory'
import { newRecorder } from '../support/recording'
import { requestOf, resumed, resumedAndEnded } from '../support/resuming'
import { contentIdOf, idsNamedIn, reference } from '../support/plain-media'

const NAME = 'session-1.jsonl'

const has = (program: string, ...args: string[]) => spawnSync(program, args).status === 0

/** A directory with a session, its path, and its text. */
function place(text = sessionWith('abc', content('é "quoted"\n'), titled('A title'), content('answer', 'ai'))) {
  const directory = projectOf({ [NAME]: text })
  return { directory, session: join(directory, NAME), archive: join(directory, `${NAME}.zst`), text }
}

const withoutHandles = async (filePath: string) => {
  const opened = await openSession(filePath)
  if (!opened.ok) return opened
  const { session } = opened
  const all = [
    await session.items(),
    await session.items(-1),
    session.metadata,
    session.warnings,
    session.historyLength,
  ]
  session.close()
  return all
}

async function collected<T>(all: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const one of all) list.push(one)
  return list
}

/** What each reader says of a session. */
const readings = async (filePath: string) => [
  await replaySession(filePath),
  await replaySession(filePath, PROJECT_HASH, { strict: true, throughSeq: 2 }),
  await withoutHandles(filePath),
  await readSessionHeader(filePath),
  await readSessionPreview(filePath),
  await readSessionTitle(filePath),
  await collected(readSessionRecords(filePath, { history: true })),
]

describe('an archived session', () => {
  test('is read as it was, by its own name and by that of the session', async () => {
    const { directory, session, archive, text } = place()
    const before = await readings(session)
    const time = new Date('2026-03-01T12:00:00.250Z')
    utimesSync(session, time, time)
    const archivedBytes = expect.any(Number) as number
    const archived = await archiveSession(session)
    expect(archived).toStrictEqual({ filePath: archive, bytes: Buffer.byteLength(text), archivedBytes })
    expect([readdirSync(directory), statSync(archive).mtime, statSync(archive).size]).toStrictEqual([
      [`${NAME}.zst`],
      time,
      archived.archivedBytes,
    ])
    expect(await readings(session)).toStrictEqual(before)
    expect(await readings(archive)).toStrictEqual(before)
    expect(await archiveSession(archive)).toStrictEqual(archived)
    expect(await restoreSession(session)).toStrictEqual({ ...archived, filePath: session })
    expect([readdirSync(directory), readFileSync(session, 'utf8'), statSync(session).mtime]).toStrictEqual([
      [NAME],
      text,
      time,
    ])
    expect(await restoreSession(archive)).toStrictEqual({ ...archived, filePath: session, archivedBytes: null })
  })

  test('is listed, described and found with the sizes of both', async () => {
    const { directory, session, archive, text } = place()
    const [plain] = (await listSessions(directory)).sessions
    const [described] = (await describeSessions(directory)).sessions
    const { archivedBytes } = await archiveSession(session)
    const added = { filePath: archive, archived: true, bytes: Buffer.byteLength(text), archivedBytes }
    expect(await listSessions(directory)).toStrictEqual({ sessions: [{ ...plain, ...added }], unreadable: [] })
    expect(await describeSessions(directory)).toStrictEqual({ sessions: [{ ...described, ...added }], unreadable: [] })
    expect(await readSessionHeaders(directory)).toMatchObject([{ filePath: archive, header: { sessionId: 'abc' } }])
    expect((await listContinueTargets(directory, PROJECT_HASH)).targets).toHaveLength(1)
    // Where both exist, the session counts.
    writeFileSync(session, sessionWith('abc'))
    expect((await listSessions(directory)).sessions).toMatchObject([{ filePath: session }])
  })

  test('can be compared and exported', async () => {
    const { directory, session } = place()
    const copy = join(directory, 'copy.jsonl')
    writeFileSync(copy, readFileSync(session))
    const plain = await exportBundle(copy, join(directoryOf(), 'plain.tar.zst'))
    const { filePath } = await archiveSession(session)
    for (const name of [session, filePath]) {
      expect(await diff(name, copy)).toBeNull()
      expect(await diff(copy, name)).toBeNull()
      const bundle = join(directoryOf(), 'archived.tar.zst')
      const info = await exportBundle(name, bundle)
      expect(info.bundleId).toBe(plain.bundleId)
      expect((await verifyBundle(bundle)).ok).toBe(true)
    }
  })

  test('leaves no snapshot that an earlier version kept beside it', async () => {
    const { directory, session } = place()
    for (const name of [NAME, `${NAME}.zst`]) writeFileSync(join(directory, `${name}.snap`), 'session-tape snapshot 4')
    await archiveSession(session)
    expect(readdirSync(directory)).toStrictEqual([`${NAME}.zst`])
  })
})

describe('writing to an archived session restores it:', () => {
  test('resuming', async () => {
    const { directory, session, archive } = place()
    await archiveSession(session)
    const { history, recording } = await resumed(directory)
    expect(history).toStrictEqual([item('human', 'é "quoted"\n'), item('ai', 'answer')])
    expect([recording.getFilePath(), existsSync(archive)]).toStrictEqual([session, false])
    recording.recordContent(item('human', 'and on'))
    await recording.dispose()
    const replayed = await replaySession(session, PROJECT_HASH, { strict: true })
    expect(replayed).toMatchObject({ ok: true, warnings: [] })
    expect(replayed.ok && replayed.history.at(-1)).toStrictEqual(item('human', 'and on'))
  })

  test('a recorder that continues a file', async () => {
    for (const name of ['session', 'archive'] as const) {
      const at = place()
      await archiveSession(at.session)
      const recorder = newRecorder({ sessionId: 'abc', chatsDir: at.directory })
      recorder.initializeForResume(at[name], 4)
      recorder.recordContent(item('human', 'and on'))
      await recorder.dispose()
      expect(readdirSync(at.directory)).toStrictEqual([NAME])
      expect(readFileSync(at.session, 'utf8').startsWith(at.text)).toBe(true)
      expect(await replaySession(at.session)).toMatchObject({ ok: true, lastSeq: 5, warnings: [] })
    }
  })

  test('a name and a checkpoint', async () => {
    const { directory, session, archive } = place()
    const closed = { filePath: archive, chatsDir: directory, sessionId: 'abc' }
    await archiveSession(session)
    await nameSession(closed, PROJECT_HASH, 'a name')
    expect(readdirSync(directory)).toStrictEqual([NAME])
    await archiveSession(session)
    const { checkpointId } = await createCheckpoint({ ...closed, filePath: session }, PROJECT_HASH, 'a checkpoint')
    expect([
      readdirSync(directory),
      (await listCheckpoints(session, PROJECT_HASH)).map(({ name }) => name),
    ]).toStrictEqual([[NAME], ['a checkpoint']])
    await archiveSession(session)
    const options = { chatsDir: directory, projectHash: PROJECT_HASH, provider: 'p', model: 'm', workspaceDirs: [] }
    const forked = await forkSession(
      { source: (await listSessions(directory)).sessions[0]!, checkpointId, checkpointName: 'a checkpoint' } as never,
      options,
    )
    if (!forked.ok) throw new Error(forked.error)
    await forked.recording.dispose()
    expect(forked.history).toHaveLength(2)
  })

  test('taking a name from it', async () => {
    const directory = projectOf({
      'session-1.jsonl': sessionWith('a', content('x')),
      'session-2.jsonl': sessionWith('b', content('x'), named('wanted')),
    })
    const [one, other] = [join(directory, 'session-1.jsonl'), join(directory, 'session-2.jsonl')]
    await archiveSession(other)
    await nameSession({ filePath: one, chatsDir: directory, sessionId: 'a' }, PROJECT_HASH, 'wanted', {
      overwrite: true,
    })
    const names = (await describeSessions(directory)).sessions.map(({ sessionId, name }) => [sessionId, name]).sort()
    expect(names).toStrictEqual([
      ['a', 'wanted'],
      ['b', null],
    ])
    expect(readdirSync(directory).sort()).toStrictEqual(['session-1.jsonl', 'session-2.jsonl'])
  })
})

describe('nothing is archived', () => {
  test('of a session in use', async () => {
    const { directory, session, text } = place()
    const lock = await acquireSessionLock(directory, 'abc')
    await expect(archiveSession(session)).rejects.toThrow(SessionLockedError)
    await lock.release()
    const recorder = newRecorder({ sessionId: 'abc', chatsDir: directory, exclusive: true })
    recorder.initializeForResume(session, 4)
    await expect(archiveSession(session)).rejects.toMatchObject({ name: 'SessionLockedError', code: 'ESESSIONLOCKED' })
    await recorder.dispose()
    expect([readdirSync(directory), readFileSync(session, 'utf8')]).toStrictEqual([[NAME], text])
  })

  test.skipIf(process.platform === 'win32' || (process.getuid!() === 0 && !has('setpriv', '--version')))(
    'that can not be read',
    () => {
      const { directory, session } = place()
      chmodSync(session, 0o000)
      const code = `require(process.argv[1]).archiveSession(process.argv[2]).catch((error) => console.log(error.code, error.path))`
      const node = [process.execPath, '-e', code, require.resolve('../../index.js'), session]
      // Nothing keeps root from reading.
      const [program, ...args] =
        process.getuid!() === 0 ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', ...node] : node
      chmodSync(directory, 0o777)
      expect(spawnSync(program!, args).stdout.toString()).toBe(`EACCES ${session}\n`)
    },
  )

  test('that is no session, or that of another program', async () => {
    const claude = readFileSync(
      new URL('../../crates/core/tests/agents/made/claude-mixed.jsonl', import.meta.url),
      'utf8',
    )
    const files = { 'claude.jsonl': claude, 'notes.txt': 'x', 'other.jsonl': 'no session\n', 'other.jsonl.zst': 'none' }
    const directory = directoryOf(files)
    for (const name of ['claude.jsonl', 'notes.txt', 'other.jsonl'])
      await expect(archiveSession(join(directory, name))).rejects.toMatchObject({ code: 'NotASession' })
    await expect(archiveSession(join(directory, 'claude.jsonl'))).rejects.toThrow('is the session of another program')
    await expect(archiveSession(join(directory, 'none.jsonl'))).rejects.toMatchObject({ code: 'ENOENT' })
    expect(readdirSync(directory).sort()).toStrictEqual(Object.keys(files).sort())
  })

  test('after an abort', async () => {
    const { directory, session, text } = place()
    const reason = new Error('enough')
    await expect(archiveSession(session, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    const thrown = new Error('from onProgress')
    await expect(
      archiveSession(session, {
        onProgress: () => {
          throw thrown
        },
      }),
    ).rejects.toBe(thrown)
    expect(readdirSync(directory).filter((name) => !name.endsWith('.zst'))).toStrictEqual(
      existsSync(session) ? [NAME] : [],
    )
    expect((await replaySession(session)).ok).toBe(true)
    expect(Buffer.byteLength(text)).toBeGreaterThan(0)
  })
})

test('a damaged archive is read up to the damage, stays, and can be resumed by nobody', async () => {
  const events = Array.from({ length: 60_000 }, (_, n) =>
    content(`${n} ${Math.imul(n, 2654435761)} ${Math.imul(n, 40503)}`.repeat(3)),
  )
  const { directory, session } = place(file(start({ sessionId: 'abc' }), ...events))
  const { filePath } = await archiveSession(session)
  const bytes = readFileSync(filePath)
  bytes[Math.trunc(bytes.length * 0.8)]! ^= 1
  writeFileSync(filePath, bytes)
  const replayed = await replaySession(session)
  expect(replayed.ok && replayed.history.length).toBeGreaterThan(10_000)
  expect(replayed.ok && replayed.history.length).toBeLessThan(60_000)
  await expect(restoreSession(session)).rejects.toMatchObject({ code: 'Damaged', path: filePath })
  expect(await resumeSession(requestOf(directory))).toMatchObject({ ok: false, code: 'System' })
  expect([readdirSync(directory), readFileSync(filePath).equals(bytes)]).toStrictEqual([[`${NAME}.zst`], true])
})

test('what an interrupted archiving has left is cleaned an hour later', async () => {
  const { directory } = place()
  const [old, young] = ['.session-tape-abcdef.archive', '.session-tape-ghijkl.archive'].map((name) =>
    join(directory, name),
  ) as [string, string]
  ;[old, young].forEach((path) => writeFileSync(path, 'x'))
  utimesSync(old, new Date(0), new Date(0))
  await cleanUpLocks(directory)
  expect(readdirSync(directory).sort()).toStrictEqual(['.session-tape-ghijkl.archive', NAME])
})

test.skipIf(!has('zstd', '--version'))('zstd restores the session, and its archives are read', async () => {
  const { session, text } = place()
  const { filePath } = await archiveSession(session)
  expect(spawnSync('zstd', ['-d', '-c', filePath]).stdout.toString()).toBe(text)
  expect(spawnSync('zstd', ['-q', '-f', '-19', '-o', filePath], { input: text }).status).toBe(0)
  expect((await replaySession(session)).ok).toBe(true)
  expect((await listSessions(join(session, '..'))).sessions).toMatchObject([
    { archived: true, bytes: Buffer.byteLength(text), archivedBytes: statSync(filePath).size },
  ])
  expect(await restoreSession(filePath)).toMatchObject({ filePath: session })
  expect(readFileSync(session, 'utf8')).toBe(text)
})

const PYTHON = `
import sys, zstandard
path, text = sys.argv[1], sys.stdin.buffer.read()
with open(path, 'rb') as file:
    assert zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True).read() == text
with open(path, 'wb') as file:
    file.write(zstandard.ZstdCompressor(level=3).compress(text))
`

test.skipIf(!has('python3', '-c', 'import zstandard'))(
  'the Python package zstandard reads what is written, and writes what is read',
  async () => {
    const { session, text } = place()
    const { filePath } = await archiveSession(session)
    const { status, stderr } = spawnSync('python3', ['-c', PYTHON, filePath], { input: text })
    expect([status, stderr.toString()]).toStrictEqual([0, ''])
    await restoreSession(session)
    expect(readFileSync(session, 'utf8')).toBe(text)
  },
)

test.skipIf(process.platform === 'win32')('an archive has the permissions of the session', async () => {
  const { session } = place()
  chmodSync(session, 0o640)
  const { filePath } = await archiveSession(session)
  expect(lstatSync(filePath).mode & 0o777).toBe(0o640)
})

const SESSION = 'session-1.jsonl'
const LIST = 'session-1.media.json'

const shown = (...blocks: unknown[]): [string, unknown] => ['content', { content: { speaker: 'human', blocks } }]
const listOf = (ids: string[]) => JSON.stringify({ references: ids.map((contentId) => ({ contentId })) })

/** A directory with a session, and its paths. */
function placeWithImages(
  text = sessionWith('abc', content('look'), shown(reference('one', 'two')), shown(reference('one'))),
) {
  const directory = projectOf({ [SESSION]: text })
  return {
    directory,
    session: join(directory, SESSION),
    archive: join(directory, `${SESSION}.zst`),
    list: join(directory, LIST),
    text,
  }
}

describe('the list of the images of an archived session', () => {
  test('has each id once, in order, and goes when the session is restored', async () => {
    const { directory, session, list, text } = placeWithImages()
    chmodSync(session, 0o640)
    await archiveSession(session)
    expect(readdirSync(directory).sort()).toEqual([`${SESSION}.zst`, LIST])
    expect(readFileSync(list, 'utf8')).toBe(listOf([contentIdOf('one'), contentIdOf('two')].sort()))
    expect(readFileSync(list, 'utf8')).toBe(listOf(idsNamedIn(text)))
    if (process.platform !== 'win32') expect(statSync(list).mode & 0o777).toBe(0o640)
    await archiveSession(session)
    await restoreSession(session)
    expect([readdirSync(directory), readFileSync(session, 'utf8')]).toEqual([[SESSION], text])
  })

  test('does not exist for a session without images', async () => {
    const { directory, session } = placeWithImages(
      sessionWith('abc', content('no image'), shown({ type: 'media', contentId: 'sha256:12' })),
    )
    await archiveSession(session)
    expect(readdirSync(directory)).toEqual([`${SESSION}.zst`])
  })

  const anyText = fc
    .array(
      fc.oneof(
        {
          weight: 3,
          arbitrary: fc.constantFrom(
            '"contentId":',
            '"contentId" : ',
            '"contentId"\n:\t',
            '"contentId"\u00a0:',
            '\\"contentId\\":',
            '"contentId"',
          ),
        },
        { weight: 3, arbitrary: fc.constantFrom('one', 'two', 'three').map((text) => `"${contentIdOf(text)}"`) },
        fc.constantFrom('"sha256:12"', `"${contentIdOf('one').toUpperCase()}"`, '\n', ',', 'x', '"', 'é'),
        // Beyond what is read at a time.
        fc.constantFrom(' '.repeat(70_000), 'y'.repeat(262_140)),
      ),
      { maxLength: 30 },
    )
    .map((parts) => parts.join(''))
  test.prop([anyText], { numRuns: 60 })(
    'has the ids that the pattern of the sweep finds in the text, wherever they are',
    async (rest) => {
      const text = sessionWith('abc', content('x')) + rest
      const { session, list } = placeWithImages(text)
      await archiveSession(session)
      const ids = idsNamedIn(text)
      expect(existsSync(list) ? readFileSync(list, 'utf8') : null).toBe(ids.length === 0 ? null : listOf(ids))
    },
  )

  test('goes with whatever restores the archive by itself', async () => {
    for (const write of [
      async ({ directory }: ReturnType<typeof placeWithImages>) => {
        await resumedAndEnded(directory)
      },
      async ({ directory }: ReturnType<typeof placeWithImages>) => {
        await nameSession(
          { chatsDir: directory, sessionId: 'abc', filePath: join(directory, `${SESSION}.zst`) },
          PROJECT_HASH,
          'a name',
        )
      },
    ]) {
      const at = placeWithImages()
      await archiveSession(at.session)
      expect(existsSync(at.list)).toBe(true)
      await write(at)
      expect([existsSync(at.session), existsSync(at.archive), existsSync(at.list)]).toEqual([true, false, false])
    }
  })

  test('goes when a session is restored of which an earlier restoration has left both', async () => {
    const { directory, session, archive, list, text } = placeWithImages()
    await archiveSession(session)
    const [archived, listed] = [readFileSync(archive), readFileSync(list)]
    await restoreSession(session)
    writeFileSync(archive, archived)
    writeFileSync(list, listed)
    await restoreSession(session)
    expect(readdirSync(directory)).toEqual([SESSION])
    // Or the list alone.
    writeFileSync(list, listed)
    await restoreSession(session)
    expect([readdirSync(directory), readFileSync(session, 'utf8')]).toEqual([[SESSION], text])
  })

  test('is no session to any listing', async () => {
    const { directory, session } = placeWithImages()
    const before = [
      await listSessions(directory),
      await describeSessions(directory),
      await readSessionHeaders(directory),
      await listContinueTargets(directory, PROJECT_HASH),
    ]
    await archiveSession(session)
    const after = [
      await listSessions(directory),
      await describeSessions(directory),
      await readSessionHeaders(directory),
      await listContinueTargets(directory, PROJECT_HASH),
    ]
    const sizes = (one: any) =>
      [one.sessions, one.unreadable, one.targets, one.skipped, one].map((list: unknown[] | undefined) => list?.length)
    expect(after.map(sizes)).toEqual(before.map(sizes))
    const found = searchSessions(directory, 'contentId')
    const hits = []
    for await (const hit of found) hits.push(hit)
    expect(hits.every(({ filePath }) => !filePath.endsWith('.media.json'))).toBe(true)
  })

  test('is never written over another file of its name, and the session stays', async () => {
    for (const other of ['mine', '{"references":[]}', `${listOf([contentIdOf('one')])}\n`]) {
      const { directory, session, list, text } = placeWithImages()
      writeFileSync(list, other)
      await expect(archiveSession(session)).rejects.toMatchObject({
        code: 'Differs',
        message: expect.stringContaining(LIST),
      })
      expect([readdirSync(directory).sort(), readFileSync(session, 'utf8'), readFileSync(list, 'utf8')]).toEqual([
        [SESSION, LIST],
        text,
        other,
      ])
      await restoreSession(session)
      expect(readFileSync(list, 'utf8')).toBe(other)
    }
  })

  test('replaces one that an interrupted attempt has left', async () => {
    const { session, list, text } = placeWithImages()
    writeFileSync(list, listOf([contentIdOf('gone')]))
    await archiveSession(session)
    expect(readFileSync(list, 'utf8')).toBe(listOf(idsNamedIn(text)))
  })

  test('has the images of a session whose last line is torn', async () => {
    const text = `${sessionWith('abc', content('x'))}${envelope(3, shown(reference('torn'))).slice(0, -4)}`
    const { session, list } = placeWithImages(text)
    await archiveSession(session)
    expect(readFileSync(list, 'utf8')).toBe(listOf([contentIdOf('torn')]))
  })
})
