// What happens if the system refuses threads (`ulimit -u`, the limit of a container), and how many threads there are if much is asked at once. Each in a
// process of its own, under a real limit, as a user who has no other process.

import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { GOLDEN_RUN } from '../support/command-line.js'
import { childReport, isLinux, isRoot, unprivileged } from '../support/processes.js'
import { content, session, sessionDirectory } from '../support/session-file.js'

/** A user id that nobody else uses: the limit counts all threads of a user. */
const UNUSED = 61_873

const canLimit = isLinux && isRoot && unprivileged !== null && spawnSync('prlimit', ['--version']).status === 0

const LARGE = session(...Array.from({ length: 2_000 }, (_, at) => content(`${at} ${'x'.repeat(100)}`)))

let made = 0
function writableDirectory(): string {
  const directory = join(sessionDirectory(), `refused-${(made += 1)}`)
  mkdirSync(directory)
  writeFileSync(join(directory, 'large.jsonl'), LARGE)
  chmodSync(sessionDirectory(), 0o777)
  chmodSync(directory, 0o777)
  return directory
}

interface Report {
  outcomes: Record<string, unknown>
  warnings: string[]
  recorded: boolean
  length: number
}

const refused = {
  code: 'EAGAIN',
  message: 'EAGAIN: the system refuses another thread, pthread_create',
  syscall: 'pthread_create',
}

describe.skipIf(!canLimit)('where the system refuses threads (skipped unless root can limit another user)', () => {
  const under = (temperature: string) =>
    childReport<Report>('child-refused-threads.mjs', [writableDirectory(), temperature], { uid: UNUSED })

  test('each call that needs one rejects with EAGAIN, recording goes on, and nothing is left half done', async () => {
    const report = await under('cold')
    expect(report.outcomes).toEqual({
      flush: 'resolved',
      'flush of a run': 'resolved',
      dispose: 'resolved',
      'dispose of a run': 'resolved',
      afterwards: 'resolved',
      snapshot: refused,
      replaySession: refused,
      describeSessions: refused,
      readSessionPreview: refused,
      replayRun: refused,
      diff: refused,
      exportBundle: refused,
      'many at once': refused,
    })
    expect(report).toMatchObject({ warnings: [], recorded: true, length: 2_000 })
  })

  test('work runs on the only thread that could be started', async () => {
    const { outcomes, ...rest } = await under('warm')
    const { exportBundle, ...others } = outcomes
    expect(Object.values(others)).toEqual(Object.keys(others).map(() => 'resolved'))
    // The compression has threads of its own.
    expect(exportBundle).toEqual(refused)
    expect(rest).toMatchObject({ warnings: [], recorded: true, length: 2_000 })
  })
})

test.skipIf(!isLinux)('two hundred replays at once have few threads', async () => {
  const directory = writableDirectory()
  const report = await childReport<{ before: number; most: number; lengths: number[] }>(
    'child-many-replays.mjs',
    [join(directory, 'large.jsonl'), '200', GOLDEN_RUN],
    { timeoutMs: 100_000 },
  )
  expect(report.lengths).toEqual(Array.from({ length: 200 }, () => 2_000))
  // Each job may have one helper, and one thread looks for what may begin.
  expect(report.most - report.before).toBeLessThanOrEqual(6 * availableParallelism() + 1)
})

test.skipIf(!isLinux)('threads have stacks of their own size, whatever RUST_MIN_STACK says', async () => {
  const wrapper = ['env', 'RUST_MIN_STACK=40000']
  const report = await childReport<{ ok: boolean; lengths: number[] }>(
    'child-many-replays.mjs',
    [join(writableDirectory(), 'large.jsonl'), '4', GOLDEN_RUN],
    { wrapper },
  )
  expect(report).toMatchObject({ ok: true, lengths: [2_000, 2_000, 2_000, 2_000] })
})
