// Projects of sessions with names and checkpoints, for the specs about names.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { expect } from 'vitest'
import type * as SessionTape from '../../index.js'
import { directoryOf } from './file-directory'
import { content, type Event, envelope, PROJECT_HASH, start } from './session-file'
import { atEndOfSpec } from './spec-scope'

// Required, not imported: the library must run as Node runs it, untouched by the test runner's transforms.
export const tape = createRequire(import.meta.url)('../../index.js') as typeof SessionTape

export type Recorder = SessionTape.SessionRecordingService
export type Place = SessionTape.SessionPlace

export const HASH = PROJECT_HASH
export const NAME_LOCK = `checkpoint-namespace-${HASH}`

export const created = (checkpointId: string, name: string): Event => ['checkpoint_created', { checkpointId, name }]
export const renamed = (checkpointId: string, name: string): Event => ['checkpoint_renamed', { checkpointId, name }]
export const deleted = (checkpointId: string): Event => ['checkpoint_deleted', { checkpointId }]
export const named = (name: string | null): Event => ['session_named', { name }]
export const said = (text: string): SessionTape.IContent => ({ speaker: 'human', blocks: [{ type: 'text', text }] })

/** The text of a session with a first event, by default a content, and further events. */
export function sessionText(
  sessionId: string,
  events: readonly Event[] = [],
  first: Event = content('Grüße 👋'),
): string {
  return [start({ sessionId }), first, ...events].map((event, at) => `${envelope(at + 1, event)}\n`).join('')
}

export const pathIn = (chats: string, sessionId: string): string => join(chats, `session-${sessionId}.jsonl`)

/** A directory with a session for each id, given by its events or by its text. */
export function projectOf(sessions: Record<string, readonly Event[] | string>): string {
  return directoryOf(
    Object.fromEntries(
      Object.entries(sessions).map(([id, events]) => [
        `session-${id}.jsonl`,
        typeof events === 'string' ? events : sessionText(id, events),
      ]),
    ),
  )
}

export const closed = (chats: string, sessionId: string): SessionTape.ClosedSession => ({
  filePath: pathIn(chats, sessionId),
  chatsDir: chats,
  sessionId,
})

const recorders: Recorder[] = []
atEndOfSpec(() => Promise.all(recorders.splice(0).map((recorder) => recorder.dispose().catch(() => {}))))

/** A recorder without a file that owns the session's lock, disposed of at the end of the spec file. */
export async function locked(
  chats: string,
  sessionId: string,
  more: Partial<SessionTape.SessionRecordingServiceConfig> = {},
): Promise<Recorder> {
  const recorder = await tape.SessionRecordingService.createLocked({
    sessionId,
    projectHash: HASH,
    chatsDir: chats,
    workspaceDirs: ['/w'],
    provider: 'acme',
    model: 'large',
    ...more,
  })
  recorders.push(recorder)
  return recorder
}

/** A recorder that continues the file of a session. */
export async function opened(
  chats: string,
  sessionId: string,
  more?: Partial<SessionTape.SessionRecordingServiceConfig>,
): Promise<Recorder> {
  const recorder = await locked(chats, sessionId, more)
  const records = recordsOf(pathIn(chats, sessionId))
  recorder.initializeForResume(pathIn(chats, sessionId), records.at(-1)!.seq)
  return recorder
}

/** Both kinds of place. */
export const PLACES = {
  'an open session': opened,
  'a closed session': async (chats: string, id: string) => closed(chats, id),
}
export const eachPlace = Object.entries(PLACES) as [string, (chats: string, id: string) => Promise<Place>][]

interface Line {
  seq: number
  type: string
  payload: any
}

/** The records of a file, which must end with a complete line. */
export function recordsOf(path: string): Line[] {
  const text = readFileSync(path, 'utf8')
  expect(text.endsWith('\n')).toBe(true)
  return text
    .slice(0, -1)
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
}

/** Type and payload of the records of a session, without the first `after`. */
export const addedTo = (chats: string, sessionId: string, after = 2): [string, unknown][] =>
  recordsOf(pathIn(chats, sessionId))
    .slice(after)
    .map(({ type, payload }) => [type, payload])

/** The bytes of each session file of a directory, by the session's id. */
export function bytesOf(chats: string): Record<string, string> {
  const files = readdirSync(chats).filter((name) => name.endsWith('.jsonl'))
  return Object.fromEntries(files.map((name) => [name, readFileSync(join(chats, name), 'latin1')]))
}

export const locksIn = (chats: string): string[] =>
  readdirSync(chats)
    .filter((name) => /\.lock|\.tguard$/.test(name))
    .sort()

/** The ids of the sessions that are locked. */
export const lockedIn = (chats: string): string[] => locksIn(chats).map((name) => name.replace(/\.lock$/, ''))

/** The holders of each name of a project: a session's id, or the ids of a session and a checkpoint. */
export async function holdersIn(chats: string): Promise<Record<string, string[]>> {
  const { targets, skipped } = await tape.listContinueTargets(chats, HASH)
  expect(skipped).toEqual([])
  const holders: Record<string, string[]> = {}
  for (const target of targets) {
    const [name, holder] =
      target.kind === 'session'
        ? [target.session.name, target.session.sessionId]
        : [target.checkpointName, `${target.source.sessionId}/${target.checkpointId}`]
    if (typeof name === 'string') holders[name.trim()] = [...(holders[name.trim()] ?? []), holder].sort()
  }
  return holders
}

/** The message of the error with which a promise rejects. */
export const messageOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    (value) => `resolved to ${JSON.stringify(value)}`,
    (error: Error) => `${error.name}: ${error.message}`,
  )

/** Replaces the file of a session. */
export function write(chats: string, sessionId: string, text: string): void {
  writeFileSync(pathIn(chats, sessionId), text)
}
