// Children for which the system refuses calls, as on a file system without links, locks or syncs.

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { directoryOfSpec } from './spec-scope'

export type Refused = 'link' | 'flock' | 'fsync' | 'renameat2'

const directory = directoryOfSpec('session-tape-refused-calls-')

/** Whether this machine can refuse calls to a child: that takes Linux and a C compiler. */
export const canRefuse = process.platform === 'linux' && spawnSync('cc', ['--version']).status === 0

/** The environment of a child for which these calls fail with these errors, such as `{ link: 'EPERM' }`. */
export function refusing(calls: Partial<Record<Refused, keyof typeof constants.errno>>): NodeJS.ProcessEnv {
  const list = Object.entries(calls).map(([call, code]) => `${call}:${constants.errno[code]}`)
  return { LD_PRELOAD: library(), REFUSED_CALLS: list.join(' ') }
}

/** The library, built for each spec: a loader that does not find it prints a message and continues, and no call would be refused. */
function library(): string {
  const output = join(directory(), 'refused-calls.so')
  if (existsSync(output)) return output
  const source = fileURLToPath(new URL('refused-calls.c', import.meta.url))
  const { status, stderr } = spawnSync('cc', ['-shared', '-fPIC', '-O1', '-Wall', '-Werror', '-o', output, source], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(stderr)
  return output
}
