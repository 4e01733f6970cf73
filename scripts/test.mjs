// `npm test`: prepares the work tree and runs every test, those in Rust in parallel with those in JavaScript. Arguments are passed to vitest.
//
// The addon is built first, because the tests in JavaScript take longest and many of them wait: compiling and running those in Rust fills the time.
// The two share compiled dependencies: the profile `bench` compiles them as `release` does, for the target that `napi build` passes.

import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';

import { cargoTarget } from './cargo-target.mjs';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs');

/** The steps in the order in which they ended: name, seconds, and whether they succeeded. */
const ended = [];

const isReady = await step('set-up', process.execPath, ['scripts/setup.mjs']);
// Without the addon, those in Rust may still say what is wrong.
const [javascript, rust] = await Promise.all([isReady && javascriptTests(), rustTests()]);
report();
if (!(javascript && rust)) process.exitCode = 1;

function javascriptTests() {
  return step('vitest', process.execPath, [VITEST, 'run', ...process.argv.slice(2)]);
}

/**
 * Those of the addon and of the core together, so that no dependency is compiled with two sets of features.
 */
async function rustTests() {
  const test = ['test', '--profile', 'bench', ...cargoTarget(), '--features', 'failpoints'];
  return (
    (await step('cargo', 'cargo', [...test, '--lib', '--test', '*'], { quiet: true })) &&
    (await step('cargo, documentation', 'cargo', [...test, '--doc'], { quiet: true }))
  );
}

/**
 * Runs a command. Returns whether it succeeded. Interleaved output would be unreadable, and what failed must stand at the end: a quiet command prints
 * its output if it fails, else the totals alone.
 */
function step(name, command, args, { quiet = false } = {}) {
  const start = performance.now();
  const said = [];
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: ROOT, stdio: ['ignore', quiet ? 'pipe' : 'inherit', quiet ? 'pipe' : 'inherit'] });
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => said.push(chunk));
    child.on('error', (error) => said.push(Buffer.from(`${command} could not be started: ${error.message}. Building needs Rust: https://rustup.rs\n`)));
    child.on('close', (code) => {
      ended.push({ name, seconds: (performance.now() - start) / 1000, ok: code === 0 });
      const output = Buffer.concat(said).toString();
      if (quiet || code !== 0) console.log(`\n== ${name}\n${code === 0 ? totals(output) : output}`);
      resolve(code === 0);
    });
  });
}

function totals(output) {
  const results = [...output.matchAll(/^test result: ok\. (\d+) passed; 0 failed; (\d+) ignored/gm)];
  const sum = (group) => results.reduce((total, result) => total + Number(result[group]), 0);
  return `${sum(1)} passed, ${sum(2)} ignored`;
}

function report() {
  console.log(`\n${'step'.padEnd(24)}seconds`);
  for (const { name, seconds, ok } of ended) console.log(`${name.padEnd(24)}${seconds.toFixed(0).padStart(7)}${ok ? '' : '  failed'}`);
}
