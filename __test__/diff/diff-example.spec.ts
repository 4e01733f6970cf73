// The example of the specification, character for character: as JSON and as text.

import { describe, expect, test } from 'vitest'
import { diffToText, traceAncestors } from '../../index.js'
import { PlainRun } from '../support/plain-run-engine.mjs'
import { diffRuns, parted } from '../support/diffing.js'
import { freshPath } from '../support/run-directory.js'

const NODES = [
  { id: 'fetch_data', kind: 'tool', tool: 'web_fetch' },
  { id: 'summarise', kind: 'task', dependsOn: ['fetch_data'] },
  { id: 'unrelated', kind: 'task' },
]

/** A run whose event 42 is the answer of `web_fetch`. */
function fetched(runId: string, outputHash: string): PlainRun {
  const run = new PlainRun({ runId, workflow: { name: 'report', version: '1', nodes: NODES } })
  run.append('RunStarted', { workers: [{ id: 'w1', capabilities: [] }] })
  const task = { task: 'fetch_data#1', worker: 'w1' }
  run.append('NodeScheduled', { ...task, dependsOn: [] })
  run.append('TaskAssigned', task)
  run.append('TaskAccepted', task)
  while (run.time < 40) run.append('Error', { code: 'E', message: `${run.time}`, recoverable: true })
  run.append('NodeStarted', { ...task, inputHash: 'in' }, { parent: 1 })
  const call = { tool: 'web_fetch', call: `${runId}-call` }
  run.append('ToolInvoked', { ...call, requestHash: 'q' }, { node: 'fetch_data' })
  run.append('ToolCompleted', { ...call, rawHash: 'raw', outputHash, normalizer: 'none' }, { node: 'fetch_data' })
  run.append('NodeCompleted', { ...task, outputHash })
  return run
}

const edge = (event_id: string, kind: string, label?: string) => ({
  event_id,
  kind,
  ...(label && { label }),
  evidence: 'recorded',
})
const CHAIN = [
  edge('evt_41', 'ToolInvoked', 'web_fetch'),
  edge('evt_40', 'NodeStarted', 'fetch_data'),
  edge('evt_1', 'RunStarted'),
  edge('evt_0', 'RunCreated'),
]

const JSON_TEXT = `{
  "divergence_event": 42,
  "kind": "EventMismatch",
  "left": { "run_id": "run-001", "event_id": "evt_42", "kind": "ToolCompleted", "node": "fetch_data", "tool": "web_fetch", "output_hash": "abc…" },
  "right": { "run_id": "run-002", "event_id": "evt_42", "kind": "ToolCompleted", "node": "fetch_data", "tool": "web_fetch", "output_hash": "def…" },
  "fields": [{ "path": "/payload/outputHash", "left": "abc…", "right": "def…" }],
  "causal_ancestors": ["evt_41", "evt_40", "evt_1", "evt_0"],
  "ancestors": ${JSON.stringify({ left: CHAIN, right: CHAIN, truncated: { left: false, right: false } })},
  "common_ancestor": "evt_41",
  "affected_nodes": ["fetch_data", "summarise"],
  "likely_cause": "ExternalDataChanged"
}`

const TEXT = `Divergence at event #42

Left (run-001):
  kind: ToolCompleted
  tool: web_fetch
  output_hash: abc…

Right (run-002):
  kind: ToolCompleted
  tool: web_fetch
  output_hash: def…
Causal chain:
  - #41: ToolInvoked (web_fetch)
  - #40: NodeStarted (fetch_data)
  - #1: RunStarted
  - #0: RunCreated`

describe("the specification's example", () => {
  const found = () => diffRuns(fetched('run-001', 'abc…'), fetched('run-002', 'def…'))

  test('as JSON: the same keys in the same order, and more', async () => {
    expect(JSON.stringify(await found())).toBe(JSON.stringify(JSON.parse(JSON_TEXT)))
  })

  test('as text', async () => {
    expect(diffToText(await found())).toBe(TEXT)
  })

  test('in colour: the same text with escape sequences', async () => {
    const colored = diffToText(await found(), { color: true })
    expect(colored).toContain('\u001b[')
    expect(colored.replace(/\u001b\[\d*m/g, '')).toBe(TEXT)
  })

  test('with details: likely cause, affected nodes and fields', async () => {
    const text = diffToText(await found(), { details: true })
    expect(
      text.startsWith(`${TEXT}\n\nKind: EventMismatch\nLikely cause: ExternalDataChanged\nCommon ancestor: #41\n`),
    ).toBe(true)
    expect(text).toContain('Affected nodes: fetch_data, summarise\nFields:\n  /payload/outputHash: "abc…" → "def…"')
  })

  test('the ancestry alone', async () => {
    const path = fetched('run-001', 'abc…').write(freshPath())
    expect(await traceAncestors(path, 'evt_42')).toStrictEqual({ chain: CHAIN, truncated: false })
    expect(await traceAncestors(path, 'evt_0')).toStrictEqual({ chain: [], truncated: false })
  })

  test('the edit list, on request', async () => {
    const { edits, equal } = parted(await diffRuns(fetched('a', 'x'), fetched('b', 'y'), { full: true }))
    const fields = [{ path: '/payload/outputHash', left: 'x', right: 'y' }]
    expect(edits).toStrictEqual([
      { op: 'change', left: 42, right: 42, fields },
      { op: 'change', left: 43, right: 43, fields },
    ])
    expect(equal).toStrictEqual([])
  })
})
