/** Rule 8: `dispose` flushes, closes, releases the lock, and rejects with the error of that flush. */
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fc, test } from '../support/property'
import { describe, expect, vi } from 'vitest'
import { type SessionLock, SessionLockedError, isSessionLocked, sessionLockPath } from '../../index.js'
import {
  type Recorder,
  type RecorderConfig,
  freshDirectory,
  newRecorder,
  pathOf,
  recorderConfig,
  recordsOf,
  said,
  SessionRecordingService,
  watchedRecorder,
  recordedSession,
  startedRecorder,
} from '../support/recording'
import { type LeaseHolder, hasLeases, holdLease } from '../support/leases'
import { logOf } from '../support/run-directory'
import {
  newRecorder as newRunRecorder,
  noted,
  payloadsOf,
  startedRecorder as startedRun,
} from '../support/run-recording'

/** A lock that notes when it is released: the recorder's side of the contract needs no file. */
function notedLock(onRelease = () => {}): SessionLock & { released: number } {
  return {
    lockPath: '/nowhere.lock',
    released: 0,
    ownsLock: async () => true,
    async release() {
      this.released += 1
      onRelease()
    },
  }
}

describe('the lock of a recorder', () => {
  test('is released after the last record is in the file', async () => {
    const recorder = newRecorder()
    recorder.recordContent(said('x'))
    let types: string[] = []
    const lock = notedLock(() => (types = recordsOf(pathOf(recorder)).map((record) => record.type)))
    recorder.adoptLock(lock)
    recorder.recordRewind(1)
    await recorder.dispose()
    expect(types).toEqual(['session_start', 'content', 'rewind'])
    expect(lock.released).toBe(1)
  })

  test('is owned by an active recorder of that session only', async () => {
    const recorder = newRecorder({ sessionId: 'mine' })
    expect([recorder.ownsLockFor('mine'), recorder.getOwnedLockHandle()]).toEqual([false, null])
    const lock = notedLock()
    recorder.adoptLock(lock)
    expect([recorder.ownsLockFor('mine'), recorder.ownsLockFor('other')]).toEqual([true, false])
    expect(recorder.getOwnedLockHandle()).toBe(lock)
    expect(() => recorder.adoptLock(notedLock())).toThrow(new Error('Session recording already owns a lock'))
    const disposed = recorder.dispose()
    expect([recorder.ownsLockFor('mine'), recorder.getOwnedLockHandle()]).toEqual([false, null])
    await disposed
    expect(() => recorder.adoptLock(notedLock())).toThrow('Session recording already owns a lock')
  })

  test('is not adopted by a recorder that has ended', async () => {
    const recorder = newRecorder()
    await recorder.dispose()
    expect(() => recorder.adoptLock(notedLock())).toThrow('has ended')
  })

  test('is kept by a recorder that has failed until it is disposed of', async () => {
    const lock = notedLock()
    const recorder = failing()
    recorder.adoptLock(lock)
    await expect(recorder.flush()).rejects.toMatchObject({ code: 'EISDIR' })
    expect([recorder.isActive(), recorder.getOwnedLockHandle(), lock.released]).toEqual([false, null, 0])
    await recorder.dispose()
    expect(lock.released).toBe(1)
  })

  test.prop([fc.anything().filter((value) => typeof (value as any)?.release !== 'function')], { numRuns: 40 })(
    'anything that is not a lock is refused',
    (value) => {
      expect(() => newRecorder().adoptLock(value as SessionLock)).toThrow(TypeError)
    },
  )
})

/** A recorder whose session file is a directory, with a record that will be lost. */
function failing(): Recorder {
  const { recorder } = watchedRecorder()
  recorder.initializeForResume(freshDirectory(), 3)
  recorder.recordContent(said('lost'))
  return recorder
}

describe('a flush that fails', () => {
  test('rejects dispose, and the lock is released anyway', async () => {
    const recorder = failing()
    const lock = notedLock()
    recorder.adoptLock(lock)
    const disposed = recorder.dispose()
    expect(recorder.isActive()).toBe(false)
    await expect(disposed).rejects.toMatchObject({ code: 'EISDIR', syscall: 'open' })
    expect(lock.released).toBe(1)
    expect(recorder.dispose()).toBe(disposed)
  })

  test('causes no unhandled rejection if dispose is not awaited', async () => {
    const unhandled = vi.fn()
    process.on('unhandledRejection', unhandled)
    try {
      const recorder = failing()
      const lock = notedLock()
      recorder.adoptLock(lock)
      recorder.dispose()
      await vi.waitFor(() => expect(lock.released).toBe(1))
      await new Promise((resolve) => setTimeout(resolve, 20))
      expect(unhandled).not.toHaveBeenCalled()
    } finally {
      process.off('unhandledRejection', unhandled)
    }
  })

  test('may be that of a replaced method, which may throw synchronously', async () => {
    for (const flush of [
      () => Promise.reject(new Error('mine')),
      () => {
        throw new Error('mine')
      },
    ]) {
      const recorder = newRecorder()
      const lock = notedLock()
      recorder.recordContent(said('kept'))
      recorder.adoptLock(lock)
      recorder.flush = flush
      await expect(recorder.dispose()).rejects.toThrow('mine')
      expect(lock.released).toBe(1)
      expect(readFileSync(pathOf(recorder), 'utf8')).toContain('kept')
    }
  })

  test('leaves the recorder inactive if anything enqueued before it was lost', async () => {
    const recorder = failing()
    await recorder.flush().catch(() => {})
    expect(recorder.isActive()).toBe(false)
    expect(recorder.enqueue('note', {})).toBeNull()
  })
})

describe('createLocked', () => {
  test('locks the session until the recorder is disposed', async () => {
    const config = recorderConfig({ sessionId: 'locked-session' })
    const recorder = await SessionRecordingService.createLocked(config)
    expect(recorder.ownsLockFor('locked-session')).toBe(true)
    expect(recorder.getOwnedLockHandle()!.lockPath).toBe(sessionLockPath(config.chatsDir, 'locked-session'))
    await expect(SessionRecordingService.createLocked(config)).rejects.toThrow(SessionLockedError)
    expect(await isSessionLocked(config.chatsDir, 'locked-session')).toBe(true)
    recorder.recordContent(said('x'))
    await recorder.dispose()
    expect(await isSessionLocked(config.chatsDir, 'locked-session')).toBe(false)
    expect(readdirSync(config.chatsDir)).toEqual([basename(pathOf(recorder))])
    const next = await SessionRecordingService.createLocked(config)
    await next.dispose()
  })

  test('constructs the class that it is called on, and leaves no lock if that throws', async () => {
    class Facade extends SessionRecordingService {
      constructor(config: RecorderConfig) {
        super({ ...config, fileName: 'seconds' })
        if (config.model === 'none') throw new Error('no model')
      }
    }
    const config = recorderConfig()
    const recorder = await Facade.createLocked(config)
    expect(recorder).toBeInstanceOf(Facade)
    await recorder.dispose()
    await expect(Facade.createLocked({ ...config, model: 'none' })).rejects.toThrow('no model')
    expect(readdirSync(config.chatsDir)).toEqual([])
  })

  test('rejects for an id that no lock can have, and for a directory that cannot be created', async () => {
    await expect(SessionRecordingService.createLocked(recorderConfig({ sessionId: '../x' }))).rejects.toThrow(
      'Unsafe session ID rejected: "../x"',
    )
    const file = join(freshDirectory(), 'file')
    writeFileSync(file, '')
    await expect(SessionRecordingService.createLocked(recorderConfig({ chatsDir: file }))).rejects.toMatchObject({
      code: expect.stringMatching(/^(ENOTDIR|ENOENT)$/),
    })
  })

  test('rejects for an invalid configuration, and does not throw', async () => {
    for (const config of [
      undefined,
      {},
      { ...recorderConfig(), model: 1 },
      { ...recorderConfig(), cwd: 1 },
      { ...recorderConfig(), fileName: 'hours' },
    ]) {
      await expect(SessionRecordingService.createLocked(config as never)).rejects.toThrow(TypeError)
    }
  })
})

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
