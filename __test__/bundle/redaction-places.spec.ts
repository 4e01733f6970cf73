// Places that are not simply the text of a string: blobs in UTF-16, keys in payloads of events and in workflow.json.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { exportBundle, filesIn, freshDirectory } from '../support/bundles.js'
import { leaksOf } from '../support/redaction/reader.mjs'
import { randomOf, textOf, SEED } from '../support/redaction/values.mjs'
import { freshPath, startedRun } from '../support/run-directory.js'

const made = (pattern: string, name: string): string => textOf(pattern, randomOf(`${SEED} ${name}`))

/** The files of a bundle of a run. */
async function filesOfRun(source: string): Promise<Record<string, Buffer>> {
  const to = join(freshDirectory(), 'b')
  await exportBundle(source, to)
  return filesIn(to)
}

const inUtf16 = (text: string, order: 'little' | 'big'): Buffer => {
  const bytes = Buffer.from(`\ufeff${text}`, 'utf16le')
  return order === 'little' ? bytes : bytes.swap16()
}

describe.each(['little', 'big'] as const)('a blob in UTF-16, %s-endian, with a byte order mark', (order) => {
  const password = made('[A-Za-z]{4}[0-9][A-Za-z0-9]{7}', order)
  const token = made('ghp_[A-Za-z0-9]{36}', order)
  const run = startedRun()
  // Known from another place, where it has a name.
  run.append('Error', { code: 'E', message: `Authorization: Bearer ${token}`, recoverable: true })
  const bytes = inUtf16(`# settings\r\nDB_PASSWORD=${password}\r\nlast: ${token} é\r\n`, order)
  run.append('BlobStored', { blob: run.putBlob(bytes), size: bytes.length })
  const source = run.write(freshPath())

  test('loses what rules find in it and secrets known from elsewhere, and nothing else', async () => {
    const files = await filesOfRun(source)
    expect([password, token].flatMap((secret) => leaksOf(files, secret))).toEqual([])
    const expected = inUtf16(
      '# settings\r\nDB_PASSWORD=[redacted:named-secret]\r\nlast: [redacted:github-token] é\r\n',
      order,
    )
    expect(Object.values(files).some((blob) => blob.equals(expected))).toBe(true)
  })
})

describe('a token as a key', () => {
  const token = made('ghp_[A-Za-z0-9]{36}', 'key')

  test('is replaced in a member of a payload that the format does not name', async () => {
    const run = startedRun()
    run.append('Error', { code: 'E', message: 'm', recoverable: true, context: { [token]: { user: 'ann' } } })
    const files = await filesOfRun(run.write(freshPath()))
    expect(leaksOf(files, token)).toEqual([])
    expect(files['events.cath-log']!.toString()).toContain('"context":{"[redacted:github-token]":{"user":"ann"}}')
  })

  test('of the payload itself fails the export, without being shown', async () => {
    const run = startedRun()
    run.append('Error', { code: 'E', message: 'm', recoverable: true, [token]: 1 })
    const failed = filesOfRun(run.write(freshPath()))
    await expect(failed).rejects.toMatchObject({
      code: 'RedactionConflict',
      message: expect.not.stringContaining(token),
    })
  })

  test('is replaced in a member of workflow.json that no graph depends on', async () => {
    const source = startedRun().write(freshPath())
    const path = join(source, 'workflow.json')
    const workflow = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>
    writeFileSync(path, JSON.stringify({ ...workflow, notes: { [token]: 'of ann' } }))
    const files = await filesOfRun(source)
    expect(leaksOf(files, token)).toEqual([])
    expect(files['workflow.json']!.toString()).toContain('"notes":{"[redacted:github-token]":"of ann"}')
  })
})
