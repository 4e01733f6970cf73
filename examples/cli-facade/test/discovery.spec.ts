import { rename, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

import {
  CheckpointService,
  readFirstLineFromFile,
  SessionDiscovery,
  type ContinueTarget,
  type DeleteSessionError,
  type DeleteSessionResult,
  type ForkError,
  type ForkResult,
  type ListSessionsResult,
  type ResumeError,
  type ResumeResult,
  type SessionResolution,
  type SessionResolutionError,
  type SessionSummary,
} from '../src/index.js'
import { closedSession, newDirectory, openSession, PROJECT, said } from './chats.js'

const header = (payload: object): string =>
  `${JSON.stringify({ v: 1, seq: 1, ts: '', type: 'session_start', payload })}\n`

describe('listing', () => {
  test('returns the sessions of the project, newest first, and the files that are not sessions, with the reasons', async () => {
    const chatsDir = await newDirectory()
    const [first, second] = [await closedSession(chatsDir, 'a1', 'one'), await closedSession(chatsDir, 'b2', 'zwei')]
    await utimes(first, 1_800_000_000, 1_800_000_000)
    await utimes(second, 1_700_000_000, 1_700_000_000)
    await rename(await closedSession(chatsDir, 'd4', 'four'), join(chatsDir, 'copy.jsonl'))
    await writeFile(join(chatsDir, 'session-other.jsonl'), header({ sessionId: 'x', projectHash: 'another' }))
    await writeFile(join(chatsDir, 'session-none.jsonl'), header({ sessionId: null, projectHash: PROJECT }))
    await writeFile(join(chatsDir, 'session-torn.jsonl'), '{"v":1,')
    await writeFile(join(chatsDir, 'notes.jsonl'), 'nothing')
    await writeFile(
      join(chatsDir, 'session-old.jsonl'),
      header({ sessionId: 'old', projectHash: PROJECT, startTime: '' }),
    )
    const { sessions, ...passedOver } = await SessionDiscovery.listSessionsDetailed(chatsDir, PROJECT)
    expect(sessions.map(({ sessionId }) => sessionId)).toEqual(['a1', 'b2'])
    const [none, old, torn] = ['none', 'old', 'torn'].map((name) => join(chatsDir, `session-${name}.jsonl`))
    const invalid = 'Invalid session_start: missing or malformed required fields'
    const noJson = 'Missing or corrupt session_start event: first line is not valid JSON'
    expect(passedOver).toStrictEqual({
      skippedCount: 3,
      recordingErrors: [`${none}: ${invalid}`, `${old}: ${invalid}`, `${torn}: ${noJson}`],
      unreadableRecordings: [
        { filePath: none, reason: invalid },
        { filePath: old, sessionId: 'old', reason: invalid },
        { filePath: torn, reason: noJson },
      ],
    })
    expect(await SessionDiscovery.listContinueTargetsDetailed(chatsDir, PROJECT)).toMatchObject(passedOver)
    expect(await SessionDiscovery.listSessions(chatsDir, PROJECT)).toEqual(sessions)
  })

  test('of a directory that does not exist is empty; of a file in its place it rejects', async () => {
    const chatsDir = await newDirectory()
    expect(await SessionDiscovery.listSessionsDetailed(chatsDir, PROJECT)).toEqual({
      sessions: [],
      skippedCount: 0,
      recordingErrors: [],
      unreadableRecordings: [],
    })
    expect(await SessionDiscovery.listContinueTargets(chatsDir, PROJECT)).toEqual([])
    await writeFile(chatsDir, '')
    await expect(SessionDiscovery.listSessions(chatsDir, PROJECT)).rejects.toMatchObject({ code: 'ENOTDIR' })
    await expect(SessionDiscovery.listContinueTargets(chatsDir, PROJECT)).rejects.toMatchObject({ code: 'ENOTDIR' })
  })

  test('of targets returns sessions and live checkpoints', async () => {
    const chatsDir = await newDirectory()
    const recording = await openSession(chatsDir, 'a1', 'one')
    const { checkpointId } = await new CheckpointService().createCheckpoint(recording, PROJECT, 'größer')
    await writeFile(join(chatsDir, 'session-torn.jsonl'), '{"v":1,')
    const { targets, skippedCount } = await SessionDiscovery.listContinueTargetsDetailed(chatsDir, PROJECT)
    expect(targets).toMatchObject([
      { kind: 'session', session: { sessionId: 'a1' } },
      { kind: 'checkpoint', source: { sessionId: 'a1' }, checkpointId, checkpointName: 'größer', sequence: 3 },
    ])
    expect(skippedCount).toBe(1)
    expect(SessionDiscovery.resolveContinueRef('größer', targets)).toEqual({ target: targets[1] })
    expect(SessionDiscovery.resolveSessionRef('2', await SessionDiscovery.listSessions(chatsDir, PROJECT))).toEqual({
      error: 'Session index 2 out of range (1-1)',
      code: 'IndexOutOfRange',
    })
  })
})

test('summaries and results that the CLI makes itself have the types of the example', () => {
  const session: SessionSummary = {
    sessionId: 'a1',
    filePath: 'session-a1.jsonl',
    projectHash: PROJECT,
    startTime: '',
    lastModified: new Date(0),
    fileSize: 1,
    provider: 'acme',
    model: 'acme-large',
  }
  const targets: ContinueTarget[] = [
    { kind: 'session', session },
    { kind: 'checkpoint', source: session, checkpointId: 'c', checkpointName: 'here', sequence: 2 },
  ]
  const resolved: SessionResolution | SessionResolutionError = SessionDiscovery.resolveSessionRef('1', [session])
  expect(resolved).toEqual({ session })
  expect(SessionDiscovery.resolveContinueRef('here', targets)).toEqual({ target: targets[1] })
  const failed: (ResumeError | DeleteSessionError | ForkError)[] = [{ ok: false, error: 'in use' }]
  const done: (ListSessionsResult | DeleteSessionResult | ResumeResult | ForkResult)[] = [
    { sessions: [session] },
    { ok: true, deletedSessionId: 'a1' },
  ]
  expect([failed.length, done.length]).toEqual([1, 2])
})

describe('names', () => {
  test('are trimmed, and refused if they are empty or reserved', () => {
    expect(SessionDiscovery.validateName('  naïve ')).toBe('naïve')
    expect(() => SessionDiscovery.validateName(' ')).toThrow('Name must not be empty')
    expect(() => SessionDiscovery.validateName('latest')).toThrow("Name 'latest' is reserved")
  })

  test('are refused if a session or a checkpoint of the project has them', async () => {
    const chatsDir = await newDirectory()
    const recording = await openSession(chatsDir, 'a1', 'one')
    const service = new CheckpointService()
    await service.setSessionName(recording, PROJECT, 'plan')
    await service.createCheckpoint(recording, PROJECT, 'début')
    const available = (name: string): Promise<string> => SessionDiscovery.validateAvailableName(name, chatsDir, PROJECT)
    expect(await available(' free ')).toBe('free')
    await expect(available('plan')).rejects.toThrow("Name 'plan' already exists (conflicts with a session)")
    await expect(available('a1')).rejects.toThrow("Name 'a1' already exists (conflicts with a session)")
    await expect(available('début')).rejects.toThrow("Name 'début' already exists (conflicts with a checkpoint)")
  })
})

test('content, first user message, title and header are read from a file', async () => {
  const chatsDir = await newDirectory()
  const recording = await openSession(chatsDir, 'a1')
  recording.recordSessionMetadata('Títle')
  await recording.flush()
  const path = recording.getFilePath()!
  expect(await SessionDiscovery.hasContentEvents(path)).toBe(false)
  expect(await SessionDiscovery.readFirstUserMessage(path)).toBeNull()
  recording.recordContent(said('answer', 'ai'))
  recording.recordContent(said('a 😀 question'))
  await recording.flush()
  expect(await SessionDiscovery.hasContentEvents(path)).toBe(true)
  expect(await SessionDiscovery.readFirstUserMessage(path)).toBe('a 😀 question')
  expect(await SessionDiscovery.readFirstUserMessage(path, 3)).toBe('a ')
  expect(await SessionDiscovery.readSessionMetadataTitle(path)).toBe('Títle')
  expect(await SessionDiscovery.readSessionHeader(path)).toMatchObject({ sessionId: 'a1' })
  expect(await readFirstLineFromFile(path)).toEqual(await SessionDiscovery.readSessionHeader(path))
  expect(await readFirstLineFromFile(`${path}.none`)).toBeNull()
})
