// Comparing runs: what counts as a difference, how runs diverge, and damaged logs.

import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { diff, diffToText, traceAncestors } from '../../index.js'
import { PlainRun } from '../support/plain-run-engine.mjs'
import { diffRuns, parted, rejection } from '../support/diffing.js'
import { completedRun, freshPath, logOf, startedRun } from '../support/run-directory.js'
import { WORKFLOW } from '../support/run-directory.js'

const note = (run: PlainRun, message: string, rest: Record<string, unknown> = {}) =>
  run.append('Error', { code: 'E', message, recoverable: true, ...rest })

describe('two runs', () => {
  test('that did the same are equal, whatever their snapshots, blobs and heartbeats', async () => {
    const [left, right] = [startedRun(), startedRun()]
    note(left, 'first')
    right.snapshot()
    right.append('BlobStored', { blob: right.putBlob('x'), size: 1 })
    note(right, 'first')
    right.append('Heartbeat', { worker: 'w1', status: 'busy' })
    for (const run of [left, right]) {
      const because = run.events.at(-1)!.kind === 'Heartbeat' ? run.time - 2 : run.time - 1
      run.append('NodeSkipped', { reason: 'r', because }, { node: 'build' })
    }
    expect(await diffRuns(left, right)).toBeNull()
    const found = parted(await diffRuns(left, right, { heartbeats: true }))
    expect(found).toMatchObject({ kind: 'EventMismatch', left: { kind: 'NodeSkipped' }, right: { kind: 'Heartbeat' } })
  })

  test('of different workflows differ in their header', async () => {
    const other = new PlainRun({ runId: 'run-7', workflow: { ...WORKFLOW, version: '2' }, scheduler: 'external' })
    const found = parted(await diffRuns(startedRun(), other))
    expect(found).toMatchObject({
      divergence_event: 0,
      kind: 'HeaderMismatch',
      likely_cause: 'WorkflowChanged',
      causal_ancestors: [],
    })
    expect(found.fields).toStrictEqual([{ path: '/payload/workflow/version', left: '1.2.0', right: '2' }])
    expect(found.common_ancestor).toBeNull()
    expect(diffToText(found)).toContain('  workflow_version: 2')
    const ignoring = await diffRuns(startedRun(), startedRun('external', { ...WORKFLOW, version: '2' }), {
      ignore: ['/payload/workflow'],
    })
    expect(ignoring).toBeNull()
  })

  test('of which one ended early diverge at its end', async () => {
    const [whole, cut] = [completedRun(), completedRun()]
    // RunCompleted, NodeSkipped: the last two.
    const path = cut.write(freshPath())
    writeFileSync(
      logOf(path),
      cut.lines
        .slice(0, -2)
        .map((line) => `${line}\n`)
        .join('') + '{"v":1,"time"',
    )
    const found = parted(await diff(whole.write(freshPath()), path, { full: true }))
    const at = cut.time - 2
    expect(found).toMatchObject({
      divergence_event: at,
      kind: 'RightEnded',
      right: null,
      fields: [],
      likely_cause: 'LogTruncated',
    })
    expect(found.edits).toStrictEqual([
      { op: 'delete', left: at },
      { op: 'delete', left: at + 1 },
    ])
    expect(diffToText(found)).toContain('\n\nRight:\n  (ended)\nCausal chain:\n')
    const other = parted(await diff(path, whole.write(freshPath())))
    expect(other).toMatchObject({ divergence_event: at, kind: 'LeftEnded', left: null, affected_nodes: ['announce'] })
    expect(other.ancestors.left).toStrictEqual([])
    expect(other.causal_ancestors).toStrictEqual(found.causal_ancestors)
    expect(other.common_ancestor).toBe(other.causal_ancestors[0])
  })

  test('with one event inserted differ in one edit, and the later events stay equal', async () => {
    const [left, right] = [startedRun(), startedRun()]
    note(right, 'extra')
    for (const run of [left, right]) {
      run.append('NodeScheduled', { task: 'build#1', dependsOn: [1] })
      run.append('TaskAssigned', { task: 'build#1', worker: 'w1' })
    }
    const found = parted(await diffRuns(left, right, { full: true }))
    expect(found.edits).toStrictEqual([{ op: 'insert', right: 2 }])
    expect(found.equal).toStrictEqual([{ left: 2, right: 3, length: 2 }])
  })

  test('differ only in fields that are not ignored', async () => {
    const run = (value: unknown) => {
      const started = startedRun()
      note(started, 'same', { 'a/b': { 'c~d': [1, { e: value }] }, '*': value })
      return started
    }
    const paths = async (ignore: string[]) =>
      (await diffRuns(run(1), run(2), { ignore }))?.fields.map(({ path }) => path) ?? null
    expect(await paths([])).toStrictEqual(['/payload/a~1b/c~0d/1/e', '/payload/*'])
    expect(await paths(['/payload/a~1b/c~0d/1/e'])).toStrictEqual(['/payload/*'])
    expect(await paths(['/payload/*'])).toStrictEqual(['/payload/a~1b/c~0d/1/e'])
    expect(await paths(['/payload/*', '/payload/a~1b/c~0d/1'])).toBeNull()
    expect(await paths([''])).toBeNull()
    expect(await paths(['/nowhere', '/payload/a/b'])).toHaveLength(2)
  })
})

describe('a damaged log', () => {
  const pair = () => [completedRun().write(freshPath()), completedRun().write(freshPath())] as const

  test.each([
    ['a line that is none', (line: string) => line.slice(0, -1), 'NotAJsonLine'],
    ['an unknown kind', (line: string) => line.replace('"TaskAccepted"', '"TaskForgotten"'), 'UnknownKind'],
    ['a field that is gone', (line: string) => line.replace('"worker":', '"w":'), 'MissingField'],
    ['a gap', (line: string) => line.replace('"time":4', '"time":5'), 'TimeGap'],
  ])('%s rejects and names side and event', async (_, damage, code) => {
    const [left, right] = pair()
    const lines = readFileSync(logOf(right), 'utf8').split('\n')
    lines[4] = damage(lines[4]!)
    writeFileSync(logOf(right), lines.join('\n'))
    const error = await rejection(diff(left, right))
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject({ code, side: 'right', eventId: code === 'TimeGap' ? 'evt_5' : 'evt_4' })
    expect(error.message).toContain(right)
    expect(await rejection(diff(right, left))).toMatchObject({ code, side: 'left' })
  })

  test('does not matter after the divergence, except with `full`', async () => {
    const [left, right] = pair()
    const log = readFileSync(logOf(right), 'utf8').replace('"w1"', '"w3"')
    writeFileSync(logOf(right), `${log}damaged\n`)
    expect(parted(await diff(left, right)).divergence_event).toBe(1)
    expect(await rejection(diff(left, right, { full: true }))).toMatchObject({ code: 'NotAJsonLine', side: 'right' })
  })

  test('with a torn line is compared up to that line', async () => {
    const [left, right] = pair()
    appendFileSync(logOf(right), '{"v":1,"time":')
    expect(await diff(left, right)).toBeNull()
  })

  test('without events, or a missing one, is not a run', async () => {
    const [left, right] = pair()
    writeFileSync(logOf(right), '')
    expect(await rejection(diff(left, right))).toMatchObject({ code: 'EmptyLog', side: 'right' })
    rmSync(logOf(right))
    expect(await rejection(diff(left, right))).toMatchObject({
      code: 'ENOENT',
      side: 'right',
      syscall: 'open',
      path: logOf(right),
    })
    expect(await rejection(traceAncestors(right, 'evt_0'))).toMatchObject({ code: 'ENOENT' })
  })
})

test('the ancestry of an event is complete, however long', async () => {
  const run = startedRun()
  while (run.time < 3000) note(run, 'x'.repeat(300))
  const path = run.write(freshPath())
  const { chain, truncated } = await traceAncestors(path, 'evt_2999')
  expect(chain.map(({ event_id }) => event_id)).toStrictEqual(Array.from({ length: 2999 }, (_, n) => `evt_${2998 - n}`))
  expect(truncated).toBe(false)
  for (const id of ['evt_3000', 'evt_-1', 'evt_01', 'rec_1', '1', '']) {
    expect(await rejection(traceAncestors(path, id))).toMatchObject({ code: 'NoSuchEvent' })
  }
})

test('without a graph only the node itself is affected', async () => {
  const [left, right] = [startedRun(), startedRun()]
  left.append('NodeScheduled', { task: 'build#1', dependsOn: [] })
  right.append('NodeScheduled', { task: 'build#1', dependsOn: [], priority: 1 })
  expect(parted(await diffRuns(left, right)).affected_nodes).toStrictEqual(['build', 'test', 'announce'])
  const paths = [left.write(freshPath()), right.write(freshPath())] as const
  for (const path of paths) rmSync(`${path}/dag.json`)
  expect(parted(await diff(...paths)).affected_nodes).toStrictEqual(['build'])
})
