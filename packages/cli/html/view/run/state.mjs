// The state of the run after any event: nodes, tasks and workers. It is computed from the nearest kept state and the events after it.
//
// A page is a file without the library, and shows the state after each of up to a million events at once, so it takes the steps of
// `crates/core/src/run/state/state/step.rs` by itself, for the parts that it shows and for events that are known to be legal. Tests compare it with the
// library after every event. A served page asks the library, and replaces this state by that.

export const NODE = ['Pending', 'Scheduled', 'Running', 'Completed', 'Failed', 'Skipped']
const TASK = ['', 'Pending', 'Assigned', 'Accepted', 'Running']
const RUN = ['Created', 'Running', 'Completed', 'Failed']
const [PENDING, SCHEDULED, RUNNING, COMPLETED, FAILED_NODE, SKIPPED] = NODE.keys()

/** The number of states that are kept. */
const MAX_KEPT = 64
const SHORTEST_STEP = 2048

class State {
  constructor(nodes, workers) {
    this.run = 0
    this.status = new Uint8Array(nodes)
    this.attempt = new Uint32Array(nodes)
    /** For each node's task: its state, its worker, and the event since which it waits. */
    this.task = new Uint8Array(nodes)
    this.worker = new Int32Array(nodes).fill(-1)
    this.waitsSince = new Float64Array(nodes)
    /** The index of each worker's status; -1 means idle, -2 that the worker does not exist yet. */
    this.workerStatus = new Int32Array(workers).fill(-2)
    this.completed = new Uint32Array(workers)
  }

  /** Sets this state from one of the library. */
  set({ run, nodeStates, pendingTasks, workers }, names) {
    this.run = RUN.indexOf(run.status)
    for (const [at, id] of names.nodes.entries()) {
      const { status = 'Pending', attempt = 0 } = nodeStates[id] ?? {}
      this.status[at] = NODE.indexOf(status)
      this.attempt[at] = attempt
      const order = pendingTasks.indexOf(`${id}#${attempt}`)
      if (order >= 0) this.#wait(at, order - pendingTasks.length)
    }
    for (const [at, id] of names.workers.entries())
      if (Object.hasOwn(workers, id)) this.#setWorker(at, workers[id], names)
  }

  #setWorker(at, { status, activeTasks, completedTasks }, names) {
    this.workerStatus[at] = status === 'idle' ? -1 : names.statuses.indexOf(status)
    this.completed[at] = completedTasks.length
    for (const { node, status: task } of Object.values(activeTasks)) {
      const index = names.nodes.indexOf(node)
      this.task[index] = TASK.indexOf(task)
      this.worker[index] = at
    }
  }

  copy() {
    const other = Object.assign(Object.create(State.prototype), this)
    for (const name of ['status', 'attempt', 'task', 'worker', 'waitsSince', 'workerStatus', 'completed'])
      other[name] = this[name].slice()
    return other
  }

  #leave(node) {
    this.task[node] = 0
    this.worker[node] = -1
  }

  #wait(node, event) {
    this.task[node] = 1
    this.worker[node] = -1
    this.waitsSince[node] = event
  }

  static #steps = {
    RunStarted(state, event, fields, { startedWorkers }) {
      state.run = 1
      for (const worker of startedWorkers) state.workerStatus[worker] = -1
    },
    RunCompleted: (state) => {
      state.run = 2
    },
    RunFailed: (state) => {
      state.run = 3
    },
    NodeScheduled(state, event, { node, attempt }) {
      state.status[node] = SCHEDULED
      state.attempt[node] = attempt
      state.#wait(node, event)
    },
    NodeStarted(state, event, { node }) {
      state.status[node] = RUNNING
      state.task[node] = 4
    },
    NodeCompleted(state, event, { node }) {
      state.status[node] = COMPLETED
      if (state.worker[node] >= 0) state.completed[state.worker[node]] += 1
      state.#leave(node)
    },
    NodeFailed(state, event, { node, extra }) {
      state.status[node] = extra === 1 ? PENDING : FAILED_NODE
      state.#leave(node)
    },
    NodeSkipped(state, event, { node }) {
      state.status[node] = SKIPPED
      state.#leave(node)
    },
    TaskAssigned(state, event, { node, worker }) {
      state.task[node] = 2
      state.worker[node] = worker
    },
    TaskAccepted: (state, event, { node }) => {
      state.task[node] = 3
    },
    TaskRejected: (state, event, { node }) => state.#wait(node, event),
    Heartbeat: (state, event, { worker, extra }) => {
      state.workerStatus[worker] = extra
    },
  }

  apply(kind, event, fields, run) {
    State.#steps[kind]?.(this, event, fields, run)
  }
}

export class States {
  #kept = new Map()

  constructor(run) {
    this.run = run
    this.step = Math.max(SHORTEST_STEP, Math.ceil(run.length / MAX_KEPT))
  }

  /** The state after an event. */
  after(event) {
    let start = event - (event % this.step)
    while (start > 0 && !this.#kept.has(start)) start -= this.step
    const state = start > 0 ? this.#kept.get(start).copy() : this.#beginning()
    for (let at = Math.max(start, this.run.initial ? 1 : 0); at <= event; at++) {
      if (at % this.step === 0 && at > 0 && !this.#kept.has(at)) this.#kept.set(at, state.copy())
      this.#apply(state, at)
    }
    return state
  }

  /** The state before the first event or, in a log that begins after a snapshot, after the first event. */
  #beginning() {
    const state = new State(this.run.nodes.length, this.run.workers.length)
    if (this.run.initial) state.set(this.run.initial, this.run)
    return state
  }

  #apply(state, event) {
    const { run } = this
    const { node, attempt, worker, extra } = run.columns
    state.apply(
      run.kindOf(event),
      event,
      {
        node: node[event],
        attempt: attempt[event],
        worker: worker[event],
        extra: extra[event],
      },
      run,
    )
  }
}

/**
 * A state in the form in which it is shown, made from the page's own state or from that of the engine.
 *
 * @typedef {object} Shown
 * @property {string} run the status of the run
 * @property {ArrayLike<number>} status the status of each node, as an index of `NODE`
 * @property {ArrayLike<number>} attempt of each node
 * @property {string[]} pending the tasks that wait, in order
 * @property {{ id: string, status: string, active: [task: string, status: string][], completed: number }[]} workers
 */

/** @returns {Shown} */
export function shownState({ nodes, workers, statuses }, state) {
  const active = new Map()
  const waiting = []
  for (let node = 0; node < nodes.length; node++) {
    const worker = state.worker[node]
    if (state.task[node] === 1) waiting.push(node)
    if (worker < 0) continue
    if (!active.has(worker)) active.set(worker, [])
    active.get(worker).push([`${nodes[node]}#${state.attempt[node]}`, TASK[state.task[node]]])
  }
  waiting.sort((a, b) => state.waitsSince[a] - state.waitsSince[b])
  const shown = workers.map((id, at) => ({
    id,
    code: state.workerStatus[at],
    active: active.get(at) ?? [],
    completed: state.completed[at],
  }))
  return {
    run: RUN[state.run],
    status: state.status,
    attempt: state.attempt,
    pending: waiting.map((node) => `${nodes[node]}#${state.attempt[node]}`),
    workers: shown
      .filter(({ code }) => code !== -2)
      .map(({ id, code, active: tasks, completed }) => ({
        id,
        status: code === -1 ? 'idle' : statuses[code],
        active: tasks,
        completed,
      })),
  }
}

/** @returns {Shown} */
export function engineState({ nodes }, { run, nodeStates, pendingTasks, workers }) {
  return {
    run: run.status,
    status: nodes.map((id) => Math.max(NODE.indexOf(nodeStates[id]?.status), 0)),
    attempt: nodes.map((id) => nodeStates[id]?.attempt ?? 0),
    pending: pendingTasks,
    workers: Object.values(workers).map(({ workerId, status, activeTasks, completedTasks }) => ({
      id: workerId,
      status,
      active: Object.entries(activeTasks).map(([task, { status: of }]) => [task, of]),
      completed: completedTasks.length,
    })),
  }
}
