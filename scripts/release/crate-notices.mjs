// The licences of the crates that are linked into an addon, as found by `cargo about`.

import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

import { ROOT, output } from '../platforms/commands.mjs'
import { cargoTool } from './cargo-tools.mjs'
import { idOf, licencesOfC, linkedCrates, titleOfC } from './linked.mjs'

const CONFIGURATION = join(ROOT, 'scripts', 'release', 'about.toml')

/** Crates that contain no licence file, by repository, and where else their project publishes it. */
const LICENCES_ELSEWHERE = [
  [/^https:\/\/github\.com\/napi-rs\/napi-rs/, join(ROOT, 'node_modules', '@napi-rs', 'cli', 'LICENSE')],
]

/** Licences whose text names no copyright holder, so that it is the same for all crates. */
const WITHOUT_HOLDER = ['Apache-2.0']

/**
 * @param {object} target
 * @param {object[]} licenses the result of `findLicences`
 * @returns {Promise<{ title: string, text: string }[]>} at least one for each crate, and one for C code that it contains
 */
export async function crateNotices(target, licenses) {
  const crates = await linkedCrates(target)
  const notices = crates.flatMap((crate) => [...noticesOf(crate, licenses), ...noticesOfC(crate)])
  const missing = crates.filter((crate) => !notices.some(({ title }) => title === idOf(crate)))
  if (missing.length > 0) throw new Error(`no licence was found of ${missing.map(idOf).join(', ')}`)
  return notices
}

/** The licences of the crates of these targets, each with its crates. The texts come from the crates themselves, not from a service. */
export async function findLicences(targets, manifest = 'Cargo.toml') {
  const options = [
    '--manifest-path',
    join(ROOT, manifest),
    '--config',
    CONFIGURATION,
    '--format',
    'json',
    '--locked',
    '--offline',
    '--fail',
    ...targets.flatMap(({ triple }) => ['--target', triple]),
  ]
  return JSON.parse(await output(await cargoTool('cargo-about'), ['generate', ...options])).licenses
}

function noticesOf(crate, licenses) {
  const found = licenses.filter(({ used_by }) => used_by.some((user) => idOf(user.crate) === idOf(crate)))
  return found.map(({ id, text, source_path }) => {
    const isOwn = source_path !== null || WITHOUT_HOLDER.includes(id)
    return { title: idOf(crate), text: isOwn ? text.trim() : (textInside(crate, id) ?? textElsewhere(crate)) }
  })
}

/** A file named after the licence, or the only licence file of the crate, which `cargo about` did not recognise. */
function textInside({ directory }, id) {
  const files = readdirSync(directory).filter((file) => /^licen[cs]e/i.test(file))
  const name =
    files.find((file) => file.toLowerCase().includes(id.toLowerCase())) ?? (files.length === 1 ? files[0] : undefined)
  return name && readFileSync(join(directory, name), 'utf8').trim()
}

/** The text of SPDX does not name the copyright holder. */
function textElsewhere(crate) {
  const path = LICENCES_ELSEWHERE.find(([repository]) => repository.test(crate.repository))?.[1]
  if (path === undefined)
    throw new Error(
      `${idOf(crate)} comes without its licence, and scripts/release/crate-notices.mjs knows no other place of it`,
    )
  return readFileSync(path, 'utf8').trim()
}

const noticesOfC = (crate) =>
  licencesOfC(crate).map((path) => ({ title: titleOfC(crate), text: readFileSync(path, 'utf8').trim() }))
