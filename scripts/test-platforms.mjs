// Runs `scripts/smoke.mjs` with the addons of `npm run build:all`, wherever this machine can: on itself, arm64 Linux under qemu, Windows under Wine.
//
//   npm run test:platforms -- [PLATFORM...]

import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { ROOT, run } from './platforms/commands.mjs';
import { emulatorOf, FOREIGN_NODES, foreignNodes } from './platforms/emulators.mjs';
import { TARGETS, addonPath } from './platforms/targets.mjs';

/** Emulated, it takes seconds. This is a limit against a hang. */
const TIMEOUT_MS = 300_000;

const names = process.argv.slice(2);
const targets = names.length === 0 ? TARGETS : TARGETS.filter(({ name }) => names.includes(name));
const work = join(ROOT, 'target', 'platforms');
const toolsLog = join(work, 'tools.log');
mkdirSync(work, { recursive: true });

const runnable = [];
for (const target of targets) {
  const emulator = emulatorOf(target.name);
  if (emulator.missing !== undefined) report(target, `not run: ${emulator.missing}`);
  else if (!existsSync(join(ROOT, addonPath(target)))) report(target, 'not run: `npm run build:all` has not built it');
  else runnable.push({ target, emulator });
}
await installNodes(runnable.map(({ target }) => target.name));
for (const { target, emulator } of runnable) {
  await emulator.prepare?.(toolsLog);
  smoke(target, emulator);
}

async function installNodes(platforms) {
  const packages = platforms.map((platform) => FOREIGN_NODES[platform]).filter((name) => name !== undefined);
  if (packages.length === 0) return;
  mkdirSync(foreignNodes, { recursive: true });
  // `--force`: they are made for other machines.
  await run('npm', ['install', '--prefix', foreignNodes, '--force', '--no-audit', '--no-fund', ...packages], { log: toolsLog });
}

/** Node's output goes to a file: under Wine it gets lost in a pipe. */
function smoke(target, { name, command, path, environment }) {
  const log = join(work, `${target.name}.smoke.log`);
  const file = openSync(log, 'w');
  const [program, ...args] = [...command, path(join(ROOT, 'scripts', 'smoke.mjs'))];
  const { status } = spawnSync(program, args, {
    cwd: ROOT,
    stdio: ['ignore', file, file],
    timeout: TIMEOUT_MS,
    env: { ...process.env, ...environment, NAPI_RS_NATIVE_LIBRARY_PATH: path(join(ROOT, addonPath(target))) },
  });
  closeSync(file);
  const printed = readFileSync(log, 'utf8').trim();
  const works = status === 0 && printed.includes('session-tape works with');
  report(target, works ? `works on ${name}: ${printed.split('\n').at(-1)}` : `FAILED on ${name}, see ${log}\n${printed}`);
  if (!works) process.exitCode = 1;
}

function report({ name }, text) {
  console.log(`${name.padEnd(18)}${text}`);
}
