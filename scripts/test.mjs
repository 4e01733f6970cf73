// `npm test`: prepares the work tree and runs every test, those in Rust in parallel with those in JavaScript. Arguments are passed to vitest.
//
// The two share the machine because each leaves a core idle at times: installing npm packages waits for the network, and many tests wait. They share
// compiled dependencies too: the profile `bench` compiles them as `release` does, for the target that `napi build` passes. One waits while the other
// compiles, but nothing is compiled twice.

import { spawn, spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs');

/** The steps in the order in which they ended: name, seconds, and whether they succeeded. */
const ended = [];

const [javascript, rust] = await Promise.all([javascriptTests(), rustTests()]);
report();
if (!(javascript && rust)) process.exitCode = 1;

async function javascriptTests() {
  return (
    (await step('set-up', process.execPath, ['scripts/setup.mjs'])) &&
    (await step('vitest', process.execPath, [VITEST, 'run', ...process.argv.slice(2)]))
  );
}

/**
 * Those of the addon and of the core together, so that no dependency is compiled with two sets of features.
 */
async function rustTests() {
  const test = ['test', '--profile', 'bench', ...target(), '--features', 'failpoints'];
  return (
    (await step('cargo', 'cargo', [...test, '--lib', '--test', '*'], { quiet: true })) &&
    (await step('cargo, documentation', 'cargo', [...test, '--doc'], { quiet: true }))
  );
}

/** The target that `napi build` passes to Cargo. Without it, the dependencies would be compiled again, in another folder. */
function target() {
  const { stdout } = spawnSync('rustc', ['-vV'], { cwd: ROOT, encoding: 'utf8' });
  const triple = process.env.CARGO_BUILD_TARGET ?? /^host: (.+)$/m.exec(stdout ?? '')?.[1];
  return triple ? ['--target', triple] : [];
}

/** Runs a command. Returns whether it succeeded. A quiet one prints its output after it has ended: interleaved output would be unreadable. */
function step(name, command, args, { quiet = false } = {}) {
  const start = performance.now();
  const said = [];
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: ROOT, stdio: ['ignore', quiet ? 'pipe' : 'inherit', quiet ? 'pipe' : 'inherit'] });
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => said.push(chunk));
    child.on('error', (error) => said.push(Buffer.from(`${command} could not be started: ${error.message}. Building needs Rust: https://rustup.rs\n`)));
    child.on('close', (code) => {
      ended.push({ name, seconds: (performance.now() - start) / 1000, ok: code === 0 });
      process.stdout.write(Buffer.concat([Buffer.from(quiet || code !== 0 ? `\n== ${name}\n` : ''), ...said]));
      resolve(code === 0);
    });
  });
}

function report() {
  console.log(`\n${'step'.padEnd(24)}seconds`);
  for (const { name, seconds, ok } of ended) console.log(`${name.padEnd(24)}${seconds.toFixed(0).padStart(7)}${ok ? '' : '  failed'}`);
}
