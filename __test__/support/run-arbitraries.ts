// Runs as fast-check arbitraries: a workflow, and a walk through the events that it allows.

import * as fc from 'fast-check'
import type { RunEventKind, Workflow } from '../../index.js'
import { PlainRun, decision, dependenciesAreMet, eligibleWorkers, normalized, sha256 } from './plain-run-engine.mjs'
import type { Payload, Place } from './plain-run-engine.mjs'
import { filledString } from './session-arbitraries.js'

/** Ids as people choose them, and unusual ones. */
const id = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('a', 'b', 'c', 'plan', 'review', 'deploy') },
  {
    weight: 1,
    arbitrary: fc.constantFrom('a#1', '#', '__proto__', '1', 'é', '名', '😀', '"', '\\u0041', '\u2028', '\n'),
  },
  { weight: 1, arbitrary: filledString },
)
/**
 * In Node.js 24 `JSON.parse` may read a key that is one escaped character as a backslash: `{"\\":0}`, then `{"\n":0}`. States have ids as keys,
 * and the plain engine reads them with it.
 */
const isMisread = (text: string) => Number.parseInt(process.versions.node, 10) >= 24 && /^["\\\p{Cc}]$/u.test(text)
/** Ids without lone surrogates, which have no UTF-8: the order of ids that contain one is not defined. */
const soundId = id.filter((text) => !/\p{Surrogate}/u.test(text) && !isMisread(text))
const CAPABILITIES = ['gpu', 'net', 'é']
const capabilities = fc.subarray(CAPABILITIES)
/** Most workers can do anything. */
const abilities = fc.oneof({ weight: 4, arbitrary: fc.constant(CAPABILITIES) }, { weight: 1, arbitrary: capabilities })

export const anyWorkflow: fc.Arbitrary<Workflow> = fc
  .record({
    name: filledString,
    version: fc.string({ maxLength: 5 }),
    ids: fc.uniqueArray(soundId, { minLength: 1, maxLength: 6 }),
    // For each of up to six nodes: the bits of its dependencies on earlier nodes, and its other members.
    nodes: fc.array(
      fc.record({ bits: fc.nat({ max: 63 }), capabilities, tool: fc.option(fc.string(), { nil: undefined }) }),
      {
        minLength: 6,
        maxLength: 6,
      },
    ),
    order: fc.array(fc.nat(), { minLength: 6, maxLength: 6 }),
  })
  .map(({ name, version, ids, nodes, order }) => {
    const list = ids.map((one, at) => {
      const { bits, tool, capabilities: needed } = nodes[at]!
      const dependsOn = ids.slice(0, at).filter((_, before) => bits & (1 << before))
      return { id: one, kind: 'task', ...(tool === undefined ? {} : { tool }), dependsOn, capabilities: needed }
    })
    return { name, version, nodes: shuffled(list, order) }
  })

export function shuffled<T>(list: readonly T[], order: readonly number[]): T[] {
  const keyed = list.map((one, at) => ({ one, key: order[at] ?? at }))
  return keyed.sort((left, right) => left.key - right.key).map(({ one }) => one)
}

interface Plan {
  runId: string
  workflow: Workflow
  scheduler: 'round-robin' | 'least-loaded' | 'external'
  capabilities: string[]
  workers: { id: string; capabilities: string[] }[]
  /** Each selects one of the possible next moves. */
  choices: number[]
  /** Values of an unknown member of payloads, used in turn. */
  extras: unknown[]
}

const MOST = 1 << 16

const plan = (maxEvents: number): fc.Arbitrary<Plan> =>
  fc.record({
    runId: soundId,
    workflow: anyWorkflow,
    scheduler: fc.constantFrom('round-robin', 'least-loaded', 'external'),
    capabilities,
    workers: fc.uniqueArray(fc.record({ id: soundId, capabilities: abilities }), {
      selector: (one) => one.id,
      maxLength: 3,
    }),
    // Long ones too, and any choice as likely as another: small numbers would mean the same moves again and again.
    choices: fc.noBias(fc.array(fc.nat({ max: MOST - 1 }), { maxLength: maxEvents, size: 'max' })),
    extras: fc.array(fc.jsonValue(), { minLength: 1, maxLength: 3 }),
  })

/** A run whose events are all allowed. */
export const anyRun = (maxEvents = 60): fc.Arbitrary<PlainRun> => plan(maxEvents).map(walk).map(shownBriefly)

/** A counterexample shows what happened, not everything that followed from it. */
function shownBriefly(run: PlainRun): PlainRun {
  const show = () =>
    JSON.stringify([run.workflow, ...run.events.map(({ kind, node, payload }) => [kind, node, payload])])
  return Object.assign(run, { [fc.toStringMethod]: show })
}

function walk(plan: Plan): PlainRun {
  const run = new PlainRun(plan)
  let afterEnd = 0
  for (const choice of plan.choices) {
    // Few events are allowed after the end, and none that leads to anything new.
    if (run.state.run.status === 'Completed' || run.state.run.status === 'Failed') afterEnd += 1
    if (afterEnd > 3) break
    const moves = movesOf(run, plan)
    const total = moves.reduce((sum, [weight]) => sum + weight, 0)
    let at = (choice / MOST) * total
    const chosen = moves.find(([weight]) => (at -= weight) < 0)!
    chosen[1](choice)
  }
  return run
}

type Move = [weight: number, happen: (choice: number) => void]

/** The possible next moves. */
function movesOf(run: PlainRun, plan: Plan): Move[] {
  const { status } = run.state.run
  const append = (kind: RunEventKind, payload: Payload, place?: Place) => {
    const extra = plan.extras[run.time % plan.extras.length]
    run.append(kind, extra === null ? payload : { ...payload, 'x-extra': extra }, place)
  }
  const beside = besideMoves(run, append)
  if (status === 'Completed' || status === 'Failed') return beside.afterEnd
  if (status === 'Created') {
    const workers = plan.workers.map(({ id: worker, capabilities: able }) => ({ id: worker, capabilities: able }))
    return [[20, () => append('RunStarted', { workers })], ...beside.anyTime]
  }
  return [...nodeMoves(run, append), ...taskMoves(run, plan, append), ...endMoves(run, append), ...beside.anyTime]
}

type Append = (kind: RunEventKind, payload: Payload, place?: Place) => void

function nodeMoves(run: PlainRun, append: Append): Move[] {
  const moves: Move[] = []
  for (const [node, { status, attempt }] of run.state.nodes) {
    if (status === 'Pending' && dependenciesAreMet(run.state, node)) {
      const payload = { task: `${node}#${attempt + 1}`, dependsOn: [1], priority: 1.5 }
      moves.push([15, () => append('NodeScheduled', payload)])
    }
    if (status === 'Pending' || status === 'Scheduled') {
      moves.push([
        0.4,
        (choice) => append('NodeSkipped', choice % 2 ? { reason: 'r' } : { reason: '', because: 0 }, { node }),
      ])
    }
  }
  return moves
}

function taskMoves(run: PlainRun, plan: Plan, append: Append): Move[] {
  const moves: Move[] = assignments(run, plan, append)
  for (const [task, { node, status, worker }] of run.state.tasks) {
    if (status === 'Assigned') {
      moves.push([15, () => append('TaskAccepted', { task, worker })])
      moves.push([3, () => append('TaskRejected', { task, worker, reason: 'busy' })])
    }
    if (status === 'Assigned' || status === 'Accepted') {
      for (const to of eligibleWorkers(run.state, task)) {
        moves.push([1, () => append('TaskAssigned', { task, worker: to, from: worker, reason: 'balance' })])
      }
    }
    if (status === 'Accepted') moves.push([15, () => append('NodeStarted', { task, worker, inputHash: sha256(task) })])
    if (status === 'Running') moves.push(...runningMoves(run, node, task, append))
  }
  return moves
}

function assignments(run: PlainRun, { scheduler }: Plan, append: Append): Move[] {
  if (scheduler !== 'external') {
    const decided = decision(run.state)
    return decided ? [[15, () => append('TaskAssigned', { ...decided })]] : []
  }
  const pairs = run.state.pending.flatMap(({ task }) =>
    eligibleWorkers(run.state, task).map((worker) => ({ task, worker })),
  )
  return pairs.map((pair) => [10, () => append('TaskAssigned', pair)])
}

function runningMoves(run: PlainRun, node: string, task: string, append: Append): Move[] {
  const calls = run.state.calls.get(task) ?? new Map<string, { tool: string; status: string }>()
  const fail = (willRetry: boolean) => append('NodeFailed', { task, code: 'E', message: `of ${task}`, willRetry })
  const moves: Move[] = [
    [8, () => append('NodeCompleted', { task, outputHash: sha256('out', task) })],
    [3, () => fail(true)],
    [0.2, () => fail(false)],
    [6, () => append('ToolInvoked', { tool: 'grep', call: `call-${calls.size}`, requestHash: sha256('q') }, { node })],
  ]
  for (const [call, { tool, status }] of calls) {
    if (status !== 'Open') continue
    const close = (kind: RunEventKind, rest: Payload) => append(kind, { tool, call, ...rest }, { node })
    moves.push([8, (choice) => close('ToolCompleted', output(run, choice))])
    moves.push([2, () => close('ToolFailed', { code: 'E', message: 'no' })])
    moves.push([2, () => close('ToolTimedOut', { limitMs: 1.5 })])
  }
  return moves
}

/** Stores an output, and returns its hashes and its normaliser. */
function output(run: PlainRun, choice: number): Payload {
  const normalizer = ['none', 'json', 'text'][choice % 3]!
  const raw = `{ "z": ${choice % 5}, \r\n "é": [ null, "a" ] } \t`
  return { rawHash: run.putBlob(raw), outputHash: sha256(normalized(normalizer, raw)), normalizer }
}

function endMoves(run: PlainRun, append: Append): Move[] {
  const statuses = [...run.state.nodes.values()].map(({ status }) => status)
  const canComplete = statuses.every((status) => status === 'Completed' || status === 'Skipped')
  const results = [...run.state.nodes].filter(([, { resultHash }]) => resultHash !== undefined)
  const outputs = Object.fromEntries(results.map(([node, { resultHash }]) => [node, resultHash]))
  return [
    [canComplete ? 10 : 0, () => append('RunCompleted', { outputs })],
    [0.1, () => append('RunFailed', { code: 'E', message: 'of the run' })],
  ]
}

function besideMoves(run: PlainRun, append: Append): { anyTime: Move[]; afterEnd: Move[] } {
  const node = [...run.state.nodes.keys()][run.time % 5]
  const place = node === undefined ? {} : { node }
  const worker = [...run.state.workers.keys()][0] ?? 'newcomer'
  const afterEnd: Move[] = [
    [2, () => run.snapshot()],
    [1, () => append('BlobStored', { blob: run.putBlob('blob'), size: 4, mediaType: 'text/plain' })],
  ]
  const anyTime: Move[] = [
    ...afterEnd,
    [1, (choice) => append('CapabilityCheck', { capability: 'net', allowed: choice % 2 === 0 }, place)],
    [1, (choice) => append('PolicyDecision', { decision: 'd', rule: 'r', allowed: choice % 2 === 0 }, place)],
    [1, () => append('Error', { code: 'E', message: 'beside', recoverable: true })],
    [1, () => append('Heartbeat', { worker, status: 'busy' })],
    [
      1,
      (choice) =>
        append('Heartbeat', { worker: `late-${choice % 2}`, status: 'idle', capabilities: ['net', 'gpu', 'net'] }),
    ],
    [0.3, () => append('Heartbeat', { worker, status: 'lost', capabilities: null })],
  ]
  const last = run.events.at(-1)!
  if (last.kind === 'SnapshotCreated') {
    const { snapshot, stateHash, at } = JSON.parse(last.payload) as Payload
    anyTime.push([5, () => append('SnapshotRestored', { snapshot, stateHash, at })])
  }
  return { anyTime, afterEnd }
}
