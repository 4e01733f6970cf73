// Checks docs/bundle-format.md: its example is recomputed from its own text with nothing but Node's hashes, and the library reads and writes the
// example as the page says.

import { verify } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { tarOf, zstdOf } from '../support/plain-bundle.mjs'
import {
  VERSION,
  exportBundle,
  filesIn,
  freshDirectory,
  hasTool,
  importBundle,
  replaySession,
  verifyBundle,
  writeArchive,
  writeFiles,
} from '../support/bundles.js'
import { completedRun } from '../support/run-directory.js'
import { declarations } from '../support/declarations.js'
import { canonical, formatPage, sha256 } from '../support/format-page.js'

const { page: PAGE, block } = formatPage('bundle-format')

const session = `${block('jsonl session.jsonl')}\n`
const metadata = block('json metadata.json')
const withoutId = block('json manifest')
const manifest = block('json manifest.json')
const checksums = `${block('text manifest.sha256')}\n`
const signature = block('json manifest.sig')
const publicKey = `${block('pem public')}\n`
const FILES = {
  'manifest.json': manifest,
  'manifest.sha256': checksums,
  'manifest.sig': signature,
  'metadata.json': metadata,
  'session.jsonl': session,
}

describe('the example', () => {
  test('lists its files with their sizes and hashes', () => {
    const listed = (text: string) => ({ sha256: sha256(text), size: Buffer.byteLength(text) })
    expect(JSON.parse(withoutId).files).toEqual({ 'metadata.json': listed(metadata), 'session.jsonl': listed(session) })
    expect(PAGE).toContain(`so that it has ${Buffer.byteLength(session)} bytes`)
    expect(JSON.parse(withoutId).log).toEqual({
      count: session.split('\n').length - 1,
      firstTime: null,
      head: null,
      lastTime: null,
    })
  })

  test('has the hash of its manifest as its id', () => {
    for (const text of [withoutId, manifest, metadata, signature]) expect(canonical(JSON.parse(text))).toBe(text)
    expect(JSON.parse(manifest)).toEqual({ bundleId: sha256(withoutId), ...JSON.parse(withoutId) })
    expect(PAGE).toContain(`whose hash is \`${sha256(withoutId)}\``)
    expect(PAGE).toContain(`\`manifest.json\`, ${manifest.length} bytes`)
  })

  test('has the checksums of its files', () => {
    const lines = [
      ['metadata.json', metadata],
      ['session.jsonl', session],
      ['manifest.json', manifest],
    ] as const
    expect(checksums).toBe(lines.map(([path, text]) => `${sha256(text)}  ${path}\n`).join(''))
  })

  test('is signed', () => {
    const { payloadType, signatures } = JSON.parse(signature)
    const head = `DSSEv1 ${payloadType.length} ${payloadType} ${manifest.length} `
    expect(PAGE).toContain(`\`${head}${manifest.slice(0, 12)}`)
    const signed = Buffer.concat([Buffer.from(head), Buffer.from(manifest)])
    expect(verify(null, signed, publicKey, Buffer.from(signatures[0].sig, 'base64'))).toBe(true)
    expect(signatures[0].keyid).toBe(sha256(Buffer.from(publicKey.replace(/-----.*-----|\n/g, ''), 'base64')))
  })

  test('has metadata that matches its lines', () => {
    const lines = session
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(JSON.parse(metadata)).toMatchObject({
      sessionId: lines[0].payload.sessionId,
      startedAt: lines[0].ts,
      completedAt: lines[1].ts,
      counts: { blobs: 0, events: 2 },
    })
  })

  test('has the tar that follows from its table of the header', () => {
    const rows = [...PAGE.matchAll(/^\| (\d+)(?:, (\d+))? \| (\d+)(?: each)? \| (.*) \|$/gm)]
    const length = new Map(
      rows.flatMap(([, first, second, bytes]) =>
        [first, second].filter((one) => one !== undefined).map((at) => [Number(at), Number(bytes)]),
      ),
    )
    expect([...length]).toEqual([
      [0, 100],
      [100, 8],
      [108, 8],
      [116, 8],
      [124, 12],
      [136, 12],
      [148, 8],
      [156, 1],
      [257, 8],
      [345, 155],
    ])
    const parts = Object.entries(FILES).flatMap(([path, text]) => {
      const header = Buffer.alloc(512)
      const put = (at: number, value: string) => header.write(value, at, length.get(at)!, 'latin1')
      put(0, path)
      put(100, '0000644')
      for (const at of [108, 116]) put(at, '0000000')
      put(124, Buffer.byteLength(text).toString(8).padStart(11, '0'))
      put(136, '00000000000')
      put(148, '        ')
      put(156, '0')
      put(257, 'ustar\u000000')
      const sum = header
        .reduce((total, byte) => total + byte, 0)
        .toString(8)
        .padStart(7, '0')
      put(148, `${sum}\0`)
      if (path === 'manifest.json') expect(PAGE).toContain(`The sum in the first header is \`${sum}\``)
      return [header, Buffer.from(text), Buffer.alloc((512 - (Buffer.byteLength(text) % 512)) % 512)]
    })
    const tar = Buffer.concat([...parts, Buffer.alloc(1024)])
    expect(PAGE).toContain(`the tar has ${tar.length} bytes`)
    expect(PAGE).toContain(`the hash \`${sha256(tar)}\``)
    expect(tarOf(Object.entries(FILES))).toEqual(tar)
  })
})

describe('the library', () => {
  test('reads the example in either form', async () => {
    for (const path of [
      writeFiles(join(freshDirectory(), 'd'), FILES),
      writeArchive(zstdOf(tarOf(Object.entries(FILES)))),
    ]) {
      const found = await verifyBundle(path, { signature: 'required', trustedKeys: [publicKey] })
      expect(found).toMatchObject({
        ok: true,
        info: { bundleId: sha256(withoutId), kind: 'session', events: 2, files: 2 },
      })
      expect(await replaySession(path, 'p-1')).toMatchObject({
        ok: true,
        history: [{ blocks: [{ text: 'Hello' }] }],
        metadata: { sessionId: 's-1' },
      })
      const directory = join(freshDirectory(), 'imported')
      await importBundle(path, directory)
      expect(filesIn(directory)).toEqual(
        Object.fromEntries(Object.entries(FILES).map(([name, text]) => [name, Buffer.from(text)])),
      )
    }
  })

  test('writes the same files, except for the version of the tool', async () => {
    const directory = freshDirectory()
    writeFileSync(join(directory, 'x.jsonl'), session)
    await exportBundle(join(directory, 'x.jsonl'), join(directory, 'b'))
    const files = filesIn(join(directory, 'b'))
    expect(files['metadata.json']!.toString()).toBe(metadata.replace('"version":"0.1.0"', `"version":"${VERSION}"`))
    if (VERSION === '0.1.0') expect(files['manifest.json']!.toString()).toBe(manifest)
  })

  test.skipIf(!hasTool('zstd'))('writes archives whose tar has such headers (needs zstd)', async () => {
    const directory = freshDirectory()
    const source = completedRun().write(join(directory, 'run'))
    await exportBundle(source, join(directory, 'b'))
    await exportBundle(source, join(directory, 'b.tar.zst'))
    const { stdout } = spawnSync('zstd', ['-dc', join(directory, 'b.tar.zst')], { maxBuffer: 1 << 26 })
    const entries = Object.entries(filesIn(join(directory, 'b'))).sort(([a], [b]) => (a < b ? -1 : 1))
    expect(stdout.equals(tarOf(entries))).toBe(true)
    const { stdout: listed } = spawnSync('zstd', ['-lv', join(directory, 'b.tar.zst')], { encoding: 'utf8' })
    expect(listed).toMatch(/Check: XXH64/)
    expect(listed).toMatch(new RegExp(`\\(${stdout.length} B\\)`))
  })
})

test('the list of codes has each code, and no others', () => {
  const { native } = createRequire(import.meta.url)('../../dist/addon.js') as { native: { bundleCodes(): string[] } }
  const list = PAGE.split('\n## 11. Codes\n')[1]!.split('\n## ')[0]!.trim().split('\n\n').at(-1)!
  expect([...list.matchAll(/`(\w+)`/g)].map(([, code]) => code)).toEqual(native.bundleCodes())
})

test('the documented default limits are those of the declarations', async () => {
  const section = PAGE.split('\n## 9. Verifying\n')[1]!.split('\n## ')[0]!
  for (const [name, text] of [
    ['lineBytes', '16 MiB'],
    ['blobBytes', '256 MiB'],
    ['files', '100 000'],
    ['expansion', '200'],
    ['totalBytes', '64 GiB'],
  ] as const) {
    expect(section).toMatch(new RegExp(`\\| \`${name}\`:[^|]*\\| ${text}[ ;|]`))
    expect(declarations).toMatch(new RegExp(`Default ${text}[^*]*\\*/\\n  ${name}: number`))
  }
})
