// The golden run: a run of format version 1 in which everything happens that can, made by the plain engine from fixed inputs.
//
// Its files are kept in __test__/fixtures/run/v1/golden, to be read by every later release. Run as a script, this module writes them; a test
// checks that they are what it generates.

import { createPrivateKey, createPublicKey } from 'node:crypto'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PlainRun, decision, normalized, sha256 } from './plain-run-engine.mjs'

export const GOLDEN = fileURLToPath(new URL('../fixtures/run/v1/golden/', import.meta.url))

/** Ed25519 keys in PEM, derived from a seed: the same on every machine, and not secret. */
export function keysFromSeed(seed) {
  const pkcs8 = Buffer.concat([
    Buffer.from('302e020100300506032b657004220420', 'hex'),
    Buffer.from(sha256(seed), 'hex'),
  ])
  const privateKey = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' })
  return {
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    publicKey: createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }),
  }
}

const KEYS = keysFromSeed('golden run')

const node = (id, tool, dependsOn = [], capabilities = []) => ({ id, kind: 'task', tool, dependsOn, capabilities })

// Unsorted and with duplicates: the graph is sorted and has each entry once.
const WORKFLOW = {
  name: 'weekly report',
  version: '2.1.0',
  nodes: [
    { id: 'start', kind: 'trigger' },
    node('publish', 'mail', ['render/html', 'render/pdf', 'render/html'], ['net']),
    node('render/pdf', 'render', ['summary ü#1'], ['gpu']),
    node('render/html', 'render', ['summary ü#1']),
    node('summary ü#1', 'model', ['join', 'chart'], ['net', 'gpu', 'net']),
    node('chart', 'plot', ['clean 1', 'clean 2'], ['gpu']),
    node('join', 'sql', ['clean 1', 'clean 2', 'clean 3', 'clean 4', 'clean 5']),
    ...[1, 2, 3, 4, 5].flatMap((n) => [
      node(`clean ${n}`, 'sh', [`parse ${n}`]),
      node(`parse ${n}`, 'parse', [`fetch ${n}`]),
      node(`fetch ${n}`, 'web_fetch', ['start'], ['net']),
    ]),
    node('translate', 'model', ['summary ü#1'], ['net']),
    node('audit', 'sh', ['join']),
    node('archive', 'sh', ['publish', 'audit', 'translate']),
  ],
}

const WORKERS = [
  { id: 'w-2', capabilities: ['net', 'gpu'] },
  { id: 'w-1', capabilities: ['net'] },
  { id: 'w-10', capabilities: [] },
]

/** What goes wrong or otherwise differs from the plain course, by node and attempt. */
const STORIES = {
  'fetch 1#1': { tools: ['fails'], ends: 'retry', message: 'HTTP 503\u2028try again' },
  'fetch 1#2': { tools: ['times out', 'fails'], ends: 'retry', message: 'gave up after two calls' },
  'fetch 1#3': { tools: ['times out', 'completes'] },
  'fetch 2#1': { rejects: 2 },
  'fetch 3#1': { reassigned: 'assigned' },
  'fetch 4#1': { tools: ['completes', 'completes', 'completes'] },
  'parse 3#1': { reassigned: 'accepted' },
  'clean 5#1': { tools: [], ends: 'retry', message: '' },
  'chart#1': { tools: ['completes', 'left open'] },
  'join#1': { rejects: 1, tools: ['times out', 'completes'] },
  'summary ü#1#1': { tools: ['fails', 'completes'], denied: true },
  'render/pdf#1': { withdrawn: 'assigned' },
  'translate#1': { withdrawn: 'pending' },
  'audit#1': { tools: [], ends: 'well' },
}

/** The raw outputs, used in turn, each with its normaliser. */
const OUTPUTS = [
  ['json', (time) => `{ "rows": [${time}, 1.50, -0, 1e21],\r\n  "title": "r\u00e9sum\u00e9 \\u2713", "a": null }\n`],
  ['text', (time) => `row ${time}  \r\nlast\t \rend`],
  ['none', (time) => Buffer.from([0, 255, time & 255])],
]

/** Builds one run from its start to its end. */
class Golden {
  run = new PlainRun({
    runId: 'golden-1',
    workflow: WORKFLOW,
    scheduler: 'round-robin',
    capabilities: ['net', 'gpu', 'net'],
    saltOf: (time) => sha256(`salt ${time}`).slice(0, 32),
    tsOf: (time) => new Date(Date.UTC(2026, 1, 11, 16) + time * 137).toISOString(),
  })
  outputs = {}
  #calls = 0
  #asides = this.asides()

  tell() {
    const { run } = this
    run.append('Heartbeat', { worker: 'w-0', status: 'starting' })
    run.append('Error', { code: 'EAGAIN', message: 'The queue is not there yet', recoverable: true })
    run.append('RunStarted', { workers: WORKERS })
    const threads = new Map()
    while (run.state.run.status === 'Running') {
      for (const id of this.ready(threads)) threads.set(id, this.node(id))
      this.assign()
      const moved = [...threads].filter(([id, thread]) => (thread.next().done ? threads.delete(id) : true))
      this.#asides.next()
      if (moved.length === 0 && this.ready(threads).length === 0) {
        run.append('RunCompleted', { outputs: this.outputs })
      }
    }
    run.append('BlobStored', { blob: run.putBlob('the log of the coordinator'), size: 26, mediaType: 'text/plain' })
    run.snapshot()
    return run
  }

  /** Nodes that may be scheduled and are not in progress, in the order of the graph. */
  ready(threads) {
    const { nodes, dependencies } = this.run.state
    const has = (id) => ['Completed', 'Skipped'].includes(nodes.get(id).status)
    return [...nodes.keys()].filter(
      (id) => !threads.has(id) && nodes.get(id).status === 'Pending' && dependencies.get(id).every(has),
    )
  }

  /** Assigns at most one task per turn. */
  assign() {
    const decided = decision(this.run.state)
    if (decided) this.run.append('TaskAssigned', decided)
  }

  *node(id) {
    for (let attempt = 1; ; attempt++) {
      const task = `${id}#${attempt}`
      const story = STORIES[task] ?? {}
      this.run.append('NodeScheduled', { task, ...(attempt > 1 && { priority: -0.5 }), dependsOn: this.causes(id) })
      if (yield* this.handOver(id, task, story)) return
      const { worker } = this.run.state.tasks.get(task)
      this.run.append('NodeStarted', { task, worker, inputHash: sha256(task) })
      yield
      for (const tool of story.tools ?? ['completes']) yield* this.call(id, tool, story)
      if (story.ends !== 'retry') {
        const outputHash = sha256(`output of ${task}`)
        if (id === 'archive' || id === 'publish') this.outputs[id] = outputHash
        this.run.append('NodeCompleted', { task, outputHash })
        return
      }
      this.run.append('NodeFailed', { task, code: 'Failed', message: story.message, willRetry: true })
      yield
    }
  }

  /** Takes a task from pending to accepted. Returns true if the node was skipped instead. */
  *handOver(id, task, { rejects = 0, reassigned, withdrawn }) {
    const { run } = this
    const taken = run.state.tasks
    if (withdrawn === 'pending') {
      yield
      run.append('NodeSkipped', { reason: 'nobody reads it', because: 0 }, { node: id })
      return true
    }
    while (taken.get(task).status === 'Pending') {
      yield
      if (taken.get(task).status === 'Assigned' && rejects-- > 0) {
        run.append('TaskRejected', { task, worker: taken.get(task).worker, reason: 'busy' })
      }
    }
    if (withdrawn === 'assigned') {
      run.append('NodeSkipped', { reason: 'no paper' }, { node: id })
      return true
    }
    if (reassigned === 'assigned') this.reassign(task)
    run.append('TaskAccepted', { task, worker: taken.get(task).worker })
    yield
    if (reassigned === 'accepted') {
      this.reassign(task)
      run.append('TaskAccepted', { task, worker: taken.get(task).worker })
    }
    return false
  }

  reassign(task) {
    const from = this.run.state.tasks.get(task).worker
    const worker = from === 'w-2' ? 'w-1' : 'w-2'
    this.run.append('TaskAssigned', { task, worker, reason: 'balance', from })
  }

  *call(id, fate, { denied = false }) {
    const { run } = this
    const { tool } = WORKFLOW.nodes.find((one) => one.id === id)
    const call = `call-${++this.#calls}`
    if (!tool) return
    run.append('CapabilityCheck', { capability: tool, subject: id, allowed: !denied }, { node: id })
    run.append(
      'ToolInvoked',
      { tool, call, requestHash: sha256(call), ...(fate === 'completes' && { version: '1' }) },
      { node: id },
    )
    yield
    if (this.#calls % 5 === 0) {
      run.append(
        'PolicyDecision',
        { decision: denied ? 'ask' : 'go on', rule: 'spending', allowed: !denied },
        { node: id },
      )
    }
    if (fate === 'completes') this.output(id, tool, call)
    if (fate === 'fails') run.append('ToolFailed', { tool, call, code: 'EIO', message: 'no "answer"' }, { node: id })
    if (fate === 'times out') run.append('ToolTimedOut', { tool, call, limitMs: 1500.5 }, { node: id })
    yield
  }

  output(id, tool, call) {
    const [normalizer, make] = OUTPUTS[this.#calls % OUTPUTS.length]
    const raw = Buffer.from(make(this.run.time))
    const rawHash = this.run.putBlob(raw)
    const outputHash = sha256(normalized(normalizer, raw))
    if (normalizer === 'json') {
      this.run.append('BlobStored', { blob: rawHash, size: raw.length, mediaType: 'application/json' }, { node: id })
    }
    this.run.append('ToolCompleted', { tool, call, rawHash, outputHash, normalizer }, { node: id })
  }

  /** Events that are independent of the graph, at most one per turn. */
  *asides() {
    const { run } = this
    const beat = (worker, status, capabilities) =>
      run.append('Heartbeat', { worker, status, ...(capabilities && { capabilities }) })
    yield beat('w-1', 'busy')
    yield beat('w-0', 'idle', ['net', 'net', 'cpu'])
    yield beat('w-1', 'busy')
    yield run.append('PolicyDecision', { decision: 'go on', rule: 'hours', allowed: true })
    for (let turn = 0; turn < 6; turn++) yield
    yield run.snapshot({ signWith: KEYS.privateKey })
    yield beat('w-10', 'draining')
    for (let turn = 0; turn < 4; turn++) yield
    const at = run.time - 1
    yield run.append('SnapshotRestored', { snapshot: `snap_${at}`, stateHash: run.events[at].stateHash, at })
    yield beat('w-10', 'idle', ['gpu', 'net'])
    yield run.append('CapabilityCheck', { capability: 'root', allowed: false })
    for (let turn = 0; turn < 8; turn++) yield
    yield run.snapshot()
    yield beat('w-2', 'busy')
    yield run.append('Error', { code: 'ELATE', message: 'A heartbeat is late', recoverable: false })
    for (;;) yield
  }

  /** Times of the events that a node waited for. */
  causes(id) {
    const { events, state } = this.run
    const ends = (dependency) =>
      events.findLast(({ kind, node }) => node === dependency && /^Node(Completed|Skipped)$/.test(kind)).time
    return state.dependencies.get(id).map(ends)
  }
}

/** The expected results of a replay and a verification of the run, and of damaged copies of it. */
function expectationsOf(run) {
  const count = (...kinds) => run.events.filter(({ kind }) => kinds.includes(kind)).length
  const all = (checked) => ({ checked, failed: 0, unverifiable: 0 })
  const last = run.events.length - 1
  const times = [
    'RunCreated',
    'RunStarted',
    'TaskRejected',
    'NodeFailed',
    'ToolTimedOut',
    'SnapshotRestored',
    'NodeSkipped',
    'RunCompleted',
  ].map((kind) => run.events.findIndex((event) => event.kind === kind))
  return {
    events: run.events.length,
    log: { sha256: sha256(run.log), head: run.hashes.at(-1) },
    trustedKey: KEYS.publicKey,
    verification: {
      chain: all(run.events.length),
      dag: all(1),
      schedule: all(count('TaskAssigned')),
      stateHashes: all(run.events.length),
      outputHashes: all(count('ToolCompleted')),
    },
    snapshots: [...run.snapshots.keys()],
    signed: [...run.snapshots].filter(([, text]) => text.includes('"signature"')).map(([id]) => id),
    stateHashes: run.events.map(({ stateHash }) => stateHash),
    states: Object.fromEntries(
      [...new Set([...times, last])].sort((a, b) => a - b).map((time) => [time, run.states[time]]),
    ),
    damaged: damages(run),
  }
}

/**
 * Each damage is `keep` (the number of bytes kept), `replace` (text or a byte at an offset) or `lines` (the numbers of the lines in their new
 * order). `error` is the error of a replay that verifies, with the state after the event `lastGood`; `unverified` is the error of a replay that
 * does not verify, null if it finds nothing.
 */
function damages({ lines, events }) {
  const bytes = (text) => Buffer.byteLength(text)
  const offset = (line, mark) =>
    bytes(
      lines
        .slice(0, line)
        .map((one) => `${one}\n`)
        .join(''),
    ) + bytes(lines[line].slice(0, lines[line].indexOf(mark)))
  const places = lines.map((_, place) => place)
  const completed = events.findIndex(({ kind }) => kind === 'NodeCompleted')
  const middle = events.findIndex(({ time, kind }) => time > 150 && kind === 'Heartbeat')
  const length = (line) => bytes(lines[line]) + 1
  const total = offset(lines.length - 1, '{') + length(lines.length - 1)
  return [
    { name: 'the last line is torn', keep: total - 40, events: events.length - 1 },
    { name: 'the last line has no end', keep: total - 1, events: events.length - 1 },
    {
      name: 'a payload says something else',
      replace: {
        at: offset(completed, '"outputHash":"') + 14,
        text: events[completed].payload.includes('"outputHash":"f') ? '0' : 'f',
      },
      error: { code: 'ChainBroken', time: completed },
      unverified: null,
    },
    {
      name: 'a wall clock says something else',
      replace: { at: offset(middle, '"ts":"') + 6, text: '3' },
      error: { code: 'ChainBroken', time: middle },
      unverified: null,
    },
    {
      name: 'a line is gone',
      lines: places.toSpliced(middle, 1),
      error: { code: 'TimeGap', time: middle + 1 },
      lastGood: middle - 1,
    },
    { name: 'the first line is gone', lines: places.slice(1), error: { code: 'TimeGap', time: 1 }, lastGood: null },
    {
      name: 'a line comes twice',
      lines: places.toSpliced(middle, 0, middle),
      error: { code: 'TimeGap', time: middle },
      lastGood: middle,
    },
    {
      name: 'two lines are exchanged',
      lines: places.toSpliced(middle, 2, middle + 1, middle),
      error: { code: 'TimeGap', time: middle + 1 },
      lastGood: middle - 1,
    },
    {
      name: 'a brace is gone',
      replace: { at: offset(middle, '"payload":') + 10, text: ' ' },
      error: { code: 'NotAJsonLine', time: middle },
    },
    {
      // A changed line is reported rather than its consequence, the unknown kind.
      name: 'a kind is unknown',
      replace: { at: offset(middle, 'Heartbeat'), text: 'h' },
      error: { code: 'ChainBroken', time: middle },
      unverified: { code: 'UnknownKind', time: middle },
    },
    {
      name: 'a version is new',
      replace: { at: offset(middle, '"v":1') + 4, text: '2' },
      error: { code: 'UnsupportedVersion', time: middle },
    },
    {
      name: 'a byte is not UTF-8',
      replace: { at: offset(middle, '"ts":"') + 6, byte: 255 },
      error: { code: 'NotAJsonLine', time: middle },
    },
  ].map((damage) => (damage.error ? { lastGood: damage.error.time - 1, unverified: damage.error, ...damage } : damage))
}

/** The golden run, and what is expected of it. */
export function goldenRun() {
  const run = new Golden().tell()
  return { run, expected: expectationsOf(run) }
}

/** The bytes of a log after one of the damages of `expected.json`. */
export function damagedLog(log, { keep, replace, lines }) {
  if (keep !== undefined) return log.subarray(0, keep)
  if (lines) {
    const all = log.toString().split('\n')
    return Buffer.from(lines.map((line) => `${all[line]}\n`).join(''))
  }
  const bytes = Buffer.from(log)
  if (replace.byte === undefined) bytes.write(replace.text, replace.at)
  else bytes[replace.at] = replace.byte
  return bytes
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { run, expected } = goldenRun()
  rmSync(GOLDEN, { recursive: true, force: true })
  run.write(GOLDEN)
  const path = join(GOLDEN, 'expected.json')
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, `${JSON.stringify(expected, null, 1)}\n`)
  process.stdout.write(`${run.events.length} events in ${GOLDEN}\n`)
}
