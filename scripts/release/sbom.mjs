// Writes SBOMs of a release in CycloneDX format to the folder `sbom`: for the addon of each platform the crates that are linked into it, and for the
// command line the npm packages that are installed with it. The library itself has no dependency but the addon.
//
//   npm run sbom -- [PLATFORM...]

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { ROOT, output, run } from '../platforms/commands.mjs'
import { chosenTargets } from '../platforms/targets.mjs'
import { cargoTool } from './cargo-tools.mjs'
import { linkedCrates } from './crates.mjs'

const DIRECTORY = join(ROOT, 'sbom')
const OWN = 'session-tape'
const CLI = 'packages/cli'
const targets = chosenTargets(process.argv.slice(2))

rmSync(DIRECTORY, { recursive: true, force: true })
mkdirSync(DIRECTORY)
for (const target of targets) {
  const path = join(DIRECTORY, `session-tape.${target.name}.cdx.json`)
  const document = linkedOnly(ofCargo(target), linkedCrates(target))
  writeFileSync(path, `${JSON.stringify(document, null, 2)}\n`)
  console.log(`sbom/session-tape.${target.name}.cdx.json: ${document.components.length} crates`)
}
const npm = ofNpm()
writeFileSync(join(DIRECTORY, 'session-tape.cli.cdx.json'), `${JSON.stringify(npm, null, 2)}\n`)
console.log(`sbom/session-tape.cli.cdx.json: ${npm.components.length} packages`)

/** The SBOM of `cargo cyclonedx`, which writes it next to Cargo.toml. */
function ofCargo({ name, triple }) {
  const written = join(ROOT, `${name}.sbom.json`)
  const options = [
    '--format',
    'json',
    '--spec-version',
    '1.5',
    '--target',
    triple,
    '--no-build-deps',
    '--override-filename',
    `${name}.sbom`,
  ]
  run(cargoTool('cargo-cyclonedx'), ['cyclonedx', ...options])
  const document = JSON.parse(readFileSync(written, 'utf8'))
  rmSync(written)
  // It writes one for each member of the workspace, but the wheel is not part of a release of the packages.
  rmSync(join(ROOT, 'python', `${name}.sbom.json`), { force: true })
  return document
}

/** The document without macros, which are not in an addon, and without the path of this work tree. */
function linkedOnly(document, linked) {
  const components = document.components.filter(({ name, version }) => linked.has(`${name} ${version}`))
  if (components.length !== linked.size)
    throw new Error(`cargo cyclonedx names ${components.length} of ${linked.size} crates`)
  const { version, licenses, description } = document.metadata.component
  const own = { 'bom-ref': OWN, type: 'library', name: 'session-tape', version, description, licenses }
  const references = new Set(components.map((component) => component['bom-ref']))
  const dependencies = document.dependencies
    .map(({ ref, dependsOn = [] }) => ({
      ref: ref.startsWith('path+') ? OWN : ref,
      dependsOn: dependsOn.filter((other) => references.has(other)),
    }))
    .filter(({ ref }) => ref === OWN || references.has(ref))
  return { ...document, metadata: { ...document.metadata, component: own }, components, dependencies }
}

/**
 * From a lock file of the command line alone, which has only what users install: `--omit=dev` of npm 11 also omits dependencies that the package and
 * the tests share.
 */
function ofNpm() {
  const directory = join(ROOT, 'target', 'sbom', CLI)
  mkdirSync(directory, { recursive: true })
  const [manifest, lock] = [join(CLI, 'package.json'), 'package-lock.json'].map((name) =>
    JSON.parse(readFileSync(join(ROOT, name), 'utf8')),
  )
  const {
    '': { version, license },
    [CLI]: own,
    ...others
  } = lock.packages
  const installed = Object.entries(others).filter(([, { dev, devOptional, link }]) => !dev && !devOptional && !link)
  const packages = { '': own, [`node_modules/${OWN}`]: { version, license }, ...Object.fromEntries(installed) }
  writeFileSync(join(directory, 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(directory, 'package-lock.json'), JSON.stringify({ ...lock, name: manifest.name, packages }))
  const document = JSON.parse(
    output('npm', ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only', '--prefix', directory]),
  )
  // One of the packages is the command line itself.
  const expected = Object.keys(packages).length - 1
  if (document.components.length !== expected)
    throw new Error(`npm sbom names ${document.components.length} of ${expected} packages`)
  return document
}
