// A directory with sessions for a test, removed after it.

import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

import { SessionRecordingService, type IContent } from '../src/index.js'

export const PROJECT = 'a3f5c1'
export const RUNTIME = { currentProvider: 'acme', currentModel: 'acme-large', workspaceDirs: ['/home/zoë/project'] }

/** A directory for sessions, which does not exist yet. */
export async function newDirectory(): Promise<string> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'cli-facade-')))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  return join(directory, 'chats')
}

export const said = (text: string, speaker: IContent['speaker'] = 'human'): IContent => ({
  speaker,
  blocks: [{ type: 'text', text }],
})

export function configOf(chatsDir: string, sessionId: string) {
  return {
    sessionId,
    projectHash: PROJECT,
    chatsDir,
    workspaceDirs: RUNTIME.workspaceDirs,
    provider: 'acme',
    model: 'acme-large',
  }
}

/** An open session that owns its lock and has these items. */
export async function openSession(
  chatsDir: string,
  sessionId: string,
  ...texts: string[]
): Promise<SessionRecordingService> {
  const recording = await SessionRecordingService.createLocked(configOf(chatsDir, sessionId))
  onTestFinished(() => recording.dispose())
  for (const text of texts) recording.recordContent(said(text))
  await recording.flush()
  return recording
}

/** Records and closes a session with these items. Returns its path. */
export async function closedSession(chatsDir: string, sessionId: string, ...texts: string[]): Promise<string> {
  const recording = await openSession(chatsDir, sessionId, ...texts)
  await recording.dispose()
  return recording.getFilePath()!
}
