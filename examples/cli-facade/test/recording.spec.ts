import { readdir, readFile, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { SessionRecordingService as Tape } from 'session-tape'
import { describe, expect, test, vi } from 'vitest'

import {
  CONTINUE_LATEST,
  deleteSession,
  deleteSessionById,
  foldCheckpointMetadata,
  listSessions,
  readSessionHeader,
  replaySession,
  replaySessionThroughSequence,
  resumeSession,
  SESSION_FILE_ID_PREFIX_LENGTH,
  SESSION_NOT_FOUND_PREFIX,
  SessionRecordingService,
  type IContent,
} from '../src/index.js'
import { closedSession, configOf, newDirectory, openSession, PROJECT, RUNTIME, said } from './chats.js'

const ID = 'f3a91c22-0001-demo'

describe('the recording service', () => {
  test('has the class of the example, also if it is created locked, and puts seconds into file names', async () => {
    const recording = await openSession(await newDirectory(), ID, 'héllo')
    expect(recording).toBeInstanceOf(SessionRecordingService)
    expect(recording).toBeInstanceOf(Tape)
    expect(recording.ownsLockFor(ID)).toBe(true)
    const name = basename(recording.getFilePath()!)
    expect(name).toMatch(/^session-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-f3a91c22-000\.jsonl$/)
    expect(name.endsWith(`-${ID.slice(0, SESSION_FILE_ID_PREFIX_LENGTH)}.jsonl`)).toBe(true)
  })

  test("logs why recording has stopped, and then calls the host's own function", async () => {
    const chatsDir = await newDirectory()
    await writeFile(chatsDir, 'a file in the place of the directory')
    const order: string[] = []
    const logged = vi.spyOn(console, 'warn').mockImplementation(() => void order.push('logged'))
    const recording = new SessionRecordingService({
      ...configOf(chatsDir, ID),
      onWarning: ({ code }) => order.push(code),
    })
    recording.recordContent(said('héllo'))
    await expect(recording.dispose()).rejects.toThrow('EEXIST')
    expect(order).toEqual(['logged', 'EEXIST'])
    logged.mockRestore()
  })
})

describe('what September has brought', () => {
  test('a replayed answer has nothing that a provider has stored; everything else is as it was recorded', async () => {
    const recording = await openSession(await newDirectory(), ID)
    const stored = (speaker: IContent['speaker'], responsesStored: boolean): IContent => ({
      ...said('two', speaker),
      metadata: { id: 'x', responsesStored },
    })
    const [ai, refused, human, tool] = [
      stored('ai', true),
      stored('ai', false),
      stored('human', true),
      stored('tool', true),
    ]
    for (const content of [ai, refused, human, tool]) recording.recordContent(content)
    await recording.flush()
    const replayed = await replaySession(recording.getFilePath()!, PROJECT)
    expect(replayed.ok && replayed.history).toStrictEqual([
      { ...said('two', 'ai'), metadata: { id: 'x' } },
      refused,
      human,
      tool,
    ])
  })
})

describe('replay', () => {
  test('is strict, of the whole file and up to a sequence number', async () => {
    const path = await closedSession(await newDirectory(), ID, 'one', 'two', 'thrée')
    const line = JSON.stringify({
      v: 1,
      seq: 1.5,
      ts: '',
      type: 'content',
      payload: { content: said('no whole number') },
    })
    await writeFile(path, `${line}\n`, { flag: 'a' })
    const replayed = await replaySession(path, PROJECT)
    expect(replayed).toMatchObject({ ok: true, history: [said('one'), said('two'), said('thrée')], lastSeq: 4 })
    expect(replayed.warnings).toContain('Line 5: malformed sequence number, skipping')
    expect(await replaySessionThroughSequence(path, PROJECT, 3)).toMatchObject({ history: [said('one'), said('two')] })
    expect(await replaySession(path, 'another')).toMatchObject({
      ok: false,
      error: `Project hash mismatch: expected another got ${PROJECT}`,
    })
  })

  test('reads headers and folds checkpoints', async () => {
    const recording = await openSession(await newDirectory(), ID, 'one')
    const { checkpointId } = await recording.createCheckpoint('naïve')
    const path = recording.getFilePath()!
    expect(await readSessionHeader(path)).toMatchObject({ sessionId: ID, projectHash: PROJECT })
    const lines = (await readFile(path, 'utf8')).trimEnd().split('\n')
    expect(foldCheckpointMetadata(lines.map((text) => JSON.parse(text)))).toMatchObject([
      { checkpointId, name: 'naïve', sequence: 3, deleted: false },
    ])
  })
})

describe('a session', () => {
  test('is resumed, with a recorder that owns its lock', async () => {
    const chatsDir = await newDirectory()
    const path = await closedSession(chatsDir, ID, 'one')
    const resumed = await resumeSession({ ...RUNTIME, continueRef: CONTINUE_LATEST, projectHash: PROJECT, chatsDir })
    if (!resumed.ok) throw new Error(resumed.error)
    const { recording, lockHandle, history } = resumed
    expect(history).toEqual([said('one')])
    expect([await lockHandle.ownsLock(), recording.getFilePath()]).toEqual([true, path])
    expect(await resumeSession({ ...RUNTIME, continueRef: '1', projectHash: PROJECT, chatsDir })).toEqual({
      ok: false,
      error: 'Session is in use by another process',
      code: 'Locked',
      skippedRecordings: [],
    })
    recording.recordContent(said('two'))
    await recording.dispose()
    expect(await replaySession(path, PROJECT)).toMatchObject({ history: [said('one'), said('two')] })
  })

  test('is listed, and deleted by a reference or by its full id', async () => {
    const chatsDir = await newDirectory()
    await closedSession(chatsDir, ID, 'one')
    await closedSession(chatsDir, 'b7', 'two')
    const ids = async (): Promise<string[]> =>
      (await listSessions(chatsDir, PROJECT)).sessions.map(({ sessionId }) => sessionId)
    expect((await ids()).sort()).toEqual(['b7', ID])
    expect(await deleteSessionById('f3a9', chatsDir, PROJECT)).toStrictEqual({
      ok: false,
      error: `${SESSION_NOT_FOUND_PREFIX} f3a9`,
    })
    expect(await deleteSession('x', chatsDir, PROJECT)).toStrictEqual({
      ok: false,
      error: 'Session not found for this project: x',
    })
    expect(await deleteSession('f3a9', chatsDir, PROJECT)).toEqual({ ok: true, deletedSessionId: ID })
    expect(await ids()).toEqual(['b7'])
    expect(await deleteSessionById('b7', chatsDir, PROJECT)).toEqual({ ok: true, deletedSessionId: 'b7' })
    expect(await readdir(chatsDir)).toEqual([])
  })
})
