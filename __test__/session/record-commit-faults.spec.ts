/** Commits on a disk that fails, and in a process that ends: what is acknowledged is in the file, and the rest is rejected. */
import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { freshDirectory, linesOf, recordsOf } from '../support/recording'
import { runChild } from '../support/processes'
import { canFail, faultsAt, runWithFaults, twoAtATime } from '../support/system-faults'

interface Report {
  path: string | null
  warnings: string[]
  unhandled: string[]
  commits: ([seq: number, byteOffset: number] | string)[]
}

/** Asserts that a commit is acknowledged exactly if its record is in the file, with the end of its line. */
async function expectTrue(faults: string): Promise<Report> {
  const directory = freshDirectory()
  const report = await runWithFaults<Report>('child-commits.mjs', directory, join(directory, 'chats'), faults)
  let end = 0
  const ends = report.path === null ? [] : linesOf(report.path).map((line) => (end += Buffer.byteLength(line) + 1))
  const acknowledged = report.commits.filter((commit) => typeof commit !== 'string')
  const rejected = report.commits.slice(acknowledged.length)
  expect(acknowledged, faults).toEqual(acknowledged.map((_, at) => [at + 2, ends[at + 1]]))
  // All that come after the first that fails fail with its error.
  expect(new Set(rejected).size, faults).toBeLessThanOrEqual(1)
  expect(
    rejected.every((code) => typeof code === 'string'),
    faults,
  ).toBe(true)
  expect(report.warnings, faults).toEqual(rejected.slice(0, 1))
  expect(report.unhandled, faults).toEqual([])
  return report
}

describe.skipIf(!canFail)('a call that fails (needs Linux and a C compiler)', () => {
  const all = faultsAt([1, 2, 4])
  test('each call, each error: what is acknowledged is in the file', () =>
    twoAtATime(process.env.FAULT_ROUNDS === undefined ? all.filter((_, at) => at % 6 === 2) : all, expectTrue))

  const { EIO, ENOSPC } = constants.errno
  test.each([
    ['write', EIO, 'EIO'],
    ['write', ENOSPC, 'ENOSPC'],
    ['fdatasync', EIO, 'EIO'],
  ])('%s with error %i rejects with %s', async (call, error, code) => {
    const { commits } = await expectTrue(`${call}:2:${error}`)
    expect(commits.at(-1)).toBe(code)
    expect(commits.length).toBe(22)
  })
})

describe('a process', () => {
  const run = (ending: string) => runChild('child-commits.mjs', [join(freshDirectory(), 'chats'), ending])

  test('is kept running by a commit that is awaited', async () => {
    const { code, stdout } = await run('awaited')
    expect(code).toBe(0)
    const { path, seq, byteOffset } = JSON.parse(stdout) as { path: string; seq: number; byteOffset: number }
    expect([seq, byteOffset]).toEqual([2, readFileSync(path).length])
  })

  test('is not kept running by one that waits for a file', async () => {
    expect(await run('buffered')).toMatchObject({ code: 0, signal: null })
  })

  test('that exits writes the commits that wait for room too', async () => {
    const { code, stdout } = await run('exit')
    expect(code).toBe(0)
    expect(recordsOf((JSON.parse(stdout) as { path: string }).path).map(({ seq }) => seq)).toEqual(
      Array.from({ length: 51 }, (_, i) => i + 1),
    )
  })
})
