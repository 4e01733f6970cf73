/** Rule 13: checkpoints and names that are in the file when their promise resolves, and every reason for which it rejects. */
import '../support/on-disk.js' // What must reach the disk.
import { appendFileSync, writeFileSync } from 'node:fs'
import { fc, test } from '../support/property'
import { describe, expect } from 'vitest'
import {
  type Recorder,
  freshDirectory,
  newRecorder,
  recordedSession,
  recordsOf,
  replaySession,
  said,
  startedRecorder,
  watchedRecorder,
} from '../support/recording'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** The prefixes of the messages with which the four calls reject, in the order of {@link calls}. */
const PREFIXES = [
  'Cannot create checkpoint: ',
  'Cannot rename checkpoint: ',
  'Cannot delete checkpoint: ',
  'Cannot set session name: ',
]

function calls(recorder: Recorder, name = 'name'): Promise<unknown>[] {
  return [
    recorder.createCheckpoint(name),
    recorder.renameCheckpoint('c', name),
    recorder.deleteCheckpoint('c'),
    recorder.setSessionName(name),
  ]
}

async function reasons(promises: Promise<unknown>[]): Promise<(string | undefined)[]> {
  const settled = await Promise.allSettled(promises)
  return settled.map((outcome, i) => {
    if (outcome.status === 'fulfilled') return undefined
    expect(Object.getPrototypeOf(outcome.reason)).toBe(Error.prototype)
    expect(outcome.reason.message.startsWith(PREFIXES[i]!)).toBe(true)
    return outcome.reason.message.slice(PREFIXES[i]!.length)
  })
}

/** A recorder whose session file is a directory: the next write fails, and its flush rejects. */
function onADirectory(): Recorder {
  const { recorder } = watchedRecorder()
  recorder.initializeForResume(freshDirectory(), 3)
  return recorder
}

describe('a durable operation', () => {
  test('is in the file, its name trimmed, when it resolves', async () => {
    const { recorder, path } = await startedRecorder()
    const created = await recorder.createCheckpoint('  before \u3000')
    expect(created).toEqual({ checkpointId: expect.stringMatching(UUID), name: 'before', sequence: 3 })
    await recorder.renameCheckpoint(created.checkpointId, '\tafter\n')
    await recorder.deleteCheckpoint(created.checkpointId)
    await recorder.setSessionName(' my session ')
    await recorder.setSessionName(null)
    expect(
      recordsOf(path)
        .slice(2)
        .map(({ type, payload }) => [type, payload]),
    ).toEqual([
      ['checkpoint_created', { checkpointId: created.checkpointId, name: 'before' }],
      ['checkpoint_renamed', { checkpointId: created.checkpointId, name: 'after' }],
      ['checkpoint_deleted', { checkpointId: created.checkpointId }],
      ['session_named', { name: 'my session' }],
      ['session_named', { name: null }],
    ])
    await recorder.dispose()
  })

  test.prop([fc.integer({ min: 2, max: 12 })], { numRuns: 15 })(
    'succeeds at the same time as others, each with the seq that is in the file',
    async (count) => {
      const { recorder, path } = await startedRecorder()
      const created = await Promise.all(Array.from({ length: count }, (_, i) => recorder.createCheckpoint(`c${i}`)))
      await recorder.dispose()
      const inFile = recordsOf(path).filter((record) => record.type === 'checkpoint_created')
      expect(new Map(inFile.map((record) => [record.payload.checkpointId, record.seq]))).toEqual(
        new Map(created.map((one) => [one.checkpointId, one.sequence])),
      )
      const replay = await replaySession(path, undefined, { strict: true })
      expect(replay.ok && replay.checkpoints.map((checkpoint) => checkpoint.sequence)).toEqual(
        created.map((one) => one.sequence).sort((a, b) => a - b),
      )
    },
  )
})

describe('the reasons, in their order', () => {
  test('a recorder that has ended, before anything else', async () => {
    const recorder = newRecorder()
    await recorder.dispose()
    expect(await reasons(calls(recorder, ' '))).toEqual(Array(4).fill('recording is not active'))
  })

  test('no file, before a blank name', async () => {
    const recorder = newRecorder()
    recorder.recordRewind(1)
    const [create, rename, remove, name] = await reasons(calls(recorder, ' '))
    expect([create, rename, remove]).toEqual([
      'conversation has no content yet',
      'recording is not materialized',
      'recording is not materialized',
    ])
    expect(name).toBe('name must not be empty')
    expect(recorder.getFilePath()).toBeNull()
    await recorder.dispose()
  })

  test.prop(
    [fc.array(fc.constantFrom(' ', '\t', '\n', '\u00a0', '\u2003', '\u3000', '\ufeff', '\u2028'), { maxLength: 5 })],
    { numRuns: 20 },
  )('a name of nothing but white space', async (spaces) => {
    const { recorder } = await startedRecorder()
    expect(await reasons(calls(recorder, spaces.join('')))).toEqual([
      'name must not be empty',
      'name must not be empty',
      undefined,
      'name must not be empty',
    ])
    await recorder.dispose()
  })

  test('a flush that rejects is the cause, even that of a replaced method', async () => {
    const reason = new Error('the disk is gone')
    const { recorder } = await startedRecorder()
    recorder.flush = () => Promise.reject(reason)
    for (const [i, outcome] of (await Promise.allSettled(calls(recorder))).entries()) {
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: { message: `${PREFIXES[i]}recording failed during flush`, cause: reason },
      })
    }
    const failing = onADirectory()
    await expect(failing.renameCheckpoint('c', 'n')).rejects.toMatchObject({
      message: 'Cannot rename checkpoint: recording failed during flush',
      cause: { code: 'EISDIR' },
    })
  })

  test('a recorder that is inactive after the flush', async () => {
    const { recorder } = await startedRecorder()
    const created = recorder.createCheckpoint('n')
    void recorder.dispose()
    await expect(created).rejects.toThrow(new Error('Cannot create checkpoint: recording failed during flush'))
  })

  test("a file that does not replay strictly, with the replay's error", async () => {
    const { recorder, path } = await startedRecorder()
    writeFileSync(path, '{"v":1,"seq":1,"type":"session_start","payload":{"sessionId":"s","projectHash":"h"}}\n')
    await expect(recorder.createCheckpoint('n')).rejects.toThrow(
      new Error('Cannot create checkpoint: Invalid session_start: missing or malformed required fields'),
    )
    await recorder.dispose()
  })

  test('sequence numbers that are not ascending', async () => {
    const { recorder, path } = await startedRecorder()
    appendFileSync(path, '{"v":1,"seq":1,"type":"note","payload":{}}\n')
    await expect(recorder.createCheckpoint('n')).rejects.toThrow(
      new Error('Cannot create checkpoint: recording has non-monotonic sequences'),
    )
    await recorder.dispose()
  })

  test('an empty history, even after a rewind', async () => {
    const titled = newRecorder()
    titled.recordSessionMetadata('only a title')
    await expect(titled.createCheckpoint('n')).rejects.toThrow(
      new Error('Cannot create checkpoint: conversation has no content yet'),
    )
    await titled.dispose()
    const { recorder } = await startedRecorder()
    recorder.recordRewind(1)
    await expect(recorder.createCheckpoint('n')).rejects.toThrow(
      new Error('Cannot create checkpoint: conversation has no content yet'),
    )
    recorder.recordContent(said('more'))
    expect((await recorder.createCheckpoint('n')).sequence).toBe(5)
    await recorder.dispose()
  })
})

describe('titles', () => {
  test('are remembered as they were last recorded, or passed to a resume', async () => {
    const path = await recordedSession()
    const recorder = newRecorder()
    expect(recorder.getSessionMetadataTitle()).toBeUndefined()
    recorder.initializeForResume(path, 2)
    expect(recorder.getSessionMetadataTitle()).toBeUndefined()
    recorder.initializeForResume(path, 2, 'from before')
    expect(recorder.getSessionMetadataTitle()).toBe('from before')
    recorder.initializeForResume(path, 2, null)
    expect(recorder.getSessionMetadataTitle()).toBeNull()
    recorder.recordSessionMetadata('now')
    expect(recorder.getSessionMetadataTitle()).toBe('now')
    await recorder.dispose()
    recorder.recordSessionMetadata('never')
    expect(recorder.getSessionMetadataTitle()).toBe('now')
    expect(
      recordsOf(path)
        .slice(2)
        .map((record) => record.payload),
    ).toEqual([{ title: 'now' }])
  })
})

test('a fork is not recorded by a recorder that has ended', async () => {
  const recorder = newRecorder()
  await recorder.dispose()
  const fork = { parentSessionId: 'p', parentSequence: 3, checkpointId: 'c', checkpointName: 'before' }
  expect(() => recorder.recordSessionFork(fork)).toThrow(new Error('Cannot record session fork: recording is inactive'))
})
