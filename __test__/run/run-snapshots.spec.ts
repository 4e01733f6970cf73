// Replays that begin with a snapshot reach the same state as from the beginning, whatever happened to the snapshot's file.

import { copyFileSync, mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { fc, test } from '../support/property'
import { replayRun, verifyRun } from '../../index.js'
import type { RunReplayOptions } from '../../index.js'
import { newKeys } from '../support/bundles.js'
import { eachCase } from '../support/each-case.js'
import { anyRun } from '../support/run-arbitraries.js'
import {
  completedRun,
  failed,
  freshPath,
  logOf,
  replayed,
  snapshotFile,
  startedRun,
  stateAt,
  withRun,
} from '../support/run-directory.js'
import { runs } from '../support/session-arbitraries.js'
import { type PlainRun, canonicalJson, rechained, sealedSnapshot } from '../support/plain-run-engine.mjs'

/** The two snapshots that every completed run here has. */
const [OLDER, NEWER] = [...completedRun().snapshots.keys()] as [string, string]
const timeOf = (id: string) => Number(id.slice('snap_'.length))

/** A snapshot's document with a change and a matching content hash. */
function forged(text: string, change: (document: Record<string, any>) => void, signWith?: string): string {
  const { contentHash: _, signature: __, ...content } = JSON.parse(text)
  change(content)
  return sealedSnapshot(content, signWith).text
}

describe('fromSnapshot', () => {
  const run = completedRun()
  const from = (fromSnapshot: string, rest: RunReplayOptions = {}) =>
    withRun(run, async (directory) => replayed(await replayRun(directory, { fromSnapshot, ...rest })))

  test('begins with the snapshot of that id, or with the newest', () =>
    eachCase(
      [
        [OLDER, OLDER],
        [NEWER, NEWER],
        ['latest', NEWER],
      ],
      async ([asked, taken]) => {
        const { metrics, ...result } = await from(asked!)
        expect(result).toStrictEqual({
          ok: true,
          state: run.states.at(-1),
          eventCount: run.time,
          fromSnapshot: taken,
          warnings: [],
        })
        const rest = run.lines.slice(timeOf(taken!) + 1)
        expect(metrics).toMatchObject({ events: rest.length, bytes: rest.join('\n').length + 1 })
      },
    ))

  test('latest is the newest snapshot that is not after `until`', async () => {
    const until = timeOf(NEWER) - 1
    expect(await from('latest', { until })).toMatchObject({
      fromSnapshot: OLDER,
      warnings: [],
      state: stateAt(run, until),
    })
    expect(await from('latest', { until: 3 })).toMatchObject({
      fromSnapshot: null,
      warnings: [],
      state: stateAt(run, 3),
    })
  })

  test('warns of a snapshot that is too late, missing or misnamed, and uses the next older one', () =>
    eachCase(
      [
        [NEWER, timeOf(NEWER) - 1, OLDER, /later than the last event wanted/],
        [OLDER, 3, null, /later than the last event wanted/],
        [`snap_${timeOf(NEWER) + 1}`, undefined, NEWER, /ENOENT/],
        ['snap_1', undefined, null, /ENOENT/],
        ['snap_01', undefined, null, /no id of a snapshot/],
        ['', undefined, null, /no id of a snapshot/],
        ['../snap_1', undefined, null, /no id of a snapshot/],
        [`snap_${'9'.repeat(40)}`, undefined, null, /no id of a snapshot/],
      ] as const,
      async ([asked, until, taken, warning]) => {
        const result = await from(asked, { until })
        expect(result).toMatchObject({ fromSnapshot: taken, warnings: [expect.stringMatching(warning)] })
        expect(result.state).toStrictEqual(stateAt(run, until ?? run.time - 1))
      },
    ))

  test('may be the path of a snapshot file anywhere', () =>
    withRun(run, async (directory) => {
      const elsewhere = freshPath()
      mkdirSync(elsewhere)
      const [own, moved, renamed] = [
        snapshotFile(directory, NEWER),
        join(elsewhere, `${NEWER}.cath-snap`),
        join(elsewhere, 'snap_2.cath-snap'),
      ]
      for (const copy of [moved, renamed]) copyFileSync(own, copy)
      for (const [file, taken, warnings] of [
        [own, NEWER, 0],
        [`${NEWER}.cath-snap`, NEWER, 0],
        [moved, NEWER, 0],
        [renamed, null, 1],
        [join(elsewhere, 'snap_3.cath-snap'), null, 1],
      ] as const) {
        const result = replayed(await replayRun(directory, { fromSnapshot: file }))
        expect([result.fromSnapshot, result.warnings.length]).toStrictEqual([taken, warnings])
        expect(result.state).toStrictEqual(run.states.at(-1))
      }
    }))

  test('begins at the first event in a run without snapshots', () =>
    withRun(startedRun(), async (directory) => {
      expect(await replayRun(directory, { fromSnapshot: 'latest' })).toMatchObject({
        ok: true,
        fromSnapshot: null,
        warnings: [],
      })
      rmSync(join(directory, 'snapshots'), { recursive: true })
      expect(await replayRun(directory, { fromSnapshot: 'latest' })).toMatchObject({
        ok: true,
        fromSnapshot: null,
        warnings: [],
      })
    }))

  test('verifies the events after the snapshot, and none before it', () =>
    withRun(run, async (directory) => {
      const changed = (time: number) => run.lines.with(time, run.lines[time]!.replace('"ts":"2026', '"ts":"2027'))
      writeFileSync(logOf(directory), `${changed(2).join('\n')}\n`)
      expect(failed(await replayRun(directory)).error).toMatchObject({ code: 'ChainBroken', time: 2 })
      expect(replayed(await replayRun(directory, { fromSnapshot: NEWER })).state).toStrictEqual(run.states.at(-1))
      writeFileSync(logOf(directory), `${changed(timeOf(NEWER) + 2).join('\n')}\n`)
      const { error, state } = failed(await replayRun(directory, { fromSnapshot: NEWER }))
      expect(error).toMatchObject({ code: 'ChainBroken', time: timeOf(NEWER) + 2 })
      expect(state).toStrictEqual(stateAt(run, timeOf(NEWER) + 1))
    }))
})

describe("a snapshot that can't be used is skipped with a warning", () => {
  const run = completedRun()
  const good = run.snapshots.get(NEWER)!

  /** Replays with the newer snapshot replaced, and expects it to be skipped. */
  async function expectPassedOver(document: string | Uint8Array, reason: RegExp, options: RunReplayOptions = {}) {
    await withRun(run, async (directory) => {
      writeFileSync(snapshotFile(directory, NEWER), document)
      const asked = { fromSnapshot: 'latest', verify: 'full', ...options } as const
      const { state, warnings, fromSnapshot } = replayed(await replayRun(directory, asked))
      expect(warnings[0]).toMatch(new RegExp(`^${NEWER} was passed over: `))
      expect(warnings[0]).toMatch(reason)
      expect(fromSnapshot).not.toBe(NEWER)
      expect(state).toStrictEqual(run.states.at(-1))
      const { ok, snapshots } = await verifyRun(directory, options)
      expect([ok, snapshots.firstFailure?.eventId]).toStrictEqual([false, expect.stringMatching(/^evt_/)])
    })
  }

  test('if it is damaged, torn, empty or something else', () =>
    eachCase(
      [
        ['', /not a JSON object/],
        [good.slice(0, -1), /not a JSON object/],
        [`${good}\n`, /canonical form/],
        [good.replace('"v":1', '"v":2'), /format version/],
        [good.replace('"status":"Running"', '"status":"Created"'), /content has another hash/],
        [good.replace(',"v":1', ',"v":1,"w":1'), /canonical form/],
        ['[]', /not a JSON object/],
        [Buffer.from(good.replace('build', '\u00ff'), 'latin1'), /UTF-8/],
        [`${'['.repeat(1_000_000)}`, /./],
        [run.snapshots.get(OLDER)!, /name of another/],
      ] as [string | Uint8Array, RegExp][],
      ([document, reason]) => expectPassedOver(document, reason),
    ))

  test('if it is forged with a matching content hash', () =>
    eachCase(
      [
        ['another run', (document) => (document['runId'] = 'run-8'), /its run is not that of the log/],
        ['another event', (document) => (document['eventHash'] = 'e'.repeat(64)), /its event is not that of the log/],
        ['another hash', (document) => (document['stateHash'] = 'e'.repeat(64)), /its state is not that of the log/],
        [
          'a node completed',
          (document) => (document['state'].coordinator.nodeStates.announce.status = 'Completed'),
          /./,
        ],
        ['a worker gone', (document) => delete document['state'].workers.w2, /./],
        [
          'a worker added',
          (document) => (document['state'].workers.w9 = { capabilities: [], status: 'idle' }),
          /not the one whose hash it has/,
        ],
        ['a counter', (document) => (document['state'].counters.errors = 7), /not the one whose hash it has/],
        ["the state's run", (document) => (document['state'].coordinator.run.id = 'run-8'), /./],
        [
          'the scheduler, which no hash covers',
          (document) => (document['state'].scheduler = 'external'),
          /scheduler or capabilities/,
        ],
        [
          'capabilities, which no hash covers',
          (document) => (document['state'].capabilities = ['all']),
          /scheduler or capabilities/,
        ],
        ['another graph', (document) => document['state'].coordinator.dag.nodes.pop(), /./],
        ['a field that nobody knows', (document) => (document['state'].extra = 1), /./],
      ] as [string, (document: Record<string, any>) => unknown, RegExp][],
      ([, change, reason]) => expectPassedOver(forged(good, change), reason),
    ))

  test('if the log lacks its event, or has another one', () =>
    withRun(run, async (directory) => {
      writeFileSync(logOf(directory), `${run.lines.slice(0, timeOf(NEWER)).join('\n')}\n`)
      expect(replayed(await replayRun(directory, { fromSnapshot: 'latest' }))).toMatchObject({
        fromSnapshot: OLDER,
        warnings: [expect.stringMatching(/no event at its time/)],
        state: stateAt(run, timeOf(NEWER) - 1),
      })
      const events = run.events.with(2, { ...run.events[2]!, ts: 'another' })
      writeFileSync(logOf(directory), `${rechained(events).join('\n')}\n`)
      const result = replayed(await replayRun(directory, { fromSnapshot: 'latest', verify: 'full' }))
      expect(result).toMatchObject({ fromSnapshot: null, state: run.states.at(-1) })
      expect(result.warnings).toHaveLength(2)
    }))

  test('if it is not a regular file', () =>
    withRun(run, async (directory) => {
      unlinkSync(snapshotFile(directory, NEWER))
      mkdirSync(snapshotFile(directory, NEWER))
      unlinkSync(snapshotFile(directory, OLDER))
      symlinkSync(snapshotFile(directory, OLDER), snapshotFile(directory, OLDER))
      const result = replayed(await replayRun(directory, { fromSnapshot: 'latest' }))
      expect(result).toMatchObject({
        fromSnapshot: null,
        state: run.states.at(-1),
        warnings: [expect.stringContaining(NEWER), expect.stringContaining(OLDER)],
      })
    }))

  test('but not if its name is not that of a snapshot, which is ignored', () =>
    withRun(run, async (directory) => {
      for (const id of [NEWER, OLDER]) renameSync(snapshotFile(directory, id), snapshotFile(directory, `${id}-copy`))
      expect(await replayRun(directory, { fromSnapshot: 'latest' })).toMatchObject({ fromSnapshot: null, warnings: [] })
    }))

  test.prop([fc.nat(), fc.integer({ min: 1, max: 255 })], runs(150))(
    'if any byte is changed',
    async (at, difference) => {
      const changed = Buffer.from(good)
      changed[at % changed.length]! ^= difference
      await expectPassedOver(changed, /./)
    },
  )

  /** Values that replace one in a document; `undefined` removes it. */
  const otherValue = fc.oneof(
    fc.constant(undefined),
    fc.jsonValue(),
    fc.constantFrom('Completed', 'Failed', 'w2', 'build#1', 0, 1, 2),
  )
  test.prop([anyRun(50), fc.nat(), fc.nat(), otherValue], runs(150))(
    'if any part of its state is replaced, even with a matching content hash',
    async (any, which, where, value) => {
      const ids = [...any.snapshots.keys()]
      if (ids.length === 0) return
      const id = ids[which % ids.length]!
      const text = any.snapshots.get(id)!
      const forgery = forged(text, (document) => replaceAt(document['state'], where, value), undefined)
      await withRun(any, async (directory) => {
        writeFileSync(snapshotFile(directory, id), forgery)
        const { state, fromSnapshot } = replayed(await replayRun(directory, { fromSnapshot: id, verify: 'full' }))
        expect(canonicalJson(state)).toBe(canonicalJson(any.states.at(-1)))
        expect(fromSnapshot === id).toBe(forgery === text)
      })
    },
  )
})

/** Replaces one of the values in a document, chosen by any number. */
function replaceAt(document: Record<string, unknown>, where: number, value: unknown): void {
  const places: (() => void)[] = []
  const collect = (holder: any) => {
    for (const key of Object.keys(holder)) {
      places.push(() => {
        // A document has no numbers but non-negative integers.
        const fits = JSON.stringify(value ?? null).match(/\d[.e]|-|\d{16}/) === null
        if (value === undefined && !Array.isArray(holder)) delete holder[key]
        else holder[key] = fits ? (value ?? null) : 'x'
      })
      if (typeof holder[key] === 'object' && holder[key] !== null) collect(holder[key])
    }
  }
  collect(document)
  places[where % places.length]!()
}

describe('signatures', () => {
  const ours = newKeys()
  const theirs = newKeys()
  const signedRun = (signWith?: string) => {
    const run = startedRun()
    run.snapshot(signWith === undefined ? {} : { signWith })
    return run
  }
  const replay = (run: PlainRun, trustedKeys?: string[]) =>
    withRun(run, async (directory) => {
      const result = replayed(await replayRun(directory, { fromSnapshot: 'latest', trustedKeys }))
      const { ok, snapshots } = await verifyRun(directory, { trustedKeys })
      expect([ok, snapshots.failed]).toStrictEqual([snapshots.failed === 0, result.fromSnapshot === null ? 1 : 0])
      expect(result.state).toStrictEqual(run.states.at(-1))
      return [result.fromSnapshot, result.warnings] as const
    })

  test('of a trusted key are accepted', async () => {
    const run = signedRun(ours.privateKey)
    expect(await replay(run, [ours.publicKey])).toStrictEqual(['snap_1', []])
    expect(await replay(run, [theirs.publicKey, ours.publicKey])).toStrictEqual(['snap_1', []])
    // A pasted key, with Windows line endings and white space around it.
    expect(await replay(run, [`\r\n${ours.publicKey.replaceAll('\n', '\r\n')}  `])).toStrictEqual(['snap_1', []])
  })

  test('are not checked without trusted keys', async () => {
    expect(await replay(signedRun(theirs.privateKey))).toStrictEqual(['snap_1', []])
    expect(await replay(signedRun(), [])).toStrictEqual(['snap_1', []])
  })

  test('of other keys, or missing ones, are refused', async () => {
    expect(await replay(signedRun(theirs.privateKey), [ours.publicKey])).toStrictEqual([
      null,
      [expect.stringMatching(/none of the trusted keys/)],
    ])
    expect(await replay(signedRun(), [ours.publicKey])).toStrictEqual([null, [expect.stringMatching(/not signed/)]])
  })

  test('that were changed are refused, and a key in the file proves nothing', async () => {
    const change = (edit: (document: Record<string, any>) => void) => {
      const run = signedRun(ours.privateKey)
      const document = JSON.parse(run.snapshots.get('snap_1')!)
      edit(document)
      run.snapshots.set('snap_1', canonicalJson(document))
      return replay(run, [ours.publicKey])
    }
    const { signature } = JSON.parse(signedRun(theirs.privateKey).snapshots.get('snap_1')!)
    for (const edit of [
      (document: Record<string, any>) => (document['signature'].sig = signature.sig),
      (document: Record<string, any>) => (document['signature'] = signature),
      (document: Record<string, any>) => (document['signature'].key = theirs.publicKey),
      (document: Record<string, any>) => (document['signature'].sig = 'A'.repeat(86) + '=='),
      (document: Record<string, any>) => (document['signature'] = []),
    ]) {
      expect(await change(edit)).toStrictEqual([null, [expect.stringMatching(/^snap_1 was passed over/)]])
    }
    // The key id is only a hint.
    const [fromSnapshot] = await change((document) => (document['signature'].keyid = signature.keyid))
    expect(fromSnapshot).toBe('snap_1')
  })

  test('over the bare content, without the DSSE encoding, are refused', async () => {
    const run = signedRun(ours.privateKey)
    const document = JSON.parse(run.snapshots.get('snap_1')!)
    const { sign } = await import('node:crypto')
    const { contentHash: _, signature: __, ...content } = document
    document.signature.sig = sign(null, Buffer.from(canonicalJson(content)), ours.privateKey).toString('base64')
    run.snapshots.set('snap_1', canonicalJson(document))
    expect(await replay(run, [ours.publicKey])).toStrictEqual([null, [expect.stringMatching(/trusted keys/)]])
  })
})
