/**
 * Rules 5 and 6: a flush that is requested when the writer has failed already, but the failure has not been reported yet. It
 * ends as a pending one does; after the warning there is nothing to flush.
 */
import { mkdirSync, renameSync, rmdirSync, unlinkSync } from 'node:fs'
import { fc, test } from '../support/property'
import { describe, expect } from 'vitest'
import {
  type Recorder,
  type Warning,
  freshDirectory,
  newRecorder,
  recordsOf,
  said,
  startedRecorder,
  watchedRecorder,
} from '../support/recording'

/** Blocks the event loop until the writer has failed, so that the failure cannot have been reported; the time limit only ends a failed test. */
function waitBusily(recorder: Recorder): void {
  for (const end = performance.now() + 100_000; recorder.isActive() && performance.now() < end; ) Math.sqrt(2)
  expect(recorder.isActive()).toBe(false)
}

/** A recorder whose session file is a directory: EISDIR, an error that rejects flushes. */
function onADirectory(): { recorder: Recorder; warnings: Warning[]; path: string } {
  const path = freshDirectory()
  const watched = watchedRecorder()
  watched.recorder.initializeForResume(path, 3)
  return { ...watched, path }
}

const counts = fc.tuple(fc.integer({ min: 1, max: 30 }), fc.nat({ max: 30 }), fc.integer({ min: 1, max: 4 }))

describe('a failure that has not been reported', () => {
  test.prop([counts], { numRuns: 60 })(
    'rejects every flush until then, and counts everything that was enqueued',
    async ([before, after, flushes]) => {
      const { recorder, warnings, path } = onADirectory()
      for (let i = 0; i < before; i++) recorder.recordContent(said('lost'))
      waitBusily(recorder)
      for (let i = 0; i < after; i++) recorder.recordContent(said('lost as well'))
      const asked = await Promise.allSettled(Array.from({ length: flushes }, () => recorder.flush()))
      for (const flush of asked)
        expect(flush).toMatchObject({ status: 'rejected', reason: { code: 'EISDIR', syscall: 'open', path } })
      expect(warnings).toMatchObject([
        {
          code: 'EISDIR',
          eventsDropped: before + after,
          message: expect.stringMatching(` ${before + after} records? w`),
        },
      ])
      expect(await recorder.flush()).toBeUndefined()
      recorder.recordContent(said('ignored'))
      expect(await recorder.flush()).toBeUndefined()
      await recorder.dispose()
      expect(warnings).toHaveLength(1)
    },
  )

  test.prop([fc.integer({ min: 1, max: 300 })], { numRuns: 40 })(
    'may occur at any moment while records are enqueued',
    async (count) => {
      const { recorder, warnings } = onADirectory()
      for (let i = 0; i < count; i++) recorder.recordContent(said('x'.repeat(i * 10)))
      await expect(recorder.flush()).rejects.toMatchObject({ code: 'EISDIR' })
      expect(warnings).toMatchObject([{ eventsDropped: count }])
    },
  )

  test('resolves a flush if it is one after which a CLI continues without a recording', async () => {
    for (const count of [1, 10, 2000]) {
      const { recorder, warnings, path } = await startedRecorder()
      unlinkSync(path)
      recorder.recordContent(said('lost'))
      waitBusily(recorder)
      for (let i = 1; i < count; i++) recorder.recordContent(said('lost as well'))
      expect(await recorder.flush()).toBeUndefined()
      expect(warnings).toMatchObject([{ code: 'ENOENT', eventsDropped: count }])
    }
  })

  test('does not affect a flush without pending records', async () => {
    const { recorder, warnings, path } = await startedRecorder()
    const flushed = recorder.flush()
    unlinkSync(path)
    mkdirSync(path)
    recorder.recordContent(said('lost'))
    expect(await flushed).toBeUndefined()
    await expect(recorder.flush()).rejects.toMatchObject({ code: 'EISDIR' })
    expect(warnings).toMatchObject([{ eventsDropped: 1 }])
    rmdirSync(path)
  })

  test('is reported before its flush settles; within onWarning there is nothing to flush', async () => {
    const order: string[] = []
    const recorder = newRecorder({
      onWarning: () =>
        void recorder.flush().then(
          () => order.push('flushed within'),
          () => order.push('rejected within'),
        ),
    })
    recorder.initializeForResume(freshDirectory(), 1)
    recorder.recordContent(said('lost'))
    waitBusily(recorder)
    await recorder.flush().catch(() => order.push('rejected'))
    expect(order).toEqual(['flushed within', 'rejected'])
  })
})

test.prop([fc.integer({ min: 1, max: 400 })], { numRuns: 25 })(
  'the records in the file and the dropped ones add up to the enqueued ones',
  async (count) => {
    const { recorder, warnings, path } = await startedRecorder()
    for (let i = 0; i < count; i++) recorder.recordContent(said(`${i}`))
    const kept = `${path}.kept`
    // While the writer is writing.
    renameSync(path, kept)
    for (let i = 0; i < count; i++) recorder.recordContent(said(`${count + i}`))
    await recorder.flush()
    expect(recordsOf(kept).length + warnings[0]!.eventsDropped).toBe(2 + 2 * count)
  },
)
