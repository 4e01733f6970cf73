// An npm registry on this machine. Packages that it does not have are fetched from the registry that npm is configured for.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, openSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { output } from '../platforms/commands.mjs';
import { TOOLS } from './tools.mjs';

const ATTEMPTS = 300;

/** @returns {Promise<{ url: string, token: string, stop(): Promise<void> }>} */
export async function startRegistry(directory) {
  mkdirSync(directory, { recursive: true });
  const port = await freePort();
  const url = `http://localhost:${port}/`;
  const configuration = join(directory, 'config.yaml');
  writeFileSync(configuration, configurationText(await output('npm', ['config', 'get', 'registry'])));
  const log = openSync(join(directory, 'registry.log'), 'w');
  const [program, ...args] = [...TOOLS.verdaccio, '--config', configuration, '--listen', String(port)];
  const child = spawn(program, args, { cwd: directory, stdio: ['ignore', log, log] });
  const ended = once(child, 'close');
  const stop = async () => {
    child.kill();
    await ended;
  };
  try {
    await answers(`${url}-/ping`, child);
    return { url, token: await newUser(url), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

const configurationText = (upstream) => `storage: ./storage
auth:
  htpasswd:
    file: ./htpasswd
uplinks:
  upstream:
    url: ${upstream}
packages:
  'session-tape':
    access: $all
    publish: $authenticated
  '@session-tape/*':
    access: $all
    publish: $authenticated
  '**':
    access: $all
    proxy: upstream
max_body_size: 50mb
log: { type: stdout, format: pretty, level: http }
`;

async function freePort() {
  const server = createServer().listen(0, 'localhost');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

async function answers(url, child) {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (child.exitCode !== null) throw new Error(`the registry ended with ${child.exitCode}`);
    const response = await fetch(url).catch(() => null);
    if (response?.ok) return;
    await sleep(200);
  }
  throw new Error('the registry does not answer');
}

/** @returns {Promise<string>} the token of a new user, for publishing */
async function newUser(url) {
  const [name, password] = ['maintainer', 'of-this-run-alone'];
  const response = await fetch(`${url}-/user/org.couchdb.user:${name}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name, password }),
  });
  const { token } = await response.json();
  if (!token) throw new Error(`the registry makes no user: ${response.status}`);
  return token;
}
