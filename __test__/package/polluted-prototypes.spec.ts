import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

// In a process of its own: a test runner does not expect members on all objects.
test('members that all objects or arrays inherit change no result', { timeout: 240_000 }, () => {
  const [child, library] = ['../support/child-polluted.mjs', '../../index.js'].map((path) => fileURLToPath(new URL(path, import.meta.url)));
  // Each round calls every function, so there are few rounds, with many members each.
  const { stdout, stderr, status } = spawnSync(process.execPath, [child!, library!, '30'], { encoding: 'utf8', timeout: 220_000 });
  expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
  expect(JSON.parse(stdout)).toEqual([]);
});
