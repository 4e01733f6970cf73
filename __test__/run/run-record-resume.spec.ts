// resume: continues after the last whole line of the same run, and refuses anything else without touching it. Also: logs that can no longer be
// written.

import {
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fc, test } from '../support/property'
import { describe, expect } from 'vitest'
import { replayRun } from '../../index.js'
import { eventually } from '../support/recording.js'
import { WORKFLOW, freshPath, logOf } from '../support/run-directory.js'
import { hasDevFull } from '../support/processes.js'
import {
  type Config,
  errorOf,
  eventsOf,
  newRecorder,
  noted,
  payloadsOf,
  startedRecorder,
} from '../support/run-recording.js'
import { runs } from '../support/session-arbitraries.js'

/** A run of four events whose recorder is disposed. */
async function recordedRun(
  overrides: Partial<Config> = {},
): Promise<{ directory: string; config: Config; log: Buffer; stateHash: string }> {
  const { recorder, directory, config } = startedRecorder(overrides)
  recorder.append({ kind: 'NodeScheduled', payload: { task: 'build#1', dependsOn: [] } })
  recorder.append(noted('\u2028 last é'))
  const { stateHash } = recorder.state()
  await recorder.dispose()
  return { directory, config: { ...config, resume: true }, log: readFileSync(logOf(directory)), stateHash }
}

describe('resume', () => {
  test('continues with the same state and parents', async () => {
    const { directory, config, log, stateHash } = await recordedRun()
    const { recorder, warnings } = newRecorder(config)
    expect(recorder.state().stateHash).toBe(stateHash)
    expect(recorder.append({ kind: 'TaskAssigned', payload: { task: 'build#1', worker: 'w1' } }).eventId).toBe('evt_4')
    await recorder.dispose()
    expect(warnings).toEqual([])
    expect(eventsOf(directory).at(-1)).toMatchObject({ time: 4, parent: 2, node: 'build' })
    expect(readFileSync(logOf(directory)).subarray(0, log.length).equals(log)).toBe(true)
  })

  test('begins a run in a directory without one', async () => {
    for (const prepare of [
      () => {},
      mkdirSync,
      (directory: string) => {
        mkdirSync(directory)
        writeFileSync(logOf(directory), '')
      },
    ]) {
      const directory = freshPath()
      prepare(directory)
      const { recorder, warnings } = startedRecorder({ directory, resume: true })
      await recorder.dispose()
      expect(eventsOf(directory).map(({ kind }) => kind)).toEqual(['RunCreated', 'RunStarted'])
      expect(readdirSync(directory).sort()).toEqual([
        'blobs',
        'dag.json',
        'events.cath-log',
        'snapshots',
        'workflow.json',
      ])
      expect(warnings).toEqual([])
    }
  })

  test.prop([fc.nat()], runs(40))('cuts off a torn line, with a warning', async (place) => {
    const { directory, config, log } = await recordedRun()
    const cut = place % log.length
    truncateSync(logOf(directory), cut)
    const whole = log.subarray(0, cut).lastIndexOf(10) + 1
    const { recorder, warnings } = newRecorder(config)
    const events = log.subarray(0, whole).filter((byte) => byte === 10).length
    expect(recorder.state().coordinator.logicalTime).toBe(Math.max(events, 1) - 1)
    await recorder.dispose()
    const torn = cut - whole
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
    expect(readFileSync(logOf(directory)).subarray(0, whole).equals(log.subarray(0, whole))).toBe(true)
    expect(eventsOf(directory)).toHaveLength(Math.max(events, 1))
  })

  test.prop([fc.nat(), fc.integer({ min: 1, max: 255 })], runs(60))(
    'refuses a log with any byte changed, with the error of a replay, and changes nothing',
    async (place, flip) => {
      const { directory, config, log } = await recordedRun()
      // A change of the last byte would make the log torn, not damaged.
      const at = place % (log.length - 1)
      const damaged = Buffer.from(log)
      damaged[at]! ^= flip
      writeFileSync(logOf(directory), damaged)
      const result = await replayRun(directory, { verify: 'full' })
      if (result.ok) throw new Error('the replay found nothing')
      const error = errorOf(() => newRecorder(config))
      const { message, ...fields } = result.error
      // The message of an Error is not enumerable, so it is compared separately.
      expect(error).toMatchObject(fields)
      expect(error.message).toBe(message)
      expect(readFileSync(logOf(directory)).equals(damaged)).toBe(true)
      expect(readdirSync(directory)).not.toContain('events.cath-log.lock')
    },
  )

  test('refuses another run', async () => {
    const { directory, config, log } = await recordedRun({ capabilities: ['net', 'fs'] })
    const others: [code: string, Partial<Config>, expected: string, found: string][] = [
      ['RunMismatch', { runId: 'run-8' }, 'run-8', 'run-7'],
      ['RunMismatch', { scheduler: 'external' }, 'external', 'round-robin'],
      ['RunMismatch', { capabilities: ['net'] }, 'net', 'fs, net'],
      ['DagMismatch', { workflow: { ...WORKFLOW, nodes: [] } }, expect.any(String), expect.any(String)],
    ]
    for (const [code, other, expected, found] of others) {
      expect(errorOf(() => newRecorder({ ...config, ...other }))).toMatchObject({ code, expected, found })
    }
    // The same run in another notation is accepted.
    const shuffled = { ...WORKFLOW, name: 'another name', nodes: [...WORKFLOW.nodes].reverse() }
    const same = newRecorder({ ...config, workflow: shuffled, capabilities: ['fs', 'net', 'fs'] })
    await same.recorder.dispose()
    const silent = newRecorder({ ...config, capabilities: undefined })
    await silent.recorder.dispose()
    expect(readFileSync(logOf(directory)).equals(log)).toBe(true)
    expect(readFileSync(join(directory, 'workflow.json'), 'utf8')).toBe(JSON.stringify(WORKFLOW))
  })

  test('refuses a sealed run', async () => {
    const { directory, config } = await recordedRun()
    const manifest = join(directory, 'manifest.json')
    writeFileSync(manifest, '{}')
    expect(errorOf(() => newRecorder(config))).toMatchObject({ code: 'RunSealed', path: manifest })
    rmSync(manifest)
    await newRecorder(config).recorder.dispose()
  })

  test('reports system errors as Node does', async () => {
    const { directory, config } = await recordedRun()
    unlinkSync(logOf(directory))
    mkdirSync(logOf(directory))
    expect(errorOf(() => newRecorder(config))).toMatchObject({ code: 'EISDIR', syscall: 'read' })
  })

  test('of an ended run accepts only events that may follow the end', async () => {
    const { recorder, directory, config } = startedRecorder()
    recorder.append({ kind: 'RunFailed', payload: { code: 'E', message: 'm' } })
    await recorder.dispose()
    const resumed = newRecorder({ ...config, resume: true })
    expect(errorOf(() => resumed.recorder.append(noted()))).toMatchObject({ code: 'AfterEnd' })
    await resumed.recorder.snapshot()
    await resumed.recorder.dispose()
    expect(eventsOf(directory)).toHaveLength(4)
  })
})

describe('a log that can no longer be written', () => {
  test('because it was deleted: one warning, no new file, and events are still checked', async () => {
    const { recorder, directory, warnings } = startedRecorder()
    await recorder.flush()
    unlinkSync(logOf(directory))
    recorder.append(noted('lost'))
    await recorder.flush()
    await eventually('a warning', () => warnings.length > 0)
    expect(recorder.isActive()).toBe(false)
    expect(recorder.append(noted('in memory')).logicalTime).toBe(3)
    expect(
      errorOf(() => recorder.append({ kind: 'NodeCompleted', payload: { task: 'build#1', outputHash: 'h' } })),
    ).toMatchObject({ code: 'IllegalTransition', time: 4 })
    expect(recorder.state().coordinator.logicalTime).toBe(3)
    await expect(recorder.snapshot()).rejects.toMatchObject({ code: 'ENOENT', syscall: 'open', path: logOf(directory) })
    await recorder.dispose()
    expect(warnings).toEqual([
      {
        code: 'ENOENT',
        message: expect.stringContaining('1 event was not written'),
        filePath: logOf(directory),
        eventsDropped: 1,
      },
    ])
    expect(readdirSync(directory).sort()).toEqual(['blobs', 'dag.json', 'snapshots', 'workflow.json'])
    expect(readdirSync(join(directory, 'snapshots'))).toEqual([])
  })

  test("because it became a directory: the flush rejects with an error like Node's", async () => {
    const { recorder, directory, warnings } = startedRecorder()
    await recorder.flush()
    unlinkSync(logOf(directory))
    mkdirSync(logOf(directory))
    recorder.append(noted('lost'))
    // Blocks until the writer has failed: isActive() is false, but the warning has not reached JavaScript yet.
    for (const end = performance.now() + 100_000; recorder.isActive() && performance.now() < end; ) Math.sqrt(2)
    await expect(recorder.flush()).rejects.toMatchObject({
      code: 'EISDIR',
      syscall: 'open',
      path: logOf(directory),
      errno: -21,
    })
    expect(warnings).toMatchObject([{ code: 'EISDIR', eventsDropped: 1 }])
    expect(await recorder.flush()).toBeUndefined()
    await recorder.dispose()
  })

  test.skipIf(!hasDevFull)(
    'because a device is in its place: the flush rejects, and the warning counts the lost events',
    async () => {
      const { recorder, directory, warnings } = startedRecorder()
      await recorder.flush()
      unlinkSync(logOf(directory))
      symlinkSync('/dev/full', logOf(directory))
      for (let i = 0; i < 3; i++) recorder.append(noted())
      await expect(recorder.flush()).rejects.toMatchObject({ code: 'FileReplaced' })
      await eventually('a warning', () => warnings.length > 0)
      expect(warnings).toEqual([
        { code: 'FileReplaced', message: expect.any(String), filePath: logOf(directory), eventsDropped: 3 },
      ])
      await recorder.dispose()
    },
  )

  test('can be resumed by another recorder, without events of the first', async () => {
    const { recorder, directory, config, warnings } = startedRecorder()
    await recorder.flush()
    const log = readFileSync(logOf(directory))
    unlinkSync(logOf(directory))
    recorder.append(noted('lost'))
    await recorder.flush()
    await eventually('a warning', () => warnings.length > 0)
    writeFileSync(logOf(directory), log)
    const next = newRecorder({ ...config, resume: true })
    recorder.append(noted('in memory'))
    next.recorder.append(noted('written'))
    await Promise.all([next.recorder.dispose(), recorder.dispose()])
    expect(
      payloadsOf(directory)
        .slice(2)
        .map(({ message }) => message),
    ).toEqual(['written'])
  })

  test('an exception from onWarning becomes an uncaught exception, and the recorder does not reject', async () => {
    const thrown: unknown[] = []
    const listeners = process.listeners('uncaughtException')
    process.removeAllListeners('uncaughtException')
    process.once('uncaughtException', (error) => thrown.push(error))
    try {
      const mine = new Error('from the caller')
      const { recorder, directory } = startedRecorder({
        onWarning() {
          throw mine
        },
      })
      await recorder.flush()
      unlinkSync(logOf(directory))
      recorder.append(noted())
      expect(await recorder.flush()).toBeUndefined()
      await eventually('the exception', () => thrown.length > 0)
      expect(thrown).toEqual([mine])
      await recorder.dispose()
    } finally {
      for (const listener of listeners) process.on('uncaughtException', listener)
    }
  })
})
