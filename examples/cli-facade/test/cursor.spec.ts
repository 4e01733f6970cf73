import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

import {
  CheckpointService,
  CONTINUE_LATEST,
  replaySession,
  replaySessionRows,
  replaySessionThroughSequence,
  ResumeCursorBoot,
  resumeSession,
  SessionDiscovery,
  SessionTransitionService,
  type ContinueTarget,
  type IContent,
  type MediaStore,
} from '../src/index.js'
import { closedSession, newDirectory, openSession, PROJECT, RUNTIME, said } from './chats.js'

const requestOf = (chatsDir: string) => ({ ...RUNTIME, continueRef: CONTINUE_LATEST, projectHash: PROJECT, chatsDir })

async function all(rows: AsyncIterable<IContent>): Promise<IContent[]> {
  const items = []
  for await (const row of rows) items.push(row)
  return items
}

const stored: IContent = { ...said('answer', 'ai'), metadata: { id: 'x', responsesStored: true } }
const answer: IContent = { ...said('answer', 'ai'), metadata: { id: 'x' } }

/** A closed session with a question and an answer. */
async function closed(chatsDir: string): Promise<string> {
  const recording = await openSession(chatsDir, 'a1', 'one')
  recording.recordContent(stored)
  await recording.dispose()
  return recording.getFilePath()!
}

describe('a session that is resumed', () => {
  test('with a cursor has a boot that streams its items, until the recorder ends', async () => {
    const chatsDir = await newDirectory()
    const filePath = await closed(chatsDir)
    const resumed = await resumeSession({ ...requestOf(chatsDir), history: 'cursor' })
    if (!resumed.ok) throw new Error(resumed.error)
    const { boot, recording } = resumed
    expect(resumed).not.toHaveProperty('history')
    expect(boot).toBeInstanceOf(ResumeCursorBoot)
    expect(boot).toMatchObject({ filePath, lastSeq: 3, watermark: 3 })
    recording.recordContent(said('later'))
    await recording.flush()
    expect(await all(boot.streamRows())).toStrictEqual([said('one'), answer])
    expect(await all(boot.cursor.rows({ from: -1 }))).toStrictEqual([answer])
    expect(await boot.cursor.items(0, 1)).toStrictEqual([said('one')])
    await boot.markMediaAdopted()
    await recording.dispose()
    await expect(all(boot.streamRows())).rejects.toMatchObject({ code: 'ESESSIONCLOSED' })
    await boot.close()
    await expect(all(boot.streamRows())).rejects.toThrow('Resume boot is closed')
  })

  test('without one has its history, and a boot with the same items', async () => {
    const chatsDir = await newDirectory()
    await closed(chatsDir)
    const resumed = await resumeSession(requestOf(chatsDir))
    if (!resumed.ok) throw new Error(resumed.error)
    await resumed.recording.commit('content', { content: said('later') })
    expect(resumed.history).toStrictEqual([said('one'), answer])
    expect(resumed.boot).toMatchObject({ lastSeq: 3, watermark: 3 })
    expect(await all(resumed.boot.streamRows())).toStrictEqual(resumed.history)
    expect(resumed.recording.reconcile([...resumed.history, said('later')])).toEqual({
      removed: 0,
      added: 0,
      replaced: 0,
    })
    await resumed.boot.close()
    await resumed.recording.dispose()
  })

  test('has the recordings that were passed over, also if there is no other', async () => {
    const chatsDir = await newDirectory()
    const filePath = await closed(chatsDir)
    const bad = join(chatsDir, 'session-bad.jsonl')
    await writeFile(bad, 'null\n')
    const reason = 'Missing or corrupt session_start event: first line is not a session_start event'
    const resumed = await resumeSession(requestOf(chatsDir))
    expect(resumed.skippedRecordings).toEqual([{ filePath: bad, reason }])
    if (resumed.ok) await resumed.recording.dispose()
    await rename(filePath, join(chatsDir, 'moved.txt'))
    expect(await resumeSession(requestOf(chatsDir))).toMatchObject({
      ok: false,
      error: `No sessions found for this project; skipped unreadable recordings: ${bad}: ${reason}`,
      skippedRecordings: [{ filePath: bad, reason }],
    })
  })
})

test('a fork has a boot with its items', async () => {
  const chatsDir = await newDirectory()
  const source = await openSession(chatsDir, 'a1', 'one', 'two')
  await new CheckpointService().createCheckpoint(source, PROJECT, 'here')
  const target = (await SessionDiscovery.listContinueTargets(chatsDir, PROJECT)).find(
    ({ kind }) => kind === 'checkpoint',
  ) as Extract<ContinueTarget, { kind: 'checkpoint' }>
  const forked = await new SessionTransitionService({ maxQueueBytes: 8 << 20 }).forkFromCheckpoint(
    target,
    chatsDir,
    PROJECT,
    'acme',
    'acme-small',
    [],
    source,
  )
  if (!forked.ok) throw new Error(forked.error)
  forked.recording.recordContent(said('later'))
  await forked.recording.flush()
  expect(await all(forked.boot.streamRows())).toStrictEqual([said('one'), said('two')])
  expect(forked.boot.filePath).toBe(forked.recording.getFilePath())
  await forked.boot.close()
  await forked.recording.dispose()
})

describe('rows', () => {
  test('are passed on one by one, with a result that has no history', async () => {
    const path = await closedSession(await newDirectory(), 'a1', 'one', 'two')
    const rows: IContent[] = []
    const replayed = await replaySession(path, PROJECT)
    const result = await replaySessionRows(path, PROJECT, async (row) => void rows.push(row))
    expect(rows).toStrictEqual([said('one'), said('two')])
    expect(result).toStrictEqual({ ...replayed, history: [] })
    expect(await replaySessionRows(path, 'another', () => {})).toEqual(await replaySession(path, 'another'))
    await expect(replaySessionRows(path, PROJECT, () => Promise.reject(new Error('full')))).rejects.toThrow('full')
  })
})

describe('a media store', () => {
  const reference = { type: 'media', encoding: 'reference', contentId: 'sha256:1' }
  const withImage = {
    speaker: 'human',
    blocks: [{ type: 'text', text: 'look' }, reference, { type: 'media', encoding: 'base64', data: '' }],
  } as unknown as IContent

  async function imageSession(chatsDir: string): Promise<string> {
    const recording = await openSession(chatsDir, 'a1')
    recording.recordContent(withImage)
    await recording.dispose()
    return recording.getFilePath()!
  }

  test('is asked for each reference of a replay', async () => {
    const path = await imageSession(await newDirectory())
    const asked: unknown[] = []
    const mediaStore: MediaStore = { readVerified: async (one) => void asked.push(one) }
    expect(await replaySession(path, PROJECT, { mediaStore })).toMatchObject({ ok: true, history: [withImage] })
    expect(asked).toEqual([reference])
    expect(await replaySessionThroughSequence(path, PROJECT, 1, { mediaStore })).toMatchObject({
      ok: true,
      history: [],
    })
    expect(asked).toHaveLength(1)
  })

  test('that has lost an image makes a replay and a resumption fail, and leaves no lock', async () => {
    const chatsDir = await newDirectory()
    const path = await imageSession(chatsDir)
    const mediaStore: MediaStore = { readVerified: () => Promise.reject(new Error('no object sha256:1')) }
    expect(await replaySession(path, PROJECT, { mediaStore })).toEqual({
      ok: false,
      error: 'no object sha256:1',
      warnings: [],
    })
    expect(await resumeSession({ ...requestOf(chatsDir), mediaStore })).toMatchObject({
      ok: false,
      error: 'Failed to replay session: no object sha256:1',
    })
    const resumed = await resumeSession({ ...requestOf(chatsDir), mediaStore, history: 'cursor' })
    if (!resumed.ok) throw new Error(resumed.error)
    await expect(all(resumed.boot.streamRows())).rejects.toThrow('no object sha256:1')
    await resumed.recording.dispose()
  })
})
