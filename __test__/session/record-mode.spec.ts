/** Recordings contain whatever was said and read: no one else may read them, unless the recorder is told otherwise. */
import { chmodSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { forkSession } from '../../index.js'
import { freshPath, logOf } from '../support/run-directory'
import { newRecorder as newRunRecorder, noted } from '../support/run-recording'
import { newRecorder, pathOf, recordedSession, recorderConfig, said, startedRecorder } from '../support/recording'

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
