// A suite of a CLI that uses the addon, for the pools of vitest. package.spec.ts runs two copies of it at once.
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { replaySession, SessionRecordingService } from 'session-tape'
import { expect, test } from 'vitest'

const chatsDir = mkdtempSync(join(tmpdir(), 'session-tape-'))

test.each(['first', 'second'])('%s session', async (sessionId) => {
  const recorder = new SessionRecordingService({
    sessionId,
    projectHash: 'p',
    chatsDir,
    workspaceDirs: [],
    provider: 'acme',
    model: 'm',
  })
  const content = { speaker: 'ai', blocks: [{ type: 'text', text: sessionId }] }
  recorder.recordContent(content)
  await recorder.dispose()
  await expect(replaySession(recorder.getFilePath(), 'p')).resolves.toMatchObject({ ok: true, history: [content] })
})

test('a wrong argument throws', () => {
  expect(() => replaySession(7)).toThrow(TypeError)
})

test('a recorder that is never disposed', () => {
  const recorder = new SessionRecordingService({
    sessionId: 'left',
    projectHash: 'p',
    chatsDir,
    workspaceDirs: [],
    provider: 'acme',
    model: 'm',
  })
  recorder.recordContent({ speaker: 'human', blocks: [] })
  expect(recorder.isActive()).toBe(true)
})
