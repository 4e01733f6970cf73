// The files that belong to a session are removed with it, and no others.

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import { afterAll, describe, expect } from 'vitest'
import { fc, test } from '../support/property'
import { recordedSession } from '../support/recording'
import { removeSessionFiles } from '../../index.js'

const root = realpathSync(mkdtempSync(join(tmpdir(), 'session-tape-')))
afterAll(() => rmSync(root, { recursive: true, force: true }))

let directories = 0
function fresh(): string {
  const directory = join(root, String(++directories))
  mkdirSync(directory)
  return directory
}

/** A recorded session, with the lock file that an exclusive recorder left. */
async function session(chatsDir: string): Promise<string> {
  const path = await recordedSession({ sessionId: 'süß', chatsDir })
  writeFileSync(`${path}.lock`, '{}')
  return path
}

describe('removeSessionFiles', () => {
  test('leaves an empty directory, also by a link to it or a relative path', async () => {
    const chatsDir = fresh()
    const linked = join(fresh(), 'link')
    symlinkSync(chatsDir, linked)
    for (const toDirectory of [chatsDir, linked, relative(process.cwd(), chatsDir)]) {
      const path = await session(chatsDir)
      writeFileSync(`${path}.snap`, 'session-tape snapshot 4')
      await removeSessionFiles(join(toDirectory, basename(path)))
      expect(readdirSync(chatsDir)).toEqual([])
    }
  })

  const OWN = [
    'a.jsonl',
    'a.jsonl.snap',
    'a.jsonl.lock',
    'a.jsonl.zst',
    'a.jsonl.zst.snap',
    'a.jsonl.receipt.jsonl',
    'a.media.json',
  ]
  const NAMES = [
    ...OWN,
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
  test.prop([fc.subarray(NAMES)], { numRuns: 60 })(
    'removes the files of the session and no others, whichever exist',
    async (names) => {
      const directory = fresh()
      for (const name of names)
        writeFileSync(
          join(directory, name),
          name.endsWith('.media.json') ? `{"references":[{"contentId":"sha256:${'a'.repeat(64)}"}]}` : name,
        )
      await removeSessionFiles(join(directory, 'a.jsonl'))
      expect(readdirSync(directory).sort()).toEqual(names.filter((name) => !OWN.includes(name)).sort())
    },
  )

  test.each(['{"references":[{"contentId":"x"}]}', '{"references":[]}', '[]', ''])(
    'leaves a list of media that is of another program: %s',
    async (text) => {
      const directory = fresh()
      for (const name of ['a.jsonl.zst', 'a.media.json']) writeFileSync(join(directory, name), text)
      await removeSessionFiles(join(directory, 'a.jsonl'))
      expect(readdirSync(directory)).toEqual(['a.media.json'])
    },
  )

  test("rejects with the system's error for what cannot be removed", async () => {
    const directory = fresh()
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
