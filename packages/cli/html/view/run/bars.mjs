// The tasks of workers as bars: from the assignment, through the start, to the end.

/** How a task ended. */
const ENDS = { NodeCompleted: 'done', NodeFailed: 'failed', TaskRejected: 'rejected', NodeSkipped: 'skipped' }

/**
 * @typedef {{ worker: number, node: number, attempt: number, from: number, start: number, to: number, end: string }} Bar `from`, `start` and `to`
 *   are events; `start` is -1 for a task that never ran, and `end` empty for one that did not end
 *
 * @returns {Bar[]}
 */
export function taskBars(run) {
  const { node, worker, attempt } = run.columns
  const open = new Map()
  const bars = []
  const close = (at, event, end) => {
    const bar = open.get(at)
    if (bar === undefined) return
    Object.assign(bar, { to: event, end })
    open.delete(at)
  }
  for (let event = 0; event < run.length; event++) {
    const kind = run.kindOf(event)
    const at = node[event]
    if (kind === 'TaskAssigned') {
      close(at, event, 'moved')
      const bar = {
        worker: worker[event],
        node: at,
        attempt: attempt[event],
        from: event,
        start: -1,
        to: run.length - 1,
        end: '',
      }
      open.set(at, bar)
      bars.push(bar)
    } else if (kind === 'NodeStarted' && open.has(at)) open.get(at).start = event
    else if (Object.hasOwn(ENDS, kind)) close(at, event, ENDS[kind])
  }
  return bars
}

/** Counts tasks by how they ended, and retries. */
export function taskTotals(run, bars) {
  const counts = { done: 0, failed: 0, rejected: 0, moved: 0, skipped: 0, '': 0 }
  for (const { end } of bars) counts[end] += 1
  return {
    ...counts,
    all: bars.length,
    retries: bars.filter(({ attempt, end }) => attempt > 1 && end !== 'rejected').length,
  }
}

/** Calls of tools, with failures and durations. A result belongs to the call that is its parent. */
export function toolTotals(run) {
  const found = new Map()
  const open = new Map()
  for (let event = 0; event < run.length; event++) {
    const kind = run.kindOf(event)
    if (kind === 'ToolInvoked') {
      const name = run.labelOf(event)
      const entry = found.get(name) ?? { name, calls: 0, failures: 0, ms: 0, longest: 0 }
      found.set(name, entry)
      entry.calls += 1
      open.set(event, entry)
    } else if (['ToolCompleted', 'ToolFailed', 'ToolTimedOut'].includes(kind)) {
      const call = run.parentOf(event)
      const entry = open.get(call)
      if (entry === undefined) continue
      const ms = Math.max(run.clocks[event] - run.clocks[call], 0)
      entry.ms += ms
      entry.longest = Math.max(entry.longest, ms)
      if (kind !== 'ToolCompleted') entry.failures += 1
    }
  }
  return [...found.values()].sort((a, b) => b.calls - a.calls)
}
