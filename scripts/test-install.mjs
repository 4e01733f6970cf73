// Publishes the ten packages to a registry on this machine, as the release does, and installs the library and the command line from it as users do: with each package
// manager, for each platform, into empty projects. Then it breaks installations, and bundles programs that use the package.
//
//   npm run test:install
//
// It needs the addons of `npm run build:all` and the licences of `npm run notices`, and runs on Linux x64.

import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { testBundlers } from './installing/bundlers.mjs';
import { plainEnvironment } from './installing/environment.mjs';
import { testFailures } from './installing/failures.mjs';
import { testManagers } from './installing/manager-tests.mjs';
import { publish } from './installing/publish.mjs';
import { startRegistry } from './installing/registry.mjs';
import { Report } from './installing/report.mjs';
import { installTools } from './installing/tools.mjs';
import { ROOT } from './platforms/commands.mjs';
import { platformName } from './platform.mjs';

if (platformName() !== 'linux-x64-gnu') throw new Error(`this runs on linux-x64-gnu, not on ${platformName()}`);
mkdirSync(join(ROOT, 'target', 'platforms'), { recursive: true });
await installTools(join(ROOT, 'target', 'platforms', 'tools.log'));

const directory = mkdtempSync(join(tmpdir(), 'session-tape-install-'));
const report = new Report();
const registry = await startRegistry(join(directory, 'registry'));
try {
  const env = plainEnvironment(join(directory, 'home'), { NPM_CONFIG_REGISTRY: registry.url, YARN_REGISTRY: registry.url });
  await report.test('npm publish, of ten packages', () => publish(join(directory, 'release'), registry, env));
  if (report.failed === 0) {
    const context = { directory, registry, env, report, smoke: smokeTest(), version: JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version };
    const projects = await testManagers(context);
    await testFailures({ ...context, project: projects.get('npm') });
    await testBundlers({ ...context, project: projects.get('npm') });
  }
} finally {
  await registry.stop();
}
console.log(`${report.passed} passed, ${report.failed} failed`);
if (report.failed > 0) process.exitCode = 1;
if (report.failed === 0) rmSync(directory, { recursive: true, force: true });
else console.log(`left for a look: ${directory}`);

/** `scripts/smoke.mjs`, importing the installed package. */
function smokeTest() {
  return readFileSync(join(ROOT, 'scripts', 'smoke.mjs'), 'utf8').replace("'../index.mjs'", "'session-tape'");
}
