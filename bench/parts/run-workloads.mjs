/**
 * Runs to measure, recorded by the recorder itself from a fixed plan into `bench/data/` (not in git). Salts and wall clocks differ from machine to
 * machine, sizes do not.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { RunRecorder } from '../../index.mjs'
import { DATA } from '../workloads.mjs'

/** Part of each directory's name: a change of the plan creates new runs. */
const VERSION = 'v1'

/** Events of a node with this many calls: four until it is started, two per call, a check in every fifth, and one that ends it. */
const CALLS = 20
const NODE_EVENTS = 4 + CALLS * 2 + CALLS / 5 + 1

/** Number of different tool outputs. Each is hashed only once. */
const OUTPUTS = 256

const WORKERS = Array.from({ length: 8 }, (_, n) => ({ id: `worker-${n}`, capabilities: ['net', 'read'] }))
const TOOLS = ['read_file', 'web_fetch', 'run_shell', 'search']
const FLUSH_EVERY = 20_000

const sha256 = (text) => createHash('sha256').update(text).digest('hex')
const idOf = (n) => `node-${String(n).padStart(6, '0')}`

/** Nodes in layers of 100, each of which depends on a node of the previous layer. */
const workflow = (nodes) => ({
  name: 'bench',
  version: '1.0.0',
  nodes: Array.from({ length: nodes }, (_, n) => ({
    id: idOf(n),
    kind: 'task',
    tool: TOOLS[n % TOOLS.length],
    dependsOn: n < 100 ? [] : [idOf(n - 100)],
    capabilities: n % 3 === 0 ? ['net'] : [],
  })),
})

/**
 * A run of about `events` events: agent nodes with 20 calls each, scheduled one after the other by round-robin. It is recorded once under each name:
 * the same execution, recorded again. Under the name `shifted`, its calls have other ids and a heartbeat comes first, so that no event has the same
 * logical time as under the other names.
 *
 * @returns {Promise<{ directory: string, events: number }>}
 */
export async function recordedRun(events, name = 'bench') {
  const nodes = Math.max(1, Math.floor((events - 3) / NODE_EVENTS))
  const directory = join(DATA, `run-${nodes}${name === 'bench' ? '' : `-${name}`}.${VERSION}`)
  if (!existsSync(directory)) {
    rmSync(`${directory}.part`, { recursive: true, force: true })
    await record(`${directory}.part`, nodes, name)
    renameSync(`${directory}.part`, directory)
  }
  return { directory, events: nodes * NODE_EVENTS + (name === 'shifted' ? 4 : 3) }
}

async function record(directory, nodes, name) {
  const recorder = new RunRecorder({
    directory,
    runId: `${name}-${nodes}`,
    workflow: workflow(nodes),
    scheduler: 'round-robin',
  })
  const outputs = Array.from({ length: OUTPUTS }, (_, n) =>
    recorder.putBlob(`{"rows":${n},"text":"${'line\\n'.repeat(n)}"}`),
  )
  recorder.append({ kind: 'RunStarted', payload: { workers: WORKERS } })
  const isShifted = name === 'shifted'
  if (isShifted) recorder.append({ kind: 'Heartbeat', payload: { worker: WORKERS[0].id, status: 'idle' } })
  for (let n = 0, events = 0; n < nodes; n++) {
    recordNode(recorder, n, outputs, isShifted ? 'shifted-call' : 'call')
    events += NODE_EVENTS
    if (events >= FLUSH_EVERY) {
      await recorder.flush()
      events = 0
    }
  }
  recorder.append({ kind: 'RunCompleted', payload: { outputs: {} } })
  await recorder.dispose()
}

function recordNode(recorder, n, outputs, callId) {
  const node = idOf(n)
  const task = `${node}#1`
  const worker = WORKERS[n % WORKERS.length].id
  const append = (kind, payload) => recorder.append({ kind, node, payload })
  append('NodeScheduled', { task, dependsOn: [] })
  append('TaskAssigned', { task, worker })
  append('TaskAccepted', { task, worker })
  append('NodeStarted', { task, worker, inputHash: outputs[0] })
  for (let c = 0; c < CALLS; c++) {
    const [tool, call, hash] = [TOOLS[c % TOOLS.length], `${callId}-${c}`, outputs[(n * CALLS + c) % OUTPUTS]]
    if (c % 5 === 0) append('CapabilityCheck', { capability: tool, subject: worker, allowed: true })
    append('ToolInvoked', { tool, call, requestHash: hash })
    append('ToolCompleted', { tool, call, rawHash: hash, outputHash: hash, normalizer: 'none' })
  }
  append('NodeCompleted', { task, outputHash: outputs[1] })
}

/** A recorder of a started run with this many nodes, and an endless sequence of events: attempt after attempt, node after node. */
export function endlessRun(directory, nodes) {
  rmSync(directory, { recursive: true, force: true })
  const recorder = new RunRecorder({
    directory,
    runId: 'endless',
    workflow: { ...workflow(nodes), nodes: freeNodes(nodes) },
    scheduler: 'external',
  })
  recorder.append({ kind: 'RunStarted', payload: { workers: WORKERS } })
  return { recorder, events: attempts(nodes) }
}

const freeNodes = (nodes) => workflow(nodes).nodes.map(({ dependsOn, ...node }) => node)

function* attempts(nodes) {
  const hash = sha256('')
  for (let attempt = 1; ; attempt++) {
    for (let n = 0; n < nodes; n++) {
      const node = idOf(n)
      const task = `${node}#${attempt}`
      const worker = WORKERS[n % WORKERS.length].id
      const [tool, call] = ['read_file', 'call-1']
      yield { kind: 'NodeScheduled', node, payload: { task, dependsOn: [] } }
      yield { kind: 'TaskAssigned', node, payload: { task, worker } }
      yield { kind: 'TaskAccepted', node, payload: { task, worker } }
      yield { kind: 'NodeStarted', node, payload: { task, worker, inputHash: hash } }
      yield { kind: 'ToolInvoked', node, payload: { tool, call, requestHash: hash } }
      yield {
        kind: 'ToolCompleted',
        node,
        payload: { tool, call, rawHash: hash, outputHash: hash, normalizer: 'none' },
      }
      yield { kind: 'NodeFailed', node, payload: { task, code: 'EAGAIN', message: 'Not yet', willRetry: true } }
    }
  }
}

/** The number of events in a log, counted by its lines. */
export function linesOf(directory) {
  let lines = 0
  for (const byte of readFileSync(join(directory, 'events.cath-log'))) lines += byte === 10 ? 1 : 0
  return lines
}
