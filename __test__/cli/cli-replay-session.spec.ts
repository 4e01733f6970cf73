/** `session-tape replay` of sessions: its text and its JSON. */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { replaySession } from '../../index.js'
import {
  beside,
  complaintOf,
  errorOf,
  HOSTILE,
  hasTerminal,
  onTerminal,
  resultOf,
  SAMPLE,
  shown,
  UNSAFE,
} from '../support/command-line'
import {
  compressed,
  content,
  envelope,
  PROJECT_HASH,
  rewind,
  session,
  sessionDirectory,
  sessionEvent,
  writeSession,
} from '../support/session-file'
import type { Event } from '../support/session-file'

const toolCall = (id: string, name: string): object => ({ type: 'tool_call', id, name, parameters: {} })
const toolResponse = (callId: string, toolName: string, error?: string): object => ({
  type: 'tool_response',
  callId,
  toolName,
  result: 1,
  error,
})
const says = (speaker: string, ...blocks: object[]): Event => ['content', { content: { speaker, blocks } }]
const page = (filePath: string, ...args: string[]): Promise<string> => shown(['replay', filePath, ...args])

describe('the text', () => {
  test('counts events that have an effect, and no others', async () => {
    const filePath = writeSession(
      session(
        content('hello'),
        says('ai', toolCall('1', 'grep'), toolCall('2', 'grep'), toolCall('3', 'sed')),
        says('tool', toolResponse('1', 'grep', 'exit code 2'), toolResponse('2', 'grep')),
        ['content', { content: { speaker: '', blocks: [toolCall('4', 'never')] } }],
        compressed('the beginning', 3),
        ['compressed', { itemsCompressed: 9 }],
        rewind(-1),
        content('again'),
        content('and again'),
        rewind(1.5),
        ['provider_switch', { provider: 'openai', model: 'gpt-5' }],
        ['provider_switch', { provider: 'google', model: '' }],
        ['provider_switch', { provider: '', model: 'none' }],
        'no JSON at all',
        says('observer'),
      ),
    )
    const stdout = await page(filePath)
    expect(beside('Turns', stdout)).toEqual(['human 3 · ai 1 · tool 1 · observer 1 in all'])
    expect(beside('Tools', stdout)).toEqual(['grep  2  1 failed', 'sed   1  1 without an answer'])
    expect(beside('Compressions', stdout)).toEqual(['1 (3 items summed up)'])
    expect(beside('Rewinds', stdout)).toEqual(['1 (2 items taken back)'])
    expect(beside('Switched', stdout)).toEqual([
      '2 times, started with anthropic / claude-sonnet',
      '→ openai / gpt-5 (line 12)',
      '→ google / gpt-5 (line 13)',
    ])
    expect(beside('Model', stdout)).toEqual(['google / gpt-5'])
    expect(beside('History', stdout)).toEqual(['2 items survive (ai 1 · observer 1)'])
    for (const line of [5, 7, 8, 14])
      expect(stdout).toMatch(new RegExp(`! Line ${line}: malformed \\w+ event, skipping`))
    expect(stdout).toContain('! Line 15: failed to parse JSON')
  })

  test('of a session up to a record counts no later ones', async () => {
    const filePath = writeSession(
      session(content('one'), says('ai', toolCall('1', 'grep')), rewind(1), content('four')),
    )
    const stdout = await page(filePath, '--until', '3')
    expect(beside('Turns', stdout)).toEqual(['human 1 · ai 1'])
    expect(beside('Rewinds', stdout)).toEqual(['none'])
    expect(beside('History', stdout)).toEqual(['2 items survive (human 1 · ai 1)'])
  })

  test('does not warn of a byte order mark, CRLF line endings or a torn last line', async () => {
    const text = `\ufeff${session(content('one'), content('two', 'ai')).replaceAll('\n', '\r\n')}{"v":1,"seq":4,"ts":"20`
    const stdout = await page(writeSession(text))
    expect(beside('Turns', stdout)).toEqual(['human 1 · ai 1'])
    expect(stdout).toContain('Warnings none, the file is sound')
  })

  test('escapes hostile content', async () => {
    const filePath = writeSession(
      session(
        says(`spy${HOSTILE}`, toolCall('1', `tool${HOSTILE}`)),
        ['provider_switch', { provider: `p${HOSTILE}`, model: `m${HOSTILE}` }],
        ['directories_changed', { directories: [`/d${HOSTILE}`] }],
        sessionEvent(`message${HOSTILE}`),
        [`type${HOSTILE}`, {}],
      ),
    )
    const stdout = await page(filePath)
    expect(stdout).toContain('message\\x1b[2J\\x1b]0;owned\\x07\\x9b31m\\u202e')
    expect(stdout).not.toMatch(UNSAFE)
  })
})

describe('JSON', () => {
  test('is the result of replaySession', async () => {
    const deep = JSON.parse(`${'[['.repeat(9000)}${']]'.repeat(9000)}`)
    const odd = session(
      content(`\u2028\ud800 ${HOSTILE}`),
      ['content', { content: { speaker: 'ai', __proto__: 1, deep: 0 } }],
      'torn',
      rewind(0),
    )
    const nested = odd.replace('"deep":0', `"deep":${'[['.repeat(9000)}${']]'.repeat(9000)}`)
    expect(nested.length).toBeGreaterThan(36_000)
    for (const filePath of [SAMPLE, writeSession(nested), writeSession(session())]) {
      const { kind, path, ...result } = await resultOf(['replay', filePath])
      expect({ kind, path }).toEqual({ kind: 'session', path: filePath })
      const expected = (await replaySession(filePath)) as any
      if (filePath !== SAMPLE && expected.history.length > 0) {
        // Too deep for the recursive comparison.
        expect(depthOf(result.history[1].deep)).toBe(depthOf(deep))
        result.history[1].deep = expected.history[1].deep = null
      }
      expect(result).toEqual(expected)
    }
  })

  function depthOf(value: unknown): number {
    let depth = 0
    for (let inner = value; Array.isArray(inner); inner = inner[0]) depth += 1
    return depth
  }

  test('takes --until as throughSeq and --project as the expected project', async () => {
    const filePath = writeSession(session(content('one'), content('two')))
    expect((await resultOf(['replay', filePath, '--until', '2', '--project', PROJECT_HASH])).history).toHaveLength(1)
    const error = await errorOf(['replay', filePath, '--project', 'another'])
    expect(error).toMatchObject({ code: 'OtherProject', path: filePath })
  })

  test('of a file that is not a session is an error with the warnings', async () => {
    const filePath = writeSession('one\ntwo\nthree\n')
    const expected = await replaySession(filePath)
    const error = await errorOf(['replay', filePath], 1)
    expect(error).toMatchObject({
      code: 'NotASession',
      path: filePath,
      error: (expected as any).error,
      warnings: expected.warnings,
    })
  })
})

describe('an error is reported for', () => {
  test('an empty file', async () => {
    const filePath = writeSession('')
    expect(await complaintOf(['replay', filePath], 1)).toBe(`${filePath} is not a session: Empty file`)
    expect(await complaintOf(['replay', writeSession('\n \n')], 1)).toContain('is not a session: ')
    expect(await complaintOf(['replay', writeSession('\ufeff')], 1)).toContain('is not a session: Empty file')
  })

  test('a file that is not a session', async () => {
    const text = writeSession('Dear diary,\ntoday nothing happened.\nTomorrow the same.\nAnd so on.\nEnd.\n')
    expect(await complaintOf(['replay', text], 1)).toBe(
      `${text} is not a session: Missing or corrupt session_start event\n` +
        '  Line 1: failed to parse JSON\n  Line 2: failed to parse JSON\n  Line 3: failed to parse JSON\n  … and 1 more',
    )
    const headless = writeSession(`${envelope(1, content('who am I?'))}\n`)
    expect(await complaintOf(['replay', headless], 1)).toContain(
      'is not a session: Missing or corrupt session_start event',
    )
    const nameless = writeSession(`${envelope(1, ['session_start', {}])}\n`)
    expect(await complaintOf(['replay', nameless], 1)).toContain(
      'is not a session: Invalid session_start: missing required fields',
    )
    expect(await complaintOf(['replay', process.execPath])).toContain('is neither a session, nor a run, nor a bundle')
  })

  test('a directory', async () => {
    const directory = join(sessionDirectory(), 'chats')
    mkdirSync(directory)
    expect(await complaintOf(['replay', directory])).toBe(
      `${directory} is a directory that holds neither a run nor a bundle; for a session, name its file`,
    )
  })

  test('an option that is only for runs', async () => {
    expect(await complaintOf(['replay', SAMPLE, '--from-snapshot', '--verify', 'full'])).toBe(
      '--from-snapshot, --verify: not for a session',
    )
  })
})

describe('big files', () => {
  const ITEMS = 24_000
  const padding = 'All work and no play makes a long session. '.repeat(32)
  const item = (i: number): Event => content(`${i} ${padding}`, i % 2 === 0 ? 'human' : 'ai')

  /** A session of about 36 MB, written once for each name. */
  function bigSession(name: string, eventAfter: (i: number) => Event[]): string {
    const filePath = join(sessionDirectory(), name)
    if (!existsSync(filePath)) {
      const events = Array.from({ length: ITEMS }, (_, i) => [item(i), ...eventAfter(i)]).flat()
      writeFileSync(filePath, session(...events))
    }
    expect(statSync(filePath).size).toBeGreaterThan(32 << 20)
    return filePath
  }
  const plain = (): string => bigSession('plain.jsonl', () => [])
  const compacted = (): string => bigSession('compacted.jsonl', (i) => (i % 400 === 399 ? [compressed('so far')] : []))
  const smallHeap = { execArgv: ['--max-old-space-size=24'] }

  test('need memory for the remaining history, not for the file', async () => {
    const stdout = await shown(['replay', compacted()], smallHeap)
    expect(beside('Compressions', stdout)).toEqual(['60 (60 items summed up)'])
    expect(beside('History', stdout)).toEqual(['1 item survives (ai 1)'])
  })

  test('may have a history larger than the heap, as text and as JSON', async () => {
    const stdout = await shown(['replay', plain()], smallHeap)
    expect(beside('History', stdout)).toEqual(['24,000 items survive (human 12,000 · ai 12,000)'])
    const { history } = await resultOf(['replay', plain()], 0, smallHeap)
    expect(history).toHaveLength(ITEMS)
  })

  test.skipIf(!hasTerminal)('have a progress bar and colours on a terminal (needs util-linux script)', async () => {
    const { code, stdout } = await onTerminal(['replay', plain()])
    expect(code).toBe(0)
    expect(stdout).toMatch(/replaying .*\d+ %/)
    expect(stdout).toMatch(/counting .*100 %/)
    expect(stdout).toContain('\u001b[1mA session')
    expect((await onTerminal(['replay', plain()], { env: { NO_COLOR: '1' } })).stdout).not.toMatch(
      /\u001b\[\d*m.*session/i,
    )
    expect((await onTerminal(['replay', SAMPLE])).stdout).not.toContain('replaying ')
  })

  test.skipIf(!hasTerminal)(
    'have a progress bar while JSON is redirected to a file, which contains none of it (needs util-linux script)',
    async () => {
      const out = join(sessionDirectory(), 'out.json')
      const { code, stdout } = await onTerminal(['replay', plain(), '--json'], { redirect: `> ${out}` })
      expect(code).toBe(0)
      expect(stdout).toMatch(/replaying .*\d+ %/)
      expect(JSON.parse(readFileSync(out, 'utf8')).history).toHaveLength(ITEMS)
    },
  )
})
