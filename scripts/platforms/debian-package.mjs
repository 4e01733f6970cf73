// Extracts files from a Debian or Ubuntu package, without installing it.

import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'

import { run } from './commands.mjs'

/** What extraction needs of the machine, as an entry of `needs` in `runtimes.mjs`. */
export const EXTRACTION_NEEDS = ['dpkg-deb', 'Debian: dpkg']

/** Extracts a package, whose hash is pinned, into a directory. */
export async function extractPackage({ url, sha256 }, directory, log) {
  mkdirSync(directory, { recursive: true })
  const archive = join(directory, basename(url))
  writeFileSync(archive, await download(url, sha256))
  await run('dpkg-deb', ['--extract', archive, directory], { log })
}

async function download(url, sha256) {
  const response = await fetch(url)
  if (!response.ok) throw new Error(`${url}: ${response.status}`)
  const content = Buffer.from(await response.arrayBuffer())
  const found = createHash('sha256').update(content).digest('hex')
  if (found !== sha256) throw new Error(`${url} has another content than it had: sha256 ${found}`)
  return content
}
