// The licences of the crates that are linked into an addon or the wheel, as `cargo about` finds them, and of the C code that some of them contain.

import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { ROOT, output, run } from '../platforms/commands.mjs'
import { cargoTool } from './cargo-tools.mjs'

/** Crates that contain no licence file, by repository, and where else their project publishes it. */
const LICENCES_ELSEWHERE = [
  [/^https:\/\/github\.com\/napi-rs\/napi-rs/, join(ROOT, 'node_modules', '@napi-rs', 'cli', 'LICENSE')],
]
/** Licences whose text names no copyright holder, so that it is the same for all crates. */
const WITHOUT_HOLDER = ['Apache-2.0']
/** The licences of C code in crates, as paths in the crate. A crate with C code that has no entry is an error. */
const LICENCES_OF_C = { 'libmimalloc-sys': ['c_src/mimalloc/v3/LICENSE'], 'zstd-sys': ['zstd/LICENSE'] }
const C_SOURCE = /\.(c|cc|cpp|S|asm)$/

/** The names and versions of the crates of others that Cargo links for a target: neither build scripts nor macros end up in the addon, or in the wheel. */
export function linkedCrates({ triple, crate = 'session-tape' }) {
  const edges = ['--edges', 'normal,no-proc-macro', '--prefix', 'none', '--format', '{p}']
  const tree = output('cargo', ['tree', '--locked', '--package', crate, '--target', triple, ...edges])
  const ids = tree.split('\n').map((line) => line.split(' ').slice(0, 2).join(' ').replace(' v', ' '))
  return new Set(ids.filter((id) => id !== '' && !id.startsWith('session-tape')))
}

/**
 * @param {object} target
 * @param {string} manifest of the workspace's package
 * @returns {{ title: string, text: string }[]} at least one for each crate, and one for C code that it contains
 */
export function crateNotices(target, manifest = 'Cargo.toml') {
  const notices = []
  const crates = new Map()
  for (const licence of licencesFor(target.triple, manifest))
    for (const { crate } of licence.used_by) {
      notices.push({ title: idOf(crate), text: textOf(licence, crate) })
      crates.set(idOf(crate), crate)
    }
  const linked = linkedCrates(target)
  const missing = [...linked].filter((id) => !crates.has(id))
  if (missing.length > 0) throw new Error(`no licence was found of ${missing.join(', ')}`)
  const isLinked = (id) => linked.has(id)
  const found = [...crates].filter(([id]) => isLinked(id)).map(([, crate]) => crate)
  return [...notices.filter(({ title }) => isLinked(title)), ...found.flatMap(noticesOfC)].sort(byTitle)
}

const idOf = ({ name, version }) => `${name} ${version}`
const byTitle = ({ title: one }, { title: other }) => (one < other ? -1 : one > other ? 1 : 0)

/** The licences of the crates of a target, each with its crates. The texts come from the crates themselves, not from a service. */
function licencesFor(triple, manifest) {
  const [path, config] = [join(ROOT, manifest), join(ROOT, 'scripts', 'release', 'about.toml')]
  const offline = ['--format', 'json', '--locked', '--offline', '--fail', '--target', triple]
  run('cargo', ['fetch', '--locked', '--target', triple])
  return JSON.parse(
    output(cargoTool('cargo-about'), ['generate', '--manifest-path', path, '--config', config, ...offline]),
  ).licenses
}

/**
 * The text of SPDX does not name the copyright holder: instead a file that is named after the licence, the only licence file of the crate, which
 * `cargo about` did not recognise, or what its project has elsewhere.
 */
function textOf({ id, text, source_path }, crate) {
  if (source_path !== null || WITHOUT_HOLDER.includes(id)) return text.trim()
  const directory = dirname(crate.manifest_path)
  const files = readdirSync(directory).filter((file) => /^licen[cs]e/i.test(file))
  const name =
    files.find((file) => file.toLowerCase().includes(id.toLowerCase())) ?? (files.length === 1 ? files[0] : undefined)
  const elsewhere = LICENCES_ELSEWHERE.find(([repository]) => repository.test(crate.repository))?.[1]
  const path = name ? join(directory, name) : elsewhere
  if (path === undefined) throw new Error(`${idOf(crate)} comes without its licence, and no other place of it is known`)
  return readFileSync(path, 'utf8').trim()
}

function noticesOfC(crate) {
  const licences = licencesOfC({ name: crate.name, directory: dirname(crate.manifest_path) })
  return licences.map((path) => ({ title: `the C code in ${idOf(crate)}`, text: readFileSync(path, 'utf8').trim() }))
}

/**
 * The files with the licences of the C code in a crate.
 * @returns {string[]} empty if the crate has no such code
 */
export function licencesOfC({ name, directory }) {
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' })
  if (!files.some((path) => C_SOURCE.test(path))) return []
  const licences = LICENCES_OF_C[name]
  if (licences === undefined)
    throw new Error(`${name} brings C code, and scripts/release/crates.mjs does not know its licence`)
  return licences.map((path) => join(directory, path))
}
