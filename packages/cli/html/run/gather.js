'use strict'

// Reads all data of a run's page.

const { readFile } = require('node:fs/promises')
const path = require('node:path')
const { RunFacts } = require('../diff/run-events.js')
const { EventTable } = require('./event-table.js')
const { readersOf } = require('./readers.js')

/** @import { Check, CoordinatorState, RunState } from 'session-tape' */
/** @import { Seal } from '../seal.js' */
/** @typedef {InstanceType<typeof EventTable>} Table */
/** @typedef {InstanceType<typeof RunFacts>} Facts */

/**
 * @typedef {{ at: string, given: string, size: number, seal?: Seal | null }} Source the run's directory, the path that the page shows, the size of
 *   the log, and the seal of the bundle, if it is one that was verified
 * @typedef {{ nodes: { id: string, kind: string, tool: string | null }[], edges: [from: string, to: string][] }} Graph
 * @typedef {{ message: string, time: number | null }} Problem `time`: of the event, if it is known
 * @typedef {Awaited<ReturnType<typeof verificationOf>>} Verification
 * @typedef {{ table: Table, facts: Facts, graph: Graph, initial: ReturnType<typeof stateData> | null }} Read
 * @typedef {Source & Read & { problem: Problem | null, verification: Verification | null }} Model
 */

/** The size of all payloads to aim for. */
const LIMITS = { bytes: 8 << 20 }

/**
 * @param {Source} source
 * @param {{ signal?: AbortSignal, limits?: Partial<typeof LIMITS> }} [options]
 * @returns {Promise<Model>}
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
 * @param {Source} source
 * @param {{ signal?: AbortSignal, limits?: Partial<typeof LIMITS> }} [options]
 * @returns {Promise<Model>}
 */
async function gatherUnverified(source, { signal, limits } = {}) {
  const facts = new RunFacts()
  const graph = await graphOf(source.at)
  const table = new EventTable(
    source,
    graph.nodes.map(({ id }) => id),
    { ...LIMITS, ...limits }.bytes,
  )
  const problem = await readInto(table, facts, signal)
  return { ...source, table, facts, graph, initial: await initialState(source, table), problem, verification: null }
}

/**
 * Reads the events. Resolves to the reason why the rest of the log can't be read, or to null.
 *
 * @type {(table: Table, facts: Facts, signal: AbortSignal | undefined) => Promise<Problem | null>}
 */
async function readInto(table, facts, signal) {
  const problem = await table.read((event) => facts.take(event), signal)
  if (problem === null) return null
  // The events before the damage are shown; an error is thrown only if there are none.
  if (table.length === 0) throw problem
  return { message: problem.message, time: problem.time ?? null }
}

/** The state after the first event of a log that begins after a snapshot. Null for a complete log. @param {Source} source @param {Table} table */
async function initialState(source, table) {
  if (table.first === 0) return null
  const { state } = await readersOf(source).replayRun(source.at, { until: table.first, verify: 'none' })
  if (state === null) return null
  const statuses = Object.values(state.workers).map(({ status }) => status)
  table.addNames(
    Object.keys(state.workers),
    statuses.filter((status) => status !== 'idle'),
  )
  return stateData(state)
}

/** The parts of a state that the page needs. @param {RunState} state */
function stateData({ coordinator: { run, nodeStates, pendingTasks }, workers }) {
  return { run, nodeStates, pendingTasks, workers }
}

/** The compiled graph. If it is missing, nodes are shown without their dependencies. @type {(root: string) => Promise<Graph>} */
async function graphOf(root) {
  try {
    /** @type {CoordinatorState['dag']} */
    const { nodes, edges } = JSON.parse(await readFile(path.join(root, 'dag.json'), 'utf8'))
    return { nodes: nodes.map(({ id, kind, tool = null }) => ({ id, kind, tool })), edges }
  } catch {
    return { nodes: [], edges: [] }
  }
}

/**
 * @param {Source} source
 * @param {AbortSignal} [signal]
 */
async function verificationOf(source, signal) {
  const checks = await readersOf(source).verifyRun(source.at, signal ? { signal } : {})
  const named = /** @type {const} */ (['chain', 'dag', 'schedule', 'stateHashes', 'outputHashes', 'blobs', 'snapshots'])
  return { ok: checks.ok, checks: named.map((name) => [name, checkData(checks[name])]) }
}

/** @param {Check} check */
function checkData({ checked, failed, unverifiable, firstFailure }) {
  const failure = firstFailure && {
    code: firstFailure.code,
    message: firstFailure.message,
    time: firstFailure.time ?? null,
  }
  return { checked, failed, unverifiable, failure: failure ?? null }
}

module.exports = { gather, gatherUnverified, stateData, verificationOf }
