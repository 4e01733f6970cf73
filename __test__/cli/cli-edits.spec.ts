/** Every command on a session whose history was edited. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { replaySession } from '../../index.js'
import { filesIn, freshDirectory } from '../support/bundles.js'
import { beside, resultOf, shown } from '../support/command-line'
import { editedEvents, editedSession } from '../support/edited-session.js'
import { writeSession } from '../support/session-file.js'
import { dataIn, freshFile } from '../support/view-page'

const EDITS = { density_mutation: 1, synthetic_insert: 1, chronology_bind: 2, semantic_media_purge: 1 }
const edited = (word?: string): string => writeSession(editedSession(word))

describe('a session with edits', () => {
  test('is inspected without damage, and its edits are counted', async () => {
    const log = edited()
    expect(await resultOf(['inspect', log])).toMatchObject({
      damaged: false,
      damage: [],
      notes: [],
      edits: EDITS,
      historyLength: 3,
    })
    expect(beside('Edits', await shown(['inspect', log]))).toEqual([
      '5 (density_mutation 1 · synthetic_insert 1 · chronology_bind 2 · semantic_media_purge 1)',
    ])
  })

  test('is replayed, also strictly', async () => {
    const log = edited()
    for (const strict of [false, true]) {
      const options = strict ? ['--strict'] : []
      const replay = await replaySession(log, undefined, { strict })
      expect(replay.ok && replay.history.length).toBe(3)
      expect(await resultOf(['replay', log, ...options])).toEqual({
        kind: 'session',
        path: log,
        ...JSON.parse(JSON.stringify(replay)),
      })
      const page = await shown(['replay', log, ...options])
      expect(page).toContain('none, the file is sound')
      expect(beside('Rewinds', page)).toEqual(['1 (2 items taken back)'])
    }
  })

  test('is printed with what its edits did, and where items went', async () => {
    const text = await shown(['view', edited(), '--text'])
    for (const note of [
      '· Edited replaced 2 items, removed 1 (keys 3, 5, 7)  line 8',
      '· Inserted after key 4  line 9',
      '· Bound item 2 to key 40, with other content  line 10',
      '· Bound item 0 to key 41  line 11',
      '· Compression of keys 1 to 2, 3 items  line 12',
      '· rewound: 2 items left the history  line 13',
      '· Purged media history of 2 items  line 14',
    ])
      expect(text).toContain(`\n${note}\n`)
    const heads = [...text.matchAll(/^(?:Human|AI) .*$/gm)].map(([head]) => head.replace(/ {2}\d\d:\d\d:\d\d/, ''))
    expect(heads).toEqual([
      'Human  line 2  not in the history: edited at line 8',
      'AI  line 3  not in the history: purged at line 14',
      'Human  line 4  not in the history: edited at line 8',
      'AI  line 5  not in the history: rewound at line 13',
      'Human  line 6  not in the history: edited at line 8',
      'AI  line 7  not in the history: rewound at line 13',
      'Human  line 8  in place of key 3  not in the history: purged at line 14',
      'Human  line 8  in place of key 5  not in the history: purged at line 14',
      'AI  line 9  inserted  not in the history: replaced at line 10',
      'AI  line 10  in place of item 2  not in the history: purged at line 14',
      'AI  line 14  in the new history',
      'AI  line 14  in the new history',
      'Human  line 15',
    ])
  })

  test('says of an edit that fits nothing that it had no effect', async () => {
    const log = writeSession(
      editedSession('', [
        ...editedEvents(''),
        ['synthetic_insert', { content: { speaker: 'ai', blocks: [] }, chronologySeq: 1, afterSeq: 99 }],
      ]),
    )
    expect(await shown(['view', log, '--text'])).toContain('· Inserted after key 99, without effect  line 16')
    expect(await resultOf(['inspect', log], 1)).toMatchObject({
      damaged: true,
      damage: expect.arrayContaining(['Line 16: malformed synthetic_insert event, skipping']),
    })
  })

  test('has a page, a header, a place in lists, and all its events', async () => {
    const log = edited()
    const out = freshFile('page.html')
    await shown(['view', log, '--html', out])
    const page = dataIn(out)
    expect(page).toMatchObject({ error: null, warnings: [] })
    const isInHistory = ([, , , , flags]: number[]) => (flags! & 2) !== 0
    // One of them has two items.
    expect(page.rows.filter(isInHistory)).toHaveLength(2)
    expect(await shown(['header', log])).toContain(log)
    expect(await shown(['sessions', join(log, '..')])).not.toMatch(/unknown|damaged|can't/)
    expect(await shown(['trace', log, '--events'])).toContain('semantic_media_purge')
    expect((await resultOf(['trace', log, 'rec_14'])).chain.map((each: any) => each.event_id)).toEqual([
      'rec_13',
      'rec_3',
      'rec_2',
      'rec_1',
      'rec_0',
    ])
  })

  test('is sealed without the secrets that its edits bring, and replays strictly', async () => {
    const token = 'ghp_0123456789abcdefghijABCDEFGHIJ012345'
    const to = join(freshDirectory(), 'edited.cath-bundle')
    const log = edited(token)
    expect(readFileSync(log, 'utf8').split(token)).toHaveLength(5)
    expect(await resultOf(['bundle', 'export', log, to])).toMatchObject({ redactions: 4 })
    expect(Object.entries(filesIn(to)).filter(([, bytes]) => bytes.includes('ghp_'))).toEqual([])
    expect(await resultOf(['bundle', 'verify', to])).toMatchObject({ ok: true })
    const replay = await resultOf(['replay', to, '--strict'])
    expect(replay).toMatchObject({ ok: true, warnings: [] })
    expect(replay.history.map(({ blocks }: any) => blocks[0].text)).toEqual([
      'purged [redacted:github-token]',
      'and',
      'the end',
    ])
  })
})
