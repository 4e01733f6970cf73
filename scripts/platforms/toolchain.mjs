// The tools that build for other platforms: zig and LIEF in a separate Python environment below target/, and the standard libraries of Rust.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

import { ROOT, output, run } from './commands.mjs'
import { prepareMacosLinker } from './macos-linker.mjs'

export const TOOLS = join(ROOT, 'target', 'build-tools')
const REQUIREMENTS = join(ROOT, 'scripts', 'platforms', 'requirements.txt')
const python = join(TOOLS, 'python', 'bin', 'python')
const libNode = join(TOOLS, 'libnode')

/** Installs the tools that are missing to build these targets. */
export async function prepareToolchain(targets, log) {
  await preparePython(log)
  prepareLibNode()
  prepareMacosLinker(TOOLS, await zigDirectory(), await rustLld())
  await run('rustup', ['target', 'add', ...targets.map(({ triple }) => triple)], { log })
  await run('cargo', ['fetch', '--locked'], { log })
}

/** The program and environment of `cargo-zigbuild`, and the versions of the tools. */
export async function describeToolchain() {
  return {
    cargo: join(TOOLS, 'python', 'bin', 'cargo-zigbuild'),
    environment: {
      CARGO_ZIGBUILD_ZIG_PATH: join(await zigDirectory(), 'zig'),
      CARGO_ZIGBUILD_CACHE_DIR: join(TOOLS, 'zigbuild-cache'),
      ZIG_GLOBAL_CACHE_DIR: join(TOOLS, 'zig-cache'),
      ZIG_LOCAL_CACHE_DIR: join(TOOLS, 'zig-cache'),
      LIBNODE_PATH: libNode,
    },
    version: `${await output('rustc', ['-vV'])}\n${readFileSync(REQUIREMENTS, 'utf8')}`,
  }
}

/** Paths of this machine and their replacements in an addon, so that building elsewhere gives the same bytes. */
export async function remappedPaths() {
  const registry = join(cargoHome(), 'registry', 'src')
  const registries = existsSync(registry) ? readdirSync(registry).map((name) => [join(registry, name), '/crates']) : []
  return [[ROOT, '/session-tape'], ...registries, [join(await sysroot(), 'lib', 'rustlib', 'src', 'rust'), '/rust']]
}

/** Paths that no addon may contain. */
export async function machinePaths() {
  const directories = new Set([ROOT, homedir(), cargoHome(), await sysroot()])
  return [...directories].map((path) => `${path}/`)
}

/** @returns {Promise<object>} facts about the file */
export async function inspect(path, texts) {
  return JSON.parse(await output(python, [join(ROOT, 'scripts', 'platforms', 'inspect.py'), path, ...texts]))
}

export const canInspect = () => existsSync(python)

async function preparePython(log) {
  const installed = join(TOOLS, 'installed.txt')
  const wanted = readFileSync(REQUIREMENTS, 'utf8')
  if (existsSync(installed) && readFileSync(installed, 'utf8') === wanted) return
  await run('python3', ['-m', 'venv', '--clear', join(TOOLS, 'python')], { log })
  await run(
    python,
    [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--no-deps',
      '--only-binary',
      ':all:',
      '--require-hashes',
      '--requirement',
      REQUIREMENTS,
    ],
    { log },
  )
  writeFileSync(installed, wanted)
}

/**
 * For MinGW, napi's build script requires an import library of Node. The addon imports nothing from it, since it looks up Node's functions at run
 * time (`dyn-symbols`). The library is therefore an empty archive: an accidental import fails to link.
 */
function prepareLibNode() {
  mkdirSync(libNode, { recursive: true })
  writeFileSync(join(libNode, 'libnode.dll'), '')
  writeFileSync(join(libNode, 'libnode.a'), '!<arch>\n')
}

const zigDirectory = () => output(python, ['-c', 'import os, ziglang; print(os.path.dirname(ziglang.__file__))'])

async function rustLld() {
  const host = /^host: (.+)$/m.exec(await output('rustc', ['-vV']))[1]
  return join(await sysroot(), 'lib', 'rustlib', host, 'bin', 'rust-lld')
}

const cargoHome = () => process.env.CARGO_HOME ?? join(homedir(), '.cargo')
const sysroot = () => output('rustc', ['--print', 'sysroot'])
