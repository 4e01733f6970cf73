'use strict'

// Loads the addon: the one that was built in the work tree if there is one, otherwise that of a package. The loader that `napi build` generates
// supports many more platforms, but takes as long as loading the rest of this library.

const { platform, arch, versions } = process

/** The version that `engines` in package.json requires, which package managers do not enforce. */
const OLDEST_NODE = 20

/**
 * Functions that load the addon of each platform. Bundlers follow only literal paths, and tolerate a missing file only if its `require` has a `try`
 * of its own.
 */
const ADDONS = {
  'linux-x64-gnu': (failed) => {
    try { return require('../session-tape.linux-x64-gnu.node') } catch (error) { failed(error) }
    try { return require('@session-tape/binding-linux-x64-gnu') } catch (error) { failed(error) }
  },
  'linux-x64-musl': (failed) => {
    try { return require('../session-tape.linux-x64-musl.node') } catch (error) { failed(error) }
    try { return require('@session-tape/binding-linux-x64-musl') } catch (error) { failed(error) }
  },
  'linux-arm64-gnu': (failed) => {
    try { return require('../session-tape.linux-arm64-gnu.node') } catch (error) { failed(error) }
    try { return require('@session-tape/binding-linux-arm64-gnu') } catch (error) { failed(error) }
  },
  'linux-arm64-musl': (failed) => {
    try { return require('../session-tape.linux-arm64-musl.node') } catch (error) { failed(error) }
    try { return require('@session-tape/binding-linux-arm64-musl') } catch (error) { failed(error) }
  },
  'darwin-x64': (failed) => {
    try { return require('../session-tape.darwin-x64.node') } catch (error) { failed(error) }
    try { return require('@session-tape/binding-darwin-x64') } catch (error) { failed(error) }
  },
  'darwin-arm64': (failed) => {
    try { return require('../session-tape.darwin-arm64.node') } catch (error) { failed(error) }
    try { return require('@session-tape/binding-darwin-arm64') } catch (error) { failed(error) }
  },
  'win32-x64-msvc': (failed) => {
    try { return require('../session-tape.win32-x64-msvc.node') } catch (error) { failed(error) }
    try { return require('@session-tape/binding-win32-x64-msvc') } catch (error) { failed(error) }
  },
  'win32-arm64-msvc': (failed) => {
    try { return require('../session-tape.win32-arm64-msvc.node') } catch (error) { failed(error) }
    try { return require('@session-tape/binding-win32-arm64-msvc') } catch (error) { failed(error) }
  },
}

const system = `${platform}-${arch}`
// A program that is linked with musl fails to load the addon that is linked with glibc, and tries the next.
const candidates = Object.keys(ADDONS).filter((name) => name === system || name.startsWith(`${system}-`))

function loadAddon() {
  if (Number.parseInt(versions.node, 10) < OLDEST_NODE) throw oldNode()
  const failures = []
  for (const name of candidates) {
    const addon = ADDONS[name]((error) => failures.push({ name, error }))
    if (addon !== undefined) return addon
  }
  throw candidates.length === 0 ? unsupported() : notLoaded(failures)
}

const failure = (code, message, cause) => Object.assign(new Error(message, cause && { cause }), { code })

const oldNode = () =>
  failure('UnsupportedRuntime', `session-tape needs Node.js ${OLDEST_NODE} or newer, and this is ${process.version} on ${system}: install a newer one`)

const unsupported = () =>
  failure('UnsupportedPlatform', `session-tape has no package for ${system}. There is one for each of ${Object.keys(ADDONS).join(', ')}`)

/** Reports the error of this platform's addon, which is the most informative, or else that of any addon that was found. */
function notLoaded(failures) {
  const wanted = platformName()
  const found = failures.filter(({ error }) => !/MODULE_NOT_FOUND$/.test(error.code))
  const own = found.find(({ name }) => name === wanted)
  const { error } = own ?? found[0] ?? failures[0]
  const what = own ? damaged(wanted) : missing(wanted, found)
  const details = found.length > 0 ? ` (${error.message})` : ''
  return failure('NoAddon', `session-tape can't load its addon for ${wanted}. ${what}${details}`, error)
}

const packageOf = (name) => `@session-tape/binding-${name}`

const damaged = (wanted) => `The package ${packageOf(wanted)} is installed, but does not load: remove node_modules and install again`

function missing(wanted, found) {
  const other = found.length > 0 ? `, but ${packageOf(found[0].name)} is, which is for another C library` : ''
  const remedy = 'Install again without leaving out optional dependencies (`--omit=optional`, `--no-optional`)'
  return `The package ${packageOf(wanted)} is not installed${other}. ${remedy}; after a change of platform, without the old node_modules and lock file`
}

/** Called only after a failure, because the report takes longer than loading the addon. */
function platformName() {
  if (platform !== 'linux') return candidates[0]
  const isGlibc = process.report?.getReport().header.glibcVersionRuntime !== undefined
  return `${system}-${isGlibc ? 'gnu' : 'musl'}`
}

module.exports = loadAddon()
