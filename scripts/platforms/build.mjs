// Builds the addon for one platform, unless it is up to date.

import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { ROOT, output, run } from './commands.mjs'
import { macosEnvironment, macosFlags } from './macos-linker.mjs'
import { addonPath } from './targets.mjs'
import { TOOLS, remappedPaths } from './toolchain.mjs'

/** The sources that determine the bytes of an addon. What is required of it, and where it is tested, does not. */
const SOURCES = [
  ...['src', 'crates/core/src', 'crates/core/Cargo.toml', 'Cargo.toml', 'Cargo.lock', 'build.rs'],
  ...['addon.def', 'build.mjs', 'macos-linker.mjs', 'published.toml', 'requirements.txt', 'toolchain.mjs'].map(
    (name) => `scripts/platforms/${name}`,
  ),
]

/** The file names that the linkers of Rust's targets give to the library. */
const LIBRARY = { ELF: 'libsession_tape.so', 'Mach-O': 'libsession_tape.dylib', PE: 'session_tape.dll' }

export const workDirectory = ({ name }) => join(ROOT, 'target', 'platforms', name)
export const logOf = (target) => join(workDirectory(target), 'build.log')

/** A hash of everything an addon is built from: the same key means the same bytes. */
export async function keyOf(target, { version }, profile) {
  const how = { ...target, expected: undefined }
  const hash = createHash('sha256').update(`${version}\n${profile}\n${JSON.stringify(how)}`)
  const files = (await output('git', ['ls-files', '--cached', '--others', '--exclude-standard', ...SOURCES])).split(
    '\n',
  )
  for (const file of files.filter((name) => existsSync(join(ROOT, name))).sort()) {
    hash.update(`\n${file}\0`).update(readFileSync(join(ROOT, file)))
  }
  return hash.digest('hex')
}

/** Whether the addon in npm/ was built with this key and has not changed since. */
export function isCurrent(target, key) {
  const [addon, stamp] = [join(ROOT, addonPath(target)), stampOf(target)]
  return existsSync(addon) && existsSync(stamp) && readFileSync(stamp, 'utf8') === stampText(key, addon)
}

export async function build(target, key, toolchain, how) {
  const library = await compile(target, toolchain, { ...how, directory: workDirectory(target) })
  const addon = join(ROOT, addonPath(target))
  copyFileSync(library, addon)
  writeFileSync(stampOf(target), stampText(key, addon))
}

/** Whether another build from scratch, in another directory, gives the same bytes. */
export async function isReproducible(target, toolchain, how) {
  const directory = `${workDirectory(target)}.again`
  rmSync(directory, { recursive: true, force: true })
  const library = await compile(target, toolchain, { ...how, directory })
  const isSame = readFileSync(library).equals(readFileSync(join(ROOT, addonPath(target))))
  if (isSame) rmSync(directory, { recursive: true })
  return isSame
}

/** @returns {Promise<string>} the library's path */
async function compile(target, toolchain, { profile, jobs, directory }) {
  mkdirSync(directory, { recursive: true })
  const log = join(directory, 'build.log')
  writeFileSync(log, '')
  const flags = await rustFlags(target, directory)
  await run(toolchain.cargo, cargoArguments(target, profile, directory), {
    log,
    environment: {
      ...toolchain.environment,
      ...target.environment,
      ...(target.expected.format === 'Mach-O' ? macosEnvironment(TOOLS) : {}),
      CARGO_BUILD_JOBS: String(jobs),
      CARGO_ENCODED_RUSTFLAGS: flags.join('\x1f'),
      RUSTFLAGS: undefined,
      SOURCE_DATE_EPOCH: '0',
      ZERO_AR_DATE: '1',
    },
  })
  return join(directory, target.triple, profile === 'dev' ? 'debug' : profile, LIBRARY[target.expected.format])
}

/** Builds only the library: `cargo build` would build the crate's `rlib` as well. */
function cargoArguments(target, profile, directory) {
  const library = ['--lib', '--crate-type', 'cdylib', '--profile', profile, '--locked']
  const place = ['--target', target.zigTriple, '--target-dir', directory]
  return ['rustc', ...library, ...place, '--', ...libraryFlags(target)]
}

async function rustFlags(target, directory) {
  // The last one that matches applies. Build scripts write below `directory`.
  const remapped = [...(await remappedPaths()), [directory, '/target']].map(
    ([from, to]) => `--remap-path-prefix=${from}=${to}`,
  )
  return [...publishedFlags(), ...target.rustFlags, ...remapped]
}

/** Those of published.toml, which the flags that are set here would replace. */
function publishedFlags() {
  const config = readFileSync(join(ROOT, 'scripts', 'platforms', 'published.toml'), 'utf8')
  return JSON.parse(/^rustflags = (\[.*\])$/m.exec(config)[1])
}

const libraryFlags = (target) => ['-Cstrip=symbols', ...linkerFlags(target)]

function linkerFlags({ name, expected }) {
  // By default, the linker of MinGW exports every symbol.
  if (expected.format === 'PE') return [`-Clink-arg=${join(ROOT, 'scripts', 'platforms', 'addon.def')}`]
  return expected.format === 'Mach-O' ? macosFlags(TOOLS, `session-tape.${name}.node`) : []
}

const stampOf = (target) => join(workDirectory(target), 'built.txt')
const stampText = (key, addon) => `${key}\n${createHash('sha256').update(readFileSync(addon)).digest('hex')}\n`
