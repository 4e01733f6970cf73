/** `readSessionMedia` and `verifySessionMedia`: the images to which a session refers, for hosts that keep a store of them. */
import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
  mkdtempSync,
  readdirSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect } from 'vitest'
import {
  archiveSession,
  exportBundle,
  readSessionMedia,
  readSessionRecords,
  repairSession,
  verifySessionMedia,
  type SessionMedia,
  exportSession,
  replaySession,
} from '../../index.js'
import { freshDirectory } from '../support/bundles'
import { objectIn, projectWith, shown, storeOf } from '../support/media-store'
import { contentIdOf, isReference, reference } from '../support/plain-media'
import { fc, test } from '../support/property'
import { content, envelope, rewind, session, writeSession, sessionDirectory } from '../support/session-file'

async function mediaOf(path: string): Promise<SessionMedia[]> {
  const found = []
  for await (const one of readSessionMedia(path)) found.push(one)
  return found
}

const entry = (image: string, role: SessionMedia['role'], line: number): SessionMedia => ({
  contentId: contentIdOf(image),
  seq: line,
  line,
  role,
  byteLength: Buffer.byteLength(image),
  mimeType: 'image/png',
})

const EVENTS = [content('look'), shown(reference('one', 'two')), shown(reference('one'), reference('six')), rewind(1)]

/** What is thrown, with the members that say why. */
async function failure(reading: Promise<unknown>): Promise<unknown> {
  return reading.then(
    () => null,
    ({ name, code, message, syscall }) => ({ name, code, message, syscall }),
  )
}

async function recordsOf(path: string): Promise<unknown[]> {
  const found = []
  for await (const one of readSessionRecords(path)) found.push(one)
  return found
}

describe('readSessionMedia', () => {
  test('yields each role of each reference in the order of the file, also equal ones, from files, archives and bundles', async () => {
    const { file } = projectWith(EVENTS, ['one', 'two', 'six'])
    const expected = [
      entry('one', 'original', 3),
      entry('two', 'selected', 3),
      entry('one', 'original', 4),
      entry('one', 'selected', 4),
      entry('six', 'original', 4),
      entry('six', 'selected', 4),
    ]
    expect(await mediaOf(file)).toEqual(expected)
    for (const name of ['b.cath-bundle', 'b.cath-bundle.tar.zst']) {
      const bundle = join(freshDirectory(), name)
      await exportBundle(file, bundle)
      expect(await mediaOf(bundle)).toEqual(expected)
    }
    await archiveSession(file)
    for (const path of [file, `${file}.zst`]) expect(await mediaOf(path)).toEqual(expected)
  })

  test('yields what a live file has, and nothing of a torn last line', async () => {
    const { file } = projectWith(EVENTS, [])
    const line = envelope(6, shown(reference('new')))
    appendFileSync(file, line.slice(0, -2))
    expect((await mediaOf(file)).length).toBe(6)
    appendFileSync(file, `${line.slice(-2)}\n`)
    expect((await mediaOf(file)).slice(6)).toEqual([entry('new', 'original', 6), entry('new', 'selected', 6)])
  })

  test('passes over malformed blocks, and lines that are no records', async () => {
    const wrong = { ...reference('one', 'two'), byteLength: 7 }
    const file = writeSession(
      session(
        shown(wrong),
        ...[`[${JSON.stringify(reference('one'))}]`, `{"seq":"x","payload":${JSON.stringify([reference('two')])}}`],
      ),
    )
    expect((await mediaOf(file)).map(({ contentId, seq, line }) => [contentId, seq, line])).toEqual([
      [contentIdOf('two'), null, 4],
      [contentIdOf('two'), null, 4],
    ])
  })

  const blocks = fc.array(
    fc.oneof(
      fc.tuple(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' })).map(([one, two]) => reference(one, two)),
      fc.string().map((one) => reference(one)),
      fc.constantFrom(reference('one', 'two', { mimeType: 'x' }), { type: 'text', text: '"encoding":"reference"' }),
    ),
    { maxLength: 4 },
  )
  test.prop([fc.array(blocks, { maxLength: 8 })], { numRuns: 100 })(
    'yields what a plain walk over the records finds',
    async (payloads) => {
      const file = writeSession(session(...payloads.map((each) => shown(...each))))
      const expected = payloads.flatMap((each, at) =>
        each.filter(isReference).flatMap((block: any) =>
          [
            ['original', block.originalObject],
            ['selected', block.selectedObject],
          ].map(([role, { contentId, byteLength, mimeType }]) => ({
            contentId,
            seq: at + 2,
            line: at + 2,
            role,
            byteLength,
            mimeType,
          })),
        ),
      )
      expect(await mediaOf(file)).toEqual(expected)
      rmSync(file)
    },
  )

  test('yields all of a session with many references, and stops when it is left', async () => {
    const file = writeSession(session(...Array.from({ length: 5000 }, (_, at) => shown(reference(`image ${at}`)))))
    const found = await mediaOf(file)
    expect(found.length).toBe(10_000)
    expect(
      found.every(({ contentId, line }, at) => contentId === contentIdOf(`image ${at >> 1}`) && line === (at >> 1) + 2),
    ).toBe(true)
    let seen = 0
    for await (const _ of readSessionMedia(file)) if (++seen === 3) break
    expect(seen).toBe(3)
  })

  test.skipIf(process.platform !== 'linux')('takes memory for a part of the file only', () => {
    const file = writeSession('')
    const line = `${envelope(2, shown(reference('an image'), { type: 'text', text: 'x'.repeat(1 << 16) }))}\n`
    writeFileSync(file, session(content('a')) + line.repeat(4000))
    // Not the maximum of `resourceUsage`, which includes that of the process that has started it.
    const script = `
      const peak = () => Number(/VmHWM:\\s+(\\d+)/.exec(require('node:fs').readFileSync('/proc/self/status', 'utf8'))[1]);
      const { readSessionMedia } = require(${JSON.stringify(join(__dirname, '../../index.js'))});
      (async () => { let n = 0; for await (const _ of readSessionMedia(${JSON.stringify(file)})) n++; console.log(n, peak() >> 10) })()`
    const { stdout } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' })
    const [count, peak] = stdout.split(' ').map(Number)
    // The file has 260 MB.
    expect([count, peak! < 150]).toEqual([8000, true])
    rmSync(file)
  })

  test('throws what readSessionRecords throws', async () => {
    const directory = freshDirectory()
    const broken = join(directory, 'b.cath-bundle.tar.zst')
    await exportBundle(projectWith([content('a')], []).file, broken)
    truncateSync(broken, 100)
    for (const path of [join(directory, 'none.jsonl'), directory, broken]) {
      const expected = await failure(recordsOf(path))
      expect(expected).not.toBeNull()
      expect(await failure(mediaOf(path))).toEqual(expected)
      expect(await failure(verifySessionMedia(path))).toEqual(expected)
    }
  })
})

describe('verifySessionMedia', () => {
  test('counts each object once, and lists ids of what is missing or corrupt', async () => {
    const { file, mediaDir } = projectWith(EVENTS, ['one', 'two', 'six'])
    expect(await verifySessionMedia(file)).toEqual({ present: 3, missing: [], corrupt: [] })
    rmSync(objectIn(mediaDir, 'one'))
    writeFileSync(objectIn(mediaDir, 'two'), 'twO')
    expect(await verifySessionMedia(file)).toEqual({
      present: 1,
      missing: [contentIdOf('one')],
      corrupt: [contentIdOf('two')],
    })
    writeFileSync(objectIn(mediaDir, 'two'), 'longer')
    expect(await verifySessionMedia(file, { mediaDir })).toEqual({
      present: 1,
      missing: [contentIdOf('one')],
      corrupt: [contentIdOf('two')],
    })
  })

  test('takes another store if one is given, and without one misses all', async () => {
    const { file, root, mediaDir } = projectWith(EVENTS, ['one', 'two', 'six'])
    renameSync(mediaDir, join(root, 'other'))
    const all = ['one', 'two', 'six'].map(contentIdOf).sort()
    expect(await verifySessionMedia(file)).toEqual({ present: 0, missing: all, corrupt: [] })
    expect(await verifySessionMedia(file, { mediaDir: join(root, 'other') })).toEqual({
      present: 3,
      missing: [],
      corrupt: [],
    })
    mkdirSync(join(root, 'media'))
    expect((await verifySessionMedia(file)).present).toBe(0)
  })

  test('finds the objects of a bundle in it, unless a store is given', async () => {
    const { file } = projectWith(EVENTS, ['one', 'two', 'six'])
    const bundle = join(freshDirectory(), 'b.cath-bundle.tar.zst')
    await exportBundle(file, bundle)
    expect(await verifySessionMedia(bundle)).toEqual({ present: 3, missing: [], corrupt: [] })
    expect(
      (await verifySessionMedia(bundle, { mediaDir: storeOf(join(freshDirectory(), 'media'), ['two']) })).present,
    ).toBe(1)
  })
})

test('an aborted signal ends both', async () => {
  const { file } = projectWith(EVENTS, [])
  const signal = AbortSignal.abort(new Error('enough'))
  await expect(verifySessionMedia(file, { signal })).rejects.toThrow('enough')
  await expect(readSessionMedia(file, { signal }).next()).rejects.toThrow('enough')
})

test('a repair keeps the references, in lines of version 2', async () => {
  const lines = session(...EVENTS)
    .split('\n')
    .map((line) => (line.includes('"encoding":"reference"') ? line.replace('"v":1', '"v":2') : line))
  const file = writeSession(
    [...lines.slice(0, 2), `${lines[2]!.slice(0, 40)}`, ...lines.slice(2)]
      .join('\n')
      .replace('"text":"look"', '"text":"lo'),
  )
  const repaired = join(dirname(file), 'repaired.jsonl')
  const { changed } = await repairSession(file, repaired)
  expect(changed).toBe(true)
  expect((await mediaOf(repaired)).map(({ contentId, role }) => [contentId, role])).toEqual(
    (await mediaOf(writeSession(session(...EVENTS)))).map(({ contentId, role }) => [contentId, role]),
  )
  const withReference = readFileSync(repaired, 'utf8')
    .split('\n')
    .filter((line) => line.includes('"encoding":"reference"'))
  expect(withReference.map((line) => JSON.parse(line).v)).toEqual([2, 2])
})

const text = (said: string) => ({ type: 'text', text: said })
const call = { type: 'tool_call', id: 'c', name: 'shot', parameters: {} }
const result = { type: 'tool_response', callId: 'c', toolName: 'shot', result: 'taken' }
const said = (speaker: string, ...blocks: unknown[]) => ['content', { content: { speaker, blocks } }] as const
const hashOf = (bytes: string) => (reference(bytes).contentId as string).slice('sha256:'.length)

/** A project: a session with these records, and a store with these objects. */
function project(objects: string[], ...events: (readonly [string, unknown])[]) {
  const root = mkdtempSync(join(sessionDirectory(), 'project-'))
  const store = join(root, 'media/objects/sha256')
  mkdirSync(store, { recursive: true })
  mkdirSync(join(root, 'chats'))
  for (const bytes of objects) writeFileSync(join(store, hashOf(bytes)), bytes)
  const path = join(root, 'chats/session-one.jsonl')
  writeFileSync(path, session(...events))
  const out = join(root, 'out.json')
  return {
    root,
    store,
    path,
    out,
    media: join(root, 'out.json.media'),
    exported: () => exportSession(path, out, { format: 'atif' }),
    document: () => JSON.parse(readFileSync(out, 'utf8')),
  }
}

const image = (name: string) => ({ type: 'image', source: { media_type: 'image/png', path: `out.json.media/${name}` } })

async function historyOf(path: string): Promise<unknown[]> {
  const replayed = await replaySession<any>(path)
  if (!replayed.ok) throw new Error(replayed.error)
  return replayed.history
}

describe('an image that a session refers to', () => {
  test('becomes a file beside the document, once, which the message names', async () => {
    const { exported, document, media, path, out } = project(
      ['one', 'two'],
      said('human', text('Look'), reference('one'), reference('two', 'one')),
      said('ai', reference('two')),
    )
    expect(await exported()).toEqual({ steps: 2, media: 2 })
    expect(document().steps[0].message).toEqual([{ type: 'text', text: 'Look' }, image('1.png'), image('1.png')])
    expect(document().steps[1].message).toEqual([image('2.png')])
    expect(readdirSync(media).map((name) => readFileSync(join(media, name), 'utf8'))).toEqual(['one', 'two'])
    expect(await historyOf(out)).toEqual(await historyOf(path))
  })

  test('is restored as the reference that it was, also behind a result and in an item of its own', async () => {
    const { exported, document, path, out } = project(
      ['one', 'two', 'three'],
      said('ai', text('I take it'), call),
      said('tool', result, reference('one'), reference('two', 'two', { caption: 'é\ud83d' })),
      said('human', reference('three'), text('and'), reference('one')),
      said('tool', reference('three')),
    )
    await exported()
    expect(document().steps[0].observation.results[0].content).toEqual([
      { type: 'text', text: 'taken' },
      image('1.png'),
      image('2.png'),
    ])
    expect((await historyOf(out))[2]).toEqual((await historyOf(path))[2])
    expect(await historyOf(out)).toEqual(await historyOf(path))
  })

  test('that the store does not have as the session says, or of a type that ATIF lacks, stays a reference', async () => {
    const drawing = reference('svg', 'svg', {
      mimeType: 'image/svg+xml',
      selectedObject: { ...(reference('svg').selectedObject as object), mimeType: 'image/svg+xml' },
      originalObject: { ...(reference('svg').originalObject as object), mimeType: 'image/svg+xml' },
    })
    const { exported, document, store, path, out } = project(
      ['altered', 'svg'],
      said('human', text('a'), reference('missing'), reference('altered'), drawing),
    )
    writeFileSync(join(store, hashOf('altered')), 'ALTERED')
    await exported()
    expect(document().steps[0].message).toBe('a')
    expect(await historyOf(out)).toEqual(await historyOf(path))
  })

  test.skipIf(process.platform !== 'linux')(
    'that is altered is read once, however many references there are',
    async () => {
      const bytes = 'x'.repeat(1 << 20)
      const { exported, store } = project(
        ['one', bytes],
        said('human', reference('one'), ...Array.from({ length: 100 }, () => reference(bytes))),
      )
      writeFileSync(join(store, hashOf(bytes)), 'y'.repeat(1 << 20))
      const readBytes = () => Number(/rchar: (\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))![1])
      const before = readBytes()
      expect(await exported()).toEqual({ steps: 1, media: 1 })
      expect(readBytes() - before).toBeLessThan(20 << 20)
    },
  )

  test('is found from an archive, and in a bundle whose store has gone', async () => {
    for (const form of ['archive', 'bundle', 'bundle.tar.zst']) {
      const { root, path, out, document, media } = project(['one'], said('human', reference('one')))
      const bundle = join(root, `b.cath-${form}`)
      const from =
        form === 'archive' ? (await archiveSession(path)).filePath : (await exportBundle(path, bundle), bundle)
      if (form !== 'archive') rmSync(join(root, 'media'), { recursive: true })
      expect(await exportSession(from, out, { format: 'atif' })).toEqual({ steps: 1, media: 1 })
      expect(document().steps[0].message).toEqual([image('1.png')])
      expect(readFileSync(join(media, '1.png'), 'utf8')).toBe('one')
    }
  })
})
