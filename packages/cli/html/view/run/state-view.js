// A state in the form in which it is shown, made from the page's own state or from that of the engine.

/**
 * @typedef {object} Shown
 * @property {string} run the status of the run
 * @property {ArrayLike<number>} status the status of each node, as an index of `NODE`
 * @property {ArrayLike<number>} attempt of each node
 * @property {string[]} pending the tasks that wait, in order
 * @property {{ id: string, status: string, active: [task: string, status: string][], completed: number }[]} workers
 */

/** @returns {Shown} */
function shownState({ nodes, workers, statuses }, state) {
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
function engineState({ nodes }, { run, nodeStates, pendingTasks, workers }) {
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
