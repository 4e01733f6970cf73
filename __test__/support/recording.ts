/**
 * Shared by the specs of the recorder: a fresh directory, a recorder in it, and a strict reader of the resulting
 * file. The reader is plain JavaScript, so that a mistake of the addon's replay can't hide a mistake of its
 * recorder.
 */
import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { expect } from 'vitest'
import type * as SessionTape from '../../index.js'
import { directoryOfSpec } from './spec-scope.js'

// Required, not imported: the facade must run as Node runs it, untouched by the test runner's transforms.
const tape = createRequire(import.meta.url)('../../index.js') as typeof SessionTape

export const { SessionRecordingService, SESSION_FILE_ID_PREFIX_LENGTH, replaySession, readSessionHeader } = tape
export type Recorder = SessionTape.SessionRecordingService
export type RecorderConfig = SessionTape.SessionRecordingServiceConfig
export type Warning = SessionTape.RecordingWarning
export type Content = SessionTape.IContent

export interface Envelope {
  v: number
  seq: number
  ts: string
  type: string
  payload: any
}

const root = directoryOfSpec('session-tape-')
let directories = 0

/** A new empty directory that any user may enter; removed at the end of the spec file. */
export function freshDirectory(): string {
  const directory = join(root(), String(++directories))
  mkdirSync(directory, { mode: 0o755 })
  return directory
}

export function recorderConfig(overrides: Partial<RecorderConfig> = {}): RecorderConfig {
  return {
    sessionId: '0f8fad5b-d9cb-469f-a165-70867728950e',
    projectHash: 'a3f5c1',
    chatsDir: overrides.chatsDir ?? join(freshDirectory(), 'chats'),
    workspaceDirs: ['/home/ada/project'],
    provider: 'anthropic',
    model: 'model-1',
    ...overrides,
  }
}

export function newRecorder(overrides: Partial<RecorderConfig> = {}): Recorder {
  return new SessionRecordingService(recorderConfig(overrides))
}

/** A recorder whose warnings are collected. */
export function watchedRecorder(overrides: Partial<RecorderConfig> = {}): { recorder: Recorder; warnings: Warning[] } {
  const warnings: Warning[] = []
  const recorder = newRecorder({ ...overrides, onWarning: (warning) => warnings.push(warning) })
  return { recorder, warnings }
}

/** A watched recorder that has written a content without an error. */
export async function startedRecorder(
  overrides: Partial<RecorderConfig> = {},
): Promise<{ recorder: Recorder; warnings: Warning[]; path: string }> {
  const watched = watchedRecorder(overrides)
  watched.recorder.recordContent(said('all is well'))
  await watched.recorder.flush()
  return { ...watched, path: pathOf(watched.recorder) }
}

/** Waits for the one warning of a fault, and a moment longer, so that a second one would show. */
export async function theWarning(warnings: Warning[]): Promise<Warning> {
  await eventually('a warning', () => warnings.length > 0)
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(warnings).toHaveLength(1)
  return warnings[0]!
}

export function said(text: string, speaker: Content['speaker'] = 'human'): Content {
  return { speaker, blocks: [{ type: 'text', text }] }
}

/** The path of a recorder that has created its file. */
export function pathOf(recorder: Recorder): string {
  const path = recorder.getFilePath()
  if (path === null) throw new Error('the recorder has no file yet')
  return path
}

/** The path of a closed session with one content, to be resumed. */
export async function recordedSession(overrides: Partial<RecorderConfig> = {}): Promise<string> {
  const recorder = newRecorder(overrides)
  recorder.recordContent(said('first'))
  await recorder.dispose()
  return pathOf(recorder)
}

/** The lines of a file, which must be UTF-8 throughout and end with a complete line. */
export function linesOf(path: string): string[] {
  const bytes = readFileSync(path)
  if (bytes.length === 0) return []
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  if (!text.endsWith('\n'))
    throw new Error(`${path} does not end at a whole record: …${JSON.stringify(text.slice(-60))}`)
  return text.slice(0, -1).split('\n')
}

/** The file's records; every line must parse. */
export function recordsOf(path: string): Envelope[] {
  return linesOf(path).map((line) => JSON.parse(line) as Envelope)
}

/** The line that section 1 of the format prescribes, newline included. */
export function lineText(seq: number, ts: string, type: string, payload: unknown): string {
  const envelope = JSON.stringify({ v: type === 'semantic_media_purge' ? 2 : 1, seq, ts, type, payload })
  return envelope.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029') + '\n'
}

/** Waits until `holds` returns true, or throws an error with `what`. The time limit only ends the test. */
export async function eventually(what: string, holds: () => boolean, withinMs = 100_000): Promise<void> {
  const deadline = performance.now() + withinMs
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`never happened: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
