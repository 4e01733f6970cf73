// What every reader says of a session must be the same of its archive. Suites that have a session's bytes ask it of them.

import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import {
  archiveSession,
  describeSessions,
  diff,
  exportBundle,
  listCheckpoints,
  listSessions,
  openSession,
  readSessionHeader,
  readSessionPreview,
  readSessionRecords,
  readSessionTitle,
  replaySession,
  restoreSession,
  searchSessions,
} from '../../index.js'
import { directoryOf } from './file-directory.js'
import { PROJECT_HASH } from './session-file.js'

const NAME = 'session-copy.jsonl'

async function collected<T>(all: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const one of all) list.push(one)
  return list
}

async function opened(filePath: string, strict: boolean): Promise<unknown> {
  const result = await openSession(filePath, undefined, { strict } as never)
  if (!result.ok) return result
  const { session } = result
  const { historyLength } = session
  const middle = historyLength >> 1
  const all = [
    await session.items(),
    await session.items(-2),
    await session.items(middle, middle + 3),
    session.metadata,
    session.warnings,
    historyLength,
  ]
  session.close()
  return all
}

/** The result or the error as text, without the session's path: an own member `__proto__` is not compared otherwise. */
async function of(result: Promise<unknown>, paths: string[]): Promise<string> {
  const settled = await result.catch((error: Error & { code?: string }) => ({
    thrown: error.message,
    code: error.code,
  }))
  const hidden = (value: unknown) =>
    typeof value === 'string' ? paths.reduce((text, path) => text.replaceAll(path, 'PATH'), value) : value
  return JSON.stringify(settled, (_, value: unknown) => hidden(value), 1) ?? 'undefined'
}

/** What each reader says of the session at a path. */
async function readings(filePath: string, plain: string, query: string): Promise<Record<string, string>> {
  const directory = join(filePath, '..')
  const bundle = join(directoryOf(), 'bundle.tar.zst')
  const search = searchSessions(filePath, query)
  const found: Record<string, Promise<unknown>> = {
    replay: replaySession(filePath),
    strict: replaySession(filePath, undefined, { strict: true, auditTrail: true }),
    beginning: replaySession(filePath, undefined, { throughSeq: 3 }),
    opened: opened(filePath, false),
    openedStrict: opened(filePath, true),
    header: readSessionHeader(filePath),
    preview: readSessionPreview(filePath),
    title: readSessionTitle(filePath),
    records: collected(readSessionRecords(filePath)),
    history: collected(readSessionRecords(filePath, { history: true })),
    checkpoints: listCheckpoints(filePath, PROJECT_HASH),
    search: collected(search).then((hits) => [
      hits.map(({ archived: _, ...hit }) => hit),
      search.summary.hits,
      search.summary.sessions,
    ]),
    list: listSessions(directory).then(({ sessions, unreadable }) => [sessions.map(withoutArchive), unreadable]),
    describe: describeSessions(directory).then(({ sessions, unreadable }) => [
      sessions.map(withoutArchive),
      unreadable,
    ]),
    diff: diff(filePath, plain),
    bundle: exportBundle(filePath, bundle).then(({ bundleId }) => bundleId),
  }
  const paths = [`${filePath}.zst`, filePath, plain, bundle, directory]
  const entries = Object.entries(found).map(async ([name, result]) => [name, await of(result, paths)] as const)
  return Object.fromEntries(await Promise.all(entries))
}

/** What a listing says of a session besides that it is archived. */
function withoutArchive<S extends { archived?: true; bytes?: number; archivedBytes?: number }>({
  archived: _,
  bytes: __,
  archivedBytes: ___,
  ...rest
}: S) {
  return rest
}

/** Expects every reader to say the same of a session's archive, under both names, and restoring it to give the same bytes. */
export async function expectSameArchived(content: string | Uint8Array, query = 'a'): Promise<void> {
  const [directory, elsewhere] = [directoryOf(), directoryOf()]
  const [filePath, plain] = [join(directory, NAME), join(elsewhere, NAME)]
  for (const path of [filePath, plain]) writeFileSync(path, content)
  // What has no header is not archived.
  if ((await readSessionHeader(filePath)) === null) return
  const before = await readings(filePath, plain, query)
  const { filePath: archive } = await archiveSession(filePath)
  for (const path of [filePath, archive]) {
    const after = await readings(path, plain, query)
    for (const reader of Object.keys(before))
      expect({ [reader]: after[reader] }).toStrictEqual({ [reader]: before[reader] })
  }
  await restoreSession(archive)
  expect(await readings(filePath, plain, query)).toStrictEqual(before)
  for (const path of [directory, elsewhere]) rmSync(path, { recursive: true })
}
