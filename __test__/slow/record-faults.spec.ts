/**
 * Rule 6: a disk that fails ends the recording, never the CLI. Full, read-only, limited, forbidden: each fault
 * really happens; afterwards the file ends with a complete record, one warning has the number of dropped records,
 * and there is no unhandled rejection.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { fc, test } from '../support/property'
import { describe, expect } from 'vitest'
import {
  type Envelope,
  type Warning,
  freshDirectory,
  recordsOf,
  said,
  startedRecorder,
  theWarning,
  watchedRecorder,
} from '../support/recording'
import { canMakeImmutable, childReport, hasDevFull, isLinux, mountNamespace, unprivileged } from '../support/processes'

interface RejectedFlush {
  isError: boolean
  code: string
  syscall: string
  path: string
  errno: number
  message: string
}
/** The report of `support/child-faults.mjs` about a recorder after a fault. */
interface FaultReport {
  flush: 'resolved' | RejectedFlush
  later: 'resolved' | RejectedFlush
  disposed: 'resolved' | RejectedFlush
  active: boolean
  warnings: Warning[]
  path: string | null
  file: string | null
  grown: boolean
  unhandled: string[]
}

/** The records of a report's file, which must end with a complete one. */
function fileOf(report: { file: string | null }): Envelope[] {
  const text = Buffer.from(report.file ?? '', 'base64').toString()
  expect(text.endsWith('\n')).toBe(true)
  return text
    .slice(0, -1)
    .split('\n')
    .map((line) => JSON.parse(line) as Envelope)
}

/** Asserts what holds after every fault that must not stop a CLI. */
function expectQuietEnd(report: FaultReport, code: string, dropped: number): void {
  expect(report).toMatchObject({
    flush: 'resolved',
    later: 'resolved',
    disposed: 'resolved',
    active: false,
    grown: false,
    unhandled: [],
  })
  expect(report.warnings).toEqual([
    { code, message: expect.stringContaining(code), filePath: report.path, eventsDropped: dropped },
  ])
}

describe.skipIf(unprivileged === null)('permissions (as a user to whom they apply)', () => {
  const run = (scenario: string): Promise<FaultReport> => {
    const directory = join(freshDirectory(), 'mine')
    mkdirSync(directory)
    if (unprivileged!.uid !== undefined) spawnSync('chown', [String(unprivileged!.uid), directory])
    return childReport<FaultReport>('child-faults.mjs', [scenario, directory], unprivileged!)
  }

  test('a directory that cannot be created: EACCES, everything that was buffered is dropped', async () => {
    const report = await run('unwritableParent')
    expect(report).toMatchObject({
      flush: 'resolved',
      later: 'resolved',
      disposed: 'resolved',
      active: false,
      file: null,
      unhandled: [],
    })
    expect(report.warnings).toMatchObject([{ code: 'EACCES', eventsDropped: 2 }])
  })

  test('a file made read-only between two batches', async () => {
    const report = await run('fileMadeReadOnly')
    expectQuietEnd(report, 'EACCES', 1)
    expect(fileOf(report).map((record) => record.seq)).toEqual([1, 2])
  })
})

test('an immutable file: EPERM', async (context) => {
  const { recorder, warnings, path } = await startedRecorder()
  if (!canMakeImmutable(path)) context.skip('only root can make a file immutable, and not on every file system')
  spawnSync('chattr', ['+i', path])
  try {
    recorder.recordContent(said('refused'))
    await recorder.flush()
    expect(await theWarning(warnings)).toMatchObject({ code: 'EPERM', eventsDropped: 1 })
  } finally {
    spawnSync('chattr', ['-i', path])
  }
  expect(recordsOf(path)).toHaveLength(2)
})

test.skipIf(!hasDevFull)('/dev/full in place of the session: ENOSPC, although it cannot be truncated', async () => {
  const path = join(freshDirectory(), 'session.jsonl')
  symlinkSync('/dev/full', path)
  const { recorder, warnings } = watchedRecorder()
  recorder.recordSessionEvent('info', 'buffered')
  recorder.initializeForResume(path, 7)
  await recorder.flush()
  expect(await theWarning(warnings)).toEqual({
    code: 'ENOSPC',
    message: expect.any(String),
    filePath: path,
    eventsDropped: 1,
  })
  expect(recorder.isActive()).toBe(false)
})

describe.skipIf(mountNamespace === null)(
  'a file system that is really full, or read-only (needs a mount name space)',
  () => {
    const CAPACITY = 64 * 1024
    const PAGE = 4096
    const run = <T = FaultReport>(scenario: string, input: unknown = null): Promise<T> =>
      childReport<T>('child-faults.mjs', [scenario, join(freshDirectory(), 'mount')], {
        wrapper: mountNamespace!,
        stdin: JSON.stringify(input),
      })

    /** Asserts that the file has the first records of `total`, as many as there was room for, and that the others were dropped. */
    function expectCutBack(report: FaultReport, total: number, texts: string[]): void {
      const records = fileOf(report)
      expectQuietEnd(report, 'ENOSPC', total - records.length)
      expect(records.map((record) => record.seq)).toEqual(records.map((_, i) => i + 1))
      expect(records.slice(1).map((record) => record.payload.text)).toEqual(texts.slice(0, records.length - 1))
      const next = texts[records.length - 1]
      if (next !== undefined) {
        const kept = Buffer.from(report.file!, 'base64').length
        expect(kept + Buffer.byteLength(next)).toBeGreaterThan(CAPACITY - 3 * PAGE)
      }
    }

    test('full under a session lock: the lock is released anyway, and nothing of it is left', async () => {
      const report = await run<unknown>('fullUnderALock')
      expect(report).toEqual({ disposed: 'resolved', unhandled: [], isLocked: false, names: [] })
    })

    test('a torn tail that another process left on a full file system is left alone', async () => {
      const report = await run('tornByAnotherOnAFullOne')
      expect(report).toMatchObject({ flush: 'resolved', active: false, unhandled: [] })
      expect(report.warnings).toMatchObject([{ code: 'ENOSPC', eventsDropped: 1 }])
      const text = Buffer.from(report.file!, 'base64').toString()
      expect(text.split('\n')[2]).toBe('{"v":1,"seq":3,"ts":"2026')
      expect(text.split('\n').slice(3).join('')).toBe('')
    })

    test('when there is room again, a resume continues the same file', async () => {
      const report = await run<FaultReport & { resumed: string; resumedWarnings: Warning[] }>('spaceComesBack', {
        text: 'x'.repeat(20_000),
      })
      expectQuietEnd(report, 'ENOSPC', 1)
      expect(report.resumedWarnings).toEqual([])
      const records = fileOf({ file: report.resumed })
      expect(records.map((record) => [record.seq, record.type])).toEqual([
        [1, 'session_start'],
        [2, 'content'],
        [3, 'content'],
      ])
    })

    test('made read-only between two batches: EROFS', async () => {
      const report = await run('madeReadOnly')
      expectQuietEnd(report, 'EROFS', 1)
      expect(fileOf(report)).toHaveLength(2)
    })

    const character = fc.constantFrom('x', 'é', '€', '𝄞', '"', '\n')
    const runOf = fc.tuple(character, fc.integer({ min: 0, max: 6000 }))
    test.prop([fc.array(runOf, { minLength: 20, maxLength: 60 })], { numRuns: 8 })(
      'whatever is being written when the disk is full, the file has the first records, complete',
      async (runs) => {
        // The last record alone never fits.
        const all = [...runs.map(([unit, times]) => unit.repeat(times)), 'z'.repeat(80_000)]
        expectCutBack(await run('full', { texts: all }), all.length + 2, all)
      },
      60_000,
    )
  },
)

test.skipIf(!isLinux)('no file can be opened any more: EMFILE, the flush rejects', async () => {
  const wrapper = ['bash', '-c', 'ulimit -n 200; exec "$@"', 'limited']
  const report = await childReport<FaultReport>('child-faults.mjs', ['noDescriptors', freshDirectory()], { wrapper })
  expect(report).toMatchObject({
    flush: { isError: true, code: 'EMFILE', syscall: 'open', errno: -constants.errno.EMFILE },
    later: 'resolved',
    active: false,
    file: null,
    unhandled: [],
  })
  expect(report.warnings).toMatchObject([{ code: 'EMFILE', filePath: null, eventsDropped: 2 }])
})

describe.skipIf(!isLinux)('a limit on the size of files', () => {
  const MEBIBYTE = 1 << 20
  test.prop([fc.integer({ min: 1, max: 100 }), fc.constantFrom('x', 'é', '€', '𝄞')], { numRuns: 5 })(
    'EFBIG rejects the pending flush and leaves complete records',
    async (kibibytes, unit) => {
      const texts = Array.from({ length: 40 }, (_, i) => `${i} ${unit.repeat(4000)}`)
      const wrapper = ['bash', '-c', `ulimit -f ${16 * 1024 + kibibytes}; trap "" XFSZ; exec "$@"`, 'limited']
      const stdin = JSON.stringify({ texts, large: 'l'.repeat(16 * MEBIBYTE - 2000) })
      const report = await childReport<FaultReport & { fits: unknown }>(
        'child-faults.mjs',
        ['sizeLimit', freshDirectory()],
        { wrapper, stdin },
      )
      expect(report).toMatchObject({
        fits: 'resolved',
        active: false,
        later: 'resolved',
        disposed: 'resolved',
        grown: false,
        unhandled: [],
      })
      const records = fileOf(report)
      const rejected = {
        isError: true,
        code: 'EFBIG',
        syscall: 'write',
        path: report.path,
        errno: -constants.errno.EFBIG,
      }
      expect(report.flush).toEqual(expect.objectContaining(rejected))
      expect(report.warnings).toMatchObject([
        { code: 'EFBIG', filePath: report.path, eventsDropped: 42 - records.length },
      ])
      expect(records.slice(2).map((record) => record.payload.text)).toEqual(texts.slice(0, records.length - 2))
      expect(Buffer.from(report.file!, 'base64').length).toBeGreaterThan((16 * 1024 + kibibytes) * 1024 - 20_000)
    },
    60_000,
  )
})
