// Files that can't be opened or read: `Failed to read file: ` and the message of Node's own stream.

import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, createReadStream, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect } from 'vitest'
import { fc, test } from '../support/property'
import { readSessionHeader, replaySession } from '../../index.js'
import { START_PAYLOAD, content, session, sessionDirectory, writeSession } from '../support/session-file.js'
import { runs } from '../support/session-arbitraries.js'

const onWindows = process.platform === 'win32'
const UNPRIVILEGED = fileURLToPath(new URL('../support/replay-unprivileged.mjs', import.meta.url))

/** The error message of `fs.createReadStream` for a path; throws if the path can be read. */
async function nodesWords(filePath: string): Promise<string> {
  try {
    for await (const chunk of createReadStream(filePath)) void chunk
  } catch (error) {
    return (error as Error).message
  }
  throw new Error(`expected ${filePath} to be unreadable`)
}

/** Replays a path that can't be read and compares the error with that of Node's stream. Returns the message. */
async function failureOf(filePath: string): Promise<string> {
  const words = await nodesWords(filePath)
  expect(await replaySession(filePath)).toStrictEqual({
    ok: false,
    error: `Failed to read file: ${words}`,
    warnings: [],
  })
  expect(await readSessionHeader(filePath)).toBeNull()
  return words
}

describe("Node's own wording", () => {
  test('ENOENT: no such file', async () => {
    const filePath = join(sessionDirectory(), 'missing.jsonl')
    expect(await failureOf(filePath)).toBe(`ENOENT: no such file or directory, open '${filePath}'`)
  })

  test('ENOENT: a directory on the way is missing, the path is relative, the path is empty', async () => {
    await failureOf(join(sessionDirectory(), 'no', 'such', 'directory.jsonl'))
    expect(await failureOf('no-such-session.jsonl')).toBe(
      "ENOENT: no such file or directory, open 'no-such-session.jsonl'",
    )
    expect(await failureOf('')).toBe("ENOENT: no such file or directory, open ''")
  })

  test.skipIf(onWindows)('EISDIR: a directory', async () => {
    expect(await failureOf(sessionDirectory())).toBe('EISDIR: illegal operation on a directory, read')
  })

  test.skipIf(onWindows)('ENOTDIR: a file where a directory should be', async () => {
    const filePath = join(writeSession(session()), 'session.jsonl')
    expect(await failureOf(filePath)).toBe(`ENOTDIR: not a directory, open '${filePath}'`)
  })

  test.skipIf(onWindows)('ELOOP: symbolic links in a circle', async () => {
    const [one, two] = [join(sessionDirectory(), 'one.jsonl'), join(sessionDirectory(), 'two.jsonl')]
    symlinkSync(one, two)
    symlinkSync(two, one)
    expect(await failureOf(one)).toMatch(/^ELOOP: /)
  })

  test.skipIf(onWindows)('ENAMETOOLONG: a name longer than the file system allows', async () => {
    expect(await failureOf(join(sessionDirectory(), `${'n'.repeat(300)}.jsonl`))).toMatch(/^ENAMETOOLONG: /)
    expect(await failureOf(`/${'d/'.repeat(5_000)}x`)).toMatch(/^ENAMETOOLONG: /)
  })

  test('a path with a NUL in it', async () => {
    expect(await failureOf('session\0.jsonl')).toMatch(/without null bytes/)
  })

  test.skipIf(!existsSync('/proc/self/mem'))('EIO: a file that opens and then fails to be read', async () => {
    expect(await failureOf('/proc/self/mem')).toBe('EIO: i/o error, read')
  })

  test.skipIf(onWindows)('EACCES: no permission, for the file and for its directory', ({ skip }) => {
    // Not in the directory of this spec: an unprivileged user must be able to get as far as the file.
    const directory = mkdtempSync(join(dirname(sessionDirectory()), 'session-tape-denied-'))
    try {
      chmodSync(directory, 0o755)
      const closed = join(directory, 'closed')
      mkdirSync(closed, { mode: 0o700 })
      const denied = [join(directory, 'denied.jsonl'), join(closed, 'within.jsonl')]
      for (const filePath of denied)
        execFileSync('sh', ['-c', 'printf "%s" "$1" > "$0" && chmod 000 "$0"', filePath, session()])
      chmodSync(closed, 0o000)
      const reports = JSON.parse(execFileSync(process.execPath, [UNPRIVILEGED, ...denied], { encoding: 'utf8' })) as
        | { words: string; result: unknown; header: unknown }[]
        | { refused: string }
      if (!Array.isArray(reports))
        return skip(`this user reads everything and can't become another: ${reports.refused}`)
      denied.forEach((filePath, at) => {
        const words = `EACCES: permission denied, open '${filePath}'`
        expect(reports[at]).toStrictEqual({
          words,
          result: { ok: false, error: `Failed to read file: ${words}`, warnings: [] },
          header: null,
        })
      })
    } finally {
      chmodSync(join(directory, 'closed'), 0o700)
      rmSync(directory, { recursive: true, force: true })
    }
  })

  test.prop([fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 })], runs(60))(
    'any name that does not exist',
    async (name) => {
      const filePath = join(sessionDirectory(), 'nowhere', `${name}.jsonl`)
      await failureOf(filePath)
    },
  )
})

describe.skipIf(onWindows)('files that are not regular files', () => {
  test('a named pipe is refused, with a writer too, and with the advice to write it to a file', async () => {
    const filePath = writeSession(session(content('through a pipe')))
    const pipe = join(sessionDirectory(), 'pipe')
    execFileSync('mkfifo', [pipe])
    const refused = {
      ok: false,
      error: `Failed to read file: EINVAL: a pipe, not a regular file; write its content to a file first, open '${pipe}'`,
      warnings: [],
    }
    expect(await replaySession(pipe)).toStrictEqual(refused)
    const writer = spawn('sh', ['-c', 'cat "$0" > "$1"', filePath, pipe], { stdio: 'ignore' })
    try {
      expect(await replaySession(pipe)).toStrictEqual(refused)
    } finally {
      writer.kill()
    }
  })

  test.skipIf(!existsSync('/dev/stdin'))(
    'standard input is refused if it is a pipe, and replays if it is a file',
    () => {
      const filePath = writeSession(session(content('through standard input')))
      const script =
        'import(process.argv[1]).then(({ replaySession }) => replaySession("/dev/stdin")).then((result) => console.log(JSON.stringify(result)))'
      const addon = new URL('../../index.js', import.meta.url).href
      const replayed = (command: string): unknown =>
        JSON.parse(execFileSync('sh', ['-c', command, filePath, process.execPath, script, addon], { encoding: 'utf8' }))
      expect(replayed('cat "$0" | "$1" --eval "$2" "$3"')).toMatchObject({
        ok: false,
        error: expect.stringMatching(/^Failed to read file: EINVAL: a pipe, .*\/dev\/stdin'$/),
      })
      expect(replayed('"$1" --eval "$2" "$3" < "$0"')).toMatchObject({
        ok: true,
        history: [{ blocks: [{ text: 'through standard input' }] }],
      })
    },
  )

  test('a symbolic link is followed', async () => {
    const link = join(sessionDirectory(), 'link.jsonl')
    symlinkSync(writeSession(session(content('a'))), link)
    expect((await replaySession(link)).ok).toBe(true)
    expect(await readSessionHeader(link)).toStrictEqual(START_PAYLOAD)
  })

  test.skipIf(!existsSync('/dev/null'))('/dev/null is no empty file', async () => {
    expect(await replaySession('/dev/null')).toMatchObject({
      ok: false,
      error: expect.stringMatching(/^Failed to read file: EINVAL: a device, /),
    })
    expect(await readSessionHeader('/dev/null')).toBeNull()
  })
})
