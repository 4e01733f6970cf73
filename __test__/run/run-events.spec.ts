// readRunEvents: iterates over the events of a run, reading the log in batches.

import { readdirSync, readlinkSync, realpathSync, statSync, writeFileSync } from 'node:fs'
import { beforeAll, describe, expect } from 'vitest'
import { fc, test } from '../support/property'
import { readRunEvents, replayRun } from '../../index.js'
import type { RunError, RunEvent, RunEventsOptions } from '../../index.js'
import { eachCase } from '../support/each-case.js'
import { childReport, isLinux } from '../support/processes.js'
import { anyRun } from '../support/run-arbitraries.js'
import {
  completedRun,
  failed,
  freshPath,
  logOf,
  notRuns,
  startedRun,
  withRun,
  eventsIn,
} from '../support/run-directory.js'
import { anyString, runs } from '../support/session-arbitraries.js'
import { KINDS, rechained } from '../support/plain-run-engine.mjs'

/** The logical times of the events that the iterator yields before it throws, and the error. */
async function brokenTrace(
  directory: string,
  options?: RunEventsOptions,
): Promise<[times: number[], error: Error & RunError]> {
  const times: number[] = []
  try {
    for await (const { logicalTime } of readRunEvents(directory, options)) times.push(logicalTime)
  } catch (error) {
    return [times, error as Error & RunError]
  }
  throw new Error(`expected an error, found ${times.length} events`)
}

const timesOf = (events: RunEvent[]) => events.map(({ logicalTime }) => logicalTime)

describe('an event', () => {
  test('has the fields of its line, and ids for itself and its parent', () => {
    const run = completedRun()
    return withRun(run, async (directory) => {
      const [first, second] = await eventsIn(directory)
      const { payloadHash, stateHash, hash } = JSON.parse(run.lines[1]!)
      expect(Object.keys(second!)).toStrictEqual([
        'eventId',
        'logicalTime',
        'ts',
        'kind',
        'node',
        'parent',
        'payload',
        'payloadHash',
        'stateHash',
        'hash',
      ])
      expect(second).toStrictEqual({
        eventId: 'evt_1',
        logicalTime: 1,
        ts: '2026-02-11T16:00:01.000Z',
        kind: 'RunStarted',
        node: null,
        parent: 'evt_0',
        payload: JSON.parse(run.events[1]!.payload),
        payloadHash,
        stateHash,
        hash,
      })
      expect([first!.parent, first!.kind]).toStrictEqual([null, 'RunCreated'])
    })
  })

  const payload = fc.dictionary(anyString, fc.jsonValue(), { maxKeys: 5 })
  test.prop([fc.array(payload, { minLength: 1, maxLength: 5 })], runs(150))(
    'has the payload that JSON.parse returns',
    (payloads) => {
      const run = startedRun()
      for (const extra of payloads) run.append('Error', { ...extra, code: 'E', message: 'm', recoverable: true })
      return withRun(run, async (directory) => {
        const events = await eventsIn(directory, { from: 2 })
        // Compared as text: keys may be called `__proto__`, and their order matters.
        const parsed = run.events.slice(2).map((event) => JSON.stringify(JSON.parse(event.payload)))
        expect(events.map((event) => JSON.stringify(event.payload))).toStrictEqual(parsed)
      })
    },
  )

  test('may be several megabytes long', async () => {
    const run = startedRun()
    const message = 'é'.repeat(4_000_000)
    run.append('Error', { code: 'E', message, recoverable: true })
    run.append('Error', { code: 'E', message: '名'.repeat(1_000_000), recoverable: true })
    await withRun(run, async (directory) => {
      const events = await eventsIn(directory, { from: 2 })
      expect(events.map((event) => (event.payload['message'] as string).length)).toStrictEqual([4_000_000, 1_000_000])
    })
  })
})

describe('a range', () => {
  const run = completedRun()
  const last = run.time - 1
  const all = Array.from({ length: run.time }, (_, time) => time)

  test('includes both ends', () =>
    withRun(run, (directory) =>
      eachCase(
        [
          [{}, all],
          [{ from: 0, to: last }, all],
          [{ from: 3 }, all.slice(3)],
          [{ to: 3 }, [0, 1, 2, 3]],
          [{ from: 3, to: 3 }, [3]],
          [{ from: last }, [last]],
          [{ from: last + 1 }, []],
          [{ from: Number.MAX_SAFE_INTEGER }, []],
          [{ from: Infinity }, []],
          [{ from: 4, to: 3 }, []],
          [{ from: 2, to: Infinity }, all.slice(2)],
          [{ from: undefined, to: undefined, kinds: undefined }, all],
        ] as [RunEventsOptions, number[]][],
        async ([options, times]) => expect(timesOf(await eventsIn(directory, options))).toStrictEqual(times),
      ),
    ))

  test.prop([anyRun(40), fc.subarray(KINDS)], runs(40))(
    'contains the events of the requested kinds in order, for any run',
    (any, kinds) =>
      withRun(any, async (directory) => {
        const expected = any.events.filter(({ kind }) => kinds.includes(kind as never)).map(({ time }) => time)
        expect(timesOf(await eventsIn(directory, { kinds }))).toStrictEqual(expected)
      }),
  )
})

describe('a damaged or missing log', () => {
  const run = completedRun()
  const withLine = (time: number, line: string) => `${run.lines.with(time, line).join('\n')}\n`

  test('yields the events before the damage, then throws the error of a replay', () =>
    eachCase(
      [
        ['garbage', 'NotAJsonLine'],
        [run.lines[5]!.replace('"v":1', '"v":3'), 'UnsupportedVersion'],
        [run.lines[5]!.replace('NodeStarted', 'NodeVanished'), 'UnknownKind'],
        [run.lines[5]!.replace('"inputHash"', '"inputHush"'), 'MissingField'],
        [run.lines[6]!, 'TimeGap'],
        [`${run.lines[5]} `, 'NotCanonical'],
      ] as const,
      ([line, code]) =>
        withRun(
          run,
          async (directory) => {
            const [times, thrown] = await brokenTrace(directory)
            expect(times).toStrictEqual([0, 1, 2, 3, 4])
            expect(thrown).toBeInstanceOf(Error)
            const { error } = failed(await replayRun(directory, { verify: 'none' }))
            expect({ ...thrown, message: thrown.message }).toStrictEqual(error)
            expect([thrown.code, thrown.eventId]).toStrictEqual([code, code === 'TimeGap' ? 'evt_6' : 'evt_5'])
          },
          withLine(5, line),
        ),
    ))

  test('throws for damage in an event that is filtered out, but not beyond the range', () =>
    withRun(
      run,
      async (directory) => {
        const [times, { code }] = await brokenTrace(directory, { kinds: ['RunCreated', 'RunCompleted'] })
        expect([times, code]).toStrictEqual([[0], 'NotAJsonLine'])
        expect(timesOf(await eventsIn(directory, { to: 4 }))).toStrictEqual([0, 1, 2, 3, 4])
      },
      withLine(5, 'garbage'),
    ))

  test('yields the events before a torn line without an error', () =>
    withRun(run, async (directory) => {
      writeFileSync(logOf(directory), run.log.slice(0, -1))
      expect((await eventsIn(directory)).length).toBe(run.time - 1)
    }))

  test('yields events without checking their hashes', () =>
    withRun(
      run,
      async (directory) => {
        expect((await eventsIn(directory)).length).toBe(run.time)
      },
      withLine(5, run.lines[5]!.replace(/"hash":"......../, '"hash":"00000000')),
    ))

  test('throws the system error if it does not exist', async () => {
    const [times, error] = await brokenTrace('no-such-run')
    expect([times, error.code, error.syscall, error.path]).toStrictEqual([[], 'ENOENT', 'open', 'no-such-run'])
    expect(error.message).toMatch(
      /^ENOENT: no such file or directory, open 'no-such-run'\. A run is the directory that /,
    )
  })

  test('throws NotARun with a description of what is at the path instead', () =>
    eachCase(notRuns, async ([, make, message]) => {
      const path = make(freshPath())
      for (const options of [{}, { from: 5 }]) {
        const [times, error] = await brokenTrace(path, options)
        expect([times, error.code]).toStrictEqual([[], 'NotARun'])
        expect(error.message).toMatch(message)
      }
    }))
})

describe('an iteration', () => {
  const EVENTS = 20_000
  let directory: string
  beforeAll(() => {
    const run = startedRun()
    directory = run.write(freshPath())
    const payload = JSON.stringify({ code: 'E', message: 'x'.repeat(500), recoverable: true })
    const model = { ...run.events.at(-1)!, kind: 'Error', payload }
    const more = Array.from({ length: EVENTS - run.time }, (_, at) => ({ ...model, time: run.time + at, parent: 1 }))
    writeFileSync(logOf(directory), `${rechained([...run.events, ...more]).join('\n')}\n`)
  })

  /** Number of file descriptors that this process has open on the log. */
  const opened = () => {
    const log = realpathSync(logOf(directory))
    const target = (fd: string) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`)
      } catch {
        return ''
      }
    }
    return readdirSync('/proc/self/fd').filter((fd) => target(fd) === log).length
  }

  test('yields every event, or those from a given time on', async () => {
    expect(timesOf(await eventsIn(directory))).toStrictEqual(Array.from({ length: EVENTS }, (_, time) => time))
    expect(timesOf(await eventsIn(directory, { from: EVENTS - 3 }))).toStrictEqual([EVENTS - 3, EVENTS - 2, EVENTS - 1])
  })

  test('opens no file before it begins, and leaves none open', async ({ skip }) => {
    if (!isLinux) return skip('no /proc')
    const iterator = readRunEvents(directory)
    await new Promise(setImmediate)
    expect(opened()).toBe(0)
    await iterator.next()
    expect(opened()).toBe(1)
    await iterator.return()
    expect(opened()).toBe(0)
    for await (const { logicalTime } of readRunEvents(directory)) if (logicalTime === 1000) break
    expect(opened()).toBe(0)
    await eventsIn(directory)
    expect(opened()).toBe(0)
    const failure = async () => {
      for await (const _ of readRunEvents(directory)) throw new Error('in the loop')
    }
    await expect(failure()).rejects.toThrow('in the loop')
    expect(opened()).toBe(0)
  })

  test('is done after return(), even if it never began', async () => {
    const iterator = readRunEvents(directory)
    expect((await iterator.next()).value?.eventId).toBe('evt_0')
    expect(await iterator.return()).toStrictEqual({ done: true, value: undefined })
    expect(await iterator.next()).toStrictEqual({ done: true, value: undefined })
    const unused = readRunEvents(directory)
    expect(await unused.return()).toStrictEqual({ done: true, value: undefined })
  })

  test('answers concurrent calls of next() in order', async () => {
    const iterator = readRunEvents(directory)
    const results = await Promise.all(Array.from({ length: 5 }, () => iterator.next()))
    expect(results.map(({ value }) => value?.eventId)).toStrictEqual(['evt_0', 'evt_1', 'evt_2', 'evt_3', 'evt_4'])
    await iterator.return()
  })

  test('reads the log only as events are consumed, and never holds all of it in memory', async ({ skip }) => {
    if (!isLinux) return skip('no /proc')
    const report = await childReport<{ slow: number; fast: number; events: number; heapGrowth: number }>(
      'child-run-events.mjs',
      [directory],
      { execArgv: ['--expose-gc'] },
    )
    const size = statSync(logOf(directory)).size
    // Only one event was consumed, with plenty of time to read ahead: no more than a few batches were read.
    expect(report.slow).toBeLessThan(size / 4)
    expect(report.fast).toBeGreaterThanOrEqual(size)
    expect(report.events).toBe(EVENTS)
    expect(report.heapGrowth).toBeLessThan(size / 2)
  })

  test('that is abandoned does not keep the process alive', async () => {
    expect(await childReport('child-run-events-left.mjs', [directory])).toBe('evt_0')
  })
})

describe('arguments', () => {
  const call = readRunEvents as (...args: unknown[]) => unknown

  test('of the wrong type synchronously throw a TypeError that names them', () =>
    eachCase(
      [
        [/path must be a string/, 7],
        [/path/, undefined],
        [/options/, 'a', 'b'],
        [/options/, 'a', null],
        [/options\.from/, 'a', { from: -1 }],
        [/options\.from/, 'a', { from: '1' }],
        [/options\.from/, 'a', { from: 1.5 }],
        [/options\.to/, 'a', { to: NaN }],
        [/options\.to/, 'a', { to: 7n }],
        [/options\.kinds must be an array/, 'a', { kinds: 'Error' }],
        [/options\.kinds\[1\] must be one of 'RunCreated'/, 'a', { kinds: ['Error', 'error'] }],
        [/options\.kinds\[0\]/, 'a', { kinds: [, 'Error'] }],
      ] as [RegExp, ...unknown[]][],
      ([message, ...args]) => {
        expect(() => call(...args)).toThrow(TypeError)
        expect(() => call(...args)).toThrow(message)
      },
    ))
})
