/** The list of the images of an archived session, for programs that delete images which no file names and can't read archives. */
import { chmodSync, existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import {
  archiveSession,
  describeSessions,
  listContinueTargets,
  listSessions,
  nameSession,
  readSessionHeaders,
  restoreSession,
  searchSessions,
} from '../../index.js'
import { contentIdOf, idsNamedIn, reference } from '../support/plain-media'
import { projectOf, sessionWith } from '../support/project-files.js'
import { fc, test } from '../support/property'
import { resumedAndEnded } from '../support/resuming'
import { PROJECT_HASH, content, envelope } from '../support/session-file.js'

const NAME = 'session-1.jsonl'
const LIST = 'session-1.media.json'

const shown = (...blocks: unknown[]): [string, unknown] => ['content', { content: { speaker: 'human', blocks } }]
const listOf = (ids: string[]) => JSON.stringify({ references: ids.map((contentId) => ({ contentId })) })

/** A directory with a session, and its paths. */
function place(text = sessionWith('abc', content('look'), shown(reference('one', 'two')), shown(reference('one')))) {
  const directory = projectOf({ [NAME]: text })
  return {
    directory,
    session: join(directory, NAME),
    archive: join(directory, `${NAME}.zst`),
    list: join(directory, LIST),
    text,
  }
}

describe('the list of the images of an archived session', () => {
  test('has each id once, in order, and goes when the session is restored', async () => {
    const { directory, session, list, text } = place()
    chmodSync(session, 0o640)
    await archiveSession(session)
    expect(readdirSync(directory).sort()).toEqual([`${NAME}.zst`, LIST])
    expect(readFileSync(list, 'utf8')).toBe(listOf([contentIdOf('one'), contentIdOf('two')].sort()))
    expect(readFileSync(list, 'utf8')).toBe(listOf(idsNamedIn(text)))
    if (process.platform !== 'win32') expect(statSync(list).mode & 0o777).toBe(0o640)
    await archiveSession(session)
    await restoreSession(session)
    expect([readdirSync(directory), readFileSync(session, 'utf8')]).toEqual([[NAME], text])
  })

  test('does not exist for a session without images', async () => {
    const { directory, session } = place(
      sessionWith('abc', content('no image'), shown({ type: 'media', contentId: 'sha256:12' })),
    )
    await archiveSession(session)
    expect(readdirSync(directory)).toEqual([`${NAME}.zst`])
  })

  const anyText = fc
    .array(
      fc.oneof(
        {
          weight: 3,
          arbitrary: fc.constantFrom(
            '"contentId":',
            '"contentId" : ',
            '"contentId"\n:\t',
            '"contentId"\u00a0:',
            '\\"contentId\\":',
            '"contentId"',
          ),
        },
        { weight: 3, arbitrary: fc.constantFrom('one', 'two', 'three').map((text) => `"${contentIdOf(text)}"`) },
        fc.constantFrom('"sha256:12"', `"${contentIdOf('one').toUpperCase()}"`, '\n', ',', 'x', '"', 'é'),
        // Beyond what is read at a time.
        fc.constantFrom(' '.repeat(70_000), 'y'.repeat(262_140)),
      ),
      { maxLength: 30 },
    )
    .map((parts) => parts.join(''))
  test.prop([anyText], { numRuns: 60 })(
    'has the ids that the pattern of the sweep finds in the text, wherever they are',
    async (rest) => {
      const text = sessionWith('abc', content('x')) + rest
      const { session, list } = place(text)
      await archiveSession(session)
      const ids = idsNamedIn(text)
      expect(existsSync(list) ? readFileSync(list, 'utf8') : null).toBe(ids.length === 0 ? null : listOf(ids))
    },
  )

  test('goes with whatever restores the archive by itself', async () => {
    for (const write of [
      async ({ directory }: ReturnType<typeof place>) => {
        await resumedAndEnded(directory)
      },
      async ({ directory }: ReturnType<typeof place>) => {
        await nameSession(
          { chatsDir: directory, sessionId: 'abc', filePath: join(directory, `${NAME}.zst`) },
          PROJECT_HASH,
          'a name',
        )
      },
    ]) {
      const at = place()
      await archiveSession(at.session)
      expect(existsSync(at.list)).toBe(true)
      await write(at)
      expect([existsSync(at.session), existsSync(at.archive), existsSync(at.list)]).toEqual([true, false, false])
    }
  })

  test('goes when a session is restored of which an earlier restoration has left both', async () => {
    const { directory, session, archive, list, text } = place()
    await archiveSession(session)
    const [archived, listed] = [readFileSync(archive), readFileSync(list)]
    await restoreSession(session)
    writeFileSync(archive, archived)
    writeFileSync(list, listed)
    await restoreSession(session)
    expect(readdirSync(directory)).toEqual([NAME])
    // Or the list alone.
    writeFileSync(list, listed)
    await restoreSession(session)
    expect([readdirSync(directory), readFileSync(session, 'utf8')]).toEqual([[NAME], text])
  })

  test('is no session to any listing', async () => {
    const { directory, session } = place()
    const before = [
      await listSessions(directory),
      await describeSessions(directory),
      await readSessionHeaders(directory),
      await listContinueTargets(directory, PROJECT_HASH),
    ]
    await archiveSession(session)
    const after = [
      await listSessions(directory),
      await describeSessions(directory),
      await readSessionHeaders(directory),
      await listContinueTargets(directory, PROJECT_HASH),
    ]
    const sizes = (one: any) =>
      [one.sessions, one.unreadable, one.targets, one.skipped, one].map((list: unknown[] | undefined) => list?.length)
    expect(after.map(sizes)).toEqual(before.map(sizes))
    const found = searchSessions(directory, 'contentId')
    const hits = []
    for await (const hit of found) hits.push(hit)
    expect(hits.every(({ filePath }) => !filePath.endsWith('.media.json'))).toBe(true)
  })

  test('is never written over another file of its name, and the session stays', async () => {
    for (const other of ['mine', '{"references":[]}', `${listOf([contentIdOf('one')])}\n`]) {
      const { directory, session, list, text } = place()
      writeFileSync(list, other)
      await expect(archiveSession(session)).rejects.toMatchObject({
        code: 'Differs',
        message: expect.stringContaining(LIST),
      })
      expect([readdirSync(directory).sort(), readFileSync(session, 'utf8'), readFileSync(list, 'utf8')]).toEqual([
        [NAME, LIST],
        text,
        other,
      ])
      await restoreSession(session)
      expect(readFileSync(list, 'utf8')).toBe(other)
    }
  })

  test('replaces one that an interrupted attempt has left', async () => {
    const { session, list, text } = place()
    writeFileSync(list, listOf([contentIdOf('gone')]))
    await archiveSession(session)
    expect(readFileSync(list, 'utf8')).toBe(listOf(idsNamedIn(text)))
  })

  test('has the images of a session whose last line is torn', async () => {
    const text = `${sessionWith('abc', content('x'))}${envelope(3, shown(reference('torn'))).slice(0, -4)}`
    const { session, list } = place(text)
    await archiveSession(session)
    expect(readFileSync(list, 'utf8')).toBe(listOf([contentIdOf('torn')]))
  })
})
