// The tests of the core, compiled for another platform and run by an emulator.

import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'

import { workDirectory } from './build.mjs'
import { ROOT, run } from './commands.mjs'
import { describeToolchain, prepareToolchain } from './toolchain.mjs'

/**
 * Tests that start their own program again, to kill it. The system does not run these processes in an emulator unless `binfmt_misc` is set up, which
 * needs root. `power_cut` also mounts file systems.
 */
const NOT_EMULATED = ['bundle_crash', 'crash', 'fork_crash', 'power_cut', 'run_crash']

/** A sixteenth of the usual number: an emulator is at least ten times as slow. */
const PROPTEST_CASES = '16'

/** Without optimisation, as in other tests, this crate would take hours in an emulator. Assertions and overflow checks stay enabled. */
const OPTIMISED = { CARGO_PROFILE_DEV_OPT_LEVEL: '1', CARGO_INCREMENTAL: '0' }

/** @returns {Promise<{ log: string, passed: number, failed: number }>} */
export async function runCoreTests(target, emulator) {
  const log = join(workDirectory(target), 'core-tests.log')
  writeFileSync(log, '')
  await prepareToolchain([target], log)
  const { cargo, environment } = await describeToolchain()
  const runner = `CARGO_TARGET_${target.triple.toUpperCase().replaceAll('-', '_')}_RUNNER`
  const place = ['--target', target.zigTriple, '--target-dir', join(workDirectory(target), 'core-tests')]
  const failed = await run(
    cargo,
    [
      'test',
      '--locked',
      '--no-fail-fast',
      '--package',
      'session-tape-core',
      '--features',
      'failpoints',
      ...tests(),
      ...place,
    ],
    {
      log,
      environment: { ...environment, ...OPTIMISED, [runner]: emulator.join(' '), PROPTEST_CASES, RUSTFLAGS: undefined },
    },
  ).then(
    () => false,
    () => true,
  )
  const results = [...readFileSync(log, 'utf8').matchAll(/^test result: .* (\d+) passed; (\d+) failed/gm)]
  const sum = (column) => results.reduce((total, result) => total + Number(result[column]), 0)
  return { log, passed: sum(1), failed: Math.max(sum(2), failed ? 1 : 0) }
}

/** The arguments that select the unit tests, and the tests in crates/core/tests/ that can be emulated. */
function tests() {
  const files = readdirSync(join(ROOT, 'crates/core/tests')).filter((name) => name.endsWith('.rs'))
  const names = files.map((name) => basename(name, '.rs')).filter((name) => !NOT_EMULATED.includes(name))
  return ['--lib', ...names.sort().flatMap((name) => ['--test', name])]
}
