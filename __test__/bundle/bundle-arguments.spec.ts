// An argument of the wrong type synchronously throws a TypeError that names it; nothing is read or written.

import { join } from 'node:path'
import { createRequire } from 'node:module'
import { describe, expect, test } from 'vitest'
import { eachCase } from '../support/each-case.js'
import { exists, exportBundle, freshDirectory, importBundle, tape, verifyBundle } from '../support/bundles.js'
import { declarations } from '../support/declarations.js'

const { native } = createRequire(import.meta.url)('../../dist/addon.js') as { native: { bundleCodes(): string[] } }

type Call = (...args: unknown[]) => unknown
const functions = { exportBundle, verifyBundle, importBundle } as unknown as Record<string, Call>

const place = freshDirectory()
const path = join(place, 'never')
const PATHS: Record<string, string[]> = {
  exportBundle: ['source', 'destination'],
  verifyBundle: ['path'],
  importBundle: ['path', 'directory'],
}

const throwing = (name: string, options: unknown) => () => functions[name]!(...PATHS[name]!.map(() => path), options)
const typeError = (argument: string) =>
  expect.objectContaining({
    name: 'TypeError',
    code: 'ERR_INVALID_ARG_TYPE',
    message: expect.stringContaining(`${argument} must be`),
  })

describe.each(Object.keys(PATHS))('%s', (name) => {
  test('checks its paths', async () => {
    await eachCase([undefined, null, '', 1, {}, Buffer.from('x')], (wrong) => {
      for (const [at, argument] of PATHS[name]!.entries()) {
        const paths = PATHS[name]!.map((_, index) => (index === at ? wrong : path))
        expect(() => functions[name]!(...paths)).toThrow(typeError(argument))
      }
    })
  })

  test('checks the common options', async () => {
    await eachCase([null, 1, 'x', [], () => {}], (options) =>
      expect(throwing(name, options)).toThrow(typeError('options')),
    )
    await eachCase([null, 1, {}, { aborted: false }, new AbortController()], (signal) =>
      expect(throwing(name, { signal })).toThrow(typeError('options.signal')),
    )
    await eachCase([null, 1, {}, 'x'], (onProgress) =>
      expect(throwing(name, { onProgress })).toThrow(typeError('options.onProgress')),
    )
  })
})

test('exportBundle checks its own options', async () => {
  const wrong = (option: string, values: unknown[]) =>
    eachCase(values, (value) =>
      expect(throwing('exportBundle', { [option]: value })).toThrow(typeError(`options.${option}`)),
    )
  await wrong('fromSnapshot', [null, 1, {}, ['latest']])
  await wrong('level', [null, 0, 23, 1.5, NaN, Infinity, '1', -1])
  await wrong('signWith', [null, 1, {}, Buffer.from('x')])
})

test.each(['verifyBundle', 'importBundle'])('%s checks its own options', async (name) => {
  const wrong = (option: string, values: unknown[], argument = `options.${option}`) =>
    eachCase(values, (value) => expect(throwing(name, { [option]: value })).toThrow(typeError(argument)))
  await wrong('trustedKeys', [null, 'x', {}, [1], [undefined]])
  await wrong('signature', [null, '', 'always', 1, true])
  await wrong('limits', [null, 1, 'x', [], { lineByte: 1 }, { linebytes: 1 }])
  for (const limit of ['lineBytes', 'blobBytes', 'files', 'expansion', 'totalBytes']) {
    await wrong(
      'limits',
      [-1, NaN, '1', null, {}].map((value) => ({ [limit]: value })),
      `options.limits.${limit}`,
    )
  }
  if (name === 'importBundle') await wrong('durability', [null, '', 'none', 1, true])
})

test('undefined is the same as leaving an option out', async () => {
  const none = {
    signal: undefined,
    onProgress: undefined,
    limits: undefined,
    trustedKeys: undefined,
    signature: undefined,
    fromSnapshot: undefined,
    level: undefined,
    signWith: undefined,
  }
  for (const call of [
    () => exportBundle(path, `${path}.b`, none),
    () => verifyBundle(path, none),
    () => importBundle(path, `${path}.b`, none),
  ]) {
    await expect(call()).rejects.toMatchObject({ code: 'ENOENT' })
  }
  await expect(verifyBundle(path, { limits: { files: undefined } })).rejects.toMatchObject({ code: 'ENOENT' })
})

test('paths that no file can have reject with the error of the system', async () => {
  for (const call of [
    () => exportBundle('a\0b', path),
    () => exportBundle('/', join(path, 'a\0b')),
    () => verifyBundle('a\0b'),
    () => importBundle('a\0b', path),
    () => verifyBundle('x'.repeat(5000)),
  ]) {
    await expect(call()).rejects.toMatchObject({ name: 'BundleError', code: expect.stringMatching(/^E/) })
  }
})

test('options are read when the call is made', async () => {
  const options = { trustedKeys: [] as string[], limits: { files: 0 } }
  const verifying = verifyBundle(path, options)
  options.trustedKeys.push('no key')
  await expect(verifying).rejects.toMatchObject({ code: 'ENOENT' })
  expect(exists(path)).toBe(false)
})

test('the declared codes are exactly those of the addon', () => {
  const union = /export type BundleCode = ([^;]+);/.exec(declarations)![1]!
  expect([...union.matchAll(/'(\w+)'/g)].map(([, code]) => code)).toEqual(native.bundleCodes())
  expect(Object.keys(tape)).toEqual(expect.arrayContaining(Object.keys(PATHS)))
})
