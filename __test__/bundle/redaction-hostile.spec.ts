// Texts in which every few bytes may begin a secret: each is looked at in time that is proportional to its length.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { exportBundle, freshDirectory } from '../support/bundles.js'
import { sessionWith } from '../support/redaction/carriers.mjs'

// Minutes to hours, if each part is compared with all that follows.
const LENGTH = 3 << 20

async function redactionsIn(part: string): Promise<number> {
  const directory = freshDirectory()
  const text = part.repeat(LENGTH / part.length)
  const written = sessionWith([
    { type: 'content', payload: { content: { speaker: 'human', blocks: [{ type: 'text', text }] } } },
  ])
  writeFileSync(join(directory, 's.jsonl'), written)
  return (await exportBundle(join(directory, 's.jsonl'), join(directory, 'b'))).redactions
}

test.each(['pwd', 'apikey', 'secret-', 'session', 'Passwd_'])('%s, again and again, is passed over', async (part) => {
  expect(await redactionsIn(part)).toBe(0)
})

test('tokens without anything between them are one', async () => {
  expect(await redactionsIn('MTIzNDU2Nzg5MDEyMzQ1Njc4OTA.abcdef.')).toBe(1)
})
