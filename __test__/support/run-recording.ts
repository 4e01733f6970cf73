/**
 * Shared by the specs of the run recorder: a recorder in a fresh directory, and a strict reader of the resulting log. The reader
 * is plain JavaScript and recomputes every line, so that one mistake of the addon can't hide another.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type * as SessionTape from '../../index.js'
import { PlainRun, openedLine, rechained } from './plain-run-engine.mjs'
import type { PlainEvent } from './plain-run-engine.mjs'
import { WORKFLOW, freshPath, logOf } from './run-directory.js'

// Required, not imported: the facade must run as Node runs it, untouched by the test runner's transforms.
const tape = createRequire(import.meta.url)('../../index.js') as typeof SessionTape

export const { RunRecorder } = tape
export type Recorder = SessionTape.RunRecorder
export type Config = SessionTape.RunRecorderConfig
export type Warning = SessionTape.RecordingWarning
export type EventInput = SessionTape.RunEventInput
export type RecorderError = SessionTape.RunRecorderError

export const WORKERS = [
  { id: 'w1', capabilities: ['net'] },
  { id: 'w2', capabilities: [] },
]

export function runConfig(overrides: Partial<Config> = {}): Config {
  return { directory: freshPath(), runId: 'run-7', workflow: WORKFLOW, scheduler: 'round-robin', ...overrides }
}

export interface Watched {
  recorder: Recorder
  directory: string
  config: Config
  warnings: Warning[]
}

/** A recorder whose warnings are collected. */
export function newRecorder(overrides: Partial<Config> = {}): Watched {
  const warnings: Warning[] = []
  const config = runConfig(overrides)
  // Not in the returned config: another recorder with it has warnings of its own.
  const recorder = new RunRecorder({ onWarning: (warning) => warnings.push(warning), ...config })
  return { recorder, directory: config.directory, config, warnings }
}

/** A recorder whose run has started. */
export function startedRecorder(overrides: Partial<Config> = {}): Watched {
  const watched = newRecorder(overrides)
  watched.recorder.append({ kind: 'RunStarted', payload: { workers: WORKERS } })
  return watched
}

/** An event that is allowed at any time before the end of a run. */
export const noted = (message = '', rest: Record<string, unknown> = {}): EventInput => ({
  kind: 'Error',
  payload: { code: 'E', message, recoverable: true, ...rest },
})

/** The events of a log, which must end with a complete line and have an intact chain. */
export function eventsOf(directory: string): PlainEvent[] {
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(logOf(directory)))
  if (!text.endsWith('\n')) throw new Error(`the log does not end at a whole line: …${JSON.stringify(text.slice(-60))}`)
  const lines = text.slice(0, -1).split('\n')
  const events = lines.map((line) => {
    const { payloadHash: _, ...event } = openedLine(line).event
    return event
  })
  const sealed = rechained(events)
  const at = lines.findIndex((line, index) => line !== sealed[index])
  if (at >= 0) throw new Error(`line ${at} is not as it must be:\n${lines[at]}\n${sealed[at]}`)
  return events
}

/** The payloads of a log's events. */
export const payloadsOf = (directory: string): any[] => eventsOf(directory).map((event) => JSON.parse(event.payload))

/** The plain engine's run for a log: each event is appended as it was to the recorder, with the salts and wall clocks of the log. */
export function plainTwin(directory: string, config: Config): PlainRun {
  const events = eventsOf(directory)
  const run = new PlainRun({
    ...config,
    saltOf: (time) => events[time]!.salt,
    tsOf: (time) => events[time]!.ts,
  })
  for (const { time, kind, node, payload } of events.slice(1)) {
    const fields = JSON.parse(payload) as { at?: number }
    if (kind === 'SnapshotCreated' && fields.at === time - 1) run.snapshot()
    else run.append(kind as SessionTape.RunEventKind, fields as Record<string, unknown>, { node })
  }
  return run
}

/** The error that a call throws. */
export function errorOf(call: () => unknown): RecorderError {
  try {
    call()
  } catch (error) {
    return error as RecorderError
  }
  throw new Error('nothing was thrown')
}
