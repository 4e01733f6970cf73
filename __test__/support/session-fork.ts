// Sources of forks for the specs of `forkSession`: session files with checkpoints, and what forks of them leave.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { forkSession, replaySession } from '../../index.js'
import type { ForkOptions, ForkResult, ForkTarget, SessionFailure } from '../../index.js'
import { directoryOf } from './file-directory'
import { content, PROJECT_HASH, START_PAYLOAD, session, type Event, type Replayed } from './session-file'
import { atEndOfTest } from './spec-scope'

export const SOURCE_ID = START_PAYLOAD.sessionId
export const created = (checkpointId: unknown, name: unknown = `name of ${String(checkpointId)}`): Event => [
  'checkpoint_created',
  { checkpointId, name },
]
export const renamed = (checkpointId: string, name: string): Event => ['checkpoint_renamed', { checkpointId, name }]
export const deleted = (checkpointId: string): Event => ['checkpoint_deleted', { checkpointId }]

export interface Source {
  chatsDir: string
  filePath: string
  /** The bytes of its file. */
  bytes: Buffer
  target: (checkpointId?: string, checkpointName?: string) => ForkTarget
  options: (more?: Partial<ForkOptions>) => ForkOptions
}

/** A session file in a directory of its own. */
export function sourceOf(text: string): Source {
  const name = 'session-2026-02-11T16-00-71e871bd.jsonl'
  return sourceAt(directoryOf({ [name]: text }), name)
}

export function sourceAt(chatsDir: string, name: string): Source {
  const filePath = join(chatsDir, name)
  return {
    chatsDir,
    filePath,
    bytes: readFileSync(filePath),
    target: (checkpointId = 'c1', checkpointName = 'as listed') => ({
      checkpointId,
      checkpointName,
      source: { sessionId: SOURCE_ID, filePath },
    }),
    options: (more = {}) => ({
      chatsDir,
      projectHash: PROJECT_HASH,
      provider: 'acme',
      model: 'acme-lärge',
      workspaceDirs: ['/wörk', '/\ud800'],
      ...more,
    }),
  }
}

/** A source with the checkpoint `c1` after two items, and a third item after that. */
export const simpleSource = (): Source =>
  sourceOf(session(content('one'), content('zwölf', 'ai'), created('c1'), content('three')))

const open: ForkResult[] = []
atEndOfTest(disposeForks)

export async function disposeForks(): Promise<void> {
  for (const { recording } of open.splice(0)) await recording.dispose()
}

/** A fork that must succeed; its recorder is disposed of after the test. */
export async function forked(target: ForkTarget, options: ForkOptions): Promise<ForkResult> {
  const result = await forkSession(target, options)
  if (!result.ok) throw new Error(`${result.code}: ${result.error}`)
  open.push(result)
  return result
}

/** The names in the directory of a source, except that of its file. */
export const beside = ({ chatsDir, filePath }: Source): string[] =>
  readdirSync(chatsDir)
    .filter((name) => join(chatsDir, name) !== filePath)
    .sort()

/** Asserts that a fork fails and leaves everything as it was. `kept`: the other files in the directory, before and after. */
export async function expectFailure(
  source: Source,
  options: ForkOptions,
  expected: Omit<SessionFailure, 'ok'>,
  target = source.target(),
  kept: string[] = [],
): Promise<void> {
  expect(await forkSession(target, options)).toEqual({ ok: false, ...expected })
  expect(beside(source)).toEqual(kept)
}

export async function strictReplay(filePath: string, throughSeq?: number): Promise<Replayed> {
  const replayed = await replaySession(filePath, PROJECT_HASH, { strict: true, throughSeq })
  if (!replayed.ok) throw new Error(replayed.error)
  return replayed
}

/** Changes a source in one of the ways in which a file can change. */
export function change(filePath: string, bytes: Buffer, how: number): void {
  if (how === 0) writeFileSync(filePath, `${bytes.toString('latin1')}{"torn`, 'latin1')
  else if (how === 1) writeFileSync(filePath, bytes.subarray(0, bytes.length >> 1))
  else writeFileSync(filePath, Buffer.alloc(bytes.length, 0x20))
}
