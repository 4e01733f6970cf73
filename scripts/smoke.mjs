// Records, resumes and replays one session with whatever runtime runs this file: the check for runtimes that can't run
// the test suite. `bun scripts/smoke.mjs`, `node scripts/smoke.mjs`; it needs the built addon.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { readSessionHeader, replaySession, SessionRecordingService } from '../index.mjs';

const chatsDir = mkdtempSync(join(tmpdir(), 'session-tape-smoke-'));
const config = {
  sessionId: 'smoke-session',
  projectHash: 'smoke-project',
  chatsDir,
  workspaceDirs: [chatsDir],
  provider: 'acme',
  model: 'acme-large',
};
const say = (speaker, text) => ({ speaker, blocks: [{ type: 'text', text }], metadata: { unknown: [null, 1.5, '\ud800'] } });

try {
  const first = new SessionRecordingService(config);
  first.recordContent(say('human', 'Hello'));
  await first.flush();
  const filePath = first.getFilePath();
  await first.dispose();

  const second = new SessionRecordingService(config);
  second.initializeForResume(filePath, (await replaySession(filePath)).lastSeq);
  second.recordContent(say('ai', 'Welcome back'));
  await second.dispose();

  const replay = await replaySession(filePath, config.projectHash);
  assert.equal(replay.ok, true, replay.error);
  assert.deepEqual(replay.history, [say('human', 'Hello'), say('ai', 'Welcome back')]);
  assert.equal(replay.lastSeq, 3);
  assert.deepEqual(replay.warnings, []);
  assert.equal((await readSessionHeader(filePath)).sessionId, config.sessionId);

  const missing = await replaySession(join(chatsDir, 'none.jsonl'));
  assert.equal(missing.ok, false);
  assert.throws(() => replaySession(7), TypeError);
} finally {
  rmSync(chatsDir, { recursive: true, force: true });
}
const runtime = process.versions.bun ? `Bun ${process.versions.bun}` : `Node.js ${process.version}`;
console.log(`session-tape works with ${runtime} on ${process.platform}-${process.arch}`);
