// Packs the library, its addon for this machine and the command line, installs the tarballs into empty projects with each package manager, and uses them
// from there: as an ES module, as CommonJS and as a command. Then bundles programs that use the library, as docs/bundlers.md describes.
//
//   npm run test:install
//
// It needs what `npm run build` makes, runs on Linux x64, and installs the package managers and bundlers of scripts/installing/tools below target/.

import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { platformName } from './platform.mjs'

const ROOT = join(import.meta.dirname, '..')
const PLATFORM = 'linux-x64-gnu'
const LIBRARY = 'session-tape'
const BINDING = `@session-tape/binding-${PLATFORM}`
const COMMAND_LINE = '@session-tape/cli'
const INHERITED =
  /^(npm_|NODE_(?!EXTRA_CA_CERTS)|INIT_CWD$|COREPACK|YARN_|BUN_|PNPM_|CI$|FORCE_COLOR$|GITHUB_|SESSION_TAPE)/i

const TOOLS = join(ROOT, 'target', 'build-tools', 'installing')
const tool = (...path) => join(TOOLS, 'node_modules', ...path)
const BUN = tool('@oven', 'bun-linux-x64', 'bin', 'bun')
const PNPM = [process.execPath, tool('pnpm', 'bin', 'pnpm.cjs')]
const CLASSIC_YARN = [process.execPath, tool('yarn', 'bin', 'yarn.js')]
const YARN = [process.execPath, tool('@yarnpkg', 'cli-dist', 'bin', 'yarn.js')]
const ESBUILD = [process.execPath, tool('esbuild', 'bin', 'esbuild'), '--bundle', '--platform=node']
const BANNER =
  "--banner:js=import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"

const yarn = (linker) => ({
  name: `yarn 4, ${linker}`,
  install: [...YARN, 'install'],
  node: [...YARN, 'node'],
  program: [...YARN, 'run', LIBRARY],
  linker,
})

/** How each package manager installs, starts a script of the project, and starts the command line. */
const MANAGERS = [
  {
    name: 'npm',
    install: ['npm', 'install', '--no-audit', '--no-fund'],
    node: [process.execPath],
    program: ['npx', '--no-install', LIBRARY],
  },
  { name: 'pnpm', install: [...PNPM, 'install'], node: [process.execPath], program: [...PNPM, 'exec', LIBRARY] },
  {
    name: 'yarn 1',
    install: [...CLASSIC_YARN, 'install', '--no-progress'],
    node: [process.execPath],
    program: [...CLASSIC_YARN, '--silent', 'run', LIBRARY],
  },
  yarn('node-modules'),
  yarn('pnp'),
  { name: 'bun', install: [BUN, 'install'], node: [BUN], program: [BUN, 'run', '--bun', LIBRARY] },
]

/** How a program is bundled into the directory `out`, and started there without `node_modules`. */
const BUNDLES = [
  {
    name: 'esbuild, an ES module',
    bundle: (out) => [
      ...ESBUILD,
      'smoke.mjs',
      '--format=esm',
      '--loader:.node=copy',
      BANNER,
      `--outdir=${out}`,
      '--out-extension:.js=.mjs',
    ],
    run: [process.execPath, 'smoke.mjs'],
  },
  {
    name: 'esbuild, CommonJS, minified',
    bundle: (out) => [
      ...ESBUILD,
      'classic.cjs',
      '--format=cjs',
      '--minify',
      '--loader:.node=copy',
      `--outdir=${out}`,
      '--out-extension:.js=.cjs',
    ],
    run: [process.execPath, 'classic.cjs'],
  },
  {
    name: 'bun build --target=node',
    bundle: (out) => [BUN, 'build', '--target=node', 'smoke.mjs', '--outdir', out],
    run: [process.execPath, 'smoke.js'],
  },
  {
    name: 'bun build --compile',
    bundle: (out) => [BUN, 'build', '--compile', 'smoke.mjs', '--outfile', join(out, 'smoke')],
    run: ['./smoke'],
  },
]

const CLASSIC = `require('${LIBRARY}').replaySession('none').then(({ error }) => console.log('${LIBRARY} works:', error));\n`
const WORKS = /^session-tape works/

if (platformName() !== PLATFORM) throw new Error(`this runs on ${PLATFORM}, not on ${platformName()}`)
const directory = mkdtempSync(join(tmpdir(), 'session-tape-install-'))
const registry = execFileSync('npm', ['config', 'get', 'registry'], { cwd: ROOT, encoding: 'utf8' }).trim()
const env = plainEnvironment()
installTools()
const version = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version
const tarballs = packAll()
MANAGERS.forEach((manager) => check(`${manager.name} installs what works`, () => useInstalled(manager)))
BUNDLES.forEach((bundle, at) => check(bundle.name, () => useBundled(bundle, `bundle-${at}`)))
if (process.exitCode === undefined) rmSync(directory, { recursive: true, force: true })
else console.log(`left for a look: ${directory}`)

function check(name, test) {
  try {
    test()
    console.log(`ok      ${name}`)
  } catch (error) {
    console.log(`FAILED  ${name}\n${error.stack}`)
    process.exitCode = 1
  }
}

function useInstalled(manager) {
  const project = newProject(manager)
  succeed(manager.install, project)
  assert.match(succeed([...manager.node, 'smoke.mjs'], project), WORKS)
  assert.match(succeed([...manager.node, 'classic.cjs'], project), WORKS)
  assert.equal(succeed([...manager.program, '--version'], project), `${version}\n`)
}

function useBundled({ bundle, run }, name) {
  const [project, elsewhere] = [join(directory, 'npm'), join(directory, name)]
  succeed(bundle(join(project, name)), project)
  cpSync(join(project, name), elsewhere, { recursive: true })
  assert.match(succeed(run, elsewhere), WORKS)
}

/** A project that depends on the tarballs, directly and wherever else the packages are named. */
function newProject({ name, linker }) {
  const project = join(directory, name.replaceAll(/\W+/g, '-'))
  mkdirSync(project)
  const dependencies = Object.fromEntries(
    Object.entries(tarballs).map(([dependency, path]) => [dependency, `file:${path}`]),
  )
  const manifest = {
    name: 'a-cli',
    version: '1.0.0',
    private: true,
    dependencies,
    overrides: dependencies,
    resolutions: dependencies,
    pnpm: { overrides: dependencies },
  }
  writeFileSync(join(project, 'package.json'), JSON.stringify(manifest, null, 2))
  writeFileSync(join(project, 'bunfig.toml'), `[install]\nregistry = "${registry}"\n`)
  if (linker !== undefined) writeFileSync(join(project, '.yarnrc.yml'), yarnConfiguration(linker))
  writeFileSync(
    join(project, 'smoke.mjs'),
    readFileSync(join(ROOT, 'scripts', 'smoke.mjs'), 'utf8').replace("'../index.mjs'", `'${LIBRARY}'`),
  )
  writeFileSync(join(project, 'classic.cjs'), CLASSIC)
  return project
}

function yarnConfiguration(linker) {
  const host = new URL(registry).hostname
  // The loader is on by default only in projects of `"type": "module"`; this one has an `.mjs`.
  return `nodeLinker: ${linker}\nnpmRegistryServer: ${registry}\nunsafeHttpWhitelist: [${host}]\nenableTelemetry: false\nenableImmutableInstalls: false\npnpEnableEsmLoader: true\n`
}

/** Packs the packages as a release does, for this platform alone. Returns the paths of the tarballs. */
function packAll() {
  const binding = join(directory, 'binding')
  cpSync(join(ROOT, 'npm', PLATFORM), binding, { recursive: true })
  const addon = `session-tape.${PLATFORM}.node`
  if (!existsSync(join(binding, addon))) copyFileSync(join(ROOT, addon), join(binding, addon))
  succeed(['tar', '-xzf', pack(ROOT)], directory)
  const library = join(directory, 'package')
  const manifest = JSON.parse(readFileSync(join(library, 'package.json'), 'utf8'))
  writeFileSync(
    join(library, 'package.json'),
    JSON.stringify({ ...manifest, optionalDependencies: { [BINDING]: version } }),
  )
  return { [LIBRARY]: pack(library), [BINDING]: pack(binding), [COMMAND_LINE]: pack(join(ROOT, 'packages', 'cli')) }
}

function pack(folder) {
  const output = succeed(
    ['npm', 'pack', '--json', '--ignore-scripts', '--pack-destination', directory, folder],
    directory,
  )
  return join(directory, JSON.parse(output)[0].filename)
}

function installTools() {
  const manifests = join(ROOT, 'scripts', 'installing', 'tools')
  const isInstalled =
    existsSync(tool()) &&
    readFileSync(join(TOOLS, 'package-lock.json')).equals(readFileSync(join(manifests, 'package-lock.json')))
  if (isInstalled) return
  mkdirSync(TOOLS, { recursive: true })
  readdirSync(manifests).forEach((name) => copyFileSync(join(manifests, name), join(TOOLS, name)))
  execFileSync('npm', ['ci', '--prefix', TOOLS, '--no-audit', '--no-fund', '--ignore-scripts'], {
    cwd: ROOT,
    stdio: 'inherit',
  })
}

/** The environment without this work tree and this user, but with this user's registry. */
function plainEnvironment() {
  const [home, kept] = [join(directory, 'home'), Object.entries(process.env).filter(([name]) => !INHERITED.test(name))]
  mkdirSync(home)
  return {
    ...Object.fromEntries(kept),
    HOME: home,
    XDG_CACHE_HOME: join(home, 'cache'),
    NO_COLOR: '1',
    NPM_CONFIG_REGISTRY: registry,
    YARN_REGISTRY: registry,
  }
}

/** Runs a program that must succeed. Returns its output. */
function succeed([program, ...args], cwd) {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    env,
    encoding: 'utf8',
    maxBuffer: 64 << 20,
  })
  if (status !== 0)
    throw new Error(
      [`\`${program} ${args.join(' ')}\` in ${cwd} ended with ${status}`, error, stdout, stderr].join('\n'),
    )
  return stdout
}
