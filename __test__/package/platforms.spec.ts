// The checks of `npm run build:all` that an addon must pass before it may be published.
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { platformName, addonFile } from '../../scripts/platform.mjs'
import { canInspect, inspect, problemsOf } from '../../scripts/platforms/inspect.mjs'
import { ENTRY_POINT, TARGETS } from '../../scripts/platforms/targets.mjs'
import { platformOf, ROOT } from './packing/release.js'

type Facts = Parameters<typeof problemsOf>[0]

const expectedOf = (name: string) => TARGETS.find((target) => target.name === name)!.expected

/** The facts of an addon without problems, with changes. */
const facts = (name: string, changes: Partial<Facts> = {}): Facts => {
  const { format, architecture, minimum } = expectedOf(name)
  const rest = {
    libraries: [],
    exports: [ENTRY_POINT],
    runPaths: [],
    texts: [],
    timestamp: 0,
    size: 1_234_567,
    sha256: '',
  }
  return { format, architecture, minimum: { ...minimum }, ...rest, ...changes }
}

describe('platforms', () => {
  test('are those of napi.targets', async () => {
    const { napi } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { napi: { targets: string[] } }
    expect(TARGETS.map(({ name }) => name)).toEqual(napi.targets.map(platformOf))
  })

  test.each(TARGETS.map(({ name }) => name))('%s: an addon that meets its requirements has no problems', (name) => {
    expect(problemsOf(facts(name), expectedOf(name))).toEqual([])
  })
})

describe('a problem is', () => {
  const of = (name: string, changes: Partial<Facts>) => problemsOf(facts(name, changes), expectedOf(name))

  test('another format or architecture', () => {
    expect(of('linux-x64-gnu', { architecture: 'arm64' })).toEqual(['is ELF for arm64, not ELF for x64'])
    expect(of('win32-arm64-msvc', { format: 'ELF' })).toEqual(['is ELF for arm64, not PE for arm64'])
  })

  test('a requirement of a newer system than the oldest supported one', () => {
    const glibc = (version: string | null) => of('linux-x64-gnu', { minimum: { system: 'glibc', version } })
    expect(glibc('2.18')).toEqual(['needs glibc 2.18, newer than 2.17'])
    expect(glibc('3.0')).toEqual(['needs glibc 3.0, newer than 2.17'])
    expect(glibc('2.9')).toEqual([])
    expect(glibc(null)).toEqual(['does not say which glibc it needs'])
    expect(of('darwin-arm64', { minimum: { system: 'macOS', version: '11.1' } })).toEqual([
      'needs macOS 11.1, newer than 11.0',
    ])
    expect(of('darwin-x64', { minimum: { system: 'macOS', version: '11' } })).toEqual([])
    expect(of('win32-x64-msvc', { minimum: { system: 'Windows', version: '10.1' } })).toEqual([
      'needs Windows 10.1, newer than 10.0',
    ])
  })

  test('glibc on a platform with musl, and a newer musl', () => {
    const libc = (system: string, version: string) => of('linux-x64-musl', { minimum: { system, version } })
    expect(libc('glibc', '1.1.4')).toEqual(['needs glibc 1.1.4, not musl'])
    expect(libc('musl', '1.2.5')).toEqual(['needs musl 1.2.5, newer than 1.1.20'])
    expect(libc('musl', '1.1.9')).toEqual([])
  })

  test('a library that not every machine has', () => {
    expect(of('linux-x64-gnu', { libraries: ['libc.so.6', 'libgcc_s.so.1'] })).toEqual(['needs libgcc_s.so.1'])
    expect(of('linux-x64-musl', { libraries: ['libc.so.6'] })).toEqual(['needs libc.so.6'])
    const universal = 'api-ms-win-crt-heap-l1-1-0.dll'
    expect(of('win32-x64-msvc', { libraries: ['kernel32.dll', universal, 'libnode.dll'] })).toEqual([
      'needs libnode.dll',
    ])
  })

  test('an export besides the entry point, or no export at all', () => {
    expect(of('darwin-arm64', { exports: [ENTRY_POINT, 'rust_eh_personality'] })).toEqual([
      'exports rust_eh_personality',
    ])
    expect(of('darwin-arm64', { exports: [] })).toEqual([`does not export ${ENTRY_POINT}`])
  })

  test('a trace of the machine that built it', () => {
    expect(of('linux-x64-gnu', { runPaths: ['/opt/lib'] })).toEqual(['looks for libraries in /opt/lib'])
    expect(of('linux-x64-gnu', { texts: ['/home/me/'] })).toEqual([
      'names /home/me/, a path of the machine that built it',
    ])
    expect(of('win32-x64-msvc', { timestamp: 1_700_000_000 })).toEqual(['holds the time at which it was built'])
  })
})

describe.skipIf(!canInspect())('the addon of this machine (skipped before the first `npm run build:all`)', () => {
  const addon = join(ROOT, addonFile())
  const target = TARGETS.find(({ name }) => name === platformName())
  let directory: string

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'session-tape-platforms-'))
  })

  afterAll(() => rm(directory, { recursive: true, force: true }))

  test('is recognised for what it is', async () => {
    expect(existsSync(addon)).toBe(true)
    const found = inspect(addon, [])
    expect(found).toMatchObject({
      format: target!.expected.format,
      architecture: process.arch,
      exports: [ENTRY_POINT],
      texts: [],
    })
    expect(found.size).toBe((await readFile(addon)).length)
  })

  test('has problems for another architecture, and with a path in it', async () => {
    const marked = join(directory, 'marked.node')
    await cp(addon, marked)
    await writeFile(marked, 'built in /home/somebody/work', { flag: 'a' })
    const found = inspect(marked, ['/home/somebody/', '/home/somebody-else/'])
    const other = TARGETS.find(({ expected }) => expected.format === 'ELF' && expected.architecture !== process.arch)!
    expect(problemsOf(found, other.expected)).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^is .* for .*, not ELF for /),
        'names /home/somebody/, a path of the machine that built it',
      ]),
    )
    expect(found.texts).toEqual(['/home/somebody/'])
  })

  test('is refused if it is not an addon', async () => {
    const text = join(directory, 'text.node')
    await writeFile(text, 'no addon')
    expect(() => inspect(text, [])).toThrow('neither ELF nor Mach-O nor PE')
  })
})
