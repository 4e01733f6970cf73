import { appendFile, readFile } from 'node:fs/promises'
import { expect, onTestFinished, test, vi } from 'vitest'

import { resumeSession, SessionRecordingService, CONTINUE_LATEST, type RecordingConfig } from '../src/index.js'
import { closedSession, configOf, newDirectory, PROJECT, RUNTIME, said } from './chats.js'

const LIMIT = /^Session recording queue byte limit exceeded: \d+ \+ \d+ > 0$/

/** An open recorder with these settings. */
async function recorderOf(settings: Partial<RecordingConfig>): Promise<SessionRecordingService> {
  const recording = new SessionRecordingService({ ...configOf(await newDirectory(), 'a1'), ...settings })
  onTestFinished(() => recording.dispose().catch(() => {}))
  return recording
}

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
