// A clone of the repository, built as the README says. Only the compiler is left out: the addon of the work tree is its output.
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { addonFile } from '../../scripts/platform.mjs'
import { PROJECT, run } from '../support/command-line'
import { npm } from '../package/packing/command.js'

const COPIED = [
  'package.json',
  'package-lock.json',
  'README.md',
  'index.js',
  'index.d.ts',
  'lib',
  'packages',
  'scripts',
  'demo',
  '__test__/fixtures/run/v1/golden',
]
const LIBRARIES = join('packages', 'cli', 'html', 'libraries')

let directory: string
let clone: string

beforeAll(() => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), 'session-tape-clone-')))
  clone = join(directory, 'clone')
  const built = join(PROJECT, LIBRARIES)
  for (const name of COPIED)
    cpSync(join(PROJECT, name), join(clone, name), {
      recursive: true,
      filter: (path) => path !== built && !path.endsWith('node_modules'),
    })
  linkPackages(join(clone, 'node_modules'))
})
afterAll(() => {
  if (directory) rmSync(directory, { recursive: true, force: true })
})

/** Links the installed packages, without their programs, and the clone itself as the library that the command line needs. */
function linkPackages(modules: string): void {
  mkdirSync(join(modules, '.bin'), { recursive: true })
  for (const name of readdirSync(join(PROJECT, 'node_modules')).filter(
    (each) => !each.startsWith('.') && each !== 'session-tape',
  )) {
    symlinkSync(join(PROJECT, 'node_modules', name), join(modules, name), 'junction')
  }
  symlinkSync(clone, join(modules, 'session-tape'), 'junction')
}

/** Puts a `napi` on the path of npm scripts that writes the addon as it is in the work tree. */
function standInForCompiler(): void {
  const script = join(directory, 'napi.cjs')
  writeFileSync(
    script,
    `require('node:fs').copyFileSync(${JSON.stringify(join(PROJECT, addonFile()))}, ${JSON.stringify(addonFile())})\n`,
  )
  const bin = join(clone, 'node_modules', '.bin')
  writeFileSync(join(bin, 'napi'), `#!/bin/sh\nexec "${process.execPath}" "${script}"\n`, { mode: 0o755 })
  writeFileSync(join(bin, 'napi.cmd'), `@"${process.execPath}" "${script}"\r\n`)
}

const view = (...args: string[]): ReturnType<typeof run> =>
  run(process.execPath, [join(clone, 'packages', 'cli', 'main.js'), 'view', ...args], { cwd: clone })

test('without the libraries of its pages, view says how to build them, whatever it shows and however', async () => {
  cpSync(join(PROJECT, addonFile()), join(clone, addonFile()))
  await npm(['run', 'build:lib'], clone)
  const page = join(directory, 'page.html')
  for (const args of [['--html', page], ['--serve']]) {
    for (const recording of ['demo/sample.jsonl', '__test__/fixtures/run/v1/golden']) {
      const { code, stderr } = await view(recording, ...args)
      expect([code, stderr]).toEqual([
        2,
        'session-tape: the libraries of the page are not built; run `npm run build:page`\n',
      ])
    }
  }
  expect(existsSync(page)).toBe(false)
  expect(await view('demo/sample.jsonl', '--text')).toMatchObject({ code: 0, stderr: '' })
})

test('the commands of the README build all that view needs', async () => {
  rmSync(join(clone, addonFile()))
  rmSync(join(clone, 'dist'), { recursive: true })
  standInForCompiler()
  const section = /## Build from source\n+```sh\n(.*?)```/s.exec(readFileSync(join(PROJECT, 'README.md'), 'utf8'))![1]!
  const commands = section
    .trim()
    .split('\n')
    .map((line) => line.replace(/\s+#.*/, ''))
  // The packages are linked already.
  expect(commands[0]).toBe('npm ci')
  for (const command of commands.slice(1)) await npm(command.split(' ').slice(1), clone)
  for (const recording of ['demo/sample.jsonl', '__test__/fixtures/run/v1/golden']) {
    const page = join(directory, 'page.html')
    expect(await view(recording, '--html', page)).toMatchObject({ code: 0, stderr: '' })
    expect(readFileSync(page, 'utf8')).toContain('Permission is hereby granted, free of charge')
  }
})
