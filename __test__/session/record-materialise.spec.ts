/** Rule 3: when the file of a session is created, what it is called, and what happens if it can't be created. */
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
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
} from '../support/recording'

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
