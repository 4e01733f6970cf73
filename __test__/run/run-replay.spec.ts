// replayRun: its result, its options, and paths that are not runs.

import { getEventListeners } from 'node:events'
import { generateKeyPairSync } from 'node:crypto'
import { mkdirSync, rmSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { beforeAll, describe, expect } from 'vitest'
import { test } from '../support/property'
import { replayRun, verifyRun } from '../../index.js'
import type { Progress } from '../../index.js'
import { eachCase } from '../support/each-case.js'
import { isLinux } from '../support/processes.js'
import {
  completedRun,
  failed,
  freshPath,
  logOf,
  logWith,
  notRuns,
  replayOf,
  replayed,
  runUntil,
  startedRun,
  stateAt,
  withRun,
} from '../support/run-directory.js'
import { PlainRun, rechained } from '../support/plain-run-engine.mjs'

describe('the result of a replay', () => {
  test('has exactly the documented members', () => {
    const run = completedRun()
    return withRun(run, async (directory) => {
      const { metrics, ...result } = replayed(await replayRun(directory))
      expect(result).toStrictEqual({
        ok: true,
        state: run.states.at(-1),
        eventCount: run.time,
        fromSnapshot: null,
        warnings: [],
      })
      expect(metrics).toStrictEqual({
        events: run.time,
        bytes: statSync(logOf(directory)).size,
        seconds: expect.any(Number),
      })
      expect(metrics.seconds).toBeGreaterThan(0)
    })
  })

  test('has the same state hash for another id, other times and other salts', async () => {
    const other = new PlainRun({
      ...completedRun(),
      runId: 'other',
      scheduler: 'round-robin',
      saltOf: () => 'ab'.repeat(16),
      tsOf: () => 'x',
    })
    const run = completedRun()
    for (const { kind, node, parent, payload } of run.events.slice(1))
      other.append(kind as never, JSON.parse(payload), { node, parent })
    const [left, right] = [replayed(await replayOf(run)), replayed(await replayOf(other))]
    expect(left.state.stateHash).toBe(right.state.stateHash)
    expect(run.hashes.at(-1)).not.toBe(other.hashes.at(-1))
  })
})

describe('until', () => {
  const run = completedRun()
  const last = run.time - 1

  test('replays the whole run if it is beyond the end, Infinity or undefined', () =>
    eachCase([last + 1, Number.MAX_SAFE_INTEGER, Infinity, undefined], async (until) => {
      expect(replayed(await replayOf(run, { until })).state).toStrictEqual(run.states.at(-1))
    }))

  test('ignores the lines after it', async () => {
    const log = `${run.lines.slice(0, 4).join('\n')}\ngarbage\n`
    expect(replayed(await replayOf(run, { until: 3, verify: 'full' }, log)).eventCount).toBe(4)
    expect(failed(await replayOf(run, { until: 4 }, log)).error).toMatchObject({
      code: 'NotAJsonLine',
      time: 4,
      eventId: 'evt_4',
    })
  })
})

describe('verify', () => {
  const run = completedRun()
  const at = run.events.findIndex(({ kind }) => kind === 'ToolCompleted')
  const assigned = run.events.findIndex(({ kind }) => kind === 'TaskAssigned')
  const log = (lines: string[]) => `${lines.join('\n')}\n`

  test('none checks no hashes, chain those of lines and payloads', async () => {
    const changed = log(run.lines).replace('"call":"c1","requestHash":"q"', '"call":"c1","requestHash":"x"')
    expect(replayed(await replayOf(run, { verify: 'none' }, changed)).state).toStrictEqual(run.states.at(-1))
    for (const verify of [undefined, 'chain', 'full'] as const) {
      const { error, state } = failed(await replayOf(run, { verify }, changed))
      expect(error).toMatchObject({ code: 'ChainBroken', time: at - 1, eventId: `evt_${at - 1}` })
      expect([error.expected, error.found]).toStrictEqual([
        expect.stringMatching(/^[0-9a-f]{64}$/),
        expect.stringMatching(/^[0-9a-f]{64}$/),
      ])
      expect(state).toStrictEqual(stateAt(run, at - 2))
    }
  })

  test('full finds a missing output, chain does not look for it', () =>
    withRun(run, async (directory) => {
      rmSync(`${directory}/blobs`, { recursive: true })
      expect((await replayRun(directory)).ok).toBe(true)
      const { error, state } = failed(await replayRun(directory, { verify: 'full' }))
      expect(error).toMatchObject({ code: 'BlobMissing', time: at })
      expect(state).toStrictEqual(stateAt(run, at - 1))
    }))

  test('full finds an assignment that contradicts the scheduler, chain does not check it', async () => {
    const payload = { task: 'build#1', worker: 'w2' }
    const other = runUntil('NodeScheduled', 'round-robin')
    const events = logWith(other, 'TaskAssigned', payload)
    expect((await replayOf(other, {}, events)).ok).toBe(true)
    const { error } = failed(await replayOf(other, { verify: 'full' }, events))
    expect(error).toMatchObject({
      code: 'ScheduleMismatch',
      time: assigned,
      expected: "'build#1' to 'w1'",
      found: "'build#1' to 'w2'",
    })
  })

  test('the earliest of several faults is reported', async () => {
    const events = run.events.slice()
    events[4] = { ...events[4]!, stateHash: 'e'.repeat(64) }
    events[7] = { ...events[7]!, kind: 'NodeVanished' }
    const { error, state } = failed(await replayOf(run, { verify: 'full' }, log(rechained(events))))
    expect(error).toMatchObject({ code: 'StateMismatch', time: 4 })
    expect(state).toStrictEqual(stateAt(run, 3))
    expect(failed(await replayOf(run, { verify: 'chain' }, log(rechained(events)))).error).toMatchObject({
      code: 'UnknownKind',
      time: 7,
    })
  })
})

describe('a line', () => {
  const run = startedRun()
  const good = run.lines[1]!
  const withLine = (line: string | Buffer) =>
    Buffer.concat([Buffer.from(`${run.lines[0]}\n`), Buffer.from(line), Buffer.from('\n')])

  test('that does not have the required form is refused with a code that says why', () =>
    eachCase(
      [
        ['', 'NotAJsonLine'],
        ['garbage', 'NotAJsonLine'],
        ['[]', 'NotAJsonLine'],
        [good.slice(0, -1), 'NotAJsonLine'],
        [`${good}}`, 'NotAJsonLine'],
        [`\ufeff${good}`, 'NotAJsonLine'],
        [`${good}\r`, 'NotCanonical'],
        [` ${good}`, 'NotCanonical'],
        [good.replace('"time":1', '"time": 1'), 'NotCanonical'],
        [good.replace('"kind":"RunStarted","node":null', '"node":null,"kind":"RunStarted"'), 'NotCanonical'],
        [good.replace('"v":1', '"v":1,"w":1'), 'NotCanonical'],
        [good.replace('"v":1', '"v":2'), 'UnsupportedVersion'],
        [good.replace('"v":1', '"v":"1"'), 'UnsupportedVersion'],
        [good.replace(/"ts":"[^"]*",/, ''), 'MissingField'],
        [good.replace('"node":null,', ''), 'MissingField'],
        [good.replace(/"salt":"[^"]*",/, ''), 'MissingField'],
        [good.replace('"time":1', '"time":1.0'), 'InvalidField'],
        [good.replace('"time":1', '"time":01'), 'NotAJsonLine'],
        [good.replace('"parent":0', '"parent":"evt_0"'), 'InvalidField'],
        [good.replace('"node":null', '"node":7'), 'InvalidField'],
        [good.replace(/"stateHash":"./, '"stateHash":"X'), 'InvalidField'],
        [good.replace(/"salt":"../, '"salt":"'), 'InvalidField'],
        [good.replace(/"payload":.*/, '"payload":[]}'), 'InvalidField'],
        [Buffer.from(good.replace('w1', '\u00ff'), 'latin1'), 'NotAJsonLine'],
        [good.replace('w1', '\\ud800\\u0061\\x'), 'NotAJsonLine'],
      ] as const,
      async ([line, code]) => {
        const { error, state } = failed(await replayOf(run, { verify: 'none' }, withLine(line)))
        expect([error.code, error.time, error.eventId]).toStrictEqual([code, 1, 'evt_1'])
        expect(state).toStrictEqual(stateAt(run, 0))
        // With hashes verified, a changed line that can be parsed is reported as ChainBroken, whatever else is wrong with it.
        const chained = failed(await replayOf(run, {}, withLine(line)))
        expect([code, 'ChainBroken']).toContain(chained.error.code)
        expect([chained.error.time, chained.state]).toStrictEqual([1, stateAt(run, 0)])
      },
    ))

  test('may be up to 16 MiB long, and not a byte longer', async () => {
    const limit = 16 * 1024 * 1024
    const run = startedRun()
    const line = (padding: string) => logWith(run, 'Error', { code: 'E', message: padding, recoverable: true })
    const room = limit - (line('').length - run.log.length - 1)
    expect(replayed(await replayOf(run, {}, line('x'.repeat(room)))).eventCount).toBe(3)
    const { error, state } = failed(await replayOf(run, {}, line('x'.repeat(room + 1))))
    expect(error).toMatchObject({ code: 'TooLarge', time: 2, eventId: 'evt_2' })
    expect(state).toStrictEqual(run.states.at(-1))
  })

  test('may be nested to any depth', async () => {
    const run = startedRun()
    const depth = 100_000
    const deep = `${'['.repeat(depth)}${']'.repeat(depth)}`
    const log = logWith(run, 'Error', { code: 'E', message: 'm', recoverable: true, deep: 'DEEP' }).replace(
      '"DEEP"',
      deep,
    )
    expect(replayed(await replayOf(run, { verify: 'none' }, log)).eventCount).toBe(3)
  })
})

describe('a path that is not a run', () => {
  test('is reported with what it is instead', () =>
    eachCase(notRuns, async ([, make, message]) => {
      const path = make(freshPath())
      for (const options of [{}, { fromSnapshot: 'latest' }, { verify: 'full' }] as const) {
        const error = { code: 'NotARun', message: expect.stringMatching(message) }
        expect(failed(await replayRun(path, options))).toStrictEqual({ ok: false, error, state: null, warnings: [] })
        const { ok, chain } = await verifyRun(path)
        expect([ok, chain]).toStrictEqual([false, { checked: 1, failed: 1, unverifiable: 0, firstFailure: error }])
      }
    }))

  test('fails with the code and message of the system error', () =>
    eachCase(
      [
        [
          'nothing there',
          () => freshPath(),
          'ENOENT',
          /^ENOENT: no such file or directory, open '.*run-\d+'\. A run is the directory that a RunRecorder recorded to/,
        ],
        [
          'below a file',
          (path: string) => (writeFileSync(path, ''), join(path, 'run')),
          'ENOTDIR',
          /^ENOTDIR: not a directory, open '.*run'\. A run is/,
        ],
        [
          'a directory for a log',
          (path: string) => {
            completedRun().write(path)
            unlinkSync(logOf(path))
            mkdirSync(logOf(path))
            return path
          },
          'EISDIR',
          /^EISDIR: illegal operation on a directory, read$/,
        ],
        [
          'without its log',
          (path: string) => (completedRun().write(path), unlinkSync(logOf(path)), path),
          'ENOENT',
          /events\.cath-log/,
        ],
        ['a name with a zero', () => 'a\0b', 'EINVAL', /EINVAL/],
      ] as [string, (path: string) => string, string, RegExp][],
      async ([, make, code, message]) => {
        const path = make(freshPath())
        const result = failed(await replayRun(path))
        expect(result).toMatchObject({
          ok: false,
          error: { code, message: expect.stringMatching(message) },
          state: null,
          warnings: [],
        })
        expect(result.error.errno).toBeTypeOf('number')
        expect(result.error).not.toHaveProperty('eventId')
        const { ok, chain } = await verifyRun(path)
        expect([ok, chain.failed > 0]).toStrictEqual([false, true])
      },
    ))

  test('does not block if it has a pipe for a log', async ({ skip }) => {
    if (!isLinux) return skip('no mkfifo')
    const { execFileSync } = await import('node:child_process')
    await withRun(completedRun(), async (directory) => {
      unlinkSync(logOf(directory))
      execFileSync('mkfifo', [logOf(directory)])
      expect((await replayRun(directory)).ok).toBe(false)
      expect((await verifyRun(directory)).ok).toBe(false)
    })
  })

  test('fails for an empty log, and for one with only a torn line', () =>
    eachCase(['', completedRun().lines[0]!], async (log) => {
      for (const verify of ['none', 'chain', 'full'] as const) {
        expect(failed(await replayOf(completedRun(), { verify }, log))).toMatchObject({
          error: { code: 'EmptyLog' },
          state: null,
        })
      }
    }))

  test('fails for a damaged graph, and for another one', () =>
    eachCase(
      [
        ['', 'WorkflowInvalid'],
        ['{"edges":[], "nodes":[]}', 'WorkflowInvalid'],
        ['{"edges":[],"nodes":[]}', 'DagMismatch'],
        ['['.repeat(100_000), 'WorkflowInvalid'],
      ],
      ([dag, code]) =>
        withRun(completedRun(), async (directory) => {
          writeFileSync(`${directory}/dag.json`, dag!)
          expect(failed(await replayRun(directory))).toMatchObject({ error: { code }, state: null })
        }),
    ))
})

describe('arguments', () => {
  const call = replayRun as (...args: unknown[]) => Promise<unknown>
  const verify = verifyRun as (...args: unknown[]) => Promise<unknown>
  const { publicKey: rsa } = generateKeyPairSync('rsa', {
    modulusLength: 1024,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })

  test('of the wrong type synchronously throw a TypeError that names them', () =>
    eachCase(
      [
        [/path must be a string/, 7],
        [/path/, undefined],
        [/path/, new URL('file:///a')],
        [/options/, 'a', 7],
        [/options/, 'a', null],
        [/options\.signal/, 'a', { signal: {} }],
        [/options\.onProgress/, 'a', { onProgress: 'log' }],
        [/options\.trustedKeys/, 'a', { trustedKeys: 'key' }],
        [/options\.trustedKeys/, 'a', { trustedKeys: [7] }],
        [/options\.trustedKeys\[0\] must be the PEM text of an Ed25519 public key/, 'a', { trustedKeys: ['key'] }],
        [/options\.trustedKeys\[0\]/, 'a', { trustedKeys: [rsa] }],
      ] as [RegExp, ...unknown[]][],
      ([message, ...args]) => {
        for (const one of [call, verify]) {
          expect(() => one(...args)).toThrow(TypeError)
          expect(() => one(...args)).toThrow(message)
        }
      },
    ))

  test('of replayRun alone throw such a TypeError too', () =>
    eachCase(
      [
        ['until', -1],
        ['until', 1.5],
        ['until', NaN],
        ['until', '7'],
        ['until', 7n],
        ['until', null],
        ['verify', 'all'],
        ['verify', true],
        ['verify', null],
        ['fromSnapshot', 7],
        ['fromSnapshot', null],
        ['fromSnapshot', true],
      ] as const,
      ([name, value]) => {
        expect(() => call('a', { [name]: value })).toThrow(TypeError)
        expect(() => call('a', { [name]: value })).toThrow(new RegExp(`options\\.${name}`))
      },
    ))

  test('undefined is the same as leaving an option out', async () => {
    const options = {
      fromSnapshot: undefined,
      until: undefined,
      verify: undefined,
      trustedKeys: undefined,
      signal: undefined,
      onProgress: undefined,
    }
    expect(replayed(await replayOf(completedRun(), options)).state).toStrictEqual(completedRun().states.at(-1))
  })
})

describe('a long run', () => {
  let directory: string
  const EVENTS = 30_000
  beforeAll(() => {
    const run = startedRun()
    directory = run.write(freshPath())
    // Copies of one event with its state hash: computing the state hash of each would take too long.
    const model = {
      ...run.events.at(-1)!,
      kind: 'BlobStored',
      payload: JSON.stringify({ blob: 'b'.repeat(64), size: 1 }),
    }
    const more = Array.from({ length: EVENTS - run.time }, (_, at) => ({ ...model, time: run.time + at, parent: 1 }))
    writeFileSync(logOf(directory), `${rechained([...run.events, ...more]).join('\n')}\n`)
  })

  test('reports progress, and finally the total', async () => {
    const total = statSync(logOf(directory)).size
    for (const start of [replayRun, verifyRun]) {
      const seen: Progress[] = []
      await start(directory, { onProgress: (progress) => seen.push({ ...progress }) })
      expect(seen.length).toBeGreaterThan(1)
      expect(seen.at(-1)).toStrictEqual({ bytes: total, total })
      const bytes = seen.map((progress) => progress.bytes)
      expect(bytes).toStrictEqual(bytes.toSorted((a, b) => a - b))
    }
  })

  test('rejects with the reason of an aborted signal, and leaves no listener', async () => {
    for (const start of [replayRun, verifyRun]) {
      const controller = new AbortController()
      const reason = new Error('enough')
      const onProgress = () => controller.abort(reason)
      await expect(start(directory, { signal: controller.signal, onProgress })).rejects.toBe(reason)
      expect(getEventListeners(controller.signal, 'abort')).toStrictEqual([])
      await expect(start(directory, { signal: controller.signal })).rejects.toBe(reason)
    }
  })

  test('leaves no listener when it is done, and rejects with what onProgress throws', async () => {
    const { signal } = new AbortController()
    expect(replayed(await replayRun(directory, { signal })).eventCount).toBe(EVENTS)
    expect(getEventListeners(signal, 'abort')).toStrictEqual([])
    const error = new Error('thrown')
    const onProgress = () => {
      throw error
    }
    await expect(replayRun(directory, { onProgress })).rejects.toBe(error)
  })

  test('has the same result in concurrent replays', async () => {
    const results = await Promise.all(Array.from({ length: 8 }, () => replayRun(directory, { verify: 'chain' })))
    expect(new Set(results.map((result) => replayed(result).state.stateHash)).size).toBe(1)
  })
})

describe('the library', () => {
  test('replays in a worker thread, which may be terminated meanwhile', () => {
    const run = completedRun()
    return withRun(run, async (directory) => {
      const code = `
        const { parentPort, workerData } = require('node:worker_threads');
        const { replayRun } = require(workerData.module);
        replayRun(workerData.directory).then((result) => parentPort.postMessage(result));
        for (let n = 0; n < 20; n++) replayRun(workerData.directory, { verify: 'full' });`
      const workerData = { directory, module: createRequire(import.meta.url).resolve('../../index.js') }
      const worker = new Worker(code, { eval: true, workerData })
      const result = await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
      expect(result).toMatchObject({ ok: true, state: run.states.at(-1) })
      await worker.terminate()
    })
  })
})
