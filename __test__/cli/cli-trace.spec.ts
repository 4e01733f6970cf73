/** `session-tape trace`: events one by one, and the ancestry of one. */
import { appendFileSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import * as tape from '../../index.js'
import type { RunEvent } from '../../index.js'
import {
  complaintOf,
  errorOf,
  GOLDEN_RUN,
  PROGRAM,
  resultOf,
  run,
  SAMPLE,
  sessionTape,
  shown,
} from '../support/command-line'
import { completedRun, freshPath, logOf } from '../support/run-directory'
import { noted, startedRecorder } from '../support/run-recording'
import { content, session, writeSession } from '../support/session-file'

const linesOf = (text: string): any[] =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))

async function collect(options?: Parameters<typeof tape.readRunEvents>[1]): Promise<RunEvent[]> {
  const events: RunEvent[] = []
  for await (const event of tape.readRunEvents(GOLDEN_RUN, options)) events.push(event)
  return events
}

describe('the events of a run', () => {
  test('are those of readRunEvents, one line of JSON each', async () => {
    expect(linesOf(await shown(['trace', GOLDEN_RUN, '--events', '--json']))).toEqual(await collect())
    const range = ['--from', '40', '--to', '90', '--kind', 'ToolFailed,ToolTimedOut', '--kind', 'NodeFailed']
    const expected = await collect({ from: 40, to: 90, kinds: ['ToolFailed', 'ToolTimedOut', 'NodeFailed'] })
    expect(expected.length).toBeGreaterThan(1)
    expect(linesOf(await shown(['trace', GOLDEN_RUN, '--events', '--json', ...range]))).toEqual(expected)
  })

  test('are shown one per line', async () => {
    const lines = (await shown(['trace', GOLDEN_RUN, '--events', '--from', '6', '--to', '7'])).split('\n')
    expect(lines).toEqual([
      'evt_6     16:00:00 TaskAssigned     start ← evt_4  {"task":"start#1","worker":"w-1"}',
      'evt_7     16:00:00 TaskAccepted     start ← evt_6  {"task":"start#1","worker":"w-1"}',
      '',
    ])
  })

  test('of an unknown kind are a usage error', async () => {
    const error = await errorOf(['trace', GOLDEN_RUN, '--events', '--kind', 'ToolBroke'])
    expect(error.message).toMatch(/^--kind: must be one of .*, got 'ToolBroke'$/)
  })

  test('are no longer read once their reader stops', async () => {
    const { recorder, directory } = startedRecorder()
    for (let i = 0; i < 20_000; i++) recorder.append(noted(`message ${i}`))
    await recorder.dispose()
    // A trace that came this far would fail.
    appendFileSync(logOf(directory), 'not an event\n')
    const command = `"${process.execPath}" "${PROGRAM}" trace "${directory}" --events --json`
    const read = await run('bash', ['-c', `${command} | head -1 | wc -l; echo "\${PIPESTATUS[0]}"`])
    expect(read).toMatchObject({ stdout: '1\n0\n', stderr: '' })
    expect((await sessionTape(['trace', directory, '--events', '--json'])).code).toBe(1)
  })

  test('before damage are shown, and the exit code is 1', async () => {
    const directory = completedRun().write(freshPath())
    const events = readFileSync(logOf(directory), 'utf8').split('\n').length - 1
    appendFileSync(logOf(directory), 'not an event\n')
    const { code, stdout, stderr } = await sessionTape(['trace', directory, '--events', '--json'])
    expect(code).toBe(1)
    expect(linesOf(stdout)).toHaveLength(events)
    expect(JSON.parse(stderr).error).toMatchObject({ code: 'NotAJsonLine' })
  })
})

describe('the events of a session', () => {
  test('are its records as they are in the file, numbered from 0', async () => {
    const records = readFileSync(SAMPLE, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    const expected = records.map((record, i) => ({ eventId: `rec_${i}`, line: i + 1, ...record }))
    expect(linesOf(await shown(['trace', SAMPLE, '--events', '--json']))).toEqual(expected)
    const some = ['--from', '10', '--to', '40', '--kind', 'compressed,rewind']
    expect(linesOf(await shown(['trace', SAMPLE, '--events', '--json', ...some]))).toEqual(
      expected.slice(10, 41).filter(({ type }) => ['compressed', 'rewind'].includes(type)),
    )
  })

  test('are the lines that a replay counts: no damaged and no blank ones', async () => {
    const filePath = writeSession(session(content('one'), 'damaged', '', 'null', '[1]', content('two')))
    const found = linesOf(await shown(['trace', filePath, '--events', '--json']))
    expect(found.map(({ eventId, line, value }) => [eventId, line, value])).toEqual([
      ['rec_0', 1, undefined],
      ['rec_1', 2, undefined],
      ['rec_2', 6, [1]],
      ['rec_3', 7, undefined],
    ])
  })

  test('are shown one per line', async () => {
    const stdout = await shown(['trace', SAMPLE, '--events', '--from', '25', '--to', '25'])
    expect(stdout).toBe('rec_25    08:44:02 provider_switch   {"provider":"anthropic","model":"claude-sonnet-4-5"}\n')
  })
})

describe('the ancestry of an event', () => {
  test('is the result of traceAncestors', async () => {
    expect(await resultOf(['trace', GOLDEN_RUN, 'evt_7'])).toEqual(await tape.traceAncestors(GOLDEN_RUN, 'evt_7'))
    expect(await resultOf(['trace', GOLDEN_RUN, '100'])).toEqual(await tape.traceAncestors(GOLDEN_RUN, 'evt_100'))
    expect(await resultOf(['trace', SAMPLE, '9'])).toEqual(await tape.traceAncestors(SAMPLE, 'rec_9'))
  })

  test('is shown nearest first', async () => {
    const { chain } = await tape.traceAncestors(GOLDEN_RUN, 'evt_7')
    const lines = (await shown(['trace', GOLDEN_RUN, 'evt_7'])).split('\n')
    expect(lines[0]).toBe('Causal chain of evt_7:')
    expect(lines.slice(1, -1).map((line) => /^ {2}- (\w+): (\w+)/.exec(line)!.slice(1))).toEqual(
      chain.map(({ event_id, kind }) => [event_id, kind]),
    )
    expect(chain.map(({ kind }) => kind)).toEqual(['TaskAssigned', 'NodeScheduled', 'RunStarted', 'RunCreated'])
    expect(await shown(['trace', GOLDEN_RUN, '0'])).toContain('nothing: it is the first')
  })

  test('is a usage error if the event does not exist', async () => {
    expect(await complaintOf(['trace', GOLDEN_RUN, 'evt_9999'])).toContain('evt_9999')
    await complaintOf(['trace', GOLDEN_RUN, 'nonsense'])
  })
})
