/** Media in bundles however the lines are written that name them: long, nested, with white space and escapes, of any values; and stores that can't be read. */
import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { exportSession, readSessionMedia, verifySessionMedia } from '../../index.js'
import type { ExportOptions } from '../../index.js'
import {
  codesIn,
  exportBundle,
  filesIn,
  freshDirectory,
  importBundle,
  rejection,
  verifyBundle,
} from '../support/bundles.js'
import { digitsOf, objectIn, projectWith, shown } from '../support/media-store'
import { contentIdOf, reference } from '../support/plain-media'
import { fc, test } from '../support/property'
import { START_PAYLOAD, content, envelope } from '../support/session-file.js'
import type { Event } from '../support/session-file.js'

const destination = () => join(freshDirectory(), 'b.cath-bundle')
const HASH = '5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef'
const SECRETS = ['file-aZ9kQx81Lm27', HASH, 'scopeQ7kzz81']
const FILE = { provider: 'kimi', credentialHash: HASH, fileId: 'file-aZ9kQx81Lm27', scopeId: 'scopeQ7kzz81' }
const PLACEHOLDER = '[redacted:provider-file]'
const known = (changes: Record<string, unknown> = {}) =>
  reference('one', 'one', { providerFileIds: { kimi: FILE.fileId }, providerFiles: [FILE], ...changes })

/** Exports a session of these lines, whose bundle must verify. */
async function exported(events: (Event | string)[], options: ExportOptions = {}) {
  const bundle = destination()
  const { file } = projectWith(events, ['one', 'two'])
  const { media } = await exportBundle(file, bundle, options)
  expect(await codesIn(bundle)).toEqual([])
  const text = filesIn(bundle)['session.jsonl']!.toString()
  return {
    file,
    bundle,
    media,
    text,
    leaks: SECRETS.filter((secret) => text.includes(secret)),
    lines: text.trimEnd().split('\n'),
  }
}

describe('a line of more than 16 MiB besides its strings', () => {
  const short = Array.from({ length: 25_000 }, () => ({
    speaker: 'human',
    blocks: [{ type: 'text', text: 't'.repeat(700) }],
  }))
  const purge = (history: unknown[]): Event => [
    'semantic_media_purge',
    { history, frontier: { contentIndex: 0, blockIndex: 0 } },
  ]
  const lines: [string, Event, number][] = [
    ['one image among short texts', purge([{ speaker: 'human', blocks: [reference('one')] }, ...short]), 1],
    ['an image behind them', purge([...short, { speaker: 'human', blocks: [reference('one', 'two')] }]), 2],
    [
      'thousands of references',
      purge([{ speaker: 'human', blocks: Array.from({ length: 20_000 }, () => reference('one')) }]),
      1,
    ],
    [
      'members of an object',
      ['note', { ...Object.fromEntries(short.map((one, at) => [`key ${at}`, one])), image: reference('two') }],
      1,
    ],
  ]
  test.each(lines)('has its images in the bundle: %s', async (_, event, count) => {
    const { media, file } = await exported([event])
    expect(media).toMatchObject({ sealed: count, missing: 0 })
    expect((await verifySessionMedia(file)).present).toBe(count)
    rmSync(objectIn(join(file, '../../media'), count === 1 && event[0] === 'note' ? 'two' : 'one'))
    expect((await rejection(exportBundle(file, destination()))).code).toBe('MediaMissing')
  })
})

describe('a reference in one that is nested', () => {
  const inner = JSON.stringify(known()).slice(0, -1)
  const nested = (count: number) => {
    const blocks = `${`${inner},"x":`.repeat(count)}1${'}'.repeat(count)}`
    return envelope(2, shown('BLOCK')).replace('"BLOCK"', blocks)
  }

  test('takes linear time, and leaks nothing', async () => {
    const { leaks, text } = await exported([nested(8_000)])
    expect([leaks, text.split(PLACEHOLDER).length - 1]).toEqual([[], 8_000 * 4])
  })
})

describe('a reference with white space and escapes', () => {
  const plain = envelope(2, shown(known()))
  const forms: [string, string][] = [
    ['spaces', plain.replace('"encoding":"reference"', '"encoding" : "reference"')],
    ['tabs everywhere', plain.replaceAll('":', '"\t:\t')],
    ['an escaped value', plain.replace('"reference"', '"r\\u0065ference"')],
    ['an escaped upper value', plain.replace('"reference"', '"\\u0072eference"')],
    ['an escaped key', plain.replace('"encoding"', '"encodin\\u0067"')],
    [
      'escaped keys of what a provider knows',
      plain
        .replace('"providerFiles"', '"provider\\u0046iles"')
        .replace('"credentialHash"', '"credential\\u0048ash"')
        .replace('"providerFileIds"', '"pr\\u006fviderFileIds"'),
    ],
  ]
  test.each(forms)('is one: %s', async (_, line) => {
    const { media, leaks, file } = await exported([line])
    expect([media!.sealed, leaks]).toEqual([1, []])
    expect(await verifySessionMedia(file)).toEqual({ present: 1, missing: [], corrupt: [] })
    const found = []
    for await (const { role } of readSessionMedia(file)) found.push(role)
    expect(found).toEqual(['original', 'selected'])
  })
})

describe('provider-file', () => {
  test('applies in each of two payloads of a line, and in each of two equal members', async () => {
    const plain = envelope(2, shown(known()))
    const twice = [
      plain.replace('"payload":', `"payload":${JSON.stringify({ content: { blocks: [known()] } })},"payload":`),
      `${plain.slice(0, -1)},"payload":{"content":{"speaker":"human","blocks":[]}}}`,
      plain.replace('"providerFiles":', '"providerFiles":[{"fileId":"file-aZ9kQx81Lm27"}],"providerFiles":'),
    ]
    for (const line of twice) expect((await exported([line])).leaks, line).toEqual([])
  })

  const values: [string, Record<string, unknown>, Record<string, unknown>][] = [
    [
      'numbers',
      { providerFileIds: { a: 918273 }, providerFiles: [{ credentialHash: 9.5e3, fileId: -1, scopeId: 0 }] },
      {
        providerFileIds: { a: PLACEHOLDER },
        providerFiles: [{ credentialHash: PLACEHOLDER, fileId: PLACEHOLDER, scopeId: PLACEHOLDER }],
      },
    ],
    [
      'arrays and objects',
      {
        providerFileIds: { a: [FILE.fileId, 1] },
        providerFiles: [{ credentialHash: [[HASH]], fileId: { id: FILE.fileId }, scopeId: [2] }],
      },
      {
        providerFileIds: { a: PLACEHOLDER },
        providerFiles: [{ credentialHash: PLACEHOLDER, fileId: PLACEHOLDER, scopeId: PLACEHOLDER }],
      },
    ],
    [
      'providerFiles as an object',
      { providerFileIds: {}, providerFiles: { a: { ...FILE, size: 3 }, fileId: 7 } },
      {
        providerFileIds: {},
        providerFiles: {
          a: { ...FILE, credentialHash: PLACEHOLDER, fileId: PLACEHOLDER, scopeId: PLACEHOLDER, size: 3 },
          fileId: PLACEHOLDER,
        },
      },
    ],
    [
      'providerFileIds as a string',
      { providerFileIds: FILE.fileId, providerFiles: [] },
      { providerFileIds: PLACEHOLDER, providerFiles: [] },
    ],
    [
      'nothing',
      { providerFileIds: { a: null, b: true }, providerFiles: null },
      { providerFileIds: { a: null, b: true }, providerFiles: null },
    ],
  ]
  test.each(values)('replaces %s as a whole', async (_, changes, expected) => {
    const { lines, leaks, bundle } = await exported([shown(known(changes)), content(`use ${FILE.fileId}`)])
    expect(JSON.parse(lines[1]!).payload.content.blocks).toEqual([known(expected)])
    if (JSON.stringify(changes).includes(FILE.fileId)) expect(leaks).toEqual([])
    const again = destination()
    const { bundleId } = await exportBundle(bundle, again)
    expect(bundleId).toBe((await verifyBundle(bundle)).info!.bundleId)
  })

  test('keeps a reference in such a value, whose image is sealed', async () => {
    const { lines, media, leaks } = await exported([
      shown(known({ providerFileIds: { a: { b: [known(), 5, FILE.fileId] } } })),
    ])
    expect([media!.sealed, leaks]).toEqual([1, []])
    const value = JSON.parse(lines[1]!).payload.content.blocks[0].providerFileIds.a.b
    expect([value[0].contentId, value[1], value[2]]).toEqual([contentIdOf('one'), PLACEHOLDER, PLACEHOLDER])
  })

  const anything = fc.jsonValue({ maxDepth: 3 })
  test.prop([anything, anything, anything, fc.boolean()], { numRuns: 60 })(
    'leaves nothing of a value, whatever it is',
    async (id, other, files, isList) => {
      const secret = 'file-8fJq2LxT0vPz71KcWn'
      const file = { fileId: [id, secret], credentialHash: { [JSON.stringify(other)]: secret }, scopeId: other }
      const changes = {
        providerFileIds: { a: id, b: [secret], c: { other } },
        providerFiles: isList ? [file, files] : { file, files },
      }
      const { text, lines } = await exported([shown(known(changes)), content(`use ${secret}`)])
      expect([text.includes(secret), JSON.parse(lines[1]!).payload.content.blocks[0].encoding]).toEqual([
        false,
        'reference',
      ])
    },
  )

  test('applies in a torn last line, as far as that is there', async () => {
    const whole = envelope(2, shown(known({ providerFileIds: { kimi: FILE.fileId, n: 918273645546 } })))
    const [from, end] = [whole.indexOf(HASH), whole.length]
    for (const cut of [from + 20, from + 64, whole.indexOf('scopeQ7') + 4, end - 4, end - 1]) {
      const bundle = destination()
      const { file } = projectWith([content('x')], ['one'])
      writeFileSync(file, readFileSync(file, 'utf8') + whole.slice(0, cut))
      await exportBundle(file, bundle)
      const text = filesIn(bundle)['session.jsonl']!.toString()
      const found = ['file-aZ9k', '5f70bf18a0', 'scop"', 'scopeQ7k', '"scop', '91827364'].filter(
        (part) => text.includes(part) && part !== '"scop',
      )
      expect(found, text.slice(-500)).toEqual([])
      expect(await codesIn(bundle)).toEqual([])
    }
  })

  test('replaces a value that is the id of an image in its block only', async () => {
    const id = contentIdOf('one')
    const { lines, media } = await exported([
      shown(known({ providerFileIds: { a: digitsOf(id), b: id }, providerFiles: [{ fileId: contentIdOf('two') }] })),
      shown(reference('one', 'two')),
    ])
    const [block] = JSON.parse(lines[1]!).payload.content.blocks
    expect(block).toEqual(
      known({ providerFileIds: { a: PLACEHOLDER, b: PLACEHOLDER }, providerFiles: [{ fileId: PLACEHOLDER }] }),
    )
    expect([media!.sealed, JSON.parse(lines[2]!).payload.content.blocks]).toEqual([2, [reference('one', 'two')]])
  })
})

describe('an export', () => {
  test('looks for an object before it counts its bytes', async () => {
    const byteLength = Number.MAX_SAFE_INTEGER
    const object = {
      ...(reference('gone').originalObject as object),
      byteLength,
      normalizedBase64Length: Math.ceil(byteLength / 3) * 4,
    }
    const { file } = projectWith(
      [shown(reference('one'), { ...reference('gone'), ...object, originalObject: object, selectedObject: object })],
      ['one'],
    )
    expect((await rejection(exportBundle(file, destination()))).code).toBe('MediaMissing')
    expect((await exportBundle(file, destination(), { media: 'skip' })).media).toEqual({
      sealed: 1,
      missing: 1,
      bytes: 3,
    })
  })
})

test('a log within the directory of a bundle has the media of that bundle, for all that read it', async () => {
  const { bundle } = await exported([shown(reference('one', 'two'))])
  const log = join(bundle, 'session.jsonl')
  for (const path of [log, bundle]) {
    expect(await verifySessionMedia(path)).toEqual({ present: 2, missing: [], corrupt: [] })
    expect((await exportSession(path, join(freshDirectory(), 'a.json'), { format: 'atif' })).media).toBe(1)
    expect((await exportBundle(path, destination())).media!.sealed).toBe(2)
  }
})

describe('an import', () => {
  test('refuses a store within the directory that it makes, before it makes anything', async () => {
    const { bundle } = await exported([shown(reference('one'))])
    const root = freshDirectory()
    const directory = join(root, 'new')
    mkdirSync(join(root, 'x'))
    for (const mediaDir of [join(directory, 'media'), directory, join(root, 'x', '..', 'new', 'a', 'b')]) {
      expect(await rejection(importBundle(bundle, directory, { mediaDir }))).toMatchObject({
        name: 'BundleError',
        code: 'InvalidOption',
      })
      expect(readdirSync(root)).toEqual(['x'])
    }
    await importBundle(bundle, directory, { mediaDir: join(root, 'newer') })
    renameSync(directory, `${directory}-${START_PAYLOAD.sessionId}`)
  })
})
