// Which worker gets which task.

import { activeTasks } from './state.mjs'
import { byBytes } from './canonical.mjs'

/** The ids of the workers that may execute a task, sorted. */
export function eligibleWorkers(state, task) {
  const { node } = state.tasks.get(task)
  const { capabilities: needed } = state.graph.nodes.find(({ id }) => id === node)
  const able = [...state.workers].filter(
    ([, { status, capabilities }]) =>
      (status === 'idle' || status === 'busy') && needed.every((one) => capabilities.includes(one)),
  )
  return able.map(([id]) => id).sort(byBytes)
}

/** `{ task, worker }` that the run's scheduler decides on; `undefined` if no waiting task has an eligible worker. */
export function decision(state) {
  for (const { task } of state.pending) {
    const eligible = eligibleWorkers(state, task)
    if (eligible.length > 0) return { task, worker: CHOICES[state.scheduler](state, eligible) }
  }
  return undefined
}

const CHOICES = {
  'round-robin': ({ lastAssigned }, eligible) =>
    eligible.find((id) => lastAssigned === undefined || byBytes(id, lastAssigned) > 0) ?? eligible[0],
  'least-loaded': (state, eligible) => {
    const load = (id) => activeTasks(state, id).length
    return eligible.reduce((least, id) => (load(id) < load(least) ? id : least))
  },
  // The caller decides: any choice is valid.
  external: (_, eligible) => eligible[0],
}
