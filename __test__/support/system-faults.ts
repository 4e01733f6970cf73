// Injects system errors into a child process: it preloads a small library, in which the n-th call of a kind fails or is done in part.

import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { directoryOfSpec } from './spec-scope'

const SUPPORT = fileURLToPath(new URL('.', import.meta.url))
const directory = directoryOfSpec('session-tape-system-faults-')

/** Whether the library can be built here. */
export const canFail = process.platform === 'linux' && spawnSync('cc', ['--version']).status === 0

/** The library, built for each spec: a loader that does not find it prints a message and continues, and no call would fail. */
export function library(): string {
  const path = join(directory(), 'system-faults.so')
  if (existsSync(path)) return path
  const { status, stderr } = spawnSync(
    'cc',
    ['-shared', '-fPIC', '-O1', '-o', path, join(SUPPORT, 'system-faults.c'), '-ldl'],
    { encoding: 'utf8' },
  )
  if (status !== 0) throw new Error(stderr)
  return path
}

const { EIO, EINTR, ENOSPC, EDQUOT, EMFILE } = constants.errno

/** Each call with the errors that it may return; 0 is a short write. */
const FAULTS: [call: string, errors: number[]][] = [
  ['write', [EIO, EINTR, ENOSPC, EDQUOT, 0]],
  ['fsync', [EIO, ENOSPC, EDQUOT]],
  ['fdatasync', [EIO, ENOSPC, EDQUOT]],
  ['open', [EIO, EMFILE, ENOSPC, EDQUOT]],
  ['close', [EIO, EDQUOT]],
  ['rename', [EIO, ENOSPC, EDQUOT]],
  ['mkdir', [EIO, ENOSPC, EDQUOT]],
  ['ftruncate', [EIO]],
]

/** Calls that only parts of the product make: session locks, which are written with `pwrite` and linked, and everything that removes files. */
const MORE_FAULTS: typeof FAULTS = [
  ['pwrite', [EIO, EINTR, ENOSPC, EDQUOT, 0]],
  ['link', [EIO, ENOSPC, EDQUOT]],
  ['unlink', [EIO]],
]

/** Every fault at these visits of each call, in the syntax of the library. */
export const faultsAt = (visits: number[]): string[] => faultsOf(FAULTS, visits)

/** Like `faultsAt`, with `pwrite`, links and removals. */
export const allFaultsAt = (visits: number[]): string[] => faultsOf([...FAULTS, ...MORE_FAULTS], visits)

const faultsOf = (faults: typeof FAULTS, visits: number[]): string[] =>
  faults.flatMap(([call, errors]) => errors.flatMap((error) => visits.map((visit) => `${call}:${visit}:${error}`)))

/** Runs a child with these faults in its calls below `root`. Resolves to its report. */
export async function runWithFaults<T>(
  script: string,
  root: string,
  argument: string,
  faults: string,
  more: Record<string, string> = {},
): Promise<T> {
  const env = { ...process.env, LD_PRELOAD: library(), FAULT_ROOT: root, FAULTS: faults, ...more }
  const child = spawn(process.execPath, [join(SUPPORT, script), argument], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  child.stdout.on('data', (chunk) => (said += String(chunk)))
  const code = await new Promise((resolve) => child.on('close', resolve))
  expect(code, faults).toBe(0)
  return JSON.parse(said) as T
}

/** Calls `work` with each of the values, two at a time. */
export async function twoAtATime<T>(values: T[], work: (value: T) => Promise<unknown>): Promise<void> {
  const waiting = values.values()
  const worker = async (): Promise<void> => {
    for (const value of waiting) await work(value)
  }
  await Promise.all([worker(), worker()])
}
