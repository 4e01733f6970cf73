// The licence notices of a platform package: for each crate that is linked into its addon, and for C code in crates.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { licencesOfC, linkedCrates } from '../../scripts/release/crates.mjs'
import { noticesText } from '../../scripts/release/notices-text.mjs'

let plain: string
let withC: string

beforeAll(async () => {
  plain = await mkdtemp(join(tmpdir(), 'session-tape-crate-'))
  withC = await mkdtemp(join(tmpdir(), 'session-tape-crate-'))
  await writeFile(join(withC, 'fast.c'), 'int fast;')
})

afterAll(() => Promise.all([plain, withC].map((directory) => rm(directory, { recursive: true, force: true }))))

const zstd = () => ({ name: 'zstd-sys', directory: withC })

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

  test('begin with a list of what they cover', () => {
    expect(text).toMatch(/^the addon contains, besides session-tape itself:\n\n- alpha 1\.0\.0\n- beta 2\.0\.0\n/)
  })
})

test('C code with an unknown licence is an error', () => {
  expect(licencesOfC(zstd())).toEqual([join(withC, 'zstd', 'LICENSE')])
  expect(licencesOfC({ name: 'alpha', directory: plain })).toEqual([])
  expect(() => licencesOfC({ ...zstd(), name: 'fast-sys' })).toThrow('fast-sys brings C code')
})

test('the linked crates include those with C code, but neither macros nor build dependencies', () => {
  const names = [...linkedCrates({ triple: 'x86_64-unknown-linux-gnu' })].map((id) => id.split(' ')[0])
  expect(names).toEqual(expect.arrayContaining(['napi', 'serde', 'zstd-sys']))
  for (const other of ['serde_derive', 'napi-derive', 'cc', 'napi-build', 'proptest'])
    expect(names).not.toContain(other)
})
