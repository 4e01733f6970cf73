// A file that claims more than it stores: a session of a few hundred bytes with seven exbibytes of zeros behind it. Each call is made in a process of
// its own, which must report how the call ended and then exit by itself.

import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readSessionPreview, readSessionRecords, readSessionTitle, replaySession } from '../../index.js'
import type { SessionLine } from '../../index.js'
import { sessionTapeProcess } from '../support/command-line.js'
import { childReport, isLinux } from '../support/processes.js'
import {
  PROJECT_HASH,
  START_PAYLOAD,
  content,
  envelope,
  session,
  sessionDirectory,
  start,
} from '../support/session-file.js'
import { completedRun, freshPath as freshRun, logOf } from '../support/run-directory.js'

const MIB = 1 << 20
const SEVEN_EXBIBYTES = 7n * 2n ** 60n

/** Enlarges a file without storing anything. Returns whether the file system has such large files. */
const enlarge = (path: string): boolean => spawnSync('truncate', ['-s', '7E', path]).status === 0

/** Why the tests are skipped: not here, or there is no file system with such files where the tests have theirs. */
const hasSparseFiles = ((): boolean => {
  if (!isLinux) return false
  const path = join(sessionDirectory(), 'probe')
  writeFileSync(path, '')
  const works = enlarge(path)
  rmSync(path)
  return works
})()

let made = 0
const freshPath = (name: string): string => join(sessionDirectory(), `sparse-${(made += 1)}-${name}`)

function sparse(beginning: string, path = freshPath('session.jsonl')): string {
  writeFileSync(path, beginning)
  enlarge(path)
  return path
}

interface Report {
  resolved?: unknown
  rejected?: { message: string; code?: string }
  grown: number
}

async function called(name: string, ...args: unknown[]): Promise<Report> {
  const report = await childReport<Report>('child-reading.mjs', [name, 'never', JSON.stringify(args)])
  expect(report.grown, name).toBeLessThan(200 * MIB)
  return report
}

async function linesOf(path: string): Promise<SessionLine[]> {
  const lines = []
  for await (const line of readSessionRecords(path, { history: true })) lines.push(line)
  return lines
}

const ONE = session(content('one'))
const HISTORY = [{ speaker: 'human', blocks: [{ type: 'text', text: 'one' }] }]

describe.skipIf(!hasSparseFiles)(
  'a session file of seven exbibytes, of which little is stored (skipped without such files)',
  () => {
    test('is refused by an export at once', async () => {
      const path = sparse(ONE)
      const report = await called('exportBundle', path, `${path}.cath-bundle.tar.zst`)
      expect(report).toMatchObject({ rejected: { code: 'TotalTooLarge' } })
      expect(existsSync(`${path}.cath-bundle.tar.zst`)).toBe(false)
    })

    test('replays, opens and has a title and a preview like one with a torn last line', async () => {
      for (const beginning of [ONE, `${ONE}{"v":1,"seq":3,"type":"content","payload":"`]) {
        const path = sparse(beginning)
        expect(await called('replaySession', path, PROJECT_HASH)).toMatchObject({
          resolved: { ok: true, history: HISTORY, eventCount: 2, warnings: [] },
        })
        expect(await called('openSession', path)).toMatchObject({ resolved: { ok: true } })
        expect(await called('readSessionTitle', path)).toMatchObject({ resolved: null })
        expect(await called('readSessionPreview', path)).toMatchObject({
          resolved: { hasContent: true, firstUserMessage: 'one' },
        })
        expect(await called('readSessionHeader', path)).toMatchObject({ resolved: START_PAYLOAD })
        expect(await called('diff', path, path)).toMatchObject({ resolved: null })
        const lines = (await called('readSessionRecords', path, { history: true })).resolved as [
          string,
          number,
          boolean,
        ][]
        const sizes = [beginning.split('\n')[0]!.length, beginning.split('\n')[1]!.length]
        expect(lines).toEqual([
          ['ok', sizes[0], null],
          ['ok', sizes[1], true],
          ['torn', Number(SEVEN_EXBIBYTES) - ONE.length, null],
        ])
      }
      expect(await called('readSessionPreview', sparse(`${session()}{"`))).toMatchObject({
        resolved: { hasContent: false },
      })
      expect(await called('replaySession', sparse(''))).toMatchObject({
        resolved: { ok: false, error: 'Missing or corrupt session_start event' },
      })
    })

    test('is described, listed, resumed and deleted together with others', async () => {
      const directory = freshPath('directory')
      mkdirSync(directory)
      const ids = ['11111111-aaaa', '22222222-bbbb', '33333333-cccc']
      const bytesOf = (sessionId: string) =>
        `${[start({ sessionId }), content('one')].map((event, at) => envelope(at + 1, event)).join('\n')}\n`
      ids.forEach((id) => writeFileSync(join(directory, `session-2026-02-11T16-00-${id}.jsonl`), bytesOf(id)))
      // Their sum is more than 64 bits can hold.
      readdirSync(directory).forEach((name) => enlarge(join(directory, name)))
      const sessions = ids.map((sessionId) => expect.objectContaining({ sessionId }))
      const described = (await called('describeSessions', directory)).resolved as {
        sessions: { historyLength: number }[]
        unreadable: unknown[]
      }
      expect(described.sessions).toEqual(expect.arrayContaining(sessions))
      expect([described.unreadable, described.sessions.map(({ historyLength }) => historyLength)]).toEqual([
        [],
        [1, 1, 1],
      ])
      const { targets } = (await called('listContinueTargets', directory, PROJECT_HASH)).resolved as {
        targets: unknown[]
      }
      expect(targets).toHaveLength(3)
      const listed = await sessionTapeProcess(['sessions', directory, '--json'])
      expect([listed.signal, listed.code, listed.stderr]).toEqual([null, 0, ''])
      const request = {
        continueRef: ids[0],
        chatsDir: directory,
        projectHash: PROJECT_HASH,
        currentProvider: 'anthropic',
        currentModel: 'claude-sonnet',
        workspaceDirs: [],
      }
      expect(await called('resumeSession', request)).toMatchObject({ resolved: { ok: true, history: HISTORY } })
      expect(await called('deleteSession', ids[1], directory, PROJECT_HASH)).toMatchObject({ resolved: { ok: true } })
      expect(readdirSync(directory).filter((name) => name.endsWith('.jsonl'))).toHaveLength(2)
    })

    test('is recorded to after the zeros', async () => {
      const path = sparse(ONE)
      appendFileSync(path, `\n${envelope(3, content('two'))}\n`)
      expect(statSync(path, { bigint: true }).size).toBeGreaterThan(SEVEN_EXBIBYTES)
      expect(await called('replaySession', path, PROJECT_HASH)).toMatchObject({
        resolved: {
          ok: true,
          history: [...HISTORY, { speaker: 'human' }],
          warnings: [expect.stringMatching(/^Line 3: failed to parse JSON/), expect.anything()],
        },
      })
    })

    test('has the results of a file in which all zeros are stored', async () => {
      const title = envelope(4, ['session_metadata', { title: 'gut' }])
      for (const [before, after] of [
        ['', `\n${envelope(3, content('two'))}\n${title}`],
        ['{"v', `"}\n${title}\n`],
        ['', ''],
      ] as const) {
        const [stored, hole] = [freshPath('stored.jsonl'), freshPath('hole.jsonl')]
        writeFileSync(stored, ONE + before + '\0'.repeat(20 * MIB) + after)
        writeFileSync(hole, ONE + before)
        truncateSync(hole, ONE.length + before.length + 20 * MIB)
        appendFileSync(hole, after)
        expect(statSync(hole).size).toBe(statSync(stored).size)
        expect(await replaySession(hole, PROJECT_HASH)).toEqual(await replaySession(stored, PROJECT_HASH))
        expect(await linesOf(hole)).toEqual(await linesOf(stored))
        expect(await readSessionTitle(hole)).toBe(await readSessionTitle(stored))
        expect(await readSessionPreview(hole)).toEqual(await readSessionPreview(stored))
      }
    })
  },
)

describe.skipIf(!hasSparseFiles)('a run whose log claims seven exbibytes (skipped without such files)', () => {
  test('is read, verified and resumed, and is cut off at its last event', async () => {
    const run = completedRun()
    const directory = run.write(freshRun())
    const whole = statSync(logOf(directory)).size
    for (const after of ['', '{"v":1,"time":99}\n']) {
      enlarge(logOf(directory))
      appendFileSync(logOf(directory), after)
      expect(await called('replayRun', directory)).toMatchObject({ resolved: { ok: true } })
      expect(await called('verifyRun', directory)).toMatchObject({ resolved: expect.anything() })
      expect((await called('readRunEvents', directory)).resolved).toHaveLength(run.lines.length)
      const config = {
        directory,
        runId: run.state.run.id,
        workflow: run.workflow,
        scheduler: 'round-robin',
        resume: true,
      }
      expect(await called('RunRecorder', config)).toMatchObject({ resolved: [expect.any(String)] })
      expect(statSync(logOf(directory)).size).toBe(whole)
    }
    const copies = readdirSync(directory).filter((name) => name.includes('.cut-'))
    expect(copies.map((name) => statSync(join(directory, name)).blocks < 65_536)).toEqual([true])
  })
})
