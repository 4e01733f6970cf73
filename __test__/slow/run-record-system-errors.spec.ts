/**
 * The guarantees of a run recorder when a system call fails that no real disk can be made to fail: the n-th call of a kind in its process fails, or
 * is done only in part. With `FAULT_ROUNDS` set to a number, every single fault is tried, and that many pairs; otherwise some faults and one pair.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { replayRun, RunRecorder, verifyRun } from '../../index.js'
import { freshDirectory } from '../support/recording'
import { canFail, faultsAt, runWithFaults, twoAtATime } from '../support/system-faults'

interface Report {
  events: number
  blobs: string[]
  snapshots: string[]
  warnings: string[]
  thrown: string[]
  isActive: boolean
}

async function expectKept(faults: string): Promise<Report> {
  const root = freshDirectory()
  const directory = join(root, 'run')
  const report = await runWithFaults<Report>('child-system-faults-run.mjs', root, directory, faults)
  if (report.events > 0) {
    const replay = await replayRun(directory)
    expect(replay.ok ? replay.eventCount : replay.error, faults).toBeGreaterThanOrEqual(report.events)
  }
  for (const hash of report.blobs)
    expect(
      createHash('sha256')
        .update(readFileSync(join(directory, 'blobs', hash.slice(0, 2), hash)))
        .digest('hex'),
      faults,
    ).toBe(hash)
  for (const id of report.snapshots)
    expect(existsSync(join(directory, 'snapshots', `${id}.cath-snap`)), faults).toBe(true)
  // A recorder that stops reports it: at most one warning, or an error of the constructor.
  if (!report.isActive) expect(report.warnings.length + report.thrown.length, faults).toBeGreaterThan(0)
  expect(report.warnings.length, faults).toBeLessThanOrEqual(1)
  const next = new RunRecorder({
    directory,
    runId: 'faults',
    workflow: { name: 'w', version: '1', nodes: [{ id: 'a', kind: 'k' }] },
    scheduler: 'external',
    durability: 'fsync',
    resume: true,
  })
  next.append({ kind: 'Error', payload: { code: 'E', message: 'next', recoverable: true } })
  await next.flush()
  expect(next.isActive(), faults).toBe(true)
  await next.dispose()
  expect(await verifyRun(directory), faults).toMatchObject({ ok: true })
  return report
}

describe.skipIf(!canFail)('a failing system call (needs Linux and a C compiler)', () => {
  const all = faultsAt([1, 3, 6])

  test('breaks no guarantee: each call with each error, one at a time', () =>
    twoAtATime(process.env.FAULT_ROUNDS === undefined ? all.filter((_, at) => at % 9 === 4) : all, expectKept))

  test('breaks no guarantee: pairs of faults', async () => {
    for (let round = 0; round < Number(process.env.FAULT_ROUNDS ?? 1); round++) {
      await expectKept(`${all[(round * 31 + 7) % all.length]} ${all[(round * 43 + 15) % all.length]}`)
    }
  })

  test('is the only cause of loss: without a fault everything is kept', async () => {
    const { events, blobs, snapshots, ...rest } = await expectKept('')
    expect([events, blobs.length, snapshots.length]).toEqual([9, 3, 3])
    expect(rest).toEqual({ warnings: [], thrown: [], isActive: true })
  })
})
