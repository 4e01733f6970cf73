/** `session-tape search`, with the manners of grep, and `view PATH#line-N`. */

import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { searchSessions } from '../../index.js'
import {
  complaintOf,
  errorOf,
  HOSTILE,
  hasTerminal,
  onTerminal,
  sessionTape,
  shown,
  UNSAFE,
} from '../support/command-line'
import { projectOf } from '../support/project-files'
import { compressed, content, file, session, start } from '../support/session-file'

const two = (): string =>
  projectOf({
    'new.jsonl': session(content('a needle'), content('no\nneedle\nhere', 'ai'), content('hay')),
    'old.jsonl': session(content('Needle'), compressed('hay'), content('hay')),
    'none.jsonl': session(content('hay')),
  })

describe('in a pipe', () => {
  test('each hit is a line, with its path and line number', async () => {
    const directory = two()
    const [newer, older] = ['new.jsonl', 'old.jsonl'].map((name) => join(directory, name))
    expect(await shown(['search', 'needle', directory])).toBe(
      `${newer}:2:a needle\n${newer}:3:no⏎needle⏎here\n${older}:2:Needle\n`,
    )
    expect(await shown(['search', 'needle', older!, directory, '-m', '2', '-C', '1'])).toBe(
      `${older}:2:Needle\n${newer}:2: needle\n`,
    )
  })

  test('paths alone are for other programs, and counts of them', async () => {
    const directory = two()
    const [newer, older] = ['new.jsonl', 'old.jsonl'].map((name) => join(directory, name))
    expect(await shown(['search', '-l', 'needle', directory])).toBe(`${newer}\n${older}\n`)
    expect(await shown(['search', '-c', 'needle', directory])).toBe(`${newer}:2\n${older}:1\n`)
  })

  test('matches are in colour if that is forced', async () => {
    const directory = projectOf({ 'a.jsonl': session(content('a needle, a needle.')) })
    const marked = '\x1b[1m\x1b[31mneedle\x1b[39m\x1b[22m'
    expect(await shown(['search', 'needle', directory], { env: { FORCE_COLOR: '1' } })).toBe(
      `${join(directory, 'a.jsonl')}:2:a ${marked}, a ${marked}.\n`,
    )
  })

  test('text of a recording does not reach the terminal as it is', async () => {
    const directory = projectOf({ 'a.jsonl': session(content(`needle ${HOSTILE}`)) })
    expect(await shown(['search', 'needle', directory])).not.toMatch(UNSAFE)
  })
})

describe('JSON', () => {
  test('is a line for each hit as the library yields it, then the summary', async () => {
    const directory = two()
    const lines = (await shown(['search', 'needle', directory, '--json']))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    const found = searchSessions(directory, 'needle')
    const hits = []
    for await (const hit of found) hits.push(hit)
    expect(lines).toEqual([...hits, { summary: found.summary }])
  })
})

describe('options', () => {
  const count = async (directory: string, ...args: string[]) => {
    const { code, stdout } = await sessionTape(['search', '--json', ...args, directory])
    expect(code).toBe(stdout.startsWith('{"summary"') ? 1 : 0)
    return stdout.trimEnd().split('\n').length - 1
  }

  test('choose what is searched', async () => {
    const directory = two()
    expect(await count(directory, 'Needle')).toBe(1)
    expect(await count(directory, '-i', 'Needle')).toBe(3)
    expect(await count(directory, '-s', 'needle')).toBe(2)
    expect(await count(directory, '-e', 'n.{5}$')).toBe(2)
    expect(await count(directory, 'needle', '--current')).toBe(2)
    expect(await count(directory, 'needle', '--speaker', 'ai')).toBe(1)
    expect(await count(directory, 'needle', '--field', 'code,name')).toBe(0)
    expect(await count(directory, 'needle', '--tool', 'Bash')).toBe(0)
    expect(await count(directory, 'needle', '--project', 'another')).toBe(0)
  })

  test('choose a time, also relative to now, and a day with its end', async () => {
    const at = (ts: string) =>
      JSON.stringify({ v: 1, seq: 2, ts, type: 'session_event', payload: { severity: 'info', message: 'needle' } })
    const directory = projectOf({
      'a.jsonl': file(
        start(),
        at('2026-02-11T23:59:59.999Z'),
        at('2026-02-12T00:00:00.000Z'),
        at(new Date(Date.now() - 3_000_000).toISOString()),
      ),
    })
    expect(await count(directory, 'needle', '--until', '2026-02-11')).toBe(1)
    expect(await count(directory, 'needle', '--since', '2026-02-12', '--until', '2026-02-12')).toBe(1)
    expect(await count(directory, 'needle', '--since', '1h')).toBe(1)
    expect(await count(directory, 'needle', '--until', '1d')).toBe(2)
  })
})

describe('the exit code', () => {
  test('is 1 without a hit', async () => {
    expect(await shown(['search', 'no such text', two()], {}, 1)).toBe('')
  })

  test('is 2 after an error, though the rest is searched', async () => {
    const directory = two()
    const ended = await sessionTape(['search', '-l', 'needle', join(directory, 'absent'), directory])
    expect(ended).toMatchObject({ code: 2, stdout: expect.stringContaining('new.jsonl') })
    expect(ended.stderr).toBe(
      `session-tape: ${join(directory, 'absent')}: ENOENT: no such file or directory, open '${join(directory, 'absent')}'\n`,
    )
  })

  test('is 2 for wrong arguments', async () => {
    expect(await complaintOf(['search', '-e', 'a(', '.'])).toMatch(
      'query must be a regular expression (unclosed group, at 1)',
    )
    expect(await complaintOf(['search', '', '.'])).toMatch('query must be a non-empty string')
    expect(await complaintOf(['search', '-i', '-s', 'x'])).toBe('--ignore-case and --case-sensitive exclude each other')
    expect(await complaintOf(['search', '-l', '-c', 'x'])).toBe('--files and --count exclude each other')
    expect(await complaintOf(['search', 'x', '--field', 'text,media'])).toMatch(
      '--field media: it must be one of text, code',
    )
    expect(await complaintOf(['search', 'x', '--since', 'soon'])).toMatch(
      '--since soon: it must be like 12h, 7d, 2w or 2026-02-11',
    )
    expect(await complaintOf(['search', 'x', '--speaker', 'robot'])).toMatch('human, ai, tool')
    expect(await errorOf(['search', 'x', '-m', 'many'])).toMatchObject({ code: 'Usage' })
  })
})

test.runIf(hasTerminal)('on a terminal each session has a heading, and each hit a row', async () => {
  const directory = projectOf({
    'a.jsonl': session(['session_metadata', { title: 'About needles' }], content('a needle', 'ai'), compressed('x')),
    'b.jsonl': file(content('the second needle')),
  })
  const { stdout } = await onTerminal(['search', 'needle', directory])
  const plain = stdout.replaceAll(/\x1b\[[\d;]*m/g, '').replaceAll('\r\n', '\n')
  expect(plain).toContain(
    `About needles\n71e871bd-70f9-4b2e-90d9-a15ea3fcfa19 · 2026-02-11 16:00:00 UTC · ${join(directory, 'a.jsonl')}\n`,
  )
  expect(plain).toContain('     3  ai     a needle  (not in the history)\n')
  expect(plain).toContain(
    `\nthe second needle\nno session · no time · ${join(directory, 'b.jsonl')}\n     1  human  the second needle\n`,
  )
})

describe('view at a line', () => {
  test('prints from that line on', async () => {
    const path = join(two(), 'new.jsonl')
    const text = await shown(['view', `${path}#line-3`, '--text'])
    expect(text).toContain('needle')
    expect(text).not.toContain('line 2')
    expect(text).toContain('line 3')
  })

  test('is not mistaken for a file whose name ends so', async () => {
    const directory = projectOf({ 'a.jsonl#line-3': session(content('in the file of that name')) })
    expect(await shown(['view', join(directory, 'a.jsonl#line-3'), '--text'])).toContain('in the file of that name')
  })
})
