// Places the temporary directories of the specs in memory, if there is room: on a disk, a third of their cost is the work of its file
// system. A spec that needs a disk imports `on-disk.ts`. This runs once, in vitest's own process, before the first spec.

import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readdirSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs'
import { freemem } from 'node:os'
import { join } from 'node:path'

const IN_MEMORY = '/dev/shm'
/** Several times what all specs use at a time. Containers often have only 64 MiB. */
const NEEDED_BYTES = 2 * 2 ** 30
export const PREFIX = 'session-tape-tests-'
const HOUR = 3_600_000

/** Returns the function that removes the directory after the last spec; `undefined` if there is no such directory. */
export default function setup(): (() => void) | undefined {
  // A directory set by the caller takes precedence.
  if (process.env['TMPDIR'] !== undefined) return undefined
  const root = rootInMemory()
  if (root === null) return undefined
  process.env['TMPDIR'] = root
  return () => remove(root)
}

function rootInMemory(): string | null {
  try {
    removeAbandoned()
    const { bavail, bsize } = statfsSync(IN_MEMORY)
    const available = process.availableMemory?.() ?? freemem()
    if (bavail * bsize < NEEDED_BYTES || available < 2 * NEEDED_BYTES) return null
    const root = mkdtempSync(join(IN_MEMORY, `${PREFIX}${process.pid}-`))
    if (!runsPrograms(root)) {
      remove(root)
      return null
    }
    // Accessible to other users: some tests run as one.
    chmodSync(root, 0o755)
    return root
  } catch {
    // The directory does not exist, or this user may not use it.
    return null
  }
}

/** Whether a program in it can be started: some specs install packages, and containers often forbid it here. */
function runsPrograms(directory: string): boolean {
  const program = join(directory, 'program')
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 })
  const { status } = spawnSync(program)
  rmSync(program)
  return status === 0
}

/** Removes the directories of vitest processes that were killed: they would occupy memory until the system restarts. */
function removeAbandoned(): void {
  for (const name of readdirSync(IN_MEMORY).filter((name) => name.startsWith(PREFIX))) {
    const path = join(IN_MEMORY, name)
    // A process with this pid may be at work in another container that shares the memory.
    if (!isRunning(parseInt(name.slice(PREFIX.length), 10)) && Date.now() - statSync(path).mtimeMs > HOUR) remove(path)
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

function remove(directory: string): void {
  rmSync(directory, { recursive: true, force: true, maxRetries: 3 })
}
