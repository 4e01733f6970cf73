// Uses sessions, locks, bundles and runs, with the runtime that runs this file: a check for runtimes and emulated machines that cannot run the test
// suite. `bun scripts/smoke.mjs`, `node scripts/smoke.mjs`; it needs the built addon.
//
// SMOKE_RUNTIME is the program that starts a second process, if that is not the program that runs this file. SMOKE_HOLD is set in the second process.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, parse } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

import {
  acquireSessionLock,
  diff,
  exportBundle,
  importBundle,
  isSessionLocked,
  readSessionHeader,
  replayRun,
  replaySession,
  RunRecorder,
  SessionLockedError,
  SessionRecordingService,
  verifyBundle,
  verifyRun,
} from '../index.mjs'

const SESSION_ID = 'smoke-session'
const PROJECT = 'smoke-project'

/** A limit for a process that hangs. An emulated process takes seconds to start. */
const PROCESS_MS = 120_000

if (process.env.SMOKE_HOLD) await holdLocks(process.env.SMOKE_HOLD)
else await main()

async function main() {
  const root = mkdtempSync(join(tmpdir(), 'session-tape-smoke-'))
  try {
    await checkDirectory(join(root, 'short'))
    // Longer than the 260 characters that Windows allows without a prefix.
    await checkDirectory(join(root, ...Array.from({ length: 8 }, () => 'a-directory-with-a-long-name-of-forty-ch')))
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
  const runtime = process.versions.bun ? `Bun ${process.versions.bun}` : `Node.js ${process.version}`
  console.log(`session-tape works with ${runtime} on ${process.platform}-${process.arch}`)
}

async function checkDirectory(chatsDir) {
  mkdirSync(chatsDir, { recursive: true })
  const session = await recordSession(chatsDir)
  await checkLock(chatsDir)
  await checkLocksOfAnotherProcess(chatsDir)
  await checkBundle(session, chatsDir, 'session.cath-bundle')
  await checkBundle(session, chatsDir, 'session.cath-bundle.tar.zst')
  await checkLineEnds(session, chatsDir)
  await checkSpellings(session, chatsDir)
  await checkRun(chatsDir)
}

function configOf(chatsDir, more = {}) {
  const project = { projectHash: PROJECT, chatsDir, workspaceDirs: [chatsDir] }
  return { sessionId: SESSION_ID, ...project, provider: 'acme', model: 'acme-large', ...more }
}

function say(speaker, text) {
  return { speaker, blocks: [{ type: 'text', text }], metadata: { unknown: [null, 1.5, '\ud800'] } }
}

async function recordSession(chatsDir) {
  const first = new SessionRecordingService(configOf(chatsDir))
  first.recordContent(say('human', 'Hello'))
  await first.flush()
  const filePath = first.getFilePath()
  await first.dispose()

  const second = new SessionRecordingService(configOf(chatsDir))
  second.initializeForResume(filePath, (await replaySession(filePath)).lastSeq)
  second.recordContent(say('ai', 'Welcome back'))
  await second.dispose()

  const replay = await replaySession(filePath, PROJECT)
  assert.equal(replay.ok, true, replay.error)
  assert.deepEqual(replay.history, [say('human', 'Hello'), say('ai', 'Welcome back')])
  assert.equal(replay.lastSeq, 3)
  assert.deepEqual(replay.warnings, [])
  assert.equal((await readSessionHeader(filePath)).sessionId, SESSION_ID)

  const missing = await replaySession(join(chatsDir, 'none.jsonl'))
  assert.equal(missing.ok, false)
  assert.throws(() => replaySession(7), TypeError)
  return filePath
}

async function checkLock(chatsDir) {
  const lock = await acquireSessionLock(chatsDir, SESSION_ID)
  assert.equal(await isSessionLocked(chatsDir, SESSION_ID), true)
  await assert.rejects(acquireSessionLock(chatsDir, SESSION_ID), SessionLockedError)
  await lock.release()
  assert.equal(await isSessionLocked(chatsDir, SESSION_ID), false)
}

/** The lock of a session id, and that of a file, which the system holds. Both end with the process, which releases neither of them. */
async function checkLocksOfAnotherProcess(chatsDir) {
  const holder = await startHolder(chatsDir)
  const { filePath } = holder
  try {
    assert.equal(await isSessionLocked(chatsDir, SESSION_ID), true)
    await assert.rejects(acquireSessionLock(chatsDir, SESSION_ID), SessionLockedError)
    const { code, owner } = await exclusively(chatsDir, filePath)
    assert.equal(code, 'ESESSIONLOCKED')
    assert.equal(owner?.pid, holder.pid)
  } finally {
    await holder.kill()
  }
  assert.equal(await isSessionLocked(chatsDir, SESSION_ID), false)
  await (await acquireSessionLock(chatsDir, SESSION_ID)).release()
  assert.equal(await exclusively(chatsDir, filePath), null)
  const { history } = await replaySession(filePath, PROJECT)
  assert.deepEqual(history, [say('human', 'Held'), say('ai', 'Mine now')])
}

/** @returns the warning of a recorder that could not resume the file; `null` if it could */
async function exclusively(chatsDir, filePath) {
  let warning = null
  const onWarning = (found) => (warning = found)
  const recorder = new SessionRecordingService(configOf(chatsDir, { sessionId: 'held', exclusive: true, onWarning }))
  recorder.initializeForResume(filePath, 2)
  recorder.recordContent(say('ai', 'Mine now'))
  await recorder.dispose()
  return warning
}

async function startHolder(chatsDir) {
  const told = join(chatsDir, 'held.json')
  const program = process.env.SMOKE_RUNTIME ?? process.execPath
  // Its output is not read: under Wine it gets lost in a pipe.
  const child = spawn(program, [process.argv[1]], { env: { ...process.env, SMOKE_HOLD: chatsDir }, stdio: 'inherit' })
  const ended = new Promise((resolve) =>
    child.on('exit', (code, signal) => resolve(`${code ?? signal}`)).on('error', (error) => resolve(error.message)),
  )
  const reason = await Promise.race([ended, appears(told)])
  assert.equal(reason, undefined, `the process that holds the locks ended: ${reason}`)
  const { filePath, pid } = JSON.parse(readFileSync(told, 'utf8'))
  const kill = async () => {
    process.kill(pid, 'SIGKILL')
    await ended
  }
  return { filePath, pid, kill }
}

async function appears(path) {
  const end = Date.now() + PROCESS_MS
  while (!existsSync(path)) {
    assert.ok(Date.now() < end, `${path} does not appear`)
    await wait(20)
  }
}

async function holdLocks(chatsDir) {
  await acquireSessionLock(chatsDir, SESSION_ID)
  const recorder = new SessionRecordingService(configOf(chatsDir, { sessionId: 'held', exclusive: true }))
  recorder.recordContent(say('human', 'Held'))
  await recorder.flush()
  const told = join(chatsDir, 'held.json')
  writeFileSync(`${told}.part`, JSON.stringify({ filePath: recorder.getFilePath(), pid: process.pid }))
  renameSync(`${told}.part`, told)
  await wait(2 * PROCESS_MS)
}

async function checkBundle(session, chatsDir, name) {
  const [bundle, imported] = [join(chatsDir, name), join(chatsDir, `imported-${name}`)]
  await exportBundle(session, bundle)
  assert.equal((await verifyBundle(bundle)).ok, true)
  await importBundle(bundle, imported)
  assert.equal(await diff(session, imported), null, 'the imported session differs')
}

/** A file that was edited on Windows. */
async function checkLineEnds(session, chatsDir) {
  const copy = join(chatsDir, 'session-2026-02-11T16-00-smoke.jsonl')
  writeFileSync(copy, readFileSync(session, 'utf8').replaceAll('\n', '\r\n'))
  const [original, changed] = [await replaySession(session), await replaySession(copy)]
  assert.equal(changed.ok, true, changed.error)
  assert.deepEqual(changed.history, original.history)
}

/** Different spellings of the same path on Windows. */
async function checkSpellings(session, chatsDir) {
  if (process.platform !== 'win32') return
  const spellings = (path) => [
    path.replaceAll('\\', '/'),
    path[0].toLowerCase() + path.slice(1),
    `\\\\?\\${path}`,
    path.toUpperCase(),
  ]
  assert.match(parse(session).root, /^[A-Z]:\\$/)
  const { history } = await replaySession(session)
  for (const path of spellings(session)) assert.deepEqual((await replaySession(path)).history, history, path)
  const lock = await acquireSessionLock(chatsDir, SESSION_ID)
  for (const path of spellings(chatsDir))
    await assert.rejects(acquireSessionLock(path, SESSION_ID), SessionLockedError, path)
  await lock.release()
}

async function checkRun(chatsDir) {
  const directory = join(chatsDir, 'run')
  const workflow = { name: 'smoke', version: '1', nodes: [{ id: 'a', kind: 'task' }] }
  const recorder = new RunRecorder({ directory, runId: 'smoke', workflow, scheduler: 'external' })
  recorder.append({ kind: 'RunStarted', payload: { workers: [{ id: 'w', capabilities: [] }] } })
  recorder.append({ kind: 'Heartbeat', payload: { worker: 'w', status: 'idle' } })
  await recorder.snapshot()
  await recorder.dispose()
  const report = await verifyRun(directory)
  assert.equal(report.ok, true, JSON.stringify(report))
  // Including the two events that the recorder itself appends: at the beginning and for the snapshot.
  assert.equal((await replayRun(directory)).eventCount, 4)
  await checkBundle(directory, chatsDir, 'run.cath-bundle.tar.zst')
}
