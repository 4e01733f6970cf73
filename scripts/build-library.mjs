// Compiles the library, lib/, to dist/.

import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const DIST = join(ROOT, 'dist');

rmSync(DIST, { recursive: true, force: true });
compile('--removeComments');

function compile(...options) {
  const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const { status } = spawnSync(process.execPath, [compiler, '-p', join(ROOT, 'lib'), ...options], { stdio: 'inherit' });
  if (status === 0) return;
  rmSync(DIST, { recursive: true, force: true });
  process.exit(1);
}
