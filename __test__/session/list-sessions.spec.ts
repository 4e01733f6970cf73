// listSessions and readSessionHeaders: many files at once; files that are not sessions never affect those that are.

import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'

import { join, relative } from 'node:path'
import { describe, expect } from 'vitest'
import { fc, test } from '../support/property'
import {
  SessionRecordingService,
  listSessions,
  readSessionHeader,
  readSessionHeaders,
  replaySession,
} from '../../index.js'
import { START_PAYLOAD, content, file, session, start, writeSession } from '../support/session-file.js'
import { anyString, filledString, notAFilledString, runs } from '../support/session-arbitraries.js'
import { anyFile } from '../support/line-arbitraries.js'
import { eachCase } from '../support/each-case.js'
import { directoryOf, root } from '../support/file-directory.js'
import { childReport, isLinux, unprivileged } from '../support/processes'
import { expectSame } from '../support/same-replay.js'

type Listing = Awaited<ReturnType<typeof listSessions>>

const MIB = 1024 * 1024
const canMakePipes = isLinux && spawnSync('mkfifo', ['--version']).status === 0

const namesOf = (directory: string, { sessions }: Listing): string[] =>
  sessions.map(({ filePath }) => relative(directory, filePath))

/** The reasons for which files could not be read, by name. */
const reasonsOf = (directory: string, { unreadable }: Listing): Record<string, string> =>
  Object.fromEntries(unreadable.map(({ filePath, reason }) => [relative(directory, filePath), reason]))

describe('a listing', () => {
  test('has the fields of the header, the path, the size, and the time of the last modification', async () => {
    const directory = directoryOf({ 'one.jsonl': session(content('é')) })
    utimesSync(join(directory, 'one.jsonl'), 1, 1_770_000_000)
    expect(await listSessions(directory)).toStrictEqual({
      sessions: [
        {
          ...START_PAYLOAD,
          createdAt: START_PAYLOAD.startTime,
          filePath: join(directory, 'one.jsonl'),
          fileSize: Buffer.byteLength(session(content('é'))),
          lastModified: new Date(1_770_000_000_000),
        },
      ],
      unreadable: [],
    })
  })

  const anyName = fc
    .tuple(
      fc.stringMatching(/^[a-zA-Z0-9 .#%é"'\\\n-]{1,12}$/),
      fc.constantFrom('', '.jsonl', '.jsonl', '.json', '.jsonl.lock', '.JSONL', 'jsonl', '.jsonl~'),
    )
    .map((parts) => `n${parts.join('')}`)
  test.prop([fc.uniqueArray(anyName, { maxLength: 12 })], runs(40))(
    'of files with any names has exactly those that end with .jsonl',
    async (names) => {
      const directory = directoryOf(Object.fromEntries(names.map((name) => [name, session()])))
      const listing = await listSessions(directory)
      expect(namesOf(directory, listing).sort()).toStrictEqual(names.filter((name) => name.endsWith('.jsonl')).sort())
      expect(listing.unreadable).toStrictEqual([])
      rmSync(directory, { recursive: true })
    },
  )

  test('follows links, and takes names as they are', async () => {
    const names = ['line\nbreak.jsonl', 'ünïcode 🎞.jsonl', '.hidden.jsonl', '"quoted\\".jsonl']
    const directory = directoryOf(Object.fromEntries(names.map((name) => [name, session()])))
    symlinkSync(writeSession(session(content('elsewhere'))), join(directory, 'link.jsonl'))
    const listing = await listSessions(directory)
    expect(namesOf(directory, listing).sort()).toStrictEqual([...names, 'link.jsonl'].sort())
    expect(listing.unreadable).toStrictEqual([])
  })

  test('of a path that is not a directory, or does not exist, has an entry with the reason', () =>
    eachCase(
      [
        ['ENOENT', join(root(), 'none')],
        ['ENOTDIR', writeSession('')],
        ['ENOENT', join(root(), 'none', 'deeper')],
      ],
      async ([code, directory]) => {
        expect(await listSessions(directory)).toStrictEqual({
          sessions: [],
          unreadable: [{ filePath: directory, reason: expect.stringContaining(code) }],
        })
      },
    ))
})

const seconds = fc.integer({ min: 0, max: 2_000_000_000 })
test.prop([fc.array(fc.tuple(fc.oneof(seconds, fc.constantFrom(1, 2)), fc.boolean()), { maxLength: 30 })], runs(40))(
  'any files: the last modified first, each once, separate from files that are not sessions',
  async (files) => {
    const directory = directoryOf()
    files.forEach(([time, sound], i) => {
      const path = join(directory, `${i}.jsonl`)
      writeFileSync(path, sound ? session() : 'no session')
      utimesSync(path, time, time)
    })
    const listing = await listSessions(directory)
    const times = listing.sessions.map(({ lastModified }) => lastModified.getTime())
    expect(times).toStrictEqual(
      files
        .filter(([, sound]) => sound)
        .map(([time]) => time * 1000)
        .sort((a, b) => b - a),
    )
    for (const { filePath, lastModified } of listing.sessions)
      expect(lastModified.getTime()).toBe(statSync(filePath).mtimeMs)
    expect(listing.unreadable.map(({ filePath }) => filePath).sort()).toStrictEqual(
      files.flatMap(([, sound], i) => (sound ? [] : [join(directory, `${i}.jsonl`)])).sort(),
    )
    expect(new Set(listing.sessions.map(({ filePath }) => filePath)).size).toBe(listing.sessions.length)
    rmSync(directory, { recursive: true })
  },
)

describe('within one millisecond', () => {
  const order = async (directory: string): Promise<string[]> => namesOf(directory, await listSessions(directory))

  /** Files that were all modified at one moment. */
  const atOnce = (files: Record<string, string>): string => {
    const directory = directoryOf(files)
    for (const name of Object.keys(files)) utimesSync(join(directory, name), 1, 1000.5)
    return directory
  }

  test('the session with the last id in locale order comes first, whatever the microseconds', async () => {
    const directory = directoryOf()
    for (const [i, sessionId] of ['b', 'a', 'Ä', 'Z', 'a-10', 'a-9'].entries()) {
      writeFileSync(join(directory, `${i}.jsonl`), file(start({ sessionId })))
      utimesSync(join(directory, `${i}.jsonl`), 1, 1000.5 + i / 1e5)
    }
    const ids = (await listSessions(directory)).sessions.map(({ sessionId }) => sessionId)
    expect(ids).toStrictEqual([...ids].sort((a, b) => b.localeCompare(a)))
    expect(ids).toHaveLength(6)
  })

  test('the last started of the sessions of one id comes first', async () => {
    const at = (day: string): string => file(start({ startTime: `2026-01-${day}T00:00:00.000Z` }))
    const directory = atOnce({ 'a.jsonl': at('02'), 'b.jsonl': at('03'), 'c.jsonl': at('01') })
    expect(await order(directory)).toStrictEqual(['b.jsonl', 'a.jsonl', 'c.jsonl'])
  })

  const NUMBERS = [11, 10, 9, 2, 1]
  const numbered = (stamp: string, id: string, isBefore: boolean) => (number: number) => {
    if (number === 1) return `session-${stamp}-${id}.jsonl`
    return isBefore ? `session-${stamp}-${number}-${id}.jsonl` : `session-${stamp}-${id}-${number}.jsonl`
  }

  test('among those started at the same time, the one with the highest number in its name comes first, wherever that is, then the last name', async () => {
    for (const sessionId of [
      'plain-id-and-more',
      'id',
      'half-2',
      '1-2-3-45-6',
      '12-34-56-78-90',
      'a/b',
      '\u{1f39e}\u{1f39e}-7',
    ]) {
      const shown = (length: number) => sessionId.slice(0, length).replace('/', '_')
      for (const [stamp, id] of [
        ['2026-02-03T04-05', shown(8)],
        ['2026-02-03T04-05-06', shown(12)],
        ['2026-02-03T04-05-42', shown(12)],
      ] as const) {
        const startTime = `2026-02-03T04:05:${stamp.slice(17) || '00'}.000Z`
        const names = NUMBERS.map((number, i) => numbered(stamp, id, i % 2 === 0 || stamp.length > 16)(number))
        const directory = atOnce(
          Object.fromEntries(names.toReversed().map((name) => [name, file(start({ sessionId, startTime }))])),
        )
        expect(await order(directory)).toStrictEqual(names)
      }
    }
    const years = ['session-+010000-02-03T04-05-id.jsonl', 'session--000001-02-03T04-05-2-id.jsonl']
    expect(
      await order(atOnce(Object.fromEntries(years.map((name) => [name, file(start({ sessionId: 'id' }))])))),
    ).toStrictEqual(years.toSorted().toReversed())
    expect(
      await order(atOnce({ 'a-9.jsonl': session(), 'b.jsonl': session(), 'c-10.jsonl': session() })),
    ).toStrictEqual(['c-10.jsonl', 'b.jsonl', 'a-9.jsonl'])
  })

  test('the last recorded of several sessions of one id, one after the other, comes first', async () => {
    for (let round = 0; round < 20; round++) {
      const chatsDir = directoryOf()
      for (const model of ['first', 'second', 'third']) {
        await new Promise((resolve) => setTimeout(resolve, 2))
        const recorder = new SessionRecordingService({
          sessionId: 'same-id-',
          projectHash: 'h',
          chatsDir,
          workspaceDirs: [],
          provider: 'p',
          model,
        })
        recorder.recordContent({ speaker: 'ai', blocks: [] })
        await recorder.dispose()
      }
      expect((await listSessions(chatsDir)).sessions.map(({ model }) => model)).toStrictEqual([
        'third',
        'second',
        'first',
      ])
      rmSync(chatsDir, { recursive: true })
    }
  })
})

const hash = fc.oneof(fc.constantFrom('a', 'b', 'A', 'a ', '\ud800', '__proto__'), filledString)
test.prop([fc.array(hash, { maxLength: 12 }), hash], runs(60))(
  'projectHash: selects the sessions of that project from the whole listing',
  async (hashes, wanted) => {
    const directory = directoryOf({ 'bad.jsonl': 'no session' })
    hashes.forEach((projectHash, i) => writeFileSync(join(directory, `${i}.jsonl`), file(start({ projectHash }))))
    const whole = await listSessions(directory, {})
    for (const projectHash of [wanted, ...hashes]) {
      const { sessions, unreadable } = await listSessions(directory, { projectHash })
      expectSame(
        sessions.map(({ filePath }) => filePath),
        whole.sessions.filter((one) => one.projectHash === projectHash).map(({ filePath }) => filePath),
      )
      expectSame(unreadable, whole.unreadable)
    }
    expect(whole.sessions.map((one) => one.projectHash).sort()).toStrictEqual([...hashes].sort())
    rmSync(directory, { recursive: true })
  },
)

const anything = fc.oneof(anyString, notAFilledString, fc.jsonValue())
const anyStart = fc.record({
  sessionId: fc.oneof(filledString, anything),
  projectHash: fc.oneof(filledString, anything),
  provider: anything,
  model: anything,
  startTime: anything,
  cwd: anything,
  workspaceDirs: fc.oneof(fc.array(anyString), fc.array(anything), anything),
})
test.prop([anyStart], runs(150))(
  'any session_start: the metadata that a strict replay has, or the error that it ends with',
  async (payload) => {
    const directory = directoryOf({ 'one.jsonl': file(['session_start', payload]) })
    const replayed = await replaySession(join(directory, 'one.jsonl'), undefined, { strict: true })
    const { sessions, unreadable } = await listSessions(directory)
    if (replayed.ok) {
      const { filePath: _, fileSize: _size, lastModified: _time, createdAt, ...metadata } = sessions[0]!
      expectSame({ kind: 'main', ...metadata }, replayed.metadata, { keyOrder: false })
      expect(createdAt).toBe(payload.startTime)
    } else expect(unreadable.map(({ reason }) => reason)).toStrictEqual([replayed.error])
    expect(sessions.length + unreadable.length).toBe(1)
    rmSync(directory, { recursive: true })
  },
)

/** Why a listing leaves a file out: for the reason of a replay, or because its header lacks what a strict one requires. Otherwise `null`. */
async function refusalOf(filePath: string): Promise<string | null> {
  const replay = await replaySession(filePath)
  if (!replay.ok) return replay.error.replace('missing required', 'missing or malformed required')
  const header = (await readSessionHeader(filePath)) as unknown as Record<string, unknown>
  const areFilled = ['sessionId', 'projectHash', 'startTime'].every(
    (name) => typeof header[name] === 'string' && header[name] !== '',
  )
  const areStrings = ['provider', 'model'].every((name) => typeof header[name] === 'string')
  return areFilled && areStrings ? null : 'Invalid session_start: missing or malformed required fields'
}

test.prop([fc.array(anyFile, { minLength: 1, maxLength: 5 })], runs(60))(
  'any bytes: listed if they replay and their header is whole, otherwise reported with the reason',
  async (files) => {
    const directory = directoryOf(Object.fromEntries(files.map((bytes, i) => [`${i}.jsonl`, bytes])))
    const listing = await listSessions(directory)
    const refusals = await Promise.all(files.map((_, i) => refusalOf(join(directory, `${i}.jsonl`))))
    expect(namesOf(directory, listing).sort()).toStrictEqual(
      refusals.flatMap((refusal, i) => (refusal === null ? [`${i}.jsonl`] : [])),
    )
    const refused = refusals.flatMap((refusal, i) => (refusal === null ? [] : [[`${i}.jsonl`, refusal]]))
    // The reason says more than the replay does.
    const coarse = (reason: string): string =>
      /^(?:Empty file|Missing or corrupt)/.test(reason) ? 'no session_start' : reason
    const coarsely = (reasons: Record<string, string>) =>
      Object.entries(reasons).map(([name, reason]) => [name, coarse(reason)])
    expect(coarsely(reasonsOf(directory, listing))).toStrictEqual(coarsely(Object.fromEntries(refused)))
    rmSync(directory, { recursive: true })
  },
)

describe('files that cannot be read', () => {
  test('are reported with the reason, and do not affect the others', async () => {
    const directory = directoryOf({ 'good.jsonl': session(), 'marked.jsonl': '\ufeff' })
    mkdirSync(join(directory, 'directory.jsonl'))
    writeFileSync(join(directory, 'directory.jsonl', 'deeper.jsonl'), session())
    symlinkSync('nowhere', join(directory, 'dangling.jsonl'))
    symlinkSync('circle.jsonl', join(directory, 'circle.jsonl'))
    const listing = await listSessions(directory)
    expect(namesOf(directory, listing)).toStrictEqual(['good.jsonl'])
    expect(reasonsOf(directory, listing)).toStrictEqual({
      'marked.jsonl': 'Empty file or unreadable first line',
      'directory.jsonl': 'EISDIR: illegal operation on a directory, read',
      'dangling.jsonl': expect.stringContaining('ENOENT'),
      'circle.jsonl': expect.stringContaining('ELOOP'),
    })
    for (const { filePath, reason } of listing.unreadable) {
      const refusal = (await refusalOf(filePath))!.replace('Failed to read file: ', '')
      expect(reason.startsWith(refusal), reason).toBe(true)
    }
  })

  test('a first line of any length is read to its end', async () => {
    const long = (model: string, total: number): string =>
      file(start({ model: model.repeat((total - file(start({ model: '' })).length) / Buffer.byteLength(model)) }))
    const files = {
      'at.jsonl': long('m', MIB),
      'past.jsonl': long('m', MIB + 1),
      'longer.jsonl': long('m', 3 * MIB),
      'unended.jsonl': long('m', MIB + 9).trimEnd(),
      'marked.jsonl': `\ufeff${long('m', 2 * MIB)}`,
    }
    const torn = long('m', 2 * MIB).slice(0, -5)
    const directory = directoryOf({
      ...files,
      'torn.jsonl': torn,
      'garbage.jsonl': 'x'.repeat(2 * MIB),
      'twice-marked.jsonl': `\ufeff${files['marked.jsonl']}`,
    })
    const listing = await listSessions(directory)
    expect(namesOf(directory, listing).sort()).toStrictEqual(Object.keys(files).sort())
    for (const { filePath, model, fileSize } of listing.sessions)
      expect([filePath, model.length > MIB - 1000, fileSize]).toStrictEqual([filePath, true, statSync(filePath).size])
    const noJson = 'Missing or corrupt session_start event: first line is not valid JSON'
    expect(reasonsOf(directory, listing)).toStrictEqual({
      'torn.jsonl': noJson,
      'garbage.jsonl': noJson,
      'twice-marked.jsonl': noJson,
    })
    rmSync(directory, { recursive: true })
  })

  test.skipIf(!canMakePipes)('a pipe without a writer does not block the listing', async () => {
    const directory = directoryOf({ 'good.jsonl': session() })
    spawnSync('mkfifo', [join(directory, 'pipe.jsonl')])
    const listing = await childReport<Listing>('child-listing.mjs', ['list', directory])
    expect(namesOf(directory, listing)).toStrictEqual(['good.jsonl'])
    expect(reasonsOf(directory, listing)).toStrictEqual({ 'pipe.jsonl': expect.stringMatching(/./) })
  })

  // Skipped if there is no user that permissions apply to and who can load the addon.
  test.skipIf(unprivileged === null)('include those that the user may not read', async () => {
    const user = unprivileged ?? {}
    const directory = directoryOf({ 'good.jsonl': session(), 'secret.jsonl': session() })
    chmodSync(join(directory, 'secret.jsonl'), 0)
    const listing = await childReport<Listing>('child-listing.mjs', ['list', directory], user)
    expect(namesOf(directory, listing)).toStrictEqual(['good.jsonl'])
    expect(reasonsOf(directory, listing)).toStrictEqual({ 'secret.jsonl': expect.stringContaining('EACCES') })
    const closed = directoryOf({ 'good.jsonl': session() })
    chmodSync(closed, 0)
    expect(await childReport('child-listing.mjs', ['list', closed], user)).toStrictEqual({
      sessions: [],
      unreadable: [{ filePath: closed, reason: expect.stringContaining('EACCES') }],
    })
    expect(
      await childReport(
        'child-listing.mjs',
        ['headers', join(closed, 'good.jsonl'), join(directory, 'good.jsonl')],
        user,
      ),
    ).toStrictEqual([null, START_PAYLOAD])
  })
})

describe('readSessionHeaders', () => {
  const onePath = fc.oneof(
    { weight: 6, arbitrary: anyFile.map((bytes) => () => writeSession(bytes)) },
    { weight: 2, arbitrary: fc.string({ maxLength: 5 }).map((model) => () => writeSession(file(start({ model })))) },
    {
      weight: 2,
      arbitrary: fc.constantFrom(
        root,
        () => join(root(), 'none'),
        () => '',
        () => 'a\0b',
        () => 'x'.repeat(5000),
        () => '\ud800',
        () => writeSession('x'.repeat(MIB + 1)),
      ),
    },
  )
  test.prop([fc.array(onePath, { maxLength: 20 })], runs(60))(
    'of any mix of files: the results of readSessionHeader, in their order',
    async (make) => {
      const paths = make.map((one) => one())
      expectSame(await readSessionHeaders(paths), await Promise.all(paths.map((path) => readSessionHeader(path))))
    },
  )

  test('the same file many times, and several calls at once', async () => {
    const paths = Array.from({ length: 200 }, (_, i) => (i === 150 ? root() : writeSession(session())))
    const expected = paths.map((path) => (path === root() ? null : START_PAYLOAD))
    expect(await Promise.all(Array.from({ length: 5 }, () => readSessionHeaders(paths)))).toStrictEqual(
      Array(5).fill(expected),
    )
    const same = await readSessionHeaders(Array(130).fill(paths[0]))
    expect(same).toStrictEqual(Array(130).fill(START_PAYLOAD))
    expect(same[0]).not.toBe(same[1])
  })

  test('changes to the list during the call have no effect', async () => {
    // So many that not all are on their way to a thread when the call returns.
    const paths = Array<string>(20_000).fill(writeSession(session()))
    const headers = readSessionHeaders(paths)
    paths.fill('none').length = 1
    const found = await headers
    expect(found.length).toBe(20_000)
    expect(found.every((header) => header?.sessionId === START_PAYLOAD.sessionId)).toBe(true)
  })
})
