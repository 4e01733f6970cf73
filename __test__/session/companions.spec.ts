// The files beside a session that live and go with it: the receipt of its import, and the list of its archive's media.

import { existsSync, readFileSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect } from 'vitest'
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
} from '../../index.js'
import { directoryOf } from '../support/file-directory.js'
import { sessionWith } from '../support/project-files.js'
import { fc, test } from '../support/property'
import { startedRecorder } from '../support/recording'
import { content } from '../support/session-file.js'

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
