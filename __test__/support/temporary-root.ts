// Where the specs make their temporary directories: in memory if there is room. On a disk a third of what the specs cost is the work of
// its file system. A spec that needs a disk imports `on-disk.ts`. This runs once, in vitest's own process, before the first spec.

import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { freemem } from 'node:os';
import { join } from 'node:path';

const IN_MEMORY = '/dev/shm';
/** Several times of what all specs have there at a time. Containers often give 64 MiB. */
const NEEDED_BYTES = 2 * 2 ** 30;
export const PREFIX = 'session-tape-tests-';
const HOUR = 3_600_000;

/** Returns what removes the directory after the last spec. */
export default function setup(): (() => void) | undefined {
  // Who names a directory wants that one.
  if (process.env['TMPDIR'] !== undefined) return undefined;
  const root = rootInMemory();
  if (root === null) return undefined;
  process.env['TMPDIR'] = root;
  return () => remove(root);
}

function rootInMemory(): string | null {
  try {
    removeAbandoned();
    const { bavail, bsize } = statfsSync(IN_MEMORY);
    const available = process.availableMemory?.() ?? freemem();
    if (bavail * bsize < NEEDED_BYTES || available < 2 * NEEDED_BYTES) return null;
    const root = mkdtempSync(join(IN_MEMORY, `${PREFIX}${process.pid}-`));
    if (!runsPrograms(root)) {
      remove(root);
      return null;
    }
    // Other users look into it: some tests run as one.
    chmodSync(root, 0o755);
    return root;
  } catch {
    // There is no such directory, or it is not for this user.
    return null;
  }
}

/** Whether a program in it can be started. Some specs install packages, and containers often forbid it here. */
function runsPrograms(directory: string): boolean {
  const program = join(directory, 'program');
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
  const { status } = spawnSync(program);
  rmSync(program);
  return status === 0;
}

/** Removes what a vitest that was killed has left: it would hold memory until the system restarts. */
function removeAbandoned(): void {
  for (const name of readdirSync(IN_MEMORY).filter((name) => name.startsWith(PREFIX))) {
    const path = join(IN_MEMORY, name);
    // In another container that shares the memory a process of this number may be at work.
    if (!isRunning(parseInt(name.slice(PREFIX.length), 10)) && Date.now() - statSync(path).mtimeMs > HOUR) remove(path);
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

function remove(directory: string): void {
  rmSync(directory, { recursive: true, force: true, maxRetries: 3 });
}
