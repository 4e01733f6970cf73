/** An image that a session repeats costs its bytes once, in an archive and in a bundle. */
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { archiveSession, exportBundle, openSession, replaySession, restoreSession, verifyBundle } from '../../index.js'
import { directoryOf } from '../support/file-directory'
import { projectOf, sessionWith } from '../support/project-files.js'
import { test } from '../support/property'
import { PROJECT_HASH, content } from '../support/session-file.js'

const IMAGE_BYTES = 1 << 20

/** A session with five images, six times over, and text between them. */
function sessionOfImages(): { session: string; text: string } {
  const images = Array.from({ length: 5 }, () => randomBytes(IMAGE_BYTES).toString('base64'))
  const events = Array.from({ length: 30 }, (_, at) => content(`${images[at % 5]!} seen ${at} times`))
  const text = sessionWith('abc', ...events)
  const directory = projectOf({ 'session-1.jsonl': text })
  return { session: join(directory, 'session-1.jsonl'), text }
}

describe('a session that repeats its images', () => {
  test('becomes an archive that has each image once, and is read and restored as it was', async () => {
    const { session, text } = sessionOfImages()
    const before = await replaySession(session, PROJECT_HASH)
    const { filePath, archivedBytes, bytes } = await archiveSession(session)
    expect(bytes).toBe(text.length)
    // The bytes of the images, which base64 makes a third longer.
    expect(archivedBytes).toBeLessThan(5 * IMAGE_BYTES * 1.05)
    expect(await replaySession(filePath, PROJECT_HASH)).toEqual(before)
    const opened = await openSession(filePath)
    if (!opened.ok) throw new Error(opened.error)
    expect(await opened.session.items(-1)).toHaveLength(1)
    opened.session.close()
    const unpacked = spawnSync('zstd', ['-dc', '--long=26', filePath], { maxBuffer: 2 * text.length })
    if (unpacked.error === undefined)
      expect([unpacked.status, unpacked.stdout.equals(Buffer.from(text))]).toEqual([0, true])
    else console.warn('skipped: zstd cannot be run here')
    await restoreSession(filePath)
    expect(readFileSync(session).equals(Buffer.from(text))).toBe(true)
  })

  test.each([undefined, 1])('becomes a bundle that has each image once, at level %s', async (level) => {
    const { session } = sessionOfImages()
    const bundle = join(directoryOf(), 'images.tar.zst')
    await exportBundle(session, bundle, { level })
    // Without repeats found at a distance it is six times as large.
    expect(statSync(bundle).size).toBeLessThan(5 * IMAGE_BYTES * 2.5)
    expect((await verifyBundle(bundle)).ok).toBe(true)
  })
})
