// Prepares a work tree: installs the npm packages, compiles the library, bundles the scripts of the HTML pages and builds the addon, each only if
// necessary. Cargo begins with the core at once, since npm waits for the network and compiles nothing. `npm test` and `npm run demo` begin with this,
// so that either can be the first command in a fresh clone. With `--as-published` it builds the addon that users get, which takes longer:
// `npm run bench` measures that one.

import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { cargoTarget } from './cargo-target.mjs'
import { addonFile } from './platform.mjs'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
const LIBRARY = 'dist/builtins.js'
const LIBRARY_SOURCES = ['lib', 'index.d.ts', 'scripts/build-library.mjs', 'package-lock.json']
const PAGE_LIBRARIES = 'packages/cli/html/libraries/list.json'
const PAGE_LIBRARY_SOURCES = [
  'package-lock.json',
  'scripts/build-page-libraries.mjs',
  'packages/cli/html',
  'packages/cli/quantities.js',
  'packages/cli/invisible.js',
]
const ADDON_SOURCES = ['src', 'crates/core/src', 'crates/core/Cargo.toml', 'Cargo.toml', 'Cargo.lock', 'build.rs']

requireNode(20)
const isAsPublished = process.argv.includes('--as-published')
let ahead = null
if (!isAsPublished && !isCurrent(addonFile(), ADDON_SOURCES)) ahead = compileCore()
if (!packagesAreInstalled()) {
  announce('installing the npm packages')
  run('npm', ['ci', '--no-audit', '--no-fund'])
}
if (!isCurrent(LIBRARY, LIBRARY_SOURCES)) run('npm', ['run', '--silent', 'build:lib'])
if (!isCurrent(PAGE_LIBRARIES, PAGE_LIBRARY_SOURCES)) {
  announce('bundling the scripts of the HTML pages')
  run('npm', ['run', '--silent', 'build:page'])
}
if (isAsPublished) {
  requireCargo()
  // Left to Cargo, because an addon may be current but built without `--as-published`.
  run('npm', ['run', '--silent', 'build'])
} else if (!isCurrent(addonFile(), ADDON_SOURCES)) {
  requireCargo()
  announce('building the addon (release mode, a minute or two the first time)')
  run('npm', ['run', '--silent', 'build:quick'])
}

/** Starts to compile what `build:quick` needs. That waits for this, and reports its errors. */
function compileCore() {
  requireCargo()
  return spawn('cargo', ['build', '--release', ...cargoTarget(), '--package', 'session-tape-core'], {
    cwd: ROOT,
    stdio: 'ignore',
  })
}

/**
 * Whether node_modules has what package-lock.json lists. Compares content, not dates, since npm may write the two files in either order. Optional
 * packages may be absent: most are for other platforms.
 */
function packagesAreInstalled() {
  const installed = packagesOf('node_modules/.package-lock.json')
  if (installed === null) return false
  const wanted = packagesOf('package-lock.json') ?? {}
  return Object.entries(wanted).every(([path, { version, integrity, optional, devOptional }]) => {
    const found = installed[path]
    if (path === '') return true
    if (found === undefined) return Boolean(optional || devOptional)
    return found.version === version && found.integrity === integrity
  })
}

function packagesOf(lockFile) {
  const path = join(ROOT, lockFile)
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).packages : null
}

/** Whether a built file exists and is newer than every source, as make decides it. */
function isCurrent(built, sources) {
  const path = join(ROOT, built)
  if (!existsSync(path)) return false
  const builtAt = statSync(path).mtimeMs
  return sources.every((name) => newestChange(join(ROOT, name)) <= builtAt)
}

/** The latest modification time in a file or folder, including that of the folder itself: it is all that shows that a source was deleted. */
function newestChange(path) {
  if (!existsSync(path)) return 0
  const { mtimeMs } = statSync(path)
  if (!statSync(path).isDirectory()) return mtimeMs
  return readdirSync(path).reduce((latest, name) => Math.max(latest, newestChange(join(path, name))), mtimeMs)
}

function requireNode(major) {
  if (Number.parseInt(process.versions.node, 10) < major) {
    fail(`Node.js ${major} or newer is needed, this is ${process.version}.`)
  }
}

function requireCargo() {
  if (spawnSync('cargo', ['--version'], { cwd: ROOT }).status !== 0) {
    fail(
      'building the addon needs Rust, and `cargo` was not found. Install it from https://rustup.rs, open a new shell, and try again.',
    )
  }
}

function run(command, args) {
  // On Windows npm is a script, which only a shell can start.
  const { status } = spawnSync(command, args, { cwd: ROOT, stdio: 'inherit', shell: process.platform === 'win32' })
  if (status !== 0) fail(`\`${[command, ...args].join(' ')}\` failed.`)
}

function announce(step) {
  console.error(`session-tape: ${step}`)
}

function fail(message) {
  ahead?.kill()
  console.error(`session-tape: ${message}`)
  process.exit(1)
}
