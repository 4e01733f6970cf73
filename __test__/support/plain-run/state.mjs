// The state of a run: what it holds, how it is hashed, how it is shown, and how a snapshot keeps it.

import { byBytes, canonicalJson, sha256 } from './canonical.mjs'

const ACTIVE = ['Assigned', 'Accepted', 'Running']

/** The state before the first event. `nodes`, `tasks`, `workers` and `calls` (task → call → …) are Maps. */
export function emptyState({ graph, dagHash }) {
  const dependencies = new Map(graph.nodes.map(({ id }) => [id, []]))
  for (const [from, to] of graph.edges) dependencies.get(to).push(from)
  return {
    graph,
    dagHash,
    dependencies,
    run: null,
    scheduler: undefined,
    capabilities: undefined,
    logicalTime: -1,
    nodes: new Map(),
    tasks: new Map(),
    /** `{ position, task }`, in order. */
    pending: [],
    workers: new Map(),
    calls: new Map(),
    counters: new Map(),
    lastAssigned: undefined,
    lastSnapshot: undefined,
    /** The snapshot before `lastSnapshot`; not part of any hash. */
    snapshotBefore: undefined,
  }
}

/** The active tasks of a worker, as `[id, task]`. */
export function activeTasks(state, worker) {
  return [...state.tasks].filter(([, task]) => task.worker === worker && ACTIVE.includes(task.status))
}

export function dependenciesAreMet(state, node) {
  return state.dependencies.get(node).every((id) => ['Completed', 'Skipped'].includes(state.nodes.get(id).status))
}

// ---- Hash -------------------------------------------------------------------------------------

/** Everything in the state that the hash covers. */
export function entriesOf(state) {
  const entries = [['dag', state.dagHash]]
  for (const [id, node] of state.nodes) entries.push(['node', id, node])
  for (const [id, task] of state.tasks) entries.push(['task', id, task])
  for (const { position, task } of state.pending) entries.push(['pending', position, task])
  for (const [id, worker] of state.workers) entries.push(['worker', id, worker])
  for (const [task, calls] of state.calls) {
    for (const [call, one] of calls) entries.push(['call', task, call, one])
  }
  for (const [name, count] of state.counters) entries.push(['counter', name, count])
  if (state.lastAssigned !== undefined) entries.push(['scheduler', 'lastAssigned', state.lastAssigned])
  if (state.lastSnapshot) {
    const { snapshot, at, stateHash } = state.lastSnapshot
    entries.push(['snapshot', snapshot, { at, stateHash }])
  }
  return entries
}

/** A cache of the hashes of entries, by text: an event changes few entries. */
const entryHashes = new Map()

function entryHash(text) {
  let hash = entryHashes.get(text)
  if (hash === undefined) {
    hash = BigInt(`0x${sha256(text)}`)
    if (entryHashes.size >= 10_000) entryHashes.clear()
    entryHashes.set(text, hash)
  }
  return hash
}

/** The hash of a state, computed from scratch; `logicalTime` overrides the time of the state. */
export function stateHash(state, logicalTime = state.logicalTime) {
  let sum = 0n
  for (const entry of entriesOf(state)) sum += entryHash(canonicalJson(entry))
  const accumulator = (sum % (1n << 256n)).toString(16).padStart(64, '0')
  return sha256(`state/1\n${state.run.status}\n${logicalTime}\n${accumulator}`)
}

// ---- Shown ------------------------------------------------------------------------------------

/** The state as the API shows it. `hash` is its hash. */
export function runState(state, hash) {
  const { run, graph, nodes, pending, logicalTime } = state
  return plain({
    coordinator: {
      run,
      dag: graph,
      nodeStates: Object.fromEntries(nodes),
      pendingTasks: pending.map(({ task }) => task),
      completedNodes: completedNodes(state),
      logicalTime,
    },
    workers: Object.fromEntries([...state.workers.keys()].map((id) => [id, workerState(state, id)])),
    stateHash: hash,
  })
}

function completedNodes({ nodes }) {
  return [...nodes]
    .filter(([, { status }]) => status === 'Completed')
    .map(([id]) => id)
    .sort(byBytes)
}

function workerState(state, id) {
  const { status, capabilities } = state.workers.get(id)
  const active = activeTasks(state, id).map(([task, { node, attempt, status, assignedAt }]) => [
    task,
    { node, attempt, status, assignedAt },
  ])
  const done = [...state.tasks].filter(([, task]) => task.worker === id && task.status === 'Done')
  done.sort(([, a], [, b]) => a.endedAt - b.endedAt)
  const completedTasks = done.map(([task]) => task)
  return { workerId: id, status, activeTasks: Object.fromEntries(active), completedTasks, capabilities }
}

/** A deep copy without undefined members. */
function plain(value) {
  return JSON.parse(JSON.stringify(value))
}

// ---- In a snapshot ----------------------------------------------------------------------------

/** The state as a snapshot keeps it. */
export function snapshotState(state) {
  const { run, graph, logicalTime, scheduler, capabilities, lastAssigned, lastSnapshot } = state
  return {
    coordinator: {
      run,
      dag: graph,
      nodeStates: Object.fromEntries(state.nodes),
      pendingTasks: state.pending.map(({ position, task }) => [position, task]),
      completedNodes: completedNodes(state),
      logicalTime,
    },
    tasks: Object.fromEntries(state.tasks),
    workers: Object.fromEntries(state.workers),
    calls: Object.fromEntries([...state.calls].map(([task, calls]) => [task, Object.fromEntries(calls)])),
    counters: Object.fromEntries(state.counters),
    scheduler,
    capabilities,
    lastAssigned,
    lastSnapshot,
  }
}
