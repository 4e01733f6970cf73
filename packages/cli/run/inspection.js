'use strict'

const fs = require('node:fs/promises')
const path = require('node:path')
const { failureOf, meansDamage } = require('../complaint.js')
const { beginningOf } = require('../source.js')

/** @import { NodeState, RunError, RunEvent, RunReplayResult } from 'session-tape' */
/** @import { Context } from '../context.js' */
/** @import { Files } from '../source.js' */

/** @typedef {Awaited<ReturnType<typeof inspectRun>>} RunFacts */
/** @typedef {{ count: number, byKind: Record<string, number>, firstTime: string | null, lastTime: string | null }} EventCounts */
/** @typedef {EventCounts & { header: RunEvent['payload'] | null }} Tally */

/** The number of bytes read of a snapshot: enough for the members before the state, which include the signature. */
const SNAPSHOT_BEGINNING = 4096

/**
 * Collects facts about a run, which is replayed with every check.
 *
 * @param {Context} context
 * @param {Files} source
 */
async function inspectRun(context, source) {
  const result = await context.during('replaying', (more) =>
    context.tape.replayRun(source.at, { verify: 'full', ...more }),
  )
  if (!result.ok && !meansDamage(result.error)) throw Object.assign(new Error(result.error.message), result.error)
  const { header, ...events } = await tallyEvents(context, source, result)
  /** @type {Pick<RunReplayResult, 'state' | 'warnings'> & { error?: RunError }} */
  const { state, error, warnings } = result
  return {
    size: (await fs.stat(source.log)).size,
    header,
    status: state?.coordinator.run.status ?? null,
    runId: state?.coordinator.run.id ?? null,
    logicalTime: state?.coordinator.logicalTime ?? null,
    events,
    nodes: state ? countNodes(state.coordinator.nodeStates) : {},
    workers: state ? Object.keys(state.workers).length : 0,
    snapshots: await snapshotsIn(source.at),
    blobs: await blobsIn(source.at),
    warnings,
    ...(error && { error }),
  }
}

/**
 * Counts of events by kind, the first and last time, and the payload of RunCreated. Stops at damage.
 *
 * @param {Context} context
 * @param {Files} source
 * @param {RunReplayResult} replayed
 */
async function tallyEvents({ tape, signal, progress, output }, { at }, { state }) {
  const bar = progress('counting')
  const total = state?.coordinator.logicalTime ?? 0
  /** @type {Tally} */
  const tally = { header: null, count: 0, byKind: {}, firstTime: null, lastTime: null }
  try {
    for await (const event of tape.readRunEvents(at, { signal })) {
      addEvent(tally, event)
      if (tally.count % 10_000 === 0) bar.at({ bytes: event.logicalTime, total })
    }
  } catch (error) {
    // The replay reports the same damage.
    if (!meansDamage(failureOf(error))) throw error
  } finally {
    bar.done()
  }
  return tally
}

/** @type {(tally: Tally, event: RunEvent) => void} */
function addEvent(tally, { kind, ts, payload }) {
  if (kind === 'RunCreated') tally.header = payload
  tally.count += 1
  tally.byKind[kind] = (tally.byKind[kind] ?? 0) + 1
  tally.firstTime ??= ts
  tally.lastTime = ts
}

/** @type {(nodeStates: Record<string, NodeState>) => Record<string, number>} */
function countNodes(nodeStates) {
  /** @type {Record<string, number>} */
  const counts = {}
  for (const { status } of Object.values(nodeStates)) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

/** The snapshots of a run, or that of a partial bundle, by logical time. @param {string} directory */
async function snapshotsIn(directory) {
  const own = path.join(directory, 'snapshots')
  const names = (await fs.readdir(own).catch(() => [])).filter((name) => /^snap_\d+\.cath-snap$/.test(name))
  const files = names.map((name) => path.join(own, name))
  const found = await Promise.all([...files, path.join(directory, 'snapshot.cath-snap')].map(snapshotAt))
  return found.filter((one) => one !== null).sort((a, b) => a.logicalTime - b.logicalTime)
}

/** Describes a snapshot by the members before its state, which may be large. `verify` checks whether it is valid. @param {string} file */
async function snapshotAt(file) {
  const size = await sizeOf(file)
  if (size === null) return null
  const text = (await beginningOf(file, SNAPSHOT_BEGINNING)).toString('utf8')
  const beginning = text.split(',"state":')[0]
  const logicalTime = Number(/,"logicalTime":(\d+)/.exec(beginning)?.[1] ?? /snap_(\d+)/.exec(file)?.[1] ?? 0)
  return { snapshot: `snap_${logicalTime}`, logicalTime, size, signed: beginning.includes(',"signature":{') }
}

/** The size of a file in bytes; null if it isn't there, as behind a link that leads nowhere, or is something else. @param {string} file */
function sizeOf(file) {
  return fs.stat(file).then(
    (stat) => (stat.isFile() ? stat.size : null),
    () => null,
  )
}

/** The number of blobs, and their total size in bytes. `verify` says which are missing. @param {string} directory */
async function blobsIn(directory) {
  const root = path.join(directory, 'blobs')
  let [count, bytes] = [0, 0]
  for (const folder of await fs.readdir(root).catch(() => [])) {
    for (const name of await fs.readdir(path.join(root, folder)).catch(() => [])) {
      const size = await sizeOf(path.join(root, folder, name))
      if (size === null) continue
      count += 1
      bytes += size
    }
  }
  return { count, bytes }
}

module.exports = { inspectRun }
