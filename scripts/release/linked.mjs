// Lists what is linked into the addon of a platform: crates, and the C code that some of them contain.

import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { output } from '../platforms/commands.mjs'

/** The licences of C code in crates, as paths in the crate. A crate with C code that has no entry is an error. */
const LICENCES_OF_C = { 'libmimalloc-sys': ['c_src/mimalloc/v3/LICENSE'], 'zstd-sys': ['zstd/LICENSE'] }

const C_SOURCE = /\.(c|cc|cpp|S|asm)$/

/**
 * The crates that Cargo links for a target, except those of this workspace: neither build scripts nor macros end up in the addon, or in the wheel.
 * @returns {Promise<{ name: string, version: string, directory: string, repository: string }[]>}
 */
export async function linkedCrates({ triple, crate = 'session-tape' }) {
  const tree = await output('cargo', [
    'tree',
    '--locked',
    '--package',
    crate,
    '--target',
    triple,
    '--edges',
    'normal,no-proc-macro',
    '--prefix',
    'none',
    '--format',
    '{p}',
  ])
  const linked = new Set(tree.split('\n').map((line) => line.split(' ').slice(0, 2).join(' ')))
  const packages = await packagesOf(triple)
  const found = packages.filter(({ name, version }) => linked.has(`${name} v${version}`))
  if (found.length !== linked.size)
    throw new Error(`cargo tree names ${linked.size} crates for ${triple}, cargo metadata ${found.length} of them`)
  return found
    .filter(({ source }) => source !== null)
    .map(({ name, version, manifest_path, repository }) => ({
      name,
      version,
      repository: repository ?? '',
      directory: dirname(manifest_path),
    }))
    .sort((a, b) => (idOf(a) < idOf(b) ? -1 : 1))
}

export const idOf = ({ name, version }) => `${name} ${version}`

/** The name of the C code in a crate. */
export const titleOfC = (crate) => `the C code in ${idOf(crate)}`

/**
 * The files with the licences of the C code in a crate.
 * @returns {string[]} empty if the crate has no such code
 */
export function licencesOfC({ name, directory }) {
  if (!hasC(directory)) return []
  const licences = LICENCES_OF_C[name]
  if (licences === undefined)
    throw new Error(`${name} brings C code, and scripts/release/linked.mjs does not know its licence`)
  return licences.map((path) => join(directory, path))
}

const hasC = (directory) =>
  readdirSync(directory, { recursive: true, encoding: 'utf8' }).some((path) => C_SOURCE.test(path))

async function packagesOf(triple) {
  return JSON.parse(
    await output('cargo', ['metadata', '--locked', '--format-version', '1', '--filter-platform', triple]),
  ).packages
}
