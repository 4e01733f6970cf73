// The oldest glibc that package archives still have: 2.23, of Ubuntu 16.04. Node.js needs 2.28, while Bun needs only 2.17.

import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { extractPackage } from './debian-package.mjs'
import { TOOLS } from './toolchain.mjs'

const LIBRARY = {
  url: 'http://archive.ubuntu.com/ubuntu/pool/main/g/glibc/libc6_2.23-0ubuntu3_amd64.deb',
  sha256: '68d69a0fb2dae7578a2a7054bc0cd5f0994d523f60d540bc6708ff3f2fb33e18',
}
const DIRECTORY = join(TOOLS, 'glibc-2.23')
const libraries = join(DIRECTORY, 'lib', 'x86_64-linux-gnu')

/** Starts the loader explicitly, with its own libraries and no others. */
export const oldGlibcCommand = (program) => [
  join(libraries, 'ld-2.23.so'),
  '--inhibit-cache',
  '--library-path',
  libraries,
  program,
]

export async function prepareOldGlibc(log) {
  const ready = join(DIRECTORY, 'ready.txt')
  if (existsSync(ready)) return
  await extractPackage(LIBRARY, DIRECTORY, log)
  writeFileSync(ready, '')
}
