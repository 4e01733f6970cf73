// snapshot(): captures the state at the call, in a file that is complete or absent, and never ahead of the log.

import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fc, test } from '../support/property'
import { describe, expect } from 'vitest'
import { replayRun } from '../../index.js'
import { newKeys } from '../support/bundles.js'
import { logOf, snapshotFile } from '../support/run-directory.js'
import { errorOf, eventsOf, noted, payloadsOf, startedRecorder } from '../support/run-recording.js'
import { runs } from '../support/session-arbitraries.js'

const keys = newKeys()

test('captures the state at the call, even if events are appended while it is written', async () => {
  const { recorder, directory, config } = startedRecorder()
  recorder.append({ kind: 'NodeScheduled', payload: { task: 'build#1', dependsOn: [] } })
  const state = recorder.state()
  const taken = recorder.snapshot()
  for (let i = 0; i < 500; i++) recorder.append(noted(String(i)))
  const { snapshotId, logicalTime, contentHash } = await taken
  expect({ snapshotId, logicalTime }).toEqual({ snapshotId: 'snap_2', logicalTime: 2 })
  expect(JSON.parse(readFileSync(snapshotFile(directory, 'snap_2'), 'utf8'))).toMatchObject({
    v: 1,
    snapshot: 'snap_2',
    runId: config.runId,
    logicalTime: 2,
    stateHash: state.stateHash,
    contentHash,
  })
  const at = recorder.state().coordinator.logicalTime
  await recorder.dispose()
  const created = eventsOf(directory)[at]!
  expect(created).toMatchObject({ kind: 'SnapshotCreated', node: null, parent: at - 1 })
  expect(JSON.parse(created.payload)).toEqual({ snapshot: 'snap_2', stateHash: state.stateHash, at: 2 })
  expect(await replayRun(directory, { until: 2, fromSnapshot: 'snap_2' })).toMatchObject({
    ok: true,
    state,
    fromSnapshot: 'snap_2',
  })
})

test.prop(
  [
    fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 8 }),
    fc.constantFrom('os' as const, 'fsync' as const),
  ],
  runs(25),
)(
  'several concurrent snapshots are all written and recorded, even if only dispose is awaited',
  async (between, durability) => {
    const { recorder, directory } = startedRecorder({ durability })
    const taken = between.map((events) => {
      for (let i = 0; i < events; i++) recorder.append(noted())
      return recorder.snapshot()
    })
    await recorder.dispose()
    const times = (await Promise.all(taken)).map(({ logicalTime }) => logicalTime)
    expect(times).toEqual(between.map((_, i) => 1 + between.slice(0, i + 1).reduce((sum, events) => sum + events, 0)))
    const created = eventsOf(directory).filter(({ kind }) => kind === 'SnapshotCreated')
    expect(created.map(({ payload }) => JSON.parse(payload).at).sort((a, b) => a - b)).toEqual(times)
    expect(readdirSync(join(directory, 'snapshots')).sort()).toEqual(
      [...new Set(times)].map((time) => `snap_${time}.cath-snap`).sort(),
    )
    for (const time of times) {
      expect(await replayRun(directory, { fromSnapshot: `snap_${time}`, verify: 'full' })).toMatchObject({
        ok: true,
        fromSnapshot: `snap_${time}`,
        warnings: [],
      })
    }
    rmSync(directory, { recursive: true })
  },
)

test('waits for the log: the event that it captures is in the log before it resolves', async () => {
  const { recorder, directory } = startedRecorder()
  for (let round = 0; round < 5; round++) {
    recorder.append(noted('x'.repeat(8 << 20)))
    const { logicalTime } = await recorder.snapshot()
    const lines = readFileSync(logOf(directory)).filter((byte) => byte === 10).length
    expect(lines).toBeGreaterThan(logicalTime)
  }
  await recorder.dispose()
})

describe('signed', () => {
  test('verifies with the public key over the DSSE encoding', async () => {
    const { recorder, directory } = startedRecorder()
    const { snapshotId, contentHash } = await recorder.snapshot({ signWith: keys.privateKey })
    const {
      signature,
      contentHash: _,
      ...content
    } = JSON.parse(readFileSync(snapshotFile(directory, snapshotId), 'utf8'))
    // The keys are sorted already, so JSON.stringify writes canonical JSON.
    const payload = Buffer.from(JSON.stringify(content))
    const type = 'application/vnd.cath.snapshot+json'
    const signed = Buffer.concat([Buffer.from(`DSSEv1 ${type.length} ${type} ${payload.length} `), payload])
    expect(verify(null, signed, createPublicKey(keys.publicKey), Buffer.from(signature.sig, 'base64'))).toBe(true)
    await recorder.dispose()
    const trusted = await replayRun(directory, { fromSnapshot: 'latest', trustedKeys: [keys.publicKey] })
    expect(trusted).toMatchObject({ ok: true, fromSnapshot: snapshotId, warnings: [] })
    expect(contentHash).toMatch(/^[0-9a-f]{64}$/)
  })

  test('rejects without an Ed25519 private key, and writes nothing', async () => {
    const { recorder, directory } = startedRecorder()
    const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey.export({
      type: 'pkcs8',
      format: 'pem',
    }) as string
    const encrypted = generateKeyPairSync('ed25519').privateKey.export({
      type: 'pkcs8',
      format: 'pem',
      cipher: 'aes-256-cbc',
      passphrase: 'p',
    }) as string
    for (const signWith of ['', 'key', keys.publicKey, rsa, encrypted, keys.privateKey.replace(/M/g, 'N')]) {
      const error = await recorder.snapshot({ signWith }).then(
        () => undefined,
        (error: unknown) => error,
      )
      expect(error).toBeInstanceOf(Error)
      expect(error).toMatchObject({ code: 'InvalidPrivateKey', message: expect.stringContaining('signWith') })
    }
    expect(recorder.append(noted()).logicalTime).toBe(2)
    await recorder.dispose()
    expect(readdirSync(join(directory, 'snapshots'))).toEqual([])
    expect(eventsOf(directory)).toHaveLength(3)
  })

  test('accepts a pasted key, with Windows line endings and surrounding white space', async () => {
    const { recorder } = startedRecorder()
    const copied = `\n  ${keys.privateKey.replaceAll('\n', '\r\n')}\n\n`
    expect((await recorder.snapshot({ signWith: copied })).snapshotId).toBe('snap_1')
    await recorder.dispose()
  })
})

describe('a snapshot that cannot be written', () => {
  test("rejects with an error like Node's, and is not recorded", async () => {
    const { recorder, directory } = startedRecorder()
    rmSync(join(directory, 'snapshots'), { recursive: true })
    writeFileSync(join(directory, 'snapshots'), 'a file in the way')
    await expect(recorder.snapshot()).rejects.toMatchObject({
      code: expect.stringMatching(/^E[A-Z]+$/),
      syscall: 'mkdir',
      path: snapshotFile(directory, 'snap_1'),
    })
    expect(recorder.isActive()).toBe(true)
    expect(recorder.append(noted()).logicalTime).toBe(2)
    await recorder.dispose()
    expect(payloadsOf(directory)).toHaveLength(3)
  })

  test('leaves no partial file', async () => {
    const { recorder, directory } = startedRecorder()
    mkdirSync(join(snapshotFile(directory, 'snap_1'), 'in the way'), { recursive: true })
    await expect(recorder.snapshot()).rejects.toMatchObject({ syscall: 'rename' })
    expect(readdirSync(join(directory, 'snapshots'))).toEqual(['snap_1.cath-snap'])
    await recorder.dispose()
  })

  test('creates the directory again if it was removed', async () => {
    const { recorder, directory } = startedRecorder()
    rmSync(join(directory, 'snapshots'), { recursive: true })
    const { snapshotId } = await recorder.snapshot()
    expect(readdirSync(join(directory, 'snapshots'))).toEqual([`${snapshotId}.cath-snap`])
    await recorder.dispose()
    expect(errorOf(() => recorder.append(noted()))).toMatchObject({ code: 'RecorderDisposed' })
  })
})
