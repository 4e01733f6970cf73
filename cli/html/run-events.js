'use strict'

// The events of a run as the page shows them.

const tape = require('../../index.js')
const { fieldsBriefly, oneLine } = require('./excerpt.js')
const { moment } = require('../quantities.js')

/** What the comparison leaves out: where one side has them and the other has not, nothing differs. */
const NOT_COMPARED = new Set(['SnapshotCreated', 'SnapshotRestored', 'BlobStored', 'Heartbeat'])

const FAILURES = new Set(['RunFailed', 'NodeFailed', 'ToolFailed', 'ToolTimedOut', 'TaskRejected', 'Error'])

/** What an event is about, by the first of these that it has. */
const SUBJECTS = ['tool', 'capability', 'rule', 'snapshot', 'blob', 'code', 'worker', 'runId']

/**
 * @param {string} root the run's directory
 * @yields what is known at once, and `shown`, which gives the rest: of a long log few events are shown
 */
async function* runEvents(root) {
  for await (const event of tape.readRunEvents(root)) {
    const { logicalTime, kind, ts, payload } = event
    yield { place: logicalTime, kind, ts, payload, isCompared: !NOT_COMPARED.has(kind), shown: () => shown(event) }
  }
}

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

/** What the node says already, and what says nothing. */
function said(payload, node) {
  const isEmpty = (name) => Array.isArray(payload[name]) && payload[name].length === 0
  return Object.keys(payload).filter((name) => isEmpty(name) || (name === 'task' && payload.task === `${node}#1`))
}

function subject(payload, node) {
  const from = SUBJECTS.find((name) => typeof payload[name] === 'string')
  // A task's worker is a detail of it; its node is what it is about.
  if (node !== null && (from === undefined || from === 'worker')) return { label: oneLine(node), from: undefined }
  return { label: from === undefined ? '' : oneLine(payload[from]), from }
}

/** What the page says of the run as a whole. */
class RunFacts {
  #facts = new Map()

  take({ kind, ts, payload }) {
    if (kind === 'RunCreated') {
      this.id = typeof payload.runId === 'string' ? payload.runId : undefined
      this.of = payload.workflow?.name
      this.#facts.set('Workflow', `${payload.workflow?.name} ${payload.workflow?.version}`)
      this.#facts.set('Scheduler', payload.scheduler)
      this.#facts.set('Began', moment(ts) ?? ts)
    }
    if (kind === 'RunStarted' && Array.isArray(payload.workers)) this.#facts.set('Workers', String(payload.workers.length))
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
