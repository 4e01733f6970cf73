// The files beside a session that live and go with it: the receipt of its import, and the list of its archive's media.
import {
  existsSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, afterEach } from 'vitest'
import {
  acquireSessionLock,
  archiveSession,
  cleanUpLocks,
  deleteSession,
  importSession,
  keepSessions,
  listSessions,
  removeSessionFiles,
  replaySession,
  restoreSession,
  nameSession,
} from '../../index.js'
import { directoryOf } from '../support/file-directory'
import { sessionWith } from '../support/project-files'
import { fc, test } from '../support/property'
import { startedRecorder } from '../support/recording'
import { content, PROJECT_HASH } from '../support/session-file'
import { resultOf } from '../support/command-line'
import { isRoot, runChild } from '../support/processes'

const SOURCE = fileURLToPath(new URL('../../crates/core/tests/agents/made/claude-mixed.jsonl', import.meta.url))
const ID = 's-claude'
const RECEIPT =
  '{"format":"claude","sessionId":"s","sourceSha256":"0","sourceBytes":1,"records":1,"mapped":1,"kept":0,"dropped":0,"droppedBy":{},"omittedFields":{},"warnings":[]}\n'
const MEDIA = JSON.stringify({ references: [{ contentId: `sha256:${'0'.repeat(64)}` }] })

const target = () => ({ chatsDir: directoryOf(), projectHash: 'p' })
const namesIn = (directory: string) => readdirSync(directory).sort()

function makeOld(...paths: string[]): void {
  const time = Date.now() / 1000 - 100 * 86_400
  for (const path of paths) utimesSync(path, time, time)
}

/** A directory with an old session, its receipt and the list of its media. */
function whole(id = 'one'): { directory: string; session: string } {
  const directory = directoryOf()
  const session = join(directory, `session-${id}.jsonl`)
  writeFileSync(session, sessionWith(id, content('words '.repeat(1000))))
  writeFileSync(`${session}.receipt.jsonl`, RECEIPT)
  writeFileSync(join(directory, `session-${id}.media.json`), MEDIA)
  makeOld(session)
  return { directory, session }
}

describe('the receipt of an import', () => {
  test('goes with the session, so that it can be imported again', async () => {
    const to = target()
    for (let round = 0; round < 3; round++) {
      const { filePath, receiptPath } = await importSession(SOURCE, to)
      expect(namesIn(to.chatsDir)).toStrictEqual([basename(filePath), basename(receiptPath)])
      if (round === 1) await archiveSession(filePath)
      if (round === 2) await removeSessionFiles(filePath)
      else expect(await deleteSession(ID, to.chatsDir, 'p')).toMatchObject({ ok: true })
      expect(namesIn(to.chatsDir)).toStrictEqual([])
    }
  })

  test('stays beside the archive, whose session is not imported a second time', async () => {
    const to = target()
    const { filePath, receiptPath } = await importSession(SOURCE, to)
    const receipt = readFileSync(receiptPath, 'utf8')
    const archive = (await archiveSession(filePath)).filePath
    await expect(importSession(SOURCE, to)).rejects.toMatchObject({ code: 'ESESSIONEXISTS', path: archive })
    expect(namesIn(to.chatsDir)).toStrictEqual([basename(receiptPath), basename(archive)].sort())
    expect(await cleanUpLocks(to.chatsDir)).toBe(0)
    await restoreSession(archive)
    expect([namesIn(to.chatsDir), readFileSync(receiptPath, 'utf8')]).toStrictEqual([
      [basename(filePath), basename(receiptPath)],
      receipt,
    ])
  })

  test('that an earlier release has left without its session is replaced, but no other file', async () => {
    const to = target()
    const { filePath, receiptPath } = await importSession(SOURCE, to)
    await deleteSession(ID, to.chatsDir, 'p')
    writeFileSync(receiptPath, RECEIPT)
    expect(await importSession(SOURCE, to)).toMatchObject({ filePath, receiptPath })
    expect(readFileSync(receiptPath, 'utf8')).toContain(`"sessionId":"${ID}"`)
    await deleteSession(ID, to.chatsDir, 'p')
    writeFileSync(receiptPath, 'notes of the user')
    await expect(importSession(SOURCE, to)).rejects.toMatchObject({ code: 'EEXIST', path: receiptPath })
    expect([namesIn(to.chatsDir), readFileSync(receiptPath, 'utf8')]).toStrictEqual([
      [basename(receiptPath)],
      'notes of the user',
    ])
  })

  test('does not make an import hide the archive of another session', async () => {
    const to = target()
    const { filePath } = await importSession(SOURCE, to)
    await deleteSession(ID, to.chatsDir, 'p')
    writeFileSync(filePath, sessionWith('other', content('x')))
    const archive = (await archiveSession(filePath)).filePath
    const imported = await importSession(SOURCE, to)
    expect(imported.filePath).not.toBe(filePath)
    expect((await listSessions(to.chatsDir)).sessions.map(({ sessionId }) => sessionId).sort()).toStrictEqual([
      'other',
      ID,
    ])
    expect((await replaySession(archive)).ok).toBe(true)
  })
})

describe('what is kept beside a session', () => {
  test('is deleted with it, and its bytes count', async () => {
    for (const archived of [false, true]) {
      const { directory, session } = whole()
      if (archived) {
        await archiveSession(session)
        makeOld(`${session}.zst`)
        writeFileSync(join(directory, 'session-one.media.json'), MEDIA)
      }
      const bytes = namesIn(directory).reduce((sum, name) => sum + statSync(join(directory, name)).size, 0)
      const dry = await keepSessions(directory, { deleteAfter: '90d' }, { dryRun: true })
      const report = await keepSessions(directory, { deleteAfter: '90d' })
      const companions = ['session-one.jsonl.receipt.jsonl', 'session-one.media.json'].map((name) =>
        join(directory, name),
      )
      expect(report).toMatchObject({
        bytesBefore: bytes,
        bytesAfter: 0,
        deleted: [{ bytes, bytesLeft: 0, companions }],
        left: [],
      })
      expect(dry).toStrictEqual(report)
      expect(namesIn(directory)).toStrictEqual([])
    }
  })

  test('counts when the session is archived', async () => {
    const { directory, session } = whole()
    const [bytes, receipt] = [statSync(session).size, statSync(`${session}.receipt.jsonl`).size]
    const { archived, bytesAfter } = await keepSessions(directory, {})
    expect(existsSync(`${session}.receipt.jsonl`)).toBe(true)
    const media = namesIn(directory).includes('session-one.media.json') ? MEDIA.length : 0
    const bytesLeft = statSync(`${session}.zst`).size + receipt + media
    expect([archived, bytesAfter]).toStrictEqual([
      [{ filePath: `${session}.zst`, sessionId: 'one', bytes: bytes + receipt + MEDIA.length, bytesLeft }],
      bytesLeft,
    ])
  })

  test('is removed with the files of the session', async () => {
    const { directory, session } = whole()
    writeFileSync(join(directory, 'session-two.media.json'), MEDIA)
    await removeSessionFiles(session)
    expect(namesIn(directory)).toStrictEqual(['session-two.media.json'])
  })
})

describe('without its session', () => {
  const LEFT = { 'session-one.jsonl.receipt.jsonl': RECEIPT, 'session-one.media.json': MEDIA }
  const left = (files: Record<string, string> = LEFT) => directoryOf(files)

  test('it is swept at once, whatever its age', async () => {
    const directory = left()
    const removedFiles = Object.keys(LEFT).map((name) => join(directory, name))
    expect(await keepSessions(directory, {}, { dryRun: true })).toMatchObject({
      removed: { snapshots: 2 },
      removedFiles,
    })
    expect(await cleanUpLocks(directory)).toBe(0)
    expect(namesIn(directory)).toStrictEqual([])
    const other = left()
    expect(await keepSessions(other)).toMatchObject({ removed: { snapshots: 2 } })
    expect(namesIn(other)).toStrictEqual([])
  })

  test.each(['session-one.jsonl', 'session-one.jsonl.zst'])('it stays beside %s', async (name) => {
    const directory = left({ ...LEFT, [name]: 'x' })
    makeOld(...readdirSync(directory).map((one) => join(directory, one)))
    await cleanUpLocks(directory)
    expect(namesIn(directory)).toStrictEqual([...Object.keys(LEFT), name].sort())
  })

  test('it stays while a process has the lock of the session', async () => {
    const directory = left()
    for (const id of ['one', 'o']) {
      const lock = await acquireSessionLock(directory, id)
      await cleanUpLocks(directory)
      expect(namesIn(directory).includes('session-one.media.json')).toBe(id === 'one')
      await lock.release()
    }
    const exclusive = directoryOf()
    const { recorder, path } = await startedRecorder({ chatsDir: exclusive, exclusive: true })
    writeFileSync(`${path}.receipt.jsonl`, RECEIPT)
    // Gone, but its lock is not.
    rmSync(path)
    await cleanUpLocks(exclusive)
    expect(namesIn(exclusive)).toContain(basename(`${path}.receipt.jsonl`))
    await recorder.dispose().catch(() => {})
  })

  const others = fc.constantFrom(
    '',
    '{}',
    'x',
    '[]',
    'null',
    '{"references":{}}',
    '{"references":[{"contentId":"x"}]}',
    '{"references":[],"more":1}',
    `{"references":[{"contentId":"sha256:${'0'.repeat(64)}","more":1}]}`,
    RECEIPT,
  )
  test.prop([others], { numRuns: 10 })('a file of that name with other content stays', async (text) => {
    const files = { 'one.media.json': text, 'one.jsonl.receipt.jsonl': text === RECEIPT ? MEDIA : text }
    const directory = directoryOf(files)
    await cleanUpLocks(directory)
    expect(namesIn(directory)).toStrictEqual(Object.keys(files).sort())
  })
})

const SESSION_NAME = 'session-1.jsonl'
const NOBODY = 65534
const TEXT = sessionWith('abc', content('a question'), content('an answer', 'ai'))

const made: string[] = []
afterEach(() => made.splice(0).forEach((directory) => rmSync(directory, { recursive: true, force: true })))

/** A directory that everybody can enter, with a session. */
function place(text = TEXT) {
  const directory = mkdtempSync('/tmp/session-tape-owner-')
  made.push(directory)
  chmodSync(directory, 0o777)
  const session = join(directory, SESSION_NAME)
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
    expect([readdirSync(directory), owned(session)]).toStrictEqual([[SESSION_NAME], [0, 0, '644']])
    await archiveSession(session)
    expect(await callAs(NOBODY, ['restoreSession', session])).toMatchObject(refused)
    expect([readdirSync(directory), owned(archive)]).toStrictEqual([[`${SESSION_NAME}.zst`], [0, 0, '644']])
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
