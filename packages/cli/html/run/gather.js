'use strict'

// Reads all data of a run's page.

const { readFile } = require('node:fs/promises')
const path = require('node:path')
const tape = require('session-tape')
const { failureOf } = require('../../complaint.js')
const { RunFacts } = require('../diff/run-events.js')
const { EventTable } = require('./event-table.js')

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

/** A bundle that was verified for its seal is not verified again by each reader. @param {{ seal?: Seal | null }} source */
const verified = ({ seal }) => ({ verifiedBundle: !!seal })

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
    graph.nodes.map(({ id }) => id),
    { ...LIMITS, ...limits }.bytes,
  )
  const problem = await readInto(source, table, facts, signal)
  return { ...source, table, facts, graph, initial: await initialState(source, table), problem, verification: null }
}

/**
 * Reads the events. Resolves to the reason why the rest of the log can't be read, or to null.
 *
 * @type {(source: Source, table: Table, facts: Facts, signal: AbortSignal | undefined) => Promise<Problem | null>}
 */
async function readInto(source, table, facts, signal) {
  try {
    for await (const event of tape.readRunEvents(source.at, { signal, ...verified(source) })) {
      table.add(event)
      facts.take(event)
    }
    return null
  } catch (error) {
    const { message, code, time = null } = failureOf(error)
    // The events before the damage are shown; an error is thrown only if there are none.
    if (signal?.aborted || code === undefined || table.length === 0) throw error
    return { message, time }
  }
}

/** The state after the first event of a log that begins after a snapshot. Null for a complete log. @param {Source} source @param {Table} table */
async function initialState(source, table) {
  const { first, workers, statuses } = table.columns
  if (first === 0) return null
  const { state } = await tape.replayRun(source.at, { until: first, verify: 'none', ...verified(source) })
  if (state === null) return null
  for (const worker of Object.keys(state.workers)) workers.numberOf(worker)
  for (const { status } of Object.values(state.workers)) if (status !== 'idle') statuses.numberOf(status)
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
  const checks = await tape.verifyRun(source.at, { ...(signal && { signal }), ...verified(source) })
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

module.exports = { gather, gatherUnverified, stateData, verificationOf, verified }
