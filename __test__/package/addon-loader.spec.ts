// The errors of the loader if there is no addon to load: the code, the platform, the package, and what to do.
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

import { platformName } from '../../scripts/platform.mjs'
import { PROJECT } from '../support/command-line'
import { succeed } from './packing/command.js'

let directory: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'session-tape-loader-'))
  mkdirSync(join(directory, 'dist'))
  for (const file of ['addon.js', 'addon-by-path.js', 'addon-failure.js'])
    copyFileSync(join(PROJECT, 'dist', file), join(directory, 'dist', file))
})

afterEach(() => rmSync(directory, { recursive: true, force: true }))

interface Thrown {
  code: string
  message: string
  cause?: string
}

/** The error that loading the addon throws, in a process started with `flags` and with the properties in `changes` replaced. */
async function thrown(changes: Record<string, unknown> = {}, flags: string[] = []): Promise<Thrown> {
  const script = `
    for (const [name, value] of Object.entries(${JSON.stringify(changes)})) Object.defineProperty(process, name, { value })
    try { require('./dist/addon.js') } catch ({ code, message, cause }) { console.log(JSON.stringify({ code, message, cause: cause?.code })) }`
  return JSON.parse(await succeed(process.execPath, [...flags, '-e', script], directory)) as Thrown
}

/** Installs this platform's package, with its addon unless `addon` is another content, or `null` for none. Returns the package's directory. */
function install(addon?: string | null): string {
  const path = join(directory, 'node_modules', '@session-tape', `binding-${here}`)
  const file = `session-tape.${here}.node`
  mkdirSync(path, { recursive: true })
  copyFileSync(join(PROJECT, 'npm', here, 'package.json'), join(path, 'package.json'))
  if (addon === undefined) copyFileSync(join(PROJECT, file), join(path, file))
  else if (addon !== null) writeFileSync(join(path, file), addon)
  return path
}

const here = platformName()
const named = (name: string): string => `@session-tape/binding-${name}`

test('reports a platform without a package', async () => {
  const { code, message } = await thrown({ platform: 'sunos', arch: 'x64' })
  expect(code).toBe('UnsupportedPlatform')
  expect(message).toMatch(
    /^session-tape has no package for sunos-x64\. There is one for each of linux-x64-gnu, .*win32-arm64-msvc$/,
  )
})

test('reports a Node.js that is too old, on any platform', async () => {
  const { code, message } = await thrown({ version: 'v18.20.8', versions: { ...process.versions, node: '18.20.8' } })
  expect(code).toBe('UnsupportedRuntime')
  expect(message).toContain('needs Node.js 20 or newer, and this is v18.20.8 on ')
})

test('reports a package that is not installed', async () => {
  const { code, message } = await thrown()
  expect(code).toBe('NoAddon')
  expect(message).toContain(
    `for ${here}. The package ${named(here)} is not installed. Install again without leaving out optional dependencies (\`--omit=optional\``,
  )
})

test('reports a package that is installed but does not load', async () => {
  writeFileSync(join(directory, `session-tape.${here}.node`), 'no addon')
  const { code, message, cause } = await thrown()
  expect([code, cause]).toEqual(['NoAddon', 'ERR_DLOPEN_FAILED'])
  expect(message).toContain(
    `The package ${named(here)} is installed, but does not load: remove node_modules and install again (`,
  )
})

test('reports a package whose addon is gone', async () => {
  install(null)
  const { code, message } = await thrown()
  expect(code).toBe('NoAddon')
  expect(message).toContain(
    `The package ${named(here)} is installed, but has lost its file session-tape.${here}.node: remove node_modules and install again`,
  )
})

test('asks for a newer system, not for another installation, if the C library is too old', async () => {
  const script = `
    const error = Object.assign(new Error("libc.so.6: version \`GLIBC_2.99' not found"), { code: 'ERR_DLOPEN_FAILED' })
    console.log(require('./dist/addon-failure.js').notLoaded([{ name: '${here}', error }]).message)`
  const message = await succeed(process.execPath, ['-e', script], directory)
  expect(message).toContain(
    `The package ${named(here)} is installed, but does not load: it needs a newer C library, so a newer version of the system (libc`,
  )
})

test('says that a file system mounted with noexec keeps the addon from running', async ({ skip }) => {
  const addon = `session-tape.${here}.node`
  mkdirSync(join(directory, 'mounted'))
  symlinkSync(join('mounted', addon), join(directory, addon))
  const mount = ['-rm', 'mount', '-t', 'tmpfs', '-o', 'noexec', 'tmpfs', join(directory, 'mounted')]
  const { status, error, stderr } = spawnSync('unshare', mount, { encoding: 'utf8' })
  if (status !== 0) return skip(`no file system can be mounted here: ${error?.message ?? stderr}`)
  const load = "try { require('./dist/addon.js') } catch ({ code, message }) { console.log(code, message) }"
  const script = 'mount -t tmpfs -o noexec tmpfs mounted && cp "$1" mounted && exec "$2" -e "$3"'
  const message = await succeed(
    'unshare',
    ['-rm', 'sh', '-c', script, 'sh', join(PROJECT, addon), process.execPath, load],
    directory,
  )
  expect(message).toContain('NoAddon')
  expect(message).toContain(
    'does not load: the system does not let it run, as on a file system that is mounted with `noexec`. Install it elsewhere',
  )
})

describe('of a package that is installed, names the option that keeps it from loading', () => {
  const permissions = process.allowedNodeEnvironmentFlags.has('--permission')
    ? '--permission'
    : '--experimental-permission'
  const reading = '--allow-fs-read=*'
  const isBun = 'bun' in process.versions

  test.for([
    { name: '--no-addons', flags: ['--no-addons'], remedy: 'start it without `--no-addons` (' },
    {
      name: '--permission',
      flags: [permissions, reading],
      remedy: 'start it with `--allow-addons`, which `--permission` requires (',
    },
    {
      name: '--permission and --no-addons',
      flags: [permissions, reading, '--no-addons'],
      remedy: 'start it without `--no-addons` and with `--allow-addons`, which `--permission` requires (',
    },
  ])('$name', async ({ flags, remedy }, { skip }) => {
    if (isBun && flags.includes(permissions)) return skip('Bun has no permissions')
    install()
    const { code, message, cause } = await thrown({}, flags)
    expect([code, cause]).toEqual(['NoAddon', 'ERR_DLOPEN_DISABLED'])
    expect(message).toContain(
      `The package ${named(here)} is installed, but ${isBun ? 'Bun' : 'Node.js'} may not load addons: ${remedy}`,
    )
  })

  test('with permissions for addons and for files, but not for those of the package', async ({ skip }) => {
    if (permissions === '--experimental-permission')
      return skip('this Node.js loads the addon of a package that it may not read')
    const path = realpathSync(install())
    const flags = [permissions, '--allow-addons', `--allow-fs-read=${join(realpathSync(directory), 'dist')}/*`]
    const { code, message, cause } = await thrown({}, flags)
    expect([code, cause]).toEqual(['NoAddon', 'ERR_ACCESS_DENIED'])
    expect(message).toContain(
      `Node.js may not read the package ${named(here)}: start it with \`--allow-fs-read=${join(path, '*')}\``,
    )
  })
})

test.runIf(here.startsWith('linux-'))('reports a package for another C library', async () => {
  const other = here.endsWith('-gnu') ? here.replace(/-gnu$/, '-musl') : here.replace(/-musl$/, '-gnu')
  writeFileSync(join(directory, `session-tape.${other}.node`), 'no addon')
  const { code, message } = await thrown()
  expect(code).toBe('NoAddon')
  expect(message).toContain(
    `The package ${named(here)} is not installed, but ${named(other)} is, which is for another C library. Install again`,
  )
})
