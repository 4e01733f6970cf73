/** Bundles hold the images that their session refers to: objects of the store beside the sessions (bundle-format.md sections 1, 9 and 10). */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect } from 'vitest'
import { archiveSession, verifySessionMedia } from '../../index.js'
import { sealed } from '../support/plain-bundle.mjs'
import type { Files } from '../support/plain-bundle.mjs'
import {
  FORMS,
  codesIn,
  exportBundle,
  filesIn,
  filesOfBundle,
  freshDirectory,
  hasTool,
  importBundle,
  rejection,
  replaySession,
  verifyBundle,
  writeFiles,
} from '../support/bundles.js'
import {
  digitsOf,
  objectIn,
  objectsOf,
  pathInBundle,
  projectWith,
  shown,
  storedIn,
  storeOf,
} from '../support/media-store'
import { contentIdOf, reference } from '../support/plain-media'
import { fc, test } from '../support/property'
import { content, envelope, rewind, session } from '../support/session-file.js'

const EVENTS = [
  content('look'),
  shown(reference('one', 'two')),
  shown(reference('one'), { type: 'text', text: 'again' }),
  content('nice', 'ai'),
]
const IMAGES = ['one', 'two']
const BYTES = 6
const project = () => projectWith(EVENTS, IMAGES)
const destination = (form: string = FORMS[0]) => join(freshDirectory(), form)
const metadataOf = (files: Files) => JSON.parse(files['metadata.json']!.toString())

/** A bundle of `project()`, as files. */
async function files(options = {}): Promise<Files> {
  const bundle = destination()
  await exportBundle(project().file, bundle, options)
  return filesIn(bundle)
}

/** The codes of the problems of these files, as a directory. */
const problemsIn = (changed: Files) => codesIn(writeFiles(destination(), changed))
const without = (all: Files, path: string): Files =>
  Object.fromEntries(Object.entries(all).filter(([name]) => name !== path))
/** With other counts of media; `undefined` has none. Only this member changes, so that the keys stay in order. */
const withMedia = (all: Files, media: unknown): Files => ({
  ...all,
  'metadata.json': Buffer.from(JSON.stringify({ ...metadataOf(all), media })),
})

describe('an export', () => {
  test.each(FORMS)('seals each object of each reference once, in the manifest: %s', async (form) => {
    const { file } = project()
    const bundle = destination(form)
    const info = await exportBundle(file, bundle)
    expect(info.media).toEqual({ sealed: 2, missing: 0, bytes: BYTES })
    expect(await verifyBundle(bundle)).toEqual({ ok: true, problems: [], info })
    if (form === FORMS[1] && !hasTool('zstd')) return
    const found = filesOfBundle(bundle)
    const media = Object.keys(found).filter((path) => path.startsWith('media/'))
    expect(media).toEqual(IMAGES.map(pathInBundle).sort())
    for (const image of IMAGES) expect(found[pathInBundle(image)]!.toString()).toBe(image)
    expect(JSON.parse(found['manifest.json']!.toString()).files[pathInBundle('one')]).toEqual({
      sha256: digitsOf(contentIdOf('one')),
      size: 3,
    })
    expect(metadataOf(found).media).toEqual({ sealed: 2, missing: 0, bytes: BYTES })
    expect(found['session.jsonl']!.equals(readFileSync(file))).toBe(true)
  })

  test('has nothing of media for a session without references, nor for a block that breaks a rule', async () => {
    const malformed = reference('one', 'two', { byteLength: 7 })
    const { file } = projectWith([content('no image'), shown(malformed)], IMAGES)
    const bundle = destination()
    expect((await exportBundle(file, bundle)).media).toBeUndefined()
    expect(Object.keys(filesIn(bundle))).toEqual(['manifest.json', 'manifest.sha256', 'metadata.json', 'session.jsonl'])
    expect(metadataOf(filesIn(bundle)).media).toBeUndefined()
  })

  test('takes the lines that a rewind has taken back too, at any depth of a payload, and long ones', async () => {
    const long = [
      'note',
      { text: 'x'.repeat(2 << 20), deep: [[{ a: [reference('deep')] }]], more: 'y"\\\n'.repeat(1 << 18) },
    ] as const
    const { file } = projectWith([content('look'), shown(reference('back')), rewind(1), long], ['back', 'deep'])
    expect((await exportBundle(file, destination())).media).toEqual({ sealed: 2, missing: 0, bytes: 8 })
  })

  test('has the same bytes and id wherever the store is, and from an archive', async () => {
    const { file, root, mediaDir } = project()
    const [here, elsewhere, archived] = [destination(), destination(), destination()]
    const first = await exportBundle(file, here)
    const moved = join(root, 'moved')
    renameSync(mediaDir, moved)
    const second = await exportBundle(file, elsewhere, { mediaDir: moved })
    await archiveSession(file)
    const third = await exportBundle(`${file}.zst`, archived, { mediaDir: moved })
    expect([second.bundleId, third.bundleId]).toEqual([first.bundleId, first.bundleId])
    expect(filesIn(elsewhere)).toEqual(filesIn(here))
    expect(filesIn(archived)).toEqual(filesIn(here))
  })

  test('finds the store beside the directory of the session, as it is written or as it is', async () => {
    const { file, root, chatsDir } = project()
    const before = process.cwd()
    process.chdir(chatsDir)
    try {
      for (const path of ['session-1.jsonl', relative(chatsDir, file)])
        expect((await exportBundle(path, destination())).media!.sealed).toBe(2)
    } finally {
      process.chdir(before)
    }
    const linked = join(freshDirectory(), 'chats')
    symlinkSync(chatsDir, linked)
    expect((await exportBundle(join(linked, 'session-1.jsonl'), destination())).media!.sealed).toBe(2)
    expect(readdirSync(root).sort()).toEqual(['chats', 'media'])
  })

  describe('of which an object is', () => {
    const faults: [string, string, (mediaDir: string) => void][] = [
      ['missing', 'MediaMissing', (mediaDir) => rmSync(objectIn(mediaDir, 'two'))],
      ['altered', 'MediaCorrupt', (mediaDir) => writeFileSync(objectIn(mediaDir, 'two'), 'twO')],
      ['of another size', 'MediaCorrupt', (mediaDir) => writeFileSync(objectIn(mediaDir, 'two'), 'twoo')],
      ['empty', 'MediaCorrupt', (mediaDir) => writeFileSync(objectIn(mediaDir, 'two'), '')],
      [
        'a directory',
        'MediaCorrupt',
        (mediaDir) => (rmSync(objectIn(mediaDir, 'two')), mkdirSync(objectIn(mediaDir, 'two'))),
      ],
      [
        'a link',
        'MediaCorrupt',
        (mediaDir) => (
          renameSync(objectIn(mediaDir, 'two'), `${mediaDir}/two`),
          symlinkSync(`${mediaDir}/two`, objectIn(mediaDir, 'two'))
        ),
      ],
    ]
    test.each(faults)(
      '%s fails with %s, which names the id and the line, or is skipped and counted if that is asked for',
      async (_, code, damage) => {
        const { file, mediaDir } = project()
        damage(mediaDir)
        const bundle = destination()
        const error = await rejection(exportBundle(file, bundle))
        expect(error).toMatchObject({ name: 'BundleError', code })
        expect(error.message).toContain(contentIdOf('two'))
        expect(error.message).toContain('line 3')
        expect(existsSync(bundle)).toBe(false)
        const info = await exportBundle(file, bundle, { media: 'skip' })
        expect(info.media).toEqual({ sealed: 1, missing: 1, bytes: 3 })
        expect(metadataOf(filesIn(bundle)).media).toEqual(info.media)
        expect(await verifyBundle(bundle)).toEqual({ ok: true, problems: [], info })
      },
    )
  })

  test('without a store has none: it fails, and with skip counts all', async () => {
    const { file, mediaDir } = project()
    rmSync(mediaDir, { recursive: true })
    expect((await rejection(exportBundle(file, destination()))).code).toBe('MediaMissing')
    expect((await rejection(exportBundle(file, destination(), { mediaDir }))).code).toBe('MediaMissing')
    expect((await exportBundle(file, destination(), { media: 'skip' })).media).toEqual({
      sealed: 0,
      missing: 2,
      bytes: 0,
    })
  })

  test('of references that say different sizes of one object fails, and names both lines', async () => {
    const other = { byteLength: 9, normalizedBase64Length: 12 }
    const object = { ...(reference('one').originalObject as object), ...other }
    const { file } = projectWith(
      [
        shown(reference('one')),
        shown(reference('one', 'one', { ...other, originalObject: object, selectedObject: object })),
      ],
      ['one'],
    )
    const error = await rejection(exportBundle(file, destination()))
    expect([error.code, error.message.includes('lines 2 and 3')]).toEqual(['MediaCorrupt', true])
  })

  test('with drop seals none, needs no store, and says how many', async () => {
    const { file, mediaDir } = project()
    rmSync(mediaDir, { recursive: true })
    const bundle = destination()
    const info = await exportBundle(file, bundle, { media: 'drop' })
    expect(info.media).toMatchObject({ dropped: 2, sealed: 0 })
    expect(metadataOf(filesIn(bundle)).media.dropped).toBe(2)
    expect(Object.keys(filesIn(bundle)).filter((path) => path.startsWith('media/'))).toEqual([])
    expect(await verifyBundle(bundle)).toEqual({ ok: true, problems: [], info })
  })

  test.each(FORMS)('of a bundle keeps its objects, without a store: %s', async (form) => {
    const { file } = project()
    const [first, second] = [destination(form), destination()]
    const { bundleId } = await exportBundle(file, first)
    expect((await exportBundle(first, second)).bundleId).toBe(bundleId)
  })

  test('neither redacts images nor searches them', async () => {
    const token = `ghp_${'a1B2'.repeat(9)}`
    const image = `an image with ${token} in it`
    const { file } = projectWith([content(`use ${token}`), shown(reference(image))], [image])
    const bundle = destination()
    const info = await exportBundle(file, bundle)
    expect([info.media!.sealed, info.redactions]).toEqual([1, 1])
    expect(filesIn(bundle)['session.jsonl']!.includes(token)).toBe(false)
    expect(filesIn(bundle)[pathInBundle(image)]!.toString()).toBe(image)
  })
})

describe('an import', () => {
  test.each(FORMS)('into an empty project elsewhere has the same objects and history: %s', async (form) => {
    const { file, mediaDir } = project()
    const bundle = destination(form)
    await exportBundle(file, bundle)
    const root = freshDirectory()
    storeOf(join(root, 'media'), [])
    const info = await importBundle(bundle, join(root, 'chats'))
    expect(info.media).toEqual({ sealed: 2, missing: 0, bytes: BYTES })
    expect(storedIn(join(root, 'media'))).toEqual(storedIn(mediaDir))
    const log = join(root, 'chats', 'session.jsonl')
    expect(await replaySession(log)).toEqual(await replaySession(file))
    expect(await verifySessionMedia(log)).toEqual({ present: 2, missing: [], corrupt: [] })
    expect(await codesIn(join(root, 'chats'))).toEqual([])
  })

  test('makes the store that it is given, only for its user', async () => {
    const bundle = destination()
    await exportBundle(project().file, bundle)
    const mediaDir = join(freshDirectory(), 'new', 'media')
    await importBundle(bundle, destination(), { mediaDir })
    expect(storedIn(mediaDir)).toEqual(
      Object.fromEntries(IMAGES.map((image) => [digitsOf(contentIdOf(image)), true]).sort()),
    )
    if (process.platform === 'win32') return
    const modes = [mediaDir, join(mediaDir, 'objects'), objectsOf(mediaDir)].map((path) => statSync(path).mode & 0o777)
    expect(modes).toEqual([0o700, 0o700, 0o700])
    for (const image of IMAGES) expect(statSync(objectIn(mediaDir, image)).mode & 0o777).toBe(0o600)
  })

  test('leaves an object that is there with the right bytes as it is', async () => {
    const bundle = destination()
    await exportBundle(project().file, bundle)
    const mediaDir = storeOf(join(freshDirectory(), 'media'), ['one'])
    const before = statSync(objectIn(mediaDir, 'one'), { bigint: true })
    await importBundle(bundle, destination(), { mediaDir })
    const after = statSync(objectIn(mediaDir, 'one'), { bigint: true })
    expect([after.ino, after.mtimeNs]).toEqual([before.ino, before.mtimeNs])
    expect(Object.values(storedIn(mediaDir))).toEqual([true, true])
  })

  test.each(['file', 'directory', 'link'])(
    'fails if another %s has the name of an object, and replaces nothing',
    async (kind) => {
      const bundle = destination()
      await exportBundle(project().file, bundle)
      const mediaDir = storeOf(join(freshDirectory(), 'media'), [])
      const there = objectIn(mediaDir, 'two')
      if (kind === 'file') writeFileSync(there, 'twO')
      if (kind === 'directory') mkdirSync(there)
      if (kind === 'link') symlinkSync('/etc/hostname', there)
      const directory = destination()
      const error = await rejection(importBundle(bundle, directory, { mediaDir }))
      expect(error).toMatchObject({ name: 'BundleError', code: 'MediaCorrupt' })
      expect(error.message).toContain(contentIdOf('two'))
      expect(existsSync(directory)).toBe(false)
      if (kind === 'file') expect(readFileSync(there, 'utf8')).toBe('twO')
      expect(readdirSync(objectsOf(mediaDir)).filter((name) => name.startsWith('.'))).toEqual([])
    },
  )

  test('of a bundle that does not verify puts nothing into the store', async () => {
    const all = await files()
    const mediaDir = storeOf(join(freshDirectory(), 'media'), [])
    const bundle = writeFiles(destination(), { ...all, [pathInBundle('two')]: Buffer.from('twO') })
    expect((await rejection(importBundle(bundle, destination(), { mediaDir }))).problems!.length).toBeGreaterThan(0)
    expect(readdirSync(objectsOf(mediaDir))).toEqual([])
  })
})

describe('verifyBundle', () => {
  test('names it also if the manifest was made anew', async () => {
    const all = await files()
    const two = pathInBundle('two')
    expect(await problemsIn(sealed(all))).toEqual([])
    expect(await problemsIn(sealed({ ...all, [two]: Buffer.from('twO') }))).toEqual(['MediaCorrupt'])
    expect(await problemsIn(sealed(without(all, two)))).toEqual(['MediaMissing', 'MetadataInvalid'])
    expect(await problemsIn(sealed({ ...all, [pathInBundle('six')]: Buffer.from('six') }))).toEqual(['MediaCorrupt'])
    expect(await problemsIn(sealed({ ...all, 'media/six': Buffer.from('six') }))).toEqual(['MediaCorrupt'])
    const { problems } = await verifyBundle(writeFiles(destination(), sealed(without(all, two))))
    const missing = problems.find(({ code }) => code === 'MediaMissing')!
    expect([missing.message.includes(contentIdOf('two')), missing.message.includes('line 3')]).toEqual([true, true])
  })

  test('names counts that are not those of the bundle', async () => {
    const all = await files()
    const right = { sealed: 2, missing: 0, bytes: BYTES }
    expect(await problemsIn(sealed(withMedia(all, right)))).toEqual([])
    for (const wrong of [
      undefined,
      { ...right, sealed: 1 },
      { ...right, missing: 1 },
      { ...right, bytes: 7 },
      { ...right, dropped: 0 },
      { ...right, dropped: 2 },
      {},
      [],
      { ...right, sealed: -1 },
    ]) {
      expect(await problemsIn(sealed(withMedia(all, wrong))), JSON.stringify(wrong)).toEqual(['MetadataInvalid'])
    }
    const unsealed = without(without(all, pathInBundle('one')), pathInBundle('two'))
    expect(await problemsIn(sealed(withMedia(unsealed, { sealed: 0, missing: 2, bytes: 0 })))).toEqual([])
    expect(await problemsIn(sealed(withMedia(unsealed, { sealed: 0, missing: 1, bytes: 0 })))).toEqual([
      'MediaMissing',
      'MetadataInvalid',
    ])
    expect(await problemsIn(sealed(withMedia(unsealed, undefined)))).toEqual(['MediaMissing', 'MetadataInvalid'])
  })

  test('names a reference that says another size, or that is none any more', async () => {
    const all = await files()
    const text = all['session.jsonl']!.toString()
    const changed = (line: number, block: unknown) => {
      const lines = text.split('\n')
      lines[line] = envelope(line + 1, shown(block))
      return sealed({ ...all, 'session.jsonl': lines.join('\n') })
    }
    const object = { ...(reference('two').originalObject as object), byteLength: 9, normalizedBase64Length: 12 }
    expect(await problemsIn(changed(2, { ...reference('one', 'two'), ...object, selectedObject: object }))).toEqual([
      'MediaCorrupt',
    ])
    expect(await problemsIn(changed(2, { ...reference('one', 'two'), byteLength: 9 }))).toEqual([
      'MediaCorrupt',
      'MetadataInvalid',
    ])
    expect(await problemsIn(changed(2, reference('one', 'six')))).toEqual([
      'MediaCorrupt',
      'MediaMissing',
      'MetadataInvalid',
    ])
  })

  const flips = fc.tuple(fc.nat(), fc.nat(), fc.integer({ min: 1, max: 255 }), fc.boolean(), fc.boolean())
  test.prop([fc.array(flips, { minLength: 1, maxLength: 2 })], { numRuns: 150 })(
    'names any changed byte of an object or a reference, also if the manifest was made anew',
    async (changes) => {
      const all = await files()
      const changed: Files = Object.fromEntries(Object.entries(all).map(([path, data]) => [path, Buffer.from(data)]))
      const [path, at] = [
        Object.keys(all).filter((name) => name.startsWith('media/')),
        all['session.jsonl']!.indexOf('"blocks":[{"type":"media"'),
      ] as const
      for (const [file, offset, mask, isObject] of changes) {
        const name = isObject ? path[file % path.length]! : 'session.jsonl'
        const data = changed[name]!
        // The ids of the first reference.
        const place = isObject ? offset % data.length : data.indexOf('sha256:', at) + 'sha256:'.length + (offset % 64)
        data[place]! ^= mask
      }
      const same = Object.entries(all).every(([name, data]) => data.equals(changed[name]!))
      expect(await problemsIn(changed)).toEqual(same ? [] : expect.arrayContaining(['WrongHash']))
      const again = await verifyBundle(writeFiles(destination(), sealed(changed)))
      expect(again.ok, JSON.stringify(again.problems)).toBe(same)
    },
  )

  test('applies the limit of blobs to objects', async () => {
    const bundle = destination()
    await exportBundle(project().file, bundle)
    expect(await codesIn(bundle, { limits: { blobBytes: 2 } })).toContain('BlobTooLarge')
  })
})

test.skipIf(process.platform !== 'linux')(
  '300 MB of objects are exported, verified and imported in memory that does not depend on them',
  () => {
    const { file, root, mediaDir } = projectWith([], [])
    const images = Array.from({ length: 6 }, (_, at) => Buffer.alloc(50 << 20, `image ${at} `))
    const shownOnes = images.map((bytes) => {
      const contentId = `sha256:${createHash('sha256').update(bytes).digest('hex')}`
      writeFileSync(join(objectsOf(mediaDir), digitsOf(contentId)), bytes)
      const object = {
        contentId,
        mimeType: 'image/png',
        byteLength: bytes.length,
        normalizedBase64Length: Math.ceil(bytes.length / 3) * 4,
      }
      return shown({
        ...reference('x'),
        dimensions: undefined,
        ...object,
        originalContentId: contentId,
        selectedContentId: contentId,
        originalObject: object,
        selectedObject: object,
      })
    })
    writeFileSync(file, session(...shownOnes))
    const script = `
    const { exportBundle, importBundle, verifyBundle } = require(${JSON.stringify(join(__dirname, '../../index.js'))});
    const peak = () => Number(/VmHWM:\\s+(\\d+)/.exec(require('node:fs').readFileSync('/proc/self/status', 'utf8'))[1]) >> 10;
    (async () => {
      const before = peak();
      const { media } = await exportBundle(${JSON.stringify(file)}, ${JSON.stringify(join(root, 'b'))});
      const { ok } = await verifyBundle(${JSON.stringify(join(root, 'b'))});
      await importBundle(${JSON.stringify(join(root, 'b'))}, ${JSON.stringify(join(root, 'c'))}, { mediaDir: ${JSON.stringify(join(root, 'd'))} });
      console.log(JSON.stringify({ media, ok, more: peak() - before }));
    })()`
    const { stdout } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' })
    const { media, ok, more } = JSON.parse(stdout)
    expect({ media, ok }).toEqual({ media: { sealed: 6, missing: 0, bytes: 300 << 20 }, ok: true })
    expect(more).toBeLessThan(60)
    expect(Object.values(storedIn(join(root, 'd')))).toEqual(images.map(() => true))
    rmSync(root, { recursive: true })
  },
)

test('arguments of another type throw at once', () => {
  for (const options of [{ media: 'all' }, { media: true }, { mediaDir: 7 }, { mediaDir: '' }])
    expect(() => exportBundle('a', 'b', options as {})).toThrow(TypeError)
  for (const options of [{ mediaDir: 7 }, { mediaDir: '' }])
    expect(() => importBundle('a', 'b', options as {})).toThrow(TypeError)
})
