'use strict'

// Loads the addon: that of a work tree if it was built there, else that of a package. The loader that `napi build` generates knows many
// more platforms, and takes as long as all else that this library loads.

const { platform, arch } = process

/**
 * The addons in the order in which they are tried: the system, the package, and how to load the addon. Paths are written out for bundlers. A
 * program that is linked with musl refuses the addon that is linked with glibc, and gets the next.
 */
const ADDONS = [
  ['linux-x64', 'linux-x64-gnu', () => require('../session-tape.linux-x64-gnu.node'), () => require('@session-tape/binding-linux-x64-gnu')],
  ['linux-x64', 'linux-x64-musl', () => require('../session-tape.linux-x64-musl.node'), () => require('@session-tape/binding-linux-x64-musl')],
  ['linux-arm64', 'linux-arm64-gnu', () => require('../session-tape.linux-arm64-gnu.node'), () => require('@session-tape/binding-linux-arm64-gnu')],
  ['linux-arm64', 'linux-arm64-musl', () => require('../session-tape.linux-arm64-musl.node'), () => require('@session-tape/binding-linux-arm64-musl')],
  ['darwin-x64', 'darwin-x64', () => require('../session-tape.darwin-x64.node'), () => require('@session-tape/binding-darwin-x64')],
  ['darwin-arm64', 'darwin-arm64', () => require('../session-tape.darwin-arm64.node'), () => require('@session-tape/binding-darwin-arm64')],
  ['win32-x64', 'win32-x64-msvc', () => require('../session-tape.win32-x64-msvc.node'), () => require('@session-tape/binding-win32-x64-msvc')],
  ['win32-arm64', 'win32-arm64-msvc', () => require('../session-tape.win32-arm64-msvc.node'), () => require('@session-tape/binding-win32-arm64-msvc')],
]

function loadAddon() {
  const errors = []
  const packages = []
  for (const [system, name, fromWorkTree, fromPackage] of ADDONS) {
    if (system !== `${platform}-${arch}`) continue
    packages.push(`@session-tape/binding-${name}`)
    for (const load of [fromWorkTree, fromPackage]) {
      try {
        return load()
      } catch (error) {
        errors.push(error)
      }
    }
  }
  throw notLoaded(packages, errors)
}

function notLoaded(packages, errors) {
  if (packages.length === 0) return new Error(`session-tape has no addon for ${platform} on ${arch}`)
  // An addon that was found and could not be loaded tells more than those that were not found.
  const cause = errors.find(({ code }) => code !== 'MODULE_NOT_FOUND') ?? errors[0]
  const advice = 'Is it installed? Package managers leave it out with `--omit=optional`, or with a lock file made on another platform'
  return new Error(`session-tape can't load its addon, the package ${packages.join(' or ')}. ${advice}: ${cause.message}`, { cause })
}

module.exports = loadAddon()
