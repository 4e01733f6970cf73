'use strict'

// Reads the events of a run for the page.

const tape = require('session-tape')
const { fieldsBriefly, oneLine } = require('../excerpt.js')
const { moment } = require('../../quantities.js')
const { FAILURES } = require('../run/kinds.js')

/** @import { RunEvent, Workflow } from 'session-tape' */
/** @import { Fields } from '../session/items.js' */

/**
 * @typedef {{ label: string, node: string | null, parent: number | null, hasFailed: boolean, excerpt: string, kind?: string }} Shown `parent`: the
 *   place of the parent
 * @typedef {{ place: number, kind: string, ts: string | null, payload: unknown, isCompared: boolean, shown: () => Shown }} ReadEvent `place`: the
 *   logical time, or the number of a session's record from 0
 */

/** The kinds that are not compared. */
const NOT_COMPARED = new Set(['SnapshotCreated', 'SnapshotRestored', 'BlobStored', 'Heartbeat'])

/** The fields that name the subject of an event, by priority. */
const SUBJECTS = ['tool', 'capability', 'rule', 'snapshot', 'blob', 'code', 'worker', 'runId']

/**
 * @param {string} root the run's directory
 * @returns {AsyncGenerator<ReadEvent>} cheap fields, and a function `shown` for the others, which are needed only for the events in the page
 */
async function* runEvents(root) {
  for await (const event of tape.readRunEvents(root)) {
    const { logicalTime, kind, ts, payload } = event
    yield { place: logicalTime, kind, ts, payload, isCompared: !NOT_COMPARED.has(kind), shown: () => shown(event) }
  }
}

/** @type {(event: RunEvent) => Shown} */
function shown({ kind, node, parent, payload }) {
  const { label, from } = subject(payload, node)
  return {
    label,
    node,
    parent: parent === null ? null : Number(parent.slice('evt_'.length)),
    hasFailed: FAILURES.has(kind) || payload.allowed === false,
    excerpt: fieldsBriefly(payload, [from, 'call', ...said(payload, node)]),
  }
}

/**
 * Fields that the summary omits, because the node implies them or they are uninformative.
 *
 * @type {(payload: Fields, node: string | null) => string[]}
 */
function said(payload, node) {
  /** @param {string} name */
  const isEmpty = (name) => Array.isArray(payload[name]) && payload[name].length === 0
  return Object.keys(payload).filter((name) => isEmpty(name) || (name === 'task' && payload.task === `${node}#1`))
}

/** @type {(payload: Fields, node: string | null) => { label: string, from: string | undefined }} */
function subject(payload, node) {
  const from = SUBJECTS.find((name) => typeof payload[name] === 'string')
  // The subject of a task is its node rather than its worker.
  if (node !== null && (from === undefined || from === 'worker')) return { label: oneLine(node), from: undefined }
  return { label: from === undefined ? '' : oneLine(/** @type {string} */ (payload[from])), from }
}

/** The page's data about the run as a whole. */
class RunFacts {
  /** @type {Map<string, unknown>} */
  #facts = new Map()

  /** @param {Pick<RunEvent, 'kind' | 'ts' | 'payload'>} event */
  take({ kind, ts, payload }) {
    if (kind === 'RunCreated') {
      this.id = typeof payload.runId === 'string' ? payload.runId : undefined
      this.of = /** @type {Workflow} */ (payload.workflow)?.name
      this.#facts.set(
        'Workflow',
        `${/** @type {Workflow} */ (payload.workflow)?.name} ${/** @type {Workflow} */ (payload.workflow)?.version}`,
      )
      this.#facts.set('Scheduler', payload.scheduler)
      this.#facts.set('Began', moment(ts) ?? ts)
    }
    if (kind === 'RunStarted' && Array.isArray(payload.workers))
      this.#facts.set('Workers', String(payload.workers.length))
    if (kind === 'RunCompleted' || kind === 'RunFailed') {
      this.#facts.set('Ended', moment(ts) ?? ts)
      this.#facts.set('Status', kind === 'RunCompleted' ? 'completed' : `failed: ${payload.code} ${payload.message}`)
    }
  }

  /** @returns {[string, string][]} */
  list() {
    if (!this.#facts.has('Status')) this.#facts.set('Status', 'not finished')
    return [...this.#facts].map(([name, value]) => [name, oneLine(String(value))])
  }
}

module.exports = { runEvents, RunFacts }
