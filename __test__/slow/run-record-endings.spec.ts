/**
 * However a process ends, every accepted event is in the log, only pending snapshots and awaited promises keep the process alive, and no lock
 * outlives it.
 */
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fc, test } from '../support/property'
import { describe, expect } from 'vitest'
import { replayRun } from '../../index.js'
import { freshPath, logOf } from '../support/run-directory.js'
import { type Ended, canTrace, childReport, mountNamespace, runChild } from '../support/processes.js'
import { type Warning, newRecorder, noted, payloadsOf } from '../support/run-recording.js'

const CHILD = 'child-run.mjs'
const WORKFLOW = { name: 'w', version: '1', nodes: [{ id: 'a', kind: 'k' }] }
const LAST_BYTES = 12 << 20

/** Expects the log to hold exactly the events that the child appended, in order. */
function expectAllOf(directory: string, events = 5003): void {
  const messages = payloadsOf(directory)
    .slice(1)
    .map(({ message }) => message as string)
  expect(messages).toHaveLength(events - 1)
  expect(messages.slice(0, 5000)).toEqual(Array.from({ length: 5000 }, (_, i) => `é${i}`))
  expect(messages.slice(5000, 5002).map((message) => message.length)).toEqual([LAST_BYTES, LAST_BYTES])
}

describe('5 003 events that nobody awaits are all in the log when the process has ended', () => {
  const ends = (title: string, job: string, code: number): void => {
    test(title, async () => {
      const directory = freshPath()
      const ended = await runChild(CHILD, [job, directory], { execArgv: ['--expose-gc'] })
      expect(ended).toMatchObject({ code, signal: null, stderr: '' })
      expectAllOf(directory)
    })
  }

  // What the writer of sessions does at an end, which is the same one, is in record-endings.spec.ts.
  ends('process.exit right after', 'exit', 0)
  ends('a snapshot under way, then process.exit', 'snapshotWithoutAwait', 0)
  ends('events of an exit listener that is newer than the recorder, then process.exit', 'lastWordsBeforeExit', 0)
  ends('a recorder that was forgotten and collected', 'forgottenAndCollected', 0)
  ends('worker.terminate()', 'terminatedWorker', 0)

  test('a snapshot that is not awaited keeps the process alive until it is written and recorded', async () => {
    const directory = freshPath()
    const ended = await runChild(CHILD, ['snapshotAtTheEndOfMain', directory])
    expect(ended).toMatchObject({ code: 0, signal: null, stderr: '' })
    expect(payloadsOf(directory).at(-1)).toMatchObject({ snapshot: 'snap_5002', at: 5002 })
    expect(readdirSync(join(directory, 'snapshots'))).toEqual(['snap_5002.cath-snap'])
    expect(await replayRun(directory, { fromSnapshot: 'latest', verify: 'full' })).toMatchObject({
      ok: true,
      fromSnapshot: 'snap_5002',
      warnings: [],
    })
  })
})

describe('an awaited flush or dispose keeps the process alive until it resolves', () => {
  for (const job of ['awaitedFlush', 'awaitedDispose']) {
    test(`${job}, then kill -9`, async () => {
      const directory = freshPath()
      const ended = await runChild(CHILD, [job, directory])
      expect(ended).toMatchObject({ signal: 'SIGKILL', stdout: '"recorded"\n"resolved"\n' })
      expectAllOf(directory)
    })
  }
})

describe('kill -9', () => {
  test.prop([fc.integer({ min: 1, max: 90 }), fc.constantFrom('os', 'fsync')], { numRuns: 8 })(
    'every flushed event is in the log, at most its last line is torn, and the run can be resumed',
    async (acknowledgements, durability) => {
      const directory = freshPath()
      let seen = 0
      const ended: Ended = await runChild(CHILD, ['acknowledging', directory, durability], {
        onLine: (_, kill) => {
          if (seen++ === acknowledgements) kill('SIGKILL')
        },
      })
      expect(ended.signal).toBe('SIGKILL')
      const acknowledged = Math.max(...ended.stdout.slice(0, ended.stdout.lastIndexOf('\n')).split('\n').map(Number))
      const log = readFileSync(logOf(directory))
      const torn = log.length - log.lastIndexOf(10) - 1

      const { recorder, warnings } = newRecorder({ directory, workflow: WORKFLOW, scheduler: 'external', resume: true })
      const { logicalTime } = recorder.append(noted('after the crash'))
      expect(logicalTime).toBeGreaterThan(acknowledged)
      await recorder.dispose()
      expect(warnings).toEqual(
        torn === 0
          ? []
          : [
              {
                code: 'TornTail',
                message: expect.stringContaining(`${torn} bytes`),
                filePath: logOf(directory),
                eventsDropped: 1,
              },
            ],
      )
      const result = await replayRun(directory, { verify: 'full' })
      expect(result).toMatchObject({ ok: true, eventCount: logicalTime + 1, warnings: [] })
      for (const file of readdirSync(join(directory, 'snapshots')).filter((name) => name.startsWith('snap_'))) {
        const id = file.slice(0, -'.cath-snap'.length)
        expect(await replayRun(directory, { fromSnapshot: id })).toMatchObject({
          ok: true,
          fromSnapshot: id,
          warnings: [],
        })
      }
    },
  )
})

describe('one recorder per log', () => {
  const child = (job: string, directory: string, ...rest: string[]) =>
    childReport<{ code: string | null; owner?: unknown; path?: string }>(CHILD, [job, directory, ...rest])

  test('is enforced between processes: ERUNLOCKED names the owner until it is disposed', async () => {
    const directory = freshPath()
    const { recorder } = newRecorder({ directory, workflow: WORKFLOW, scheduler: 'external' })
    const owner = { pid: process.pid, startTime: expect.stringMatching(/^\d{4}-.*Z$/), host: expect.any(String) }
    expect(await child('tryIt', directory, 'resume')).toEqual({ code: 'ERUNLOCKED', owner, path: logOf(directory) })
    expect(await child('tryIt', directory)).toMatchObject({ code: 'EEXIST' })
    await recorder.dispose()
    expect(await child('tryIt', directory, 'resume')).toEqual({ code: null })
  })

  test('a killed owner does not block the next one', async () => {
    const directory = freshPath()
    const config = { directory, workflow: WORKFLOW, scheduler: 'external' as const, resume: true }
    let refused: unknown
    const ended = await runChild(CHILD, ['hold', directory], {
      onLine: (line, kill) => {
        try {
          newRecorder(config)
        } catch (error) {
          refused = { error, pid: (JSON.parse(line) as { pid: number }).pid }
        }
        kill('SIGKILL')
      },
    })
    expect(ended.signal).toBe('SIGKILL')
    const { pid } = refused as { pid: number }
    expect(refused).toMatchObject({ error: { code: 'ERUNLOCKED', owner: { pid } } })
    const { recorder } = newRecorder(config)
    expect(recorder.append(noted()).logicalTime).toBe(2)
    await recorder.dispose()
    expect(existsSync(`${logOf(directory)}.lock`)).toBe(false)
  })
})

test.skipIf(!canTrace).each(['os', 'fsync'])(
  'durability %s: fsync syncs everything before it is acknowledged, os syncs nothing',
  async (durability) => {
    const directory = freshPath()
    const trace = `${directory}.trace`
    const wrapper = ['strace', '-f', '-y', '-o', trace, '-e', 'trace=write,writev,fsync,fdatasync,rename']
    expect(await runChild(CHILD, ['traced', directory, durability], { wrapper })).toMatchObject({ code: 0 })
    const calls = readFileSync(trace, 'utf8').split('\n')
    const upTo = (mark: string): string[] =>
      calls.slice(
        0,
        calls.findIndex((call) => call.includes(`"\\"${mark}\\"`)),
      )
    const synced = (before: string, path: string): number =>
      upTo(before).filter((call) => call.includes('sync(') && call.includes(`<${path}>`)).length
    const syncsOf = (before: string, part: string): number =>
      upTo(before).filter((call) => /sync\(\d+</.test(call) && call.includes(part)).length
    if (durability === 'os') {
      expect(calls.filter((call) => call.includes('sync('))).toEqual([])
      return
    }
    // The entries of the directory are durable before the recorder is used, that of the log before the first flush resolves.
    expect(synced('made', directory)).toBeGreaterThanOrEqual(2)
    expect(synced('flushed', directory)).toBeGreaterThan(synced('made', directory))
    expect(synced('flushed', logOf(directory))).toBeGreaterThanOrEqual(1)
    expect(synced('flushed', logOf(directory))).toBeLessThan(32)
    const written = upTo('flushed')
    const isLog = (call: string) => call.includes(`<${logOf(directory)}>`)
    expect(written.findLastIndex((call) => isLog(call) && call.includes('sync('))).toBeGreaterThan(
      written.findLastIndex((call) => isLog(call) && call.includes('write')),
    )
    expect(syncsOf('stored', '/blobs/')).toBeGreaterThanOrEqual(2)
    expect(syncsOf('taken', '/snapshots')).toBeGreaterThanOrEqual(2)
  },
)

test.skipIf(mountNamespace === null)(
  'a full disk (needs a mount name space): the log ends with a whole event, events are checked, and the run can be resumed later',
  async () => {
    const report = await childReport<{
      flush: string
      active: boolean
      warnings: Warning[]
      log: string
      later: number
      refused: string
      snapshot: unknown
      grown: boolean
      next: number
      after: unknown
    }>(CHILD, ['full', join(freshPath(), 'run')], { wrapper: mountNamespace! })
    const lines = report.log.split('\n')
    expect(lines.pop()).toBe('')
    expect(lines.map((line) => JSON.parse(line).time)).toEqual(lines.map((_, i) => i))
    expect(lines.length).toBeGreaterThanOrEqual(2)
    expect(lines.length).toBeLessThan(12)
    expect(report).toMatchObject({
      flush: 'resolved',
      active: false,
      later: 12,
      refused: 'MissingField',
      snapshot: { code: 'ENOSPC', syscall: 'write' },
      grown: false,
    })
    expect(report.warnings).toMatchObject([{ code: 'ENOSPC', eventsDropped: 12 - lines.length }])
    expect(report.next).toBe(lines.length)
    expect(report.after).toEqual({ ok: true, eventCount: lines.length + 1 })
  },
)

test.skipIf(mountNamespace === null)(
  'a disk without room for a snapshot or a blob (needs a mount name space): both fail with ENOSPC, leave no files, and do not affect the log',
  async () => {
    const report = await childReport<Record<string, unknown>>(CHILD, ['crowded', join(freshPath(), 'run')], {
      wrapper: mountNamespace!,
    })
    const noRoom = { code: 'ENOSPC', syscall: 'write' }
    const passed = (checked: number) => ({ checked, failed: 0, unverifiable: 0 })
    expect(report).toEqual({
      first: 'snap_0',
      refused: { snapshot: noRoom, blob: noRoom, recorder: noRoom },
      left: { snapshots: ['snap_0.cath-snap'], blobs: [], log: false },
      logicalTime: 2,
      active: true,
      crowded: true,
      second: 'snap_2',
      warnings: [],
      after: { ok: true, eventCount: 5, fromSnapshot: 'snap_2', warnings: [] },
      verified: { ok: true, chain: passed(5), snapshots: passed(2) },
      other: true,
    })
  },
)
