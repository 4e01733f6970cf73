// Partial bundles begin with a snapshot, hold what comes after it, and replay to the same state.

import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fc, test } from '../support/property'
import { describe, expect } from 'vitest'
import { filesOfRun, problemsOf } from '../support/plain-bundle.mjs'
import {
  FORMS,
  SESSION,
  VERSION,
  exists,
  exportBundle,
  filesIn,
  freshDirectory,
  importBundle,
  rejection,
  replayRun,
  verifyBundle,
  verifyRun,
} from '../support/bundles.js'
import { anyRun } from '../support/run-arbitraries.js'
import {
  completedRun,
  freshPath,
  snapshotFile,
  stateAt,
  startedRun,
  withRun,
  eventsIn,
} from '../support/run-directory.js'
import { runs } from '../support/session-arbitraries.js'
import { expectSame } from '../support/same-replay.js'

const RUN = completedRun()
const TIMES = [...RUN.snapshots.values()].map((text) => JSON.parse(text).logicalTime as number).sort((a, b) => a - b)
const [EARLY, LATE] = TIMES as [number, number]

async function exported(form: string, fromSnapshot: string, run = RUN): Promise<string> {
  const path = join(freshDirectory(), form)
  const source = run.write(freshPath())
  await exportBundle(source, path, { fromSnapshot })
  return path
}

describe.each(FORMS)('%s', (form) => {
  test('cannot be replayed to a time before its snapshot', async () => {
    const path = await exported(form, `snap_${LATE}`)
    expect((await replayRun(path, { until: LATE })).state).toEqual(stateAt(RUN, LATE))
    expect((await replayRun(path, { until: LATE + 1 })).state).toEqual(stateAt(RUN, LATE + 1))
    expect(await replayRun(path, { until: LATE - 1 })).toMatchObject({
      ok: false,
      error: { code: 'SnapshotInvalid' },
      state: null,
    })
  })
})

test('a partial bundle may have no events after the snapshot', async () => {
  const run = startedRun()
  const source = run.write(freshPath())
  // The snapshot's file without its SnapshotCreated, as a crash may leave it.
  const { text, snapshotId } = startedRun().snapshot()
  const path = snapshotFile(source, snapshotId)
  writeFileSync(path, text)
  const bundle = join(freshDirectory(), 'b')
  expect(await exportBundle(source, bundle, { fromSnapshot: 'latest' })).toMatchObject({ partial: true, events: 0 })
  expect(await verifyBundle(bundle)).toMatchObject({ ok: true })
  expect((await replayRun(bundle)).state).toEqual(stateAt(run, run.time - 1))
  expect(await eventsIn(bundle)).toEqual([])
})

test('a partial bundle is not made from a missing or damaged snapshot', async () => {
  const source = RUN.write(freshPath())
  const destination = join(freshDirectory(), 'b')
  const refused = (fromSnapshot: string) => rejection(exportBundle(source, destination, { fromSnapshot }))
  for (const id of ['snap_1', 'snap_999999', 'snap_x', '', '../snap_1', `snap_0${EARLY}`])
    expect(await refused(id)).toMatchObject({ code: 'SnapshotNotFound' })
  const late = snapshotFile(source, `snap_${LATE}`)
  writeFileSync(late, readFileSync(late, 'utf8').replace('Completed', 'Compleded'))
  expect(await refused(`snap_${LATE}`)).toMatchObject({ code: 'SnapshotNotFound' })
  // `latest` is the newest one that is valid.
  expect(await exportBundle(source, destination, { fromSnapshot: 'latest' })).toMatchObject({
    events: RUN.time - EARLY - 1,
  })
  rmSync(join(source, 'snapshots'), { recursive: true })
  expect(await rejection(exportBundle(source, `${destination}2`, { fromSnapshot: 'latest' }))).toMatchObject({
    code: 'SnapshotNotFound',
  })
  expect(exists(`${destination}2`)).toBe(false)
})

test('a partial bundle is not made of a session, which has no snapshots', async () => {
  const file = join(freshDirectory(), 'session.jsonl')
  writeFileSync(file, SESSION)
  expect(await rejection(exportBundle(file, `${file}.bundle`, { fromSnapshot: 'latest' }))).toMatchObject({
    code: 'InvalidOption',
  })
})

test('a partial bundle is exported again as the same bundle', async () => {
  const [path, again] = [await exported(FORMS[0], 'latest'), join(freshDirectory(), 'b')]
  expect(await exportBundle(path, again)).toMatchObject({
    partial: true,
    bundleId: (await verifyBundle(path)).info!.bundleId,
  })
  expect(filesIn(again)).toEqual(filesIn(path))
})

test.prop([anyRun(50), fc.nat()], runs(40))(
  'a partial bundle of any run, from any snapshot, reads like the run itself',
  (run, which) =>
    withRun(run, async (source) => {
      const ids = [...run.snapshots.keys()]
      fc.pre(ids.length > 0)
      const id = ids[which % ids.length]!
      const after = Number(id.slice(5))
      const bundle = join(freshDirectory(), 'b')
      await exportBundle(source, bundle, { fromSnapshot: id })
      expect(filesIn(bundle)).toEqual(filesOfRun(run, { version: VERSION, after }))
      const imported = join(freshDirectory(), 'imported')
      await importBundle(bundle, imported)
      expect(problemsOf(filesIn(imported))).toEqual([])
      for (const [path, verify] of [
        [bundle, 'chain'],
        [bundle, 'full'],
        [imported, 'full'],
      ] as const) {
        const replay = await replayRun(path, { verify })
        if (!replay.ok) throw new Error(replay.error.message)
        expectSame(replay.state, stateAt(run, run.time - 1), { keyOrder: false })
      }
      expectSame(await eventsIn(bundle), await eventsIn(source, { from: after + 1 }))
      expect(await eventsIn(bundle, { from: 0, to: after })).toEqual([])
      expect((await verifyRun(bundle)).chain).toMatchObject({ checked: run.time - after - 1, failed: 0 })
    }),
)
