// The tests of the core, compiled for another platform and run by an emulator.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { workDirectory } from './build.mjs';
import { run } from './commands.mjs';
import { describeToolchain, prepareToolchain } from './toolchain.mjs';

/** Those that start no other process: the system could not run it. */
const TESTS = ['--lib', '--test', 'golden_run', '--test', 'simulated_errors', '--test', 'simulated_sessions'];

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
  const failed = await run(cargo, ['test', '--locked', '--no-fail-fast', '--no-default-features', '--features', 'failpoints', ...TESTS, ...place], {
    log,
    environment: { ...environment, ...OPTIMISED, [runner]: emulator.join(' '), PROPTEST_CASES, RUSTFLAGS: undefined },
  }).then(() => false, () => true);
  const results = [...readFileSync(log, 'utf8').matchAll(/^test result: .* (\d+) passed; (\d+) failed/gm)];
  const sum = (column) => results.reduce((total, result) => total + Number(result[column]), 0);
  return { log, passed: sum(1), failed: Math.max(sum(2), failed ? 1 : 0) };
}
