/** `map`: every item of a result passes through a function of the caller, once and in order. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fc, test } from '../support/property'
import { requestOf } from '../support/resuming'
import { describe, expect } from 'vitest'
import { createCheckpoint, forkSession, openSession, replaySession, resumeSession } from '../../index.js'
import type { IContent, ItemMap, SessionRecordingService } from '../../index.js'
import {
  type Content,
  freshDirectory,
  pathOf,
  recorderConfig,
  recordsOf,
  said,
  SessionRecordingService as Tape,
} from '../support/recording'

const marker = (seq: number) => ({ seq, userTurn: 0, step: 0, recordedAt: 0 })
const textOf = (item: Content) => (item.blocks[0] as { text: string }).text
const shout: ItemMap<Content> = (item) => said(textOf(item).toUpperCase(), item.speaker)

async function session(
  chatsDir: string,
  count: number,
  more: (recorder: SessionRecordingService) => void = () => {},
): Promise<{ path: string; sessionId: string }> {
  const recorder = await Tape.createLocked(recorderConfig({ chatsDir, sessionId: 'mapped-session' }))
  for (let i = 0; i < count; i++) recorder.recordContent(said(`item ${i}`))
  more(recorder)
  await recorder.dispose()
  return { path: pathOf(recorder), sessionId: 'mapped-session' }
}

const request = (chatsDir: string) => requestOf(chatsDir, 'mapped-session', { projectHash: 'a3f5c1' })

describe('a replay', () => {
  test.prop([fc.nat({ max: 3000 }), fc.boolean(), fc.boolean()], { numRuns: 20 })(
    'maps every item once, in order, however it is read',
    async (count, strict, isOpened) => {
      const { path } = await session(freshDirectory(), count + 1)
      const seen: string[] = []
      const map: ItemMap<Content> = (item) => (seen.push(textOf(item)), shout(item))
      const expected = Array.from({ length: count + 1 }, (_, i) => `item ${i}`)
      let history: Content[] = []
      if (isOpened) {
        const opened = await openSession(path, undefined, { strict, map })
        if (!opened.ok) throw new Error(opened.error)
        expect(seen).toEqual([])
        for await (const item of opened.session) history.push(item)
        opened.session.close()
      } else {
        const replayed = await replaySession(path, undefined, { strict, map })
        if (!replayed.ok) throw new Error(replayed.error)
        history = replayed.history
      }
      expect(seen).toEqual(expected)
      expect(history.map(textOf)).toEqual(expected.map((text) => text.toUpperCase()))
    },
  )

  test('tells the map which items have invalid responses, also of a page', async () => {
    const { path } = await session(freshDirectory(), 4, (recorder) => {
      recorder.recordChronologyBind({ rowIndex: 1, chronology: marker(1), invalidateResponses: true })
      recorder.recordChronologyBind({ rowIndex: 2, chronology: marker(2) })
      recorder.recordChronologyBind({
        rowIndex: 3,
        chronology: marker(3),
        content: said('new'),
        invalidateResponses: true,
      })
    })
    const told: unknown[][] = []
    const map: ItemMap<Content> = (...args) => (told.push([textOf(args[0]), ...args.slice(1)]), args[0])
    await replaySession(path, undefined, { strict: true, map })
    const all = [
      ['item 0'],
      ['item 1', { invalidateResponses: true }],
      ['item 2'],
      ['new', { invalidateResponses: true }],
    ]
    expect(told.splice(0)).toEqual(all)
    const opened = await openSession(path, undefined, { strict: true, map })
    if (!opened.ok) throw new Error(opened.error)
    await opened.session.items(-2)
    opened.session.close()
    expect(told).toEqual(all.slice(2))
  })

  test('rejects with what the map throws', async () => {
    const { path } = await session(freshDirectory(), 2)
    const error = new Error('from the map')
    const map = () => {
      throw error
    }
    await expect(replaySession(path, undefined, { map })).rejects.toBe(error)
    const opened = await openSession(path, undefined, { map })
    if (!opened.ok) throw new Error(opened.error)
    await expect(opened.session.items()).rejects.toBe(error)
    opened.session.close()
  })
})

describe('a resumed session', () => {
  test('has mapped items, and its history counts as what the file gives', async () => {
    const chatsDir = freshDirectory()
    await session(chatsDir, 3)
    const resumed = await resumeSession<IContent>({ ...request(chatsDir), map: shout })
    if (!resumed.ok) throw new Error(resumed.error)
    expect(resumed.history.map(textOf)).toEqual(['ITEM 0', 'ITEM 1', 'ITEM 2'])
    expect(resumed.recording.reconcile(resumed.history)).toEqual({ removed: 0, added: 0, replaced: 0 })
    expect(resumed.recording.reconcile([...resumed.history, said('next')])).toEqual({
      removed: 0,
      added: 1,
      replaced: 0,
    })
    await resumed.recording.dispose()
  })

  test('is not resumed if the map throws, and is not locked then', async () => {
    const chatsDir = freshDirectory()
    await session(chatsDir, 3)
    const error = new Error('from the map')
    await expect(
      resumeSession({
        ...request(chatsDir),
        map: () => {
          throw error
        },
      }),
    ).rejects.toBe(error)
    const resumed = await resumeSession(request(chatsDir))
    if (!resumed.ok) throw new Error(resumed.error)
    expect(resumed.history).toHaveLength(3)
    await resumed.recording.dispose()
  })
})

describe('a fork', () => {
  async function forked(map: ItemMap<IContent> | undefined) {
    const chatsDir = freshDirectory()
    const { path, sessionId } = await session(chatsDir, 3)
    const place = { filePath: path, chatsDir, sessionId }
    const { checkpointId, name } = await createCheckpoint(place, 'a3f5c1', 'here')
    writeFileSync(join(chatsDir, 'unrelated.jsonl'), '')
    const target = { checkpointId, checkpointName: name, source: { sessionId, filePath: path } }
    return forkSession<IContent>(target, {
      chatsDir,
      projectHash: 'a3f5c1',
      provider: 'p',
      model: 'm',
      workspaceDirs: [],
      map,
    })
  }

  test('writes mapped items, each mapped once', async () => {
    const seen: string[] = []
    const fork = await forked((item) => (seen.push(textOf(item)), shout(item)))
    if (!fork.ok) throw new Error(fork.error)
    expect(seen).toEqual(['item 0', 'item 1', 'item 2'])
    expect(fork.history.map(textOf)).toEqual(['ITEM 0', 'ITEM 1', 'ITEM 2'])
    expect(fork.recording.reconcile(fork.history)).toEqual({ removed: 0, added: 0, replaced: 0 })
    const path = pathOf(fork.recording)
    await fork.recording.dispose()
    expect(
      recordsOf(path)
        .filter(({ type }) => type === 'content')
        .map(({ payload }) => textOf(payload.content)),
    ).toEqual(['ITEM 0', 'ITEM 1', 'ITEM 2'])
  })

  test('without a map has the items of the source', async () => {
    const fork = await forked(undefined)
    if (!fork.ok) throw new Error(fork.error)
    expect(fork.history.map(textOf)).toEqual(['item 0', 'item 1', 'item 2'])
    expect(fork.recording.reconcile(fork.history)).toEqual({ removed: 0, added: 0, replaced: 0 })
    await fork.recording.dispose()
  })

  test('is not created if the map throws', async () => {
    expect(
      await forked(() => {
        throw new Error('from the map')
      }),
    ).toEqual({ ok: false, code: 'System', error: 'Failed to create child session: from the map' })
  })
})
