// Which modules `require` of the package loads, and that exports that are loaded lazily look like the others.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { afterAll, beforeEach, expect, test } from 'vitest'

import { PROJECT } from '../support/command-line'

const require = createRequire(import.meta.url)
const ENTRY = join(PROJECT, 'index.js')
const CLASSES = ['RunRecorder', 'SessionRecordingService', 'SessionLockedError', 'CheckpointLockError']

let tape: Record<string, unknown>
beforeEach(() => {
  unload()
  tape = require(ENTRY)
})

// Other specs may run in this process. With two copies of a class, an error of one copy would not be an instance of the other.
const before = Object.entries(require.cache).filter(([path]) => isOfPackage(path))
afterAll(() => {
  unload()
  for (const [path, module] of before) require.cache[path] = module
})

function isOfPackage(path: string): boolean {
  return path === ENTRY || path.startsWith(join(PROJECT, 'dist'))
}

/** The JavaScript files of the package that are loaded. An addon is never loaded twice. */
const loaded = (): string[] => Object.keys(require.cache).filter(isOfPackage)

function unload(): void {
  for (const path of loaded()) delete require.cache[path]
}

const namesLoaded = (): string[] => loaded().map((path) => path.slice(PROJECT.length))

test('few modules are loaded before an export is used', async () => {
  expect(namesLoaded().sort()).toEqual([
    'dist/addon.js',
    'dist/builtins.js',
    'dist/constants.js',
    'dist/lazily.js',
    'index.js',
  ])
  await (tape['readSessionHeader'] as (path: string) => Promise<unknown>)('no-such-file')
  expect(namesLoaded()).toContain('dist/session/header.js')
  expect(namesLoaded()).not.toContain('dist/session/recorder.js')
})

test.each(CLASSES)('%s is an ordinary property', (name) => {
  expect(Object.keys(tape)).toContain(name)
  const value = tape[name]
  expect((value as { name: string }).name).toBe(name)
  expect(Object.getOwnPropertyDescriptor(tape, name)).toEqual({
    value,
    writable: true,
    enumerable: true,
    configurable: true,
  })
  expect(tape[name]).toBe(value)
})

test.each(CLASSES)('%s can be replaced before its first use', (name) => {
  tape[name] = 'another'
  expect(Object.getOwnPropertyDescriptor(tape, name)).toEqual({
    value: 'another',
    writable: true,
    enumerable: true,
    configurable: true,
  })
})
