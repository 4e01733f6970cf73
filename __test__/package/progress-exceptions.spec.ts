/** What `onProgress` throws, and an abort, at the last moment: for every function that makes, moves or replaces files. Nothing stays then, and the call can be repeated. */
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect } from 'vitest'
import {
  archiveSession,
  exportBundle,
  importBundle,
  importSession,
  repairSession,
  replaySession,
  restoreSession,
} from '../../index.js'
import type { Progress } from '../../index.js'
import { directoryOf } from '../support/file-directory.js'
import { sessionWith } from '../support/project-files.js'
import { test } from '../support/property'
import { content } from '../support/session-file.js'

const FOREIGN = fileURLToPath(new URL('../../crates/core/tests/agents/made/claude-mixed.jsonl', import.meta.url))
const NAME = 'session-1.jsonl'

interface Options {
  onProgress?: (progress: Progress) => void
  signal?: AbortSignal
}
type Call = (directory: string, options: Options) => Promise<unknown>

/** Each function: what has to be there, the call, and the files that it makes. */
const CALLS: [name: string, prepare: (directory: string) => unknown, call: Call, made: string[]][] = [
  [
    'importSession',
    () => {},
    (to, options) => importSession(FOREIGN, { chatsDir: join(to, 'chats'), projectHash: 'p', ...options }),
    ['chats/*.jsonl', 'chats/*.receipt.jsonl'],
  ],
  [
    'exportBundle to a directory',
    session,
    (to, options) => exportBundle(join(to, NAME), join(to, 'b'), options),
    ['b/manifest.json'],
  ],
  [
    'exportBundle to a file',
    session,
    (to, options) => exportBundle(join(to, NAME), join(to, 'b.tar.zst'), options),
    ['b.tar.zst'],
  ],
  [
    'importBundle',
    bundle,
    (to, options) => importBundle(join(to, 'b.tar.zst'), join(to, 'imported'), options),
    ['imported/manifest.json'],
  ],
  [
    'repairSession',
    session,
    (to, options) =>
      repairSession(join(to, NAME), join(to, 'repaired'), { receiptPath: join(to, 'receipt'), ...options }),
    ['repaired', 'receipt'],
  ],
  ['archiveSession', session, (to, options) => archiveSession(join(to, NAME), options), [`${NAME}.zst`]],
  ['restoreSession', archive, (to, options) => restoreSession(join(to, NAME), options), [NAME]],
]

function session(directory: string): void {
  writeFileSync(join(directory, NAME), sessionWith('s-1', content('one'), content('two')))
}

async function bundle(directory: string): Promise<void> {
  session(directory)
  await exportBundle(join(directory, NAME), join(directory, 'b.tar.zst'))
}

async function archive(directory: string): Promise<void> {
  session(directory)
  await archiveSession(join(directory, NAME))
}

/** All files below a directory, with their contents. Directories that are empty do not count. */
const contentsOf = (directory: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(directory, { recursive: true, encoding: 'utf8' })
      .sort()
      .filter((name) => statSync(join(directory, name)).isFile())
      .map((name) => [name, readFileSync(join(directory, name), 'latin1')]),
  )

const isMade = (directory: string, pattern: string): boolean => {
  const [end, ...folder] = pattern.split('/').reverse() as [string, ...string[]]
  const place = join(directory, ...folder)
  if (!end.startsWith('*') || !existsSync(place)) return existsSync(join(directory, pattern))
  return readdirSync(place).some((name) => name.endsWith(end.slice(1)))
}

async function prepared(prepare: (directory: string) => unknown): Promise<string> {
  const directory = directoryOf()
  mkdirSync(directory, { recursive: true })
  await prepare(directory)
  return directory
}

describe.each(CALLS)('%s', (_, prepare, call, made) => {
  const expectUndone = async (directory: string, before: Record<string, string>): Promise<void> => {
    expect(contentsOf(directory)).toEqual(before)
    await call(directory, {})
    expect(made.filter((pattern) => !isMade(directory, pattern))).toEqual([])
  }

  test('rejects with what onProgress throws, at any call, and leaves nothing', async () => {
    const thrown = new Error('from onProgress')
    for (const isLast of [false, true]) {
      const directory = await prepared(prepare)
      const before = contentsOf(directory)
      const onProgress = ({ bytes, total }: Progress): void => {
        if (!isLast || bytes === total) throw thrown
      }
      await expect(call(directory, { onProgress })).rejects.toBe(thrown)
      await expectUndone(directory, before)
    }
  })

  test('rejects with the reason of an abort in the last call of onProgress, and leaves nothing', async () => {
    const directory = await prepared(prepare)
    const before = contentsOf(directory)
    const controller = new AbortController()
    const reason = new Error('enough')
    const onProgress = ({ bytes, total }: Progress): void => {
      if (bytes === total) controller.abort(reason)
    }
    await expect(call(directory, { onProgress, signal: controller.signal })).rejects.toBe(reason)
    await expectUndone(directory, before)
  })

  test('reports all of it once, last, and before anything is there', async () => {
    const directory = await prepared(prepare)
    const told: [isAll: boolean, hasMade: boolean][] = []
    await call(directory, {
      onProgress: ({ bytes, total }) =>
        told.push([bytes === total, made.some((pattern) => isMade(directory, pattern))]),
    })
    expect(made.every((pattern) => isMade(directory, pattern))).toBe(true)
    expect(told.at(-1)).toEqual([true, false])
    expect(told.filter(([isAll]) => isAll)).toHaveLength(1)
  })
})

test('a session that was imported after such a failure replays', async () => {
  const chatsDir = join(directoryOf(), 'chats')
  const fail = (): never => {
    throw new Error('no')
  }
  for (let i = 0; i < 3; i++)
    await expect(importSession(FOREIGN, { chatsDir, projectHash: 'p', onProgress: fail })).rejects.toThrow('no')
  const { filePath } = await importSession(FOREIGN, { chatsDir, projectHash: 'p' })
  expect(await replaySession(filePath, 'p', { strict: true })).toMatchObject({ ok: true, warnings: [] })
})
