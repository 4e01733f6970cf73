// The package as a user gets it: packed, installed into an empty project without a network, and used from there.
import { cp, mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { platformName } from '../../scripts/platform.mjs'
import { npm, succeed } from '../package/packing/command.js'
import { makeRelease, platformOf, ROOT, type Release } from '../package/packing/release.js'

// `npm run build:quick` does not optimise for size. The published addon is smaller, and CI tests it with its own limit.
const MAX_ADDON = process.env.SESSION_TAPE_ADDON === 'published' ? 7_200_000 : 9_500_000
/** What the folder of the command line contains besides the files of its package. */
const NOT_PUBLISHED = /^(?:node_modules\/|tsconfig\.json$|invisible\.d\.ts$)/
const CONSUMER = join(ROOT, '__test__', 'package', 'packing', 'consumer')

let directory: string
let project: string
let release: Release

beforeAll(async () => {
  directory = await realpath(await mkdtemp(join(tmpdir(), 'session-tape-package-')))
  release = await makeRelease(directory, platformName())
  project = await newProject('project')
  await npm(['install', '--offline', '--no-audit', '--no-fund', ...tarballs(), release.platformTarball], project)
})

afterAll(async () => {
  if (directory) await rm(directory, { recursive: true, force: true })
})

/** A project outside of the work tree, so that nothing of the work tree is found by accident. */
async function newProject(name: string): Promise<string> {
  const path = join(directory, name)
  await cp(CONSUMER, path, { recursive: true })
  await writeFile(join(path, 'package.json'), JSON.stringify({ name: 'a-cli', version: '1.0.0', private: true }))
  return path
}

const tarballs = (): string[] => [
  release.rootTarball,
  release.cliTarball,
  ...release.dependencies.map(({ tarball }) => tarball),
]

const node = (...args: string[]): Promise<string> => succeed(process.execPath, args, project)

describe('the tarball', () => {
  test('of the root package holds what the allow-list names and nothing else', async () => {
    const library = await filesIn('dist')
    const expected = [
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'index.d.mts',
      'index.d.ts',
      'index.js',
      'index.mjs',
      'package.json',
      ...library,
    ]
    expect(library).toContain('dist/session/replay.js')
    expect(library).toContain('dist/session/replay.d.ts')
    expect(release.workTree.files.map(({ path }) => path).sort()).toEqual(expected.sort())
  })

  test('of the command line holds everything in its folder, with the licences of the code that it bundles', async () => {
    const files = (await filesIn('packages/cli'))
      .map((path) => path.replace('packages/cli/', ''))
      .filter((path) => !NOT_PUBLISHED.test(path))
    expect(files).toEqual(
      expect.arrayContaining(['LICENSE', 'README.md', 'THIRD-PARTY-NOTICES', 'main.js', 'html/libraries/session.js']),
    )
    expect(release.cli.files.map(({ path }) => path).sort()).toEqual(files.sort())
    const licences = [ROOT, join(ROOT, 'packages/cli')].map((folder) => readFile(join(folder, 'LICENSE'), 'utf8'))
    expect(await licences[1]).toBe(await licences[0])
  })

  test(`of the platform package holds the addon with its licences and is under ${MAX_ADDON / 1e6} MB unpacked`, () => {
    const names = release.platform.files.map(({ path }) => path).sort()
    expect(names).toEqual([
      'LICENSE',
      'README.md',
      'THIRD-PARTY-NOTICES',
      'package.json',
      `session-tape.${platformName()}.node`,
    ])
    expect(release.platform.unpackedSize).toBeLessThan(MAX_ADDON)
  })

  test('brings no install script', async () => {
    const lock = JSON.parse(await readFile(join(project, 'package-lock.json'), 'utf8'))
    const installed = Object.entries<{ hasInstallScript?: boolean }>(lock.packages).filter(([path]) => path !== '')
    expect(installed.map(([path]) => path).sort()).toEqual(
      [
        `node_modules/@session-tape/binding-${platformName()}`,
        ...release.dependencies.map(({ name }) => `node_modules/${name}`),
        'node_modules/@session-tape/cli',
        'node_modules/session-tape',
      ].sort(),
    )
    expect(installed.filter(([, { hasInstallScript }]) => hasInstallScript)).toEqual([])
  })

  test('of a release depends on the platform package of its own version', async () => {
    const manifest = JSON.parse(await readFile(join(project, 'node_modules/session-tape/package.json'), 'utf8'))
    expect(manifest.optionalDependencies).toEqual({
      [`@session-tape/binding-${platformName()}`]: manifest.version,
    })
    expect(manifest.dependencies).toBeUndefined()
    expect(manifest.bin).toBeUndefined()
  })

  test('of the command line depends on exact versions, of the library on its own', async () => {
    const { dependencies, version } = JSON.parse(
      await readFile(join(project, 'node_modules/@session-tape/cli/package.json'), 'utf8'),
    )
    const lock = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8'))
    // The ones that the tests run with.
    const exact = Object.keys(dependencies).map((name) => [
      name,
      lock.packages[`node_modules/${name}`].version ?? version,
    ])
    expect(dependencies).toEqual(Object.fromEntries(exact))
    expect(JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')).version).toBe(version)
  })
})

describe('the platform packages', () => {
  test('are those that the library loads', async () => {
    const loader = await readFile(join(ROOT, 'dist', 'addon.js'), 'utf8')
    const named = [...loader.matchAll(/require\('@session-tape\/binding-(.*?)'\)/g)].map(([, name]) => name)
    expect(named.sort()).toEqual((await readdir(join(ROOT, 'npm'))).sort())
    const built = [...loader.matchAll(/require\('\.\.\/session-tape\.(.*?)\.node'\)/g)].map(([, name]) => name)
    expect(built.sort()).toEqual(named)
  })

  test('are those of napi.targets, in step with the root package', async () => {
    const root = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
    const folders = (await readdir(join(ROOT, 'npm'))).sort()
    expect(folders).toEqual(root.napi.targets.map(platformOf).sort())

    for (const folder of folders) {
      const manifest = JSON.parse(await readFile(join(ROOT, 'npm', folder, 'package.json'), 'utf8'))
      expect(manifest).toMatchObject({
        name: `@session-tape/binding-${folder}`,
        version: root.version,
        // npm silently skips an optional package if its engines exclude the installed Node.js.
        engines: root.engines,
        main: `session-tape.${folder}.node`,
        files: [`session-tape.${folder}.node`, 'THIRD-PARTY-NOTICES'],
      })
      expect(manifest.scripts).toBeUndefined()
    }
  })

  test('have the version of the crate', async () => {
    const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
    const crate = await readFile(join(ROOT, 'Cargo.toml'), 'utf8')
    expect(/^version = "(.*)"$/m.exec(crate)?.[1]).toBe(version)
  })
})

/** The files of a folder of the package, as a tarball names them. */
async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true })
  const files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(ROOT, join(parentPath, name)))
  return files.map((path) => path.replaceAll('\\', '/'))
}

describe('the installed command line', () => {
  const npx = (...args: string[]): Promise<string> => npm(['exec', '--offline', '--', 'session-tape', ...args], project)

  test.each(['commonjs', 'module'])('is started by npx in a project of type %s', async (type) => {
    const manifest = join(project, 'package.json')
    const before = await readFile(manifest, 'utf8')
    await writeFile(manifest, JSON.stringify({ ...JSON.parse(before), type }))
    try {
      const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
      expect(await npx('--version')).toBe(`${version}\n`)
      expect(JSON.parse(await npx('inspect', join(ROOT, 'demo', 'sample.jsonl'), '--json'))).toMatchObject({
        kind: 'session',
      })
      expect(await npx('diff', '--help')).toContain('Usage: session-tape diff')
    } finally {
      await writeFile(manifest, before)
    }
  })

  test('can write pages: of a diff, and with the libraries of a session and a run', async () => {
    await node('-e', "require('./node_modules/@session-tape/cli/html/diff')")
    const libraries = Object.values(
      JSON.parse(await readFile(join(project, 'node_modules/@session-tape/cli/html/libraries/list.json'), 'utf8')),
    ).flat()
    const notices = await readFile(join(project, 'node_modules/@session-tape/cli/THIRD-PARTY-NOTICES'), 'utf8')
    for (const { name, version } of libraries as { name: string; version: string }[])
      expect(notices).toContain(`- ${name} ${version}\n`)
    for (const recording of ['demo/sample.jsonl', '__test__/fixtures/run/v1/golden']) {
      await npx('view', join(ROOT, recording), '--html', 'page.html')
      expect(await readFile(join(project, 'page.html'), 'utf8')).toContain(
        'Permission is hereby granted, free of charge',
      )
    }
  })
})

describe('the installed package', () => {
  test('records, resumes and replays from an ES module', async () => {
    const smoke = await readFile(join(ROOT, 'scripts', 'smoke.mjs'), 'utf8')
    await writeFile(join(project, 'smoke.mjs'), smoke.replace("'../index.mjs'", "'session-tape'"))
    expect(await node('smoke.mjs')).toContain(`session-tape works with Node.js ${process.version}`)
  })

  test('is one module for require and import', async () => {
    expect(await node('use.cjs')).toBe('one module\n')
  })

  test('works in worker threads and in the main thread at once', async () => {
    const lines = (await node('use-worker.mjs')).trim().split('\n')
    expect(lines.sort()).toEqual(['thread 0 has 100', 'thread 1 has 100', 'thread 2 has 100'])
  })

  test.each([
    { resolution: 'nodenext', module: 'nodenext', files: ['use.mts', 'use.cts'] },
    { resolution: 'bundler', module: 'esnext', files: ['use.mts'] },
  ])('compiles strictly with moduleResolution $resolution', async ({ resolution, module, files }) => {
    const out = `compiled-${resolution}`
    await mkdir(join(project, 'node_modules', '@types'), { recursive: true })
    await linkFromWorkTree('@types/node')
    await linkFromWorkTree('undici-types')
    const options = ['--strict', '--target', 'es2022', '--types', 'node', '--outDir', out, '--rootDir', '.']
    const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
    await node(compiler, ...options, '--moduleResolution', resolution, '--module', module, ...files)

    expect(await node(`${out}/use.mjs`)).toBe('tokens 1\n')
    if (files.includes('use.cts')) expect(await node(`${out}/use.cjs`)).toBe('Failed to read file: ENOENT\n')
  })

  test.each(['threads', 'forks'])('works in a vitest suite with the %s pool', async (pool) => {
    await linkFromWorkTree('vitest')
    await cp(join(project, 'use.suite.mjs'), join(project, 'again.suite.mjs'))
    const runner = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs')
    const report = await node(
      runner,
      'run',
      `--pool=${pool}`,
      '--reporter=json',
      '--dir=.',
      'suite.mjs',
      '--config=suites.config.mjs',
    )
    expect(JSON.parse(report)).toMatchObject({
      success: true,
      numTotalTestSuites: 2,
      numPassedTests: 8,
      numFailedTests: 0,
    })
  })

  test('says what is missing if the platform package is not installed', async () => {
    const bare = await newProject('bare')
    await npm(['install', '--offline', '--omit=optional', '--no-audit', '--no-fund', ...tarballs()], bare)
    const attempt = succeed(process.execPath, ['-e', "require('session-tape')"], bare)
    await expect(attempt).rejects.toThrow(`The package @session-tape/binding-${platformName()} is not installed`)

    const broken = join(bare, 'node_modules', '@session-tape', `binding-${platformName()}`)
    await mkdir(broken, { recursive: true })
    await writeFile(join(broken, 'index.node'), 'no addon')
    await writeFile(join(broken, 'package.json'), JSON.stringify({ main: 'index.node' }))
    const script =
      "try { require('session-tape') } catch ({ message, cause }) { console.log(cause.code, message.includes(cause.message)) }"
    expect(await succeed(process.execPath, ['-e', script], bare)).toBe('ERR_DLOPEN_FAILED true\n')
  })
})

/** Tools come from the work tree: the project has no network to install them from. */
async function linkFromWorkTree(name: string): Promise<void> {
  const target = join(project, 'node_modules', name)
  await rm(target, { force: true })
  await symlink(join(ROOT, 'node_modules', name), target, 'junction')
}
