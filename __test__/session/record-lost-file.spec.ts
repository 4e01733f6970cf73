/**
 * Rule 6 for a session file that was deleted or moved, or replaced by something else: the file is opened anew for each batch
 * and never created again, so the recorder notices, warns once, and leaves nothing incomplete behind.
 */
import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  rmdirSync,
  unlinkSync,
  writeFileSync,
  copyFileSync,
  readFileSync,
  truncateSync,
} from 'node:fs'
import { constants } from 'node:os'
import { dirname } from 'node:path'
import { fc, test } from '../support/property'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import {
  type Warning,
  eventually,
  freshDirectory,
  linesOf,
  recordsOf,
  said,
  startedRecorder,
  theWarning,
  watchedRecorder,
  type Recorder,
  newRecorder,
  recordedSession,
  replaySession,
} from '../support/recording'
import { childReport, isLinux } from '../support/processes'
import { logOf } from '../support/run-directory'
import { noted, payloadsOf, startedRecorder as startedRun } from '../support/run-recording'

// There must not be an unhandled rejection in this file.
const unhandled: unknown[] = []
const keep = (reason: unknown): void => void unhandled.push(reason)
beforeAll(() => void process.on('unhandledRejection', keep))
afterAll(() => {
  process.off('unhandledRejection', keep)
  expect(unhandled).toEqual([])
})

describe('a file that is no longer what it was', () => {
  test('deleted between batches: ENOENT, and no headless file takes its place', async () => {
    const { recorder, warnings, path } = await startedRecorder()
    unlinkSync(path)
    recorder.recordContent(said('lost'))
    await recorder.flush()
    expect(await theWarning(warnings)).toEqual({
      code: 'ENOENT',
      message: expect.any(String),
      filePath: path,
      eventsDropped: 1,
    })
    expect(recorder.isActive()).toBe(false)
    expect(existsSync(path)).toBe(false)
    expect(readdirSync(dirname(path))).toEqual([])
  })

  test('replaced by a directory: the pending flushes reject with the error that Node would report', async () => {
    // Whether or not the writer notices before the flush is requested.
    for (let attempt = 0; attempt < 20; attempt++) {
      const { recorder, warnings, path } = await startedRecorder()
      unlinkSync(path)
      mkdirSync(path)
      recorder.recordContent(said('lost'))
      const flushes = await Promise.allSettled([recorder.flush(), recorder.flush()])
      expect(await theWarning(warnings)).toMatchObject({ code: 'EISDIR', filePath: path, eventsDropped: 1 })
      await recorder.flush()
      await recorder.dispose()
      rmdirSync(path)
      for (const flush of flushes) {
        expect(flush).toMatchObject({
          status: 'rejected',
          reason: { code: 'EISDIR', syscall: 'open', path, errno: -constants.errno.EISDIR },
        })
        expect((flush as PromiseRejectedResult).reason).toBeInstanceOf(Error)
      }
    }
  })

  test('an error without a pending flush is a warning, not an unhandled rejection', async () => {
    const { recorder, warnings, path } = await startedRecorder()
    unlinkSync(path)
    mkdirSync(path)
    recorder.recordContent(said('lost'))
    expect((await theWarning(warnings)).code).toBe('EISDIR')
    expect(recorder.isActive()).toBe(false)
    expect(unhandled).toEqual([])
  })

  test('a recorder without onWarning just stops', async () => {
    const { recorder, path } = await startedRecorder()
    unlinkSync(path)
    recorder.recordContent(said('lost'))
    await recorder.flush()
    await eventually('the end of the recording', () => !recorder.isActive())
    expect(() => recorder.recordContent(said('ignored'))).not.toThrow()
  })

  test('an onWarning that throws is called once, and does not undo the end of the recording', async () => {
    const report = await childReport<{ calls: number; active: boolean; flush: string; disposed: string }>(
      'child-faults.mjs',
      ['throwingOnWarning', freshDirectory()],
    )
    expect(report).toEqual({ calls: 1, active: false, flush: 'resolved', disposed: 'resolved' })
  })

  type Loss = [code: string, lose: (path: string) => void]
  const losses: Loss[] = [
    ['ENOENT', (path) => unlinkSync(path)],
    ['ENOENT', (path) => renameSync(path, `${path}.moved`)],
    ['ENOENT', (path) => renameSync(dirname(path), `${dirname(path)}.moved`)],
    ['ENOENT', (path) => rmSync(dirname(path), { recursive: true })],
    [
      'ENOTDIR',
      (path) => {
        rmSync(dirname(path), { recursive: true })
        writeFileSync(dirname(path), '')
      },
    ],
  ]
  test.prop([fc.constantFrom(...losses), fc.nat({ max: 40 }), fc.integer({ min: 1, max: 40 })], { numRuns: 30 })(
    'lost in any way at any moment: flush resolves, the buffered records are counted, no file is created',
    async ([code, lose], written, lost) => {
      const { recorder, warnings, path } = await startedRecorder()
      for (let i = 0; i < written; i++) recorder.recordContent(said(`written ${i}`))
      await recorder.flush()
      expect(recordsOf(path)).toHaveLength(2 + written)
      await recorder.dispose()

      // Buffered before the resume, so that they reach the writer together and the count is exact.
      const next = watchedRecorder()
      for (let i = 0; i < lost; i++) next.recorder.recordSessionEvent('info', `buffered ${i}`)
      lose(path)
      next.recorder.initializeForResume(path, 2 + written)
      await next.recorder.flush()
      expect(await theWarning(next.warnings)).toMatchObject({ code, filePath: path, eventsDropped: lost })
      expect(next.recorder.isActive()).toBe(false)
      expect(existsSync(path)).toBe(false)
      expect(warnings).toEqual([])
    },
  )

  test.skipIf(!isLinux || spawnSync('mkfifo', ['--version']).status !== 0)(
    'replaced by a pipe without a reader: neither flush nor the process waits forever',
    async () => {
      const report = await childReport<{ active: boolean; warnings: Warning[] }>('child-faults.mjs', [
        'fifoInPlace',
        freshDirectory(),
      ])
      expect(report).toMatchObject({ active: false, later: 'resolved', disposed: 'resolved', unhandled: [] })
      expect(report.warnings).toMatchObject([{ eventsDropped: 1 }])
    },
  )
})

test('a line that another process tore between two batches is not fused with the next record', async () => {
  const { recorder, path } = await startedRecorder()
  appendFileSync(path, '{"v":1,"seq":9,"ts":"20')
  recorder.recordContent(said('whole'))
  await recorder.dispose()
  expect(linesOf(path).slice(2)).toEqual(['{"v":1,"seq":9,"ts":"20', expect.stringContaining('whole')])
})

/** Puts a copy of the file in its place, as editors and `sed -i` do. */
function copyInPlace(path: string): void {
  copyFileSync(path, `${path}.copy`)
  renameSync(`${path}.copy`, path)
}

/** Each way to lose what was written, given the file as it was a record earlier. */
const partialLosses: [what: string, lose: (path: string, earlier: Buffer) => void][] = [
  ['truncated by one byte', (path) => truncateSync(path, readFileSync(path).length - 1)],
  ['truncated to nothing', (path) => truncateSync(path, 0)],
  ['cut back to its first line', (path) => writeFileSync(path, readFileSync(path, 'utf8').split('\n')[0] + '\n')],
  [
    'rotated: moved away, and an empty file created',
    (path) => (renameSync(path, `${path}.1`), writeFileSync(path, '')),
  ],
  ['rotated: copied, and truncated', (path) => (copyFileSync(path, `${path}.1`), truncateSync(path, 0))],
  ['restored from an older copy in place', (path, earlier) => writeFileSync(path, earlier)],
  [
    'restored from an older copy by a rename',
    (path, earlier) => (writeFileSync(`${path}.old`, earlier), renameSync(`${path}.old`, path)),
  ],
]

/** Each way to change a file that keeps what was written. */
const harmless: [what: string, change: (path: string) => void][] = [
  ['replaced by an identical copy', copyInPlace],
  [
    'replaced by a longer copy',
    (path) => (copyInPlace(path), appendFileSync(path, '{"v":1,"seq":9,"ts":"","type":"note","payload":0}\n')),
  ],
  [
    'appended to by another program',
    (path) => appendFileSync(path, '{"v":1,"seq":9,"ts":"","type":"note","payload":0}\n'),
  ],
]

/** A session of another recorder, longer than any that these tests record. */
async function anotherSession(): Promise<string> {
  const other = newRecorder({ sessionId: '11111111-d9cb-469f-a165-70867728950e' })
  for (let i = 0; i < 20; i++) other.recordContent(said(`of the other session ${i}`))
  await other.dispose()
  return other.getFilePath()!
}

async function expectReplaced(recorder: Recorder, warnings: Warning[], path: string): Promise<void> {
  const before = readFileSync(path)
  recorder.recordContent(said('lost'))
  await expect(recorder.flush()).rejects.toMatchObject({ code: 'FileReplaced', path })
  expect(await theWarning(warnings)).toEqual({
    code: 'FileReplaced',
    message: expect.stringContaining(path),
    filePath: path,
    eventsDropped: 1,
  })
  expect(recorder.isActive()).toBe(false)
  expect(readFileSync(path)).toEqual(before)
  await recorder.dispose()
}

describe('a session file', () => {
  for (const resumed of [false, true]) {
    const start = async (): Promise<{ recorder: Recorder; warnings: Warning[]; path: string; earlier: Buffer }> => {
      const { recorder, warnings, path } = resumed
        ? { ...watchedRecorder(), path: await recordedSession() }
        : await startedRecorder()
      if (resumed) recorder.initializeForResume(path, 2)
      const earlier = readFileSync(path)
      recorder.recordContent(said('second'))
      await recorder.flush()
      return { recorder, warnings, path, earlier }
    }
    const whose = resumed ? 'that was resumed' : 'of this recorder'

    test.each(partialLosses)(`${whose}, %s, is not appended to`, async (_, lose) => {
      const { recorder, warnings, path, earlier } = await start()
      lose(path, earlier)
      await expectReplaced(recorder, warnings, path)
    })

    test(`${whose} is not another session that was put in its place`, async () => {
      const { recorder, warnings, path } = await start()
      copyFileSync(await anotherSession(), path)
      await expectReplaced(recorder, warnings, path)
    })

    test.each(harmless)(`${whose}, %s, is recorded to as before`, async (_, change) => {
      const { recorder, warnings, path } = await start()
      for (let round = 0; round < 3; round++) {
        change(path)
        recorder.recordContent(said(`round ${round}`))
        await recorder.flush()
      }
      const texts = recordsOf(path)
        .filter(({ type }) => type === 'content')
        .map(({ payload }) => payload.content.blocks[0].text)
      expect(texts.slice(-3)).toEqual(['round 0', 'round 1', 'round 2'])
      expect([recorder.isActive(), warnings]).toEqual([true, []])
      await recorder.dispose()
    })
  }

  test('that is another session gets no checkpoint of this one', async () => {
    const { recorder, path } = await startedRecorder()
    const other = await anotherSession()
    copyFileSync(other, path)
    await expect(recorder.createCheckpoint('mine')).rejects.toThrow(
      'Cannot create checkpoint: recording failed during flush',
    )
    expect(readFileSync(path)).toEqual(readFileSync(other))
    expect(await replaySession(path)).toMatchObject({ ok: true, checkpoints: [] })
  })
})

describe('the log of a run', () => {
  test.each(partialLosses)('%s, is not appended to', async (_, lose) => {
    const { recorder, warnings, directory } = startedRun()
    const path = logOf(directory)
    await recorder.flush()
    const earlier = readFileSync(path)
    recorder.append(noted('second'))
    await recorder.flush()
    lose(path, earlier)
    const before = readFileSync(path)
    recorder.append(noted('lost'))
    await expect(recorder.flush()).rejects.toMatchObject({ code: 'FileReplaced', path })
    await eventually('the warning', () => warnings.length > 0)
    expect(warnings).toEqual([
      { code: 'FileReplaced', message: expect.stringContaining(path), filePath: path, eventsDropped: 1 },
    ])
    expect(recorder.isActive()).toBe(false)
    expect(readFileSync(path)).toEqual(before)
    await recorder.dispose()
  })

  test('that is replaced by an identical copy is recorded to as before', async () => {
    const { recorder, warnings, directory } = startedRun()
    await recorder.flush()
    copyInPlace(logOf(directory))
    recorder.append(noted('after the copy'))
    await recorder.dispose()
    expect(payloadsOf(directory).at(-1)).toMatchObject({ message: 'after the copy' })
    expect(warnings).toEqual([])
  })
})
