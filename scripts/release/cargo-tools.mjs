// Rust programs that a release needs, each at a fixed version, installed below target/ on first use.

import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'

import { ROOT, run } from '../platforms/commands.mjs'

const PROGRAMS = {
  'cargo-about': { version: '0.9.3', features: ['cli'] },
  'cargo-cyclonedx': { version: '0.5.9', features: [] },
  'cargo-deny': { version: '0.20.2', features: [] },
}
const TOOLS = join(ROOT, 'target', 'build-tools')

/** Optimised for compile time, since they are run only a few times. */
const QUICKLY = {
  CARGO_PROFILE_RELEASE_LTO: 'off',
  CARGO_PROFILE_RELEASE_OPT_LEVEL: '2',
  CARGO_PROFILE_RELEASE_CODEGEN_UNITS: '64',
}

/** @returns {string} the path of the program */
export function cargoTool(name) {
  const { version, features } = PROGRAMS[name]
  const root = join(TOOLS, `${name}-${version}`)
  const program = join(root, 'bin', name)
  if (existsSync(program)) return program
  mkdirSync(root, { recursive: true })
  const environment = { ...QUICKLY, CARGO_TARGET_DIR: join(TOOLS, 'cargo-tools'), RUSTFLAGS: undefined }
  run(
    'cargo',
    ['install', '--locked', '--root', root, '--features', features.join(), `${name}@${version}`],
    environment,
  )
  return program
}
