// The recorder against the plain engine, for any run: the same verdicts, the same states, the same lines.

import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fc, test } from '../support/property'
import { describe, expect } from 'vitest'
import { replayRun } from '../../index.js'
import type { RunEventKind } from '../../index.js'
import { KINDS, PlainRun, Refused } from '../support/plain-run-engine.mjs'
import type { Payload, PlainEvent } from '../support/plain-run-engine.mjs'
import { anyRun } from '../support/run-arbitraries.js'
import { logOf, snapshotFile } from '../support/run-directory.js'
import {
  type Config,
  type EventInput,
  type Recorder,
  errorOf,
  eventsOf,
  newRecorder,
  payloadsOf,
  plainTwin,
  startedRecorder,
} from '../support/run-recording.js'
import { anyString, runs } from '../support/session-arbitraries.js'

/** The recorder's configuration for a run made by the plain engine. */
function configOf(run: PlainRun): Pick<Config, 'runId' | 'workflow' | 'scheduler' | 'capabilities'> {
  const { runId, scheduler, capabilities } = JSON.parse(run.events[0]!.payload) as Pick<
    Config,
    'runId' | 'scheduler' | 'capabilities'
  >
  return { runId, workflow: run.workflow, scheduler, capabilities }
}

/** The event as a caller would append it, without the fields that the recorder infers. */
function inputOf({ kind, node, payload }: PlainEvent): EventInput {
  const fields = JSON.parse(payload) as Payload
  return { kind: kind as RunEventKind, ...('task' in fields ? {} : { node }), payload: fields }
}

/** Passes a recorder to `use`, disposes it, and passes what it wrote to `look`. */
async function recorded(
  config: Partial<Config>,
  use: (recorder: Recorder) => void | Promise<void>,
  look: (directory: string, config: Config) => void | Promise<void>,
): Promise<void> {
  const { recorder, directory, config: whole, warnings } = newRecorder(config)
  try {
    await use(recorder)
    await recorder.dispose()
    expect(warnings).toEqual([])
    await look(directory, whole)
  } finally {
    await recorder.dispose()
    rmSync(directory, { recursive: true, force: true })
  }
}

describe('any legal run', () => {
  test.prop([anyRun(80)], runs(80))('is recorded with the states, parents and lines of the plain engine', (run) =>
    recorded(
      configOf(run),
      (recorder) => {
        expect(recorder.state()).toStrictEqual(run.states[0])
        for (const event of run.events.slice(1)) {
          expect(recorder.append(inputOf(event))).toStrictEqual({
            eventId: `evt_${event.time}`,
            logicalTime: event.time,
          })
          expect(recorder.state()).toStrictEqual(run.states[event.time])
        }
      },
      (directory, config) => {
        const events = eventsOf(directory)
        const comparable = ({ time, kind, node, parent, stateHash, payload }: PlainEvent) => ({
          time,
          kind,
          node,
          parent,
          stateHash,
          payload,
        })
        expect(events.map(comparable)).toStrictEqual(run.events.map(comparable))
        expect(readFileSync(logOf(directory), 'utf8')).toBe(plainTwin(directory, config).log)
        expect(new Set(events.map((event) => event.salt)).size).toBe(events.length)
      },
    ),
  )

  test.prop([anyRun(60), fc.array(fc.nat(), { maxLength: 4 })], runs(50))(
    "replays from each snapshot taken on the way, whose file equals the plain engine's",
    (run, places) => {
      const snapshots: string[] = []
      const at = new Set(places.map((place) => place % run.time))
      return recorded(
        configOf(run),
        async (recorder) => {
          for (const [hash, data] of run.blobs) expect(recorder.putBlob(data)).toBe(hash)
          for (const event of run.events) {
            // The run's own snapshot events name hashes of another log.
            if (event.time > 0 && !event.kind.startsWith('Snapshot')) recorder.append(inputOf(event))
            if (at.has(event.time)) snapshots.push((await recorder.snapshot()).snapshotId)
          }
        },
        async (directory, config) => {
          const twin = plainTwin(directory, config)
          expect(readFileSync(logOf(directory), 'utf8')).toBe(twin.log)
          const state = twin.states.at(-1)
          for (const fromSnapshot of snapshots) {
            expect(readFileSync(snapshotFile(directory, fromSnapshot), 'utf8')).toBe(twin.snapshots.get(fromSnapshot))
            expect(await replayRun(directory, { fromSnapshot, verify: 'full' })).toMatchObject({
              ok: true,
              fromSnapshot,
              warnings: [],
              state,
            })
          }
        },
      )
    },
  )

  test.prop([anyRun(80), fc.nat(), fc.nat()], runs(50))(
    'can be resumed after a crash that cut the log anywhere',
    async (run, place, cut) => {
      const { recorder, directory, config } = newRecorder(configOf(run))
      const half = run.events.slice(1, 1 + (place % run.time))
      for (const event of half) recorder.append(inputOf(event))
      await recorder.dispose()
      const log = readFileSync(logOf(directory))
      const kept = log.subarray(0, log.length - (cut % Math.min(log.length, 2000)))
      writeFileSync(logOf(directory), kept)
      const lost = log.subarray(kept.length).filter((byte) => byte === 10).length

      const resumed = newRecorder({ ...config, resume: true })
      // The lost events are appended again, except RunCreated, which resuming an empty log has recorded already.
      const next = Math.max(1, half.length + 1 - lost)
      expect(resumed.recorder.state()).toStrictEqual(run.states[next - 1])
      for (const event of run.events.slice(next)) resumed.recorder.append(inputOf(event))
      expect(resumed.recorder.state()).toStrictEqual(run.states.at(-1))
      await resumed.recorder.dispose()
      expect(readFileSync(logOf(directory), 'utf8')).toBe(plainTwin(directory, config).log)
      rmSync(directory, { recursive: true })
    },
  )
})

// ---- Events that may be refused ---------------------------------------------------------------

/** Values for the fields of all kinds, valid ones more often than invalid ones. */
const fields = fc.record({
  worker: fc.constantFrom('w', 'late-0', 'nobody', ''),
  from: fc.constantFrom(undefined, undefined, 'w', 'nobody', null),
  call: fc.constantFrom('call-0', 'call-1'),
  tool: fc.constantFrom('grep', 'grep', 'awk'),
  at: fc.constantFrom(0, 0, 1, 1000, -1),
  because: fc.constantFrom(undefined, 0, 1000, 'x'),
  dependsOn: fc.constantFrom([], [0], [1000], undefined, [-1]),
  allowed: fc.constantFrom(true, false, 'yes'),
  willRetry: fc.boolean(),
  status: fc.constantFrom('idle', ''),
  capabilities: fc.constantFrom([], ['net'], [''], undefined),
  workers: fc.constantFrom(
    [],
    [{ id: 'w', capabilities: [] }],
    [
      { id: 'w', capabilities: [] },
      { id: 'v', capabilities: 1 },
    ],
  ),
  outputs: fc.constantFrom({}, { nobody: 'h' }, { nobody: 1 }),
})
const always = {
  code: 'E',
  message: 'm',
  reason: 'r',
  inputHash: 'h',
  outputHash: 'h',
  requestHash: 'h',
  rawHash: 'h',
  normalizer: 'none',
  limitMs: 1,
  recoverable: true,
  capability: 'net',
  decision: 'd',
  rule: 'r',
  snapshot: 's',
  stateHash: 'h',
  blob: 'h',
  size: 1,
}
interface Attempt {
  kind: string
  which: number
  drift: number
  withNode: boolean
  fields: Record<string, unknown>
  parent: number | undefined
}
const attempt: fc.Arbitrary<Attempt> = fc.record({
  kind: fc.constantFrom(...KINDS, 'NodeFinished'),
  which: fc.nat({ max: 9 }),
  drift: fc.constantFrom(0, 0, 0, 1, -1),
  withNode: fc.boolean(),
  fields,
  parent: fc.constantFrom(undefined, undefined, undefined, 0, 5, 1000),
})

/** The attempt as an event that refers to the current state of the run. */
function attempted(
  run: PlainRun,
  { kind, which, drift, withNode, fields, parent }: Attempt,
): EventInput & { parentTime?: number } {
  const nodes = [...run.state.nodes]
  const [node, { status, attempt: number }] = nodes[which % nodes.length] ?? [
    'nobody',
    { status: 'Pending', attempt: 0 },
  ]
  const isNext = kind === 'NodeScheduled' || status === 'Pending'
  const holder = [...run.state.tasks.values()].find((task) => task.node === node)?.worker
  const payload = {
    ...always,
    ...fields,
    worker: holder ?? fields['worker'],
    task: `${node}#${number + (isNext ? 1 : 0) + drift}`,
    runId: 'r',
    dagHash: 'h',
    scheduler: 'external',
    workflow: { name: 'n', version: '1' },
  }
  const named = kind.startsWith('Node') || kind.startsWith('Tool') || kind.startsWith('Task')
  return {
    kind: kind as RunEventKind,
    node: withNode || (named && drift === 0) ? node : null,
    payload,
    ...(parent === undefined ? {} : { parent: `evt_${parent}`, parentTime: parent }),
  }
}

/** Appends an event to the plain engine. Returns the code of its refusal, or `undefined`. */
function verdict(
  run: PlainRun,
  { kind, node, payload, parentTime }: EventInput & { parentTime?: number },
): string | undefined {
  const written = JSON.parse(JSON.stringify(payload)) as Payload
  const task = written['task'] as string
  const hasTask = [
    'NodeScheduled',
    'NodeStarted',
    'NodeCompleted',
    'NodeFailed',
    'TaskAssigned',
    'TaskAccepted',
    'TaskRejected',
  ].includes(kind)
  const place = node ?? (hasTask ? task.slice(0, task.lastIndexOf('#')) : null)
  try {
    run.append(kind, written, { node: place, ...(parentTime === undefined ? {} : { parent: parentTime }) })
  } catch (error) {
    if (error instanceof Refused) return error.code
    throw error
  }
  return undefined
}

describe('events, legal or not', () => {
  test.prop([anyRun(50), fc.array(attempt, { minLength: 1, maxLength: 80 })], runs(120))(
    'get the verdict of the plain engine, and a refused event changes nothing',
    (base, attempts) =>
      recorded(
        configOf(base),
        (recorder) => {
          const run = new PlainRun(configOf(base) as ConstructorParameters<typeof PlainRun>[0])
          const tries = (input: EventInput & { parentTime?: number }) => {
            const before = recorder.state()
            const code = verdict(run, input)
            const { parentTime: _, ...event } = input
            if (code === undefined) {
              expect(recorder.append(event).logicalTime).toBe(run.time - 1)
              expect(recorder.state()).toStrictEqual(run.states.at(-1))
            } else {
              const error = errorOf(() => recorder.append(event))
              expect(error, `${JSON.stringify(event)}`).toMatchObject({
                code,
                time: run.time,
                eventId: `evt_${run.time}`,
              })
              expect(recorder.state()).toStrictEqual(before)
            }
          }
          const legal = base.events.slice(1).filter((event) => !event.kind.startsWith('Snapshot'))
          for (const [at, one] of attempts.entries()) {
            tries(attempted(run, one))
            if (legal[at] !== undefined) tries(inputOf(legal[at]))
          }
        },
        async (directory) => {
          expect(await replayRun(directory, { verify: 'chain' })).toMatchObject({
            ok: true,
            eventCount: eventsOf(directory).length,
          })
        },
      ),
  )
})

// ---- Payloads ---------------------------------------------------------------------------------

/** Any value of a payload: those that `JSON.stringify` writes, omits or turns into null. */
const anyValue = fc.oneof(
  fc.anything({
    withDate: true,
    withSparseArray: true,
    withNullPrototype: true,
    withObjectString: true,
    withBigInt: false,
  }),
  anyString,
  fc.constantFrom('\u2028', '\u2029 \\u2028', { '\u2028': '\ud800' }, -0, NaN, undefined, () => 1, Symbol('s')),
)

describe('a payload', () => {
  test.prop([fc.array(anyValue, { minLength: 1, maxLength: 5 })], runs(60))(
    'is in the log as JSON.stringify writes it, with line separators escaped',
    async (values) => {
      const { recorder, directory } = startedRecorder()
      for (const value of values)
        recorder.append({ kind: 'Error', payload: { code: 'E', message: '', recoverable: false, value } })
      await recorder.dispose()
      const expected = values.map((value) =>
        JSON.stringify({ code: 'E', message: '', recoverable: false, value })
          .replaceAll('\u2028', '\\u2028')
          .replaceAll('\u2029', '\\u2029'),
      )
      expect(
        eventsOf(directory)
          .slice(2)
          .map((event) => event.payload),
      ).toEqual(expected)
      expect(payloadsOf(directory).length).toBe(values.length + 2)
      rmSync(directory, { recursive: true })
    },
  )
})
