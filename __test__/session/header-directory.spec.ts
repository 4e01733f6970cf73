// readSessionHeaders of a directory: every session file in it by name, with its header or null.

import '../support/on-disk.js' // Both ways of reading: at once, which takes a disk, and later.
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { createServer } from 'node:net'

import { join, relative, sep } from 'node:path'
import { describe, expect } from 'vitest'
import { fc, test } from '../support/property'
import { readSessionHeaders } from '../../index.js'
import type { SessionFileHeader } from '../../index.js'
import { START_PAYLOAD, content, file, session, start, writeSession } from '../support/session-file.js'
import { eachCase } from '../support/each-case.js'
import { anyFile } from '../support/line-arbitraries.js'
import { directoryOf, root } from '../support/file-directory.js'
import { childReport, isLinux, unprivileged } from '../support/processes'
import { runs } from '../support/session-arbitraries.js'
import { expectSame } from '../support/same-replay.js'

const canMakePipes = isLinux && spawnSync('mkfifo', ['--version']).status === 0

/** Names and headers of the entries, in their order. */
const found = (directory: string, entries: SessionFileHeader[]) =>
  entries.map(({ filePath, header }) => [relative(directory, filePath), header] as const)

describe('the headers of a directory', () => {
  test('are those of its .jsonl files, in the order of their names', async () => {
    const directory = directoryOf({
      'b.jsonl': session(content('a')),
      'a.jsonl': file(start({ model: 'é名' })),
      'B.jsonl': session(),
      'a.jsonl.lock': '{}',
      'c.JSONL': session(),
      'd.json': session(),
      jsonl: session(),
    })
    expect(await readSessionHeaders(directory)).toStrictEqual([
      { filePath: join(directory, 'B.jsonl'), header: START_PAYLOAD },
      { filePath: join(directory, 'a.jsonl'), header: { ...START_PAYLOAD, model: 'é名' } },
      { filePath: join(directory, 'b.jsonl'), header: START_PAYLOAD },
    ])
  })

  test('are in the order in which sort puts their names, even beyond the first plane of Unicode', async () => {
    const names = ['\uff5e.jsonl', '🎞.jsonl', 'é.jsonl', 'z.jsonl', 'Z.jsonl', '10.jsonl', '9.jsonl']
    const directory = directoryOf(Object.fromEntries(names.map((name) => [name, session()])))
    expect(found(directory, await readSessionHeaders(directory)).map(([name]) => name)).toStrictEqual(names.sort())
  })

  test('have the paths that join makes of the directory and the names', async () => {
    const directory = directoryOf({ 'a.jsonl': session() })
    const here = relative(process.cwd(), directory)
    await eachCase(
      [directory, `${directory}${sep}`, `${directory}${sep}.${sep}`, here, `.${sep}${here}`],
      async (spelled) => {
        expect(await readSessionHeaders(spelled)).toStrictEqual([
          { filePath: join(spelled, 'a.jsonl'), header: START_PAYLOAD },
        ])
      },
    )
    const before = process.cwd()
    process.chdir(directory)
    try {
      expect(await readSessionHeaders('.')).toStrictEqual([{ filePath: 'a.jsonl', header: START_PAYLOAD }])
    } finally {
      process.chdir(before)
    }
  })

  test('are null for files that are not sessions, which do not affect the others', async () => {
    const directory = directoryOf({
      'good.jsonl': session(),
      'empty.jsonl': '',
      'garbage.jsonl': '\xff\n',
      'long.jsonl': 'x'.repeat((1 << 20) + 1),
    })
    mkdirSync(join(directory, 'directory.jsonl'))
    writeFileSync(join(directory, 'directory.jsonl', 'deeper.jsonl'), session())
    symlinkSync('nowhere', join(directory, 'dangling.jsonl'))
    symlinkSync('circle.jsonl', join(directory, 'circle.jsonl'))
    symlinkSync('good.jsonl', join(directory, 'link.jsonl'))
    symlinkSync('directory.jsonl', join(directory, 'to-directory.jsonl'))
    expect(found(directory, await readSessionHeaders(directory))).toStrictEqual([
      ['circle.jsonl', null],
      ['dangling.jsonl', null],
      ['directory.jsonl', null],
      ['empty.jsonl', null],
      ['garbage.jsonl', null],
      ['good.jsonl', START_PAYLOAD],
      ['link.jsonl', START_PAYLOAD],
      ['long.jsonl', null],
      ['to-directory.jsonl', null],
    ])
  })

  test.skipIf(!canMakePipes)('are null for pipes and sockets, which do not block the call', async () => {
    const directory = directoryOf({ 'good.jsonl': session() })
    spawnSync('mkfifo', [join(directory, 'pipe.jsonl')])
    symlinkSync('pipe.jsonl', join(directory, 'to-pipe.jsonl'))
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(join(directory, 's.jsonl'), resolve))
    const entries = await childReport<SessionFileHeader[]>('child-listing.mjs', ['directory', directory])
    expect(found(directory, entries)).toStrictEqual([
      ['good.jsonl', START_PAYLOAD],
      ['pipe.jsonl', null],
      ['s.jsonl', null],
      ['to-pipe.jsonl', null],
    ])
    await new Promise((resolve) => server.close(resolve))
  })
})

const name = fc.stringMatching(/^[a-zA-Z0-9 .#%é"'\\\n-]{0,8}$/).map((text) => `n${text}.jsonl`)
test.prop([fc.uniqueArray(fc.tuple(name, anyFile), { maxLength: 8, selector: ([one]) => one })], runs(60))(
  'any files: the same headers as a call with their paths',
  async (files) => {
    const directory = directoryOf(Object.fromEntries(files))
    const filePaths = files
      .map(([one]) => one)
      .sort()
      .map((one) => join(directory, one))
    const headers = await readSessionHeaders(filePaths)
    expectSame(
      await readSessionHeaders(directory),
      filePaths.map((filePath, i) => ({ filePath, header: headers[i] })),
    )
    rmSync(directory, { recursive: true })
  },
)

describe('a directory that cannot be read', () => {
  /** The error with which a promise rejects. */
  const rejectionOf = (work: Promise<unknown>): Promise<Error> =>
    work.then(
      () => {
        throw new Error('did not reject')
      },
      (error: Error) => error,
    )

  test('rejects with the error of Node', () =>
    eachCase([join(root(), 'none'), writeSession(session()), '', 'a\0b', 'x'.repeat(5000)], async (directory) => {
      const error = await rejectionOf(readSessionHeaders(directory))
      const expected = await rejectionOf(readdir(directory))
      expect(error).toBeInstanceOf(Error)
      expect({ ...error, message: error.message }).toStrictEqual({ ...expected, message: expected.message })
    }))

  // Skipped if there is no user that permissions apply to and who can load the addon.
  test.skipIf(unprivileged === null)('rejects if permission is missing, too', async () => {
    const closed = directoryOf({ 'good.jsonl': session() })
    chmodSync(closed, 0)
    await expect(childReport('child-listing.mjs', ['directory', closed], unprivileged ?? {})).rejects.toThrow(
      /EACCES.*scandir/,
    )
  })
})
