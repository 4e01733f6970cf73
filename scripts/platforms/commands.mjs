// Runs other programs, in the root of the work tree.

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

export const ROOT = join(import.meta.dirname, '..', '..')

/** @returns {string} the output of the command, without surrounding white space */
export function output(command, args) {
  return execFileSync(command, args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 64 << 20 }).trim()
}

/** Runs a command, and throws if it fails. */
export function run(command, args, environment = {}) {
  execFileSync(command, args, {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...environment },
  })
}
