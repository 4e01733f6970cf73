/** `session-tape diff`: its options and its output. The specs in `__test__/diff` cover what counts as a difference. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import * as tape from '../../index.js'
import { PlainRun } from '../support/plain-run-engine.mjs'
import {
  complaintOf,
  errorOf,
  HOSTILE,
  hasTerminal,
  onTerminal,
  resultOf,
  SAMPLE,
  sessionTape,
  shown,
  UNSAFE,
} from '../support/command-line'
import { freshPath, logOf, WORKFLOW } from '../support/run-directory'
import { content, session, sessionDirectory, writeSession } from '../support/session-file'

/** A run with one tool call, which returns `output`. */
function runThatSaid(output: string, runId: string): string {
  const run = new PlainRun({
    runId,
    workflow: WORKFLOW,
    scheduler: 'external',
    saltOf: (time) => `${runId}${time}`.padEnd(32, '0').replaceAll(/[^0-9a-f]/g, '0'),
  })
  run.append('RunStarted', { workers: [{ id: 'w1', capabilities: ['net'] }] })
  run.append('NodeScheduled', { task: 'build#1', dependsOn: [] })
  run.append('TaskAssigned', { task: 'build#1', worker: 'w1' })
  run.append('TaskAccepted', { task: 'build#1', worker: 'w1' })
  run.append('NodeStarted', { task: 'build#1', worker: 'w1', inputHash: 'in' })
  run.append('ToolInvoked', { tool: 'cc', call: 'c1', requestHash: 'q' }, { node: 'build' })
  const blob = run.putBlob(output)
  run.append(
    'ToolCompleted',
    { tool: 'cc', call: 'c1', rawHash: blob, outputHash: blob, normalizer: 'none' },
    { node: 'build' },
  )
  return run.write(freshPath())
}

const left = runThatSaid('one', 'run-1')
const same = runThatSaid('one', 'run-2')
const right = runThatSaid('two', 'run-3')
const sessions = (): [string, string] => [
  writeSession(session(content('same'), content('left', 'ai'), content('then'))),
  writeSession(session(content('same'), content('right', 'ai'), content('then'))),
]

describe('two equal recordings', () => {
  test('have exit code 0, and null as JSON', async () => {
    expect(await resultOf(['diff', left, same])).toBe(null)
    expect(await resultOf(['diff', SAMPLE, SAMPLE])).toBe(null)
    expect(await shown(['diff', left, same])).toBe(`${tape.diffToText(null)}\n`)
  })
})

describe('two different recordings', () => {
  test('have exit code 1, and the result of diff as JSON', async () => {
    const result = await resultOf(['diff', left, right], 1)
    expect(result).toEqual(await tape.diff(left, right))
    expect(result).toMatchObject({
      divergence_event: 7,
      kind: 'EventMismatch',
      left: { run_id: 'run-1' },
      right: { run_id: 'run-3' },
      likely_cause: 'ExternalDataChanged',
    })
    const [one, other] = sessions()
    expect(await resultOf(['diff', one, other], 1)).toEqual(await tape.diff(one, other))
  })

  test('are described by diffToText', async () => {
    expect(await shown(['diff', left, right], {}, 1)).toBe(`${tape.diffToText(await tape.diff(left, right))}\n`)
    expect(await shown(['diff', left, right], {}, 1)).toContain('Divergence at event #7\n')
  })

  test('are described in detail on request', async () => {
    const text = tape.diffToText(await tape.diff(left, right), { details: true })
    expect(await shown(['diff', left, right, '--details'], {}, 1)).toBe(`${text}\n`)
    expect(text).toContain('ExternalDataChanged')
    const whole = tape.diffToText(await tape.diff(left, right, { full: true }), { details: true })
    expect(await shown(['diff', left, right, '--full'], {}, 1)).toBe(`${whole}\n`)
  })

  test.each<[string[], tape.DiffOptions]>([
    [['--full'], { full: true }],
    [['--heartbeats'], { heartbeats: true }],
    [
      ['--ignore', '/payload/outputHash', '--ignore', '/payload/rawHash'],
      { ignore: ['/payload/outputHash', '/payload/rawHash'] },
    ],
  ])('are compared with the options of %j', async (flags, options) => {
    const expected = await tape.diff(left, right, options)
    expect(await resultOf(['diff', left, right, ...flags], expected === null ? 0 : 1)).toEqual(expected)
  })

  test.skipIf(!hasTerminal)('are described in colours on a terminal (needs util-linux script)', async () => {
    const { code, stdout } = await onTerminal(['diff', left, right])
    expect(code).toBe(1)
    const text = tape.diffToText(await tape.diff(left, right), { color: true })
    expect(stdout.replaceAll('\r\n', '\n')).toContain(text)
    expect((await onTerminal(['diff', left, right], { env: { NO_COLOR: '1' } })).stdout).not.toContain('\u001b[')
  })

  test('have their hostile content escaped', async () => {
    const [one, other] = [writeSession(session(content(`a${HOSTILE}`))), writeSession(session(content(`b${HOSTILE}`)))]
    const stdout = await shown(['diff', one, other], {}, 1)
    expect(stdout).toMatch(/\\(x1b|u\{1b\})\[2J/)
    expect(stdout).not.toMatch(UNSAFE)
    expect((await shown(['diff', one, other, '--json'], {}, 1)).trimEnd()).not.toMatch(UNSAFE)
  })
})

describe('two recordings that cannot be compared', () => {
  test('are an error, with exit code 1 if one is damaged, otherwise 2', async () => {
    await complaintOf(['diff', left, SAMPLE])
    const damaged = runThatSaid('one', 'run-4')
    writeFileSync(
      logOf(damaged),
      readFileSync(logOf(damaged), 'utf8').replace('"kind":"TaskAssigned"', '"kind":"TaskAsigned"'),
    )
    await complaintOf(['diff', left, damaged], 1)
    expect((await errorOf(['diff', damaged, left], 1)).message).not.toBe('')
    await complaintOf(['diff', left, right, '--ignore', 'no pointer'])
  })
})

describe('the page', () => {
  test('never overwrites a compared recording, and is never added to one', async () => {
    const [one, other] = sessions()
    const before = readFileSync(one, 'utf8')
    await complaintOf(['diff', one, other, '--html', one])
    expect(readFileSync(one, 'utf8')).toBe(before)
    await complaintOf(['diff', left, right, '--html', join(right, 'new.html')])
    expect(readdirSync(right)).not.toContain('new.html')
  })

  test('is written, and the exit code is that of the comparison', async () => {
    for (const [one, other, code] of [
      [left, right, 1],
      [left, same, 0],
      [...sessions(), 1],
    ] as const) {
      const out = join(sessionDirectory(), `diff-${code}-${one.length}.html`)
      const ended = await sessionTape(['diff', one, other, '--html', out])
      expect(ended).toMatchObject({ code, stderr: `written to ${out}\n` })
      expect(readFileSync(out, 'utf8')).toMatch(/^<!doctype html>/i)
      await resultOf(['diff', one, other, '--html', out], code)
    }
  })

  test('has exit code 2 if it cannot be written, and leaves no file', async () => {
    const directory = join(sessionDirectory(), 'not there')
    const ended = await sessionTape(['diff', left, right, '--html', join(directory, 'out.html')])
    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(existsSync(directory)).toBe(false)
    expect(readdirSync(sessionDirectory()).filter((name) => name.endsWith('.tmp'))).toEqual([])
  })
})
