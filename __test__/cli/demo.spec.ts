/** `npm run demo`: the README's first command. The command line prints its output; see cli-replay-session.spec.ts. */
import { readFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Ended } from '../support/processes'
import { beside, PROJECT, run, type RunOptions, SAMPLE } from '../support/command-line'
import { content, session, sessionDirectory, writeSession } from '../support/session-file'

const DEMO = join(PROJECT, 'demo/demo.mjs')

const demo = (args: string[], options: RunOptions = {}): Promise<Ended> =>
  run(process.execPath, [DEMO, ...args], options)

/** The output of a demo that must succeed without errors. */
async function shown(args: string[], options?: RunOptions): Promise<string> {
  const ended = await demo(args, options)
  expect(ended).toMatchObject({ code: 0, signal: null, stderr: '' })
  return ended.stdout
}

const eventsOf = (filePath: string): unknown[] =>
  readFileSync(filePath, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown)

describe('the sample session', () => {
  test('is recorded anew, event for event, and the file is kept', async () => {
    const stdout = await shown([])
    const filePath = stdout.split('\n').find((line) => line.endsWith('.jsonl') && line.startsWith('/'))!
    expect(filePath.startsWith(join(sessionDirectory(), 'session-tape-demo-'))).toBe(true)
    expect(basename(filePath)).toBe('session-2026-02-11T08-41-3c8e51d7.jsonl')
    expect(stdout).toContain(`npx session-tape replay ${filePath}\n`)
    expect(eventsOf(filePath)).toEqual(eventsOf(SAMPLE))
  })

  test('is shown with its facts, counts and warnings', async () => {
    const stdout = await shown([])
    expect(beside('Session', stdout)).toEqual(['3c8e51d7-0b62-4f0e-9a4d-71f2c5be86aa'])
    expect(beside('Directories', stdout)).toEqual(['/home/ada/tide-clock', '/home/ada/calendar-kit'])
    expect(beside('Started', stdout)).toEqual(['2026-02-11 08:41:03 UTC'])
    expect(beside('Duration', stdout)).toEqual(['5 min 59 s (until 2026-02-11 08:47:02 UTC)'])
    expect(beside('Model', stdout)).toEqual(['anthropic / claude-sonnet-4-5'])
    expect(beside('Switched', stdout)).toEqual([
      '1 time, started with openai / gpt-5-mini',
      '→ anthropic / claude-sonnet-4-5 (line 26)',
    ])
    expect(beside('Turns', stdout)).toEqual(['human 6 · ai 17 · tool 16 in all'])
    expect(beside('Tools', stdout)).toEqual([
      'run_command   6  2 failed  1 without an answer',
      'edit_file     4',
      'read_file     4  1 failed',
      'search_files  3',
    ])
    expect(beside('Compressions', stdout)).toEqual(['1 (23 items summed up)'])
    expect(beside('Rewinds', stdout)).toEqual(['1 (2 items taken back)'])
    expect(beside('History', stdout)).toEqual(['15 items survive (human 3 · ai 7 · tool 5)'])
    expect(stdout).toContain('Session events 1 error, 1 warning, 2 info')
    expect(stdout).toContain('✗ 08:44:02 #25   openai: 429 rate limited, giving up; switching to the fallback model')
    expect(stdout).toContain("! Line 38: unknown event type 'usage', skipping")
    expect(stdout).toMatch(/ {2}49 events, 15\.\d KiB, replayed in [\d.]+ m?s\n$/)
  })
})

test('a relative path is resolved where npm was started', async () => {
  const filePath = writeSession(session(content('here')))
  const env = { npm_lifecycle_event: 'demo', INIT_CWD: dirname(filePath) }
  expect(await shown([basename(filePath)], { env, cwd: PROJECT })).toContain('History       1 item survives')
  expect(await shown([relative(PROJECT, filePath)], { cwd: PROJECT })).toContain('History       1 item survives')
})

test('the exit code is that of the command line', async () => {
  expect(await demo([join(sessionDirectory(), 'missing.jsonl')])).toMatchObject({ code: 2, stdout: '' })
  expect(await demo([writeSession('Dear diary,\n')])).toMatchObject({ code: 1, stdout: '' })
  expect(await demo(['--fast'])).toMatchObject({ code: 2, stdout: '' })
})
