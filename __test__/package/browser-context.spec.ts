// The package where a test runner has replaced the globals by those of a browser: no `setImmediate`, timers that are numbers, errors of another context.
import { readdirSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'

import type { RecordingWarning } from '../../index.js'
import { inBrowserContext } from '../support/browser-context'
import { directoryOf } from '../support/file-directory'

const tape = inBrowserContext('index.js') as typeof import('../../index.js')
const configOf = (chatsDir: string) => ({
  sessionId: 'a-1',
  projectHash: 'p',
  chatsDir,
  workspaceDirs: [],
  provider: 'acme',
  model: 'acme-large',
})
const said = (text: string) => ({ speaker: 'human' as const, blocks: [{ type: 'text' as const, text }] })

test('a browser-like context records, locks, resumes, forks and replays a session', async () => {
  const chatsDir = join(directoryOf(), 'new')
  const recorder = await tape.SessionRecordingService.createLocked(configOf(chatsDir))
  recorder.recordContent(said('one'))
  await tape.createCheckpoint(recorder, 'p', 'here')
  await expect(tape.acquireSessionLock(chatsDir, 'a-1')).rejects.toMatchObject({ code: 'ESESSIONLOCKED' })
  await recorder.dispose()
  const resumed = await tape.resumeSession({
    continueRef: tape.CONTINUE_LATEST,
    projectHash: 'p',
    chatsDir,
    currentProvider: 'acme',
    currentModel: 'small',
    workspaceDirs: [],
  })
  if (!resumed.ok) throw new Error(resumed.error)
  await resumed.recording.dispose()
  const { targets } = await tape.listContinueTargets(chatsDir, 'p')
  const forked = await tape.forkSession(targets[1] as never, {
    chatsDir,
    projectHash: 'p',
    provider: 'acme',
    model: 'acme-large',
    workspaceDirs: [],
  })
  if (!forked.ok) throw new Error(forked.error)
  await forked.recording.dispose()
  expect(readdirSync(chatsDir).filter((name) => !name.endsWith('.jsonl'))).toEqual([])
  expect(forked.history).toHaveLength(1)
})

test('a browser-like context replays and reads headers again and again, which passes turns of the event loop', async () => {
  const chatsDir = directoryOf()
  const recorder = new tape.SessionRecordingService(configOf(chatsDir))
  for (let item = 0; item < 3000; item++) recorder.recordContent(said('x'.repeat(1000)))
  await recorder.dispose()
  const path = recorder.getFilePath()!
  for (let round = 0; round < 40; round++) {
    expect((await tape.readSessionHeader(path))?.sessionId).toBe('a-1')
    const replayed = await tape.replaySession(path, 'p')
    expect(replayed.ok && replayed.history.length).toBe(3000)
  }
})

test('a browser-like context says of an exclusive recorder since when its process runs, not its window', async () => {
  const chatsDir = directoryOf()
  const owner = new tape.SessionRecordingService({ ...configOf(chatsDir), exclusive: true })
  owner.recordContent(said('one'))
  await owner.flush()
  const warning = await new Promise<RecordingWarning>((resolve) => {
    new tape.SessionRecordingService({
      ...configOf(chatsDir),
      exclusive: true,
      onWarning: resolve,
    }).initializeForResume(owner.getFilePath()!, 2)
  })
  await owner.dispose()
  expect(warning).toMatchObject({
    code: 'ESESSIONLOCKED',
    owner: { pid: process.pid, startTime: new Date(performance.timeOrigin).toISOString() },
  })
})

test('a browser-like context names the errors of another context', () => {
  const { hasCode, nameQuota } = inBrowserContext('dist/system-error.js') as {
    hasCode(error: unknown, code: string): boolean
    nameQuota(error: unknown): Error
  }
  expect(hasCode(new Error('ENOENT: no such file or directory'), 'ENOENT')).toBe(true)
  const { EDQUOT } = constants.errno
  if (EDQUOT !== undefined)
    expect(nameQuota(Object.assign(new Error('x'), { errno: -EDQUOT, syscall: 'write' }))).toMatchObject({
      code: 'EDQUOT',
      message: 'EDQUOT: disk quota exceeded, write',
    })
  for (const value of [undefined, null, 1, 'ENOENT: x', {}, { message: 1 }])
    expect(hasCode(value, 'ENOENT')).toBe(false)
})
