// Trusted keys apply wherever a snapshot is used, even if a bundle begins with it.

import { join } from 'node:path'
import { writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { FORMS, exportBundle, freshDirectory, importBundle, newKeys, replayRun, verifyRun } from '../support/bundles.js'
import type { Keys } from '../support/bundles.js'
import { resultOf } from '../support/command-line.js'
import { completedRun, freshPath, snapshotFile, startedRun, stateAt } from '../support/run-directory.js'

const [own, other] = [newKeys(), newKeys()]

interface Made {
  readonly form: string
  readonly snapshotBy?: Keys
  readonly bundleBy?: Keys
  readonly partial?: boolean
}

/** A bundle whose snapshot and manifest are signed by these keys, or by none. */
async function made({ form, snapshotBy, bundleBy, partial = true }: Made): Promise<string> {
  const run = startedRun()
  run.snapshot(snapshotBy && { signWith: snapshotBy.privateKey })
  const path = join(freshDirectory(), form)
  await exportBundle(run.write(freshPath()), path, {
    ...(partial && { fromSnapshot: 'latest' }),
    ...(bundleBy && { signWith: bundleBy.privateKey }),
  })
  return path
}

const NOTHING_TO_START_FROM = { ok: false, state: null, error: { code: 'SnapshotInvalid' } }

describe.each(FORMS)('%s', (form) => {
  test.each<[string, Omit<Made, 'form'>]>([
    ['an unsigned snapshot', {}],
    ["another's snapshot", { snapshotBy: other }],
  ])('a partial bundle with %s has nothing to start from', async (_, by) => {
    const path = await made({ form, ...by })
    const trustedKeys = [own.publicKey]
    for (const verify of ['none', 'chain', 'full'] as const) {
      expect(await replayRun(path, { trustedKeys, verify })).toMatchObject(NOTHING_TO_START_FROM)
    }
    for (const fromSnapshot of ['latest', 'snap_1', '/no/such/snap_1.cath-snap']) {
      expect(await replayRun(path, { trustedKeys, fromSnapshot })).toMatchObject(NOTHING_TO_START_FROM)
    }
    expect(await replayRun(path, { trustedKeys, until: 1 })).toMatchObject(NOTHING_TO_START_FROM)
    const verified = await verifyRun(path, { trustedKeys })
    expect(verified).toMatchObject({
      ok: false,
      snapshots: { checked: 1, failed: 1, firstFailure: { code: 'SnapshotInvalid' } },
    })
    const imported = join(freshDirectory(), 'imported')
    await importBundle(path, imported)
    expect(await replayRun(imported, { trustedKeys })).toMatchObject(NOTHING_TO_START_FROM)
  })

  test.each<[string, Omit<Made, 'form'>]>([
    ['signed its snapshot', { snapshotBy: own }],
    ['signed its manifest, which lists the snapshot', { bundleBy: own }],
    ['signed its manifest, and another the snapshot', { bundleBy: own, snapshotBy: other }],
  ])('a partial bundle is accepted if one of the keys %s', async (_, by) => {
    const path = await made({ form, ...by })
    const trustedKeys = [other === by.snapshotBy ? own.publicKey : newKeys().publicKey, own.publicKey]
    const replay = await replayRun(path, { trustedKeys })
    const unasked = await replayRun(path)
    expect(replay).toMatchObject({ ok: true, state: unasked.state })
    expect(await verifyRun(path, { trustedKeys })).toEqual(await verifyRun(path))
  })

  test('a signed manifest covers the snapshots that it lists, even in a complete bundle, but no snapshot from elsewhere', async () => {
    const run = completedRun()
    const source = run.write(freshPath())
    const path = join(freshDirectory(), form)
    await exportBundle(source, path, { signWith: own.privateKey })
    const trustedKeys = [own.publicKey]
    const [id, text] = [...run.snapshots].at(-1)!
    expect(await replayRun(path, { trustedKeys, fromSnapshot: 'latest' })).toMatchObject({
      ok: true,
      fromSnapshot: id,
      warnings: [],
    })
    expect((await verifyRun(path, { trustedKeys })).snapshots.failed).toBe(0)
    const elsewhere = snapshotFile(source, id)
    writeFileSync(elsewhere, text)
    const replay = await replayRun(path, { trustedKeys, fromSnapshot: elsewhere })
    expect(replay).toMatchObject({ ok: true, fromSnapshot: null, state: stateAt(run, run.time - 1) })
    const unsigned = await made({ form, partial: false })
    expect(await replayRun(unsigned, { trustedKeys, fromSnapshot: 'latest' })).toMatchObject({
      ok: true,
      fromSnapshot: null,
    })
  })

  test('the command line requires the signatures too', async () => {
    const key = join(freshDirectory(), 'key.pem')
    writeFileSync(key, own.publicKey)
    const verdict = async (by: Omit<Made, 'form'>, exitCode: number) =>
      (await resultOf(['verify', await made({ form, ...by }), '--key', key], exitCode)).ok
    expect(await verdict({}, 1)).toBe(false)
    expect(await verdict({ snapshotBy: other }, 1)).toBe(false)
    expect(await verdict({ snapshotBy: own }, 0)).toBe(true)
    expect(await verdict({ bundleBy: own }, 0)).toBe(true)
  })
})
