// Every kind of event: its effect on the state, its required fields, and the states in which it is refused.

import { describe, expect } from 'vitest'
import { fc, test } from '../support/property'
import { replayRun } from '../../index.js'
import type { RunEventKind } from '../../index.js'
import { eachCase } from '../support/each-case.js'
import { anyRun } from '../support/run-arbitraries.js'
import {
  assigned,
  completedRun,
  failed,
  logWith,
  replayOf,
  replayed,
  runUntil,
  scheduled,
  startedRun,
  withRun,
  WORKFLOW,
  eventsIn,
} from '../support/run-directory.js'
import { runs } from '../support/session-arbitraries.js'
import { KINDS, PlainRun, Refused, requiredFields } from '../support/plain-run-engine.mjs'
import type { Payload, Place } from '../support/plain-run-engine.mjs'

const created = () => new PlainRun({ runId: 'run-7', workflow: WORKFLOW, scheduler: 'external' })
const withCall = () => {
  const run = runUntil('NodeStarted')
  run.append('ToolInvoked', { tool: 'cc', call: 'c1', requestHash: 'q' }, { node: 'build' })
  return run
}
const withSnapshot = () => {
  const run = startedRun()
  run.snapshot()
  return run
}
const restored = (run: PlainRun): Payload => {
  const { snapshot, stateHash, at } = JSON.parse(run.events.at(-1)!.payload) as Payload
  return { snapshot, stateHash, at }
}
const skippedAll = () => {
  const run = startedRun()
  for (const node of ['announce', 'test', 'build']) run.append('NodeSkipped', { reason: 'r' }, { node })
  return run
}

interface Example {
  kind: RunEventKind
  before: () => PlainRun
  payload: Payload | ((run: PlainRun) => Payload)
  place?: Place
}

/** The kinds in the order of the format's table, except RunCreated, with which every run begins. */
const EXAMPLES: Example[] = [
  {
    kind: 'RunStarted',
    before: created,
    payload: { workers: [{ id: 'w1', capabilities: ['net', 'gpu', 'net'] }] },
  },
  {
    kind: 'RunCompleted',
    before: skippedAll,
    payload: { outputs: { build: 'hash' } },
  },
  {
    kind: 'RunFailed',
    before: startedRun,
    payload: { code: 'E', message: 'm', node: 'build' },
  },
  {
    kind: 'NodeScheduled',
    before: startedRun,
    payload: scheduled(),
    place: { node: 'build' },
  },
  {
    kind: 'NodeStarted',
    before: () => runUntil('TaskAccepted'),
    payload: { task: 'build#1', worker: 'w1', inputHash: 'in' },
  },
  {
    kind: 'NodeCompleted',
    before: () => runUntil('NodeStarted'),
    payload: { task: 'build#1', outputHash: 'out' },
  },
  {
    kind: 'NodeFailed',
    before: () => runUntil('NodeStarted'),
    payload: { task: 'build#1', code: 'E', message: 'm', willRetry: true },
  },
  {
    kind: 'NodeSkipped',
    before: () => runUntil('TaskAssigned'),
    payload: { reason: 'r', because: 1 },
    place: { node: 'build' },
  },
  {
    kind: 'ToolInvoked',
    before: () => runUntil('NodeStarted'),
    payload: { tool: 'cc', call: 'c1', requestHash: 'q', version: '9' },
    place: { node: 'build' },
  },
  {
    kind: 'ToolCompleted',
    before: withCall,
    payload: { tool: 'cc', call: 'c1', rawHash: 'r', outputHash: 'o', normalizer: 'none' },
    place: { node: 'build' },
  },
  {
    kind: 'ToolFailed',
    before: withCall,
    payload: { tool: 'cc', call: 'c1', code: 'E', message: 'm' },
    place: { node: 'build' },
  },
  {
    kind: 'ToolTimedOut',
    before: withCall,
    payload: { tool: 'cc', call: 'c1', limitMs: 0.5 },
    place: { node: 'build' },
  },
  {
    kind: 'CapabilityCheck',
    before: created,
    payload: { capability: 'net', subject: 's', allowed: false },
  },
  {
    kind: 'PolicyDecision',
    before: created,
    payload: { decision: 'd', rule: 'r', allowed: true },
  },
  {
    kind: 'TaskAssigned',
    before: () => runUntil('NodeScheduled'),
    payload: { ...assigned(), reason: 'r' },
  },
  {
    kind: 'TaskAccepted',
    before: () => runUntil('TaskAssigned'),
    payload: assigned(),
  },
  {
    kind: 'TaskRejected',
    before: () => runUntil('TaskAssigned'),
    payload: { ...assigned(), reason: 'busy' },
  },
  {
    kind: 'SnapshotCreated',
    before: startedRun,
    payload: { snapshot: 'snap_1', stateHash: 'h', at: 1 },
  },
  { kind: 'SnapshotRestored', before: withSnapshot, payload: restored },
  {
    kind: 'BlobStored',
    before: completedRun,
    payload: { blob: 'hash', size: 4, mediaType: 'a/b' },
  },
  {
    kind: 'Heartbeat',
    before: created,
    payload: { worker: 'late', status: 'lost', capabilities: ['gpu'] },
  },
  {
    kind: 'Error',
    before: created,
    payload: { code: 'E', message: 'm', recoverable: false },
  },
]

const payloadOf = ({ payload }: Example, run: PlainRun) => (typeof payload === 'function' ? payload(run) : payload)

/** Appends an event to a run. Resolves with the result of a replay, and with the kinds that the trace yields from there or the code of its error. */
async function judged(run: PlainRun, kind: string, payload: unknown, place?: Place) {
  const log = logWith(run, kind, payload, place)
  return withRun(
    run,
    async (directory) => {
      const result = await replayRun(directory)
      const read = await kindsFrom(directory, run.time).catch((error: { code: string }) => error.code)
      return { result, read }
    },
    log,
  )
}

const kindsFrom = async (directory: string, from: number) =>
  (await eventsIn(directory, { from })).map(({ kind }) => kind)

test('the table of examples has every kind', () => {
  expect(
    EXAMPLES.map(({ kind }) => kind)
      .concat('RunCreated')
      .toSorted(),
  ).toStrictEqual(KINDS.toSorted())
})

describe('an event of each kind', () => {
  test('has the expected effect, the same as in the plain engine', () =>
    eachCase(EXAMPLES, async (example) => {
      const run = example.before()
      const payload = payloadOf(example, run)
      const { result, read } = await judged(run, example.kind, payload, example.place)
      run.append(example.kind, payload, example.place)
      const { state } = replayed(result)
      expect(state).toStrictEqual(run.states.at(-1))
      expect(read).toStrictEqual([example.kind])
    }))

  test('is refused if a required field is missing', () =>
    eachCase(EXAMPLES, async (example) => {
      for (const field of requiredFields(example.kind)) {
        const run = example.before()
        const { [field]: _, ...payload } = payloadOf(example, run)
        const { result, read } = await judged(run, example.kind, payload, example.place)
        const { error, state } = failed(result)
        expect(error).toMatchObject({ code: 'MissingField', time: run.time, eventId: `evt_${run.time}` })
        expect(error.message).toContain(`'${field}'`)
        expect(state).toStrictEqual(run.states.at(-1))
        expect(read).toBe('MissingField')
      }
    }))

  test('is refused if a required field has the wrong type', () =>
    eachCase(EXAMPLES, async (example) => {
      for (const field of requiredFields(example.kind)) {
        const run = example.before()
        const payload = { ...payloadOf(example, run), [field]: null }
        const { result, read } = await judged(run, example.kind, payload, example.place)
        expect(failed(result).error).toMatchObject({ code: 'InvalidField', time: run.time })
        expect(read).toBe('InvalidField')
      }
    }))

  test('may have unknown fields, and may omit the optional ones', () =>
    eachCase(EXAMPLES, async (example) => {
      const run = example.before()
      const payload = payloadOf(example, run)
      const required = Object.fromEntries(requiredFields(example.kind).map((field) => [field, payload[field]]))
      for (const other of [required, { ...payload, 'x-new': [1] }]) {
        const { result } = await judged(run, example.kind, other, example.place)
        expect(replayed(result).eventCount).toBe(run.time + 1)
      }
    }))

  test('is refused without a parent, or with one that is not earlier', () =>
    eachCase(EXAMPLES, async (example) => {
      const run = example.before()
      for (const parent of [null, run.time, run.time + 1]) {
        const { result } = await judged(run, example.kind, payloadOf(example, run), { ...example.place, parent })
        expect(failed(result).error).toMatchObject({ code: 'ParentMissing', time: run.time })
      }
    }))

  test('is refused after the end of the run, except SnapshotCreated and BlobStored', () =>
    eachCase(EXAMPLES, async (example) => {
      const run = completedRun()
      const place = { node: 'build', ...example.place }
      const { result } = await judged(run, example.kind, payloadOf(example, example.before()), place)
      if (['SnapshotCreated', 'BlobStored'].includes(example.kind))
        expect(replayed(result).eventCount).toBe(run.time + 1)
      else expect(failed(result).error).toMatchObject({ code: 'AfterEnd', time: run.time })
    }))

  test('is refused if its kind is unknown', () =>
    eachCase(['', 'runStarted', 'RunStarted ', 'NodeVanished'], async (kind) => {
      const run = created()
      const { result, read } = await judged(run, kind, { workers: [] })
      expect(failed(result).error).toMatchObject({ code: 'UnknownKind', time: 1, eventId: 'evt_1' })
      expect(read).toBe('UnknownKind')
    }))
})

describe('RunCreated', () => {
  const payload = JSON.parse(created().events[0]!.payload) as Payload

  test('must be the first event, and can only be the first', async () => {
    const { error } = failed(await replayOf(created(), {}, logWith(created(), 'RunCreated', payload)))
    expect(error).toMatchObject({ code: 'IllegalTransition', time: 1, found: 'RunCreated' })
    const run = created()
    const [first] = logWith(run, 'RunStarted', { workers: [] }).replaceAll('"time":1', '"time":0').split('\n').slice(1)
    expect(failed(await replayOf(run, { verify: 'none' }, `${first}\n`))).toMatchObject({
      error: { code: 'IllegalTransition', time: 0, expected: expect.stringContaining('RunCreated') },
      state: null,
    })
  })

  test('needs each of its fields, and a dagHash that matches the graph', () =>
    eachCase([...requiredFields('RunCreated'), 'other graph'], async (field) => {
      const run = created()
      const { [field]: _, ...rest } = payload
      const changed = field === 'other graph' ? { ...payload, dagHash: 'f'.repeat(64) } : rest
      const log = run.log.replace(JSON.stringify(payload), JSON.stringify(changed))
      const { error, state } = failed(await replayOf(run, { verify: 'none' }, log))
      expect(error).toMatchObject({ code: field === 'other graph' ? 'DagMismatch' : 'MissingField', time: 0 })
      expect(state).toBeNull()
    }))
})

describe('illegal transitions', () => {
  const started = startedRun
  const task = 'build#1'
  const refusedCases: [why: string, run: () => PlainRun, kind: RunEventKind, payload: Payload, node?: string | null][] =
    [
      ['work before the run runs', created, 'NodeScheduled', scheduled()],
      ['a run that starts twice', started, 'RunStarted', { workers: [] }],
      [
        'a worker twice',
        created,
        'RunStarted',
        {
          workers: [
            { id: 'w', capabilities: [] },
            { id: 'w', capabilities: [] },
          ],
        },
      ],
      ['a run that ends before it runs', created, 'RunFailed', { code: 'E', message: 'm' }],
      ['a run that completes with work to do', started, 'RunCompleted', { outputs: {} }],
      ['an output of no node', skippedAll, 'RunCompleted', { outputs: { elsewhere: 'h' } }],
      ['a node that has to wait', started, 'NodeScheduled', scheduled('test#1')],
      ['a node that is not in the graph', started, 'NodeScheduled', scheduled('elsewhere#1')],
      ['a node scheduled twice', () => runUntil('NodeScheduled'), 'NodeScheduled', scheduled('build#2')],
      ['an attempt left out', started, 'NodeScheduled', scheduled('build#2')],
      ['an attempt written otherwise', started, 'NodeScheduled', scheduled('build#01')],
      ['a task of another node', started, 'NodeScheduled', scheduled(), 'test'],
      ['a dependency that is yet to come', started, 'NodeScheduled', { task, dependsOn: [0, 2] }],
      ['a completed node again', () => runUntil('NodeCompleted'), 'NodeScheduled', scheduled('build#2')],
      ['a task that is not there', started, 'TaskAssigned', assigned()],
      ['a worker that is not there', () => runUntil('NodeScheduled'), 'TaskAssigned', assigned(task, 'w9')],
      ['a task assigned twice', () => runUntil('TaskAssigned'), 'TaskAssigned', assigned(task, 'w2')],
      [
        'a task from one who does not have it',
        () => runUntil('TaskAssigned'),
        'TaskAssigned',
        { ...assigned(), from: 'w2' },
      ],
      ['a waiting task from somebody', () => runUntil('NodeScheduled'), 'TaskAssigned', { ...assigned(), from: 'w1' }],
      [
        'a running task from its worker',
        () => runUntil('NodeStarted'),
        'TaskAssigned',
        { ...assigned(task, 'w2'), from: 'w1' },
      ],
      ['a task accepted that was not assigned', () => runUntil('NodeScheduled'), 'TaskAccepted', assigned()],
      ['a task accepted by another', () => runUntil('TaskAssigned'), 'TaskAccepted', assigned(task, 'w2')],
      ['a task accepted twice', () => runUntil('TaskAccepted'), 'TaskAccepted', assigned()],
      [
        'a task rejected by another',
        () => runUntil('TaskAssigned'),
        'TaskRejected',
        { ...assigned(task, 'w2'), reason: 'r' },
      ],
      [
        'a task rejected after it was accepted',
        () => runUntil('TaskAccepted'),
        'TaskRejected',
        { ...assigned(), reason: 'r' },
      ],
      [
        'a node started before its task is accepted',
        () => runUntil('TaskAssigned'),
        'NodeStarted',
        { ...assigned(), inputHash: 'i' },
      ],
      [
        'a node started by another',
        () => runUntil('TaskAccepted'),
        'NodeStarted',
        { ...assigned(task, 'w2'), inputHash: 'i' },
      ],
      ['a node started twice', () => runUntil('NodeStarted'), 'NodeStarted', { ...assigned(), inputHash: 'i' }],
      [
        'a node completed that does not run',
        () => runUntil('TaskAccepted'),
        'NodeCompleted',
        { task, outputHash: 'o' },
      ],
      ['a node completed twice', () => runUntil('NodeCompleted'), 'NodeCompleted', { task, outputHash: 'o' }],
      [
        'a node failed after it completed',
        () => runUntil('NodeCompleted'),
        'NodeFailed',
        { task, code: 'E', message: 'm', willRetry: true },
      ],
      ['a running node skipped', () => runUntil('NodeStarted'), 'NodeSkipped', { reason: 'r' }, 'build'],
      ['a node skipped twice', skippedAll, 'NodeSkipped', { reason: 'r' }, 'build'],
      ['a skip because of what is yet to come', started, 'NodeSkipped', { reason: 'r', because: 2 }, 'build'],
      [
        'a tool of a node that does not run',
        () => runUntil('TaskAccepted'),
        'ToolInvoked',
        { tool: 't', call: 'c', requestHash: 'q' },
        'build',
      ],
      ['a call that was opened before', withCall, 'ToolInvoked', { tool: 'cc', call: 'c1', requestHash: 'q' }, 'build'],
      [
        'a call closed that was never opened',
        () => runUntil('NodeStarted'),
        'ToolFailed',
        { tool: 'cc', call: 'c1', code: 'E', message: 'm' },
        'build',
      ],
      ['a call closed by another tool', withCall, 'ToolTimedOut', { tool: 'ld', call: 'c1', limitMs: 1 }, 'build'],
      ['a call closed on another node', withCall, 'ToolTimedOut', { tool: 'cc', call: 'c1', limitMs: 1 }, 'test'],
      [
        'a check at a node that is not in the graph',
        started,
        'CapabilityCheck',
        { capability: 'c', allowed: true },
        'elsewhere',
      ],
      ['a snapshot of what is yet to come', started, 'SnapshotCreated', { snapshot: 'snap_2', stateHash: 'h', at: 2 }],
      [
        'a failed run with a node that is not in the graph',
        started,
        'RunFailed',
        { code: 'E', message: 'm', node: 'elsewhere' },
      ],
    ]

  test('are refused, and leave the state unchanged', () =>
    eachCase(refusedCases, async ([, before, kind, payload, node]) => {
      const run = before()
      const place = node === undefined ? {} : { node }
      const { error, state } = failed(await replayOf(run, {}, logWith(run, kind, payload, place)))
      expect(error).toMatchObject({ code: 'IllegalTransition', time: run.time, eventId: `evt_${run.time}` })
      expect([typeof error.expected, typeof error.found]).toStrictEqual(['string', 'string'])
      expect(state).toStrictEqual(run.states.at(-1))
      expect(() => run.append(kind, payload, place)).toThrow(Refused)
    }))
})

describe('any event after any run', () => {
  const ids = fc.constantFrom('a', 'b', 'a#1', 'b#1', 'a#2', 'w', 'call-0', 'grep', 'late-0', 'x')
  const value = fc.oneof(
    ids,
    fc.nat({ max: 3 }),
    fc.boolean(),
    fc.constant([]),
    fc.constant({}),
    fc.constant(null),
    fc.constant(''),
  )
  const field = fc.oneof(
    fc.constantFrom(
      'task',
      'worker',
      'tool',
      'call',
      'from',
      'reason',
      'outputHash',
      'inputHash',
      'at',
      'willRetry',
      'code',
      'message',
    ),
    fc.constantFrom(...new Set(KINDS.flatMap(requiredFields))),
  )
  const place = fc.record({ node: fc.option(ids), parent: fc.option(fc.nat({ max: 20 })) }, { requiredKeys: [] })
  const picked = fc.record({
    kind: fc.constantFrom(...KINDS),
    from: fc.nat(),
    fields: fc.dictionary(field, value, { maxKeys: 3 }),
  })

  /** An event modelled on an earlier one of either run, with some fields changed. */
  function eventBehind(
    run: PlainRun,
    other: PlainRun,
    { kind, from, fields }: { kind: RunEventKind; from: number; fields: Payload },
  ) {
    const models = [...run.events, ...other.events].filter((event) => event.kind === kind)
    const model = models[from % models.length]
    const payload = { ...(model ? (JSON.parse(model.payload) as Payload) : {}), ...fields }
    return { kind: kind as RunEventKind, payload, node: model?.node ?? null }
  }

  test.prop([anyRun(25), anyRun(25), picked, place], runs(400))(
    'is accepted or refused as by the plain engine',
    async (run, other, pick, changed) => {
      const { kind, payload, node } = eventBehind(run, other, pick)
      const where = { node, parent: run.time - 1, ...changed }
      const { result } = await judged(run, kind, payload, where)
      const before = run.states.at(-1)
      try {
        run.append(kind, payload, where)
      } catch (refusal) {
        if (!(refusal instanceof Refused)) throw refusal
        // The default replay does not compute state hashes, so it does not notice that another state is restored.
        if (refusal.code === 'StateMismatch') return
        const { error, state } = failed(result)
        expect(state).toStrictEqual(before)
        expect(error.time).toBe(run.time)
        return
      }
      expect(replayed(result).state).toStrictEqual(run.states.at(-1))
    },
  )
})
