// A program that `bun build --compile` makes, and plugins that it loads from the disk and that depend on the installed package.
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { addonFile, platformName } from '../../scripts/platform.mjs'
import { BUN, NO_BUN } from '../support/bun'
import { PROJECT } from '../support/command-line'
import { succeed } from './packing/command.js'

const BINDING = `@session-tape/binding-${platformName()}`
const WORKS = "works: Failed to read file: ENOENT: no such file or directory, open 'none'\n"

let directory: string
let host: string

beforeAll(async () => {
  if (BUN === undefined) return
  directory = realpathSync(mkdtempSync(join(tmpdir(), 'session-tape-bun-')))
  const source = join(directory, 'host')
  mkdirSync(source)
  writeFileSync(
    join(source, 'host.ts'),
    'const plugin = await import(process.argv[2]!);\nconsole.log(`works: ${await plugin.run()}`);\n',
  )
  await succeed(BUN, ['build', '--compile', 'host.ts', '--outfile', 'host'], source)
  host = join(source, 'host')
})
afterAll(() => {
  if (directory) rmSync(directory, { recursive: true, force: true })
})

describe('a plugin of a program that Bun compiled', () => {
  test('finds the package in its own node_modules, from an ES module and from CommonJS', async ({ skip }) => {
    skip(BUN === undefined, NO_BUN)
    const plugin = newPlugin('npm')
    const modules = join(plugin, 'node_modules')
    installTo(join(modules, 'session-tape'), join(modules, BINDING))
    expect(await succeed(host, [join(plugin, 'plugin.mjs')], directory)).toBe(WORKS)
    expect(await succeed(host, [join(plugin, 'plugin.cjs')], directory)).toBe(WORKS)
  })

  test('finds it as pnpm installs it: by links, with the binary package beside the real directory', async ({
    skip,
  }) => {
    skip(BUN === undefined, NO_BUN)
    const plugin = newPlugin('pnpm')
    const store = join(plugin, 'node_modules', '.pnpm', 'session-tape@0', 'node_modules')
    installTo(join(store, 'session-tape'), join(store, BINDING))
    symlinkSync(join(store, 'session-tape'), join(plugin, 'node_modules', 'session-tape'), 'junction')
    expect(await succeed(host, [join(plugin, 'plugin.mjs')], directory)).toBe(WORKS)
  })

  test('says that the binary package is missing, only if it is', async ({ skip }) => {
    skip(BUN === undefined, NO_BUN)
    const plugin = newPlugin('bare')
    const modules = join(plugin, 'node_modules')
    installTo(join(modules, 'session-tape'), join(modules, BINDING))
    rmSync(join(modules, BINDING), { recursive: true })
    await expect(succeed(host, [join(plugin, 'plugin.mjs')], directory)).rejects.toThrow(
      `The package ${BINDING} is not installed. Install again`,
    )
    installTo(join(modules, 'session-tape'), join(modules, BINDING))
    writeFileSync(join(modules, BINDING, addonFile()), 'no addon')
    await expect(succeed(host, [join(plugin, 'plugin.mjs')], directory)).rejects.toThrow(
      `The package ${BINDING} is installed, but does not load`,
    )
  })
})

function newPlugin(name: string): string {
  const path = join(directory, name)
  mkdirSync(path)
  writeFileSync(join(path, 'package.json'), '{ "name": "a-plugin" }')
  writeFileSync(
    join(path, 'plugin.mjs'),
    "import { replaySession } from 'session-tape';\nexport const run = async () => (await replaySession('none')).error;\n",
  )
  writeFileSync(
    join(path, 'plugin.cjs'),
    "const { replaySession } = require('session-tape');\nexports.run = async () => (await replaySession('none')).error;\n",
  )
  return path
}

/** Puts the files of the package and of this machine's binary package into two directories. */
function installTo(path: string, binding: string): void {
  mkdirSync(binding, { recursive: true })
  for (const name of ['index.js', 'index.mjs', 'package.json', 'dist'])
    cpSync(join(PROJECT, name), join(path, name), { recursive: true })
  copyFileSync(join(PROJECT, 'npm', platformName(), 'package.json'), join(binding, 'package.json'))
  copyFileSync(join(PROJECT, addonFile()), join(binding, addonFile()))
}
