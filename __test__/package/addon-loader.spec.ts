// The errors of the loader if there is no addon to load: the code, the platform, the package, and what to do.
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { platformName } from '../../scripts/platform.mjs';
import { PROJECT } from '../support/command-line';
import { succeed } from './packing/command.js';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'session-tape-loader-'));
  mkdirSync(join(directory, 'lib'));
  copyFileSync(join(PROJECT, 'lib', 'addon.js'), join(directory, 'lib', 'addon.js'));
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** The error that loading the addon throws, in a process with the properties in `changes` replaced. */
async function thrown(changes: Record<string, unknown> = {}): Promise<{ code: string; message: string; cause?: string }> {
  const script = `
    for (const [name, value] of Object.entries(${JSON.stringify(changes)})) Object.defineProperty(process, name, { value })
    try { require('./lib/addon.js') } catch ({ code, message, cause }) { console.log(JSON.stringify({ code, message, cause: cause?.code })) }`;
  return JSON.parse(await succeed(process.execPath, ['-e', script], directory)) as { code: string; message: string; cause?: string };
}

const here = platformName();
const named = (name: string): string => `@session-tape/binding-${name}`;

test('reports a platform without a package', async () => {
  const { code, message } = await thrown({ platform: 'sunos', arch: 'x64' });
  expect(code).toBe('UnsupportedPlatform');
  expect(message).toMatch(/^session-tape has no package for sunos-x64\. There is one for each of linux-x64-gnu, .*win32-arm64-msvc$/);
});

test('reports a Node.js that is too old, on any platform', async () => {
  const { code, message } = await thrown({ version: 'v18.20.8', versions: { ...process.versions, node: '18.20.8' } });
  expect(code).toBe('UnsupportedRuntime');
  expect(message).toContain('needs Node.js 20 or newer, and this is v18.20.8 on ');
});

test('reports a package that is not installed', async () => {
  const { code, message } = await thrown();
  expect(code).toBe('NoAddon');
  expect(message).toContain(`for ${here}. The package ${named(here)} is not installed. Install again without leaving out optional dependencies (\`--omit=optional\``);
});

test('reports a package that is installed but does not load', async () => {
  writeFileSync(join(directory, `session-tape.${here}.node`), 'no addon');
  const { code, message, cause } = await thrown();
  expect([code, cause]).toEqual(['NoAddon', 'ERR_DLOPEN_FAILED']);
  expect(message).toContain(`The package ${named(here)} is installed, but does not load: remove node_modules and install again (`);
});

test.runIf(here.startsWith('linux-'))('reports a package for another C library', async () => {
  const other = here.endsWith('-gnu') ? here.replace(/-gnu$/, '-musl') : here.replace(/-musl$/, '-gnu');
  writeFileSync(join(directory, `session-tape.${other}.node`), 'no addon');
  const { code, message } = await thrown();
  expect(code).toBe('NoAddon');
  expect(message).toContain(`The package ${named(here)} is not installed, but ${named(other)} is, which is for another C library. Install again`);
});
