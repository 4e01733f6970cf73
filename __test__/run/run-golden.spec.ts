// The golden run: format version 1 as the first release wrote it, intact and damaged. Every later release must read it with the same results.

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { replayRun, verifyRun } from '../../index.js'
import type { Check, RunError, RunState } from '../../index.js'
import type { PlainRun } from '../support/plain-run-engine.mjs'
import { type Config, plainTwin } from '../support/run-recording.js'

interface Damage {
  name: string
  keep?: number
  replace?: { at: number; text?: string; byte?: number }
  lines?: number[]
  events?: number
  error?: Omit<RunError, 'message'>
  unverified?: Omit<RunError, 'message'> | null
  lastGood?: number | null
}
interface Expected {
  events: number
  log: { sha256: string; head: string }
  trustedKey: string
  verification: Record<'chain' | 'dag' | 'schedule' | 'stateHashes' | 'outputHashes', Check>
  snapshots: string[]
  signed: string[]
  stateHashes: string[]
  states: Record<string, RunState>
  damaged: Damage[]
}

const GOLDEN = fileURLToPath(new URL('../fixtures/run/v1/golden/', import.meta.url))
const LOG = readFileSync(join(GOLDEN, 'events.cath-log'))
const expected = JSON.parse(readFileSync(join(GOLDEN, 'expected.json'), 'utf8')) as Expected
const last = expected.stateHashes.at(-1)!

const directories: string[] = []
afterAll(() => directories.forEach((directory) => rmSync(directory, { recursive: true, force: true })))

function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'session-tape-golden-'))
  directories.push(directory)
  return directory
}

test('the plain engine makes the same log and states of the same events', () => {
  const [created] = LOG.toString().split('\n', 1)
  const { runId, scheduler, capabilities } = JSON.parse(created!).payload as Config
  const workflow = JSON.parse(readFileSync(join(GOLDEN, 'workflow.json'), 'utf8'))
  const twin: PlainRun = plainTwin(GOLDEN, { directory: GOLDEN, runId, scheduler, capabilities, workflow })
  expect(twin.log).toBe(LOG.toString())
  for (const [time, state] of Object.entries(expected.states)) expect(twin.states[Number(time)]).toStrictEqual(state)
})

test.each(Object.keys(expected.states).map(Number))('the state after event %i is unchanged', async (until) => {
  for (const verify of ['none', 'chain', 'full'] as const) {
    const replay = await replayRun(GOLDEN, { until, verify })
    expect(replay.ok && replay.state).toStrictEqual(expected.states[until])
    expect(replay.ok && replay.eventCount).toBe(until + 1)
  }
})

describe('snapshots', () => {
  test.each(expected.snapshots)('a replay from %s ends in the same state', async (fromSnapshot) => {
    for (const verify of ['none', 'chain', 'full'] as const) {
      const replay = await replayRun(GOLDEN, { fromSnapshot, verify })
      expect(replay).toMatchObject({ ok: true, fromSnapshot, eventCount: expected.events, warnings: [] })
      expect(replay.ok && replay.state.stateHash).toBe(last)
    }
  })

  test('with trusted keys, only a snapshot signed by one of them is used', async () => {
    const replay = await replayRun(GOLDEN, { fromSnapshot: 'latest', trustedKeys: [expected.trustedKey] })
    expect(replay.ok && [replay.fromSnapshot]).toStrictEqual(expected.signed)
    expect(replay.warnings).toHaveLength(expected.snapshots.length - 1)
  })
})

test('the verification has the recorded counts', async () => {
  const found = await verifyRun(GOLDEN)
  expect(found).toMatchObject(expected.verification)
  expect(found).toMatchObject({
    ok: true,
    dagMatch: true,
    scheduleMatch: true,
    stateHashesMatch: true,
    outputHashesMatch: true,
  })
})

/** The log with the damage done to it. */
function damagedLog({ keep, replace, lines }: Damage): Buffer {
  if (keep !== undefined) return LOG.subarray(0, keep)
  if (lines) {
    const all = LOG.toString().split('\n')
    return Buffer.from(lines.map((line) => `${all[line]}\n`).join(''))
  }
  const bytes = Buffer.from(LOG)
  if (replace!.byte === undefined) bytes.write(replace!.text!, replace!.at)
  else bytes[replace!.at] = replace!.byte
  return bytes
}

describe('damaged', () => {
  const runWith = (log: Buffer) => {
    const directory = newDirectory()
    for (const part of ['dag.json', 'workflow.json', 'blobs']) {
      cpSync(join(GOLDEN, part), join(directory, part), { recursive: true })
    }
    writeFileSync(join(directory, 'events.cath-log'), log)
    return directory
  }
  const torn = expected.damaged.filter(({ error }) => error === undefined)
  const broken = expected.damaged.filter(({ error }) => error !== undefined)

  test.each(torn)('$name: replays the events before it', async (damage) => {
    const directory = runWith(damagedLog(damage))
    const replay = await replayRun(directory, { verify: 'full' })
    expect(replay).toMatchObject({ ok: true, eventCount: damage.events })
    expect(replay.ok && replay.state.stateHash).toBe(expected.stateHashes[damage.events! - 1])
    expect(replay.warnings).toHaveLength(1)
    expect((await verifyRun(directory)).chain).toMatchObject({ checked: damage.events, failed: 0 })
  })

  test.each(broken)('$name', async (damage) => {
    const directory = runWith(damagedLog(damage))
    for (const verify of ['chain', 'full'] as const) {
      const replay = await replayRun(directory, { verify })
      const stateHash = damage.lastGood === null ? undefined : expected.stateHashes[damage.lastGood!]
      expect(replay).toMatchObject({ ok: false, error: damage.error })
      expect(replay.state?.stateHash).toBe(stateHash)
    }
    const unverified = await replayRun(directory, { verify: 'none' })
    expect(unverified).toMatchObject(
      damage.unverified === null ? { ok: true } : { ok: false, error: damage.unverified },
    )
    const found = await verifyRun(directory)
    expect(found.ok).toBe(false)
    expect(found.chain.failed).toBeGreaterThan(0)
    expect(found.chain.firstFailure).toMatchObject(damage.error!)
  })
})
