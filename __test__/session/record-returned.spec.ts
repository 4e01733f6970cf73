/** Rule 12: `enqueue` returns the record that is in the file. Methods work without their object, including overridden and replaced ones. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fc, test } from '../support/property'
import { afterEach, describe, expect, vi } from 'vitest'
import {
  type Content,
  type Recorder,
  freshDirectory,
  newRecorder,
  pathOf,
  recordedSession,
  recorderConfig,
  recordsOf,
  said,
  SessionRecordingService,
} from '../support/recording'

const ANY_TYPE = fc.constantFrom(
  'content',
  'session_metadata',
  'session_named',
  'rewind',
  'note',
  'checkpoint_created',
  'émoji 🎞',
)

afterEach(() => void vi.useRealTimers())

describe('a returned record', () => {
  test.prop(
    [
      fc.array(
        fc.tuple(
          ANY_TYPE,
          fc.jsonValue().map((value) => ({ value })),
        ),
        { maxLength: 20 },
      ),
    ],
    { numRuns: 60 },
  )('is the one in the file, its keys in the same order', async (events) => {
    const recorder = newRecorder()
    const returned = events.map(([type, payload]) => recorder.enqueue(type, payload)!)
    recorder.recordContent(said('the end'))
    await recorder.dispose()
    const inFile = recordsOf(pathOf(recorder)).slice(1, -1)
    expect(returned.map((record) => JSON.parse(JSON.stringify(record)))).toEqual(inFile)
    for (const [i, record] of returned.entries()) {
      expect(Object.keys(record)).toEqual(['v', 'seq', 'ts', 'type', 'payload'])
      expect(record.payload).toBe(events[i]![1])
    }
  })

  test.prop(
    [fc.oneof(fc.double(), fc.integer({ min: -9e15, max: 9e15 }), fc.constantFrom(8.64e15, -8.64e15, 8.7e15, -8.7e15))],
    { numRuns: 60 },
  )('has the time that the file has, whatever the clock shows', async (now) => {
    const recorder = newRecorder()
    recorder.recordContent(said('x'))
    const clock = vi.spyOn(Date, 'now').mockReturnValue(now)
    const { ts } = recorder.enqueue('note', {})!
    clock.mockRestore()
    await recorder.dispose()
    expect(ts).toBe(recordsOf(pathOf(recorder))[2]!.ts)
  })

  test('keeps its number when a resume renumbers what was buffered', async () => {
    const path = await recordedSession()
    const recorder = newRecorder()
    const buffered = recorder.enqueue('note', {})!
    recorder.initializeForResume(path, 41)
    const next = recorder.enqueue('note', {})!
    await recorder.dispose()
    expect([buffered.seq, next.seq]).toEqual([2, 43])
    expect(
      recordsOf(path)
        .slice(-2)
        .map((record) => record.seq),
    ).toEqual([42, 43])
  })

  test('is null when the recorder was disposed, has failed, or cannot create its file', async () => {
    const disposed = newRecorder()
    await disposed.dispose()
    expect(disposed.enqueue('content', { content: said('x') })).toBeNull()
    const file = join(freshDirectory(), 'file')
    writeFileSync(file, '')
    const failing = newRecorder({ chatsDir: join(file, 'chats') })
    expect(failing.enqueue('note', {})).not.toBeNull()
    expect(failing.enqueue('content', { content: said('x') })).toBeNull()
    expect(failing.enqueue('content', { content: said('y') })).toBeNull()
    await failing.dispose()
  })
})

describe('methods without their object', () => {
  const names = Object.getOwnPropertyNames(SessionRecordingService.prototype).filter(
    (name) => name !== 'constructor',
  ) as (keyof Recorder)[]

  test('each of them is a bound, writable, configurable and not enumerable property', () => {
    const recorder = newRecorder()
    expect(names.length).toBeGreaterThan(20)
    for (const name of names) {
      const property = Object.getOwnPropertyDescriptor(recorder, name)
      expect(property, name).toMatchObject({
        value: expect.any(Function),
        writable: true,
        configurable: true,
        enumerable: false,
      })
    }
    expect(Object.keys(recorder)).toEqual([])
  })

  test('record as on the object', async () => {
    const recorder = newRecorder({ cwd: '/home/ada' })
    const {
      enqueue,
      recordContent,
      recordCompressed,
      recordRewind,
      recordProviderSwitch,
      recordSessionEvent,
      recordDirectoriesChanged,
    } = recorder
    const {
      recordSessionMetadata,
      getSessionMetadataTitle,
      recordSessionFork,
      flush,
      isActive,
      getFilePath,
      getSessionId,
      getChatsDir,
      getProjectHash,
    } = recorder
    const { getPendingRecordCount, getPendingByteCount, ownsLockFor, getOwnedLockHandle, dispose } = recorder
    recordContent(said('x'))
    recordCompressed(said('sum', 'ai'), 1)
    recordRewind(1)
    recordProviderSwitch('p2', 'm2')
    recordSessionEvent('info', 'noted')
    recordDirectoriesChanged(['/a'])
    recordSessionMetadata('A title')
    recordSessionFork({ parentSessionId: 'p', parentSequence: 3, checkpointId: 'c', checkpointName: 'before' })
    enqueue('note', {})
    await flush()
    expect([getSessionMetadataTitle(), isActive(), getPendingRecordCount(), getPendingByteCount()]).toEqual([
      'A title',
      true,
      0,
      0,
    ])
    expect([getSessionId(), getProjectHash()]).toEqual([recorderConfig().sessionId, 'a3f5c1'])
    expect([ownsLockFor(getSessionId()), getOwnedLockHandle()]).toEqual([false, null])
    expect(getFilePath()!.startsWith(getChatsDir())).toBe(true)
    await dispose()
    expect(recordsOf(pathOf(recorder)).map((record) => record.type)).toEqual([
      'session_start',
      'content',
      'compressed',
      'rewind',
      'provider_switch',
      'session_event',
      'directories_changed',
      'session_metadata',
      'session_forked',
      'note',
    ])
  })

  test('an override of a subclass is bound, and is called by other methods', async () => {
    class Shouting extends SessionRecordingService<Content> {
      readonly seen: string[] = []
      override enqueue(type: string, payload: unknown) {
        this.seen.push(type)
        return super.enqueue(type, payload)
      }
      override recordContent(content: Content) {
        super.recordContent({ ...content, speaker: 'ai' })
      }
    }
    const recorder = new Shouting(recorderConfig())
    const { recordContent, recordRewind } = recorder
    recordContent(said('x'))
    recordRewind(0)
    await recorder.dispose()
    expect(recorder.seen).toEqual(['content', 'rewind'])
    expect(recordsOf(pathOf(recorder))[1]!.payload.content.speaker).toBe('ai')
  })

  test('a method that is replaced on the instance is used', async () => {
    const recorder = newRecorder()
    recorder.recordContent(said('x'))
    const flush = vi.spyOn(recorder, 'flush')
    await recorder.dispose()
    expect(flush).toHaveBeenCalledTimes(1)
  })
})
