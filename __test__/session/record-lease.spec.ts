/** A file server may hold a lease on a recording: it gives way as soon as it is asked to, and recorders wait for that. */
import { writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { type LeaseHolder, hasLeases, holdLease } from '../support/leases'
import { recordedSession, recordsOf, said, startedRecorder, watchedRecorder } from '../support/recording'
import { logOf } from '../support/run-directory'
import {
  newRecorder as newRunRecorder,
  noted,
  payloadsOf,
  startedRecorder as startedRun,
} from '../support/run-recording'

interface UnderLease extends Pick<Awaited<ReturnType<typeof startedRecorder>>, 'recorder' | 'warnings'> {
  path: string
  holder: LeaseHolder
}

async function expectRecorded({ recorder, warnings, path, holder }: UnderLease): Promise<void> {
  recorder.recordContent(said('after the lease'))
  await recorder.flush()
  expect(await holder.ended).toBe(true)
  expect(recordsOf(path).map(({ seq }) => seq)).toEqual([1, 2, 3])
  expect([recorder.isActive(), warnings]).toEqual([true, []])
  await recorder.dispose()
}

describe.skipIf(!hasLeases).each(['read', 'write'] as const)(
  'while another process holds a %s lease (needs Linux, Python and a file system with leases)',
  (kind) => {
    test('a session is recorded once the holder has given way', async () => {
      const { recorder, warnings, path } = await startedRecorder()
      const holder = await holdLease(kind, [path])
      await expectRecorded({ recorder, warnings, path, holder })
    })

    test('a session is resumed once the holder has given way', async () => {
      const path = await recordedSession()
      const holder = await holdLease(kind, [path])
      const { recorder, warnings } = watchedRecorder({ durability: 'fsync' })
      recorder.initializeForResume(path, 2)
      await expectRecorded({ recorder, warnings, path, holder })
    })

    test('an exclusive recorder gets a lock file that was left over', async () => {
      const path = await recordedSession()
      writeFileSync(`${path}.lock`, 'an owner that was killed')
      const holder = await holdLease(kind, [`${path}.lock`])
      const { recorder, warnings } = watchedRecorder({ exclusive: true })
      recorder.initializeForResume(path, 2)
      recorder.recordContent(said('after the lease'))
      await recorder.dispose()
      expect(await holder.ended).toBe(true)
      expect(recordsOf(path)).toHaveLength(3)
      expect(warnings).toEqual([])
    })

    test('a run is recorded, and resumed, once the holder has given way', async () => {
      const { recorder, warnings, directory, config } = startedRun()
      await recorder.flush()
      const first = await holdLease(kind, [logOf(directory)])
      recorder.append(noted('after the lease'))
      await recorder.flush()
      expect(await first.ended).toBe(true)
      expect([recorder.isActive(), warnings]).toEqual([true, []])
      await recorder.dispose()

      writeFileSync(logOf(directory), '{"torn', { flag: 'a' })
      const second = await holdLease(kind, [logOf(directory)])
      const resumed = newRunRecorder({ ...config, resume: true })
      resumed.recorder.append(noted('after the second lease'))
      await resumed.recorder.dispose()
      expect(await second.ended).toBe(true)
      expect(
        payloadsOf(directory)
          .slice(2)
          .map(({ message }) => message),
      ).toEqual(['after the lease', 'after the second lease'])
      expect(resumed.warnings).toMatchObject([{ code: 'TornTail' }])
    })
  },
)
