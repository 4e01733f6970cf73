/** Forks: a new session with another one's history up to a checkpoint (section 8 of docs/session-format.md). */
import { chmodSync, readdirSync, readFileSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, vi } from 'vitest'
import {
  acquireSessionLock,
  cleanUpLocks,
  describeSessions,
  forkSession,
  isSessionLocked,
  listSessions,
  sessionLockPath,
  SessionRecordingService,
} from '../../index.js'
import { eachCase } from '../support/each-case'
import { directoryOf } from '../support/file-directory'
import { childReport, mountNamespace, runChild, unprivileged } from '../support/processes'
import { test } from '../support/property'
import { newRecorder, recorderConfig } from '../support/recording'
import { resumedAndEnded } from '../support/resuming'
import {
  content,
  envelope,
  item,
  PROJECT_HASH,
  rewind,
  session,
  start,
  textsOf,
  type Event,
} from '../support/session-file'
import {
  beside,
  created,
  deleted,
  expectFailure,
  forked,
  renamed,
  simpleSource,
  SOURCE_ID,
  sourceAt,
  sourceOf,
  strictReplay,
  type Source,
} from '../support/session-fork'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const linesOf = (path: string): string[] => readFileSync(path, 'utf8').replace(/\n$/, '').split('\n')
const recordsOf = (path: string): any[] => linesOf(path).map((line) => JSON.parse(line) as unknown)

/** The source, open in this process with a recorder that owns its lock. */
async function openSource(
  ...texts: string[]
): Promise<{ recorder: SessionRecordingService; source: Source; checkpointId: string }> {
  const recorder = await SessionRecordingService.createLocked(
    recorderConfig({ sessionId: SOURCE_ID, projectHash: PROJECT_HASH, chatsDir: directoryOf() }),
  )
  for (const text of texts) recorder.recordContent(item('human', text))
  const { checkpointId } = await recorder.createCheckpoint('hiér')
  return { recorder, source: sourceAt(recorder.getChatsDir(), basename(recorder.getFilePath()!)), checkpointId }
}

describe('the new session', () => {
  test('has the history up to the checkpoint, in a file of its own', async () => {
    const source = simpleSource()
    const before = Date.now()
    const result = await forked(source.target(), source.options())
    const path = result.recording.getFilePath()!
    const [first, second, ...items] = recordsOf(path)
    expect(first).toEqual({
      v: 1,
      seq: 1,
      ts: first.payload.startTime,
      type: 'session_start',
      payload: {
        sessionId: expect.stringMatching(UUID),
        projectHash: PROJECT_HASH,
        workspaceDirs: ['/wörk', '/\ud800'],
        provider: 'acme',
        model: 'acme-lärge',
        startTime: expect.any(String),
      },
    })
    expect(Date.parse(first.payload.startTime)).toBeGreaterThanOrEqual(before)
    expect(second).toEqual({
      v: 1,
      seq: 2,
      ts: first.ts,
      type: 'session_forked',
      payload: { parentSessionId: SOURCE_ID, parentSequence: 4, checkpointId: 'c1', checkpointName: 'name of c1' },
    })
    expect(items).toEqual(
      [item('human', 'one'), item('ai', 'zwölf')].map((one, at) => ({
        v: 1,
        seq: at + 3,
        ts: first.ts,
        type: 'content',
        payload: { content: one },
      })),
    )
    expect(linesOf(path)).toEqual(recordsOf(path).map((record) => JSON.stringify(record)))
    expect(readFileSync(source.filePath)).toEqual(source.bytes)
  })

  test('is returned with the result of a strict replay of its file, a recorder and its lock', async () => {
    const source = simpleSource()
    const result = await forked(source.target(), source.options())
    const { recording, lockHandle, history, metadata } = result
    const { sessionId } = metadata
    const replayed = await strictReplay(recording.getFilePath()!)
    expect(Object.keys(result).sort()).toEqual(['history', 'lockHandle', 'metadata', 'ok', 'recording'])
    expect([history, metadata]).toEqual([replayed.history, replayed.metadata])
    expect(replayed).toMatchObject({
      lastSeq: 4,
      warnings: [],
      sequenceCorrupt: false,
      ancestry: { parentSessionId: SOURCE_ID, parentSequence: 4 },
    })
    expect([recording.getSessionId(), recording.isActive(), recording.ownsLockFor(sessionId)]).toEqual([
      sessionId,
      true,
      true,
    ])
    expect(recording.getOwnedLockHandle()).toBe(lockHandle)
    expect([await lockHandle.ownsLock(), lockHandle.lockPath]).toEqual([
      true,
      sessionLockPath(source.chatsDir, sessionId),
    ])
    expect(await isSessionLocked(source.chatsDir, SOURCE_ID)).toBe(false)
    expect(beside(source)).toEqual([basename(recording.getFilePath()!), `${sessionId}.lock`].sort())
  })

  test('has neither title, name, checkpoints nor cwd of the source, but the `cwd` of the options', async () => {
    const presented: Event[] = [
      ['session_metadata', { title: 'tïtle' }],
      ['session_named', { name: 'näme' }],
    ]
    const lines = [start({ cwd: '/of/the/source' }), content('one'), ...presented, created('c1')]
    const source = sourceOf(lines.map((event, at) => `${envelope(at + 1, event)}\n`).join(''))
    const plain = await forked(source.target(), source.options())
    expect([Object.keys(plain.metadata), plain.recording.getSessionMetadataTitle()]).toEqual([
      ['sessionId', 'projectHash', 'provider', 'model', 'workspaceDirs', 'startTime', 'kind'],
      undefined,
    ])
    const placed = await forked(source.target(), source.options({ recorder: { cwd: '/hîre' } }))
    expect(placed.metadata).toMatchObject({ cwd: '/hîre' })
    const replayed = await strictReplay(placed.recording.getFilePath()!)
    expect([replayed.metadata.cwd, replayed.checkpoints, replayed.sessionName]).toEqual(['/hîre', [], undefined])
    const { sessions } = await listSessions(source.chatsDir)
    const summary = sessions.find(({ sessionId }) => sessionId === placed.metadata.sessionId)
    expect(summary).toMatchObject({ createdAt: placed.metadata.startTime, cwd: '/hîre' })
  })

  test('has the same bytes for its items as the source', async () => {
    const items = [
      '{"speaker":"ai","blocks":[],"lone":"\\ud83d","raw":"\u2028 \u{1f600} ü","escaped":"\\u00fc\\u2028"}',
      '{ "blocks" : [ {"type":"text","text":"\\u0041"} ] ,\t"speaker":"human", "n":[1e400,-0,9007199254740993,1.0] }',
      '{"speaker":"tool","blocks":[],"__proto__":{"a":1},"constructor":"own","":"","10":1,"2":2}',
      '{"speaker":"ai","blocks":["double","keys"],"speaker":"human","blocks":[]}',
    ]
    const summary = '{"blocks":[],  "speaker":"ai","é":"\\udfff"}'
    const line = (seq: number, type: string, payload: string): string =>
      `{"v":1,"seq":${seq},"ts":"t","type":"${type}","payload":${payload}}\n`
    const text = [
      `${envelope(1, start())}\n`,
      line(2, 'compressed', `{"itemsCompressed":0,"summary":${summary}}`),
      ...items.map((one, at) => line(at + 3, 'content', `{"more":1,"content": ${one} }`)),
      line(9, 'checkpoint_created', '{"checkpointId":"c1","name":"n"}'),
    ].join('')
    const source = sourceOf(text)
    const { recording, history } = await forked(source.target(), source.options())
    const written = linesOf(recording.getFilePath()!).slice(2)
    // Except for the characters that the recorder escapes in all records, since other tools split lines there.
    const expected = [summary, ...items].map((one) => one.replaceAll('\u2028', '\\u2028'))
    expect(written.map((one) => one.slice(one.indexOf('"content":{', one.indexOf('"payload"')) + 10, -2))).toEqual(
      expected,
    )
    expect(history).toEqual((await strictReplay(source.filePath)).history)
    expect(JSON.stringify(history)).toBe(JSON.stringify([summary, ...items].map((one) => JSON.parse(one) as unknown)))
  })

  test('uses the options for its recorder', async () => {
    const source = simpleSource()
    const warnings: unknown[] = []
    const { recording } = await forked(
      source.target(),
      source.options({
        recorder: { fileName: 'seconds', exclusive: true, durability: 'fsync', onWarning: (one) => warnings.push(one) },
      }),
    )
    const path = recording.getFilePath()!
    expect(basename(path)).toMatch(/^session-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-[0-9a-f]{8}-[0-9a-f]{3}\.jsonl$/)
    const second = newRecorder({ chatsDir: source.chatsDir, exclusive: true, onWarning: (one) => warnings.push(one) })
    second.initializeForResume(path, 9)
    await second.dispose()
    expect(warnings).toMatchObject([{ code: 'ESESSIONLOCKED' }])
  })

  test('is not affected by changes to the arguments during the call', async () => {
    const source = simpleSource()
    const [target, options] = [
      source.target(),
      source.options({ workspaceDirs: ['/w'], recorder: { fileName: 'seconds', cwd: '/c' } }),
    ]
    const forking = forked(target, options)
    target.checkpointId = target.source.filePath = options.provider = options.chatsDir = 'ánother'
    options.workspaceDirs.push('/more')
    options.recorder!.cwd = '/elsewhere'
    const { metadata, recording } = await forking
    expect(metadata).toMatchObject({ provider: 'acme', workspaceDirs: ['/w'], cwd: '/c' })
    expect(dirname(recording.getFilePath()!)).toBe(source.chatsDir)
  })

  test('continues with its own sequence numbers, and can be resumed', async () => {
    const source = simpleSource()
    const {
      recording,
      metadata: { sessionId },
    } = await forked(source.target(), source.options())
    recording.recordContent(item('human', 'néw'))
    await recording.dispose()
    const { chatsDir } = source
    const { history, warnings, recording: next } = await resumedAndEnded(chatsDir, sessionId)
    expect([textsOf(history), warnings]).toEqual([['one', 'zwölf', 'néw'], []])
    const seqs = recordsOf(next.getFilePath()!).map(({ seq }) => seq as number)
    expect(seqs).toEqual(seqs.map((_, at) => at + 1))
  })
})

describe('names', () => {
  const cases = [
    ['minutes', /^session-2026-11-22T09-08-((?:\d+-)?)0f8fad5b\.jsonl$/],
    ['seconds', /^session-2026-11-22T09-08-07-((?:\d+-)?)0f8fad5b-d9c\.jsonl$/],
  ] as const

  test.each(cases)('that are taken get a number before the id, with %s', async (fileName, form) => {
    const source = simpleSource()
    const detail = { prefix: '0f8fad5b-d9cb-469f-a165', now: Date.UTC(2026, 10, 22, 9, 8, 7), count: 3 }
    const options = source.options({ recorder: { fileName } })
    const paths = await childReport<string[]>('child-fork.mjs', [
      'sameNames',
      ...[source.target(), options, detail].map((one) => JSON.stringify(one)),
    ])
    expect(paths.map((path) => form.exec(basename(path))?.[1])).toEqual(['', '2-', '3-'])
    for (const path of paths) expect(textsOf((await strictReplay(path)).history)).toEqual(['one', 'zwölf'])
  })
})

describe('a source that is open in this process', () => {
  test('is flushed and keeps its lock', async () => {
    const { recorder, source, checkpointId } = await openSource('one', 'two')
    recorder.recordContent(item('human', 'not in the fork'))
    const { flush } = recorder
    // Records that the flush writes are part of the source.
    recorder.flush = async () => {
      await new Promise((resolve) => setTimeout(resolve, 30))
      recorder.enqueue('checkpoint_renamed', { checkpointId, name: 'déjà' })
      await flush()
    }
    const { history, recording } = await forked(source.target(checkpointId), source.options({ source: recorder }))
    expect(textsOf(history)).toEqual(['one', 'two'])
    expect((await strictReplay(recording.getFilePath()!)).ancestry?.checkpointName).toBe('déjà')
    recorder.flush = flush
    expect([recorder.isActive(), await recorder.getOwnedLockHandle()!.ownsLock()]).toEqual([true, true])
    recorder.enqueue('checkpoint_deleted', { checkpointId })
    expect(await forkSession(source.target(checkpointId, 'x'), source.options({ source: recorder }))).toMatchObject({
      ok: false,
      code: 'CheckpointGone',
    })
    await recorder.dispose()
    expect(textsOf((await strictReplay(source.filePath)).history)).toEqual(['one', 'two', 'not in the fork'])
  })

  test('counts as in use without its recorder, or with one that does not own its lock', async () => {
    const { recorder, source, checkpointId } = await openSource('one')
    const { chatsDir } = source
    const [unlocked, other] = [
      newRecorder({ sessionId: SOURCE_ID, chatsDir }),
      await SessionRecordingService.createLocked(recorderConfig({ sessionId: 'other', chatsDir })),
    ]
    const kept = [`${SOURCE_ID}.lock`, 'other.lock']
    await eachCase([undefined, null, unlocked, other], (given) =>
      expectFailure(
        source,
        source.options({ source: given }),
        { error: 'Source session is in use: Session is in use by another process', code: 'Locked' },
        source.target(checkpointId),
        kept,
      ),
    )
    expect(await recorder.getOwnedLockHandle()!.ownsLock()).toBe(true)
    await Promise.all([recorder.dispose(), unlocked.dispose(), other.dispose()])
  })

  test('that cannot be flushed is not forked', async () => {
    const { recorder, source, checkpointId } = await openSource('one')
    vi.spyOn(recorder, 'flush').mockRejectedValueOnce(new Error('EIO: über'))
    await expectFailure(
      source,
      source.options({ source: recorder }),
      { error: 'Failed to replay source session: EIO: über', code: 'ReplayFailed' },
      source.target(checkpointId),
      [`${SOURCE_ID}.lock`],
    )
    await recorder.dispose()
  })

  test('can be forked several times at once, independently', async () => {
    const { recorder, source, checkpointId } = await openSource('one')
    const all = await Promise.all(
      [1, 2, 3, 4].map(() => forked(source.target(checkpointId), source.options({ source: recorder }))),
    )
    all.forEach(({ recording }, at) => recording.recordContent(item('human', `sibling ${at}`)))
    await Promise.all(all.map(({ recording }) => recording.flush()))
    for (const [at, { recording }] of all.entries())
      expect(textsOf((await strictReplay(recording.getFilePath()!)).history)).toEqual(['one', `sibling ${at}`])
    expect(new Set(all.map(({ metadata }) => metadata.sessionId)).size).toBe(4)
    await recorder.dispose()
  })
})

describe('a source with a line of a later version', () => {
  const through = (...lines: (Event | string)[]): Source =>
    sourceOf(session(content('one'), content('zwölf', 'ai'), created('c1'), content('three'), ...lines))

  test('behind the checkpoint can be forked, mapped or not, with the name that the checkpoint has before that line', async () => {
    for (const line of ['{"v":3,"seq":7,"type":"content"}', '{"seq":7}', '{"v":3}']) {
      const source = through(renamed('c1', 'renamed'), line, renamed('c1', 'unread'), deleted('c1'))
      const plain = await forked(source.target(), source.options())
      expect(textsOf(plain.history), line).toEqual(['one', 'zwölf'])
      expect(recordsOf(plain.recording.getFilePath()!)[1].payload).toMatchObject({
        checkpointName: 'renamed',
        parentSequence: 4,
      })
      const mapped = await forked(
        source.target(),
        source.options({ map: (one) => ({ ...one, metadata: { mapped: true } }) }),
      )
      expect([textsOf(mapped.history), mapped.history.map(({ metadata }) => metadata)], line).toEqual([
        ['one', 'zwölf'],
        [{ mapped: true }, { mapped: true }],
      ])
      expect(readFileSync(source.filePath)).toEqual(source.bytes)
    }
  })

  test('before the checkpoint cannot be forked', async () => {
    const error = {
      error: 'Failed to replay source session: Unsupported recording version 3 at line 6',
      code: 'ReplayFailed',
    } as const
    for (const map of [undefined, <T>(one: T): T => one]) {
      const source = through('{"v":3,"seq":6}', created('c2'))
      await expectFailure(source, source.options({ map }), error, source.target('c2'))
    }
  })
})

describe('a failure leaves neither file nor lock', () => {
  test('if the source is locked, or cannot be locked', async () => {
    const source = simpleSource()
    const lock = await acquireSessionLock(source.chatsDir, SOURCE_ID)
    await expectFailure(
      source,
      source.options(),
      { error: 'Source session is in use: Session is in use by another process', code: 'Locked' },
      source.target(),
      [`${SOURCE_ID}.lock`],
    )
    await lock.release()
    const unsafe = { ...source.target(), source: { sessionId: '../ü', filePath: source.filePath } }
    await expectFailure(
      source,
      source.options(),
      { error: 'Source session is in use: Unsafe session ID rejected: "../ü"', code: 'LockFailed' },
      unsafe,
    )
    const refused = {
      code: expect.stringMatching(/^(ENOTDIR|ENOENT)$/),
      path: expect.stringContaining(source.filePath),
    }
    await expect(forkSession(source.target(), source.options({ chatsDir: source.filePath }))).rejects.toMatchObject(
      refused,
    )
    expect(beside(source)).toEqual([])
  })

  test.skipIf(unprivileged === null)(
    'if the user may not write to the directory: it rejects with the error of the system',
    async () => {
      const source = simpleSource()
      chmodSync(source.chatsDir, 0o555)
      const target = source.target()
      for (const isOpen of [false, true]) {
        const result = await childReport(
          'child-listing.mjs',
          [
            isOpen ? 'forkOpen' : 'fork',
            source.chatsDir,
            source.options().projectHash,
            target.source.sessionId,
            source.filePath,
            target.checkpointId,
          ],
          unprivileged ?? {},
        )
        expect(result, `open: ${isOpen}`).toMatchObject({
          rejected: 'EACCES',
          message: expect.stringMatching(/^EACCES: permission denied, open '/),
          path: expect.stringContaining(`${source.chatsDir}/`),
        })
      }
      chmodSync(source.chatsDir, 0o755)
      expect(beside(source)).toEqual([])
    },
  )

  test('if the source does not replay', async () => {
    await eachCase<[text: string, error: string, code?: 'ReplayFailed' | 'SequenceCorrupt']>(
      [
        ['', 'Empty file'],
        ['nothing\n', 'Missing or corrupt session_start event'],
        [
          `${envelope(1, start({ provider: 0 }))}\n${envelope(2, content('one'))}\n${envelope(3, created('c1'))}\n`,
          'Invalid session_start: missing or malformed required fields',
        ],
        [
          `${envelope(1, start({ projectHash: 'über' }))}\n`,
          `Project hash mismatch: expected ${PROJECT_HASH} got über`,
        ],
        [
          `${session(content('one'), created('c1'))}${envelope(3, content('again three'))}\n`,
          'recording has non-monotonic sequences',
          'SequenceCorrupt',
        ],
      ],
      async ([text, error, code = 'ReplayFailed']) => {
        const source = sourceOf(text)
        await expectFailure(source, source.options(), { error: `Failed to replay source session: ${error}`, code })
      },
    )
    const source = simpleSource()
    rmSync(source.filePath)
    await expectFailure(source, source.options(), {
      error: `Failed to replay source session: Failed to read file: ENOENT: no such file or directory, open '${source.filePath}'`,
      code: 'ReplayFailed',
    })
  })

  test('if the checkpoint is not live: deleted, unknown, or malformed', async () => {
    const source = sourceOf(
      session(
        content('one'),
        created('c1', 'in the file'),
        created('c3', ' '),
        content('two'),
        deleted('c1'),
        created('c1'),
      ),
    )
    for (const id of ['c1', 'c2', 'c3', 'C1', 'c1 ']) {
      await expectFailure(
        source,
        source.options(),
        { error: `Checkpoint 'as lïsted' (${id}) is not live`, code: 'CheckpointGone' },
        source.target(id, 'as lïsted'),
      )
    }
  })

  test('if the history at the checkpoint is empty', async () => {
    const source = sourceOf(
      session(created('c1'), content('one'), created('c2'), rewind(1), created('c3'), content('two')),
    )
    for (const id of ['c1', 'c3'])
      await expectFailure(
        source,
        source.options(),
        { error: 'Checkpoint has no conversation history', code: 'NothingToFork' },
        source.target(id),
      )
    expect(textsOf((await forked(source.target('c2'), source.options())).history)).toEqual(['one'])
  })

  test('if nothing can be created in the directory', async () => {
    const { recorder, source, checkpointId } = await openSource('one')
    const chatsDir = join(directoryOf({ fïle: '' }), 'fïle')
    const refused = {
      code: expect.stringMatching(/^(ENOTDIR|ENOENT|EEXIST)$/),
      path: expect.stringContaining(chatsDir),
    }
    await expect(
      forkSession(source.target(checkpointId), source.options({ chatsDir, source: recorder })),
    ).rejects.toMatchObject(refused)
    expect([readFileSync(chatsDir, 'utf8'), beside(source)]).toEqual(['', [`${SOURCE_ID}.lock`]])
    await recorder.dispose()
  })

  test.skipIf(mountNamespace === null)('if the disk is full; once it has room, a fork succeeds', async () => {
    const source = sourceOf(
      session(...Array.from({ length: 30 }, (_, at) => content(`${at} ${'ü'.repeat(4000)}`)), created('c1')),
    )
    const args = [source.target(), source.options(), { free: 1 << 16 }]
    interface Report {
      full: unknown
      before: string[]
      after: string[]
      again: boolean
      unhandled: string[]
    }
    const report = await childReport<Report>(
      'child-fork.mjs',
      ['fullDisk', ...args.map((one) => JSON.stringify(one))],
      { wrapper: mountNamespace!, stdin: source.bytes.toString() },
    )
    expect(report.full).toEqual({
      ok: false,
      error: expect.stringMatching(
        /^Failed to create child session: ENOSPC: no space left on device, write '.*\.jsonl'$/,
      ),
      code: 'System',
    })
    expect(report.after).toEqual(report.before)
    expect([report.again, report.unhandled]).toEqual([true, []])
  })

  test.each([
    ['removed', unlinkSync, false],
    ['replaced by another program', (path: string) => writeFileSync(path, '{"pid":1}'), true],
  ] as const)('if the lock of the new session is %s', async (_, meddle, isLeft) => {
    const source = simpleSource()
    let isDone = false
    const settled = forkSession(source.target(), source.options()).finally(() => (isDone = true))
    const meddled: string[] = []
    // In every turn of the event loop until the fork has ended, once with each lock.
    while (!isDone) {
      for (const name of readdirSync(source.chatsDir).filter(
        (one) => one.endsWith('.lock') && !one.startsWith(SOURCE_ID) && !meddled.includes(one),
      )) {
        meddle(join(source.chatsDir, name))
        meddled.push(name)
      }
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(await settled).toEqual({ ok: false, error: 'Failed to retain child session lock', code: 'LockFailed' })
    expect(meddled).toHaveLength(1)
    // A lock of another program stays.
    expect(beside(source)).toEqual(isLeft ? meddled : [])
  })
})

test('a source that has grown is forked from checkpoints anywhere in it, by the name that they have at its end', async () => {
  const source = sourceOf(
    session(
      content('one'),
      created('c1'),
      content('two'),
      content('three'),
      created('c2'),
      rewind(2),
      renamed('c1', 'nëw'),
      content('four'),
    ),
  )
  const first = await forked(source.target('c1'), source.options())
  expect(textsOf(first.history)).toEqual(['one'])
  expect((await strictReplay(first.recording.getFilePath()!)).ancestry?.checkpointName).toBe('nëw')
  later(source, 10, content('five'), created('c3'))
  for (const [id, texts] of [
    ['c1', ['one']],
    ['c2', ['one', 'two', 'three']],
    ['c3', ['one', 'four', 'five']],
  ] as const) {
    expect([id, textsOf((await forked(source.target(id), source.options())).history)]).toEqual([id, texts])
  }
  later(source, 12, deleted('c2'))
  expect(await forkSession(source.target('c2'), source.options())).toMatchObject({ code: 'CheckpointGone' })
})

function later(source: Source, from: number, ...events: Event[]): void {
  writeFileSync(source.filePath, events.map((event, at) => `${envelope(from + at, event)}\n`).join(''), { flag: 'a' })
  source.bytes = readFileSync(source.filePath)
}

test('a process that is killed at each step leaves a whole child or none, and no live lock', async () => {
  const ends: (string | null)[] = []
  const children: number[] = []
  for (let step = 0; ends.at(-1) !== 'done'; step++) {
    const source = simpleSource()
    const { stdout, signal } = await runChild('child-fork.mjs', [
      'killed',
      ...[source.target(), source.options(), { step }].map((one) => JSON.stringify(one)),
    ])
    ends.push(stdout.trim() === 'true' ? 'done' : signal)
    expect(readFileSync(source.filePath)).toEqual(source.bytes)
    const { sessions, unreadable } = await describeSessions(source.chatsDir)
    expect(unreadable).toEqual([])
    children.push(sessions.length - 1)
    for (const { sessionId, filePath, historyLength, warnings } of sessions) {
      if (sessionId !== SOURCE_ID)
        expect([historyLength, warnings, textsOf((await strictReplay(filePath)).history)]).toEqual([
          2,
          [],
          ['one', 'zwölf'],
        ])
      const lock = await acquireSessionLock(source.chatsDir, sessionId)
      await lock.release()
    }
    await cleanUpLocks(source.chatsDir)
    expect(readdirSync(source.chatsDir).filter((name) => name.endsWith('.lock'))).toEqual([])
  }
  expect(new Set(ends.slice(0, -1))).toEqual(new Set(['SIGKILL']))
  // Both outcomes occur: none up to some step, a whole child after it.
  expect(children).toEqual([...children].sort())
  expect(new Set(children)).toEqual(new Set([0, 1]))
})
