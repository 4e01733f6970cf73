// Prepares Wine to load an addon written in Rust.

import { existsSync } from 'node:fs'
import { join } from 'node:path'

import { ROOT, run } from './commands.mjs'
import { describeToolchain } from './toolchain.mjs'

export const WINE_PREFIX = join(ROOT, 'target', 'build-tools', 'wine')

/** No display, and no debugger that waits for one. Node requires Windows 10, which Wine does not claim to be. */
export const WINE_ENVIRONMENT = {
  NODE_SKIP_PLATFORM_CHECK: '1',
  WINEDEBUG: '-all',
  WINEDLLOVERRIDES: 'bcryptprimitives=n;mscoree,mshtml=',
  WINEPREFIX: WINE_PREFIX,
}

export async function prepareWine(log) {
  const system = join(WINE_PREFIX, 'drive_c', 'windows', 'system32')
  if (!existsSync(system)) await run('wine', ['wineboot', '--init'], { log, environment: WINE_ENVIRONMENT })
  const library = join(system, 'bcryptprimitives.dll')
  if (existsSync(library)) return
  const { environment } = await describeToolchain()
  const source = join(ROOT, 'scripts', 'platforms', 'bcryptprimitives.c')
  const compile = ['cc', '-target', 'x86_64-windows-gnu', '-shared', '-O1', '-s', '-o', library, source, '-ladvapi32']
  await run(environment.CARGO_ZIGBUILD_ZIG_PATH, compile, { log, environment })
}
