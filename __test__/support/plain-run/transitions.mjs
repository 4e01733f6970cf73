// The changes that events make to the state, and the events that it refuses.

import { activeTasks, dependenciesAreMet, stateHash } from './state.mjs'
import { sortedSet } from './workflow.mjs'
import { FIELDS, faultOf } from './payloads.mjs'

export class Refused extends Error {
  constructor(code, message) {
    super(message)
    this.code = code
  }
}

function expect(holds, message, code = 'IllegalTransition') {
  if (!holds) throw new Refused(code, message)
}

const AFTER_THE_END = ['SnapshotCreated', 'BlobStored']
const AT_ANY_TIME = ['CapabilityCheck', 'PolicyDecision', 'Heartbeat', 'Error', 'SnapshotRestored', ...AFTER_THE_END]

/** Applies the event `{ kind, node, parent, payload }` as the next one, or throws `Refused` and leaves the state as it was. */
export function applyEvent(state, event) {
  const { kind, node, payload } = event
  const time = state.logicalTime + 1
  expect(Object.hasOwn(FIELDS, kind), kind, 'UnknownKind')
  const fault = faultOf(kind, payload)
  expect(fault === undefined, fault?.field, fault?.code)
  // If an event has several faults, the first of these is reported.
  expectPlace(state, kind, time)
  expectParent(event.parent, time)
  if (node !== null) expect(state.dependencies.has(node), `no node ${node}`)
  expectStatus(state, kind)
  const happen = EFFECTS[kind](state, payload, { time, node })
  state.logicalTime = time
  happen()
}

function expectParent(parent, time) {
  const stands = time === 0 ? parent === null : Number.isInteger(parent) && parent >= 0 && parent < time
  expect(stands, `parent ${parent}`, 'ParentMissing')
}

function expectPlace({ run }, kind, time) {
  const hasEnded = run?.status === 'Completed' || run?.status === 'Failed'
  expect(!hasEnded || AFTER_THE_END.includes(kind), kind, 'AfterEnd')
  expect((kind === 'RunCreated') === (time === 0), 'RunCreated is the first event, and only the first')
}

function expectStatus({ run }, kind) {
  if (kind === 'RunCreated' || AT_ANY_TIME.includes(kind)) return
  expect(run.status === (kind === 'RunStarted' ? 'Created' : 'Running'), `the run is ${run.status}`)
}

/** Each checks everything before it returns the function that changes the state. */
const EFFECTS = {
  RunCreated(state, { runId, dagHash, scheduler, capabilities }) {
    expect(dagHash === state.dagHash, 'another graph', 'DagMismatch')
    return () => {
      state.run = { id: runId, status: 'Created' }
      Object.assign(state, { scheduler, capabilities: sortedSet(capabilities) })
      for (const { id } of state.graph.nodes) state.nodes.set(id, { status: 'Pending', attempt: 0 })
    }
  },

  RunStarted(state, { workers }) {
    expect(new Set(workers.map(({ id }) => id)).size === workers.length, 'a worker twice')
    return () => {
      state.run.status = 'Running'
      for (const { id, capabilities } of workers) {
        state.workers.set(id, { status: 'idle', capabilities: sortedSet(capabilities) })
      }
    }
  },

  RunCompleted(state, { outputs }) {
    const statuses = [...state.nodes.values()].map(({ status }) => status)
    expect(
      statuses.every((status) => status === 'Completed' || status === 'Skipped'),
      'nodes have not ended',
    )
    expect(
      Object.keys(outputs).every((id) => state.nodes.has(id)),
      'an output of no node',
    )
    return () => (state.run.status = 'Completed')
  },

  RunFailed(state, { node }) {
    expect(isNothing(node) || state.dependencies.has(node), `no node ${node}`)
    return () => (state.run.status = 'Failed')
  },

  NodeScheduled(state, payload, { time, node }) {
    const { status, attempt } = nodeOf(state, node)
    expect(status === 'Pending', `${node} is ${status}`)
    expect(payload.task === `${node}#${attempt + 1}`, `${payload.task} is not the next of ${node}`)
    expect(dependenciesAreMet(state, node), `${node} has to wait`)
    expect(
      payload.dependsOn.every((cause) => cause < time),
      'depends on what comes later',
    )
    return () => {
      Object.assign(state.nodes.get(node), { status: 'Scheduled', attempt: attempt + 1, task: payload.task })
      state.tasks.set(payload.task, { node, attempt: attempt + 1, status: 'Pending' })
      state.pending.push({ position: time, task: payload.task })
    }
  },

  NodeStarted(state, { task, worker }, { node }) {
    const taken = heldBy(state, task, worker, node)
    expect(taken.status === 'Accepted', `${task} is ${taken.status}`)
    return () => {
      taken.status = 'Running'
      state.nodes.get(node).status = 'Running'
    }
  },

  NodeCompleted(state, { task, outputHash }, { time, node }) {
    const running = runningTask(state, task, node)
    return () => {
      Object.assign(running, { status: 'Done', endedAt: time })
      const entry = state.nodes.get(node)
      Object.assign(entry, { status: 'Completed', resultHash: outputHash })
      delete entry.error
    }
  },

  NodeFailed(state, { task, code, message, willRetry }, { time, node }) {
    const running = runningTask(state, task, node)
    return () => {
      Object.assign(running, { status: 'Failed', endedAt: time })
      Object.assign(state.nodes.get(node), { status: willRetry ? 'Pending' : 'Failed', error: { code, message } })
    }
  },

  NodeSkipped(state, { because }, { time, node }) {
    const entry = nodeOf(state, node)
    expect(entry.status === 'Pending' || entry.status === 'Scheduled', `${node} is ${entry.status}`)
    expect(isNothing(because) || because < time, 'because of what comes later')
    return () => {
      if (entry.status === 'Scheduled') withdraw(state, entry)
      entry.status = 'Skipped'
    }
  },

  ToolInvoked(state, { tool, call }, { node }) {
    const { status, task } = nodeOf(state, node)
    expect(status === 'Running', `${node} is ${status}`)
    const calls = state.calls.get(task) ?? new Map()
    expect(!calls.has(call), `${call} was opened before`)
    return () => state.calls.set(task, calls.set(call, { tool, status: 'Open' }))
  },

  ToolCompleted(state, { tool, call, outputHash }, { node }) {
    const open = openCall(state, tool, call, node)
    return () => Object.assign(open, { status: 'Completed', outputHash })
  },

  ToolFailed(state, { tool, call }, { node }) {
    const open = openCall(state, tool, call, node)
    return () => (open.status = 'Failed')
  },

  ToolTimedOut(state, { tool, call }, { node }) {
    const open = openCall(state, tool, call, node)
    return () => (open.status = 'TimedOut')
  },

  CapabilityCheck(state, { allowed }) {
    return () => count(state, allowed ? 'capabilityAllowed' : 'capabilityDenied')
  },

  PolicyDecision(state, { allowed }) {
    return () => count(state, allowed ? 'policyAllowed' : 'policyDenied')
  },

  TaskAssigned(state, { task, worker, from }, { time, node }) {
    const given = taskOf(state, task, node)
    expect(state.workers.has(worker), `no worker ${worker}`)
    if (isNothing(from)) expect(given.status === 'Pending', `${task} is ${given.status}`)
    else {
      expect(given.status === 'Assigned' || given.status === 'Accepted', `${task} is ${given.status}`)
      expect(given.worker === from, `${from} does not have ${task}`)
    }
    return () => {
      state.pending = state.pending.filter((one) => one.task !== task)
      Object.assign(given, { status: 'Assigned', worker, assignedAt: time })
      state.lastAssigned = worker
    }
  },

  TaskAccepted(state, { task, worker }, { node }) {
    const given = heldBy(state, task, worker, node)
    expect(given.status === 'Assigned', `${task} is ${given.status}`)
    return () => (given.status = 'Accepted')
  },

  TaskRejected(state, { task, worker }, { time, node }) {
    const given = heldBy(state, task, worker, node)
    expect(given.status === 'Assigned', `${task} is ${given.status}`)
    return () => {
      state.tasks.set(task, { node, attempt: given.attempt, status: 'Pending' })
      state.pending.push({ position: time, task })
    }
  },

  SnapshotCreated(state, { snapshot, stateHash: hash, at }, { time }) {
    expect(at < time, `a snapshot of ${at}`)
    return () => {
      state.snapshotBefore = state.lastSnapshot
      state.lastSnapshot = { snapshot, at, stateHash: hash }
    }
  },

  SnapshotRestored(state, { snapshot, stateHash: hash, at }, { time }) {
    expect(at < time, `a snapshot of ${at}`)
    // The `SnapshotCreated` of a snapshot comes after the state in it: that state still has the previous snapshot as its last one.
    const isLast = state.lastSnapshot?.snapshot === snapshot && state.lastSnapshot.at === at && time === at + 2
    const before = isLast ? { ...state, lastSnapshot: state.snapshotBefore } : state
    expect(
      [state, before].some((one) => stateHash(one, at) === hash),
      'another state',
      'StateMismatch',
    )
    return () => {}
  },

  BlobStored() {
    return () => {}
  },

  Heartbeat(state, { worker, status, capabilities }) {
    return () => {
      const before = state.workers.get(worker)?.capabilities ?? []
      state.workers.set(worker, { status, capabilities: capabilities ? sortedSet(capabilities) : before })
    }
  },

  Error(state) {
    return () => count(state, 'errors')
  },
}

function nodeOf(state, node) {
  expect(node !== null, 'node', 'MissingField')
  return state.nodes.get(node)
}

function taskOf(state, task, node) {
  expect(node !== null, 'node', 'MissingField')
  const found = state.tasks.get(task)
  expect(found?.node === node, `no task ${task} of ${node}`)
  return found
}

function heldBy(state, task, worker, node) {
  const found = taskOf(state, task, node)
  expect(
    activeTasks(state, worker).some(([id]) => id === task),
    `${worker} does not have ${task}`,
  )
  return found
}

function runningTask(state, task, node) {
  const found = taskOf(state, task, node)
  expect(state.nodes.get(node).task === task && found.status === 'Running', `${task} is ${found.status}`)
  return found
}

function openCall(state, tool, call, node) {
  const found = state.calls.get(nodeOf(state, node).task)?.get(call)
  expect(found?.status === 'Open' && found.tool === tool, `${call} of ${tool} is not open`)
  return found
}

/** Removes a task that has not run. Only the attempt of the node still counts it. */
function withdraw(state, entry) {
  state.pending = state.pending.filter((one) => one.task !== entry.task)
  state.tasks.delete(entry.task)
  delete entry.task
}

function isNothing(value) {
  return value === undefined || value === null
}

function count(state, name) {
  state.counters.set(name, (state.counters.get(name) ?? 0) + 1)
}
