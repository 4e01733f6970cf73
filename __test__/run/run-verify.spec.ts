// verifyRun: the meaning of each flag, and that no flag is true without a check.

import { mkdirSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect } from 'vitest'
import { fc, test } from '../support/property'
import { compileWorkflow, replayRun, verifyRun } from '../../index.js'
import type { RunVerification } from '../../index.js'
import { eachCase } from '../support/each-case.js'
import { anyRun } from '../support/run-arbitraries.js'
import { WORKFLOW, completedRun, logOf, logWith, runUntil, startedRun, withRun } from '../support/run-directory.js'
import { runs } from '../support/session-arbitraries.js'
import { PlainRun, blobPath, decision, normalized, rechained, sha256 } from '../support/plain-run-engine.mjs'

type Flag = 'dagMatch' | 'scheduleMatch' | 'stateHashesMatch' | 'outputHashesMatch'
const flagsOf = ({ dagMatch, scheduleMatch, stateHashesMatch, outputHashesMatch }: RunVerification) => ({
  dagMatch,
  scheduleMatch,
  stateHashesMatch,
  outputHashesMatch,
})
const ALL: Record<Flag, boolean> = {
  dagMatch: true,
  scheduleMatch: true,
  stateHashesMatch: true,
  outputHashesMatch: true,
}

/** Verifies a run after changing its directory. */
const verified = (run: PlainRun, change: (directory: string) => void = () => {}) =>
  withRun(run, (directory) => (change(directory), verifyRun(directory)))
const passed = (checked: number) => ({ checked, failed: 0, unverifiable: 0 })
const withLog = (lines: string[]) => (directory: string) => writeFileSync(logOf(directory), `${lines.join('\n')}\n`)

describe('a flag is false if nothing was checked', () => {
  test('in an empty log', async () => {
    const found = await verified(completedRun(), (directory) => writeFileSync(logOf(directory), ''))
    expect(flagsOf(found)).toStrictEqual({
      dagMatch: false,
      scheduleMatch: false,
      stateHashesMatch: false,
      outputHashesMatch: false,
    })
    expect([found.ok, found.chain.firstFailure?.code, found.stateHashes]).toStrictEqual([false, 'EmptyLog', passed(0)])
    expect(found.chain).toMatchObject({ checked: 1, failed: 1, unverifiable: 0 })
  })
})

describe('dagMatch', () => {
  const run = completedRun()
  const workflow = (change: object) => JSON.stringify({ ...WORKFLOW, ...change })
  const other = { ...WORKFLOW, nodes: WORKFLOW.nodes.slice(0, 2) }

  test('holds for a workflow in another notation that compiles to the same graph', () =>
    eachCase(
      [JSON.stringify({ extra: [], ...WORKFLOW }, null, 2), workflow({ nodes: WORKFLOW.nodes.toReversed() })],
      async (text) => {
        const found = await verified(run, (directory) => writeFileSync(join(directory, 'workflow.json'), text))
        expect([found.ok, found.dag]).toStrictEqual([true, passed(1)])
      },
    ))

  test('fails for a workflow of another name or version, that compiles to another graph, or to none', () =>
    eachCase(
      [
        [workflow({ version: '2' }), 'DagMismatch'],
        [workflow({ name: 'another' }), 'DagMismatch'],
        [JSON.stringify(other), 'DagMismatch'],
        ['{}', 'WorkflowInvalid'],
        ['', 'WorkflowInvalid'],
        [workflow({ nodes: [{ id: 'a', kind: 'k', dependsOn: ['a'] }] }), 'WorkflowInvalid'],
      ],
      async ([text, code]) => {
        const found = await verified(run, (directory) => writeFileSync(join(directory, 'workflow.json'), text!))
        expect(flagsOf(found)).toStrictEqual({ ...ALL, dagMatch: false })
        expect([found.ok, found.dag]).toMatchObject([false, { checked: 1, failed: 1, firstFailure: { code } }])
      },
    ))

  test("fails for a dag.json other than the run's, while the rest is verified with the graph of the workflow", () =>
    eachCase([compileWorkflow(other).dag, `${compileWorkflow(WORKFLOW).dag}\n`, ''], async (text) => {
      const found = await verified(run, (directory) => writeFileSync(join(directory, 'dag.json'), text))
      expect(flagsOf(found)).toStrictEqual({ ...ALL, dagMatch: false })
      expect([found.ok, found.dag.failed, found.chain.failed]).toStrictEqual([false, 1, 0])
    }))

  test('is false, and unverifiable, without workflow.json', async () => {
    const found = await verified(run, (directory) => unlinkSync(join(directory, 'workflow.json')))
    expect(flagsOf(found)).toStrictEqual({ ...ALL, dagMatch: false })
    expect([found.ok, found.dag]).toStrictEqual([false, { checked: 0, failed: 0, unverifiable: 1 }])
  })

  test('fails if workflow.json and dag.json are of another run', async () => {
    const found = await verified(run, (directory) => {
      writeFileSync(join(directory, 'workflow.json'), JSON.stringify(other))
      writeFileSync(join(directory, 'dag.json'), compileWorkflow(other).dag)
    })
    expect(flagsOf(found)).toStrictEqual({
      dagMatch: false,
      scheduleMatch: false,
      stateHashesMatch: false,
      outputHashesMatch: false,
    })
    expect(found.dag.firstFailure).toMatchObject({ code: 'DagMismatch', expected: run.graph.dagHash })
    expect(found.stateHashes).toMatchObject({ checked: 0, unverifiable: run.time })
  })
})

describe('scheduleMatch', () => {
  const NODES = ['a', 'b', 'c', 'd'].map((id) => ({ id, kind: 'task', capabilities: id === 'd' ? ['gpu'] : [] }))
  const workflow = { name: 'w', version: '1', nodes: NODES }
  const start = (scheduler: 'round-robin' | 'least-loaded' | 'external') => {
    const run = new PlainRun({ runId: 'r', workflow, scheduler })
    const workers = ['w1', 'w2', 'w3'].map((id) => ({ id, capabilities: id === 'w2' ? ['gpu'] : [] }))
    run.append('RunStarted', { workers })
    for (const { id } of NODES) run.append('NodeScheduled', { task: `${id}#1`, dependsOn: [] })
    return run
  }
  const assign = (run: PlainRun, ...pairs: [task: string, worker: string][]) => {
    for (const [task, worker] of pairs) run.append('TaskAssigned', { task, worker })
    return run
  }
  const outcome = async (run: PlainRun) => {
    const { scheduleMatch, schedule } = await verified(run)
    return [scheduleMatch, schedule.checked, schedule.failed, schedule.firstFailure?.expected]
  }

  test('a reassignment is not a decision of the scheduler, but the new worker must be capable', async () => {
    const run = assign(start('round-robin'), ['a#1', 'w1'])
    run.append('TaskAssigned', { task: 'a#1', worker: 'w3', from: 'w1' })
    assign(run, ['b#1', 'w1'])
    expect(await outcome(run)).toStrictEqual([true, 3, 0, undefined])
    const wrong = assign(start('round-robin'), ['a#1', 'w1'], ['b#1', 'w2'], ['c#1', 'w3'], ['d#1', 'w2'])
    wrong.append('TaskAssigned', { task: 'd#1', worker: 'w1', from: 'w2' })
    expect(await outcome(wrong)).toMatchObject([false, 5, 1, expect.stringContaining('gpu')])
  })

  test.prop([anyRun(40), fc.nat(), fc.nat()], runs(100))(
    'agrees with the plain engine on an assignment appended to any run',
    async (run, which, who) => {
      const { pending, workers } = run.state
      if (pending.length === 0 || workers.size === 0 || run.state.run.status !== 'Running') return
      const { task } = pending[which % pending.length]!
      const worker = [...workers.keys()][who % workers.size]!
      const { scheduler } = JSON.parse(run.events[0]!.payload) as { scheduler: string }
      const decided = decision(run.state)
      const isRight = scheduler === 'external' || (decided?.task === task && decided.worker === worker)
      const before = run.events.filter(({ kind }) => kind === 'TaskAssigned').length
      run.append('TaskAssigned', { task, worker })
      const { scheduleMatch, schedule } = await verified(run)
      expect([scheduleMatch, schedule.checked, schedule.failed]).toStrictEqual([isRight, before + 1, isRight ? 0 : 1])
      expect(schedule.firstFailure?.time).toBe(isRight ? undefined : run.time - 1)
    },
  )
})

describe('stateHashesMatch', () => {
  test.prop([anyRun(30), fc.array(fc.nat(), { minLength: 1, maxLength: 3 })], runs(60))(
    'fails for each changed state hash',
    async (run, places) => {
      const times = [...new Set(places.map((at) => at % run.time))].sort((a, b) => a - b)
      const events = run.events.map((event, time) =>
        times.includes(time) ? { ...event, stateHash: sha256(event.stateHash) } : event,
      )
      // Snapshot events name state hashes and would fail too, so runs with them are left out.
      if (run.events.some(({ kind }) => kind.startsWith('Snapshot'))) return
      const found = await verified(run, withLog(rechained(events)))
      expect(found.stateHashesMatch).toBe(false)
      expect(found.stateHashes).toMatchObject({
        checked: run.time,
        failed: times.length,
        unverifiable: 0,
        firstFailure: { code: 'StateMismatch', time: times[0] },
      })
      expect([found.ok, found.chain]).toStrictEqual([false, passed(run.time)])
    },
  )
})

test.each([1, 2, 700])(
  'a snapshot with a false hash in its SnapshotCreated fails when it is restored %d events later',
  async (later) => {
    const run = startedRun()
    const stateHash = sha256('another state')
    const payload = { snapshot: `snap_${run.time - 1}`, stateHash, at: run.time - 1 }
    run.append('SnapshotCreated', payload)
    for (let event = 1; event < later; event++) run.append('Error', { code: 'E', message: 'm', recoverable: true })
    const found = await withRun(run, verifyRun, logWith(run, 'SnapshotRestored', payload))
    expect(found.stateHashes.firstFailure).toMatchObject({ code: 'StateMismatch', time: run.time })
    expect(
      await withRun(
        run,
        (directory) => replayRun(directory, { verify: 'full' }),
        logWith(run, 'SnapshotRestored', payload),
      ),
    ).toMatchObject({
      ok: false,
      error: { code: 'StateMismatch', time: run.time },
    })
  },
)

describe('stored blobs', () => {
  const withBlob = (size: number): [PlainRun, blob: string, at: number] => {
    const run = startedRun()
    const blob = run.putBlob('stored')
    run.append('BlobStored', { blob, size })
    return [run, blob, run.time - 1]
  }

  test('that are missing, changed or of another size are damage, though no output is named after them', () =>
    eachCase(
      [
        [6, 'BlobMissing', unlinkSync],
        [6, 'BlobCorrupt', (path) => writeFileSync(path, 'Stored')],
        [6, 'BlobCorrupt', (path) => writeFileSync(path, '')],
        [7, 'BlobCorrupt', () => {}],
      ] as [number, string, (path: string) => void][],
      async ([size, code, change]) => {
        const [run, blob, at] = withBlob(size)
        await withRun(run, async (directory) => {
          change(blobPath(directory, blob))
          const found = await verifyRun(directory)
          expect(flagsOf(found)).toStrictEqual({ ...ALL, scheduleMatch: false, outputHashesMatch: false })
          expect([found.ok, found.blobs]).toMatchObject([
            false,
            { checked: 1, failed: 1, firstFailure: { code, time: at } },
          ])
          expect(await replayRun(directory, { verify: 'full' })).toMatchObject({ ok: false, error: { code, time: at } })
          expect(await replayRun(directory)).toMatchObject({ ok: true })
        })
      },
    ))

  test('are damaged if only an output hash names them, and they were changed; they need not exist', async () => {
    const run = completedRun()
    const completed = run.events.find(({ kind, node }) => kind === 'NodeCompleted' && node === 'build')!
    const { outputHash } = JSON.parse(completed.payload) as { outputHash: string }
    const raw = run.events
      .filter(({ kind }) => kind === 'ToolCompleted')
      .map(({ payload }) => (JSON.parse(payload) as { rawHash: string }).rawHash)
    expect(raw).not.toContain(outputHash)
    await withRun(run, async (directory) => {
      const path = blobPath(directory, outputHash)
      rmSync(path, { force: true })
      expect(await verifyRun(directory)).toMatchObject({ ok: true, blobs: { checked: 0 } })
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, 'altered')
      expect(await verifyRun(directory)).toMatchObject({
        ok: false,
        blobs: { failed: 2, firstFailure: { code: 'BlobCorrupt', expected: outputHash } },
      })
      expect(await replayRun(directory, { verify: 'full' })).toMatchObject({
        ok: false,
        error: { code: 'BlobCorrupt' },
      })
    })
  })
})

describe('outputHashesMatch', () => {
  const run = completedRun()
  const at = run.events.findIndex(({ kind }) => kind === 'ToolCompleted')
  const { rawHash } = JSON.parse(run.events[at]!.payload) as { rawHash: string }
  const onlyOutputs = { ...ALL, outputHashesMatch: false }

  test('fails for a missing or changed blob', () =>
    eachCase(
      [
        ['BlobMissing', (path: string) => unlinkSync(path)],
        ['BlobCorrupt', (path: string) => writeFileSync(path, 'compiled \n')],
        ['BlobCorrupt', (path: string) => writeFileSync(path, '')],
      ] as [string, (path: string) => void][],
      async ([code, change]) => {
        const found = await verified(run, (directory) => change(blobPath(directory, rawHash)))
        expect(flagsOf(found)).toStrictEqual(onlyOutputs)
        expect(found.outputHashes).toMatchObject({
          checked: 1,
          failed: 1,
          firstFailure: { code, time: at, eventId: `evt_${at}` },
        })
        expect(found.ok).toBe(false)
      },
    ))

  /** A run with one output. */
  function withOutput(raw: string | Uint8Array, normalizer: string, outputHash?: string): PlainRun {
    const one = runUntil('NodeStarted')
    one.append('ToolInvoked', { tool: 't', call: 'c', requestHash: 'q' }, { node: 'build' })
    const output = outputHash ?? sha256(normalized(normalizer, raw))
    one.append(
      'ToolCompleted',
      { tool: 't', call: 'c', rawHash: one.putBlob(raw), outputHash: output, normalizer },
      { node: 'build' },
    )
    return one
  }

  test('fails for an output whose normalised form has another hash', () =>
    eachCase(
      [
        ['a', 'none', sha256('b'), 'OutputMismatch'],
        ['{"a":1}', 'json', sha256('{"a":2}'), 'OutputMismatch'],
        ['{"a":1', 'json', sha256('{"a":1'), 'OutputMismatch'],
        ['a \r\n', 'text', sha256('a \r\n'), 'OutputMismatch'],
        ['a', 'text', 'no hash', 'OutputMismatch'],
      ] as const,
      async ([raw, normalizer, hash, code]) => {
        const { outputHashesMatch, outputHashes } = await verified(withOutput(raw, normalizer, hash))
        expect([outputHashesMatch, outputHashes.firstFailure?.code]).toStrictEqual([false, code])
      },
    ))

  test('is false, and unverifiable, for an unknown normaliser', async () => {
    const found = await verified(withOutput('a', 'markdown', sha256('a')))
    expect([found.ok, found.outputHashesMatch, found.outputHashes]).toStrictEqual([
      false,
      false,
      { checked: 0, failed: 0, unverifiable: 1 },
    ])
  })

  const text = fc.string({ unit: fc.constantFrom(' ', '\t', '\r', '\n', 'a', 'é', '\u00a0') })
  // Lone surrogates have no RFC 8785 form.
  const json = fc.jsonValue().filter((value) => !/\\ud[89a-f]/.test(JSON.stringify(value)))
  const output = fc.oneof(
    fc.uint8Array().map((bytes) => [Buffer.from(bytes), 'none'] as const),
    text.map((raw) => [raw, 'text'] as const),
    fc
      .tuple(json, fc.constantFrom(undefined, 1, '\t'))
      .map(([value, indent]) => [JSON.stringify(value, null, indent), 'json'] as const),
  )
  test.prop([output], runs(240))('holds for any output, normalised or not', async ([raw, normalizer]) => {
    const { outputHashesMatch, outputHashes } = await verified(withOutput(raw, normalizer))
    expect([outputHashesMatch, outputHashes.firstFailure]).toStrictEqual([true, undefined])
  })
})

describe('damage to the log', () => {
  test("an event that can't be applied makes the later ones unverifiable, and their flags false", async () => {
    const run = completedRun()
    const time = 4
    const events = run.events.with(time, { ...run.events[time]!, kind: 'NodeVanished' })
    const found = await verified(run, withLog(rechained(events)))
    expect(found).toMatchObject({
      ok: false,
      dagMatch: true,
      scheduleMatch: false,
      stateHashesMatch: false,
      outputHashesMatch: false,
      chain: {
        checked: time + 1,
        failed: 1,
        unverifiable: run.time - time - 1,
        firstFailure: { code: 'UnknownKind', time },
      },
      stateHashes: { checked: time, failed: 0, unverifiable: run.time - time },
      // The unknown event may have been an assignment or an output, so it is counted as unverifiable too.
      schedule: { checked: 1, failed: 0, unverifiable: 2 },
      outputHashes: { checked: 0, failed: 0, unverifiable: 2 },
    })
  })

  test('a changed line fails the chain, and verification continues', async () => {
    const run = completedRun()
    const changed = run.lines.with(5, run.lines[5]!.replace('"inputHash":"in"', '"inputHash":"on"'))
    const found = await verified(run, withLog(changed))
    expect(flagsOf(found)).toStrictEqual(ALL)
    expect([found.ok, found.chain]).toMatchObject([
      false,
      { checked: run.time, failed: 1, unverifiable: 0, firstFailure: { code: 'ChainBroken', time: 5 } },
    ])
  })
})

test('a run of each scheduler verifies', () =>
  eachCase(['round-robin', 'least-loaded', 'external'] as const, async (scheduler) => {
    expect((await verified(completedRun(scheduler))).ok).toBe(true)
  }))
