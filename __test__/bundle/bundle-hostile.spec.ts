// Hostile bundles: each is refused with its own code, nothing is written outside the destination, and no files are left behind. The bytes of
// every archive are built here, block by block.

import { mkdirSync, readdirSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fc, test } from '../support/property'
import { afterEach, beforeEach, describe, expect } from 'vitest'
import type { BundleCode, VerifyBundleOptions } from '../../index.js'
import { filesOfRun, sealed, tarHeader, tarOf, zstdOf } from '../support/plain-bundle.mjs'
import type { Files, Manifest, TarEntry } from '../support/plain-bundle.mjs'
import * as bundles from '../support/bundles.js'
import {
  VERSION,
  archiveOf,
  codesIn,
  filesIn,
  freshDirectory,
  importBundle,
  rejection,
  replayRun,
  verifyBundle,
  writeArchive,
  writeFiles,
} from '../support/bundles.js'
import { eachCase } from '../support/each-case.js'
import { completedRun } from '../support/run-directory.js'
import { runs } from '../support/session-arbitraries.js'

const RUN = completedRun()
const GOOD: Files = filesOfRun(RUN, { version: VERSION })
const ENTRIES = Object.entries(GOOD)
const tar = (...more: Parameters<typeof tarOf>[0]): Buffer => tarOf([...ENTRIES, ...more])

let temporary: ReturnType<typeof bundles.ownTemporaryDirectory>
beforeEach(() => {
  temporary = bundles.ownTemporaryDirectory()
})
afterEach(() => temporary.restore())

/** The names of everything below a directory, links included, and the contents of its files. */
function treeOf(directory: string): unknown {
  return [readdirSync(directory, { recursive: true, encoding: 'utf8' }).sort(), filesIn(directory)]
}

/** Expects every function to refuse the bundle with the same codes, and to leave no files. */
async function expectRefused(
  path: string,
  codes: BundleCode | BundleCode[],
  options?: VerifyBundleOptions,
): Promise<void> {
  const expected = [codes].flat().sort()
  expect(await codesIn(path, options)).toEqual(expected)
  const place = freshDirectory()
  mkdirSync(join(place, 'inner'))
  const before = treeOf(place)
  const error = await rejection(importBundle(path, join(place, 'inner', 'imported'), options))
  expect(error).toMatchObject({ name: 'BundleError', code: error.problems![0]!.code })
  expect(bundles.codesOf(error.problems!)).toEqual(expected)
  expect(treeOf(place)).toEqual(before)
  if (options) return
  const replay = await replayRun(path)
  expect(replay).toMatchObject({ ok: false, error: { code: error.code, problems: error.problems }, state: null })
  expect(temporary.entries()).toEqual([])
}

const expectArchiveRefused = (
  bytes: Buffer,
  codes: BundleCode | BundleCode[],
  options?: VerifyBundleOptions,
): Promise<void> => expectRefused(writeArchive(bytes), codes, options)

/** Expects the files to be refused as an archive and as a directory. */
async function expectFilesRefused(
  files: Files,
  codes: BundleCode | BundleCode[],
  options?: VerifyBundleOptions,
): Promise<void> {
  await expectArchiveRefused(archiveOf(files), codes, options)
  await expectRefused(writeFiles(join(freshDirectory(), 'd'), files), codes, options)
}

describe('an entry that leads out of the bundle, or is not a file, is refused', () => {
  test('a path that leads out of the root, or that is not portable', async () => {
    await eachCase(
      [
        ['/etc/passwd', 'AbsolutePath'],
        ['//server/share', 'AbsolutePath'],
        ['../outside', 'ParentPath'],
        ['blobs/../../outside', 'ParentPath'],
        ['..', 'ParentPath'],
        ['./../outside', 'ParentPath'],
        ['a\\..\\..\\outside', 'ParentPath'],
        ['C:outside', 'DriveLetter'],
        ['c:/outside', 'DriveLetter'],
        ['a\\b', 'BackslashInPath'],
        ['\\\\server\\share', 'BackslashInPath'],
        [Buffer.from([0x61, 0xff]), 'NotUtf8Path'],
        ['nul', 'ReservedName'],
        ['a/CON.txt', 'ReservedName'],
        ['a//b', 'InvalidPath'],
        ['a/./b', 'InvalidPath'],
        ['a.', 'InvalidPath'],
        ['file:stream', 'InvalidPath'],
        ['new\nline', 'InvalidPath'],
        ['é', 'InvalidPath'],
        ['', 'InvalidPath'],
      ] as const,
      ([name, code]) => expectArchiveRefused(zstdOf(tar([{ name }, 'hostile'])), code),
    )
  })

  test('a path that leads out of the root by the prefix of its header', async () => {
    await expectArchiveRefused(zstdOf(tar([{ name: 'outside', prefix: '../..' }, 'hostile'])), 'ParentPath')
    await expectArchiveRefused(zstdOf(tar([{ name: 'etc/passwd', prefix: '/' }, 'hostile'])), 'AbsolutePath')
  })

  test('a path with a NUL, which only a manifest can contain', async () => {
    const change = (manifest: Manifest): Manifest => ({
      ...manifest,
      files: { ...manifest.files, 'a\0b': { sha256: '0'.repeat(64), size: 0 } },
    })
    await expectFilesRefused(sealed(GOOD, { change }), ['NulInPath', 'FileMissing'])
  })

  test('hard and symbolic links, devices and pipes', async () => {
    await eachCase(['1', '2'] as const, (type) =>
      expectArchiveRefused(zstdOf(tar([{ name: 'link', type, link: '/etc/passwd' }])), 'Link'),
    )
    await eachCase(['3', '4', '6'] as const, (type) =>
      expectArchiveRefused(zstdOf(tar([{ name: 'device', type }])), 'Device'),
    )
  })

  test('a link to a directory, through which the next entry would be written', async () => {
    const place = freshDirectory()
    const archive = zstdOf(tar([{ name: 'snapshots/x', type: '2', link: place }], ['snapshots/x/outside', 'hostile']))
    await expectArchiveRefused(archive, ['Link', 'NotInManifest'])
    expect(readdirSync(place)).toEqual([])
  })

  test('entries that change the meaning of others', async () => {
    await eachCase(['x', 'g', 'L', 'K', 'S', 'V', 'M', 'D', 'A', 'X'] as const, (type) =>
      expectArchiveRefused(zstdOf(tar([{ name: 'entry', type }, '27 path=../../outside\n'])), 'UnsupportedEntry'),
    )
  })

  test('two entries with the same name, or with names that are the same on some systems', async () => {
    await eachCase(
      [
        ['metadata.json', 'DuplicatePath'],
        ['./metadata.json', 'DuplicatePath'],
        ['metadata.json/x', 'DuplicatePath'],
        ['blobs', 'DuplicatePath'],
        ['Metadata.json', 'CaseCollision'],
        ['BLOBS/x', 'CaseCollision'],
      ] as const,
      ([name, code]) => expectArchiveRefused(zstdOf(tar([name, 'again'])), code),
    )
  })

  test('a directory that leads out or has content, while other directories are ignored', async () => {
    const directory = (name: string, size = 0): [TarEntry, string] => [{ name, type: '5' }, 'x'.repeat(size)]
    expect(await codesIn(writeArchive(zstdOf(tar(directory('./'), directory('blobs/'), directory('empty')))))).toEqual(
      [],
    )
    await expectArchiveRefused(zstdOf(tar(directory('../outside/'))), 'ParentPath')
    await expectArchiveRefused(zstdOf(tar(directory('full', 3))), 'ArchiveCorrupt')
  })
})

describe.skipIf(process.platform === 'win32')('a directory', () => {
  const good = (): string => writeFiles(join(freshDirectory(), 'd'), GOOD)

  test('that contains a link, even in place of a listed file, is refused', async () => {
    const [added, replaced] = [good(), good()]
    symlinkSync('/etc/passwd', join(added, 'link'))
    await expectRefused(added, 'Link')
    unlinkSync(join(replaced, 'dag.json'))
    const target = join(freshDirectory(), 'dag.json')
    writeFileSync(target, GOOD['dag.json']!)
    symlinkSync(target, join(replaced, 'dag.json'))
    await expectRefused(replaced, ['Link', 'FileMissing'])
  })

  test('that contains a pipe is refused, without waiting for a writer', async () => {
    const directory = good()
    expect(spawnSync('mkfifo', [join(directory, 'pipe')]).status).toBe(0)
    await expectRefused(directory, 'Device')
  })
})

describe('a file that is not an archive, or a damaged one, is refused', () => {
  const archive = zstdOf(tar())

  test('another file format', async () => {
    await eachCase(
      ['', 'x', 'not a bundle', '\x50\x2a\x4d\x18\x04\0\0\0abcd', 'PK\x03\x04', '\x1f\x8b\x08'] as const,
      (text) => expectArchiveRefused(Buffer.from(text, 'latin1'), 'NotABundle'),
    )
    await expectArchiveRefused(
      Buffer.concat([Buffer.from('\x50\x2a\x4d\x18\0\0\0\0', 'latin1'), archive]),
      'NotABundle',
    )
  })

  test('a frame that needs a dictionary, or has reserved bits set', async () => {
    const withDescriptor = (byte: number): Buffer =>
      Buffer.concat([archive.subarray(0, 4), Buffer.from([byte]), archive.subarray(5)])
    await eachCase([1, 2, 3, 8, 16] as const, (byte) => expectArchiveRefused(withDescriptor(byte), 'ArchiveCorrupt'))
  })

  test('a frame with a window above the limit', async () => {
    await expectArchiveRefused(zstdOf(tar(), { windowLog: 24 }), 'WindowTooLarge')
    await expectArchiveRefused(zstdOf(tar(), { windowLog: 41 }), 'WindowTooLarge')
    expect(await codesIn(writeArchive(zstdOf(tar(), { windowLog: 23 })))).toEqual([])
  })

  test('headers with a wrong checksum or an invalid size', async () => {
    const spoiled: ((block: Buffer) => void)[] = [
      (block) => block.write('0000000\0', 148, 'latin1'),
      (block) => block.write('99999999', 148, 'latin1'),
      (block) => block.write('xxxxxxxxxxx\0', 124, 'latin1'),
      (block) => block.write('-0000000001\0', 124, 'latin1'),
    ]
    await eachCase(spoiled, (change) => expectArchiveRefused(zstdOf(tar([{ name: 'x', change }])), 'ArchiveCorrupt'))
  })

  test('padding that is not zero', async () => {
    const bytes = tar()
    const at = ENTRIES.reduce((sum, [, data], index) => (index === 0 ? 512 + data.length : sum), 0)
    expect(bytes[at]).toBe(0)
    bytes[at] = 1
    await expectArchiveRefused(zstdOf(bytes), 'ArchiveCorrupt')
  })

  test('bytes after the end', async () => {
    await eachCase(['\0', 'x', archive] as const, (more) =>
      expectArchiveRefused(Buffer.concat([archive, Buffer.from(more)]), 'TrailingBytes'),
    )
    const zeros = Buffer.alloc(1024)
    await expectArchiveRefused(
      zstdOf(Buffer.concat([tarOf(ENTRIES, { end: zeros }), Buffer.from('x')])),
      'TrailingBytes',
    )
    await expectArchiveRefused(
      zstdOf(Buffer.concat([tarOf(ENTRIES, { end: zeros }), Buffer.alloc(32 << 10)])),
      'TrailingBytes',
    )
    await expectArchiveRefused(zstdOf(tarOf([...ENTRIES, zeros, ['hidden', 'x']])), 'TrailingBytes')
  })

  test('a tar that ends too early', async () => {
    await eachCase(
      [0, 512, 1023].map((bytes) => bytes),
      (bytes) => expectArchiveRefused(zstdOf(tarOf(ENTRIES, { end: Buffer.alloc(bytes) })), 'Truncated'),
    )
    await expectArchiveRefused(zstdOf(tarOf([...ENTRIES, tarHeader({ name: 'x', size: 1e6 })])), 'Truncated')
  })

  test.prop([fc.nat({ max: archive.length - 1 })], runs(25))('an archive cut off anywhere', async (bytes) => {
    const codes = await codesIn(writeArchive(archive.subarray(0, bytes)))
    expect(codes).toContain(bytes < 4 ? 'NotABundle' : 'Truncated')
  })

  test.prop([fc.nat({ max: archive.length * 8 - 1 })], runs(60))(
    'an archive with any bit flipped, unless the bit is not part of the bundle',
    async (bit) => {
      const damaged = Buffer.from(archive)
      damaged[bit >> 3]! ^= 1 << (bit & 7)
      const path = writeArchive(damaged)
      const { ok } = await verifyBundle(path)
      const directory = join(freshDirectory(), 'imported')
      if (ok) {
        // The bit is in a header field that is ignored, such as the time or the owner.
        await importBundle(path, directory)
        expect(filesIn(directory)).toEqual(GOOD)
      } else {
        await rejection(importBundle(path, directory))
        expect(bundles.exists(directory)).toBe(false)
      }
    },
  )
})

describe('limits', () => {
  test('refuse too long lines, too large blobs and files, too many files and too many bytes', async () => {
    await expectFilesRefused(GOOD, 'LineTooLong', { limits: { lineBytes: 300 } })
    await expectFilesRefused(GOOD, 'BlobTooLarge', { limits: { blobBytes: 9 } })
    await expectFilesRefused(GOOD, 'TooManyFiles', { limits: { files: 3 } })
    await expectFilesRefused(sealed({ ...GOOD, 'metadata.json': ' '.repeat((1 << 20) + 1) }), 'FileTooLarge')
    const directory = writeFiles(join(freshDirectory(), 'd'), GOOD)
    await expectRefused(directory, 'TotalTooLarge', { limits: { totalBytes: 5000 } })
    const large = sealed({ ...GOOD, 'workflow.json': Buffer.alloc(100_000, ' ') })
    await expectArchiveRefused(archiveOf(large), 'TotalTooLarge', { limits: { totalBytes: 1, files: 20 } })
  })

  test('accept a bundle that reaches but does not exceed them', async () => {
    const line = Math.max(...RUN.lines.map((one) => Buffer.byteLength(one)))
    const blob = Math.max(...[...RUN.blobs.values()].map((one) => one.length))
    const limits = { lineBytes: line, blobBytes: Math.max(blob, 0), files: ENTRIES.length }
    const path = writeArchive(archiveOf(GOOD))
    expect(await codesIn(path, { limits })).toEqual([])
    expect(await codesIn(path, { limits: { ...limits, lineBytes: line - 1 } })).toEqual(['LineTooLong'])
    expect(await codesIn(path, { limits: { ...limits, blobBytes: blob - 1 } })).toEqual(['BlobTooLarge'])
    expect(await codesIn(path, { limits: { ...limits, files: ENTRIES.length - 1 } })).toEqual(['TooManyFiles'])
    expect(
      await codesIn(path, {
        limits: {
          lineBytes: Infinity,
          blobBytes: Infinity,
          files: Infinity,
          expansion: Infinity,
          totalBytes: Infinity,
        },
      }),
    ).toEqual([])
  })

  /** Some kilobytes that expand to gigabytes: a blob of zeros. */
  function bomb(gigabytes: number): Buffer {
    const size = gigabytes * 2 ** 30
    const name = `blobs/00/${'0'.repeat(64)}`
    const before = tar(tarHeader({ name, size })).subarray(0, -1024)
    return zstdOf(Buffer.concat([before, Buffer.alloc(1024)]), { zeros: size / (128 << 10), at: before.length })
  }

  test('refuse a decompression bomb before it fills the disk', async () => {
    const bytes = bomb(4)
    expect(bytes.length).toBeLessThan(200_000)
    await expectArchiveRefused(bytes, ['BlobTooLarge', 'ExpansionTooLarge', 'NotInManifest'])
    await expectArchiveRefused(bytes, 'ExpansionTooLarge', { limits: { blobBytes: Infinity } })
    await expectArchiveRefused(bytes, 'TotalTooLarge', {
      limits: { blobBytes: Infinity, expansion: Infinity, totalBytes: 1 << 20, files: 100 },
    })
  })

  test('include the expansion, which the caller can set', async () => {
    const size = 24 * (128 << 10)
    const files = sealed({ ...GOOD, 'zeros.bin': Buffer.alloc(size) })
    const { 'zeros.bin': _, ...rest } = files
    const before = tarOf([...Object.entries(rest), tarHeader({ name: 'zeros.bin', size })]).subarray(0, -1024)
    const path = writeArchive(zstdOf(Buffer.concat([before, Buffer.alloc(1024)]), { zeros: 24, at: before.length }))
    expect(await codesIn(path)).toEqual([])
    expect(await codesIn(path, { limits: { expansion: 1000 } })).toEqual([])
    await expectRefused(path, 'ExpansionTooLarge', { limits: { expansion: 2 } })
  })

  test('apply to the number of empty entries too', async () => {
    const directories = Array.from({ length: 60 }, (_, n) => tarHeader({ name: `d${n}`, type: '5' }))
    await expectArchiveRefused(zstdOf(tarOf([...ENTRIES, ...directories])), 'TooManyFiles', { limits: { files: 15 } })
    const empty = Array.from({ length: 60 }, (_, n) => tarHeader({ name: `f${n}` }))
    await expectArchiveRefused(zstdOf(tarOf([...ENTRIES, ...empty])), ['NotInManifest', 'TooManyFiles'], {
      limits: { files: 15 },
    })
  })

  test('apply to the number of problems, of which a thousand are listed', async () => {
    const links = Array.from({ length: 1200 }, (_, n) => tarHeader({ name: `link-${n}`, type: '2', link: 'x' }))
    const { problems } = await verifyBundle(writeArchive(zstdOf(tarOf([...ENTRIES, ...links]))))
    expect(problems).toHaveLength(1001)
    expect(problems.at(-1)).toMatchObject({ code: 'TooManyProblems' })
  })
})

describe('a bundle whose files do not match its manifest is refused', () => {
  const without = (path: string): Files => Object.fromEntries(ENTRIES.filter(([name]) => name !== path))
  const changed = (path: string, change: (data: Buffer) => Buffer): Files => ({
    ...GOOD,
    [path]: change(Buffer.from(GOOD[path]!)),
  })
  const flipped = (path: string): Files => changed(path, (data) => ((data[data.length >> 1]! ^= 1), data))
  const longer = (path: string): Files => changed(path, (data) => Buffer.concat([data, Buffer.from(' ')]))
  const manifestWith = (change: (manifest: Manifest) => void): Files =>
    sealed(GOOD, { change: (manifest) => (change(manifest), manifest) })
  const log = (text: string): Files => sealed({ ...GOOD, 'events.cath-log': text })
  const blob = Object.keys(GOOD).find((path) => path.startsWith('blobs/'))!

  test('a missing manifest, or one that is not in canonical form', async () => {
    await expectArchiveRefused(archiveOf(without('manifest.json')), 'ManifestMissing')
    await expectRefused(writeFiles(join(freshDirectory(), 'b.tar.zst'), without('manifest.json')), 'ManifestMissing')
    const text = GOOD['manifest.json']!.toString()
    await eachCase(
      [
        '',
        '{',
        'null',
        '{}',
        `${text}\n`,
        ` ${text}`,
        text.replace(':', ': '),
        text.replace('"v":1', '"v":1.0'),
        text.replace('"v":1', '"v":1,"w":1'),
        text.replace('"kind":"run"', '"kind":"walk"'),
        text.replace(/"size":\d+/, '"size":-1'),
        '['.repeat(100_000),
      ],
      (document) =>
        expectArchiveRefused(archiveOf({ ...GOOD, 'manifest.json': Buffer.from(document) }), 'ManifestInvalid'),
    )
  })

  test('a future version', async () => {
    await expectFilesRefused(
      manifestWith((manifest) => (manifest.v = 2)),
      'UnsupportedVersion',
    )
    await expectFilesRefused(
      sealed({ ...GOOD, 'metadata.json': GOOD['metadata.json']!.toString().replace('"v":1,', '"v":2,') }),
      'UnsupportedVersion',
    )
  })

  test('a manifest with another id, or one that lists its own signature', async () => {
    const document = GOOD['manifest.json']!.toString().replace(
      /"bundleId":"./,
      (text) => text.slice(0, -1) + (text.endsWith('0') ? '1' : '0'),
    )
    await expectFilesRefused({ ...GOOD, 'manifest.json': Buffer.from(document) }, [
      'BundleIdMismatch',
      'ChecksumsMismatch',
    ])
    await expectFilesRefused(
      manifestWith(({ files }) => (files['manifest.sig'] = { sha256: '0'.repeat(64), size: 0 })),
      ['FileMissing', 'ManifestInvalid'],
    )
  })

  test('a file that is not listed, or is listed but missing', async () => {
    await expectFilesRefused({ ...GOOD, 'notes.txt': Buffer.from('x') }, 'NotInManifest')
    await expectFilesRefused(without('workflow.json'), 'FileMissing')
    await expectFilesRefused(without('events.cath-log'), 'FileMissing')
    await expectFilesRefused(sealed(without('metadata.json')), 'FileMissing')
    await expectFilesRefused(sealed(without('events.cath-log')), ['FileMissing', 'MetadataInvalid'])
  })

  test('a file with another size or hash', async () => {
    await expectFilesRefused(longer('workflow.json'), 'WrongSize')
    await expectFilesRefused(flipped('workflow.json'), 'WrongHash')
    await expectFilesRefused(flipped(blob), ['BlobNameMismatch', 'WrongHash'])
    await expectFilesRefused(flipped('manifest.sha256'), 'ChecksumsMismatch')
  })

  test('a blob that is not stored under its hash', async () => {
    const { [blob]: data, ...rest } = GOOD
    await expectFilesRefused(sealed({ ...rest, [blob]: 'something else' }), 'BlobNameMismatch')
    await expectFilesRefused(sealed({ ...GOOD, [`blobs/ff/${blob.slice(9)}`]: data! }), 'BlobNameMismatch')
    await expectFilesRefused(sealed({ ...GOOD, 'blobs/readme': 'x' }), 'BlobNameMismatch')
  })

  test('a missing blob that the log names', async () => {
    const { rawHash } = JSON.parse(RUN.events.find(({ kind }) => kind === 'ToolCompleted')!.payload)
    await expectFilesRefused(sealed(without(`blobs/${rawHash.slice(0, 2)}/${rawHash}`)), 'BlobMissing')
  })

  test('a damaged log', async () => {
    const lines = RUN.lines.map((line) => `${line}\n`)
    await eachCase(
      [
        RUN.log.replace('"runId":"run-7"', '"runId":"run-8"'),
        lines.map((line, at) => (at === 3 ? line.replace(':', ': ') : line)).join(''),
        [...lines.slice(0, 2), lines[3], lines[2], ...lines.slice(4)].join(''),
        [...lines.slice(0, 3), lines[2], ...lines.slice(4)].join(''),
      ],
      (text) => expectFilesRefused(log(text), 'LogInvalid'),
    )
    // With fewer or more lines than the metadata says.
    const codes: BundleCode[] = ['LogInvalid', 'MetadataInvalid']
    await expectFilesRefused(log(lines.slice(0, -1).join('') + lines.at(-1)!.slice(0, -1)), codes)
    await eachCase([lines.slice(1), [...lines.slice(0, 3), ...lines.slice(4)], [...lines, '{}\n'], []], (rest) =>
      expectFilesRefused(log(rest.join('')), codes),
    )
  })

  test('a log that does not end where the manifest says', async () => {
    await expectFilesRefused(
      manifestWith(({ log: extent }) => (extent.count += 1)),
      ['MetadataInvalid', 'WrongCount'],
    )
    await expectFilesRefused(
      manifestWith(({ log: extent }) => (extent.head = '0'.repeat(64))),
      'WrongHead',
    )
    await expectFilesRefused(
      manifestWith(({ log: extent }) => (extent.lastTime! += 1)),
      'WrongHead',
    )
    await expectFilesRefused(
      manifestWith(({ log: extent }) => (extent.firstTime = null)),
      'WrongHead',
    )
  })

  test('an event without a salt, or a list of redactions that does not match', async () => {
    const line = RUN.lines.at(-1)!.replace(/"salt":"\w+",/, '')
    const unsalted = [...RUN.lines.slice(0, -1), line].map((one) => `${one}\n`).join('')
    await expectFilesRefused(log(unsalted), 'RedactionMismatch')
    const list = (events: unknown[]): string => JSON.stringify({ blobs: [], events, files: [], lines: [], v: 1 })
    const entry = (time: number) => ({ payloadHash: '0'.repeat(64), rules: ['r'], time })
    await expectFilesRefused(sealed({ ...GOOD, 'redactions.json': list([entry(3)]) }), 'RedactionMismatch')
    await expectFilesRefused(
      sealed({ ...GOOD, 'events.cath-log': unsalted, 'redactions.json': list([entry(3), entry(RUN.time - 1)]) }),
      'RedactionMismatch',
    )
    await eachCase(
      ['{}', '[]', `${list([])} `, list([entry(4), entry(3)]), list([{ ...entry(3), payloadHash: 'x' }])],
      (document) =>
        expectArchiveRefused(archiveOf(sealed({ ...GOOD, 'redactions.json': document })), 'RedactionsInvalid'),
    )
  })

  test('metadata that does not match', async () => {
    const text = GOOD['metadata.json']!.toString()
    await eachCase(
      ['', '{}', text.replace('"kind":"run"', '"kind":"session"'), text.replace(/"events":\d+/, '"events":1')],
      (document) => expectFilesRefused(sealed({ ...GOOD, 'metadata.json': document }), 'MetadataInvalid'),
    )
  })

  test('an initial snapshot that is missing, invalid, or not named in the manifest', async () => {
    const after = JSON.parse([...RUN.snapshots.values()][0]!).logicalTime as number
    const files = filesOfRun(RUN, { version: VERSION, after })
    const partial = { logicalTime: after, snapshot: `snap_${after}` }
    const before = RUN.hashes[after]!
    expect(await codesIn(writeArchive(archiveOf(files)))).toEqual([])
    const { 'snapshot.cath-snap': snapshot, ...rest } = files
    await expectFilesRefused(sealed(rest, { partial, before }), 'SnapshotInvalid')
    await expectFilesRefused(sealed({ ...rest, 'snapshot.cath-snap': '{}' }, { partial, before }), 'SnapshotInvalid')
    const damaged = snapshot!.toString().replace('"run-7"', '"run-8"')
    await expectFilesRefused(sealed({ ...rest, 'snapshot.cath-snap': damaged }, { partial, before }), 'SnapshotInvalid')
    await expectFilesRefused(sealed(files, { partial: { ...partial, snapshot: 'snap_1' }, before }), 'SnapshotInvalid')
    await expectFilesRefused(sealed({ ...GOOD, 'snapshot.cath-snap': snapshot! }), 'SnapshotInvalid')
  })

  test('with every problem reported, not only the first, each with its file', async () => {
    const files: Files = { ...flipped('workflow.json'), 'notes.txt': Buffer.from('x') }
    delete files['dag.json']
    const { problems } = await verifyBundle(writeArchive(archiveOf(files)))
    expect(problems).toEqual([
      { code: 'FileMissing', path: 'dag.json', message: expect.stringContaining('dag.json') },
      { code: 'WrongHash', path: 'workflow.json', message: expect.stringContaining('workflow.json') },
      { code: 'NotInManifest', path: 'notes.txt', message: expect.stringContaining('notes.txt') },
    ])
  })

  test('with names from the archive shown without control characters', async () => {
    const { problems } = await verifyBundle(writeArchive(zstdOf(tar([{ name: '/\u001b[31m\r\n' }, 'x']))))
    expect(problems).toMatchObject([{ code: 'AbsolutePath' }])
    expect([problems[0]!.path, problems[0]!.message].join('')).not.toMatch(/[\x00-\x1f]/)
  })
})
