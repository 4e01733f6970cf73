// Leases on files, as file servers hold them: a process that wants the file has to wait until its holder gives way.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const HOLDER = fileURLToPath(new URL('lease-holder.py', import.meta.url))

export interface LeaseHolder {
  /** Resolves when the holder has ended: to whether it was asked for the file. */
  ended: Promise<boolean>
}

/** Starts a process that holds a lease on these files, and gives it up when it is asked to. */
export async function holdLease(kind: 'read' | 'write', paths: string[]): Promise<LeaseHolder> {
  const child = spawn('python3', [HOLDER, kind, ...paths], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = outputOf(child).then((said) => said.includes('asked'))
  await new Promise<void>((resolve, reject) => {
    child.stdout!.on('data', () => resolve())
    child.on('close', (code) => reject(new Error(`the holder of the lease ended with ${code}`)))
  })
  return { ended }
}

async function outputOf(child: ChildProcess): Promise<string> {
  let said = ''
  child.stdout!.setEncoding('utf8').on('data', (text: string) => (said += text))
  await new Promise((resolve) => child.on('close', resolve))
  return said
}

/** Whether this machine has leases: Linux, Python, and a file system that supports them. */
export const hasLeases =
  process.platform === 'linux' &&
  (() => {
    const directory = mkdtempSync(join(tmpdir(), 'session-tape-leases-'))
    try {
      const path = join(directory, 'file')
      writeFileSync(path, '')
      const script =
        'import fcntl, os, sys; fcntl.fcntl(os.open(sys.argv[1], os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK)'
      return spawnSync('python3', ['-c', script, path], { stdio: 'ignore' }).status === 0
    } finally {
      rmSync(directory, { recursive: true })
    }
  })()
