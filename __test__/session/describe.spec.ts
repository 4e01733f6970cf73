// describeSessions: a listing with the results of a strict replay of each file, whatever the files contain.

import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { getEventListeners } from 'node:events'
import { afterEach, describe, expect, vi } from 'vitest'
import { fc, test } from '../support/property'
import { describeSessions, listContinueTargets, listSessions, replaySession } from '../../index.js'
import type { DescribeOptions, Progress, SessionOverview } from '../../index.js'
import {
  PROJECT_HASH,
  START_PAYLOAD,
  content,
  file,
  rewind,
  session,
  sessionEvent,
  sessionOf,
  start,
  writeSession,
} from '../support/session-file.js'
import type { Event } from '../support/session-file.js'
import {
  binding,
  checkpoint,
  checkpointDeleted,
  checkpointRenamed,
  named,
  orderByAge,
  projectOf,
  sessionWith,
  titled,
  watched,
} from '../support/project-files.js'
import { anyEvents, runs } from '../support/session-arbitraries.js'
import { anyFile } from '../support/line-arbitraries.js'
import { directoryOf, root } from '../support/file-directory.js'
import { eachCase } from '../support/each-case.js'
import { expectSame } from '../support/same-replay.js'

const MIB = 1 << 20

type Description = Awaited<ReturnType<typeof describeSessions>>

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** The expected result of `describeSessions`, by its definition: the listing and a strict replay of each file. */
async function expected(directory: string, { projectHash }: DescribeOptions = {}): Promise<Description> {
  const { sessions, unreadable } = await listSessions(directory, { projectHash })
  const described: Description = { sessions: [], unreadable }
  for (const summary of sessions) {
    const replayed = await replaySession(summary.filePath, projectHash, { strict: true })
    if (!replayed.ok) {
      unreadable.push({ filePath: summary.filePath, sessionId: summary.sessionId, reason: replayed.error })
      continue
    }
    const {
      metadata,
      lastSeq,
      sequenceCorrupt,
      eventCount,
      history,
      checkpoints,
      warnings,
      unknownEvents = {},
    } = replayed
    const overview: SessionOverview = {
      ...summary,
      metadata,
      lastSeq,
      sequenceCorrupt,
      eventCount,
      historyLength: history.length,
      checkpoints,
      warnings,
      unknownEvents,
    }
    if ('title' in metadata) overview.title = metadata.title
    if (replayed.sessionName !== undefined) overview.name = replayed.sessionName
    if (replayed.ancestry !== undefined) overview.ancestry = replayed.ancestry
    if ('semanticMediaPurgeFrontier' in replayed)
      overview.semanticMediaPurgeFrontier = replayed.semanticMediaPurgeFrontier
    described.sessions.push(overview)
  }
  return described
}

function expectSameDescription(found: Description, wanted: Description): void {
  const comparable = ({ sessions, unreadable }: Description) => ({
    sessions: sessions.map((one) => ({ ...one, lastModified: one.lastModified.getTime() })),
    unreadable,
  })
  expectSame(comparable(found), comparable(wanted), { keyOrder: false })
}

describe('a description', () => {
  test('has the summary, the title, the name, and what the replay reports, but no history', async () => {
    const fork = {
      parentSessionId: 'père',
      parentSequence: 4,
      checkpointId: 'c0',
      checkpointName: 'vorher',
      more: ['kept'],
    }
    const directory = directoryOf({
      'any name.jsonl': file(
        start({ cwd: '/home/ann' }),
        ['session_forked', fork],
        content('Grüße'),
        content('a', 'ai'),
        checkpoint('c1', 'één'),
        rewind(1),
        titled('Título'),
        named('naïve'),
        checkpoint('c2', 'two'),
        checkpointDeleted('c2'),
        checkpointRenamed('c1', 'eins'),
        checkpointDeleted('c9'),
        ['content', { content: { speaker: 'robot', blocks: [] } }],
        ['provider_switch', { provider: 'openai', model: 'gpt' }],
        ['directories_changed', { directories: ['/other'] }],
        sessionEvent('noted'),
        'torn {',
      ),
    })
    const filePath = join(directory, 'any name.jsonl')
    const { size, mtimeMs } = statSync(filePath)
    const { sessions, unreadable } = await describeSessions(directory)
    expect(unreadable).toStrictEqual([])
    expect(sessions).toStrictEqual([
      {
        ...START_PAYLOAD,
        cwd: '/home/ann',
        createdAt: START_PAYLOAD.startTime,
        filePath,
        fileSize: size,
        lastModified: new Date(mtimeMs),
        title: 'Título',
        name: 'naïve',
        ancestry: fork,
        metadata: {
          ...START_PAYLOAD,
          cwd: '/home/ann',
          provider: 'openai',
          model: 'gpt',
          workspaceDirs: ['/other'],
          title: 'Título',
          kind: 'main',
        },
        lastSeq: 16,
        sequenceCorrupt: false,
        eventCount: 16,
        historyLength: 1,
        unknownEvents: {},
        checkpoints: [
          { checkpointId: 'c1', name: 'eins', sequence: 5, deleted: false, createdAt: '2026-02-11T16:00:05.000Z' },
          { checkpointId: 'c2', name: 'two', sequence: 9, deleted: true, createdAt: '2026-02-11T16:00:09.000Z' },
        ],
        warnings: [
          'Line 13: malformed content event, skipping',
          'WARNING: >6.3% of session events are malformed (1/16)',
          'Sequence 12: checkpoint_deleted references unknown checkpoint c9',
        ],
      },
    ])
  })

  test('of a directory that does not exist, is a file or is impossible has an entry with the reason, as a listing does', () =>
    eachCase([join(root(), 'none'), writeSession(''), 'a\0b'], async (directory) => {
      const described = await describeSessions(directory, { projectHash: PROJECT_HASH })
      expect(described).toStrictEqual(await listSessions(directory))
      expect(described.unreadable).toStrictEqual([
        { filePath: directory, reason: expect.stringMatching(/^ENOENT|^ENOTDIR|null bytes/) as string },
      ])
    }))

  test('takes one call of the addon, for small files and large ones', async () => {
    const directory = directoryOf({
      'large.jsonl': sessionOf(Array.from({ length: 70_000 }, (_, i) => content(`${i} ${'é'.repeat(40)}`))),
      'a.jsonl': sessionWith('a'),
      'b.jsonl': session(content('b')),
    })
    expect(statSync(join(directory, 'large.jsonl')).size).toBeGreaterThan(8 * MIB)
    const wanted = await expected(directory)
    const [scan, open, start] = [watched('describeSessions'), watched('openReplay'), watched('startReplay')]
    expectSameDescription(await describeSessions(directory), wanted)
    expect([scan.mock.calls.length, open.mock.calls.length, start.mock.calls.length]).toStrictEqual([1, 0, 0])
    expect(readdirSync(directory)).toHaveLength(3)
  })

  test.each([
    ['a name', () => [named('n'.repeat(200_000) + 'é'.repeat(100_000))]],
    ['a title', () => [titled('t'.repeat(300_000))]],
    [
      'checkpoints',
      () => Array.from({ length: 4000 }, (_, i) => checkpoint(`c${i}`, `checkpoint ${i} ${'x'.repeat(50)}`)),
    ],
    [
      'its ancestry',
      (): Event[] => [
        [
          'session_forked',
          {
            parentSessionId: 's',
            parentSequence: 1,
            checkpointId: 'c',
            checkpointName: 'n',
            more: 'm'.repeat(300_000),
          },
        ],
      ],
    ],
  ])('scans a file on its own if there is much to report of it: %s', async (_, events: () => Event[]) => {
    const directory = directoryOf({
      'a.jsonl': sessionWith('a', titled('short')),
      'long.jsonl': sessionWith('long', content('x'), ...events()),
      'z.jsonl': sessionWith('z'),
    })
    const wanted = await expected(directory)
    const open = watched('openReplay')
    expectSameDescription(await describeSessions(directory), wanted)
    expect(open.mock.calls).toMatchObject([[{}, join(directory, 'long.jsonl'), { strict: true }, {}]])
    expect(wanted.sessions).toHaveLength(3)
  })

  test('works for ten thousand small sessions', async () => {
    const directory = directoryOf()
    const names = Array.from({ length: 10_000 }, (_, i) => `session-${String(i).padStart(5, '0')}.jsonl`)
    names.forEach((name, i) => {
      const more = i % 1000 === 0 ? [checkpoint(`c-${i}`, 'c')] : []
      writeFileSync(join(directory, name), sessionWith(`id-${i}`, content(`é ${i}`), named(`name ${i}`), ...more))
    })
    orderByAge(directory, names)
    const { sessions, unreadable } = await describeSessions(directory)
    expect([sessions.length, unreadable]).toStrictEqual([10_000, []])
    expect(sessions.every(({ name, historyLength }, i) => name === `name ${i}` && historyLength === 1)).toBe(true)
    const { targets, skipped } = await listContinueTargets(directory, PROJECT_HASH)
    expect([targets.length, skipped]).toStrictEqual([10_010, []])
    expect(targets[10_009]).toMatchObject({ checkpointId: 'c-9000', source: { sessionId: 'id-9000' } })
    rmSync(directory, { recursive: true })
  })
})

const sessionBytes = anyEvents.map((events) => Buffer.from(session(...events)))
const anySessionFile = fc.oneof(
  { weight: 2, arbitrary: anyFile.map((bytes) => Buffer.from(bytes)) },
  { weight: 1, arbitrary: sessionBytes },
)

describe('a description of any files', () => {
  test.prop([fc.array(anySessionFile, { minLength: 1, maxLength: 6 }), fc.boolean()], runs(80))(
    'equals the strict replay of each',
    async (files, ofProject) => {
      const directory = directoryOf(Object.fromEntries(files.map((bytes, i) => [`${i}.jsonl`, bytes])))
      const options = ofProject ? { projectHash: PROJECT_HASH } : {}
      const wanted = await expected(directory, options)
      expectSameDescription(await describeSessions(directory, options), wanted)
      rmSync(directory, { recursive: true })
    },
  )

  test.prop(
    [
      fc.array(fc.array(fc.constantFrom('é', 'x', '\u{1f39e}', '\n'), { minLength: 1, maxLength: 3 }), {
        minLength: 1,
        maxLength: 3,
      }),
      fc.nat({ max: 3 }),
    ],
    runs(6),
  )('equals the strict replay of files that several threads scan, too', async (letters, torn) => {
    const directory = directoryOf()
    letters.forEach((some, at) => {
      const text = some.join('').repeat(20_000)
      const lines = Array.from({ length: 180 }, (_, i) =>
        i % 50 === 49 ? checkpoint(`c${i}`, `${i}`) : content(`${i} ${text}`, i % 3 === 0 ? 'human' : 'ai'),
      )
      const bytes = Buffer.from(sessionOf([...lines, titled(`last ${at}`), 'no json', rewind(3)]))
      writeFileSync(join(directory, `${at}.jsonl`), bytes.subarray(0, bytes.length - torn))
    })
    writeFileSync(join(directory, 'small.jsonl'), session(content('small')))
    const wanted = await expected(directory)
    expectSameDescription(await describeSessions(directory), wanted)
    rmSync(directory, { recursive: true })
  })
})

describe('signal', () => {
  const controllerThat = (abort: (controller: AbortController) => void) => {
    const controller = new AbortController()
    abort(controller)
    return controller
  }
  const reason = new Error('genug')

  test.each([
    ['before', (controller: AbortController) => controller.abort(reason)],
    ['while the directory is listed', (controller: AbortController) => queueMicrotask(() => controller.abort(reason))],
  ])('aborted %s: rejects with the reason', async (_, abort) => {
    const directory = directoryOf({ 'session-a.jsonl': session() })
    for (const call of [
      describeSessions,
      (where: string, options: DescribeOptions) => listContinueTargets(where, PROJECT_HASH, options),
    ]) {
      const { signal } = controllerThat(abort)
      await expect(call(directory, { signal })).rejects.toBe(reason)
      expect(getEventListeners(signal, 'abort')).toStrictEqual([])
    }
  })

  test('aborted in any report of progress, the last one too: rejects with the reason', async () => {
    const directory = directoryOf(
      Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`${i}.jsonl`, session(titled('t'.repeat(30_000)))])),
    )
    for (const isDone of [false, true]) {
      const controller = new AbortController()
      const onProgress = ({ files }: Progress) => void (isDone === (files === 30) && controller.abort(reason))
      await expect(describeSessions(directory, { signal: controller.signal, onProgress })).rejects.toBe(reason)
      expect(getEventListeners(controller.signal, 'abort')).toStrictEqual([])
    }
  })

  test('aborted while a file is scanned alone: rejects with the reason', async () => {
    const directory = directoryOf({
      'long.jsonl': session(titled('t'.repeat(300_000))),
      'longer.jsonl': session(titled('t'.repeat(400_000))),
    })
    const controller = new AbortController()
    const open = binding['openReplay']!
    const progressed: Progress[] = []
    vi.spyOn(binding, 'openReplay').mockImplementation((...args) => {
      controller.abort(reason)
      return open(...args)
    })
    await expect(
      describeSessions(directory, { signal: controller.signal, onProgress: (progress) => progressed.push(progress) }),
    ).rejects.toBe(reason)
    expect(progressed.filter(({ files }) => files === 2)).toStrictEqual([])
  })
})

describe('onProgress', () => {
  const wide = () =>
    directoryOf(
      Object.fromEntries(
        Array.from({ length: 60 }, (_, i) => [`${i}.jsonl`, sessionWith(`${i}`, titled('é'.repeat(20_000)))]),
      ),
    )
  const sizeOf = (directory: string) =>
    readdirSync(directory).reduce((sum, name) => sum + statSync(join(directory, name)).size, 0)

  test('increases up to the total, which is reported once, at the end', async () => {
    const directory = wide()
    writeFileSync(join(directory, 'long.jsonl'), session(titled('t'.repeat(300_000))))
    const bytes = sizeOf(directory)
    const progressed: Progress[] = []
    let settled = false
    await describeSessions(directory, {
      onProgress: (progress) => void (expect(settled).toBe(false), progressed.push(progress)),
    }).then(() => (settled = true))
    expect(progressed.at(-1)).toStrictEqual({ bytes, total: bytes, files: 61 })
    expect(progressed.filter(({ files }) => files === 61)).toHaveLength(1)
    for (let i = 1; i < progressed.length; i++) expect(progressed[i]!.files).toBeGreaterThan(progressed[i - 1]!.files!)
    for (const progress of progressed) expect(progress).toMatchObject({ total: bytes })
  })

  test('is called once if there are no files', async () => {
    const onProgress = vi.fn()
    await describeSessions(directoryOf(), { onProgress })
    expect(onProgress.mock.calls).toStrictEqual([[{ bytes: 0, total: 0, files: 0 }]])
    await listContinueTargets(join(root(), 'none'), PROJECT_HASH, { onProgress })
    expect(onProgress).toHaveBeenCalledTimes(2)
  })

  test('is called at most ten times a second, by the clock of the library', async () => {
    const [require, dist] = [
      createRequire(import.meta.url),
      `${join(fileURLToPath(import.meta.url), '..', '..', '..', 'dist')}/`,
    ]
    const cached = Object.entries(require.cache)
    // The library takes its clock when it is loaded: this one advances by 30 ms with each reading.
    let [clock, looks] = [0, 0]
    const real = process.uptime
    for (const [path] of cached) if (path.startsWith(dist)) delete require.cache[path]
    process.uptime = () => (looks++, (clock += 30) / 1000)
    let scan: typeof describeSessions
    try {
      scan = (require('../../dist/session/describe.js') as { describeSessions: typeof describeSessions })
        .describeSessions
    } finally {
      process.uptime = real
      for (const [path, entry] of cached) if (path.startsWith(dist)) require.cache[path] = entry
    }
    const directory = wide()
    const times: number[] = []
    await scan(directory, { onProgress: () => void times.push(clock) })
    expect(looks).toBeGreaterThan(9)
    expect(times.length).toBeGreaterThan(2)
    for (let i = 1; i < times.length - 1; i++) expect(times[i]! - times[i - 1]!).toBe(120)
  })

  test.each([0, 1, 60])('rejects the call with the error that it throws after %i files', async (count) => {
    const directory = wide()
    const mistake = new Error('im Aufruf')
    const onProgress = ({ files }: Progress) => {
      if (files! >= count) throw mistake
    }
    await expect(describeSessions(directory, { onProgress })).rejects.toBe(mistake)
    await expect(
      listContinueTargets(join(root(), 'none'), PROJECT_HASH, {
        onProgress: () => {
          throw mistake
        },
      }),
    ).rejects.toBe(mistake)
  })
})

test('changes to the options during the call have no effect', async () => {
  const directory = directoryOf({ 'a.jsonl': sessionWith('a'), 'other.jsonl': file(start({ projectHash: 'other' })) })
  const onProgress = vi.fn()
  const options: Record<string, unknown> = { projectHash: PROJECT_HASH, onProgress }
  const describing = describeSessions(directory, options)
  Object.assign(options, { projectHash: 'other', onProgress: 7, signal: 7 })
  expect((await describing).sessions.map(({ sessionId }) => sessionId)).toStrictEqual(['a'])
  expect([onProgress.mock.calls.length, readdirSync(directory).length]).toStrictEqual([1, 2])
})

describe('worker threads', () => {
  const inWorker = (workerData: unknown) =>
    new Worker(fileURLToPath(new URL('../support/child-worker.mjs', import.meta.url)), { workerData })

  test('describe as the main thread does, several at once', async () => {
    const directory = projectOf({
      'session-a.jsonl': sessionWith('a', named('ä'), content('x')),
      'session-b.jsonl': 'nothing',
    })
    const wanted = await describeSessions(directory)
    const found = await Promise.all(
      [1, 2, 3].map(
        () =>
          new Promise(
            (resolve, reject) =>
              void inWorker({ job: 'describe', chatsDir: directory }).once('message', resolve).once('error', reject),
          ),
      ),
    )
    expect(found).toStrictEqual([wanted, wanted, wanted])
  })

  test('that end in the middle of a scan leave the process usable', async () => {
    const directory = directoryOf(
      Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`${i}.jsonl`, session(titled('t'.repeat(50_000)))])),
    )
    for (let round = 0; round < 5; round++) {
      const worker = inWorker({ job: 'describeAndWait', chatsDir: directory })
      await new Promise((resolve, reject) => void worker.once('message', resolve).once('error', reject))
      await worker.terminate()
    }
    expect((await describeSessions(directory)).sessions).toHaveLength(100)
  })
})
