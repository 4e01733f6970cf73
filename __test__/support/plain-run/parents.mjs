// The parent of an event, if none is given.

/** What must be remembered of the events so far to determine the parents of later ones. */
export function noCauses() {
  return { created: 0, started: undefined, lastEnd: undefined, nodes: new Map(), tasks: new Map() }
}

const of = (map, key) => map.get(key) ?? {}

/** The time of the event that implies an event of this kind at `time`. */
export function impliedParent(causes, state, { kind, node, payload }, time) {
  if (time === 0) return null
  return (
    IMPLIED[kind]?.(causes, {
      node: of(causes.nodes, node),
      task: of(causes.tasks, payload.task),
      payload,
      state,
      id: node,
    }) ?? time - 1
  )
}

const lastResult = (_, { node }) => node.toolResult ?? node.started
const invocation = (_, { node, payload }) => node.calls?.get(payload.call)
const aboutNode = (_, { node }) => [...(node.open ?? [])].at(-1)?.[1] ?? node.started
const lastEnd = (causes) => causes.lastEnd ?? causes.started

const IMPLIED = {
  RunStarted: ({ created }) => created,
  RunCompleted: lastEnd,
  RunFailed: lastEnd,
  NodeScheduled: (causes, { id, node, state }) => {
    const ends = (state.dependencies.get(id) ?? []).map((dependency) => causes.nodes.get(dependency)?.ended)
    const ready = [...ends, node.failed].filter((time) => time !== undefined)
    return ready.length > 0 ? Math.max(...ready) : causes.started
  },
  NodeSkipped: ({ started }, { payload }) => payload.because ?? started,
  TaskAssigned: (_, { task }) => task.queued,
  TaskAccepted: (_, { task }) => task.assigned,
  TaskRejected: (_, { task }) => task.assigned,
  NodeStarted: (_, { task }) => task.accepted,
  NodeCompleted: lastResult,
  NodeFailed: lastResult,
  ToolInvoked: (_, { node }) => node.started,
  ToolCompleted: invocation,
  ToolFailed: invocation,
  ToolTimedOut: invocation,
  CapabilityCheck: aboutNode,
  PolicyDecision: aboutNode,
  BlobStored: aboutNode,
}

/** Remembers an event that happened at `time`. */
export function remember(causes, { kind, node: id, payload }, time) {
  const node = of(causes.nodes, id)
  const task = of(causes.tasks, payload.task)
  if (id !== null) causes.nodes.set(id, node)
  if (payload.task !== undefined) causes.tasks.set(payload.task, task)
  MEMORY[kind]?.({ causes, node, task, payload }, time)
}

const end = ({ causes, node }, time) => (causes.lastEnd = node.ended = time)
const result = ({ node, payload }, time) => {
  node.toolResult = time
  node.open.delete(payload.call)
}

const MEMORY = {
  RunStarted: ({ causes }, time) => (causes.started = time),
  NodeScheduled: ({ task }, time) => (task.queued = time),
  TaskAssigned: ({ task }, time) => (task.assigned = time),
  TaskAccepted: ({ task }, time) => (task.accepted = time),
  TaskRejected: ({ task }, time) => (task.queued = time),
  NodeStarted: ({ node }, time) =>
    Object.assign(node, { started: time, toolResult: undefined, calls: new Map(), open: new Map() }),
  NodeCompleted: end,
  NodeSkipped: end,
  NodeFailed: ({ causes, node, payload }, time) => {
    node.failed = time
    if (!payload.willRetry) causes.lastEnd = time
  },
  ToolInvoked: ({ node, payload }, time) => {
    node.calls.set(payload.call, time)
    node.open.set(payload.call, time)
  },
  ToolCompleted: result,
  ToolFailed: result,
  ToolTimedOut: result,
}
