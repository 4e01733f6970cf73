// The addon in the main thread and in two worker threads at once, each with a session of its own.
import { isMainThread, threadId, Worker } from 'node:worker_threads'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { replaySession, SessionRecordingService } from 'session-tape'

if (isMainThread) {
  for (let count = 0; count < 2; count += 1) new Worker(new URL(import.meta.url))
}

const recorder = new SessionRecordingService({
  sessionId: `thread-${threadId}`,
  projectHash: 'p',
  chatsDir: mkdtempSync(join(tmpdir(), 'session-tape-')),
  workspaceDirs: [],
  provider: 'acme',
  model: 'm',
})
for (let count = 0; count < 100; count += 1) {
  recorder.recordContent({ speaker: 'human', blocks: [{ type: 'text', text: `${threadId}` }] })
}
await recorder.flush()
const replay = await replaySession(recorder.getFilePath())
const own = replay.history.filter((item) => item.blocks[0].text === `${threadId}`)
console.log(`thread ${threadId} has ${own.length}`)
