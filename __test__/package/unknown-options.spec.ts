// Options of functions that delete, replace or move files: a name that is not known is a mistake, and nothing is done.

import { existsSync, readFileSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { test } from '../support/property'
import {
  archiveSession,
  cleanUpLocks,
  createCheckpoint,
  deleteCheckpoint,
  deleteSession,
  exportBundle,
  exportSession,
  importBundle,
  importSession,
  keepSessions,
  nameSession,
  removeSessionFiles,
  removeStaleLock,
  renameCheckpoint,
  repairSession,
  restoreSession,
} from '../../index.js'
import { directoryOf } from '../support/file-directory.js'
import { sessionWith } from '../support/project-files.js'
import { PROJECT_HASH, content } from '../support/session-file.js'
import { DEAD_PID, lockOf, writeLock } from '../support/session-locks.js'

const unknown = (message: string) =>
  expect.objectContaining({ name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE', message }) as Error

/** A directory with a session of 40 days, and its path. */
function old(): { directory: string; path: string } {
  const directory = directoryOf()
  const path = join(directory, 'session-a.jsonl')
  writeFileSync(path, sessionWith('a', content('words')))
  const time = Date.now() / 1000 - 40 * 86_400
  utimesSync(path, time, time)
  return { directory, path }
}

describe('keepSessions refuses', () => {
  const POLICY = 'minAge, archiveAfter, deleteAfter, maxSessions, maxBytes, deleteToFit'
  const OPTIONS = 'dryRun, keep, signal, onProgress'

  test.each<[string, object, object, string]>([
    [
      'an option in the policy',
      { deleteAfter: '30d', dryRun: true },
      {},
      "policy has no member 'dryRun': it is a member of options",
    ],
    [
      'a part of the policy in the options',
      {},
      { deleteAfter: '30d' },
      "options has no member 'deleteAfter': it is a member of policy",
    ],
    [
      'a misspelt part of the policy',
      { deleteAfter: '30d', minage: '60d' },
      {},
      `policy has no member 'minage'; its members are ${POLICY}`,
    ],
    [
      'a misspelt option',
      { deleteAfter: '30d' },
      { dryrun: true },
      `options has no member 'dryrun'; its members are ${OPTIONS}`,
    ],
    [
      'an inherited one',
      Object.create({ deleteAfter: '30d', minage: '60d' }) as object,
      {},
      `policy has no member 'minage'; its members are ${POLICY}`,
    ],
    [
      'one of an object without a prototype',
      Object.assign(Object.create(null) as object, { minage: '60d' }),
      {},
      `policy has no member 'minage'; its members are ${POLICY}`,
    ],
    [
      'a name that every object inherits',
      { constructor: 1 },
      {},
      `policy has no member 'constructor'; its members are ${POLICY}`,
    ],
    ['a symbol', {}, { [Symbol('dryRun')]: true }, `options has no member Symbol(dryRun); its members are ${OPTIONS}`],
  ])('%s, and deletes nothing', (_, policy, options, message) => {
    const { directory, path } = old()
    expect(() => keepSessions(directory, policy, options)).toThrow(unknown(message))
    expect(existsSync(path)).toBe(true)
  })
})

test('a name that is not known has no effect without a value, as a known one', async () => {
  const { directory } = old()
  expect(
    (
      await keepSessions(
        directory,
        { deleteAfter: '30d', minage: undefined } as object,
        { dryRun: true, archiveAfter: undefined } as object,
      )
    ).deleted,
  ).toHaveLength(1)
})

test('members of options are read once, and inherited ones count', async () => {
  const { directory, path } = old()
  let reads = 0
  const options = {
    get dryRun() {
      return ++reads === 1
    },
  }
  expect(
    (await keepSessions(directory, Object.create({ deleteAfter: '30d' }) as object, options)).deleted,
  ).toHaveLength(1)
  expect([existsSync(path), reads]).toStrictEqual([true, 1])
})

describe('an unknown option', () => {
  const { directory, path } = old()
  const place = { filePath: path, chatsDir: directory, sessionId: 'a' }
  const needed = { chatsDir: directory, projectHash: PROJECT_HASH }
  const calls: Record<string, (options: never) => unknown> = {
    archiveSession: (options) => archiveSession(path, options),
    restoreSession: (options) => restoreSession(path, options),
    deleteSession: (options) => deleteSession('a', directory, PROJECT_HASH, options),
    removeSessionFiles: (options) => (removeSessionFiles as (...all: unknown[]) => unknown)(path, options),
    repairSession: (options) => repairSession(path, join(directory, 'repaired.jsonl'), options),
    exportBundle: (options) => exportBundle(path, join(directory, 'a.cath-bundle'), options),
    importBundle: (options) => importBundle(join(directory, 'a.cath-bundle'), join(directory, 'imported'), options),
    importSession: (options: object) => importSession(path, { ...needed, ...options }),
    exportSession: (options: object) => exportSession(path, join(directory, 'a.json'), { format: 'atif', ...options }),
    createCheckpoint: (options) => createCheckpoint(place, PROJECT_HASH, 'name', options),
    renameCheckpoint: (options) => renameCheckpoint(place, PROJECT_HASH, 'id', 'name', options),
    nameSession: (options) => nameSession(place, PROJECT_HASH, null, options),
    cleanUpLocks: (options) => (cleanUpLocks as (...all: unknown[]) => unknown)(directory, options),
    removeStaleLock: (options) => (removeStaleLock as (...all: unknown[]) => unknown)(directory, 'gone', options),
    deleteCheckpoint: (options) =>
      (deleteCheckpoint as (...all: unknown[]) => unknown)(place, PROJECT_HASH, 'id', options),
  }

  test.each(Object.entries(calls))('of %s throws at once, and changes nothing', (_, call) => {
    writeLock(directory, lockOf(DEAD_PID, { sessionId: 'gone' }), { id: 'gone' })
    const before = [readdirSync(directory), readFileSync(path, 'utf8')]
    expect(() => call({ dryrun: true } as never)).toThrow(
      unknown(expect.stringMatching(/^options has no member 'dryrun'(;|:)/) as string),
    )
    expect([readdirSync(directory), readFileSync(path, 'utf8')]).toStrictEqual(before)
  })

  test('is none where a function without options is called with an empty object, nothing, or by map', async () => {
    const clean = cleanUpLocks as (...all: unknown[]) => Promise<number>
    for (const nothing of [undefined, {}, null, { dryRun: undefined }])
      expect(await clean(directoryOf(), nothing)).toBe(0)
    expect(await Promise.all([directoryOf()].map(clean as never))).toStrictEqual([0])
    await expect(async () => clean(directory, { dryRun: true })).rejects.toThrow(
      "options has no member 'dryRun': the function has no options",
    )
  })
})
