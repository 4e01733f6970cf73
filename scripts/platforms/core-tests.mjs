// The tests of the core, compiled for another platform and run by an emulator.

import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

import { workDirectory } from './build.mjs';
import { ROOT, run } from './commands.mjs';
import { describeToolchain, prepareToolchain } from './toolchain.mjs';

/**
 * They start themselves as processes of their own, to kill them. The system has no emulator for those: it knows one only where `binfmt_misc` is
 * set up, which takes root. `power_cut` mounts file systems besides.
 */
const NOT_EMULATED = ['bundle_crash', 'crash', 'fork_crash', 'power_cut', 'run_crash'];

/** A sixteenth of what is usual: an emulator takes at least ten times as long. */
const PROPTEST_CASES = '16';

/** Not optimised, as tests are elsewhere, this crate would keep an emulator busy for hours. Assertions and checks for overflow stay. */
const OPTIMISED = { CARGO_PROFILE_DEV_OPT_LEVEL: '1', CARGO_INCREMENTAL: '0' };

/** @returns {Promise<{ log: string, passed: number, failed: number }>} */
export async function runCoreTests(target, emulator) {
  const log = join(workDirectory(target), 'core-tests.log');
  writeFileSync(log, '');
  await prepareToolchain([target], log);
  const { cargo, environment } = await describeToolchain();
  const runner = `CARGO_TARGET_${target.triple.toUpperCase().replaceAll('-', '_')}_RUNNER`;
  const place = ['--target', target.zigTriple, '--target-dir', join(workDirectory(target), 'core-tests')];
  const failed = await run(cargo, ['test', '--locked', '--no-fail-fast', '--no-default-features', '--features', 'failpoints', ...tests(), ...place], {
    log,
    environment: { ...environment, ...OPTIMISED, [runner]: emulator.join(' '), PROPTEST_CASES, RUSTFLAGS: undefined },
  }).then(() => false, () => true);
  const results = [...readFileSync(log, 'utf8').matchAll(/^test result: .* (\d+) passed; (\d+) failed/gm)];
  const sum = (column) => results.reduce((total, result) => total + Number(result[column]), 0);
  return { log, passed: sum(1), failed: Math.max(sum(2), failed ? 1 : 0) };
}

/** The unit tests, and those in tests/. */
function tests() {
  const files = readdirSync(join(ROOT, 'tests')).filter((name) => name.endsWith('.rs'));
  const names = files.map((name) => basename(name, '.rs')).filter((name) => !NOT_EMULATED.includes(name));
  return ['--lib', ...names.sort().flatMap((name) => ['--test', name])];
}
