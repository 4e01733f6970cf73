'use strict'

// Formats the result of replaying a run as text.

const { list, page, row, rowsUnder, tallied } = require('../page.js')
const { count, elapsed, fileSize, plural } = require('../quantities.js')
const { printable } = require('../safe-text.js')

/** @import { CoordinatorState, NodeState, RunState, WorkerState } from 'session-tape' */
/** @import { RunError, RunReplayOptions, RunReplayResult, RunReplaySuccess } from 'session-tape' */
/** @import { Colours } from '../colours.js' */
/** @typedef {NonNullable<RunReplayOptions['verify']>} Depth */

const MAX_NODES = 30
const MAX_WORKERS = 15
const MAX_TASKS = 8
const MAX_WARNINGS = 20

/** @type {Record<string, 'green' | 'cyan' | 'red' | 'dim' | 'yellow'>} */
const TONES = {
  Completed: 'green',
  Running: 'cyan',
  Failed: 'red',
  Skipped: 'dim',
  Pending: 'dim',
  Scheduled: 'yellow',
  Created: 'dim',
}

/**
 * @param {{ path: string, result: RunReplayResult, verify: Depth, replayMs: number }} replayed
 * @param {Colours} colour
 * @param {number} width
 */
function runSummary({ path, result, verify, replayMs }, colour, width) {
  /** @type {Pick<RunReplayResult, 'state' | 'warnings'> & { error?: RunError }} */
  const { state, error, warnings } = result
  const sections = [
    error ? whatIsWrong(error, state, colour, width) : [],
    state ? about(/** @type {RunReplaySuccess} */ (result), colour) : [],
    state ? progress(state, colour, width) : [],
    warningRows(warnings, colour, width),
    result.ok ? foot(result, verify, replayMs, colour) : [],
  ]
  return page('A run', printable(path, 1000), sections, colour)
}

/** @type {(replayed: Pick<RunReplaySuccess, 'state'> & Partial<RunReplaySuccess>, colour: Colours) => string[]} */
function about({ state, eventCount, fromSnapshot }, colour) {
  const { run, logicalTime } = state.coordinator
  const events = eventCount === undefined ? '' : `${colour.bold(plural(eventCount, 'event'))}, `
  return [
    row('Run', colour.cyan(printable(run.id)), colour),
    row('Status', toned(run.status, colour), colour),
    row(
      'Replayed',
      `${events}up to evt_${logicalTime}${fromSnapshot ? `, from ${printable(fromSnapshot)} on` : ''}`,
      colour,
    ),
    row('State hash', printable(state.stateHash), colour),
  ]
}

/** @type {(state: RunState, colour: Colours, width: number) => string[]} */
function progress({ coordinator, workers }, colour, width) {
  const tasks = coordinator.pendingTasks.map((task) => printable(task, 60))
  return [
    ...nodes(coordinator, colour, width),
    ...workerRows(Object.values(workers), colour),
    ...list('Waiting tasks', tasks, MAX_TASKS, colour),
  ]
}

/**
 * Failed and running nodes come first.
 *
 * @type {(coordinator: CoordinatorState, colour: Colours, width: number) => string[]}
 */
function nodes({ nodeStates }, colour, width) {
  const all = Object.entries(nodeStates)
  if (all.length === 0) return [row('Nodes', colour.dim('none'), colour)]
  const order = ['Failed', 'Running', 'Scheduled', 'Pending', 'Completed', 'Skipped']
  const sorted = all.sort(([, a], [, b]) => order.indexOf(a.status) - order.indexOf(b.status))
  const shown = sorted.slice(0, MAX_NODES).map(([id, node]) => ({ id: printable(id, 40), node }))
  const names = Math.max(...shown.map(({ id }) => id.length))
  const rows = shown.map(({ id, node }) => nodeRow(id.padEnd(names), node, colour, width))
  if (all.length > shown.length) rows.push(colour.dim(`… and ${plural(all.length - shown.length, 'more node')}`))
  return rowsUnder('Nodes', [...tallied(countsOf(all.map(([, { status }]) => status)), colour), ...rows], colour)
}

/** @type {(id: string, node: NodeState, colour: Colours, width: number) => string} */
function nodeRow(id, { status, attempt, error }, colour, width) {
  const attempts = attempt > 1 ? colour.dim(`  ${attempt} attempts`) : ''
  const why = error
    ? `  ${colour.red(printable(`${error.code}: ${error.message}`, Math.max(20, width - id.length - 40)))}`
    : ''
  return `${id}  ${toned(status, colour)}${attempts}${why}`
}

/** @type {(workers: WorkerState[], colour: Colours) => string[]} */
function workerRows(workers, colour) {
  const rows = workers.slice(0, MAX_WORKERS).map(({ workerId, status, activeTasks, completedTasks }) => {
    const active = Object.keys(activeTasks).map((task) => printable(task, 40))
    const at = active.length > 0 ? `  at ${active.slice(0, 3).join(', ')}${active.length > 3 ? ' …' : ''}` : ''
    return `${printable(workerId, 40)}  ${printable(status, 20)}${at}  ${colour.dim(`${count(completedTasks.length)} completed`)}`
  })
  if (workers.length > rows.length)
    rows.push(colour.dim(`… and ${plural(workers.length - rows.length, 'more worker')}`))
  return rows.length === 0 ? [row('Workers', colour.dim('none'), colour)] : rowsUnder('Workers', rows, colour)
}

/**
 * The error of a damaged run, and how far it is intact.
 *
 * @type {(error: RunError, state: RunState | null, colour: Colours, width: number) => string[]}
 */
function whatIsWrong({ code, message, eventId, expected, found }, state, colour, width) {
  const where = eventId && !message.includes(eventId) ? ` (${eventId})` : ''
  const rows = [
    `${colour.red('✗')} ${colour.bold(printable(code))} ${printable(message, Math.max(200, width * 3))}${where}`,
  ]
  if (expected !== undefined) rows.push(row('  expected', printable(expected, 200), colour))
  if (found !== undefined) rows.push(row('  found', printable(found, 200), colour))
  rows.push(
    colour.dim(state ? '  Below: the state before it, the last good one.' : '  There is no good state before it.'),
  )
  return rows
}

/** @type {(warnings: string[], colour: Colours, width: number) => string[]} */
function warningRows(warnings, colour, width) {
  if (warnings.length === 0) return []
  const rows = warnings
    .slice(0, MAX_WARNINGS)
    .map((text) => `  ${colour.yellow('!')} ${printable(text, Math.max(200, width * 3))}`)
  if (warnings.length > rows.length) rows.push(colour.dim(`  … and ${count(warnings.length - rows.length)} more`))
  return [colour.bold('Warnings'), ...rows]
}

/** @type {Record<Depth, string>} */
const DEPTHS = {
  none: 'hashes not looked at',
  chain: 'every hash of the log verified',
  full: 'hashes, states, schedule, outputs and blobs verified',
}

/** @type {(replayed: RunReplaySuccess, verify: Depth, replayMs: number, colour: Colours) => string[]} */
function foot({ metrics: { events, bytes } }, verify, replayMs, colour) {
  return [colour.dim(`${plural(events, 'event')} (${fileSize(bytes)}) read in ${elapsed(replayMs)}, ${DEPTHS[verify]}`)]
}

/** @type {(names: string[]) => Record<string, number>} */
function countsOf(names) {
  /** @type {Record<string, number>} */
  const counts = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}

/** @type {(status: string, colour: Colours) => string} */
const toned = (status, colour) => colour[TONES[status] ?? 'bold'](printable(status, 20))

module.exports = { runSummary, whatIsWrong, warningRows, countsOf }
