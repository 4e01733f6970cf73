// A session, its lock, a bundle of it and a run, with whatever runtime runs this file: the check for runtimes and emulated machines that can't run
// the test suite. `bun scripts/smoke.mjs`, `node scripts/smoke.mjs`; it needs the built addon.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import {
  acquireSessionLock,
  diff,
  exportBundle,
  importBundle,
  isSessionLocked,
  readSessionHeader,
  replaySession,
  RunRecorder,
  SessionLockedError,
  SessionRecordingService,
  verifyBundle,
  verifyRun,
} from '../index.mjs';

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
  const session = await recordSession();
  await checkLock();
  await checkBundle(session, 'session.cath-bundle');
  await checkBundle(session, 'session.cath-bundle.tar.zst');
  await checkLineEnds(session);
  await checkRun();
} finally {
  rmSync(chatsDir, { recursive: true, force: true });
}
const runtime = process.versions.bun ? `Bun ${process.versions.bun}` : `Node.js ${process.version}`;
console.log(`session-tape works with ${runtime} on ${process.platform}-${process.arch}`);

async function recordSession() {
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
  return filePath;
}

async function checkLock() {
  const lock = await acquireSessionLock(chatsDir, config.sessionId);
  assert.equal(await isSessionLocked(chatsDir, config.sessionId), true);
  await assert.rejects(acquireSessionLock(chatsDir, config.sessionId), SessionLockedError);
  await lock.release();
  assert.equal(await isSessionLocked(chatsDir, config.sessionId), false);
}

async function checkBundle(session, name) {
  const [bundle, imported] = [join(chatsDir, name), join(chatsDir, `imported-${name}`)];
  await exportBundle(session, bundle);
  assert.equal((await verifyBundle(bundle)).ok, true);
  await importBundle(bundle, imported);
  assert.equal(await diff(session, imported), null, 'the imported session differs');
}

/** A file that passed through an editor of Windows, at a path that is longer than Windows allows without a prefix. */
async function checkLineEnds(session) {
  const directory = join(chatsDir, ...Array.from({ length: 8 }, () => 'a-directory-with-a-long-name-of-forty-ch'));
  mkdirSync(directory, { recursive: true });
  const copy = join(directory, 'session-2026-02-11T16-00-smoke.jsonl');
  writeFileSync(copy, readFileSync(session, 'utf8').replaceAll('\n', '\r\n'));
  const [original, changed] = [await replaySession(session), await replaySession(copy)];
  assert.equal(changed.ok, true, changed.error);
  assert.deepEqual(changed.history, original.history);
}

async function checkRun() {
  const directory = join(chatsDir, 'run');
  const workflow = { name: 'smoke', version: '1', nodes: [{ id: 'a', kind: 'task' }] };
  const recorder = new RunRecorder({ directory, runId: 'smoke', workflow, scheduler: 'external' });
  recorder.append({ kind: 'RunStarted', payload: { workers: [{ id: 'w', capabilities: [] }] } });
  recorder.append({ kind: 'Heartbeat', payload: { worker: 'w', status: 'idle' } });
  await recorder.dispose();
  const report = await verifyRun(directory);
  assert.equal(report.ok, true, JSON.stringify(report));
}
