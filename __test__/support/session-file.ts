// Session files for the replay tests: their text, and real files of it in a temporary directory.

import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { replaySession } from '../../index.js'
import type { IContent, ReplayOptions, ReplayResult } from '../../index.js'
import { directoryOfSpec } from './spec-scope.js'

/** An event without its envelope; a plain string in a list of events stands for a raw line that takes no seq. */
export type Event = readonly [type: string, payload: unknown]

export const PROJECT_HASH = 'c0ffee5e55107a9e'
export const START_PAYLOAD = {
  sessionId: '71e871bd-70f9-4b2e-90d9-a15ea3fcfa19',
  projectHash: PROJECT_HASH,
  workspaceDirs: ['/home/ann/project'],
  provider: 'anthropic',
  model: 'claude-sonnet',
  startTime: '2026-02-11T16:00:00.000Z',
}

/** The result's `metadata` if no event has changed it. */
export const START_METADATA = START_PAYLOAD

export const start = (changes: Record<string, unknown> = {}): Event => [
  'session_start',
  { ...START_PAYLOAD, ...changes },
]
export const item = (speaker: IContent['speaker'], text: string): IContent => ({
  speaker,
  blocks: [{ type: 'text', text }],
})
export const content = (text: string, speaker: IContent['speaker'] = 'human'): Event => [
  'content',
  { content: item(speaker, text) },
]
export const compressed = (text: string, itemsCompressed: unknown = 1): Event => [
  'compressed',
  { summary: item('ai', text), itemsCompressed },
]
export const rewind = (itemsRemoved: unknown): Event => ['rewind', { itemsRemoved }]
export const sessionEvent = (message: string, severity = 'info'): Event => ['session_event', { severity, message }]

/** One line without its end. */
export function envelope(seq: unknown, [type, payload]: Event): string {
  const minute = String(Math.floor(Number(seq) / 60) % 60).padStart(2, '0')
  const second = String(Math.floor(Number(seq) % 60)).padStart(2, '0')
  const ts = `2026-02-11T16:${minute}:${second}.000Z`
  return JSON.stringify({ v: 1, seq, ts, type, payload })
}

/** The text of a file: a session_start, then the events, numbered on from 2. */
export function session(...events: (Event | string)[]): string {
  return sessionOf(events)
}

/** Like `session`, for more events than a call can have arguments. */
export function sessionOf(events: readonly (Event | string)[]): string {
  return linesOf([start()]) + linesOf(events, 2)
}

/** The text of a file of exactly these events, numbered from 1. */
export function file(...events: (Event | string)[]): string {
  return linesOf(events)
}

function linesOf(events: readonly (Event | string)[], firstSeq = 1): string {
  let seq = firstSeq
  return events.map((event) => `${typeof event === 'string' ? event : envelope(seq++, event)}\n`).join('')
}

/** A value as a file stores it: without undefined fields, and with -0 as 0. */
export const written = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T

/** A directory of this spec file, removed at its end. */
export const sessionDirectory = directoryOfSpec('session-tape-replay-')

let filesWritten = 0

export function writeSession(data: string | Uint8Array): string {
  const filePath = join(sessionDirectory(), `session-${++filesWritten}.jsonl`)
  writeFileSync(filePath, data)
  return filePath
}

/** Writes the data to a file and replays that. */
export async function replayOf<C = IContent>(
  data: string | Uint8Array,
  expectedProjectHash?: string,
  options?: ReplayOptions,
): Promise<ReplayResult<C>> {
  const filePath = writeSession(data)
  try {
    return await replaySession<C>(filePath, expectedProjectHash, options)
  } finally {
    // A property makes thousands of files: each is removed right after its use.
    rmSync(filePath)
  }
}

export type Replayed<C = IContent> = Extract<ReplayResult<C>, { ok: true }>

/** Like `replayOf`, for files that must replay. */
export async function replayedOf<C = IContent>(
  data: string | Uint8Array,
  options?: ReplayOptions,
): Promise<Replayed<C>> {
  const result = await replayOf<C>(data, undefined, options)
  if (!result.ok) throw new Error(`expected a replayed session, found: ${result.error}`)
  return result
}

/** Each item's text, for histories of text items. */
export function textsOf(history: readonly IContent[]): string[] {
  return history.map(({ blocks }) => (blocks[0]?.type === 'text' ? blocks[0].text : '?'))
}
