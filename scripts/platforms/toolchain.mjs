// The tools that build for other platforms: zig, cargo-zigbuild and LIEF in a separate Python environment below target/, the standard libraries of
// Rust, and for macOS Rust's own linker.

import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

import { ROOT, output, run } from './commands.mjs'

export const TOOLS = join(ROOT, 'target', 'build-tools')
export const python = join(TOOLS, 'python', 'bin', 'python')
export const ZIGBUILD = join(TOOLS, 'python', 'bin', 'cargo-zigbuild')
export const MACOS = { linker: join(TOOLS, 'ld64'), sdk: join(TOOLS, 'MacOSX.sdk') }
const REQUIREMENTS = join(ROOT, 'scripts', 'platforms', 'requirements.txt')

/** A library that Rust's standard library links but never calls. The linker drops it. */
const ICONV = `--- !tapi-tbd
tbd-version: 4
targets: [ x86_64-macos, arm64-macos ]
install-name: '/usr/lib/libiconv.2.dylib'
...
`

/** Installs the tools that are missing to build these targets. */
export function prepareToolchain(targets) {
  preparePython()
  prepareLibNode()
  prepareMacosLinker()
  run('rustup', ['target', 'add', ...targets.map(({ triple }) => triple)])
}

/** The directory of zig. */
export const zigDirectory = () => output(python, ['-c', 'import os, ziglang; print(os.path.dirname(ziglang.__file__))'])

/** The environment of `cargo-zigbuild`. */
export function zigEnvironment() {
  const caches = Object.fromEntries(
    ['CARGO_ZIGBUILD_CACHE_DIR', 'ZIG_GLOBAL_CACHE_DIR', 'ZIG_LOCAL_CACHE_DIR'].map((name) => [
      name,
      join(TOOLS, 'zig-cache'),
    ]),
  )
  return { ...caches, CARGO_ZIGBUILD_ZIG_PATH: join(zigDirectory(), 'zig'), LIBNODE_PATH: join(TOOLS, 'libnode') }
}

/** Paths of this machine and their replacements in an addon, so that building elsewhere gives the same bytes. */
export function remappedPaths() {
  const registry = join(cargoHome(), 'registry', 'src')
  const registries = existsSync(registry) ? readdirSync(registry).map((name) => [join(registry, name), '/crates']) : []
  return [[ROOT, '/session-tape'], ...registries, [join(sysroot(), 'lib', 'rustlib', 'src', 'rust'), '/rust']]
}

/** Paths that no addon may contain. */
export function machinePaths() {
  return [...new Set([ROOT, homedir(), cargoHome(), sysroot()])].map((path) => `${path}/`)
}

function preparePython() {
  const installed = join(TOOLS, 'installed.txt')
  const wanted = readFileSync(REQUIREMENTS, 'utf8')
  if (existsSync(installed) && readFileSync(installed, 'utf8') === wanted) return
  run('python3', ['-m', 'venv', '--clear', join(TOOLS, 'python')])
  run(python, [
    '-m',
    'pip',
    'install',
    '--quiet',
    '--no-deps',
    '--only-binary',
    ':all:',
    '--require-hashes',
    '-r',
    REQUIREMENTS,
  ])
  writeFileSync(installed, wanted)
}

/**
 * For MinGW, napi's build script requires an import library of Node. The addon imports nothing from it, since it looks up Node's functions at run
 * time (`dyn-symbols`). The library is therefore an empty archive: an accidental import fails to link.
 */
function prepareLibNode() {
  const directory = join(TOOLS, 'libnode')
  mkdirSync(directory, { recursive: true })
  writeFileSync(join(directory, 'libnode.dll'), '')
  writeFileSync(join(directory, 'libnode.a'), '!<arch>\n')
}

/**
 * zig's own linker exports every symbol of a library; Rust's accepts a list, and needs what zig has of macOS's single system library, under all names
 * by which it is linked. The wrapper drops the lone `-Wl` of `napi_build`, which a C compiler ignores and a linker rejects.
 */
function prepareMacosLinker() {
  const libraries = join(MACOS.sdk, 'usr', 'lib')
  mkdirSync(libraries, { recursive: true })
  const system = join(zigDirectory(), 'lib', 'libc', 'darwin', 'libSystem.tbd')
  for (const name of ['libSystem', 'libc', 'libm']) copyFileSync(system, join(libraries, `${name}.tbd`))
  writeFileSync(join(libraries, 'libiconv.tbd'), ICONV)
  const host = /^host: (.+)$/m.exec(output('rustc', ['-vV']))[1]
  const lld = join(sysroot(), 'lib', 'rustlib', host, 'bin', 'rust-lld')
  const dropped = `for argument do\n  shift\n  [ "$argument" = -Wl ] || set -- "$@" "$argument"\ndone`
  writeFileSync(MACOS.linker, `#!/bin/sh\n${dropped}\nexec '${lld}' "$@"\n`, { mode: 0o755 })
}

const cargoHome = () => process.env.CARGO_HOME ?? join(homedir(), '.cargo')
const sysroot = () => output('rustc', ['--print', 'sysroot'])
