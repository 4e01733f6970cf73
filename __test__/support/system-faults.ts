// Errors of the system in the process of a child: a small library is loaded into it, and the n-th call of a kind ends with an error or in part.

import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { directoryOfSpec } from './spec-scope';

const SUPPORT = fileURLToPath(new URL('.', import.meta.url));
const directory = directoryOfSpec('session-tape-system-faults-');

/** Whether there can be such a library here. */
export const canFail = process.platform === 'linux' && spawnSync('cc', ['--version']).status === 0;

/** The library, built for each spec: a loader that does not find it says so and goes on, and nothing would fail. */
function library(): string {
  const path = join(directory(), 'system-faults.so');
  if (existsSync(path)) return path;
  const { status, stderr } = spawnSync('cc', ['-shared', '-fPIC', '-O1', '-o', path, join(SUPPORT, 'system-faults.c'), '-ldl'], { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return path;
}

const { EIO, EINTR, ENOSPC, EDQUOT, EMFILE } = constants.errno;

/** Each call with the errors that it may end with; 0 is a write of a part. */
const FAULTS: [call: string, errors: number[]][] = [
  ['write', [EIO, EINTR, ENOSPC, EDQUOT, 0]],
  ['fsync', [EIO, ENOSPC, EDQUOT]],
  ['fdatasync', [EIO, ENOSPC, EDQUOT]],
  ['open', [EIO, EMFILE, ENOSPC, EDQUOT]],
  ['close', [EIO, EDQUOT]],
  ['rename', [EIO, ENOSPC, EDQUOT]],
  ['mkdir', [EIO, ENOSPC, EDQUOT]],
  ['ftruncate', [EIO]],
];

/** What only some of the product calls: the locks of sessions, which are written at a place and linked, and whatever removes files. */
const MORE_FAULTS: typeof FAULTS = [
  ['pwrite', [EIO, EINTR, ENOSPC, EDQUOT, 0]],
  ['link', [EIO, ENOSPC, EDQUOT]],
  ['unlink', [EIO]],
];

/** Every fault of some visits of each call, as the library takes them. */
export const faultsAt = (visits: number[]): string[] => faultsOf(FAULTS, visits);

/** The same with links and removals. */
export const allFaultsAt = (visits: number[]): string[] => faultsOf([...FAULTS, ...MORE_FAULTS], visits);

const faultsOf = (faults: typeof FAULTS, visits: number[]): string[] => faults.flatMap(([call, errors]) => errors.flatMap((error) => visits.map((visit) => `${call}:${visit}:${error}`)));

/** Runs a child with these faults of what it does below `root`. Resolves to what it reports. */
export async function runWithFaults<T>(script: string, root: string, argument: string, faults: string, more: Record<string, string> = {}): Promise<T> {
  const env = { ...process.env, LD_PRELOAD: library(), FAULT_ROOT: root, FAULTS: faults, ...more };
  const child = spawn(process.execPath, [join(SUPPORT, script), argument], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (chunk) => (said += String(chunk)));
  const code = await new Promise((resolve) => child.on('close', resolve));
  expect(code, faults).toBe(0);
  return JSON.parse(said) as T;
}

/** Calls `work` with each of the values, for two at a time. */
export async function twoAtATime<T>(values: T[], work: (value: T) => Promise<unknown>): Promise<void> {
  const waiting = values.values();
  const worker = async (): Promise<void> => {
    for (const value of waiting) await work(value);
  };
  await Promise.all([worker(), worker()]);
}
