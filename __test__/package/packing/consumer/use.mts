// A strict TypeScript project's ES module: compiled and run by package.spec.ts in a project of its own.
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { replaySession, SessionRecordingService, type IContent, type ReplayResult } from 'session-tape'

interface Item extends IContent {
  tokens: number
}

const recorder = new SessionRecordingService<Item>({
  sessionId: 'typed-module',
  projectHash: 'p',
  chatsDir: mkdtempSync(join(tmpdir(), 'session-tape-')),
  workspaceDirs: [],
  provider: 'acme',
  model: 'm',
})
recorder.recordContent({ speaker: 'human', blocks: [{ type: 'text', text: 'typed' }], tokens: 1 })
await recorder.dispose()

const replay: ReplayResult<Item> = await replaySession<Item>(recorder.getFilePath()!, 'p')
if (!replay.ok) throw new Error(replay.error)
console.log(`tokens ${replay.history[0]!.tokens}`)

// If the package's types were not found, everything would be `any` and these would not be errors.
// @ts-expect-error an item has tokens
recorder.recordContent({ speaker: 'human', blocks: [] })
// @ts-expect-error a path is a string
void (() => replaySession(7))
