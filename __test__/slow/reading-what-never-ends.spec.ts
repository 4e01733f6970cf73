// Input that never ends or never begins: pipes, sockets and devices in place of files, and lines without an end. Each call is made in a
// process of its own, which must report how the call ended and then exit by itself.

import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { GOLDEN_RUN, sessionTapeProcess } from '../support/command-line.js'
import { childReport, isLinux, runChild } from '../support/processes.js'
import { canFail, library } from '../support/system-faults.js'
import { PROJECT_HASH, content, envelope, session, sessionDirectory, writeSession } from '../support/session-file.js'

const MIB = 1 << 20
const canMakePipes = isLinux && spawnSync('mkfifo', ['--version']).status === 0

interface Report {
  resolved?: unknown
  rejected?: { message: string; code?: string }
  grown: number
}

/** Calls a function of the API in a process of its own. `'signal'` in the arguments is a signal that is aborted after `abortAfter` milliseconds. */
const called = (
  name: string,
  args: unknown[],
  abortAfter: number | 'never' = 'never',
  wrapper: string[] = [],
): Promise<Report> =>
  childReport<Report>('child-reading.mjs', [name, String(abortAfter), JSON.stringify(args)], { wrapper })

/** The same on file systems that can't tell holes from data. */
const calledWithoutHoles = (name: string, args: unknown[], abortAfter: number): Promise<Report> =>
  called(name, args, abortAfter, ['env', `LD_PRELOAD=${library()}`, 'FAULT_HOLES=1'])

let made = 0
const freshPath = (name = 'x'): string => join(sessionDirectory(), `never-ends-${(made += 1)}-${name}`)

function pipe(path = freshPath('pipe')): string {
  rmSync(path, { force: true, recursive: true })
  execFileSync('mkfifo', [path])
  return path
}

/** A sparse file: a beginning, followed by a tebibyte of zeros, which take no space and more time to read than any test has. */
function endless(beginning: string, path = freshPath('endless')): string {
  writeFileSync(path, beginning)
  truncateSync(path, 2 ** 40)
  return path
}

/** A copy of an intact run with one of its files replaced. */
function runWith(file: string, put: (path: string) => unknown): string {
  const directory = freshPath('run')
  cpSync(GOLDEN_RUN, directory, { recursive: true })
  put(join(directory, file))
  return directory
}

const ABORTED = { rejected: { message: 'as wanted' } }
/** The error about a file of a recording. */
const isPipe = (path: string) => `EINVAL: a pipe, not a regular file, open '${path}'`
/** The error about a recording. */
const isNoFile = (path: string, what = 'a pipe') =>
  `EINVAL: ${what}, not a regular file; write its content to a file first, open '${path}'`

describe.skipIf(!canMakePipes)('a pipe without a writer', () => {
  test('is refused at once by every function that reads a session, and named', async () => {
    const path = pipe(freshPath('session-pipe.jsonl'))
    const other = writeSession(session(content('a')))
    const directory = dirname(pipe(join(mkdirSync(freshPath('directory'), { recursive: true })!, 'session-pipe.jsonl')))
    const words = isNoFile(path)
    const needed = { chatsDir: directory, projectHash: PROJECT_HASH }
    const calls: [call: [string, ...unknown[]], answer: object | null][] = [
      [['replaySession', path], { value: { ok: false, error: `Failed to read file: ${words}`, warnings: [] } }],
      [['openSession', path], { value: { ok: false, error: `Failed to read file: ${words}` } }],
      [['readSessionHeader', path], { value: null }],
      [['readSessionPreview', path], { value: { hasContent: false } }],
      [['readSessionTitle', path], {}],
      [['detectSessionFormat', path], { code: 'EINVAL', message: words }],
      [['listConversations', path], { code: 'EINVAL', message: words }],
      [['listCheckpoints', path, PROJECT_HASH], { message: `Failed to read file: ${words}` }],
      [['diff', path, other], { message: expect.stringContaining(words) }],
      [['diff', other, path], { message: expect.stringContaining(words) }],
      [['traceAncestors', path, 'rec_0'], { message: expect.stringContaining(words) }],
      [['exportBundle', path, freshPath('out')], { message: expect.stringContaining(path) }],
      [['repairSession', path, freshPath('out')], { message: expect.stringContaining(path) }],
      [['importSession', path, needed], { message: expect.stringContaining(path) }],
      [['exportSession', path, freshPath('out'), { format: 'atif' }], { message: expect.stringContaining(path) }],
      [['archiveSession', path], { message: expect.stringContaining(path) }],
      [['listSessions', directory], { value: { sessions: [], unreadable: [{ reason: 'Not a file' }] } }],
      [['describeSessions', directory], { value: { sessions: [], unreadable: [{ reason: 'Not a file' }] } }],
      [['verifyBundle', path], {}],
      [['importBundle', path, freshPath('out')], { code: expect.anything() }],
    ]
    const { stdout, stderr } = await runChild('child-call.mjs', [JSON.stringify(calls.map(([call]) => call))])
    const found = JSON.parse(stdout || 'null') as object[] | null
    expect(stderr).toBe('')
    calls.forEach(([call, answer], at) => expect(found![at], call[0]).toMatchObject(answer!))
    expect(await called('readSessionRecords', [path])).toMatchObject({ rejected: { code: 'EINVAL', message: words } })
  })

  test('does not block the functions that read a run in place of one of its files', async () => {
    for (const file of ['events.cath-log', 'dag.json', 'workflow.json']) {
      const directory = runWith(file, pipe)
      const reports = await Promise.all([
        called('replayRun', [directory]),
        called('verifyRun', [directory]),
        called('diff', [directory, GOLDEN_RUN]),
        called('exportBundle', [directory, freshPath('out')]),
      ])
      const [replayed, verified] = reports
      if (file === 'workflow.json') expect(replayed).toMatchObject({ resolved: { ok: true } })
      else
        expect(replayed).toMatchObject({ resolved: { ok: false, error: { message: isPipe(join(directory, file)) } } })
      expect(verified).toMatchObject({ resolved: { ok: false } })
      expect(reports[3]).toMatchObject({ rejected: {} })
    }
    const directory = runWith('events.cath-log', pipe)
    const message = expect.stringContaining(isPipe(join(directory, 'events.cath-log')))
    expect(await called('readRunEvents', [directory])).toMatchObject({ rejected: { message } })
    expect(await called('diff', [GOLDEN_RUN, directory])).toMatchObject({ rejected: { message } })
    expect(await called('traceAncestors', [directory, 'evt_3'])).toMatchObject({ rejected: { message } })
  })

  test('does not block the functions that read a run in place of a snapshot or a blob', async () => {
    const directory = runWith('snapshots/snap_266.cath-snap', pipe)
    expect(await called('replayRun', [directory, { fromSnapshot: 'latest' }])).toMatchObject({
      resolved: { ok: true, warnings: [expect.stringContaining('snap_266 was passed over')] },
    })
    expect(await called('verifyRun', [directory])).toMatchObject({ resolved: { ok: false, snapshots: { failed: 1 } } })
    const blobs = join(GOLDEN_RUN, 'blobs')
    const folder = readdirSync(blobs)[0]!
    const without = runWith(join('blobs', folder, readdirSync(join(blobs, folder))[0]!), pipe)
    expect(await called('verifyRun', [without])).toMatchObject({ resolved: expect.anything() })
    expect(await called('exportBundle', [without, freshPath('out')])).toMatchObject({ rejected: {} })
  })

  test('is refused by the commands', async () => {
    const path = pipe(freshPath('pipe.jsonl'))
    for (const command of [
      ['replay', path],
      ['verify', path],
      ['inspect', path],
      ['bundle', 'export', path, freshPath('out')],
      ['diff', path, path],
      ['trace', path, 'rec_0'],
      ['repair', path],
      ['import', path, '--to', freshPath('out'), '--project', PROJECT_HASH],
      ['view', path],
    ]) {
      const ended = await sessionTapeProcess(command)
      expect([ended.signal, ended.code], command[0]).toStrictEqual([null, 2])
      expect(ended.stderr, command[0]).toContain('is not a regular file but a pipe; write its content to a file first')
    }
    const directory = runWith('events.cath-log', pipe)
    const bundle = freshPath('bundle')
    expect(await called('exportBundle', [writeSession(session(content('a'))), bundle])).toMatchObject({ resolved: {} })
    pipe(join(bundle, 'session.jsonl'))
    const inspected = await sessionTapeProcess(['inspect', runWith('snapshots/snap_266.cath-snap', pipe)])
    expect(inspected.signal, inspected.stderr).toBeNull()
    for (const command of [
      ['replay', directory],
      ['verify', directory],
      ['inspect', directory],
      ['inspect', bundle],
      ['verify', bundle],
    ]) {
      const ended = await sessionTapeProcess(command)
      expect([ended.signal, ended.code !== 0], ended.stderr).toStrictEqual([null, true])
    }
  })
})

describe.skipIf(process.platform === 'win32')('sockets and devices', () => {
  test('are refused, and named in the error', async () => {
    const path = freshPath('socket')
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(path, resolve))
    expect(await called('replaySession', [path])).toMatchObject({
      resolved: { ok: false, error: `Failed to read file: ${isNoFile(path, 'a socket')}`, warnings: [] },
    })
    expect(await called('readSessionHeader', [path])).toMatchObject({ resolved: null })
    await new Promise((resolve) => server.close(resolve))
    for (const device of ['/dev/zero', '/dev/urandom', '/dev/null']) {
      expect(await called('replaySession', [device])).toMatchObject({
        resolved: { ok: false, error: `Failed to read file: ${isNoFile(device, 'a device')}` },
      })
      expect(await called('diff', [device, device])).toMatchObject({
        rejected: { message: expect.stringContaining(isNoFile(device, 'a device')) },
      })
    }
  })
})

describe.skipIf(!canMakePipes)('a pipe with a writer', () => {
  test.each([
    ['writes nothing and stays', 'exec 3>"$0"; exec sleep 600'],
    ['never stops writing', 'exec yes > "$0"'],
  ])('that %s is not waited for, nor read', async (_, script) => {
    const path = pipe()
    const writer = spawn('sh', ['-c', script, path], { stdio: 'ignore' })
    try {
      const report = await called('replaySession', [path])
      expect(report).toMatchObject({ resolved: { ok: false, error: `Failed to read file: ${isNoFile(path)}` } })
      expect(report.grown).toBeLessThan(100 * MIB)
    } finally {
      writer.kill('SIGKILL')
    }
  })
})

// If aborts were not noticed within a line, each of these would read on for many minutes.
describe.skipIf(!canFail)('a line without an end', () => {
  const START = session().trimEnd()
  const signal = { signal: 'signal' }
  const log = (size = 2 ** 40) => runWith('events.cath-log', (path) => truncateSync(path, size))
  const file = (beginning = `${START}\n`) => endless(beginning, freshPath('session-endless.jsonl'))
  const directory = () => {
    const path = freshPath('directory')
    mkdirSync(path)
    endless(`${START}\n`, join(path, 'session-endless.jsonl'))
    return path
  }
  /** An export refuses a larger one at once. */
  const small = () => {
    const path = file()
    truncateSync(path, 2 ** 35)
    return path
  }
  const calls: [name: string, args: () => unknown[]][] = [
    ['replaySession', () => [file(''), PROJECT_HASH, signal]],
    ['replaySession', () => [file(), PROJECT_HASH, signal]],
    ['replaySession', () => [file(`${START}\n{"v":1,"type":"content","payload":"`), PROJECT_HASH, signal]],
    ['readSessionPreview', () => [file(), signal]],
    ['readSessionTitle', () => [file(), signal]],
    ['readSessionRecords', () => [file(), signal]],
    ['readSessionRecords', () => [file(), { history: true, ...signal }]],
    ['describeSessions', () => [directory(), signal]],
    ['listContinueTargets', () => [directory(), PROJECT_HASH, signal]],
    ['diff', () => [file(), file(), signal]],
    ['diff', () => [file(), file(), { full: true, ...signal }]],
    ['traceAncestors', () => [file(), 'rec_9', signal]],
    ['exportBundle', () => [small(), freshPath('out'), signal]],
    ['replayRun', () => [log(), signal]],
    ['replayRun', () => [log(), { verify: 'none', ...signal }]],
    ['verifyRun', () => [log(), signal]],
    ['diff', () => [log(), log(), signal]],
    ['traceAncestors', () => [log(), 'evt_99999', signal]],
    ['exportBundle', () => [log(), freshPath('out'), signal]],
  ]
  test.each(calls)('does not block an abort of %s, which stops reading and frees its memory', async (name, args) => {
    const report = await calledWithoutHoles(name, args(), 200)
    expect(report).toMatchObject(ABORTED)
    expect(report.grown).toBeLessThan(200 * MIB)
  })
})

test.skipIf(!isLinux)('a file that keeps growing is read up to its size when it was opened', async () => {
  const path = writeSession(session(...Array.from({ length: 20_000 }, (_, i) => content(`${i} ${'x'.repeat(100)}`))))
  const writer = spawn(
    process.execPath,
    [
      '-e',
      `
    const fs = require('node:fs');
    const line = Buffer.from(${JSON.stringify(`${envelope(9, content('more'))}\n`)}.repeat(2000));
    const file = fs.openSync(process.argv[1], 'a');
    for (let n = 0; n < 3000; n += 1) fs.writeSync(file, line);
  `,
      path,
    ],
    { stdio: 'ignore' },
  )
  try {
    for (let n = 0; n < 3; n += 1) expect(await called('openSession', [path])).toMatchObject({ resolved: { ok: true } })
  } finally {
    writer.kill('SIGKILL')
  }
})
