/** The facts without which a figure means nothing. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { availableParallelism, cpus, release, totalmem, type } from 'node:os'

const require = createRequire(import.meta.url)

export function machine() {
  // The cores that the process may use: with `taskset`, fewer than the machine has.
  const cores = availableParallelism()
  return {
    CPU: `${cpus()[0].model.trim()}, ${cores} ${cores === 1 ? 'core' : 'cores'}`,
    Memory: `${(totalmem() / 2 ** 30).toFixed(0)} GiB`,
    System: `${type()} ${release()}, ${process.arch}`,
    Rust: toolVersion('rustc'),
    'session-tape': versionOf('../package.json'),
    'sonic-boom': versionOf('sonic-boom/package.json'),
    pino: versionOf('pino/package.json'),
  }
}

const versionOf = (path) => JSON.parse(readFileSync(require.resolve(path), 'utf8')).version

function toolVersion(tool) {
  try {
    return execFileSync(tool, ['--version'], { encoding: 'utf8' }).trim()
  } catch {
    return 'not installed (prebuilt addon)'
  }
}
