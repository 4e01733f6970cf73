// `npm test`: sets the work tree up and runs every test, those in Rust beside those in JavaScript. Arguments are passed to vitest.
//
// The two sides share the machine because each leaves a core idle at times: installing the npm packages waits for the network, many tests
// wait. They share the dependencies too: the profile `bench` compiles them as `release` does, and for the target that `napi build` names.
// So the one waits while the other compiles, but nothing is compiled twice.

import { spawn, spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs');

/** In the order in which they ended: the name, the seconds, whether it went well. */
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

/** All with the features of the addon, so that no dependency is compiled for two sets of them. That the core needs none of Node.js a lint proves. */
async function rustTests() {
  const test = ['test', '--profile', 'bench', ...target(), '--features', 'failpoints'];
  return (
    (await step('cargo', 'cargo', [...test, '--lib', '--test', '*'], { quiet: true })) &&
    (await step('cargo, documentation', 'cargo', [...test, '--doc'], { quiet: true }))
  );
}

/** The target that `napi build` passes to Cargo. Without it the dependencies would be compiled again, into another folder. */
function target() {
  const { stdout } = spawnSync('rustc', ['-vV'], { cwd: ROOT, encoding: 'utf8' });
  const triple = process.env.CARGO_BUILD_TARGET ?? /^host: (.+)$/m.exec(stdout ?? '')?.[1];
  return triple ? ['--target', triple] : [];
}

/** Whether the command ended well. A quiet one shows what it said when it has ended: lines of two sides mixed are not readable. */
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
