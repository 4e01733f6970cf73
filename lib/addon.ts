// Loads the addon: the one that was built in the work tree if there is one, otherwise that of a package. The loader that `napi build` generates
// supports many more platforms, but takes as long as loading the rest of this library.

import type { AddonFailure } from './addon-failure.js'
import type { Binding } from './binding/native.js'

const { platform, arch, versions } = process

/** The version that `engines` in package.json requires, which package managers do not enforce. */
const OLDEST_NODE = 20

/** Returns the addon, or calls `failed` with the error. */
type Load = (failed: (error: AddonFailure['error']) => void) => Binding | undefined

/**
 * Functions that load the addon of each platform. Bundlers follow only literal paths, and tolerate a missing file only if its `require` has a `try`
 * of its own.
 */
const ADDONS: Record<string, Load> = {
  'linux-x64-gnu': (failed) => {
    try {
      return require('../session-tape.linux-x64-gnu.node')
    } catch (error) {
      failed(error as Error)
    }
    try {
      return require('@session-tape/binding-linux-x64-gnu')
    } catch (error) {
      failed(error as Error)
    }
  },
  'linux-x64-musl': (failed) => {
    try {
      return require('../session-tape.linux-x64-musl.node')
    } catch (error) {
      failed(error as Error)
    }
    try {
      return require('@session-tape/binding-linux-x64-musl')
    } catch (error) {
      failed(error as Error)
    }
  },
  'linux-arm64-gnu': (failed) => {
    try {
      return require('../session-tape.linux-arm64-gnu.node')
    } catch (error) {
      failed(error as Error)
    }
    try {
      return require('@session-tape/binding-linux-arm64-gnu')
    } catch (error) {
      failed(error as Error)
    }
  },
  'linux-arm64-musl': (failed) => {
    try {
      return require('../session-tape.linux-arm64-musl.node')
    } catch (error) {
      failed(error as Error)
    }
    try {
      return require('@session-tape/binding-linux-arm64-musl')
    } catch (error) {
      failed(error as Error)
    }
  },
  'darwin-x64': (failed) => {
    try {
      return require('../session-tape.darwin-x64.node')
    } catch (error) {
      failed(error as Error)
    }
    try {
      return require('@session-tape/binding-darwin-x64')
    } catch (error) {
      failed(error as Error)
    }
  },
  'darwin-arm64': (failed) => {
    try {
      return require('../session-tape.darwin-arm64.node')
    } catch (error) {
      failed(error as Error)
    }
    try {
      return require('@session-tape/binding-darwin-arm64')
    } catch (error) {
      failed(error as Error)
    }
  },
  'win32-x64-msvc': (failed) => {
    try {
      return require('../session-tape.win32-x64-msvc.node')
    } catch (error) {
      failed(error as Error)
    }
    try {
      return require('@session-tape/binding-win32-x64-msvc')
    } catch (error) {
      failed(error as Error)
    }
  },
  'win32-arm64-msvc': (failed) => {
    try {
      return require('../session-tape.win32-arm64-msvc.node')
    } catch (error) {
      failed(error as Error)
    }
    try {
      return require('@session-tape/binding-win32-arm64-msvc')
    } catch (error) {
      failed(error as Error)
    }
  },
}

const system = `${platform}-${arch}`
// A program that is linked with musl fails to load the addon that is linked with glibc, and tries the next.
const candidates = Object.keys(ADDONS).filter((name) => name === system || name.startsWith(`${system}-`))

function loadAddon(): Binding {
  if (Number.parseInt(versions.node, 10) < OLDEST_NODE) throw reasons().oldNode(system, OLDEST_NODE)
  if (candidates.length === 0) throw reasons().unsupported(system, Object.keys(ADDONS))
  const failures: AddonFailure[] = []
  const load = (name: string, by: Load) => by((error) => void failures.push({ name, error }))
  for (const name of candidates) {
    const addon = load(name, ADDONS[name]!)
    if (addon !== undefined) return addon
  }
  // A program compiled by Bun finds no package on the disk whose `main` is an addon.
  const { loadByPath } = require('./addon-by-path.js') as typeof import('./addon-by-path.js')
  for (const name of candidates) {
    const addon = load(name, (failed) => loadByPath(name, failed))
    if (addon !== undefined) return addon
  }
  throw reasons().notLoaded(failures as [AddonFailure, ...AddonFailure[]])
}

/** Loaded only after a failure, because most programs have none. */
const reasons = () => require('./addon-failure.js') as typeof import('./addon-failure.js')

export const native = loadAddon()
