// What replaces a file of a user keeps his: its owner, its group and its permissions.

import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { archiveSession, nameSession, restoreSession } from '../../index.js'
import { resultOf } from '../support/command-line.js'
import { isRoot, runChild } from '../support/processes.js'
import { PROJECT_HASH, content } from '../support/session-file.js'
import { sessionWith } from '../support/project-files.js'

const NAME = 'session-1.jsonl'
const NOBODY = 65534
const TEXT = sessionWith('abc', content('a question'), content('an answer', 'ai'))

const made: string[] = []
afterEach(() => made.splice(0).forEach((directory) => rmSync(directory, { recursive: true, force: true })))

/** A directory that everybody can enter, with a session. */
function place(text = TEXT) {
  const directory = mkdtempSync('/tmp/session-tape-owner-')
  made.push(directory)
  chmodSync(directory, 0o777)
  const session = join(directory, NAME)
  writeFileSync(session, text)
  return { directory, session, archive: `${session}.zst` }
}

/** Whose a file is. */
const owned = (path: string) => {
  const { uid, gid, mode } = statSync(path)
  return [uid, gid, (mode & 0o777).toString(8)]
}

async function callAs(uid: number, ...calls: unknown[][]) {
  const { stdout, stderr } = await runChild('child-call.mjs', [JSON.stringify(calls)], { uid })
  if (stdout === '') throw new Error(stderr)
  return JSON.parse(stdout)
}

describe.skipIf(!isRoot)('root, for a session of a user (needs root)', () => {
  const OWNED = [NOBODY, 12345, '640']
  const placeOwned = (text?: string) => {
    const files = place(text)
    chownSync(files.session, NOBODY, 12345)
    chmodSync(files.session, 0o640)
    return files
  }

  test('archives and restores it as his', async () => {
    const { session, archive } = placeOwned()
    const umask = process.umask(0o077)
    await archiveSession(session)
    expect(owned(archive)).toStrictEqual(OWNED)
    await restoreSession(session)
    process.umask(umask)
    expect([owned(session), readFileSync(session, 'utf8')]).toStrictEqual([OWNED, TEXT])
  })

  test('names it, which restores it as his', async () => {
    const { directory, session } = placeOwned()
    await archiveSession(session)
    await nameSession({ filePath: session, chatsDir: directory, sessionId: 'abc' }, PROJECT_HASH, 'mine')
    expect(owned(session)).toStrictEqual(OWNED)
  })

  test('repairs it in place as his, and what is kept too', async () => {
    const { directory, session } = placeOwned(`${TEXT.slice(0, -20)}\n${TEXT.split('\n').at(-2)}\n`)
    expect(await resultOf(['repair', session, '--in-place'])).toMatchObject({ changed: true })
    expect(readdirSync(directory).map((name) => owned(join(directory, name)))).toStrictEqual([OWNED, OWNED])
  })
})

describe.skipIf(!isRoot)('a user, for a session that he may not give away (needs root)', () => {
  test('leaves it: what is archived or restored would be his own', async () => {
    const { directory, session, archive } = place()
    chmodSync(session, 0o644)
    const refused = [{ code: 'EPERM', syscall: 'fchown' }]
    expect(await callAs(NOBODY, ['archiveSession', session])).toMatchObject(refused)
    expect([readdirSync(directory), owned(session)]).toStrictEqual([[NAME], [0, 0, '644']])
    await archiveSession(session)
    expect(await callAs(NOBODY, ['restoreSession', session])).toMatchObject(refused)
    expect([readdirSync(directory), owned(archive)]).toStrictEqual([[`${NAME}.zst`], [0, 0, '644']])
  })

  test('leaves it when he keeps its directory, and says so', async () => {
    const { directory, session } = place()
    chmodSync(session, 0o644)
    utimesSync(session, 1, 1)
    mkdirSync(join(directory, 'empty'))
    const [{ value }] = await callAs(NOBODY, ['keepSessions', directory, { archiveAfter: 1, minAge: 0 }])
    expect(value).toMatchObject({ archived: [], left: [{ filePath: session, reason: 'Failed' }] })
    expect(value.left[0].message).toContain('EPERM')
  })
})
