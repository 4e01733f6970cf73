// The workflow's publish step with another registry: in a copy of the work tree, since it changes package.json.

import { cpSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';

import { ROOT, output } from '../platforms/commands.mjs';
import { TARGETS, addonPath } from '../platforms/targets.mjs';
import { succeed } from './environment.mjs';

/** Publishes all ten packages. */
export async function publish(directory, { url, token }, env) {
  const files = (await output('git', ['ls-files', '--cached', '--others', '--exclude-standard'])).split('\n');
  const made = TARGETS.flatMap((target) => [addonPath(target), `npm/${target.name}/LICENSE`, `npm/${target.name}/THIRD-PARTY-NOTICES`]);
  for (const file of [...files, ...made].filter((name) => existsSync(join(ROOT, name)))) {
    mkdirSync(dirname(join(directory, file)), { recursive: true });
    cpSync(join(ROOT, file), join(directory, file));
  }
  symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
  const userConfiguration = join(directory, '.npmrc-of-this-run');
  writeFileSync(userConfiguration, `registry=${url}\n${url.replace(/^http:/, '')}:_authToken=${token}\n`);
  const options = { cwd: directory, env: { ...env, ...rustHomes(), NPM_CONFIG_USERCONFIG: userConfiguration, NPM_CONFIG_REGISTRY: url } };
  await succeed(['npm', 'publish'], options);
  return succeed(['npm', 'publish', '--workspace', '@session-tape/cli'], options);
}

/** The user's own Rust: everything else has a separate home directory. */
const rustHomes = () => ({
  CARGO_HOME: process.env.CARGO_HOME ?? join(homedir(), '.cargo'),
  RUSTUP_HOME: process.env.RUSTUP_HOME ?? join(homedir(), '.rustup'),
});
