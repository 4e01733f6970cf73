// The addon replays any run to the states of the plain engine, at every event, and finds every change to a log.

import { describe, expect } from 'vitest'
import { fc, test } from '../support/property'
import { replayRun, verifyRun } from '../../index.js'
import type { RunEvent } from '../../index.js'
import { runs } from '../support/session-arbitraries.js'
import { anyRun } from '../support/run-arbitraries.js'
import { failed, replayOf, replayed, stateAt, withRun, eventsIn } from '../support/run-directory.js'
import { canonicalJson, rechained } from '../support/plain-run-engine.mjs'
import type { PlainRun } from '../support/plain-run-engine.mjs'

const depth = fc.constantFrom('none', 'chain', 'full')
const place = fc.nat()

/** The time of one of the run's events, chosen by any number. */
const timeIn = (run: PlainRun, at: number) => at % run.time

describe('any legal run', () => {
  test.prop([anyRun(), depth], runs(60))('has the state of the plain engine at every event', (run, verify) =>
    withRun(run, async (directory) => {
      for (const [until, state] of run.states.entries()) {
        const result = replayed(await replayRun(directory, { until, verify }))
        // Compared as text: a node may be called `__proto__`.
        expect(canonicalJson(result.state)).toBe(canonicalJson(state))
        expect(result.eventCount).toBe(until + 1)
        expect(result.warnings).toStrictEqual([])
      }
    }),
  )

  test.prop([anyRun(80)], runs(60))(
    'replays from each of its snapshots to the same state as from its first event',
    (run) =>
      withRun(run, async (directory) => {
        for (const [fromSnapshot, document] of run.snapshots) {
          const result = replayed(await replayRun(directory, { fromSnapshot, verify: 'full' }))
          const { logicalTime } = JSON.parse(document) as { logicalTime: number }
          expect(result).toMatchObject({ fromSnapshot, warnings: [], eventCount: run.time })
          expect(result.metrics.events).toBe(run.time - 1 - logicalTime)
          expect(result.state).toStrictEqual(run.states.at(-1))
          expect(await replayRun(directory, { fromSnapshot, until: logicalTime })).toMatchObject({
            state: stateAt(run, logicalTime),
          })
        }
      }),
  )

  test.prop([anyRun()], runs(60))('verifies', (run) =>
    withRun(run, async (directory) => {
      const found = await verifyRun(directory)
      const count = (kind: string) => run.events.filter((event) => event.kind === kind).length
      const checked = (number: number) => ({ checked: number, failed: 0, unverifiable: 0 })
      expect(found).toStrictEqual({
        ok: true,
        dagMatch: true,
        scheduleMatch: count('TaskAssigned') > 0,
        stateHashesMatch: true,
        outputHashesMatch: count('ToolCompleted') > 0,
        chain: checked(run.time),
        dag: checked(1),
        schedule: checked(count('TaskAssigned')),
        stateHashes: checked(run.time),
        outputHashes: checked(count('ToolCompleted')),
        snapshots: checked(run.snapshots.size),
        blobs: checked(count('BlobStored')),
      })
    }),
  )

  test.prop([anyRun(), place, place], runs(60))('yields its events with the values of their lines', (run, from, to) =>
    withRun(run, async (directory) => {
      const range = { from: timeIn(run, from), to: timeIn(run, to) }
      expect(await eventsIn(directory, range)).toStrictEqual(run.lines.slice(range.from, range.to + 1).map(asRead))
    }),
  )
})

/** A line as `readRunEvents` yields it. */
function asRead(line: string): RunEvent {
  const { v: _, time, parent, salt: __, ...event } = JSON.parse(line)
  return { eventId: `evt_${time}`, logicalTime: time, parent: parent === null ? null : `evt_${parent}`, ...event }
}

describe('a log that was changed after it was written', () => {
  /** Expects a replay to fail with the state after the unchanged `lines` at the beginning. Returns the error. */
  async function expectFound(run: PlainRun, changed: Uint8Array, lines: number) {
    const { error, state } = failed(await replayOf(run, { verify: 'chain' }, changed))
    expect(state).toStrictEqual(lines === 0 ? null : stateAt(run, lines - 1))
    expect(error.eventId).toBe(`evt_${error.time}`)
    expect(error.code).toMatch(/^[A-Z][A-Za-z]+$/)
    return error
  }

  /** Number of lines that end before this offset. */
  const linesBefore = (log: Buffer, offset: number) => log.subarray(0, offset).filter((byte) => byte === 0x0a).length

  test.prop([anyRun(20), fc.nat(), fc.integer({ min: 1, max: 255 })], runs(150))(
    'is refused with any byte changed',
    async (run, at, difference) => {
      const log = Buffer.from(run.log)
      const offset = at % log.length
      const changed = Buffer.from(log)
      changed[offset]! ^= difference
      // Without its newline the last line is torn, which is not damage.
      if (offset === log.length - 1) return
      const error = await expectFound(run, changed, linesBefore(log, offset))
      expect(error.message).not.toBe('')
      const { ok, chain } = await withRun(run, verifyRun, changed)
      expect([ok, chain.failed > 0]).toStrictEqual([false, true])
    },
  )

  /** What may be done to the line at a time, and how many lines before the fault are left. */
  const edits = fc.constantFrom<(run: PlainRun, time: number, text: string) => [lines: string[], left: number]>(
    (run, time) => [run.lines.toSpliced(time, 1), time],
    (run, time) => [run.lines.toSpliced(time, 0, run.lines[time]!), time + 1],
    (run, time) => [run.lines.toSpliced(time, 2, run.lines[time + 1]!, run.lines[time]!), time],
    (run, time, text) => [run.lines.toSpliced(time, 0, text.replaceAll('\n', ' ')), time],
  )
  test.prop([anyRun(20), place, fc.string(), edits], runs(320))(
    'is refused with a line removed, repeated, swapped with the next, or inserted',
    async (run, at, text, edit) => {
      const time = timeIn(run, at)
      // Without its last line it is a shorter run.
      if (time === run.time - 1) return
      const [lines, left] = edit(run, time, text)
      const error = await expectFound(run, Buffer.from(lines.join('\n') + '\n'), left)
      if (lines.every((line) => run.lines.includes(line)))
        expect(error).toMatchObject({ code: 'TimeGap', expected: `${left}` })
    },
  )

  test.prop([anyRun(20), place], runs(80))(
    'is refused with the hash of a changed line recomputed, but not of the later ones',
    async (run, at) => {
      const time = timeIn(run, at)
      if (time === run.time - 1) return
      const events = run.events.map((event, index) =>
        index === time ? { ...event, ts: '2020-01-01T00:00:00.000Z' } : event,
      )
      const lines = run.lines.with(time, rechained(events)[time]!)
      const error = await expectFound(run, Buffer.from(lines.join('\n') + '\n'), time + 1)
      expect(error).toMatchObject({ code: 'ChainBroken', time: time + 1 })
    },
  )
})

describe('a log with an intact chain', () => {
  const other = 'f'.repeat(64)

  test.prop([anyRun(30), place], runs(80))(
    'replays with `chain` despite a wrong state hash, which `full` finds',
    async (run, at) => {
      const time = timeIn(run, at)
      const log = rechained(run.events.with(time, { ...run.events[time]!, stateHash: other })).join('\n') + '\n'
      replayed(await replayOf(run, { verify: 'chain' }, log))
      const { error, state } = failed(await replayOf(run, { verify: 'full' }, log))
      expect(error).toMatchObject({ code: 'StateMismatch', time, eventId: `evt_${time}`, found: other })
      expect(error.expected).toBe(run.events[time]!.stateHash)
      expect(state).toStrictEqual(time === 0 ? null : stateAt(run, time - 1))
    },
  )

  test.prop([anyRun(30), fc.nat()], runs(80))('may be torn anywhere in its last line', async (run, cut) => {
    const log = Buffer.from(run.log)
    const last = Buffer.byteLength(run.lines.at(-1)!) + 1
    const torn = 1 + (cut % last)
    const result = await replayOf(run, {}, log.subarray(0, log.length - torn))
    if (run.time === 1) {
      expect(failed(result)).toMatchObject({ error: { code: 'EmptyLog' }, state: null })
      return
    }
    const { state, warnings } = replayed(result)
    expect(state).toStrictEqual(run.states.at(-2))
    const rest = last - torn
    expect(warnings).toStrictEqual(
      rest === 0 ? [] : [`The last line of the log is torn: its ${rest} bytes are no part of the run`],
    )
  })
})
