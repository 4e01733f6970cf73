// The sessions of a project as files, for the specs that find, resume and delete them.

import { readdirSync, utimesSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { expect, vi } from 'vitest'
import { acquireSessionLock } from '../../index.js'
import { directoryOf } from './file-directory.js'
import { START_PAYLOAD, file, start } from './session-file.js'
import type { Event } from './session-file.js'

export const titled = (title: unknown): Event => ['session_metadata', { title }]
export const named = (name: unknown): Event => ['session_named', { name }]
export const checkpoint = (checkpointId: string, name: string): Event => ['checkpoint_created', { checkpointId, name }]
export const checkpointRenamed = (checkpointId: string, name: string): Event => [
  'checkpoint_renamed',
  { checkpointId, name },
]
export const checkpointDeleted = (checkpointId: string): Event => ['checkpoint_deleted', { checkpointId }]

/** The text of a session with this id, numbered from 1. */
export const sessionWith = (sessionId: unknown, ...events: (Event | string)[]): string =>
  file(start({ sessionId }), ...events)

/** The summary of a session with this id in a listing, without the members about its file. */
export const summaryWith = (sessionId: string) => ({ ...START_PAYLOAD, sessionId, createdAt: START_PAYLOAD.startTime })

/** A directory of these files, the first the newest. */
export function projectOf(files: Record<string, string | Uint8Array>): string {
  const directory = directoryOf(files)
  orderByAge(directory, Object.keys(files))
  return directory
}

/** Makes the first of these files the newest. */
export function orderByAge(directory: string, names: readonly string[]): void {
  names.forEach((name, index) => utimesSync(join(directory, name), 1, 1_500_000_000 - index))
}

/** The files of session locks, of any session: locks, guards and temporary ones. */
export function lockFilesIn(directory: string): string[] {
  return readdirSync(directory).filter((name) => /\.(lock|tguard|locktmp)$/.test(name) && !name.endsWith('.jsonl.lock'))
}

/** Fails if any session of the directory is locked, on the disk or in this thread. */
export async function expectNoLock(directory: string, ...ids: string[]): Promise<void> {
  expect(lockFilesIn(directory)).toEqual([])
  for (const id of ids) await (await acquireSessionLock(directory, id)).release()
  expect(lockFilesIn(directory)).toEqual([])
}

/** The functions of the addon. */
export const { native: binding } = createRequire(import.meta.url)('../../dist/addon.js') as {
  native: Record<string, (...args: unknown[]) => unknown>
}

/** Spies on a function of the addon without changing it. */
export const watched = (name: string) => vi.spyOn(binding, name)

/** Calls `between` once, after the addon has read the headers of a listing and before the listing goes on. */
export function afterListing(between: () => void): void {
  const read = binding['readSummaries']!
  vi.spyOn(binding, 'readSummaries').mockImplementationOnce(async (...args) => {
    const found = await (read(...args) as Promise<unknown>)
    between()
    return found
  })
}
