// keepSessions: archives and deletes what a policy says, and nothing else.

import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { describe, expect } from 'vitest'
import { fc, test } from '../support/property'
import {
  acquireSessionLock,
  archiveSession,
  deleteSession,
  keepSessions,
  listSessions,
  replaySession,
} from '../../index.js'
import type { KeepPolicy, KeepReport } from '../../index.js'
import { PROJECT_HASH, content } from '../support/session-file.js'
import { checkpoint, checkpointDeleted, sessionWith } from '../support/project-files.js'
import { DEAD_PID, lockOf, writeLock } from '../support/session-locks.js'
import { directoryOf } from '../support/file-directory.js'
import { newRecorder } from '../support/recording'

const DAY = 86_400_000

/** Text of about this many bytes, which compresses. */
const text = (id: string, bytes = 20_000) => sessionWith(id, content('some words '.repeat(bytes / 11)))

/** A directory of sessions of these ages in days, whose ids are their names. */
function aged(ages: Record<string, number>, texts: Record<string, string> = {}): string {
  const directory = directoryOf()
  for (const [id, days] of Object.entries(ages)) write(directory, id, days, texts[id])
  return directory
}

function write(directory: string, id: string, days: number, content = text(id)): string {
  const path = join(directory, `session-${id}.jsonl`)
  writeFileSync(path, content)
  age(path, days)
  return path
}

function age(path: string, days: number): void {
  const time = new Date(Date.now() - days * DAY)
  utimesSync(path, time, time)
}

const idsOf = (list: { sessionId: string }[]) => list.map(({ sessionId }) => sessionId)
const reasonsOf = ({ left }: KeepReport) =>
  Object.fromEntries(
    left.map(({ filePath, reason }) => [/session-([^/]+?)\.jsonl/.exec(filePath)?.[1] ?? filePath, reason]),
  )
const bytesIn = (directory: string) =>
  readdirSync(directory)
    .filter((name) => /\.jsonl(\.zst)?$/.test(name))
    .reduce((sum, name) => sum + statSync(join(directory, name)).size, 0)

describe('by default', () => {
  test('sessions of a week are archived and nothing is deleted', async () => {
    const directory = aged({ young: 0, days: 6, week: 8, year: 400 })
    const bytesBefore = bytesIn(directory)
    const report = await keepSessions(directory)
    expect([idsOf(report.archived), report.deleted, report.left]).toStrictEqual([['year', 'week'], [], []])
    expect(readdirSync(directory).sort()).toStrictEqual([
      'session-days.jsonl',
      'session-week.jsonl.zst',
      'session-year.jsonl.zst',
      'session-young.jsonl',
    ])
    expect(report).toMatchObject({
      sessions: 4,
      bytesBefore,
      bytesAfter: bytesIn(directory),
      withinLimits: true,
      removed: { locks: 0, snapshots: 0, temporaries: 0 },
    })
    const [{ filePath, bytes, bytesLeft }] = report.archived as [KeepReport['archived'][0]]
    expect([filePath, bytes, bytesLeft]).toStrictEqual([
      join(directory, 'session-year.jsonl.zst'),
      Buffer.byteLength(text('year')),
      statSync(filePath).size,
    ])
    expect(await keepSessions(directory)).toMatchObject({ archived: [], deleted: [], left: [] })
  })

  test.runIf(process.platform === 'linux').each([
    ['just before the next millisecond, which a double can not tell', '@1700000000.123999950'],
    ['before 1970', '@-1.5'],
  ])('a session is archived whose time is %s (needs GNU touch)', async (_, time) => {
    const directory = aged({ one: 8 })
    execFileSync('touch', ['-d', time, join(directory, 'session-one.jsonl')])
    const { archived, left } = await keepSessions(directory)
    expect([idsOf(archived), left]).toStrictEqual([['one'], []])
  })

  test('a directory that is missing is empty', async () => {
    const directory = join(directoryOf(), 'none')
    expect(await keepSessions([directory, directory])).toStrictEqual({
      archived: [],
      deleted: [],
      left: [],
      removed: { locks: 0, snapshots: 0, temporaries: 0 },
      sessions: 0,
      bytesBefore: 0,
      bytesAfter: 0,
      withinLimits: true,
    })
    expect(existsSync(directory)).toBe(false)
  })
})

describe('never touched are', () => {
  const policy: KeepPolicy = { archiveAfter: '2d', deleteAfter: '30d' }

  test('sessions in use, wanted ones, and those younger than minAge', async () => {
    const directory = aged({ locked: 40, exclusive: 3, wanted: 50, thrown: 60, plain: 40, future: -3 })
    const lock = await acquireSessionLock(directory, 'locked')
    const recorder = newRecorder({ sessionId: 'exclusive', chatsDir: directory, exclusive: true })
    recorder.initializeForResume(join(directory, 'session-exclusive.jsonl'), 2)
    const keep = ({ sessionId }: { sessionId: string }) => {
      if (sessionId === 'thrown') throw new Error('by the caller')
      return sessionId === 'wanted'
    }
    const reasons = { locked: 'InUse', exclusive: 'InUse', wanted: 'Wanted', thrown: 'Failed' }
    for (const dryRun of [true, false]) {
      const report = await keepSessions(directory, policy, { keep, dryRun })
      expect([idsOf(report.deleted), report.archived, reasonsOf(report)]).toStrictEqual([['plain'], [], reasons])
      expect(report.left.find(({ reason }) => reason === 'Failed')!.message).toBe('by the caller')
    }
    await recorder.dispose()
    await lock.release()
    const report = await keepSessions(directory, { ...policy, minAge: '45d', archiveAfter: 0 }, { keep: () => false })
    expect([idsOf(report.deleted), reasonsOf(report)]).toStrictEqual([
      ['thrown', 'wanted'],
      { locked: 'Young', exclusive: 'Young' },
    ])
    expect(readdirSync(directory)).toContain('session-future.jsonl')
  })

  test('files that are no sessions, links, and what is in directories below', async () => {
    const directory = aged({ real: 9 })
    const elsewhere = aged({ elsewhere: 9 })
    mkdirSync(join(directory, 'below'))
    write(join(directory, 'below'), 'below', 9)
    mkdirSync(join(directory, 'directory.jsonl'))
    write(directory, 'broken', 9, 'no session\n')
    write(directory, 'young-broken', 0, 'no session\n')
    symlinkSync(join(elsewhere, 'session-elsewhere.jsonl'), join(directory, 'session-link.jsonl'))
    writeFileSync(join(directory, 'notes.txt'), 'x')
    const report = await keepSessions(directory)
    expect([idsOf(report.archived), reasonsOf(report), report.sessions]).toStrictEqual([
      ['real'],
      { broken: 'Unreadable' },
      1,
    ])
    expect(readdirSync(elsewhere)).toStrictEqual(['session-elsewhere.jsonl'])
    expect(readdirSync(join(directory, 'below'))).toStrictEqual(['session-below.jsonl'])
  })
})

describe('what keep answers', () => {
  const never = new Promise<never>(() => {})
  const failing: [string, () => unknown, string][] = [
    [
      'throws',
      () => {
        throw new Error('by the caller')
      },
      'by the caller',
    ],
    ['rejects', async () => Promise.reject(new Error('by the caller')), 'by the caller'],
    ['rejects with no error', async () => Promise.reject(undefined), 'undefined'],
    [
      'throws an error of the system',
      () => {
        readFileSync(join(directoryOf(), 'none'))
      },
      'ENOENT',
    ],
    [
      'has a then that throws',
      () => ({
        get then() {
          throw new Error('by then')
        },
      }),
      'by then',
    ],
  ]

  test.each([true, false])('is awaited, and anything but undefined and false keeps (dry run: %s)', async (dryRun) => {
    for (const answer of [true, null, 0, '', 'no', {}, NaN]) {
      for (const keep of [
        () => answer,
        async () => Promise.resolve(answer),
        () => ({ then: (done: (value: unknown) => void) => setTimeout(() => done(answer)) }),
      ]) {
        const directory = aged({ one: 40 })
        const report = await keepSessions(directory, { deleteAfter: '30d' }, { keep, dryRun })
        expect([report.deleted, report.archived, reasonsOf(report)]).toStrictEqual([[], [], { one: 'Wanted' }])
        expect(readdirSync(directory)).toStrictEqual(['session-one.jsonl'])
      }
    }
    for (const keep of [() => {}, () => false, async () => {}, async () => Promise.resolve(false)]) {
      expect(
        idsOf((await keepSessions(aged({ one: 40 }), { deleteAfter: '30d' }, { keep, dryRun })).deleted),
      ).toStrictEqual(['one'])
    }
  })

  test.each(failing)('leaves the session if it %s', async (_, keep, message) => {
    for (const dryRun of [true, false]) {
      const directory = aged({ one: 40 })
      const { deleted, archived, left } = await keepSessions(directory, { deleteAfter: '30d' }, { keep, dryRun })
      const filePath = join(directory, 'session-one.jsonl')
      const failed = { filePath, reason: 'Failed', message: expect.stringContaining(message) as string }
      expect([deleted, archived, left]).toStrictEqual([[], [], [failed]])
    }
  })

  test('may never come, until the signal is aborted', async () => {
    const controller = new AbortController()
    const directory = aged({ one: 40 })
    const keep = () => (setTimeout(() => controller.abort(new Error('enough'))), never)
    const run = keepSessions(directory, { deleteAfter: '30d' }, { keep, signal: controller.signal })
    await expect(run).rejects.toThrow('enough')
    expect(readdirSync(directory)).toStrictEqual(['session-one.jsonl'])
  })
})

describe('deleting', () => {
  test('takes archived sessions too, but none with live checkpoints', async () => {
    const texts = {
      live: sessionWith('live', content('x'), checkpoint('c', 'n')),
      dead: sessionWith('dead', content('x'), checkpoint('c', 'n'), checkpointDeleted('c')),
    }
    const directory = aged({ live: 100, dead: 100, archived: 100, recent: 10 }, texts)
    await archiveSession(join(directory, 'session-archived.jsonl'))
    writeFileSync(join(directory, 'session-archived.jsonl.zst.snap'), 'any')
    for (const dryRun of [true, false]) {
      const report = await keepSessions(directory, { deleteAfter: '90d' }, { dryRun })
      expect([idsOf(report.deleted).sort(), idsOf(report.archived).sort(), reasonsOf(report)]).toStrictEqual([
        ['archived', 'dead'],
        ['live', 'recent'],
        { live: 'HasCheckpoints' },
      ])
    }
    expect(readdirSync(directory).sort()).toStrictEqual(['session-live.jsonl.zst', 'session-recent.jsonl.zst'])
    expect((await replaySession(join(directory, 'session-live.jsonl'))).ok).toBe(true)
  })
})

describe('what can not be read whole is left', () => {
  const policy: KeepPolicy = { archiveAfter: null, deleteAfter: '90d' }
  const expectLeft = async (directory: string) => {
    const before = readdirSync(directory)
    for (const dryRun of [true, false]) {
      const report = await keepSessions(directory, policy, { dryRun })
      expect([report.deleted, report.left]).toStrictEqual([
        [],
        [
          expect.objectContaining({
            reason: 'Unreadable',
            message: expect.stringMatching(/damaged|no records|no seek table/) as string,
          }),
        ],
      ])
    }
    const { left, deleted } = await keepSessions(directory, { archiveAfter: null, maxSessions: 0, deleteToFit: true })
    expect([deleted, left.map(({ reason }) => reason)]).toStrictEqual([[], ['Unreadable']])
    expect(readdirSync(directory)).toStrictEqual(before)
  }

  test.each(['with its end', 'without its end', 'cut off between two frames'])('a damaged archive, %s', async (end) => {
    const random = Array.from({ length: 150 }, () => content(randomBytes(45_000).toString('base64')))
    const directory = aged({ one: 100 }, { one: sessionWith('one', ...random, checkpoint('c', 'behind')) })
    const { filePath } = await archiveSession(join(directory, 'session-one.jsonl'))
    const bytes = readFileSync(filePath)
    const at =
      end === 'cut off between two frames' ? bytes.indexOf('28b52ffd', 4, 'hex') : Math.floor(bytes.length * 0.7)
    if (end === 'with its end') bytes.fill(7, at, at + 100)
    writeFileSync(filePath, end === 'with its end' ? bytes : bytes.subarray(0, at))
    age(filePath, 100)
    await expectLeft(directory)
    if (end === 'cut off between two frames') return
    const deletion = await deleteSession('one', directory, PROJECT_HASH)
    expect([deletion, readdirSync(directory)]).toStrictEqual([
      { ok: false, code: 'ReplayFailed', error: expect.stringMatching(/The archive is damaged after \d+ bytes$/) },
      ['session-one.jsonl.zst'],
    ])
  })

  const [start, item] = [
    sessionWith('one', content('x')),
    '{"v":1,"seq":8,"type":"content","payload":{"content":{"speaker":"ai","bl',
  ]
  const checkpointLine = sessionWith('one', checkpoint('c', 'n'))
    .split('\n')[1]!
    .replace(/"seq":\d+/, '"seq":9')

  test.each([
    [
      'in a line of its own before others',
      `${start}${item}${checkpointLine}\n${checkpointLine.replace('"seq":9', '"seq":10').replace(/"type":"[^"]*"/, '"type":"later"')}\n`,
    ],
    ['in the last line', `${start}${item}${checkpointLine}\n`],
    ['at the end of the file', `${start}${item}${checkpointLine}`],
  ])('a session whose checkpoint is fused to a fragment %s', async (_, session) => {
    await expectLeft(aged({ one: 100 }, { one: session }))
    const archived = aged({ one: 100 }, { one: session })
    await archiveSession(join(archived, 'session-one.jsonl'))
    await expectLeft(archived)
  })

  test('but not a session with a torn last line alone', async () => {
    for (const torn of [item, `${item}\n`, '{', item.slice(0, 40)]) {
      for (const wanted of [policy, { archiveAfter: null, maxBytes: 0, deleteToFit: true }]) {
        const directory = aged({ one: 100 }, { one: `${start}${torn}` })
        for (const dryRun of [true, false]) {
          const report = await keepSessions(directory, wanted, { dryRun })
          expect([idsOf(report.deleted), report.left]).toStrictEqual([['one'], []])
        }
      }
    }
  })
})

describe('limits', () => {
  test('of bytes archive the oldest until they fit', async () => {
    const directory = aged({ a: 5, b: 4, c: 3, d: 2 })
    const maxBytes = bytesIn(directory) - 30_000
    const report = await keepSessions(directory, { archiveAfter: null, maxBytes })
    expect([idsOf(report.archived), report.deleted, report.withinLimits, report.left]).toStrictEqual([
      ['a', 'b'],
      [],
      true,
      [],
    ])
    expect(report.bytesAfter).toBe(bytesIn(directory))
  })

  test('delete the oldest only with deleteToFit', async () => {
    const directory = aged({ a: 5, b: 4, c: 3, d: 0 })
    const policy = { archiveAfter: null, maxBytes: 100 }
    const kept = await keepSessions(directory, policy)
    expect([idsOf(kept.archived), kept.deleted, kept.withinLimits, reasonsOf(kept)]).toStrictEqual([
      ['a', 'b', 'c'],
      [],
      false,
      { d: 'Young' },
    ])
    const fitted = await keepSessions(directory, {
      ...policy,
      maxBytes: statSync(join(directory, 'session-d.jsonl')).size + 10,
      deleteToFit: true,
    })
    expect([idsOf(fitted.deleted), fitted.withinLimits, fitted.sessions]).toStrictEqual([['a', 'b', 'c'], true, 4])
  })

  test('count all directories together', async () => {
    const [one, other] = [aged({ a: 5, c: 3 }), aged({ b: 4, d: 2 })]
    const report = await keepSessions([one, other, one], { archiveAfter: null, maxSessions: 1, deleteToFit: true })
    expect([idsOf(report.deleted), report.sessions]).toStrictEqual([['a', 'b', 'c'], 4])
  })
})

test.skipIf(process.platform === 'win32')('a directory that is named twice counts once', async () => {
  const directory = aged({ a: 5, b: 4 })
  const link = join(directoryOf(), 'link')
  symlinkSync(directory, link)
  const report = await keepSessions([directory, link], { archiveAfter: null, maxSessions: 1, deleteToFit: true })
  expect([idsOf(report.deleted), report.sessions, report.left, report.bytesAfter]).toStrictEqual([
    ['a'],
    2,
    [],
    bytesIn(directory),
  ])
})

test('a dry run reports what a run does, and changes nothing', async () => {
  const directory = aged({ a: 100, b: 20, c: 10, d: 0 }, { a: sessionWith('a', content('x'), checkpoint('c', 'n')) })
  writeLock(directory, lockOf(DEAD_PID, { sessionId: 'gone' }), { id: 'gone' })
  const left = join(directory, '.session-tape-abcdef.archive')
  writeFileSync(left, 'x')
  age(left, 1)
  writeFileSync(join(directory, 'session-none.jsonl.snap'), 'session-tape snapshot 3, version')
  const names = readdirSync(directory).sort()
  const policy: KeepPolicy = { deleteAfter: '15d' }
  const dry = await keepSessions(directory, policy, { dryRun: true })
  expect(readdirSync(directory).sort()).toStrictEqual(names)
  const { archived, bytesAfter, ...rest } = await keepSessions(directory, policy)
  expect(dry).toMatchObject({ ...rest, archived: archived.map(({ bytesLeft, ...one }) => one) })
  expect(rest.removed).toStrictEqual({ locks: 1, snapshots: 1, temporaries: 1 })
  expect(rest.left.map(({ reason }) => reason)).toStrictEqual(['HasCheckpoints'])
  expect(bytesAfter).toBe(bytesIn(directory))
})

test('left-overs are named, and lock files of other programs stay', async () => {
  const directory = directoryOf()
  const others = {
    'composer.lock': '{"packages":[]}',
    'flake.lock': '{"version":7}',
    'deno.lock': '{"version":"4"}',
    'Pipfile.lock': '{"_meta":{}}',
  }
  for (const [name, content] of Object.entries(others)) writeFileSync(join(directory, name), content)
  const temporary = '.session-tape-abcdef.archive'
  writeFileSync(join(directory, temporary), 'x')
  writeFileSync(join(directory, 'session-none.jsonl.snap'), 'session-tape snapshot 3, version')
  for (const name of readdirSync(directory)) age(join(directory, name), 3)
  writeLock(directory, lockOf(DEAD_PID, { sessionId: 'gone' }), { id: 'gone' })
  writeFileSync(join(directory, 'gone.lock.tguard'), lockOf(DEAD_PID))
  const files = ['gone.lock', 'session-none.jsonl.snap', temporary, 'gone.lock.tguard'].map((name) =>
    join(directory, name),
  )
  for (const dryRun of [true, false]) {
    const { removed, removedFiles } = await keepSessions(directory, {}, { dryRun })
    expect([removed, removedFiles]).toStrictEqual([{ locks: 1, snapshots: 1, temporaries: 1 }, files])
  }
  expect(readdirSync(directory).sort()).toStrictEqual(Object.keys(others).sort())
  expect(await keepSessions(directory)).not.toHaveProperty('removedFiles')
})

test('two files with one id are dealt with one after the other', async () => {
  for (const [policy, what] of [
    [{}, 'archived'],
    [{ archiveAfter: null, deleteAfter: '9d' }, 'deleted'],
  ] as const) {
    const directory = aged(
      { one: 10, other: 11, third: 12 },
      Object.fromEntries(['one', 'other', 'third'].map((name) => [name, text('same', 200_000)])),
    )
    for (const dryRun of [true, false]) {
      const report = await keepSessions(directory, policy, { dryRun })
      expect([report[what].map(({ filePath }) => filePath.replace('.zst', '')), report.left]).toStrictEqual([
        ['third', 'other', 'one'].map((name) => join(directory, `session-${name}.jsonl`)),
        [],
      ])
    }
  }
})

test('what a recorder of this process may write to is in use, without a lock too', async () => {
  for (const policy of [{}, { archiveAfter: null, deleteAfter: '9d' }] as KeepPolicy[]) {
    const directory = aged({ one: 10 })
    const link = join(directoryOf(), 'link')
    symlinkSync(directory, link)
    const recorder = newRecorder({ sessionId: 'one', chatsDir: link })
    recorder.initializeForResume(join(link, 'session-one.jsonl'), 2)
    for (const dryRun of [true, false]) {
      expect(await keepSessions(directory, policy, { dryRun })).toMatchObject({
        archived: [],
        deleted: [],
        left: [{ reason: 'InUse' }],
      })
    }
    expect(readdirSync(directory)).toStrictEqual(['session-one.jsonl'])
    await recorder.dispose()
    expect((await keepSessions(directory, policy)).left).toStrictEqual([])
  }
})

test('and so is what a worker of this process records', async () => {
  const directory = aged({ one: 10 })
  const code = `
    const { parentPort, workerData } = require('node:worker_threads');
    const { SessionRecordingService } = require(workerData.library);
    const recorder = new SessionRecordingService({ sessionId: 'one', projectHash: 'h', chatsDir: workerData.directory, workspaceDirs: [], provider: 'p', model: 'm' });
    recorder.initializeForResume(workerData.path, 2);
    parentPort.on('message', async () => { await recorder.dispose(); parentPort.close(); });
    parentPort.postMessage('open');`
  const library = fileURLToPath(new URL('../../index.js', import.meta.url))
  const worker = new Worker(code, {
    eval: true,
    workerData: { library, directory, path: join(directory, 'session-one.jsonl') },
  })
  await once(worker, 'message')
  expect(await keepSessions(directory)).toMatchObject({ archived: [], left: [{ reason: 'InUse' }] })
  worker.postMessage('close')
  await once(worker, 'exit')
  expect(idsOf((await keepSessions(directory)).archived)).toStrictEqual(['one'])
})

test('what another process does meanwhile is counted', async () => {
  for (const [policy, left] of [
    [{ maxSessions: 2, deleteToFit: true, archiveAfter: null }, ['d', 'e']],
    [{ maxBytes: 50_000, archiveAfter: null }, ['a', 'b', 'c', 'd', 'e']],
  ] as const) {
    const directory = aged({ a: 12, b: 11, c: 10, d: 9, e: 8 })
    let started: Promise<KeepReport> | undefined
    // The other one begins when this one has listed the sessions.
    const keep = () => {
      started ??= keepSessions(directory, policy)
      return false
    }
    const report = await keepSessions(directory, policy, { keep: (session) => keep() || session.sessionId === 'none' })
    const other = await started!
    expect(idsOf((await listSessions(directory)).sessions).sort()).toStrictEqual(left)
    expect([report, other].map(({ bytesAfter, withinLimits }) => [bytesAfter, withinLimits])).toStrictEqual([
      [bytesIn(directory), true],
      [bytesIn(directory), true],
    ])
  }
})

test('two runs at once delete no more than one of them would', async () => {
  const ages = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`s${at}`, 20 + at]))
  const policy: KeepPolicy = { archiveAfter: null, maxSessions: 25, deleteToFit: true }
  for (let round = 0; round < 3; round++) {
    const directory = aged(ages)
    await Promise.all([keepSessions(directory, policy), keepSessions(directory, policy)])
    expect(readdirSync(directory).sort()).toStrictEqual(
      Array.from({ length: 25 }, (_, at) => `session-s${at}.jsonl`).sort(),
    )
  }
})

test('a session is not deleted beside an archive of its name that holds something else', async () => {
  const directory = aged({ a: 60 }, { a: sessionWith('other', content('x'), checkpoint('c', 'n')) })
  await archiveSession(join(directory, 'session-a.jsonl'))
  write(directory, 'a', 60)
  for (const dryRun of [true, false]) {
    const { left, deleted } = await keepSessions(directory, { archiveAfter: null, deleteAfter: '30d' }, { dryRun })
    expect([left.map(({ reason }) => reason), deleted]).toStrictEqual([['Unreadable'], []])
  }
  expect(await deleteSession('a', directory, PROJECT_HASH)).toMatchObject({
    ok: false,
    error: expect.stringContaining('is there too'),
  })
  expect(readdirSync(directory).sort()).toStrictEqual(['session-a.jsonl', 'session-a.jsonl.zst'])
})

test('a session whose companions can have no names, or are directories, is deleted', async () => {
  const directory = aged({ b: 60 })
  const long = join(directory, `session-${'x'.repeat(235)}.jsonl`)
  writeFileSync(long, text('c'))
  age(long, 60)
  mkdirSync(join(directory, 'session-b.jsonl.snap'))
  expect(await keepSessions(directory, { deleteAfter: '30d' })).toMatchObject({
    left: [],
    deleted: [{}, {}],
    bytesAfter: 0,
  })
  expect(readdirSync(directory)).toStrictEqual(['session-b.jsonl.snap'])
})

test('an abort ends the work between two sessions, and so does an error of onProgress', async () => {
  const directory = aged({ a: 12, b: 11, c: 10, d: 9, e: 8 })
  const controller = new AbortController()
  const reason = new Error('enough')
  const onProgress = () => void controller.abort(reason)
  await expect(keepSessions(directory, {}, { signal: controller.signal, onProgress })).rejects.toBe(reason)
  const { sessions } = await listSessions(directory)
  expect(sessions).toHaveLength(5)
  expect(sessions.filter(({ archived }) => archived).length).toBeLessThan(4)
  expect(readdirSync(directory).filter((name) => !/^session-.\.jsonl(\.zst)?$/.test(name))).toStrictEqual([])
  const failing = () => {
    throw reason
  }
  await expect(keepSessions(directory, {}, { onProgress: failing })).rejects.toBe(reason)
})

const policies = fc.record({
  archiveAfter: fc.constantFrom(null, '2d', '5d', 3 * DAY),
  deleteAfter: fc.constantFrom(null, '6d', '1w'),
  maxSessions: fc.constantFrom(undefined, 0, 2),
  maxBytes: fc.constantFrom(undefined, 0, 3000),
  deleteToFit: fc.boolean(),
  minAge: fc.constantFrom('1d', 0, '4d'),
})
const sessionsOf = fc.array(
  fc.record({
    days: fc.integer({ min: -1, max: 9 }),
    kind: fc.constantFrom('plain', 'archived', 'checkpoint', 'wanted'),
  }),
  { maxLength: 6 },
)

test.prop([policies, sessionsOf], { numRuns: 30 })(
  'whatever the policy, a session is whole or deleted, and the report says which',
  async (policy, all) => {
    const directory = directoryOf()
    const texts = new Map<string, string>()
    for (const [n, { days, kind }] of all.entries()) {
      const id = `${kind}${n}`
      texts.set(
        id,
        sessionWith(id, content('words '.repeat(300)), ...(kind === 'checkpoint' ? [checkpoint('c', 'n')] : [])),
      )
      const path = write(directory, id, days + n / 100, texts.get(id))
      if (kind === 'archived') await archiveSession(path)
    }
    const options = { keep: ({ sessionId }: { sessionId: string }) => sessionId.startsWith('wanted') }
    const dry = await keepSessions(directory, policy as KeepPolicy, { ...options, dryRun: true })
    const report = await keepSessions(directory, policy as KeepPolicy, options)
    if (policy.maxBytes === undefined)
      expect([idsOf(dry.archived), idsOf(dry.deleted), dry.left]).toStrictEqual([
        idsOf(report.archived),
        idsOf(report.deleted),
        report.left,
      ])
    const { sessions } = await listSessions(directory)
    expect(sessions.length + report.deleted.length).toBe(all.length)
    expect([report.sessions, report.bytesAfter]).toStrictEqual([all.length, bytesIn(directory)])
    expect(report.withinLimits).toBe(
      report.bytesAfter <= (policy.maxBytes ?? Infinity) && sessions.length <= (policy.maxSessions ?? Infinity),
    )
    const minAge = policy.minAge === 0 ? 0 : parseInt(policy.minAge as string, 10)
    for (const { sessionId } of [...report.deleted, ...report.archived]) {
      const n = parseInt(/\d+$/.exec(sessionId)![0], 10)
      expect(all[n]!.days).toBeGreaterThanOrEqual(minAge)
      expect(sessionId).not.toMatch(/^wanted/)
    }
    for (const { sessionId } of report.deleted) expect(sessionId).not.toMatch(/^checkpoint/)
    for (const { filePath, sessionId, archived } of sessions) {
      if (!archived) expect(readFileSync(filePath, 'utf8')).toBe(texts.get(sessionId))
      expect((await replaySession(filePath)).ok).toBe(true)
    }
  },
)
