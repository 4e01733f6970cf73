// The run engine in plain JavaScript, written from the description of the format: the reference for the addon.
//
// It keeps everything in memory and hashes the whole state at every event. It is deliberately simple: it shows what a run
// means.

import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { sha256 } from './plain-run/canonical.mjs'
import { compileWorkflow } from './plain-run/workflow.mjs'
import { emptyState, runState, stateHash } from './plain-run/state.mjs'
import { applyEvent } from './plain-run/transitions.mjs'
import { impliedParent, noCauses, remember } from './plain-run/parents.mjs'
import { NO_HASH, payloadText, sealedLine } from './plain-run/lines.mjs'
import { snapshotOf } from './plain-run/snapshots.mjs'

export { byBytes, canonicalJson, sha256 } from './plain-run/canonical.mjs'
export { compileWorkflow } from './plain-run/workflow.mjs'
export { decision, eligibleWorkers } from './plain-run/schedulers.mjs'
export { dependenciesAreMet, stateHash } from './plain-run/state.mjs'
export { NO_HASH, openedLine, payloadText, rechained, sealedLine } from './plain-run/lines.mjs'
export { sealedSnapshot } from './plain-run/snapshots.mjs'
export { KINDS, requiredFields } from './plain-run/payloads.mjs'
export { Refused } from './plain-run/transitions.mjs'

/** A run in progress: events are appended, everything else follows from them. */
export class PlainRun {
  events = []
  lines = []
  /** The hash of each event's line. */
  hashes = []
  /** The state after each event, as the API shows it. */
  states = []
  snapshots = new Map()
  blobs = new Map()
  #causes = noCauses()

  /**
   * `saltOf` and `tsOf` give an event's salt (32 hex digits) and wall clock by its time; by default they follow from the run's id and the
   * time.
   */
  constructor({ runId, workflow, scheduler = 'external', capabilities = [], saltOf, tsOf }) {
    this.workflow = workflow
    this.graph = compileWorkflow(workflow)
    this.state = emptyState(this.graph)
    this.saltOf = saltOf ?? ((time) => sha256(`${runId} ${time}`).slice(0, 32))
    this.tsOf = tsOf ?? ((time) => new Date(Date.UTC(2026, 1, 11, 16) + time * 1000).toISOString())
    const { name, version } = workflow
    const { dagHash } = this.graph
    this.append('RunCreated', { runId, workflow: { name, version }, dagHash, scheduler, capabilities })
  }

  /** The time of the next event. */
  get time() {
    return this.lines.length
  }

  /** Appends an event and returns its time. Throws, and changes nothing, if the event is invalid or not allowed. */
  append(kind, payload, { node = nodeOfTask(payload.task), parent } = {}) {
    const { time } = this
    const cause = parent === undefined ? this.impliedParent(kind, payload, node) : parent
    applyEvent(this.state, { kind, node, parent: cause, payload })
    remember(this.#causes, { kind, node, payload }, time)
    const event = {
      time,
      ts: this.tsOf(time),
      kind,
      node,
      parent: cause,
      stateHash: stateHash(this.state),
      salt: this.saltOf(time),
      payload: payloadText(payload),
    }
    const { line, hash } = sealedLine(event, this.hashes.at(-1) ?? NO_HASH)
    this.events.push(event)
    this.lines.push(line)
    this.hashes.push(hash)
    this.states.push(runState(this.state, event.stateHash))
    return time
  }

  impliedParent(kind, payload, node = nodeOfTask(payload.task)) {
    return impliedParent(this.#causes, this.state, { kind, node, payload }, this.time)
  }

  /** Stores a blob, and returns its hash. */
  putBlob(data) {
    const hash = createHash('sha256').update(data).digest('hex')
    this.blobs.set(hash, data)
    return hash
  }

  /** Takes a snapshot, and appends its `SnapshotCreated`. */
  snapshot({ signWith } = {}) {
    const at = this.time - 1
    const taken = snapshotOf(this.state, this.hashes[at], signWith)
    this.snapshots.set(taken.snapshotId, taken.text)
    this.append('SnapshotCreated', { snapshot: taken.snapshotId, stateHash: this.events[at].stateHash, at })
    return taken
  }

  get log() {
    return this.lines.map((line) => `${line}\n`).join('')
  }

  /** Writes the run's directory. */
  write(directory) {
    mkdirSync(join(directory, 'snapshots'), { recursive: true })
    mkdirSync(join(directory, 'blobs'), { recursive: true })
    writeFileSync(join(directory, 'events.cath-log'), this.log)
    writeFileSync(join(directory, 'dag.json'), this.graph.dag)
    writeFileSync(join(directory, 'workflow.json'), JSON.stringify(this.workflow))
    for (const [id, text] of this.snapshots) writeFileSync(join(directory, 'snapshots', `${id}.cath-snap`), text)
    for (const [hash, data] of this.blobs) {
      const path = blobPath(directory, hash)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, data)
    }
    return directory
  }
}

export function blobPath(directory, hash) {
  return join(directory, 'blobs', hash.slice(0, 2), hash)
}

/** A node's id may contain `#`, too. */
function nodeOfTask(task) {
  return typeof task === 'string' && task.includes('#') ? task.slice(0, task.lastIndexOf('#')) : null
}

/** An output after its normaliser. */
export function normalized(normalizer, data) {
  return Buffer.from(NORMALIZERS[normalizer](Buffer.from(data)))
}

const NORMALIZERS = {
  none: (data) => data,
  // RFC 8785 prints numbers as JavaScript does. For values without integers beyond the safe ones.
  json: (data) => jcs(JSON.parse(data.toString())),
  text: (data) =>
    data
      .toString()
      .replace(/\r\n?/g, '\n')
      .replace(/[ \t]+$/gm, ''),
}

function jcs(value) {
  if (Array.isArray(value)) return `[${value.map(jcs).join(',')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  // Sorted by UTF-16 code units here, the order of `sort`.
  return `{${Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${jcs(value[key])}`)
    .join(',')}}`
}
