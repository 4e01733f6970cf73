// A script that starts a runtime under an emulator, or with another C library. The runtime reports the script as its own path, so that processes
// started as `process.execPath`, and vitest's workers, run in the same way.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { ROOT } from './commands.mjs'

const SET_EXEC_PATH = join(ROOT, 'scripts', 'platforms', 'exec-path.cjs')

/** A runtime that reports `program` as its own path, so that child processes start it. */
export const startingAs = (program, command) => ({
  command: [...command, '--require', SET_EXEC_PATH],
  environment: { SESSION_TAPE_EXEC_PATH: program },
})

/** @returns {string} the path of the script */
export function writeWrapper(name, command, directory) {
  mkdirSync(directory, { recursive: true })
  const path = join(directory, name.replaceAll(/\W+/g, '-'))
  const itself = startingAs(path, command)
  const variables = Object.entries(itself.environment).map(([variable, value]) => `${variable}=${quoted(value)}`)
  writeFileSync(path, `#!/bin/sh\n${variables.join(' ')} exec ${itself.command.map(quoted).join(' ')} "$@"\n`, {
    mode: 0o755,
  })
  return path
}

const quoted = (word) => `'${word.replaceAll("'", "'\\''")}'`
