// Prepares Wine to load an addon written in Rust.

import { existsSync } from 'node:fs'
import { join } from 'node:path'

import { ROOT, run } from './commands.mjs'
import { TOOLS, zigEnvironment } from './toolchain.mjs'

const PREFIX = join(TOOLS, 'wine')

/** No display, and no debugger that waits for one. Node requires Windows 10, which Wine does not claim to be. */
export const WINE_ENVIRONMENT = {
  NODE_SKIP_PLATFORM_CHECK: '1',
  WINEDEBUG: '-all',
  WINEDLLOVERRIDES: 'bcryptprimitives=n;mscoree,mshtml=',
  WINEPREFIX: PREFIX,
}

export function prepareWine() {
  const system = join(PREFIX, 'drive_c', 'windows', 'system32')
  if (!existsSync(system)) run('wine', ['wineboot', '--init'], WINE_ENVIRONMENT)
  const library = join(system, 'bcryptprimitives.dll')
  if (existsSync(library)) return
  const environment = zigEnvironment()
  const source = join(ROOT, 'scripts', 'platforms', 'bcryptprimitives.c')
  const compile = ['cc', '-target', 'x86_64-windows-gnu', '-shared', '-O1', '-s', '-o', library, source, '-ladvapi32']
  run(environment.CARGO_ZIGBUILD_ZIG_PATH, compile, environment)
}
