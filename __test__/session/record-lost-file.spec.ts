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
} from '../support/recording'
import { childReport, isLinux } from '../support/processes'

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
