/** `session-tape header` of one file, of many, and of directories. */
import { mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { listSessions, readSessionHeader } from '../../index.js'
import { GOLDEN_RUN, resultOf, SAMPLE, shown } from '../support/command-line'
import { completedRun, freshPath, WORKFLOW } from '../support/run-directory'
import { content, file, session, sessionDirectory, start, START_PAYLOAD, writeSession } from '../support/session-file'

let directories = 0

function chats(files: Record<string, string>): string {
  const directory = join(sessionDirectory(), `chats-${++directories}`)
  mkdirSync(directory)
  Object.entries(files).forEach(([name, text], i) => {
    writeFileSync(join(directory, name), text)
    utimesSync(join(directory, name), 1_700_000_000 + i, 1_700_000_000 + i)
  })
  return directory
}

test('the header of a session is its session_start', async () => {
  expect(await resultOf(['header', SAMPLE])).toEqual([
    { path: SAMPLE, kind: 'session', header: await readSessionHeader(SAMPLE) },
  ])
  expect(await shown(['header', SAMPLE])).toBe(
    `2026-02-11 08:41:03 UTC 3c8e51d7-0b62-4f0e-9a4d-71f2c5be86aa  openai / gpt-5-mini  ${SAMPLE}\n`,
  )
})

test('the header of a run is its RunCreated', async () => {
  const directory = completedRun().write(freshPath())
  const [entry] = await resultOf(['header', directory])
  expect(entry).toMatchObject({
    path: directory,
    kind: 'run',
    header: { runId: 'run-7', workflow: { name: WORKFLOW.name }, scheduler: 'round-robin' },
  })
  expect(await shown(['header', GOLDEN_RUN])).toBe(
    `run                     golden-1  weekly report 2.1.0, round-robin  ${GOLDEN_RUN}\n`,
  )
})

test('the headers of many paths come in their order, whatever each is', async () => {
  const other = writeSession(file(start({ sessionId: 'other' }), content('x')))
  const entries = await resultOf(['header', other, GOLDEN_RUN, SAMPLE, other])
  expect(entries.map(({ path }: any) => path)).toEqual([other, GOLDEN_RUN, SAMPLE, other])
  expect(entries[0].header.sessionId).toBe('other')
})

describe('the headers of a directory', () => {
  test('are those of its sessions, last modified first, then the files without one', async () => {
    const directory = chats({
      'a.jsonl': session(content('a')),
      'b.jsonl': file(start({ sessionId: 'b' })),
      'c.jsonl': 'hello',
      'notes.txt': 'not looked at',
    })
    symlinkSync(join(directory, 'gone'), join(directory, 'd.jsonl'))
    const { sessions, unreadable } = await listSessions(directory)
    const entries = await resultOf(['header', directory], 1)
    expect(entries).toEqual([
      ...sessions.map(({ filePath, fileSize, lastModified, ...header }) => ({
        path: filePath,
        kind: 'session',
        header,
        fileSize,
        lastModified: lastModified.toISOString(),
      })),
      ...unreadable.map(({ filePath, reason }) => ({ path: filePath, kind: 'session', header: null, reason })),
    ])
    expect(entries.map(({ path }: any) => path.slice(-7))).toEqual(['b.jsonl', 'a.jsonl', 'c.jsonl', 'd.jsonl'])
    const lines = (await shown(['header', directory], {}, 1)).split('\n')
    expect(lines).toHaveLength(5)
    expect(lines[2]).toMatch(/^no header .*c\.jsonl {2}\S/)
  })

  test('are an empty list without an error if there are no sessions', async () => {
    const directory = chats({})
    expect(await resultOf(['header', directory])).toEqual([])
    expect(await shown(['header', directory])).toBe('')
  })
})

describe('exit codes', () => {
  const damaged = writeSession('hello\n')
  const missing = join(sessionDirectory(), 'missing.jsonl')

  test('1 if a file has no header, 2 if one cannot be read, the highest of many', async () => {
    expect(await resultOf(['header', damaged], 1)).toEqual([
      { path: damaged, kind: 'session', header: null, reason: 'no session_start' },
    ])
    expect(await resultOf(['header', missing], 2)).toEqual([
      { path: missing, kind: null, header: null, reason: `there is nothing at ${missing}` },
    ])
    expect((await resultOf(['header', SAMPLE, damaged], 1))[0].header).toMatchObject({ sessionId: expect.any(String) })
    expect(await resultOf(['header', damaged, missing, SAMPLE], 2)).toHaveLength(3)
  })

  test('a header is passed on unchanged, whatever its fields contain', async () => {
    const odd = writeSession(file(start({ sessionId: 7, startTime: null, model: ['m'] })))
    const [entry] = await resultOf(['header', odd])
    expect(entry.header).toEqual({ ...START_PAYLOAD, sessionId: 7, startTime: null, model: ['m'] })
    expect(await shown(['header', odd])).toMatch(/^no time +7 {2}anthropic \/ \["m"\] {2}/)
    // An object whose `toString` is not a function.
    const trap = { toString: {}, valueOf: {} }
    const trapped = writeSession(file(start({ sessionId: trap, startTime: trap, model: trap, provider: trap })))
    expect(await shown(['header', trapped])).toMatch(/^no time +\{"toString":\{\},"valueOf":\{\}\} {2}/)
  })
})
