/**
 * Exports, imports, forks, checkpoints and session locks, with failing system calls that no real disk here can be made to fail: nothing incomplete
 * has a final name, an error has a code, and another attempt succeeds. With `FAULT_ROUNDS` every fault of every visit is tried.
 */
import { writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { acquireSessionLock, exportBundle } from '../../index.js'
import { freshDirectory } from '../support/recording'
import { PROJECT_HASH, START_PAYLOAD, content, session } from '../support/session-file.js'
import { created } from '../support/session-fork.js'
import { allFaultsAt, canFail, runWithFaults } from '../support/system-faults'

interface Failure {
  code?: string
  message: string
}
interface Trial {
  work: string
  fault: string
  directory: string
  outcome: 'done' | Failure
  left: string[]
  isWhole: boolean | null
  again: 'done' | Failure | null
}

const sessionId = START_PAYLOAD.sessionId

async function tryAll(works: string[], faults: string[], more: Record<string, string> = {}): Promise<Trial[]> {
  const [given, root] = [freshDirectory(), freshDirectory()]
  const file = join(given, 'session.jsonl')
  writeFileSync(file, session(content('one'), content('two', 'ai'), created('c1'), content('three')))
  const bundle = join(given, 'given.cath-bundle')
  await exportBundle(file, bundle)
  const argument = JSON.stringify({ root, works, faults, session: file, sessionId, projectHash: PROJECT_HASH, bundle })
  const { reports, unhandled } = await runWithFaults<{ reports: Trial[]; unhandled: string[] }>(
    'child-system-faults-work.mjs',
    root,
    argument,
    'none',
    more,
  )
  expect(unhandled).toEqual([])
  expect(reports).toHaveLength(works.length * faults.length)
  return reports
}

/** Whether a name is a final one, which other programs look at. */
const isFinal = (name: string): boolean => !name.startsWith('.') && !name.includes('.lock')

function expectWholeOrNothing(trial: Trial): void {
  const { work, fault, outcome, left, isWhole, again } = trial
  const said = JSON.stringify(trial)
  if (outcome === 'done') return expect(isWhole, said).not.toBe(false)
  expect(outcome.code, said).toMatch(/^[A-Za-z]+$/)
  expect(isWhole, said).not.toBe(false)
  // Nothing that the next attempt would meet.
  expect(again, said).toBe('done')
  if (work !== 'fork' && work !== 'checkpoint') expect(left.filter(isFinal), said).toEqual([])
  expect(left.filter((name) => name.startsWith('.new-') || name.endsWith('.tmp')).length, said).toBeLessThanOrEqual(
    /^(?:unlink|close)/.test(fault) ? 1 : 0,
  )
}

const isLong = process.env.FAULT_ROUNDS !== undefined
const { EIO, ENOSPC, EDQUOT } = constants.errno
const faults = isLong ? allFaultsAt([1, 2, 3, 4, 5, 6, 8]) : allFaultsAt([1, 2]).filter((_, at) => at % 4 === 1)

describe.skipIf(!canFail)('a call that fails (needs Linux and a C compiler)', () => {
  const works = ['directory', 'archive', 'import', 'fork', 'checkpoint']

  test('in an export, an import, a fork or a checkpoint leaves the complete result or nothing, and has a code', async () => {
    const trials = await tryAll(works, faults)
    trials.forEach(expectWholeOrNothing)
    for (const work of works) {
      const failed = trials.filter((trial) => trial.work === work && trial.outcome !== 'done')
      expect(failed.length, work).toBeGreaterThan(isLong ? 20 : 0)
    }
  })

  test('when the result is moved into its place leaves nothing', async () => {
    for (const error of isLong ? [EIO, ENOSPC, EDQUOT] : [EIO]) {
      const trials = await tryAll(['directory', 'archive', 'import'], ['none'], { FAULT_PLACING: String(error) })
      for (const trial of trials)
        expect(trial).toMatchObject({ outcome: { code: expect.stringMatching(/^(?:EIO|ENOSPC|EDQUOT)$/) }, left: [] })
    }
  })

  test('around a session lock never leaves the session locked forever', async () => {
    const trials = await tryAll(['lock'], [...faults, `fsync:1:${EDQUOT}`, `fsync:2:${EDQUOT}`])
    for (const { outcome, directory, ...rest } of trials) {
      if (outcome !== 'done') expect(outcome.code, JSON.stringify(rest)).toMatch(/^[A-Z_]+$/)
      // A full disk does not keep a lock that is released.
      else if (/^(?:fsync|pwrite):\d+:(?:28|122)$/.test(rest.fault)) expect(rest.left, rest.fault).toEqual([])
      // The process has ended; the files that it left block nothing.
      const lock = await acquireSessionLock(directory, sessionId)
      expect(await lock.ownsLock(), JSON.stringify({ outcome, ...rest })).toBe(true)
      await lock.release()
    }
  })
})
