// Each package manager installs exactly the package with the platform's binary, for each platform; the installation for this machine works.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { ROOT } from '../platforms/commands.mjs';
import { TARGETS } from '../platforms/targets.mjs';
import { platformName } from '../platform.mjs';
import { succeed } from './environment.mjs';
import { MANAGERS, newProject, systemOf } from './managers.mjs';

const SAMPLE = join(ROOT, 'demo', 'sample.jsonl');

/** @returns {Promise<Map<string, string>>} the project of each package manager that was installed for this machine */
export async function testManagers(context) {
  const projects = new Map();
  for (const manager of MANAGERS) {
    for (const { name: platform } of TARGETS.filter(({ name }) => !manager.onlyHere || name === platformName())) {
      const project = await context.report.test(`${manager.name} installs for ${platform}`, () => install(manager, platform, context));
      if (platform !== platformName() || project === undefined) continue;
      projects.set(manager.name, project);
      await context.report.test(`${manager.name}: the command line works`, () => runProgram(manager, project, context));
      await context.report.test(`${manager.name}: the library works`, () => runLibrary(manager, project, context));
    }
  }
  return projects;
}

async function install(manager, platform, { directory, registry, env }) {
  const system = systemOf(platform);
  const project = newProject(join(directory, 'projects', `${manager.name}-${platform}`.replaceAll(/[^\w-]+/g, '-')), manager, system, registry);
  await succeed(manager.install(system), { cwd: project, env });
  const expected = (manager.expected?.(platform) ?? [platform]).map((name) => `binding-${name}`);
  assert.deepEqual(manager.installed(project).sort(), expected.sort());
  return project;
}

async function runProgram(manager, project, { env, version }) {
  assert.equal(await succeed(manager.program(['--version']), { cwd: project, env }), `${version}\n`);
  const inspected = JSON.parse(await succeed(manager.program(['inspect', SAMPLE, '--json']), { cwd: project, env }));
  assert.equal(inspected.kind, 'session');
}

async function runLibrary(manager, project, { env, smoke }) {
  writeFileSync(join(project, 'smoke.mjs'), smoke);
  assert.match(await succeed(manager.node(['smoke.mjs']), { cwd: project, env }), /^session-tape works with /);
}
