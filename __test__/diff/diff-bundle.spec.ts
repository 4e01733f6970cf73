// Bundles are compared by their content: in either form, complete, partial and redacted.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { test } from '../support/property'
import { diff, traceAncestors } from '../../index.js'
import { FORMS, exportBundle, freshDirectory } from '../support/bundles.js'
import { parted, rejection } from '../support/diffing.js'
import { WORKFLOW } from '../support/run-directory.js'
import { content, session } from '../support/session-file.js'
import { PlainRun, sha256 } from '../support/plain-run-engine.mjs'

const TOKEN = `ghp_${'a1B2c3D4e'.repeat(4)}`

/** A run with one tool call, which returns this output. */
function answeredRun(runId: string, output: string, note = ''): PlainRun {
  const run = new PlainRun({ runId, workflow: WORKFLOW })
  run.append('RunStarted', { workers: [{ id: 'w', capabilities: [] }] })
  const task = 'build#1'
  run.append('NodeScheduled', { task, dependsOn: [] })
  run.append('TaskAssigned', { task, worker: 'w' })
  run.append('TaskAccepted', { task, worker: 'w' })
  run.append('NodeStarted', { task, worker: 'w', inputHash: sha256('in') })
  run.append('ToolInvoked', { tool: 'make', call: runId, requestHash: sha256('all'), note }, { node: 'build' })
  run.snapshot()
  const hash = run.putBlob(output)
  run.append(
    'ToolCompleted',
    { tool: 'make', call: runId, rawHash: hash, outputHash: hash, normalizer: 'none' },
    { node: 'build' },
  )
  return run
}

function pair(left: PlainRun, right: PlainRun): [directory: string, left: string, right: string] {
  const directory = freshDirectory()
  return [directory, left.write(join(directory, 'left')), right.write(join(directory, 'right'))]
}

describe.each(FORMS)('as %s', (form) => {
  test('two runs diverge where their originals do, with the same result', async () => {
    const [directory, left, right] = pair(answeredRun('one', 'red'), answeredRun('two', 'green'))
    const expected = parted(await diff(left, right, { full: true }))
    expect(expected).toMatchObject({ divergence_event: 8, likely_cause: 'ExternalDataChanged' })
    const sealed = join(directory, form)
    await exportBundle(left, sealed)
    expect(await diff(sealed, right, { full: true })).toStrictEqual(expected)
    expect(await diff(sealed, left)).toBeNull()
    expect(await traceAncestors(sealed, 'evt_8')).toStrictEqual(await traceAncestors(left, 'evt_8'))
  })

  test('a partial bundle is compared from its snapshot on, where its ancestry ends', async () => {
    const [directory, left, right] = pair(answeredRun('one', 'red'), answeredRun('two', 'green'))
    const sealed = join(directory, form)
    await exportBundle(left, sealed, { fromSnapshot: 'latest' })
    const found = parted(await diff(sealed, right))
    expect(found).toMatchObject({
      divergence_event: 8,
      kind: 'EventMismatch',
      left: { run_id: 'one' },
      right: { run_id: 'two' },
    })
    expect(found.ancestors.left).toStrictEqual([])
    expect(await traceAncestors(sealed, 'evt_8')).toStrictEqual({ chain: [], truncated: true })
    expect(await diff(sealed, left)).toBeNull()
  })

  test('a redacted value is marked as redacted', async () => {
    const [directory, left, right] = pair(
      answeredRun('one', 'red', `with ${TOKEN}.`),
      answeredRun('two', 'red', `with ${TOKEN}.`),
    )
    const sealed = join(directory, form)
    expect((await exportBundle(left, sealed)).redactions).toBe(1)
    const found = parted(await diff(sealed, right))
    expect(found).toMatchObject({ divergence_event: 6, likely_cause: 'Unknown' })
    expect(found.fields).toMatchObject([
      { path: '/payload/note', left: 'with [redacted:github-token].', note: 'redacted' },
    ])
    const other = join(directory, `other-${form}`)
    await exportBundle(right, other)
    expect(await diff(sealed, other)).toBeNull()
  })

  test('two sessions diverge where their originals do', async () => {
    const directory = freshDirectory()
    const [left, right] = [join(directory, 'left.jsonl'), join(directory, 'right.jsonl')]
    writeFileSync(left, session(content('same'), content('one', 'ai')))
    writeFileSync(right, session(content('same'), content('two', 'ai')))
    const sealed = join(directory, form)
    await exportBundle(left, sealed)
    expect(await diff(sealed, right)).toStrictEqual(parted(await diff(left, right)))
    expect(await rejection(diff(sealed, answeredRun('r', 'x').write(join(directory, 'run'))))).toMatchObject({
      code: 'NotComparable',
    })
  })
})

describe('a partial bundle', () => {
  const sealed = async (run: PlainRun): Promise<string> => {
    const directory = freshDirectory()
    await exportBundle(run.write(join(directory, 'run')), join(directory, 'b.cath-bundle'), { fromSnapshot: 'latest' })
    return join(directory, 'b.cath-bundle')
  }
  const started = (version: string, nodes = WORKFLOW.nodes): PlainRun => {
    const run = new PlainRun({ runId: version, workflow: { ...WORKFLOW, version, nodes } })
    run.append('RunStarted', { workers: [] })
    run.snapshot()
    return run
  }

  test('differs in its header from one with another workflow or graph', async () => {
    const one = await sealed(started('1'))
    const mismatch = {
      kind: 'HeaderMismatch',
      divergence_event: 0,
      likely_cause: 'WorkflowChanged',
      left: { run_id: '1', event_id: 'evt_0' },
    }
    const version = parted(await diff(one, await sealed(started('2'))))
    expect(version).toMatchObject({
      ...mismatch,
      fields: [{ path: '/payload/workflow/version', left: '1', right: '2' }],
    })
    const graph = parted(await diff(one, await sealed(started('1', [...WORKFLOW.nodes, { id: 'more', kind: 'task' }]))))
    expect(graph).toMatchObject({ ...mismatch, fields: [{ path: '/payload/dagHash' }] })
    const whole = started('2').write(join(freshDirectory(), 'run'))
    expect(parted(await diff(one, whole))).toMatchObject({ ...mismatch, right: { run_id: '2' } })
    expect(await diff(one, await sealed(started('1')))).toBeNull()
  })

  test('differs from a run that ends before it begins', async () => {
    const [short, long] = [new PlainRun({ runId: 'short', workflow: WORKFLOW }), started(WORKFLOW.version)]
    const [left, right] = [short.write(join(freshDirectory(), 'run')), await sealed(long)]
    expect(await diff(left, right)).toMatchObject({
      kind: 'LeftEnded',
      divergence_event: 2,
      left: null,
      right: null,
      likely_cause: 'LogTruncated',
    })
    expect(await diff(right, left)).toMatchObject({ kind: 'RightEnded', divergence_event: 2 })
  })
})

test('a bundle that does not verify rejects with its side and all problems', async () => {
  const [directory, left, right] = pair(answeredRun('one', 'red'), answeredRun('two', 'green'))
  const sealed = join(directory, 'b.cath-bundle')
  await exportBundle(left, sealed)
  const log = join(sealed, 'events.cath-log')
  writeFileSync(log, readFileSync(log, 'utf8').replace('"normalizer":"none"', '"normalizer":"text"'))
  for (const [paths, side] of [
    [[sealed, right], 'left'],
    [[right, sealed], 'right'],
  ] as const) {
    const error = await rejection(diff(paths[0], paths[1]))
    expect(error).toMatchObject({ code: 'LogInvalid', path: 'events.cath-log', side })
    expect((error['problems'] as { code: string }[]).map(({ code }) => code)).toContain('WrongHash')
  }
  expect(await rejection(traceAncestors(sealed, 'evt_1'))).toMatchObject({ code: 'LogInvalid' })
})
