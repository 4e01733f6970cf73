// Who is to get which task.

import { activeTasks } from './state.mjs';
import { byBytes } from './canonical.mjs';

/** The workers that may have the task of a node, by id. */
export function eligibleWorkers(state, task) {
  const { node } = state.tasks.get(task);
  const { capabilities: needed } = state.graph.nodes.find(({ id }) => id === node);
  const able = [...state.workers].filter(
    ([, { status, capabilities }]) =>
      (status === 'idle' || status === 'busy') && needed.every((one) => capabilities.includes(one)),
  );
  return able.map(([id]) => id).sort(byBytes);
}

/** `{ task, worker }` that the run's scheduler decides on; nothing if there is nobody for any task. */
export function decision(state) {
  for (const { task } of state.pending) {
    const eligible = eligibleWorkers(state, task);
    if (eligible.length > 0) return { task, worker: CHOICES[state.scheduler](state, eligible) };
  }
  return undefined;
}

const CHOICES = {
  'round-robin': ({ lastAssigned }, eligible) =>
    eligible.find((id) => lastAssigned === undefined || byBytes(id, lastAssigned) > 0) ?? eligible[0],
  'least-loaded': (state, eligible) => {
    const load = (id) => activeTasks(state, id).length;
    return eligible.reduce((least, id) => (load(id) < load(least) ? id : least));
  },
  // Whoever decides: any choice will do.
  external: (_, eligible) => eligible[0],
};
