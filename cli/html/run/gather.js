'use strict'

// Reads all data of a run's page.

const { readFile } = require('node:fs/promises')
const path = require('node:path')
const tape = require('../../../index.js')
const { RunFacts } = require('../diff/run-events.js')
const { EventTable } = require('./event-table.js')

/** The size of all payloads to aim for. */
const LIMITS = { bytes: 8 << 20 }

/**
 * @param {{ at: string, given: string, size: number }} source `at`: the run's directory
 * @param {{ signal?: AbortSignal, limits?: Partial<typeof LIMITS> }} [options]
 */
async function gather(source, { signal, limits } = {}) {
  const table = new EventTable({ ...LIMITS, ...limits }.bytes)
  const facts = new RunFacts()
  const graph = await graphOf(source.at)
  // Nodes keep the numbers of the graph, also those without an event.
  for (const { id } of graph.nodes) table.nodes.index(id)
  const verifying = verificationOf(source.at, signal)
  // Both at once: verification runs on other threads. Its rejection is awaited below.
  verifying.catch(() => {})
  const problem = await addEvents(table, facts, source.at, { signal })
  return { ...source, table, facts, graph, initial: await initialState(source.at, table), problem, verification: await verifying }
}

/** Adds the events from a time on. Returns why the rest of the log can't be read, or null. */
async function addEvents(table, facts, root, { from = 0, signal } = {}) {
  try {
    for await (const event of tape.readRunEvents(root, { from })) {
      signal?.throwIfAborted()
      facts.take(event)
      table.add(event)
    }
    return null
  } catch (error) {
    signal?.throwIfAborted()
    // The events before the damage are shown; an error is thrown only if there are none.
    if (table.length === 0) throw error
    return { message: error.message, time: error.time ?? null }
  }
}

/** The state after the first event of a log that begins behind a snapshot. A whole log begins with nothing. */
async function initialState(root, { first, workers, statuses }) {
  if (first === 0) return null
  const { state } = await tape.replayRun(root, { until: first, verify: 'none' })
  if (state === null) return null
  for (const [id, { status }] of Object.entries(state.workers)) {
    workers.index(id)
    if (status !== 'idle') statuses.index(status)
  }
  return stateData(state)
}

/** What the page needs of a state. */
function stateData({ coordinator: { run, nodeStates, pendingTasks }, workers }) {
  return { run, nodeStates, pendingTasks, workers }
}

/** The graph as it was compiled. Without it, nodes are shown without their dependencies. */
async function graphOf(root) {
  try {
    const { nodes, edges } = JSON.parse(await readFile(path.join(root, 'dag.json'), 'utf8'))
    return { nodes: nodes.map(({ id, kind, tool = null }) => ({ id, kind, tool })), edges }
  } catch {
    return { nodes: [], edges: [] }
  }
}

async function verificationOf(root, signal) {
  const checks = await tape.verifyRun(root, signal ? { signal } : {})
  const named = ['chain', 'dag', 'schedule', 'stateHashes', 'outputHashes', 'snapshots']
  return { ok: checks.ok, checks: named.map((name) => [name, checkData(checks[name])]) }
}

function checkData({ checked, failed, unverifiable, firstFailure }) {
  const failure = firstFailure && { code: firstFailure.code, message: firstFailure.message, time: firstFailure.time ?? null }
  return { checked, failed, unverifiable, failure: failure ?? null }
}

module.exports = { gather, addEvents, stateData, verificationOf }
