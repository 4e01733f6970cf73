/** Bun, for specs of programs that it compiles. */
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

import { PROJECT } from './command-line'

/** Where `npm run test:platforms` and `npm run test:install` install it. */
const INSTALLED = ['runtimes', 'installing'].map((tools) =>
  join(PROJECT, 'target', 'build-tools', tools, 'node_modules', '@oven', 'bun-linux-x64', 'bin', 'bun'),
)

/** Path of a Bun: `BUN`, the one that runs this, the first on the path, or one of a script; `undefined` if there is none. */
export const BUN = [
  process.env['BUN'],
  ...('bun' in process.versions ? [process.execPath] : []),
  ...(process.env['PATH'] ?? '').split(delimiter).map((directory) => join(directory, 'bun')),
  ...(process.platform === 'linux' && process.arch === 'x64' ? INSTALLED : []),
].find((path) => {
  try {
    accessSync(path!, constants.X_OK)
    return true
  } catch {
    return false
  }
})

export const NO_BUN = 'there is no Bun: neither in BUN nor on the path nor among the tools of `npm run test:platforms`'
