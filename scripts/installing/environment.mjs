// Runs programs as a user of the package does: without this work tree or this user in the environment.

import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

const INHERITED = /^(npm_|NODE_|INIT_CWD$|COREPACK|YARN_|BUN_|PNPM_|CI$|FORCE_COLOR$|GITHUB_|SESSION_TAPE)/i;

/** @returns {NodeJS.ProcessEnv} an environment with a separate home directory */
export function plainEnvironment(home, more = {}) {
  mkdirSync(join(home, 'tmp'), { recursive: true });
  const kept = Object.entries(process.env).filter(([name]) => !INHERITED.test(name));
  return { ...Object.fromEntries(kept), HOME: home, USERPROFILE: home, TMPDIR: join(home, 'tmp'), XDG_CACHE_HOME: join(home, 'cache'), NO_COLOR: '1', ...more };
}

/** @returns {Promise<{ status: number | null, stdout: string, stderr: string }>} */
export function start([program, ...args], { cwd, env }) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const [stdout, stderr] = [child.stdout, child.stderr].map(collect);
    child.on('error', reject);
    child.on('close', (status) => resolve({ status, stdout: stdout.join(''), stderr: stderr.join('') }));
  });
}

/** Runs a program that must succeed. Resolves with its output. */
export async function succeed(command, options) {
  const { status, stdout, stderr } = await start(command, options);
  if (status !== 0) throw new Error([`\`${command.join(' ')}\` in ${options.cwd} ended with ${status}`, stdout, stderr].join('\n'));
  return stdout;
}

function collect(stream) {
  const chunks = [];
  stream.setEncoding('utf8').on('data', (chunk) => chunks.push(chunk));
  return chunks;
}
