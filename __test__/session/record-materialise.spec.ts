/** Rule 3: when the file of a session is created, what it is called, and what happens if it can't be created. */
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
  chmodSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fc, test } from '../support/property'
import { afterEach, beforeEach, describe, expect, vi } from 'vitest'
import {
  type Recorder,
  eventually,
  freshDirectory,
  newRecorder,
  pathOf,
  recordsOf,
  replaySession,
  said,
  SESSION_FILE_ID_PREFIX_LENGTH,
  watchedRecorder,
  type RecorderConfig,
  type Warning,
  recordedSession,
  recorderConfig,
  startedRecorder,
} from '../support/recording'
import { forkSession } from '../../index.js'
import { freshPath, logOf } from '../support/run-directory'
import { newRecorder as newRunRecorder, noted } from '../support/run-recording'

describe('before the first content', () => {
  test.prop(
    [
      fc.array(fc.constantFrom('provider_switch', 'session_event', 'directories_changed', 'rewind', 'note'), {
        maxLength: 12,
      }),
    ],
    { numRuns: 40 },
  )('nothing is on the disk, whatever was recorded or flushed, even after dispose', async (types) => {
    const chatsDir = join(freshDirectory(), 'a', 'chats')
    const recorder = newRecorder({ chatsDir })
    for (const type of types) recorder.enqueue(type, { n: 1 })
    expect(recorder.getFilePath()).toBeNull()
    await recorder.flush()
    expect(existsSync(dirname(chatsDir))).toBe(false)
    await recorder.dispose()
    expect(recorder.getFilePath()).toBeNull()
    expect(existsSync(dirname(chatsDir))).toBe(false)
  })

  test('a content, a title and a name create the file, through whichever method they are recorded', async () => {
    const ways: [type: string, record: (recorder: Recorder) => unknown][] = [
      ['content', (recorder) => recorder.recordContent(said('x'))],
      ['content', (recorder) => recorder.enqueue('content', {})],
      ['session_metadata', (recorder) => recorder.recordSessionMetadata(null)],
      ['session_metadata', (recorder) => recorder.enqueue('session_metadata', {})],
      ['session_named', (recorder) => recorder.setSessionName('name')],
      ['session_named', (recorder) => recorder.enqueue('session_named', { name: null })],
    ]
    for (const [type, record] of ways) {
      const recorder = newRecorder()
      recorder.recordRewind(1)
      await record(recorder)
      expect(existsSync(pathOf(recorder))).toBe(true)
      await recorder.dispose()
      expect(recordsOf(pathOf(recorder)).map((line) => line.type)).toEqual(['session_start', 'rewind', type])
    }
  })

  test('no other event creates the file', async () => {
    const recorder = newRecorder()
    recorder.recordCompressed(said('sum', 'ai'), 3)
    recorder.recordSessionFork({ parentSessionId: 'p', parentSequence: 3, checkpointId: 'c', checkpointName: 'before' })
    recorder.enqueue('checkpoint_created', { checkpointId: 'c', name: 'n' })
    recorder.enqueue('"content"', {})
    expect(recorder.getFilePath()).toBeNull()
    recorder.recordContent(said('now'))
    await recorder.dispose()
    expect(recordsOf(pathOf(recorder)).map((record) => record.type)).toEqual([
      'session_start',
      'compressed',
      'session_forked',
      'checkpoint_created',
      '"content"',
      'content',
    ])
  })
})

describe('the file', () => {
  const AT = Date.UTC(2026, 1, 3, 4, 5, 59, 999)
  beforeEach(() => void vi.useFakeTimers({ now: AT, toFake: ['Date'] }))
  afterEach(() => void vi.useRealTimers())

  test('exists, possibly empty, when the call with the first content returns, in a directory created with all its parents', async () => {
    const chatsDir = join(freshDirectory(), 'home', '.cli', 'chats')
    const recorder = newRecorder({ chatsDir, sessionId: '0f8fad5b-d9cb' })
    recorder.recordContent(said('x'))
    const path = pathOf(recorder)
    expect(path).toBe(join(chatsDir, 'session-2026-02-03T04-05-0f8fad5b.jsonl'))
    expect(statSync(path).isFile()).toBe(true)
    await recorder.dispose()
    expect(recorder.getFilePath()).toBe(path)
  })

  test('is not shared: -2, -3 precede the id, and existing files stay as they were', async () => {
    const chatsDir = freshDirectory()
    const taken = join(chatsDir, 'session-2026-02-03T04-05-same-id-.jsonl')
    writeFileSync(taken, 'not ours\n')
    const names: string[] = []
    for (let i = 0; i < 11; i++) {
      const recorder = newRecorder({ chatsDir, sessionId: 'same-id-and-more' })
      recorder.recordContent(said(String(i)))
      names.push(basename(pathOf(recorder)))
      await recorder.dispose()
      expect(recordsOf(pathOf(recorder))[1]!.payload.content).toEqual(said(String(i)))
    }
    expect(names).toEqual(Array.from({ length: 11 }, (_, i) => `session-2026-02-03T04-05-${i + 2}-same-id-.jsonl`))
    expect(readFileSync(taken, 'utf8')).toBe('not ours\n')
  })

  test('has seconds and twelve characters of the id in its name, if requested', async () => {
    const chatsDir = freshDirectory()
    const names: string[] = []
    for (let i = 0; i < 3; i++) {
      const recorder = newRecorder({ chatsDir, sessionId: '0f8fad5b-d9cb-469f', fileName: 'seconds' })
      recorder.recordContent(said('x'))
      names.push(basename(pathOf(recorder)))
      await recorder.dispose()
    }
    expect(names).toEqual(['', '-2', '-3'].map((number) => `session-2026-02-03T04-05-59${number}-0f8fad5b-d9c.jsonl`))
    expect(SESSION_FILE_ID_PREFIX_LENGTH).toBe('0f8fad5b-d9c'.length)
  })

  test("has the CLI's working directory in its header, between the workspaces and the provider", async () => {
    const recorder = newRecorder({ cwd: '/home/ada/project/docs' })
    recorder.recordContent(said('x'))
    await recorder.dispose()
    const { payload } = recordsOf(pathOf(recorder))[0]!
    expect(Object.keys(payload)).toEqual([
      'sessionId',
      'projectHash',
      'workspaceDirs',
      'cwd',
      'provider',
      'model',
      'startTime',
    ])
    expect(payload.cwd).toBe('/home/ada/project/docs')
  })

  test('does not use a name that a directory or a dangling link has', async () => {
    const chatsDir = freshDirectory()
    mkdirSync(join(chatsDir, 'session-2026-02-03T04-05-id.jsonl'))
    symlinkSync(join(chatsDir, 'nowhere'), join(chatsDir, 'session-2026-02-03T04-05-2-id.jsonl'))
    const recorder = newRecorder({ chatsDir, sessionId: 'id' })
    recorder.recordContent(said('x'))
    expect(basename(pathOf(recorder))).toBe('session-2026-02-03T04-05-3-id.jsonl')
    await recorder.dispose()
    expect(existsSync(join(chatsDir, 'nowhere'))).toBe(false)
  })

  const codeUnit = fc.oneof(
    fc.integer({ min: 0, max: 0xffff }),
    fc.integer({ min: 0, max: 0x7f }),
    fc.integer({ min: 0xd800, max: 0xdfff }),
  )
  const anyId = fc.array(codeUnit, { minLength: 1, maxLength: 20 }).map((units) => String.fromCharCode(...units))
  test.prop([anyId], { numRuns: 80 })(
    'is the only one in the directory for any id, which replays unchanged',
    async (sessionId) => {
      const chatsDir = freshDirectory()
      const recorder = newRecorder({ chatsDir, sessionId })
      recorder.recordContent(said('x'))
      await recorder.dispose()
      const [name, ...others] = readdirSync(chatsDir)
      expect(others).toEqual([])
      expect(name).toMatch(/^session-2026-02-03T04-05-[^/\\:*?"<>|\u0000-\u001f]{1,8}\.jsonl$/)
      expect(pathOf(recorder)).toBe(join(chatsDir, name!))
      expect(recorder.isActive()).toBe(false)
      expect(await replaySession(pathOf(recorder))).toMatchObject({
        ok: true,
        metadata: { sessionId },
        history: [said('x')],
      })
    },
  )
})

describe('a file that cannot be created', () => {
  test('a chats directory under a file: one warning, the CLI goes on', async () => {
    const file = join(freshDirectory(), 'file')
    writeFileSync(file, 'x')
    const { recorder, warnings } = watchedRecorder({ chatsDir: join(file, 'chats') })
    recorder.recordSessionEvent('info', 'buffered')
    expect(() => recorder.recordContent(said('x'))).not.toThrow()
    expect(recorder.isActive()).toBe(false)
    recorder.recordContent(said('lost as well'))
    await recorder.flush()
    await recorder.dispose()
    await eventually('the warning', () => warnings.length > 0)
    expect(warnings).toEqual([{ code: 'ENOTDIR', message: expect.any(String), filePath: null, eventsDropped: 4 }])
    expect([recorder.getPendingRecordCount(), recorder.getPendingByteCount()]).toEqual([0, 0])
  })

  test.each([
    ['is a file', 'EEXIST', (chatsDir: string) => (writeFileSync(chatsDir, 'x'), chatsDir)],
    [
      'is below a circle of links',
      'ELOOP',
      (chatsDir: string) => (symlinkSync('chats', chatsDir), join(chatsDir, 'deeper')),
    ],
    ['has a name that is too long', 'ENAMETOOLONG', (chatsDir: string) => join(chatsDir, '..', 'x'.repeat(300))],
  ] as const)('a chats directory that %s: %s', async (_, code, make) => {
    const chatsDir = make(join(freshDirectory(), 'chats'))
    const { recorder, warnings } = watchedRecorder({ chatsDir })
    recorder.recordContent(said('x'))
    await expect(recorder.flush()).rejects.toMatchObject({ code, syscall: 'mkdir', path: chatsDir })
    expect(warnings).toMatchObject([{ code, eventsDropped: 2 }])
    expect([recorder.isActive(), await recorder.flush()]).toEqual([false, undefined])
    await recorder.dispose()
  })
})

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A recorder whose resolver's calls are counted. */
function resolving(resolve: () => unknown, overrides: Partial<RecorderConfig> = {}) {
  const warnings: Warning[] = []
  const calls: number[] = []
  const resolveProviderModel = () => {
    calls.push(calls.length)
    return resolve() as { provider: string; model: string }
  }
  const recorder = newRecorder({
    ...overrides,
    resolveProviderModel,
    onWarning: (warning) => void warnings.push(warning),
  })
  return { recorder, calls, warnings }
}

const headerOf = (recorder: Recorder) => recordsOf(pathOf(recorder))[0]!.payload

const MAKING: [what: string, make: (recorder: Recorder) => unknown][] = [
  ['a content', (recorder) => recorder.recordContent(said('a'))],
  ['a title', (recorder) => recorder.recordSessionMetadata('title')],
  ['a name', (recorder) => recorder.setSessionName('name')],
  ['a purge', (recorder) => recorder.recordSemanticMediaPurge([], { contentIndex: 0, blockIndex: 0 })],
  [
    'a purge from a stream',
    (recorder) => recorder.recordSemanticMediaPurgeRows([], { contentIndex: 0, blockIndex: 0 }),
  ],
  ['a commit', (recorder) => recorder.commit('note', 1)],
  ['a comparison', (recorder) => recorder.reconcile([said('a')])],
  ['a batch', (recorder) => recorder.prepareContentBatch([said('a')]).publish()],
]

describe('resolveProviderModel', () => {
  test.each(MAKING)('is called once, synchronously, when %s makes the file', async (_, make) => {
    const { recorder, calls, warnings } = resolving(() => ({ provider: 'later', model: 'model-9' }))
    recorder.enqueue('note', 'waits for the file')
    recorder.recordSessionEvent('info', 'this too')
    expect(calls).toEqual([])
    const made = make(recorder)
    expect(calls).toEqual([0])
    await made
    recorder.recordContent(said('more'))
    await recorder.dispose()
    expect(calls).toEqual([0])
    const { provider, model, ...others } = headerOf(recorder)
    expect([provider, model]).toEqual(['later', 'model-9'])
    const plain = newRecorder()
    plain.recordContent(said('a'))
    await plain.dispose()
    const header = headerOf(plain)
    expect(Object.keys(headerOf(recorder))).toEqual(Object.keys(header))
    expect(others).toMatchObject({
      sessionId: header.sessionId,
      projectHash: header.projectHash,
      workspaceDirs: header.workspaceDirs,
    })
    expect(warnings).toEqual([])
  })

  const FAILING: [what: string, resolve: () => unknown][] = [
    [
      'throws',
      () => {
        throw new Error('not chosen yet')
      },
    ],
    ['returns nothing', () => undefined],
    ['returns null', () => null],
    ['returns a promise', () => Promise.resolve({ provider: 'p', model: 'm' })],
    ['returns a promise that rejects', () => Promise.reject(new Error('later'))],
    ['returns no model', () => ({ provider: 'p' })],
    ['returns a number', () => ({ provider: 'p', model: 1 })],
    [
      'throws what has no text',
      () => {
        throw Object.create(null)
      },
    ],
    [
      'returns what throws',
      () => ({
        provider: 'p',
        get model() {
          throw new Error('getter')
        },
      }),
    ],
  ]
  test.each(FAILING)(
    'that %s: the values of the configuration, one warning, and recording goes on',
    async (_, resolve) => {
      const { recorder, calls, warnings } = resolving(resolve)
      recorder.recordContent(said('a'))
      expect(warnings).toEqual([])
      recorder.recordContent(said('b'))
      await recorder.flush()
      await turn()
      expect(warnings).toMatchObject([{ code: 'ProviderModelFailed', filePath: pathOf(recorder), eventsDropped: 0 }])
      expect(recorder.isActive()).toBe(true)
      await recorder.dispose()
      expect(calls).toEqual([0])
      expect(headerOf(recorder)).toMatchObject({ provider: 'anthropic', model: 'model-1' })
      expect(recordsOf(pathOf(recorder)).map(({ seq }) => seq)).toEqual([1, 2, 3])
    },
  )

  test('changes nothing of what counts as pending, nor of buffering, and may return empty strings', async () => {
    const { recorder } = resolving(() => ({ provider: '', model: '' }))
    expect(recorder.getPendingRecordCount()).toBe(1)
    recorder.recordSessionEvent('info', 'buffered')
    expect([recorder.getPendingRecordCount(), recorder.getFilePath()]).toEqual([2, null])
    recorder.recordContent(said('a'))
    expect(recorder.getPendingRecordCount()).toBe(3)
    await recorder.dispose()
    expect(headerOf(recorder)).toMatchObject({ provider: '', model: '' })
  })

  test('is called neither for a session that is resumed, nor by a recorder that makes no file', async () => {
    const path = await recordedSession()
    const { recorder, calls } = resolving(() => ({ provider: 'p', model: 'm' }))
    recorder.initializeForResume(path, 2)
    recorder.recordContent(said('a'))
    await recorder.dispose()
    const idle = resolving(() => ({ provider: 'p', model: 'm' }))
    idle.recorder.enqueue('note', 1)
    await idle.recorder.dispose()
    idle.recorder.recordContent(said('late'))
    expect([...calls, ...idle.calls]).toEqual([])
  })

  test('what the configuration becomes later is not in the header', async () => {
    const workspaceDirs = ['/a']
    const config = { workspaceDirs }
    const { recorder } = resolving(() => ({ provider: 'p', model: 'm' }), config)
    workspaceDirs.push('/b')
    recorder.recordContent(said('a'))
    await recorder.dispose()
    expect(headerOf(recorder)).toMatchObject({ workspaceDirs: ['/a'], provider: 'p' })
  })

  test('that is no function is refused', () => {
    expect(() => newRecorder({ resolveProviderModel: {} as never })).toThrow(
      /config\.resolveProviderModel must be a function/,
    )
  })
})

const modeOf = (path: string): number => statSync(path).mode & 0o777

describe.skipIf(process.platform === 'win32')('permissions (Windows has none)', () => {
  let before = 0
  beforeEach(() => void (before = process.umask(0o022)))
  afterEach(() => void process.umask(before))

  test('a new session can be read by its owner only', async () => {
    const { recorder, path } = await startedRecorder()
    expect(modeOf(path)).toBe(0o600)
    await recorder.dispose()
  })

  test.each([
    [0o600, 0o600],
    [0o640, 0o640],
    [0o666, 0o644],
  ])('a new session with the mode %o has it, less the umask', async (mode, expected) => {
    const { recorder, path } = await startedRecorder({ mode })
    expect(modeOf(path)).toBe(expected)
    await recorder.dispose()
  })

  test('a session that is resumed keeps its permissions', async () => {
    const path = await recordedSession()
    chmodSync(path, 0o664)
    const recorder = newRecorder({ mode: 0o600 })
    recorder.initializeForResume(path, 2)
    recorder.recordContent(said('more'))
    await recorder.dispose()
    expect(modeOf(path)).toBe(0o664)
  })

  test.each([
    [undefined, 0o600],
    [0o644, 0o644],
  ])('a fork has the mode of its recorder, %o', async (mode, expected) => {
    const config = recorderConfig({ mode: 0o644 })
    const source = newRecorder(config)
    source.recordContent(said('first'))
    const checkpoint = await source.createCheckpoint('here')
    await source.dispose()
    const { chatsDir, projectHash, provider, model, workspaceDirs, sessionId } = config
    const target = {
      checkpointId: checkpoint.checkpointId,
      checkpointName: checkpoint.name,
      source: { sessionId, filePath: pathOf(source) },
    }
    const forked = await forkSession(target, {
      chatsDir,
      projectHash,
      provider,
      model,
      workspaceDirs,
      recorder: { mode },
    })
    if (!forked.ok) throw new Error(forked.error)
    expect(modeOf(pathOf(forked.recording))).toBe(expected)
    await forked.recording.dispose()
  })

  test.each([
    [undefined, 0o600, 0o700],
    [0o640, 0o640, 0o750],
    [0o666, 0o644, 0o755],
  ])('the log and the directories of a new run have the mode %o', async (mode, ofLog, ofDirectories) => {
    const directory = join(freshPath(), 'run')
    const { recorder } = newRunRecorder({ directory, mode })
    recorder.append({ kind: 'RunStarted', payload: { workers: [] } })
    recorder.append(noted('an event'))
    await recorder.dispose()
    expect(modeOf(logOf(directory))).toBe(ofLog)
    expect([directory, join(directory, 'blobs'), join(directory, 'snapshots')].map(modeOf)).toEqual([
      ofDirectories,
      ofDirectories,
      ofDirectories,
    ])
  })
})

test.each([-1, 0o400, 0o1600, 0o066, 1.5, Number.NaN, '600', null])(
  'an invalid mode, or one that excludes the owner, is refused: %s',
  (mode) => {
    const refusal = expect.objectContaining({
      code: 'ERR_INVALID_ARG_TYPE',
      message: expect.stringContaining('config.mode must be'),
    })
    expect(() => newRecorder({ mode: mode as never })).toThrow(refusal)
    expect(() => newRunRecorder({ mode: mode as never })).toThrow(refusal)
  },
)
