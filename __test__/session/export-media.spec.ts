/** Images that a session refers to, in the ATIF document that `exportSession` writes (docs/agents.md). */
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { archiveSession, exportBundle, exportSession, replaySession } from '../../index.js'
import { reference } from '../support/plain-media.js'
import { session, sessionDirectory } from '../support/session-file.js'

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
