/**
 * Shared by the specs of the comparison page: pairs of executions on disk, and their differences.
 */
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type * as SessionTape from '../../index.js'
import { directoryOfSpec } from './spec-scope'

// Required, not imported: they must run as Node runs them, untouched by the test runner's transforms.
const require = createRequire(import.meta.url)
const { RunRecorder } = require('../../index.js') as typeof SessionTape
export const part = (name: string): any => require(`../../packages/cli/html/${name}.js`)

export interface Written {
  path: string
  bytes: number
  shown: { left: number; right: number }
  events: { left: number; right: number }
}
export type Sides = {
  left: string
  right: string
  diff: unknown
  signal?: AbortSignal
  limits?: Record<string, number>
}
export const writeDiffPage: (out: string, sides: Sides) => Promise<Written> = part('diff/index').writeDiffPage

const root = directoryOfSpec('session-tape-html-')
let paths = 0
export const freshPath = (end = ''): string => join(root(), `${++paths}${end}`)

// ---- Executions --------------------------------------------------------------------------------

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** A run of two nodes. `answer` is the output of the second node's tool; with `extra`, the run has events that are not compared. */
export async function aRun(runId: string, answer: string, { extra = false } = {}): Promise<string> {
  const directory = freshPath('.cath-bundle')
  const nodes = [
    { id: 'fetch', kind: 'task' },
    { id: 'sum', kind: 'task', dependsOn: ['fetch'] },
  ]
  const recorder = new RunRecorder({
    directory,
    runId,
    workflow: { name: 'report', version: '2', nodes },
    scheduler: 'external',
  })
  const append = (kind: SessionTape.RunEventKind, payload: Record<string, unknown>, node?: string): unknown =>
    recorder.append({ kind, payload, node })
  append('RunStarted', { workers: [{ id: 'w1', capabilities: [] }] })
  for (const node of ['fetch', 'sum']) {
    const task = `${node}#1`
    append('NodeScheduled', { task, dependsOn: [] })
    append('TaskAssigned', { task, worker: 'w1' })
    append('TaskAccepted', { task, worker: 'w1' })
    if (extra) append('Heartbeat', { worker: 'w1', status: 'busy' })
    append('NodeStarted', { task, worker: 'w1', inputHash: sha256(node) })
    append('ToolInvoked', { tool: 'web', call: 'c', requestHash: sha256(node) }, node)
    const hash = recorder.putBlob(node === 'fetch' ? 'the same' : answer)
    append('ToolCompleted', { tool: 'web', call: 'c', rawHash: hash, outputHash: hash, normalizer: 'none' }, node)
    append('NodeCompleted', { task, outputHash: hash })
  }
  append('RunCompleted', { outputs: {} })
  await recorder.dispose()
  return directory
}

export interface Turn {
  type?: string
  payload: unknown
}
export const say = (speaker: string, text: string): Turn => ({
  payload: { content: { speaker, blocks: [{ type: 'text', text }] } },
})

/** A session with these records after its `session_start`. */
export function aSession(sessionId: string, turns: Turn[]): string {
  const path = freshPath('.jsonl')
  const start = {
    type: 'session_start',
    payload: {
      sessionId,
      projectHash: 'p',
      workspaceDirs: [],
      provider: 'acme',
      model: 'large',
      startTime: '2026-02-11T16:00:00.000Z',
    },
  }
  const lines = [start, ...turns].map(({ type = 'content', payload }, at) => {
    return JSON.stringify({
      v: 1,
      seq: at + 1,
      ts: new Date(Date.UTC(2026, 1, 11, 16, 0, at)).toISOString(),
      type,
      payload,
    })
  })
  writeFileSync(path, `${lines.join('\n')}\n`)
  return path
}

/** Two sessions whose first difference is the text of event `at`. */
export function partedSessions(
  count: number,
  at: number,
  texts: [string, string] = ['the left', 'the right'],
  filler = 'word '.repeat(30),
) {
  const turns = (text: string): Turn[] =>
    Array.from({ length: count }, (_, i) =>
      i === at - 1 ? say('ai', text) : say(i % 2 ? 'ai' : 'human', `turn ${i + 1} ${filler}`),
    )
  const [left, right] = [aSession('left-session', turns(texts[0])), aSession('right-session', turns(texts[1]))]
  const edges = () =>
    Array.from(
      { length: Math.min(at, 40) },
      (_, i): Edge => ({ event_id: `rec_${at - 1 - i}`, kind: 'content', label: 'ai', evidence: 'inferred' }),
    )
  const diff = difference({
    at,
    right: at,
    prefix: 'rec',
    left: edges(),
    rightEdges: edges(),
    cause: 'Unknown',
    fields: [{ path: '/payload/content/blocks/0/text', left: texts[0], right: texts[1] }],
  })
  return { left, right, diff }
}

interface Edge {
  event_id: string
  kind: string
  label?: string
  evidence: string
}

interface Told {
  at: number
  right: number
  prefix?: string
  left?: Edge[]
  rightEdges?: Edge[]
  cause?: string
  fields?: unknown[]
  affected?: string[]
}

/** A difference as `diff` returns it. */
export function difference({
  at,
  right,
  prefix = 'evt',
  left = [],
  rightEdges = left,
  cause = 'ExternalDataChanged',
  fields = [],
  affected = [],
}: Told) {
  const side = (number: number) => ({ run_id: 'r', event_id: `${prefix}_${number}`, kind: 'ToolCompleted' })
  return {
    divergence_event: at,
    kind: 'EventMismatch',
    left: side(at),
    right: side(right),
    fields,
    causal_ancestors: [],
    ancestors: { left, right: rightEdges },
    common_ancestor: null,
    affected_nodes: affected,
    likely_cause: cause,
  }
}

/** Two runs that diverge at the output of the second node's tool: #14 on the left, #16 on the right, which has two more heartbeats. */
export async function partedRuns(answers: [string, string] = ['{"price":212.4}', '{"price":215.9}']) {
  const [left, right] = [await aRun('run-001', answers[0]), await aRun('run-002', answers[1], { extra: true })]
  const edges = (...numbers: number[]) =>
    numbers.map((number) => ({ event_id: `evt_${number}`, kind: 'x', label: 'x', evidence: 'recorded' }))
  const fields = ['outputHash', 'rawHash'].map((name) => ({
    path: `/payload/${name}`,
    left: sha256(answers[0]),
    right: sha256(answers[1]),
  }))
  const diff = difference({
    at: 14,
    right: 16,
    left: edges(13, 12, 11, 10, 9, 8, 1, 0),
    rightEdges: edges(15, 14, 12, 11, 10, 9, 1, 0),
    fields,
    affected: ['sum'],
  })
  return { left, right, diff }
}

// ---- The page ----------------------------------------------------------------------------------

/** The content of the islands of a page. */
export function islandsOf(html: string): { data: any; payloads: { left: any[]; right: any[] } } {
  const island = (id: string): any =>
    JSON.parse(new RegExp(`<script type="application/json" id="${id}">([^]*?)</script>`).exec(html)![1]!)
  return { data: island('page-data'), payloads: { left: island('left-payloads'), right: island('right-payloads') } }
}
