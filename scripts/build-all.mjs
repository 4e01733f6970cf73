// Builds the addon for every platform on one Linux machine, which needs Rust (rustup), Node.js and Python, and checks the results. Each addon goes to
// its folder in npm/.
//
//   npm run build:all -- [--profile NAME] [PLATFORM...]
//
// A platform has the name of its folder in npm/; by default, all are built. `--profile dev` shows in a fraction of the time whether everything links;
// `dist` is the profile that is published.

import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { ROOT, run } from './platforms/commands.mjs'
import { inspect, problemsOf } from './platforms/inspect.mjs'
import { addonPath, chosenTargets } from './platforms/targets.mjs'
import {
  MACOS,
  ZIGBUILD,
  machinePaths,
  prepareToolchain,
  remappedPaths,
  zigEnvironment,
} from './platforms/toolchain.mjs'

/** The file names that the linkers of Rust's targets give to the library. */
const LIBRARY = { ELF: 'libsession_tape.so', 'Mach-O': 'libsession_tape.dylib', PE: 'session_tape.dll' }

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { profile: { type: 'string', default: 'dist' } },
})
const targets = chosenTargets(positionals)
prepareToolchain(targets)
for (const target of targets) {
  const addon = join(ROOT, addonPath(target))
  copyFileSync(build(target, values.profile), addon)
  const facts = inspect(addon, machinePaths())
  const problems = problemsOf(facts, target.expected)
  const needs = [`${facts.minimum.system} ${facts.minimum.version ?? '?'}`, ...facts.libraries].join(', ')
  console.log(`${addonPath(target)}: ${(facts.size / 1e6).toFixed(2)} MB, needs ${needs}, sha256 ${facts.sha256}`)
  for (const problem of problems) console.error(`${addonPath(target)}: ${problem}`)
  if (problems.length > 0) process.exitCode = 1
}

/** Builds only the library: `cargo build` would build the crate's `rlib` as well. */
function build(target, profile) {
  const directory = join(ROOT, 'target', 'platforms', target.name)
  const library = ['--lib', '--crate-type', 'cdylib', '--profile', profile, '--locked']
  const place = ['--target', target.zigTriple, '--target-dir', directory]
  run(ZIGBUILD, ['rustc', ...library, ...place, '--', '-Cstrip=symbols', ...linkerFlags(target)], {
    ...zigEnvironment(),
    ...target.environment,
    ...(target.expected.format === 'Mach-O' ? { SDKROOT: MACOS.sdk } : {}),
    CARGO_ENCODED_RUSTFLAGS: rustFlags(target, directory).join('\x1f'),
    RUSTFLAGS: undefined,
    SOURCE_DATE_EPOCH: '0',
    ZERO_AR_DATE: '1',
  })
  return join(directory, target.triple, profile === 'dev' ? 'debug' : profile, LIBRARY[target.expected.format])
}

/** Those of published.toml, which the flags that are set here would replace, and those that make the bytes independent of the machine. */
function rustFlags(target, directory) {
  const config = readFileSync(join(ROOT, 'scripts', 'platforms', 'published.toml'), 'utf8')
  const published = JSON.parse(/^rustflags = (\[.*\])$/m.exec(config)[1])
  // The last one that matches applies. Build scripts write below `directory`.
  const remapped = [...remappedPaths(), [directory, '/target']]
  return [...published, ...target.rustFlags, ...remapped.map(([from, to]) => `--remap-path-prefix=${from}=${to}`)]
}

function linkerFlags({ name, expected }) {
  // By default, the linker of MinGW exports every symbol.
  if (expected.format === 'PE') return [`-Clink-arg=${join(ROOT, 'scripts', 'platforms', 'addon.def')}`]
  if (expected.format === 'ELF') return []
  // The linker computes the UUID from all of its output, before `rustc` strips it: without `-S`, that includes paths and times of object files. The
  // last flag sets the install name of the library, which is its path on this machine by default.
  const linked = ['-dead_strip_dylibs', '-S', '-install_name', `@rpath/session-tape.${name}.node`]
  return [`-Clinker=${MACOS.linker}`, '-Clinker-flavor=ld64.lld', ...linked.map((argument) => `-Clink-arg=${argument}`)]
}
