// Run directories for the specs: real ones, in a temporary directory that is removed at the end of the spec file.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readRunEvents, replayRun } from '../../index.js'
import type { RunEvent, RunEventsOptions, RunReplayOptions, RunReplayResult, RunState, Workflow } from '../../index.js'
import { PlainRun, sealedLine } from './plain-run-engine.mjs'
import type { Payload, Place, PlainEvent } from './plain-run-engine.mjs'
import { directoryOfSpec } from './spec-scope.js'

const root = directoryOfSpec('session-tape-run-')
let directories = 0

/** A path at which nothing exists yet. */
export function freshPath(): string {
  return join(root(), `run-${++directories}`)
}

export const logOf = (directory: string): string => join(directory, 'events.cath-log')
export const snapshotFile = (directory: string, id: string): string => join(directory, 'snapshots', `${id}.cath-snap`)

/** Things that are not a run: their name, how to create them at a path, and the message about them. */
export const notRuns: readonly [what: string, make: (path: string) => string, message: RegExp][] = [
  [
    'an empty file',
    (path) => (writeFileSync(path, ''), path),
    /^'.*' is an empty file, not a run\. A run is the directory that a RunRecorder recorded to, or a bundle of it\.$/,
  ],
  ['an empty directory', (path) => (mkdirSync(path), path), /^'.*' is an empty directory, not a run\. A run is/],
  [
    'another directory',
    (path) => (mkdirSync(join(path, 'snapshots'), { recursive: true }), path),
    /^'.*' is a directory without 'events\.cath-log', not a run\. A run is/,
  ],
  [
    'another file',
    (path) => (writeFileSync(path, 'text\n'), path),
    /^'.*' is neither a directory nor a bundle, and so not a run\. A run is/,
  ],
  [
    'a session',
    (path) => (writeFileSync(path, '{"v":1,"seq":1,"ts":"","type":"session_start","payload":{}}\n'), path),
    /^'.*' is the recording of a session, not of a run\. It is what replaySession reads\.$/,
  ],
  [
    'the log of a run',
    (path) => logOf(completedRun().write(path)),
    /^'.*events\.cath-log' is the log of a run\. Give the run's directory: '.*run-\d+'\.$/,
  ],
]

/** Writes the run, with another log if one is given, and passes the directory to `use`. */
export async function withRun<T>(
  run: PlainRun,
  use: (directory: string) => T | Promise<T>,
  log?: string | Uint8Array,
): Promise<T> {
  const directory = run.write(freshPath())
  if (log !== undefined) writeFileSync(logOf(directory), log)
  try {
    return await use(directory)
  } finally {
    // A property makes thousands of them: each is removed right after its use.
    rmSync(directory, { recursive: true })
  }
}

/** Replays the run, with another log if one is given. */
export function replayOf(
  run: PlainRun,
  options?: RunReplayOptions,
  log?: string | Uint8Array,
): Promise<RunReplayResult> {
  return withRun(run, (directory) => replayRun(directory, options), log)
}

export type Replayed = Extract<RunReplayResult, { ok: true }>
export type Failed = Extract<RunReplayResult, { ok: false }>

export function replayed(result: RunReplayResult): Replayed {
  if (!result.ok) throw new Error(`expected a replayed run, found ${result.error.code}: ${result.error.message}`)
  return result
}

export function failed(result: RunReplayResult): Failed {
  if (result.ok) throw new Error(`expected a run that fails, found one of ${result.eventCount} events`)
  return result
}

/** The run's log with one more event, whether or not it is allowed. */
export function logWith(run: PlainRun, kind: string, payload: unknown, { node, parent }: Place = {}): string {
  const last = run.events.at(-1)!
  const task = (payload as Payload | null)?.['task']
  const implied = typeof task === 'string' && task.includes('#') ? task.slice(0, task.lastIndexOf('#')) : null
  const event: PlainEvent = {
    ...last,
    time: run.time,
    kind,
    node: node === undefined ? implied : node,
    parent: parent === undefined ? run.time - 1 : parent,
    payload: JSON.stringify(payload),
  }
  return `${run.log}${sealedLine(event, run.hashes.at(-1)!).line}\n`
}

export const WORKFLOW: Workflow = {
  name: 'release',
  version: '1.2.0',
  nodes: [
    { id: 'build', kind: 'task', capabilities: ['net'] },
    { id: 'test', kind: 'task', dependsOn: ['build'] },
    { id: 'announce', kind: 'tool', tool: 'mail', dependsOn: ['test'] },
  ],
}
const WORKERS = [
  { id: 'w1', capabilities: ['net'] },
  { id: 'w2', capabilities: ['net', 'gpu'] },
]

type Scheduler = 'round-robin' | 'least-loaded' | 'external'

/** A run that has begun, with two workers. */
export function startedRun(scheduler: Scheduler = 'external', workflow = WORKFLOW): PlainRun {
  const run = new PlainRun({ runId: 'run-7', workflow, scheduler })
  run.append('RunStarted', { workers: WORKERS })
  return run
}

export const scheduled = (task = 'build#1'): Payload => ({ task, dependsOn: [] })
export const assigned = (task = 'build#1', worker = 'w1'): Payload => ({ task, worker })

const COURSE = ['NodeScheduled', 'TaskAssigned', 'TaskAccepted', 'NodeStarted', 'NodeCompleted'] as const

/** Advances a task up to and including the event `until`. */
export function advance(run: PlainRun, task: string, until: (typeof COURSE)[number], worker = 'w1'): PlainRun {
  for (const kind of COURSE.slice(0, COURSE.indexOf(until) + 1)) {
    run.append(kind, { task, worker, dependsOn: [], inputHash: 'in', outputHash: `out of ${task}` })
  }
  return run
}

/** A run whose node `build` has advanced up to and including the event `until`. */
export function runUntil(until: (typeof COURSE)[number], scheduler?: Scheduler): PlainRun {
  return advance(startedRun(scheduler), 'build#1', until)
}

/** A completed run with a tool's output and two snapshots. */
export function completedRun(scheduler: Scheduler = 'round-robin'): PlainRun {
  const run = runUntil('NodeStarted', scheduler)
  run.append('ToolInvoked', { tool: 'cc', call: 'c1', requestHash: 'q' }, { node: 'build' })
  const blob = run.putBlob('compiled \r\n')
  const output = run.putBlob('compiled\n')
  run.append(
    'ToolCompleted',
    { tool: 'cc', call: 'c1', rawHash: blob, outputHash: output, normalizer: 'text' },
    { node: 'build' },
  )
  run.append('NodeCompleted', { task: 'build#1', outputHash: output })
  run.snapshot()
  advance(run, 'test#1', 'NodeCompleted', scheduler === 'round-robin' ? 'w2' : 'w1')
  run.snapshot()
  run.append('NodeSkipped', { reason: 'nobody listens' }, { node: 'announce' })
  run.append('RunCompleted', { outputs: { build: output } })
  return run
}

/** The state of a run after the event at `time`. */
export function stateAt(run: PlainRun, time: number): RunState {
  const state = run.states[time]
  if (state === undefined) throw new Error(`the run has no event at ${time}`)
  return state
}

/** All events of a run or its bundle, as they are read. */
export async function eventsIn(path: string, options?: RunEventsOptions): Promise<RunEvent[]> {
  const events: RunEvent[] = []
  for await (const event of readRunEvents(path, options)) events.push(event)
  return events
}
