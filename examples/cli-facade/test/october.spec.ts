import { appendFile, readFile } from 'node:fs/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'

import {
  replaySession,
  resumeSession,
  SessionRecordingService,
  CONTINUE_LATEST,
  type RecordingConfig,
} from '../src/index.js'
import { closedSession, configOf, newDirectory, openSession, PROJECT, RUNTIME, said } from './chats.js'

const LIMIT = /^Session recording queue byte limit exceeded: \d+ \+ \d+ > 0$/

/** An open recorder with these settings. */
async function recorderOf(settings: Partial<RecordingConfig>): Promise<SessionRecordingService> {
  const recording = new SessionRecordingService({ ...configOf(await newDirectory(), 'a1'), ...settings })
  onTestFinished(() => recording.dispose().catch(() => {}))
  return recording
}

describe('a batch of items', () => {
  test('is recorded as a whole, or taken back', async () => {
    const recording = await openSession(await newDirectory(), 'a1', 'one')
    const path = recording.getFilePath()!
    const before = await readFile(path, 'utf8')
    const dropped = recording.prepareContentBatch([said('two'), said('three')])
    dropped.publish()
    expect(recording.getLastEnqueuedSequence()).toBe(4)
    dropped.rollback()
    expect(recording.getLastEnqueuedSequence()).toBe(2)
    await recording.flush()
    expect(await readFile(path, 'utf8')).toBe(before)
    const kept = recording.prepareContentBatch([said('zwei'), said('drei')])
    kept.publish()
    kept.finalize()
    await recording.waitForCommitSequence(4)
    expect(await replaySession(path, PROJECT)).toMatchObject({ history: [said('one'), said('zwei'), said('drei')] })
  })
})

test('a purge of images is recorded item by item', async () => {
  const recording = await openSession(await newDirectory(), 'a1', 'one', 'two')
  async function* rows() {
    yield said('purged')
  }
  await recording.recordSemanticMediaPurgeRows(rows(), { contentIndex: 0, blockIndex: 0 })
  await recording.flush()
  expect(await replaySession(recording.getFilePath()!, PROJECT)).toMatchObject({
    history: [said('purged')],
    semanticMediaPurgeFrontier: { contentIndex: 0, blockIndex: 0 },
  })
})

test('records beyond the limit of the queue are refused, also after a session is resumed', async () => {
  const recording = await recorderOf({ maxQueueBytes: 0 })
  expect(() => recording.recordContent(said('one'))).toThrow(LIMIT)
  const chatsDir = await newDirectory()
  await closedSession(chatsDir, 'a1', 'one')
  const resumed = await resumeSession({
    ...RUNTIME,
    continueRef: CONTINUE_LATEST,
    projectHash: PROJECT,
    chatsDir,
    maxQueueBytes: 0,
  })
  if (!resumed.ok) throw new Error(resumed.error)
  await resumed.recording.flush()
  expect(() => resumed.recording.recordContent(said('two'))).toThrow(LIMIT)
  await resumed.recording.dispose()
})

test('the provider is that of the moment at which the file is made', async () => {
  let model = 'acme-small'
  const recording = await recorderOf({ resolveProviderModel: () => ({ provider: 'acme', model }) })
  model = 'acme-huge'
  await recording.commit('content', { content: said('one') })
  expect(await replaySession(recording.getFilePath()!, PROJECT)).toMatchObject({ metadata: { model: 'acme-huge' } })
})

test('a test of the CLI can append in the place of the system', async () => {
  const io = { appendFile: vi.fn((path: string, data: string, encoding: 'utf-8') => appendFile(path, data, encoding)) }
  const recording = await recorderOf({ io })
  await recording.commit('content', { content: said('one') })
  const path = recording.getFilePath()!
  expect(io.appendFile.mock.calls.map(([to]) => to)).toEqual([path])
  expect(await readFile(path, 'utf8')).toBe(io.appendFile.mock.calls.map(([, data]) => data).join(''))
  const logged = vi.spyOn(console, 'warn').mockImplementation(() => {})
  io.appendFile.mockRejectedValueOnce(new Error('no space'))
  await expect(recording.commit('content', { content: said('two') })).rejects.toThrow('no space')
  expect(logged).toHaveBeenCalledTimes(1)
  logged.mockRestore()
})
