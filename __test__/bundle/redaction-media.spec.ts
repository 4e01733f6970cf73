/** The rule `provider-file`: what a provider knows an image by, in references to media only; and what makes them references stays. */
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import type { ExportOptions } from '../../index.js'
import { codesIn, exportBundle, filesIn, freshDirectory, rejection } from '../support/bundles.js'
import { projectWith, shown } from '../support/media-store'
import { contentIdOf, isReference, reference } from '../support/plain-media'
import { fc, test } from '../support/property'
import { START_PAYLOAD, content } from '../support/session-file'
import type { Event } from '../support/session-file'

const FILE = {
  provider: 'kimi',
  baseURL: 'https://api.example.com/v1',
  credentialHash: '5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef',
  fileId: 'file_stable',
  byteLength: 3,
  scope: 'session',
  scopeId: START_PAYLOAD.sessionId,
  createdAt: 1000,
  expiresAt: 61000,
  deletion: 'delete',
  deletionState: 'active',
}
const known = (changes: Record<string, unknown> = {}) =>
  reference('one', 'two', {
    providerFileIds: { kimi: 'file_stable', other: 'file_other' },
    providerFiles: [FILE, { ...FILE, fileId: 'file-2' }],
    filename: 'a.png',
    ...changes,
  })
const PLACEHOLDER = '[redacted:provider-file]'

/** The blocks of a session's second line after an export, and the files of its bundle. */
async function exported(events: Event[], options: ExportOptions = {}) {
  const bundle = join(freshDirectory(), 'b.cath-bundle')
  const info = await exportBundle(projectWith(events, ['one', 'two']).file, bundle, options)
  expect(await codesIn(bundle)).toEqual([])
  const all = filesIn(bundle)
  const lines = all['session.jsonl']!.toString()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  return { info, all, lines, blocks: lines[1].payload.content?.blocks, bundle }
}

describe('provider-file', () => {
  test('replaces credentialHash, fileId and scopeId of providerFiles and the values of providerFileIds, and nothing else', async () => {
    const { blocks, all, info } = await exported([shown(known())])
    const file = { ...FILE, credentialHash: PLACEHOLDER, fileId: PLACEHOLDER, scopeId: PLACEHOLDER }
    expect(blocks).toEqual([
      known({ providerFileIds: { kimi: PLACEHOLDER, other: PLACEHOLDER }, providerFiles: [file, file] }),
    ])
    expect(isReference(blocks[0])).toBe(true)
    expect(info).toMatchObject({ redactions: 1, media: { sealed: 2, missing: 0 } })
    expect(JSON.parse(all['redactions.json']!.toString()).lines).toEqual([{ line: 2, rules: ['provider-file'] }])
  })

  test('applies to reference blocks only', async () => {
    const others = [
      { ...known(), byteLength: 7 },
      {
        type: 'text',
        text: 'x',
        providerFileIds: { kimi: 'file_stable' },
        providerFiles: [{ fileId: 'file_stable', scopeId: 's' }],
      },
    ]
    const { blocks, info } = await exported([shown(...others)])
    expect(blocks).toEqual(others)
    expect(info.redactions).toBe(0)
  })

  test('is one of the built-in rules', async () => {
    expect((await exported([shown(known())], { redact: { builtin: false } })).blocks).toEqual([known()])
    expect((await exported([shown(known())], { redact: false })).blocks).toEqual([known()])
    const rules = [{ name: 'provider-file', pattern: 'x' }]
    expect((await rejection(exported([shown(known())], { redact: { rules } }))).code).toBe('InvalidRule')
  })

  test('also removes a value that occurs nowhere by chance from elsewhere, and leaves plain words and the id of the session', async () => {
    const fileId = 'file-8fJq2LxT0vPz71KcWn'
    const events = [
      shown(known({ providerFileIds: { kimi: 'stable' }, providerFiles: [{ ...FILE, fileId }] })),
      content(`a stable ${fileId} of ${START_PAYLOAD.sessionId}`),
    ]
    const { lines, all } = await exported(events)
    expect(lines[2].payload.content.blocks[0].text).toBe(`a stable ${PLACEHOLDER} of ${START_PAYLOAD.sessionId}`)
    expect(Object.values(all).some((data) => data.includes(fileId))).toBe(false)
  })
})

describe('what makes a block a reference', () => {
  test('is not searched where it is a hash, as the hashes of a run', async () => {
    const rules = [
      { name: 'hex', pattern: '[0-9a-f]{64}' },
      { name: 'all', pattern: 'a caption' },
    ]
    const { blocks, info } = await exported([shown(known()), content('0'.repeat(64))], { redact: { rules } })
    expect(isReference(blocks[0])).toBe(true)
    expect([blocks[0].contentId, blocks[0].originalContentId, blocks[0].caption]).toEqual([
      contentIdOf('two'),
      contentIdOf('one'),
      '[redacted:all]',
    ])
    expect(info.redactions).toBe(2)
  })

  test('can not be redacted', async () => {
    for (const rule of [
      { pattern: 'image/png' },
      { pattern: 'reference' },
      { pattern: 'contentId' },
      { path: '/content/blocks/0/contentId' },
      { path: '/content/blocks/0/byteLength' },
    ]) {
      const error = await rejection(exported([shown(known())], { redact: { rules: [{ name: 'mine', ...rule }] } }))
      expect([error.code, error.message.includes("'mine'")], JSON.stringify(rule)).toEqual(['RedactionConflict', true])
    }
  })

  test.prop([fc.constantFrom('/content/blocks/0/*', '/content/*', '/*', ''), fc.boolean()], { numRuns: 8 })(
    'stays whatever value around it a pointer names',
    async (path, builtin) => {
      const block = known({ providerFiles: [{ ...FILE, scopeId: 'another scope' }] })
      const { blocks } = await exported([shown(block)], {
        redact: { builtin, rules: [{ name: 'mine', path, kinds: ['content'] }] },
      })
      expect(blocks[0].caption).toBe('[redacted:mine]')
      expect(isReference(blocks[0])).toBe(true)
    },
  )
})
