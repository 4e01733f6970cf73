/** The limit of the queue, and what becomes of a record beyond it. */
import { describe, expect } from 'vitest'
import { fc, test } from '../support/property'
import { DEFAULT_MAX_QUEUE_BYTES } from '../../index.js'
import {
  type Recorder,
  type RecorderConfig,
  lineText,
  newRecorder,
  pathOf,
  recordedSession,
  recordsOf,
  said,
  startedRecorder,
} from '../support/recording'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const sizeOf = (seq: number, content: unknown) =>
  Buffer.byteLength(lineText(seq, '2026-02-11T16:00:00.000Z', 'content', { content }))
const state = (recorder: Recorder) => [
  recorder.getLastEnqueuedSequence(),
  recorder.getPendingRecordCount(),
  recorder.getPendingByteCount(),
  recorder.getFilePath(),
]
const exceeded = (pending: number, added: number, limit: number) =>
  expect.objectContaining({
    message: `Session recording queue byte limit exceeded: ${pending} + ${added} > ${limit}`,
    code: 'QueueLimitExceeded',
  })

/** What a call throws. */
function thrown(call: () => void): unknown {
  try {
    call()
  } catch (error) {
    return error
  }
  return undefined
}

describe('maxQueueBytes', () => {
  test('is any safe integer from 0, or Infinity, by default 64 MiB', () => {
    expect(DEFAULT_MAX_QUEUE_BYTES).toBe(64 * 1024 * 1024)
    for (const maxQueueBytes of [0, 1, 2 ** 53 - 1, Infinity, undefined])
      expect(newRecorder({ maxQueueBytes }).isActive()).toBe(true)
    const refusal = expect.objectContaining({
      name: 'TypeError',
      message: 'Session recording queue byte limit must be a non-negative safe integer or Infinity',
    })
    for (const maxQueueBytes of [-1, 1.5, NaN, -Infinity, 2 ** 53, '1', null, 1n]) {
      expect(
        thrown(() => newRecorder({ maxQueueBytes: maxQueueBytes as number })),
        String(maxQueueBytes),
      ).toEqual(refusal)
    }
    for (const onQueueLimit of ['drop', null, 1])
      expect(() => newRecorder({ onQueueLimit: onQueueLimit as 'throw' })).toThrow(
        /config\.onQueueLimit must be one of 'throw', 'wait'/,
      )
  })

  test.each([{ onQueueLimit: 'wait' }, {}] as const)(
    'of 0 lets commits wait for an empty queue, and refuses nothing else (%j)',
    async (options) => {
      const { recorder, path } = await startedRecorder({ maxQueueBytes: 0, ...options })
      const commits = [recorder.commit('note', 1), recorder.commit('note', 2)]
      recorder.recordContent(said('never waits'))
      await Promise.all(commits)
      await recorder.dispose()
      expect(recordsOf(path).map(({ seq, payload }) => [seq, payload?.content === undefined])).toEqual([
        [1, true],
        [2, false],
        [3, true],
        [4, false],
        [5, true],
      ])
    },
  )
})

describe("onQueueLimit: 'throw'", () => {
  test.prop([fc.nat({ max: 4000 }), fc.array(fc.nat({ max: 1500 }), { minLength: 1, maxLength: 12 }), fc.boolean()], {
    numRuns: 60,
  })(
    'a content that has no room throws, records nothing and uses up no number; others are recorded',
    async (maxQueueBytes, sizes, isStarted) => {
      const options: Partial<RecorderConfig> = { maxQueueBytes, onQueueLimit: 'throw' }
      const recorder = newRecorder(options)
      if (isStarted) await recorder.commit('note', 1), await turn()
      const texts: string[] = []
      for (const size of sizes) {
        const text = 'ü'.repeat(size)
        const content = said(text)
        const before = state(recorder)
        const [seq, , pending] = before as [number, number, number]
        const added = sizeOf(seq + 1, content)
        const error = thrown(() => recorder.recordContent(content))
        if (pending + added > maxQueueBytes) {
          expect(error).toEqual(exceeded(pending, added, maxQueueBytes))
          expect(state(recorder)).toEqual(before)
        } else {
          expect(error).toBeUndefined()
          expect(recorder.getLastEnqueuedSequence()).toBe(seq + 1)
          texts.push(text)
        }
      }
      await recorder.dispose()
      if (recorder.getFilePath() === null) return
      const records = recordsOf(pathOf(recorder))
      expect(records.map(({ seq }) => seq)).toEqual(records.map((_, i) => i + 1))
      expect(
        records.filter(({ type }) => type === 'content').map(({ payload }) => payload.content.blocks[0].text),
      ).toEqual(texts)
    },
  )

  test('refuses every content at 0, and nothing else', async () => {
    const path = await recordedSession()
    const other = newRecorder({ maxQueueBytes: 0, onQueueLimit: 'throw' })
    other.initializeForResume(path, 2)
    await other.flush()
    await turn()
    const content = said('a')
    expect(thrown(() => other.recordContent(content))).toEqual(exceeded(0, sizeOf(3, content), 0))
    expect(other.enqueue('content', { content: said('enqueued') })).toMatchObject({ seq: 3 })
    other.recordSessionEvent('info', 'b')
    await other.commit('note', 1)
    await other.dispose()
    expect(recordsOf(path).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5])
  })

  test('refuses a batch as a whole, when it is prepared and when it is published', async () => {
    const items = [said('a'), said('b')]
    const sizes = [sizeOf(3, items[0]) + sizeOf(4, items[1]), sizeOf(4, items[0]) + sizeOf(5, items[1])] as const
    const path = await recordedSession()
    const recorder = newRecorder({ maxQueueBytes: sizes[0], onQueueLimit: 'throw' })
    recorder.initializeForResume(path, 2)
    await recorder.flush()
    await turn()
    const batch = recorder.prepareContentBatch(items)
    recorder.enqueue('note', 'in between')
    const before = state(recorder)
    expect(thrown(() => batch.publish())).toEqual(exceeded(before[2] as number, sizes[1], sizes[0]))
    expect(thrown(() => recorder.prepareContentBatch(items))).toEqual(exceeded(before[2] as number, sizes[1], sizes[0]))
    expect(state(recorder)).toEqual(before)
    await recorder.flush()
    batch.publish()
    batch.finalize()
    await recorder.dispose()
    expect(recordsOf(path)).toHaveLength(5)
  })

  test('serialises a content once, and leaves the limit to the recorder that a subclass calls', async () => {
    const { recorder, path } = await startedRecorder({ maxQueueBytes: 1000, onQueueLimit: 'throw' })
    let times = 0
    recorder.recordContent({ ...said('a'), toJSON: () => (times++, said('printed')) } as never)
    expect(times).toBe(1)
    const enqueue = recorder.enqueue
    recorder.enqueue = (type, payload) => enqueue(type === 'content' ? 'note' : type, payload)
    recorder.recordContent(said('x'.repeat(2000)))
    await recorder.dispose()
    expect(recordsOf(path).map(({ type }) => type)).toEqual(['session_start', 'content', 'content', 'note'])
  })
})

test("a batch can't wait: it is refused beyond the limit with 'wait' too", async () => {
  const { recorder } = await startedRecorder({ maxQueueBytes: 10 })
  await turn()
  expect(thrown(() => recorder.prepareContentBatch([said('a')]))).toEqual(exceeded(0, sizeOf(3, said('a')), 10))
  await recorder.dispose()
})
