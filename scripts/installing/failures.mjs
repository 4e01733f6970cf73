// The errors of incomplete installations: which platform, which package, and what to do.

import assert from 'node:assert/strict';
import { copyFileSync, cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { ROOT } from '../platforms/commands.mjs';
import { start, succeed } from './environment.mjs';
import { TOOLS } from './tools.mjs';

const HERE = '@session-tape/binding-linux-x64-gnu';
const MUSL = '@session-tape/binding-linux-x64-musl';

const SAMPLE = join(ROOT, 'demo', 'sample.jsonl');

/** Requires the package and imports it, and prints the errors. */
const LOAD = `
const tell = (error) => console.log(error.code, error.message)
try { require('session-tape') } catch (error) { tell(error) }
import('session-tape').catch(tell)
`;

export async function testFailures({ project, directory, env, report }) {
  const copy = (name) => {
    const path = join(directory, 'broken', name);
    cpSync(project, path, { recursive: true, verbatimSymlinks: true });
    return path;
  };
  await report.test('npm ci --omit=optional: the error says what to do', async () => {
    const broken = copy('omitted');
    await succeed(['npm', 'ci', '--omit=optional', '--no-audit', '--no-fund'], { cwd: broken, env });
    await says(broken, env, 'NoAddon', [`for linux-x64-gnu. The package ${HERE} is not installed. Install again without`, '--omit=optional']);
  });
  await report.test('without the binary package: the error names it', async () => {
    const broken = copy('missing');
    rmSync(join(broken, 'node_modules', HERE), { recursive: true });
    await says(broken, env, 'NoAddon', [`The package ${HERE} is not installed. Install again`]);
  });
  await report.test('the package for musl instead of the one for glibc: the error names both', async () => {
    const broken = copy('musl');
    rmSync(join(broken, 'node_modules', HERE), { recursive: true });
    await succeed(['npm', 'install', '--no-audit', '--no-fund', '--libc=musl', '--force'], { cwd: broken, env });
    await says(broken, env, 'NoAddon', [`The package ${HERE} is not installed, but ${MUSL} is, which is for another C library. Install again`]);
  });
  await report.test('the binary for musl in the package for glibc: the error says that it does not load', async () => {
    const broken = copy('exchanged');
    const musl = join(ROOT, 'npm', 'linux-x64-musl', 'session-tape.linux-x64-musl.node');
    copyFileSync(musl, join(broken, 'node_modules', HERE, 'session-tape.linux-x64-gnu.node'));
    await says(broken, env, 'NoAddon', [`for linux-x64-gnu. The package ${HERE} is installed, but does not load: remove node_modules and install again`]);
  });
  await report.test('a Node.js that is too old: the error says which is needed', async () => {
    const message = 'session-tape needs Node.js 20 or newer, and this is v18.20.8 on linux-x64: install a newer one';
    await says(project, env, 'UnsupportedRuntime', [message], TOOLS.oldNode);
  });
}

async function says(project, env, code, texts, node = [process.execPath]) {
  const loading = await start([...node, '-e', LOAD], { cwd: project, env });
  const lines = loading.stdout.trim().split('\n');
  assert.equal(lines.length, 2, `${loading.stdout}${loading.stderr}`);
  const program = await start([...node, join(project, 'node_modules', '@session-tape', 'cli', 'main.js'), 'inspect', SAMPLE], { cwd: project, env });
  assert.equal(program.status, 2, program.stderr);
  for (const text of texts) {
    for (const line of lines) assert.ok(line.startsWith(`${code} `) && line.includes(text), line);
    assert.ok(program.stderr.includes(text), program.stderr);
  }
}
