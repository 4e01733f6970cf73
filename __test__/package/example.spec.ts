// The example as a copy of its folder: a project of its own, with the package installed by name. `npm test` also runs its tests in place.
import { cp, mkdtemp, mkdir, readFile, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

import * as tape from '../../index.js';
import * as facade from '../../examples/cli-facade/src/index.js';
import { succeed } from './packing/command.js';
import { ROOT } from './packing/release.js';

const EXAMPLE = join(ROOT, 'examples', 'cli-facade');
const TOOLS = join(ROOT, 'node_modules');

let project: string;

beforeAll(async () => {
  project = join(await realpath(await mkdtemp(join(tmpdir(), 'session-tape-example-'))), 'copy');
  await cp(EXAMPLE, project, { recursive: true, filter: (path) => !path.includes('node_modules', EXAMPLE.length) });
  await mkdir(join(project, 'node_modules'));
  const packages = { 'session-tape': ROOT, '@types': join(TOOLS, '@types'), vitest: join(TOOLS, 'vitest') };
  for (const [name, target] of Object.entries(packages)) await symlink(target, join(project, 'node_modules', name), 'junction');
});
afterAll(async () => {
  if (project) await rm(join(project, '..'), { recursive: true, force: true });
});

test('it compiles, strictly', async () => {
  await succeed(process.execPath, [join(TOOLS, 'typescript', 'bin', 'tsc')], project);
});

test('its tests pass', async () => {
  const printed = await succeed(process.execPath, [join(TOOLS, 'vitest', 'vitest.mjs'), 'run', '--reporter=json'], project);
  const { numTotalTests, numFailedTests } = JSON.parse(printed) as { numTotalTests: number; numFailedTests: number };
  expect(numTotalTests).toBeGreaterThan(15);
  expect(numFailedTests).toBe(0);
});

test('it depends on this version of the package', async () => {
  const [{ version }, { dependencies }] = await Promise.all([ROOT, EXAMPLE].map(async (path) => JSON.parse(await readFile(join(path, 'package.json'), 'utf8'))));
  expect(dependencies).toEqual({ 'session-tape': `^${version}` });
});

test('it has every name of the table in docs/swapping-in.md', async () => {
  const guide = await readFile(join(ROOT, 'docs/swapping-in.md'), 'utf8');
  const rows = guide.slice(guide.indexOf('| name in the CLI |')).split('\n\n')[0]!.split('\n').slice(2);
  const code = rows.flatMap((row) => [...row.split(' | ')[0]!.matchAll(/`([^`]+)`/g)].map(([, text]) => text!));
  // `Class.method(arguments)`, `.method` of the class before, or `function(arguments)`.
  const named = code.flatMap((text) => [...text.replace(/\(.*/, '').matchAll(/\w+/g)].map(([name]) => name));
  const { CheckpointService, SessionDiscovery, SessionLockManager, SessionTransitionService } = facade;
  const recorder = tape.SessionRecordingService.prototype;
  const holders = [recorder, new CheckpointService(), SessionDiscovery, SessionLockManager, new SessionTransitionService(), facade];
  const offered = new Set(holders.flatMap((holder) => Object.getOwnPropertyNames(holder)));
  expect(named.length).toBeGreaterThan(35);
  // A type, the end of a name, and options and fields.
  expect(named.filter((name) => !offered.has(name))).toEqual([
    'LockHandle', 'Detailed', 'maxQueueBytes', 'responsesStored', 'kind', 'subagent', 'parentSessionId',
  ]);
});
