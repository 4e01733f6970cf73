import { writeFile } from 'node:fs/promises'
import { SessionRecordingService as Tape } from 'session-tape'
import { describe, expect, test } from 'vitest'

import {
  CheckpointLockError,
  CheckpointService,
  deleteSession,
  replaySession,
  SessionDiscovery,
  SessionRecordingService,
  SessionTransitionService,
  type ContinueTarget,
} from '../src/index.js'
import { closedSession, newDirectory, openSession, PROJECT, said } from './chats.js'

const service = new CheckpointService()
const fork = new SessionTransitionService()

describe('checkpoints', () => {
  test('of an open session are created, renamed, overwritten and deleted', async () => {
    const recording = await openSession(await newDirectory(), 'a1', 'one')
    const path = recording.getFilePath()!
    const { checkpointId } = await service.createCheckpoint(recording, PROJECT, ' été ')
    await expect(service.createCheckpoint(recording, PROJECT, 'été')).rejects.toThrow("Name 'été' already exists")
    await service.renameCheckpoint(recording, PROJECT, checkpointId, 'hiver')
    expect(await service.listCheckpoints(path, PROJECT)).toMatchObject([{ checkpointId, name: 'hiver', sequence: 3 }])
    const second = await service.createCheckpoint(recording, PROJECT, 'hiver', true)
    expect(await service.getDeletionBlockers(path, PROJECT)).toMatchObject([
      { checkpointId: second.checkpointId, name: 'hiver' },
    ])
    await service.deleteCheckpoint(recording, PROJECT, second.checkpointId)
    expect(await service.listCheckpoints(path, PROJECT)).toEqual([])
    await service.setSessionName(recording, PROJECT, 'plan')
    expect(await replaySession(path, PROJECT)).toMatchObject({ sessionName: 'plan' })
    await service.setSessionName(recording, PROJECT, null)
    expect(await replaySession(path, PROJECT)).toMatchObject({ sessionName: null })
  })

  test('of a closed session are created, renamed and deleted, and block its deletion', async () => {
    const chatsDir = await newDirectory()
    const path = await closedSession(chatsDir, 'a1', 'one')
    const { checkpointId } = await service.createCheckpointClosed(path, PROJECT, chatsDir, 'a1', 'été')
    await service.renameCheckpointClosed(path, PROJECT, chatsDir, 'a1', checkpointId, 'hiver')
    expect(await deleteSession('a1', chatsDir, PROJECT)).toEqual({
      ok: false,
      error: `Cannot delete session: live checkpoints block deletion: hiver (${checkpointId})`,
    })
    await service.deleteCheckpointClosed(path, PROJECT, chatsDir, 'a1', checkpointId)
    expect(await deleteSession('a1', chatsDir, PROJECT)).toEqual({ ok: true, deletedSessionId: 'a1' })
  })

  test('of a session in use cannot be changed from elsewhere', async () => {
    const chatsDir = await newDirectory()
    const path = (await openSession(chatsDir, 'a1', 'one')).getFilePath()!
    const created = service.createCheckpointClosed(path, PROJECT, chatsDir, 'a1', 'été')
    await expect(created).rejects.toThrow('Session a1 is in use by another process')
    await expect(created).rejects.toBeInstanceOf(CheckpointLockError)
  })

  test('of a file that does not replay are an empty list; whether they block its deletion is unknown', async () => {
    const path = await closedSession(await newDirectory(), 'a1', 'one')
    await writeFile(path, '')
    expect(await service.listCheckpoints(path, PROJECT)).toEqual([])
    await expect(service.getDeletionBlockers(path, PROJECT)).rejects.toThrow('Empty file')
  })
})

describe('a fork', () => {
  test('has the history up to a checkpoint of an open session, and a recorder of session-tape', async () => {
    const chatsDir = await newDirectory()
    const source = await openSession(chatsDir, 'a1', 'one', 'zwölf')
    await service.createCheckpoint(source, PROJECT, 'here')
    source.recordContent(said('three'))
    const found = SessionDiscovery.resolveContinueRef(
      'here',
      await SessionDiscovery.listContinueTargets(chatsDir, PROJECT),
    )
    const target = (found as { target: Extract<ContinueTarget, { kind: 'checkpoint' }> }).target
    const forked = await fork.forkFromCheckpoint(target, chatsDir, PROJECT, 'acme', 'acme-small', ['/w'], source)
    if (!forked.ok) throw new Error(forked.error)
    expect(forked.history).toEqual([said('one'), said('zwölf')])
    expect(forked.metadata).toMatchObject({ provider: 'acme', model: 'acme-small', workspaceDirs: ['/w'] })
    expect(forked.recording).toBeInstanceOf(Tape)
    expect(forked.recording).not.toBeInstanceOf(SessionRecordingService)
    expect(forked.recording.getFilePath()).toMatch(/T\d\d-\d\d-\d\d-[0-9a-f-]{12}\.jsonl$/)
    await service.createCheckpoint(forked.recording, PROJECT, 'there')
    await forked.recording.dispose()
  })
})
