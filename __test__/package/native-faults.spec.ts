// Promises when the addon throws, rejects or sends something that can't be parsed: they settle, the work stops, and no listener is left.

import { getEventListeners } from 'node:events'
import { readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { freshDirectory, rejection, sources, tape } from '../support/bundles.js'

const require = createRequire(import.meta.url)
const { native: binding } = require('../../dist/addon.js') as {
  native: Record<string, { prototype: Record<string, unknown> }> & Record<string, unknown>
}

afterEach(() => {
  vi.restoreAllMocks()
})

const FAULT = Object.assign(new Error('the addon can do no more'), { code: 'EADDON' })
const fault = (): never => {
  throw FAULT
}

/** Replaces a method of one of the addon's classes until the end of the test. */
function replace(className: string, method: string, otherwise: (this: unknown, ...args: unknown[]) => unknown): void {
  vi.spyOn((binding[className] as { prototype: Record<string, () => unknown> }).prototype, method).mockImplementation(
    otherwise as () => unknown,
  )
}

const [run, session] = [sources()[0]!.source, sources()[1]!.source]
const archive = join(freshDirectory(), 'a.cath-bundle.tar.zst')
await tape.exportBundle(run, archive)

type Options = { signal: AbortSignal }

/** The jobs: name, code of a panic, and how to start it. */
const JOBS: [string, string, (options: Options) => Promise<unknown>][] = [
  ['replaySession', 'ESESSIONPANIC', (options) => tape.replaySession(session, undefined, options)],
  ['openSession', 'ESESSIONPANIC', (options) => tape.openSession(session, undefined, options)],
  ['describeSessions', 'ESESSIONPANIC', (options) => tape.describeSessions(join(session, '..'), options)],
  ['listContinueTargets', 'ESESSIONPANIC', (options) => tape.listContinueTargets(join(session, '..'), 'hash', options)],
  ['readSessionPreview', 'ESESSIONPANIC', (options) => tape.readSessionPreview(session, options)],
  ['readSessionTitle', 'ESESSIONPANIC', (options) => tape.readSessionTitle(session, options)],
  ['replayRun', 'ERUNPANIC', (options) => tape.replayRun(run, options)],
  ['verifyRun', 'ERUNPANIC', (options) => tape.verifyRun(run, options)],
  ['diff', 'ERUNPANIC', (options) => tape.diff(run, run, options)],
  ['traceAncestors', 'ERUNPANIC', (options) => tape.traceAncestors(run, 'evt_1', options)],
  ['exportBundle', 'EBUNDLEPANIC', (options) => tape.exportBundle(run, join(freshDirectory(), 'b'), options)],
  ['verifyBundle', 'EBUNDLEPANIC', (options) => tape.verifyBundle(archive, options)],
  ['importBundle', 'EBUNDLEPANIC', (options) => tape.importBundle(archive, join(freshDirectory(), 'i'), options)],
]

describe.each(JOBS)('%s', (_, code, work) => {
  async function rejectionWithoutListeners(): Promise<Error & { code?: string }> {
    const { signal } = new AbortController()
    const error = await rejection(work({ signal }))
    expect(getEventListeners(signal, 'abort')).toEqual([])
    return error
  }

  test('rejects if a batch cannot be taken', async () => {
    replace('NativeJob', 'take', fault)
    expect(await rejectionWithoutListeners()).toBe(FAULT)
  })

  test('rejects if a batch cannot be parsed', async () => {
    replace('NativeJob', 'take', () => '{"done":')
    expect(await rejectionWithoutListeners()).toBeInstanceOf(SyntaxError)
  })

  test('rejects with the code and message of a panic', async () => {
    replace('NativeJob', 'take', () => '{"panicked":"index 3 of 2"}')
    const error = await rejectionWithoutListeners()
    expect(error).toMatchObject({ code, message: expect.stringContaining('report it') as string })
    expect(error.cause).toMatchObject({ message: 'index 3 of 2' })
  })

  test('rejects if the signal throws when a listener is added', async () => {
    const { signal } = new AbortController()
    signal.addEventListener = fault
    expect(await rejection(work({ signal }))).toBe(FAULT)
  })

  test('resolves even if the signal throws when a listener is removed', async () => {
    const { signal } = new AbortController()
    signal.removeEventListener = fault
    await work({ signal })
  })
})

test('a small session whose values cannot be read is reported as changed while it was read', async () => {
  replace('NativeJob', 'codes', () => {
    throw new SyntaxError('no values')
  })
  expect(await tape.replaySession(session)).toMatchObject({
    ok: false,
    error: 'Failed to read file: the file was changed while it was being read',
  })
})

test.each(['startReplay', 'describeSessions', 'startRunReplay', 'startDiff', 'startVerification'])(
  'work that cannot be started rejects: %s',
  async (start) => {
    vi.spyOn(binding as Record<string, () => never>, start).mockImplementation(fault)
    const { signal } = new AbortController()
    const begin: Record<string, () => Promise<unknown>> = {
      startReplay: () => tape.replaySession(session, undefined, { signal }),
      describeSessions: () => tape.describeSessions(join(session, '..'), { signal }),
      startRunReplay: () => tape.replayRun(run, { signal }),
      startDiff: () => tape.diff(run, run, { signal }),
      startVerification: () => tape.verifyBundle(archive, { signal }),
    }
    expect(await rejection(begin[start]!())).toBe(FAULT)
    expect(getEventListeners(signal, 'abort')).toEqual([])
  },
)

/** What yields values, whose batches are requested one by one: the faults of reading one, and the code of a panic. */
const PAGED: [string, () => AsyncIterable<unknown>, string, () => void][] = [
  [
    'readSessionRecords',
    () => tape.readSessionRecords(session),
    'ESESSIONPANIC',
    () => replace('NativeJob', 'codes', fault),
  ],
  ['readRunEvents', () => tape.readRunEvents(run), 'ERUNPANIC', () => replace('NativeJob', 'take', fault)],
]

describe.each(PAGED)('%s', (_, yielded, code, spoil) => {
  const read = async (): Promise<void> => {
    for await (const value of yielded()) expect(value).toBeDefined()
  }

  test('rejects if a batch cannot be requested', async () => {
    replace('NativePages', 'next', fault)
    expect(await rejection(read())).toBe(FAULT)
  })

  test('rejects if a batch cannot be read', async () => {
    spoil()
    expect(await rejection(read())).toBe(FAULT)
  })

  test('rejects with the message of a panic', async () => {
    replace('NativeJob', 'take', () => '{"panicked":"index 3 of 2"}')
    expect(await rejection(read())).toMatchObject({ code, cause: { message: 'index 3 of 2' } })
  })
})

test.each(['readHeaders', 'readSummaries'])('a panic while files are read rejects: %s', async (read) => {
  vi.spyOn(binding as Record<string, () => unknown>, read).mockImplementation(() =>
    Promise.resolve('{"panicked":"index 3 of 2"}'),
  )
  const error = await rejection(
    read === 'readHeaders' ? tape.readSessionHeaders([session]) : tape.listSessions(join(session, '..')),
  )
  expect(error).toMatchObject({ code: 'ESESSIONPANIC' })
  expect(error.cause).toMatchObject({ message: 'index 3 of 2' })
})

describe('a panic while a session is replayed', () => {
  const panic = () => replace('NativeJob', 'take', () => '{"panicked":"index 3 of 2"}')
  const words = 'session-tape failed while replaying a session. This is a bug in session-tape: please report it'

  async function directoryWithSession(): Promise<string> {
    const chatsDir = freshDirectory()
    const recorder = new tape.SessionRecordingService({
      sessionId: 's-1',
      projectHash: 'h',
      chatsDir,
      workspaceDirs: [],
      provider: 'p',
      model: 'm',
    })
    recorder.recordContent({ speaker: 'human', blocks: [{ type: 'text', text: 'é' }] })
    await recorder.dispose()
    return chatsDir
  }

  test('makes resuming it fail, and leaves no lock', async () => {
    const chatsDir = await directoryWithSession()
    panic()
    const request = { chatsDir, projectHash: 'h', currentProvider: 'p', currentModel: 'm', workspaceDirs: [] }
    const failure = { ok: false, error: `Failed to replay session: ${words}`, code: 'ReplayFailed' }
    for (const continueRef of ['s-1', tape.CONTINUE_LATEST])
      expect(await tape.resumeSession({ ...request, continueRef })).toMatchObject(failure)
    expect(await rejection(tape.resumeSession({ ...request, continueRef: 'a name' }))).toMatchObject({
      code: 'ESESSIONPANIC',
      message: words,
    })
    expect(readdirSync(chatsDir)).toHaveLength(1)
  })

  test('makes deleting it fail, and leaves no lock', async () => {
    const chatsDir = await directoryWithSession()
    panic()
    const failure = {
      ok: false,
      error: `Failed to delete session: Cannot verify checkpoint blockers: ${words}`,
      code: 'ReplayFailed',
    }
    for (const exact of [false, true])
      expect(await tape.deleteSession('s-1', chatsDir, 'h', { exact })).toEqual(failure)
    expect(readdirSync(chatsDir)).toHaveLength(1)
  })
})

describe('recorders', () => {
  function recorder(): InstanceType<typeof tape.RunRecorder> {
    const workflow = { name: 'w', version: '1', nodes: [{ id: 'a', kind: 'k' }] }
    return new tape.RunRecorder({
      directory: join(freshDirectory(), 'run'),
      runId: 'r',
      workflow,
      scheduler: 'external',
    })
  }

  test('a snapshot whose answer cannot be parsed rejects, and the recorder can be disposed', async () => {
    const recording = recorder()
    replace('NativeRunRecorder', 'snapshot', () => Promise.resolve('{'))
    expect(await rejection(recording.snapshot())).toBeInstanceOf(SyntaxError)
    replace('NativeRunRecorder', 'snapshot', fault)
    expect(await rejection(recording.snapshot())).toBe(FAULT)
    await recording.dispose()
  })

  test('a flush that fails in the addon rejects, and the next one flushes', async () => {
    const recording = recorder()
    // As if something were left to write.
    replace('NativeWriting', 'unflushed', () => 1)
    replace('NativeWriting', 'flush', fault)
    expect(await rejection(recording.flush())).toBe(FAULT)
    vi.restoreAllMocks()
    await recording.flush()
    await recording.dispose()
  })
})

test.each(['replaySession', 'describeSessions', 'diff', 'verifyBundle'])(
  '%s rejects with what onProgress throws',
  async (name) => {
    const begin: Record<string, () => Promise<unknown>> = {
      replaySession: () => tape.replaySession(session, undefined, { onProgress: fault }),
      describeSessions: () => tape.describeSessions(join(session, '..'), { onProgress: fault }),
      diff: () => tape.diff(run, run, { onProgress: fault }),
      verifyBundle: () => tape.verifyBundle(archive, { onProgress: fault }),
    }
    expect(await rejection(begin[name]!())).toBe(FAULT)
  },
)

test('work that is cancelled without an abort of the caller rejects with Cancelled', async () => {
  replace('NativeJob', 'take', () => '{"cancelled":{"code":"Cancelled","message":"The caller asked to stop"}}')
  expect(await rejection(tape.verifyBundle(archive))).toMatchObject({ name: 'BundleError', code: 'Cancelled' })
})
