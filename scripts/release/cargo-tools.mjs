// Programs of Rust that a release needs, each at one version, installed below target/ when they are first used.

import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { ROOT, run } from '../platforms/commands.mjs';

const PROGRAMS = {
  'cargo-about': { version: '0.9.3', features: ['cli'] },
  'cargo-cyclonedx': { version: '0.5.9', features: [] },
  'cargo-deny': { version: '0.20.2', features: [] },
};
const TOOLS = join(ROOT, 'target', 'build-tools');

/** They are run a few times: compiled as fast as can be rather than as fast as they can be. */
const QUICKLY = { CARGO_PROFILE_RELEASE_LTO: 'off', CARGO_PROFILE_RELEASE_OPT_LEVEL: '2', CARGO_PROFILE_RELEASE_CODEGEN_UNITS: '64' };

/** @returns {Promise<string>} the path of its program */
export async function cargoTool(name) {
  const { version, features } = PROGRAMS[name];
  const root = join(TOOLS, `${name}-${version}`);
  const program = join(root, 'bin', name);
  if (existsSync(program)) return program;
  mkdirSync(root, { recursive: true });
  const log = join(root, 'install.log');
  console.error(`installing ${name}, ${log}`);
  const environment = { ...QUICKLY, CARGO_TARGET_DIR: join(TOOLS, 'cargo-tools'), RUSTFLAGS: undefined };
  await run('cargo', ['install', '--locked', '--root', root, '--features', features.join(), `${name}@${version}`], { log, environment });
  return program;
}
