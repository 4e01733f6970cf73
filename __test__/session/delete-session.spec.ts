// deleteSession: removes a session with all files that belong to it, or leaves it whole; a failure has a message and a code, and leaves no lock.
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  mkdtempSync,
  realpathSync,
} from 'node:fs'
import { join, sep, basename, dirname, relative } from 'node:path'
import { afterEach, describe, expect, vi, afterAll } from 'vitest'
import { fc, test } from '../support/property'
import {
  CONTINUE_LATEST,
  acquireSessionLock,
  deleteSession,
  isSessionLocked,
  listContinueTargets,
  replaySession,
  type DeleteOptions,
  type SessionFailure,
  removeSessionFiles,
} from '../../index.js'
import {
  PROJECT_HASH,
  START_PAYLOAD,
  content,
  envelope,
  file,
  session,
  start,
  writeSession,
} from '../support/session-file'
import {
  afterListing,
  binding,
  checkpoint,
  checkpointDeleted,
  checkpointRenamed,
  expectNoLock,
  lockFilesIn,
  named,
  projectOf,
  sessionWith,
  watched,
} from '../support/project-files'
import { LockProcess } from '../support/session-locks'
import { anyEvents, runs } from '../support/session-arbitraries'
import { directoryOf, root } from '../support/file-directory'
import { resumed } from '../support/resuming'
import { childReport, unprivileged } from '../support/processes'
import { tmpdir } from 'node:os'
import { recordedSession } from '../support/recording'

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const remove = (directory: string, ref: string, options?: DeleteOptions) =>
  deleteSession(ref, directory, PROJECT_HASH, options)
const fails = (error: string, code: string): SessionFailure => ({
  ok: false,
  error,
  code: code as SessionFailure['code'],
})
const deleted = (deletedSessionId: string) => ({ ok: true, deletedSessionId })

/** The contents of the files in a directory, by name. */
const contentsOf = (directory: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(directory, { withFileTypes: true }).map((entry) => [
      entry.name,
      entry.isFile() ? readFileSync(join(directory, entry.name), 'latin1') : 'other',
    ]),
  )

/** Asserts that the deletion fails with this message and code, changes nothing, and leaves no lock of the ids. */
async function expectFailure(
  directory: string,
  ref: string,
  failure: SessionFailure,
  ids: string[],
  options?: DeleteOptions,
): Promise<void> {
  const before = contentsOf(directory)
  expect(await remove(directory, ref, options)).toStrictEqual(failure)
  expect(contentsOf(directory)).toStrictEqual(before)
  await expectNoLock(directory, ...ids)
}

describe('a deleted session', () => {
  test.each([
    ['its id', 'abd', {}],
    ['its position', '2', {}],
    ['the beginning of its id', 'abd-', {}],
    ['its whole id', 'abd-2', { exact: true }],
  ])('is denoted by %s', async (_, ref, options) => {
    const directory = projectOf({
      'session-1.jsonl': sessionWith('abc'),
      'session-2.jsonl': sessionWith('abd-2', content('é')),
      'session-3.jsonl': sessionWith('xyz'),
    })
    expect(await remove(directory, ref, options)).toStrictEqual(deleted('abd-2'))
    expect(readdirSync(directory).sort()).toStrictEqual(['session-1.jsonl', 'session-3.jsonl'])
    await expectNoLock(directory, 'abc', 'abd-2', 'xyz')
  })

  test('may be sequence-corrupt, and have deleted checkpoints', async () => {
    const text = `${sessionWith('s-1', content('a'), checkpoint('c', 'ç'), checkpointDeleted('c'))}${envelope(2, content('b'))}\n`
    const directory = projectOf({ 'session-1.jsonl': text })
    expect(await remove(directory, 's-1')).toStrictEqual(deleted('s-1'))
    expect(readdirSync(directory)).toStrictEqual([])
  })

  test('behind a symbolic link: only the link is removed', async () => {
    const elsewhere = writeSession(sessionWith('s-1'))
    const directory = directoryOf()
    symlinkSync(elsewhere, join(directory, 'session-link.jsonl'))
    expect(await remove(directory, 's-1')).toStrictEqual(deleted('s-1'))
    expect([readdirSync(directory), existsSync(elsewhere)]).toStrictEqual([[], true])
  })

  test('is the newest of several files with its id, and the others are named', async () => {
    const directory = projectOf({ 'session-2.jsonl': sessionWith('same'), 'session-1.jsonl': sessionWith('same') })
    const [newest, other] = ['session-2.jsonl', 'session-1.jsonl'].map((name) => join(directory, name))
    expect(await remove(directory, 'same', { exact: true })).toStrictEqual({
      ...deleted('same'),
      warnings: [`Session same is also in '${other}'. '${newest}' was deleted`],
    })
    expect(readdirSync(directory)).toStrictEqual(['session-1.jsonl'])
    expect(await remove(directory, 'same')).toStrictEqual(deleted('same'))
    expect(await remove(directory, 'same')).toStrictEqual(fails('No sessions found for this project', 'NoSessions'))
  })

  test('is locked while it is being deleted', async () => {
    const directory = projectOf({ 'session-1.jsonl': sessionWith('s-1') })
    const states: Promise<boolean>[] = []
    const open = binding['openReplay']!
    vi.spyOn(binding, 'openReplay').mockImplementation((...args) => {
      states.push(isSessionLocked(directory, 's-1'))
      return open(...args)
    })
    expect(await remove(directory, 's-1')).toStrictEqual(deleted('s-1'))
    expect(await Promise.all(states)).toStrictEqual([true])
    expect(readdirSync(directory)).toStrictEqual([])
  })

  test('is deleted by exactly one of several concurrent calls', async () => {
    const directory = projectOf({ 'session-1.jsonl': sessionWith('s-1'), 'session-2.jsonl': sessionWith('s-2') })
    const results = await Promise.all(Array.from({ length: 6 }, () => remove(directory, 's-1')))
    expect(results.filter(({ ok }) => ok)).toStrictEqual([deleted('s-1')])
    // A call that has found the session may lock it after it is gone.
    for (const result of results) if (!result.ok) expect(['Locked', 'ReplayFailed']).toContain(result.code)
    await expectNoLock(directory, 's-1', 's-2')
    expect(readdirSync(directory)).toStrictEqual(['session-2.jsonl'])
  })

  const FOREIGN = [
    'session-2.jsonl',
    'session-1.jsonl.snap.old',
    'session-1.jsonlx',
    'x-session-1.jsonl.snap',
    's-1',
    's-1.jsonl',
    's-12.lock',
    '.session-tape-1.snap',
    'session-1.jsonl.lock.bak',
    'nötes.txt',
  ]
  const OWN = ['session-1.jsonl.snap', 'session-1.jsonl.lock']
  test.prop([fc.subarray(FOREIGN), fc.subarray(OWN), anyEvents], runs(40))(
    'any directory: the files of the session are removed and all others stay; a session that is not deleted stays whole',
    async (foreign, own, events) => {
      const directory = directoryOf(
        Object.fromEntries([...foreign, ...own].map((name) => [name, `content of ${name}`])),
      )
      const path = join(directory, 'session-1.jsonl')
      writeFileSync(path, session(...events))
      const before = contentsOf(directory)
      const replayed = await replaySession(path, PROJECT_HASH, { strict: true })
      const live = replayed.ok ? replayed.checkpoints.filter((one) => !one.deleted) : []
      const result = await remove(directory, START_PAYLOAD.sessionId)
      const after = contentsOf(directory)
      if (live.length === 0 && replayed.ok) {
        expect(result).toStrictEqual(deleted(START_PAYLOAD.sessionId))
        for (const name of ['session-1.jsonl', ...OWN]) delete before[name]
      } else {
        const names = live.map(({ name, checkpointId }) => `${name} (${checkpointId})`).join(', ')
        const { unreadable } = await listContinueTargets(directory, PROJECT_HASH)
        const passedOver = unreadable.length === 0 ? {} : { unreadable }
        expect(result).toStrictEqual({
          ...fails(`Cannot delete session: live checkpoints block deletion: ${names}`, 'CheckpointsBlock'),
          ...passedOver,
        })
      }
      expect(after).toStrictEqual(before)
      await expectNoLockBut(directory, foreign)
      rmSync(directory, { recursive: true })
    },
  )

  async function expectNoLockBut(directory: string, foreign: readonly string[]): Promise<void> {
    expect(lockFilesIn(directory)).toStrictEqual(foreign.filter((name) => name === 's-12.lock'))
    await (await acquireSessionLock(directory, START_PAYLOAD.sessionId)).release()
  }
})

describe('a failure', () => {
  test('without any session of the project', async () => {
    const directories = [
      directoryOf(),
      directoryOf({
        'session-other.jsonl': file(start({ projectHash: 'øther' })),
        'foreign.jsonl': session(),
        'session-empty.jsonl': '',
      }),
    ]
    for (const directory of directories) {
      const { unreadable } = await listContinueTargets(directory, PROJECT_HASH)
      const passedOver = unreadable.length === 0 ? {} : { unreadable }
      await expectFailure(
        directory,
        '1',
        { ...fails('No sessions found for this project', 'NoSessions'), ...passedOver },
        [],
      )
      await expectFailure(directory, '1', { ...fails('Session not found: 1', 'NotFound'), ...passedOver }, [], {
        exact: true,
      })
    }
    expect(await remove(join(root(), 'none', 'deeper'), 'x')).toStrictEqual(
      fails('No sessions found for this project', 'NoSessions'),
    )
    expect(existsSync(join(root(), 'none'))).toBe(false)
  })

  test('of any kind says which files were passed over', async () => {
    const directory = projectOf({
      'session-1.jsonl': sessionWith('abc'),
      'session-2.jsonl': sessionWith('abd'),
      'session-bad.jsonl': '',
    })
    const unreadable = [
      { filePath: join(directory, 'session-bad.jsonl'), reason: 'Empty file or unreadable first line' },
    ]
    const lock = await acquireSessionLock(directory, 'abc')
    const codes = ['NotFound', 'IndexOutOfRange', 'Ambiguous', 'Locked']
    for (const [index, ref] of ['x', '9', 'ab', 'abc'].entries())
      expect(await remove(directory, ref), ref).toMatchObject({ ok: false, code: codes[index], unreadable })
    await lock.release()
    expect(await remove(directory, 'abc')).toStrictEqual(deleted('abc'))
  })

  test('for a reference that denotes no session, or several; names are not references', async () => {
    const directory = projectOf({
      'session-1.jsonl': sessionWith('abc', named('náme')),
      'session-2.jsonl': sessionWith('abd'),
      'session-3.jsonl': sessionWith('7'),
    })
    const ids = ['abc', 'abd', '7']
    for (const ref of ['náme', 'latest', CONTINUE_LATEST])
      await expectFailure(directory, ref, fails(`Session not found for this project: ${ref}`, 'NotFound'), ids)
    const range = fails('Session index 0 out of range (1-3)', 'IndexOutOfRange')
    await expectFailure(directory, '0', range, ids)
    await expectFailure(directory, 'ab', fails("Ambiguous session prefix 'ab' matches: abc, abd", 'Ambiguous'), ids)
    for (const ref of ['x', 'náme', '1', 'ab', 'abcd', '', 'ABC', ' abc'])
      await expectFailure(directory, ref, fails(`Session not found: ${ref}`, 'NotFound'), ids, { exact: true })
    expect(await remove(directory, '7', { exact: true })).toStrictEqual(deleted('7'))
  })

  test('of a session that is in use, by another process or by this one', async () => {
    const directory = projectOf({ 'session-1.jsonl': sessionWith('s-1'), 'session-2.jsonl': sessionWith('s-2') })
    const other = new LockProcess()
    expect(await other.acquire(directory, 's-1')).toBe('held')
    const { recording } = await resumed(directory, 's-2')
    const inUse = fails('Cannot delete: session is in use by another process', 'Locked')
    for (const ref of ['s-1', 's-2'])
      for (const exact of [false, true]) expect(await remove(directory, ref, { exact })).toStrictEqual(inUse)
    expect(lockFilesIn(directory).sort()).toStrictEqual(['s-1.lock', 's-2.lock'])
    await other.release()
    await other.kill()
    await recording.dispose()
    await expectNoLock(directory, 's-1', 's-2')
    for (const ref of ['s-1', 's-2']) expect(await remove(directory, ref)).toStrictEqual(deleted(ref))
    expect(readdirSync(directory)).toStrictEqual([])
  })

  test('to lock an unsafe id', async () => {
    for (const id of ['a/b', '.']) {
      const directory = projectOf({ 'session-1.jsonl': sessionWith(id) })
      const error = `Failed to lock session for deletion: Unsafe session ID rejected: "${id}"`
      for (const exact of [false, true]) await expectFailure(directory, id, fails(error, 'LockFailed'), [], { exact })
    }
  })

  test.skipIf(process.platform === 'win32')("to lock for a reason of the system has the system's message", async () => {
    const id = 'n'.repeat(256)
    const directory = projectOf({ 'session-1.jsonl': sessionWith(id) })
    for (const exact of [false, true]) {
      await expect(deleteSession(id, directory, PROJECT_HASH, { exact })).rejects.toMatchObject({
        code: 'ENAMETOOLONG',
        path: expect.stringContaining(join(directory, 'nnn')) as string,
      })
    }
    expect(readdirSync(directory)).toStrictEqual(['session-1.jsonl'])
  })

  test.skipIf(unprivileged === null)('to lock in a directory that the user may not write to', async () => {
    const directory = projectOf({ 'session-1.jsonl': sessionWith('s-1') })
    chmodSync(directory, 0o555)
    const result = await childReport(
      'child-listing.mjs',
      ['delete', directory, PROJECT_HASH, 's-1'],
      unprivileged ?? {},
    )
    expect(result).toStrictEqual({
      rejected: 'EACCES',
      message: expect.stringMatching(/^EACCES: permission denied, open '/) as string,
      path: expect.stringContaining(join(directory, 's-1.lock')) as string,
    })
    chmodSync(directory, 0o755)
    expect(readdirSync(directory)).toStrictEqual(['session-1.jsonl'])
  })

  const unverified = (error: string) =>
    fails(`Failed to delete session: Cannot verify checkpoint blockers: ${error}`, 'ReplayFailed')

  test('to replay a file that was removed or replaced after it had been found', async () => {
    const directory = projectOf({ 'session-1.jsonl': sessionWith('s-1') })
    const path = join(directory, 'session-1.jsonl')
    for (const [change, error] of [
      [
        () => writeFileSync(path, file(start({ projectHash: 'øther' }))),
        `Project hash mismatch: expected ${PROJECT_HASH} got øther`,
      ],
      [() => writeFileSync(path, ''), 'Empty file'],
      [() => rmSync(path), `Failed to read file: ENOENT: no such file or directory, open '${path}'`],
    ] as const) {
      afterListing(change)
      expect(await remove(directory, 's-1')).toStrictEqual(unverified(error))
      await expectNoLock(directory, 's-1')
      writeFileSync(path, sessionWith('s-1'))
    }
  })

  test('to replay with a rejection has its message, too', async () => {
    const directory = projectOf({ 'session-1.jsonl': sessionWith('s-1') })
    watched('openReplay').mockImplementationOnce(() => {
      throw new Error('das Addon kann nicht mehr')
    })
    await expectFailure(directory, 's-1', unverified('das Addon kann nicht mehr'), ['s-1'])
  })

  test('because of live checkpoints names them in their order', async () => {
    const events = [
      content('a'),
      checkpoint('c1', 'zuerst'),
      checkpoint('c2', 'gone'),
      checkpoint('c3', 'before'),
      content('b'),
      checkpointDeleted('c2'),
      checkpointRenamed('c3', 'à la fin'),
    ]
    const directory = projectOf({ 'session-1.jsonl': sessionWith('s-1', ...events) })
    const blocked = fails(
      'Cannot delete session: live checkpoints block deletion: zuerst (c1), à la fin (c3)',
      'CheckpointsBlock',
    )
    for (const exact of [false, true]) await expectFailure(directory, 's-1', blocked, ['s-1'], { exact })
    appendFileSync(
      join(directory, 'session-1.jsonl'),
      `${envelope(9, checkpointDeleted('c1'))}\n${envelope(10, checkpointDeleted('c3'))}\n`,
    )
    expect(await remove(directory, 's-1')).toStrictEqual(deleted('s-1'))
  })

  test('to remove the snapshot of an earlier version leaves the session', async () => {
    const directory = projectOf({ 'session-1.jsonl': sessionWith('s-1') })
    mkdirSync(join(directory, 'session-1.jsonl.snap'))
    const words = expect.stringMatching(
      /^Failed to delete session: (EISDIR|EPERM): .*, unlink '.*session-1\.jsonl\.snap'$/,
    ) as string
    await expectFailure(directory, 's-1', fails(words, 'System'), ['s-1'])
  })
})

describe('the arguments', () => {
  test('with a directory that cannot be read: rejects', async () => {
    await expect(remove(writeSession(''), 'x')).rejects.toMatchObject({ code: 'ENOTDIR' })
    await expect(remove('a\0b', 'x')).rejects.toMatchObject({ code: 'ERR_INVALID_ARG_VALUE' })
  })

  test.skipIf(unprivileged === null)('with a directory that the user may not read: rejects', async () => {
    const directory = projectOf({ 'session-1.jsonl': sessionWith('s-1') })
    chmodSync(directory, 0o311)
    expect(
      await childReport('child-listing.mjs', ['delete', directory, PROJECT_HASH, 's-1'], unprivileged ?? {}),
    ).toMatchObject({ rejected: 'EACCES' })
    expect(existsSync(join(directory, 'session-1.jsonl'))).toBe(true)
  })

  test('may be relative paths, even if the working directory and the options change meanwhile', async () => {
    const [directory, elsewhere] = [
      projectOf({ 'session-1.jsonl': sessionWith('s-1') }),
      projectOf({ 'session-1.jsonl': sessionWith('s-1') }),
    ]
    const before = process.cwd()
    try {
      process.chdir(directory)
      afterListing(() => process.chdir(elsewhere))
      const options: Record<string, unknown> = { exact: true }
      const removing = remove(`.${sep}`, 's-1', options)
      Object.assign(options, { exact: 7 })
      expect(await removing).toStrictEqual(deleted('s-1'))
    } finally {
      process.chdir(before)
    }
    expect([readdirSync(directory), readdirSync(elsewhere)]).toStrictEqual([[], ['session-1.jsonl']])
  })
})

const top = realpathSync(mkdtempSync(join(tmpdir(), 'session-tape-')))
afterAll(() => rmSync(top, { recursive: true, force: true }))

let directories = 0
function freshDirectory(): string {
  const directory = join(top, String(++directories))
  mkdirSync(directory)
  return directory
}

/** A recorded recordedFiles, with the lock file that an exclusive recorder left. */
async function recordedFiles(chatsDir: string): Promise<string> {
  const path = await recordedSession({ sessionId: 'süß', chatsDir })
  writeFileSync(`${path}.lock`, '{}')
  return path
}

describe('removeSessionFiles', () => {
  test('leaves an empty directory, also by a link to it or a relative path', async () => {
    const chatsDir = freshDirectory()
    const linked = join(freshDirectory(), 'link')
    symlinkSync(chatsDir, linked)
    for (const toDirectory of [chatsDir, linked, relative(process.cwd(), chatsDir)]) {
      const path = await recordedFiles(chatsDir)
      writeFileSync(`${path}.snap`, 'session-tape snapshot 4')
      await removeSessionFiles(join(toDirectory, basename(path)))
      expect(readdirSync(chatsDir)).toEqual([])
    }
  })

  const FILES = [
    'a.jsonl',
    'a.jsonl.snap',
    'a.jsonl.lock',
    'a.jsonl.zst',
    'a.jsonl.zst.snap',
    'a.jsonl.receipt.jsonl',
    'a.media.json',
  ]
  const ALL_FILES = [
    ...FILES,
    'a.receipt.jsonl',
    'a.jsonl.media.json',
    'b.media.json',
    'a.lock',
    'b.jsonl',
    'b.jsonl.snap',
    'a.jsonl.snap.old',
    '.session-tape-1.snap',
    'a.jsonl.lockX',
  ]
  test.prop([fc.subarray(ALL_FILES)], { numRuns: 60 })(
    'removes the files of the recordedFiles and no others, whichever exist',
    async (names) => {
      const directory = freshDirectory()
      for (const name of names)
        writeFileSync(
          join(directory, name),
          name.endsWith('.media.json') ? `{"references":[{"contentId":"sha256:${'a'.repeat(64)}"}]}` : name,
        )
      await removeSessionFiles(join(directory, 'a.jsonl'))
      expect(readdirSync(directory).sort()).toEqual(names.filter((name) => !FILES.includes(name)).sort())
    },
  )

  test.each(['{"references":[{"contentId":"x"}]}', '{"references":[]}', '[]', ''])(
    'leaves a list of media that is of another program: %s',
    async (text) => {
      const directory = freshDirectory()
      for (const name of ['a.jsonl.zst', 'a.media.json']) writeFileSync(join(directory, name), text)
      await removeSessionFiles(join(directory, 'a.jsonl'))
      expect(readdirSync(directory)).toEqual(['a.media.json'])
    },
  )

  test("rejects with the system's error for what cannot be removed", async () => {
    const directory = freshDirectory()
    mkdirSync(join(directory, 'a.jsonl'))
    await expect(removeSessionFiles(join(directory, 'a.jsonl'))).rejects.toMatchObject({
      code: expect.stringMatching(/^(EISDIR|EPERM)$/),
      syscall: 'unlink',
    })
    expect(existsSync(join(directory, 'a.jsonl'))).toBe(true)
    await expect(removeSessionFiles(join(dirname(directory), 'nowhere', 'a.jsonl'))).resolves.toBeUndefined()
  })

  test('takes no options', () => {
    expect(() => (removeSessionFiles as (...all: unknown[]) => unknown)('x', { snapshotDir: 's' })).toThrow(
      "options has no member 'snapshotDir': the function has no options",
    )
  })
})
