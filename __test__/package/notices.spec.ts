// The licence notices that `npm publish` requires in a platform package: for each crate that is linked into its addon, and for C code in crates.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { licencesOfC, linkedCrates } from '../../scripts/release/linked.mjs'
import { missingIn, noticesText } from '../../scripts/release/notices-file.mjs'

let plain: string
let withC: string

beforeAll(async () => {
  plain = await mkdtemp(join(tmpdir(), 'session-tape-crate-'))
  withC = await mkdtemp(join(tmpdir(), 'session-tape-crate-'))
  await writeFile(join(withC, 'fast.c'), 'int fast;')
})

afterAll(() => Promise.all([plain, withC].map((directory) => rm(directory, { recursive: true, force: true }))))

const crate = (name: string, version: string) => ({ name, version, directory: plain })
const zstd = () => ({ ...crate('zstd-sys', '2.1.2+zstd.1.5.7'), directory: withC })

describe('the notices', () => {
  const text = noticesText('the addon', [
    { title: 'alpha 1.0.0', text: 'MIT, of alpha' },
    { title: 'beta 2.0.0', text: 'Apache, of all' },
    { title: 'gamma 3.0.0', text: 'Apache, of all  ' },
    { title: 'zstd-sys 2.1.2+zstd.1.5.7', text: 'BSD, of the crate' },
  ])

  test('have each licence once, with everything that it applies to', () => {
    expect(text.match(/Apache, of all/g)).toHaveLength(1)
    expect(text).toContain('The licence of beta 2.0.0, gamma 3.0.0:\n\nApache, of all\n')
  })

  test('cover the crates in them, and no others', () => {
    expect(missingIn(text, [crate('alpha', '1.0.0'), crate('beta', '2.0.0'), crate('gamma', '3.0.0')])).toEqual([])
    expect(missingIn(text, [crate('alpha', '1.0.1'), crate('gam', '3.0.0')])).toEqual(['alpha 1.0.1', 'gam 3.0.0'])
  })

  test('do not cover a crate that is only in the list', () => {
    const cut = text.replace('The licence of alpha 1.0.0:', 'A licence:')
    expect(missingIn(cut, [crate('alpha', '1.0.0')])).toEqual(['alpha 1.0.0'])
  })

  test('do not cover the C code of a crate if only the crate is in them', () => {
    expect(missingIn(text, [zstd()])).toEqual(['the C code in zstd-sys 2.1.2+zstd.1.5.7'])
  })
})

test('C code with an unknown licence is an error', () => {
  expect(licencesOfC(zstd())).toEqual([join(withC, 'zstd', 'LICENSE')])
  expect(licencesOfC(crate('alpha', '1.0.0'))).toEqual([])
  expect(() => licencesOfC({ ...zstd(), name: 'fast-sys' })).toThrow('fast-sys brings C code')
})

test('the linked crates include those with C code, but neither macros nor build dependencies', async () => {
  const names = (await linkedCrates({ triple: 'x86_64-unknown-linux-gnu' })).map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining(['napi', 'serde', 'zstd-sys']))
  for (const other of ['session-tape', 'serde_derive', 'napi-derive', 'cc', 'napi-build', 'proptest'])
    expect(names).not.toContain(other)
})
