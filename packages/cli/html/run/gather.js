'use strict'

// Reads all data of a run's page.

const { readFile } = require('node:fs/promises')
const path = require('node:path')
const { RunFacts } = require('../diff/run-events.js')
const { EventTable } = require('./event-table.js')
const { readersOf } = require('./readers.js')

/** The size of all payloads to aim for. */
const LIMITS = { bytes: 8 << 20 }

/**
 * @param {{ at: string, given: string, size: number, seal?: object }} source `at`: the run's directory; `seal`: of a bundle that was verified
 * @param {{ signal?: AbortSignal, limits?: Partial<typeof LIMITS> }} [options]
 */
async function gather(source, { signal, limits } = {}) {
  // Verification runs on other threads. A rejection is handled by the `await` below.
  const verifying = verificationOf(source, signal)
  verifying.catch(() => {})
  const model = await gatherUnverified(source, { signal, limits })
  return { ...model, verification: await verifying }
}

/**
 * Like `gather`, but does not verify the run, which takes longer than everything else.
 *
 * @param {{ at: string, given: string, size: number, seal?: object }} source
 * @param {{ signal?: AbortSignal, limits?: Partial<typeof LIMITS> }} [options]
 */
async function gatherUnverified(source, { signal, limits } = {}) {
  const facts = new RunFacts()
  const graph = await graphOf(source.at)
  const table = new EventTable(source, graph.nodes.map(({ id }) => id), { ...LIMITS, ...limits }.bytes)
  const problem = await addEvents(table, facts, signal)
  return { ...source, table, facts, graph, initial: await initialState(source, table), problem, verification: null }
}

/** Adds the new events. Resolves to the reason why the rest of the log can't be read, or to null. */
async function addEvents(table, facts, signal) {
  const problem = await table.read((event) => facts.take(event), signal)
  if (problem === null) return null
  // The events before the damage are shown; an error is thrown only if there are none.
  if (table.length === 0) throw problem
  return { message: problem.message, time: problem.time ?? null }
}

/** The state after the first event of a log that begins after a snapshot. Null for a complete log. */
async function initialState(source, table) {
  if (table.first === 0) return null
  const { state } = await readersOf(source).replayRun(source.at, { until: table.first, verify: 'none' })
  if (state === null) return null
  const statuses = Object.values(state.workers).map(({ status }) => status)
  table.addNames(Object.keys(state.workers), statuses.filter((status) => status !== 'idle'))
  return stateData(state)
}

/** The parts of a state that the page needs. */
function stateData({ coordinator: { run, nodeStates, pendingTasks }, workers }) {
  return { run, nodeStates, pendingTasks, workers }
}

/** The compiled graph. If it is missing, nodes are shown without their dependencies. */
async function graphOf(root) {
  try {
    const { nodes, edges } = JSON.parse(await readFile(path.join(root, 'dag.json'), 'utf8'))
    return { nodes: nodes.map(({ id, kind, tool = null }) => ({ id, kind, tool })), edges }
  } catch {
    return { nodes: [], edges: [] }
  }
}

async function verificationOf(source, signal) {
  const checks = await readersOf(source).verifyRun(source.at, signal ? { signal } : {})
  const named = ['chain', 'dag', 'schedule', 'stateHashes', 'outputHashes', 'blobs', 'snapshots']
  return { ok: checks.ok, checks: named.map((name) => [name, checkData(checks[name])]) }
}

function checkData({ checked, failed, unverifiable, firstFailure }) {
  const failure = firstFailure && { code: firstFailure.code, message: firstFailure.message, time: firstFailure.time ?? null }
  return { checked, failed, unverifiable, failure: failure ?? null }
}

module.exports = { gather, gatherUnverified, addEvents, stateData, verificationOf }
