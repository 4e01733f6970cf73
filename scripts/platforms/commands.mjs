// Runs other programs, in the root of the work tree.

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync, closeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..')

/** @returns {Promise<string>} the output of the command, without surrounding white space */
export async function output(command, args) {
  const { stdout } = await promisify(execFile)(command, args, { cwd: ROOT, maxBuffer: 64 << 20 })
  return stdout.trim()
}

/** Runs a command, and appends its output to the file `log`. */
export async function run(command, args, { log, environment = {} }) {
  const file = openSync(log, 'a')
  try {
    const child = spawn(command, args, {
      cwd: ROOT,
      stdio: ['ignore', file, file],
      env: { ...process.env, ...environment },
    })
    const [status] = await once(child, 'close')
    if (status !== 0) throw new Error(`\`${command} ${args[0]}\` failed; ${log} says why`)
  } finally {
    closeSync(file)
  }
}
