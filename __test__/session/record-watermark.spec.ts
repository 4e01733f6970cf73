/** Observers of commits, and waits by number. */
import { statSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { Commit } from '../../index.js'
import { type Warning, newRecorder, pathOf, recordedSession, said, startedRecorder } from '../support/recording'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('onCommitWatermark()', () => {
  test('is called before a wait for the record resolves, even if it was written before the wait', async () => {
    for (let round = 0; round < 60; round++) {
      const { recorder } = await startedRecorder()
      const told: number[] = []
      recorder.onCommitWatermark(({ seq }) => void told.push(seq))
      const { seq } = recorder.enqueue('note', {})!
      for (const until = performance.now() + round / 20; performance.now() < until; );
      await recorder.waitForCommitSequence(seq)
      expect(told.at(-1)).toBe(seq)
      await recorder.dispose()
    }
  })

  test('tells each listener after each batch, until it unsubscribes', async () => {
    const option: number[] = []
    const { recorder, path } = await startedRecorder({ onCommitWatermark: ({ seq }) => void option.push(seq) })
    const first: Commit[] = []
    const second: number[] = []
    const end = recorder.onCommitWatermark((commit) => void first.push(commit))
    const endOfSecond = recorder.onCommitWatermark(({ seq }) => void second.push(seq))
    await recorder.commit('note', 1)
    expect(first.at(-1)).toEqual({ seq: 3, byteOffset: statSync(path).size })
    end()
    end()
    recorder.recordContent(said('b'))
    await recorder.flush()
    expect([option.at(-1), first.at(-1)!.seq, second.at(-1)]).toEqual([4, 3, 4])
    endOfSecond()
    await recorder.commit('note', 2)
    expect([option.at(-1), second.at(-1)]).toEqual([5, 4])
    await recorder.dispose()
  })

  test('tells of what was recorded before it was called and is written after', async () => {
    for (let i = 0; i < 30; i++) {
      const recorder = newRecorder()
      recorder.recordContent(said('a'))
      const told: number[] = []
      recorder.onCommitWatermark(({ seq }) => void told.push(seq))
      await recorder.flush()
      expect(told.at(-1)).toBe(2)
      await recorder.dispose()
    }
  })

  test('tells the others if one throws or rejects, and warns once', async () => {
    const warnings: Warning[] = []
    const told: number[] = []
    const recorder = newRecorder({ onWarning: (warning) => void warnings.push(warning) })
    recorder.onCommitWatermark(() => {
      throw new Error('broken')
    })
    recorder.onCommitWatermark((() => Promise.reject(new Error('broken too'))) as () => void)
    recorder.onCommitWatermark(({ seq }) => void told.push(seq))
    for (let i = 0; i < 4; i++) await recorder.commit('note', i)
    await turn()
    expect(warnings).toMatchObject([{ code: 'ObserverFailed', cause: { message: 'broken' }, eventsDropped: 0 }])
    expect(told).toEqual([2, 3, 4, 5])
    expect(recorder.isActive()).toBe(true)
    await recorder.dispose()
  })

  test('may unsubscribe while it is told, and subscribe twice', async () => {
    const recorder = newRecorder()
    const told: number[] = []
    const listener = ({ seq }: Commit): void => void told.push(seq)
    const ends = [recorder.onCommitWatermark(listener), recorder.onCommitWatermark(listener)]
    const self = recorder.onCommitWatermark(() => self())
    await recorder.commit('note', 1)
    ends[0]!()
    await recorder.commit('note', 2)
    expect(told).toEqual([2, 2, 3])
    expect(() => recorder.onCommitWatermark(1 as never)).toThrow(/listener must be a function/)
    await recorder.dispose()
  })
})

describe('a wait by number', () => {
  test('resolves when the record is in the file, also one that waits for the file', async () => {
    const recorder = newRecorder()
    expect(recorder.getLastEnqueuedSequence()).toBe(1)
    const { seq } = recorder.enqueue('note', 1)!
    expect(recorder.getLastEnqueuedSequence()).toBe(seq)
    const waiting = recorder.waitForCommitSequence(seq)
    recorder.recordContent(said('a'))
    const last = await recorder.waitForCommitSequence(recorder.getLastEnqueuedSequence())
    expect(last).toEqual({ seq: 3, byteOffset: statSync(pathOf(recorder)).size })
    expect(await waiting).toMatchObject({ seq: 2 })
    await recorder.dispose()
    expect(await recorder.waitForCommitSequence(3)).toEqual(last)
    expect(recorder.getLastEnqueuedSequence()).toBe(3)
  })

  test('rejects for a number that no record has, and throws for none', async () => {
    const { recorder } = await startedRecorder()
    for (const seq of [0, 3, 99])
      await expect(recorder.waitForCommitSequence(seq)).rejects.toThrow(
        `The recorder has no record with the seq ${seq} in its file`,
      )
    for (const seq of [-1, 1.5, NaN, '1', undefined])
      expect(() => recorder.waitForCommitSequence(seq as number)).toThrow(TypeError)
    await recorder.dispose()
  })

  test('resolves at once for what was in a file before it was resumed', async () => {
    const path = await recordedSession()
    const recorder = newRecorder()
    recorder.initializeForResume(path, 2)
    expect(recorder.getLastEnqueuedSequence()).toBe(2)
    expect(await recorder.waitForCommitSequence(2)).toEqual({ seq: 2, byteOffset: NaN })
    await expect(recorder.waitForCommitSequence(3)).rejects.toThrow(/no record with the seq 3/)
    await recorder.dispose()
  })
})
