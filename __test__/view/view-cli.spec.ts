// `session-tape view`: what it writes, opens, prints and refuses.
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { exportBundle } from '../../index.js'
import {
  complaintOf,
  errorOf,
  GOLDEN_RUN,
  hasTerminal,
  HOSTILE,
  onTerminal,
  PROJECT,
  resultOf,
  SAMPLE,
  sessionTape,
  shown,
  UNSAFE,
} from '../support/command-line'
import { compressed, content, file, rewind, session, start, writeSession } from '../support/session-file.js'
import { dataIn, freshFile } from '../support/view-page'

const { openerFor } = createRequire(import.meta.url)(join(PROJECT, 'packages/cli/view/browser.js'))
const NO_BROWSER = { env: { BROWSER: 'none' } }

describe('a page', () => {
  test('is written to the named file', async () => {
    const out = freshFile('page.html')
    expect(await shown(['view', SAMPLE, '--html', out])).toBe(`written to ${out}\n`)
    expect(dataIn(out).title).toBe('Session 3c8e51d7-0b6')
    expect(await resultOf(['view', GOLDEN_RUN, '--html', out, '--json'])).toMatchObject({
      path: out,
      events: 268,
      opened: false,
    })
    expect(dataIn(out).title).toBe('weekly report: run golden-1')
  })

  test('without a browser stays in a temporary file, whose path is printed', async () => {
    const printed = await shown(['view', SAMPLE], NO_BROWSER)
    expect(printed).toMatch(/^written to .*session-tape-view-.*session\.html\n$/)
    expect(existsSync(printed.slice('written to '.length).trim())).toBe(true)
  })

  test.skipIf(process.platform === 'win32' || process.platform === 'darwin')(
    'is opened with the browser that BROWSER names',
    async () => {
      const browser = freshFile('browser')
      const log = join(dirname(browser), 'log')
      writeFileSync(browser, `#!/bin/sh\necho "$1" > '${log}.new' && mv '${log}.new' '${log}'\n`)
      chmodSync(browser, 0o755)
      const { path, opened } = await resultOf(['view', SAMPLE, '--json'], 0, { env: { BROWSER: browser } })
      expect(opened).toBe(true)
      for (let times = 0; times < 500 && !existsSync(log); times++) await new Promise((done) => setTimeout(done, 20))
      expect(readFileSync(log, 'utf8')).toBe(`file://${path}\n`)
    },
  )

  test('is opened with the opener of the platform', () => {
    expect(openerFor('darwin', {})).toEqual(['open'])
    expect(openerFor('win32', {})[0]).toBe('rundll32')
    expect(openerFor('linux', { DISPLAY: ':0' })).toEqual(['xdg-open'])
    expect(openerFor('linux', {})).toBe(null)
    expect(openerFor('linux', { DISPLAY: ':0', BROWSER: 'none' })).toBe(null)
  })

  test('of a bundle has its seal, and marks redactions at their lines', async () => {
    const source = writeSession(session(content('my key is AKIAIOSFODNN7EXAMPLE'), content('two', 'ai')))
    for (const name of ['b.cath-bundle', 'b.cath-bundle.tar.zst']) {
      const bundle = freshFile(name)
      const { bundleId } = await exportBundle(source, bundle)
      const out = freshFile('page.html')
      await shown(['view', bundle, '--html', out])
      const { seal } = dataIn(out)
      expect(seal).toMatchObject({ bundleId, redactions: 1, signature: 'not signed' })
      expect(seal.redacted.lines).toEqual([[2, [expect.any(String)]]])
      expect(readFileSync(out, 'utf8')).not.toContain('AKIAIOSFODNN7EXAMPLE')
    }
  })

  test('of a bundle that does not verify is not written', async () => {
    const bundle = freshFile('b.cath-bundle')
    await exportBundle(SAMPLE, bundle)
    writeFileSync(join(bundle, 'session.jsonl'), 'changed')
    const out = freshFile('page.html')
    expect(await complaintOf(['view', bundle, '--html', out], 1)).toContain('does not verify')
    expect(existsSync(out)).toBe(false)
  })

  test('is never written over the recording, or into it', async () => {
    const log = freshFile('session.jsonl')
    copyFileSync(SAMPLE, log)
    expect((await errorOf(['view', log, '--html', log, '--json'])).code).toBe('InvalidOption')
    expect((await errorOf(['view', GOLDEN_RUN, '--html', join(GOLDEN_RUN, 'page.html'), '--json'])).code).toBe(
      'InvalidOption',
    )
    expect(readFileSync(log).equals(readFileSync(SAMPLE))).toBe(true)
  })

  test('is refused with wrong usage', async () => {
    expect(await complaintOf(['view', SAMPLE, '--html', 'x', '--serve'])).toContain('exclude each other')
    expect(await complaintOf(['view', SAMPLE, '--port', '80'])).toContain('only with --serve')
    expect(await complaintOf(['view', SAMPLE, '--serve', '--port', '70000'])).toContain('at most 65535')
    expect(await complaintOf(['view', SAMPLE, '--signature', 'required'])).toContain('is no bundle')
    expect(await complaintOf(['view', GOLDEN_RUN, '--text'])).toContain('not for a run')
    expect(await complaintOf(['view', freshFile('none.jsonl')])).toContain('there is nothing at')
    const directory = freshFile('directory')
    mkdirSync(directory)
    expect(await complaintOf(['view', directory])).toContain('holds neither a run nor a bundle')
  })
})

describe('the text', () => {
  test('is the conversation, with tools, times and removed items', async () => {
    const text = await shown(['view', SAMPLE, '--text'])
    expect(text).toContain(
      '\nHuman  08:41:26  line 3  not in the history: compressed at line 29\n  The tide table is an hour off',
    )
    expect(text).toMatch(
      / {2}→ search_files \{"pattern":"saint-malo\|Saint-Malo","path":"\."\}\n\nTool {2}08:41:33 {2}line 5.*\n {2}✓ search_files 400 ms\n/,
    )
    expect(text).toMatch(/ {2}✗ run_command 14\.7 s|✗ run_command 15 s/)
    expect(text).toContain('· Switched to anthropic · claude-sonnet-4-5  line 26')
  })

  test('shows damage and rewinds, and shortens long results', async () => {
    const log = writeSession(
      file(start(), content('one'), 'no json', compressed('all', 1), rewind(1), [
        'content',
        {
          content: {
            speaker: 'tool',
            blocks: [
              {
                type: 'tool_response',
                toolName: 'ls',
                result: Array.from({ length: 20 }, (_, at) => `line ${at}`).join('\n'),
              },
            ],
          },
        },
      ]),
    )
    const text = await shown(['view', log, '--text'])
    expect(text).toContain('✗ line 3: not JSON')
    expect(text).toContain('· rewound: 1 item left the history')
    expect(text).toContain('AI')
    expect(text).toContain('    line 11\n    … 8 more lines\n')
    expect(text).not.toContain('line 12\n')
  })

  test('has what a failed tool returned, the language of code, and what media are called', async () => {
    const item = (speaker: string, ...blocks: unknown[]) => ['content', { content: { speaker, blocks } }] as const
    const log = writeSession(
      session(
        item(
          'human',
          { type: 'code', code: 'let one', language: 'rust' },
          { type: 'code', code: 'no language' },
          {
            type: 'media',
            mimeType: 'image/png',
            data: 'AAAA',
            encoding: 'base64',
            caption: 'The tide',
            filename: 'tide.png',
          },
        ),
        item(
          'tool',
          {
            type: 'tool_response',
            callId: 'c1',
            toolName: 'run',
            result: { stdout: 'half done' },
            error: 'exit code 1',
          },
          { type: 'tool_response', callId: 'c2', toolName: 'ls', result: '', error: 'gone' },
        ),
      ),
    )
    const text = await shown(['view', log, '--text'])
    expect(text).toContain('  ‹› rust\n  let one\n  no language\n  ▣ image/png, tide.png, The tide, not shown\n')
    expect(text).toContain('  ✗ run\n    exit code 1\n    half done\n  ✗ ls\n    gone\n')
  })

  test('shows records whose time or type is an object that no string can be made of', async () => {
    const lines = session(content('the first'), ['later_event', { x: 1 }], content('the last'))
      .trimEnd()
      .split('\n')
    const [start, first, event, last] = lines.map((line) => JSON.parse(line))
    const unprintable = { toString: 1 }
    const log = writeSession(
      [start, { ...first, ts: unprintable }, { ...event, type: unprintable }, last]
        .map((line) => `${JSON.stringify(line)}\n`)
        .join(''),
    )
    const text = await shown(['view', log, '--text'])
    expect(text).toContain('Human  line 2\n  the first\n\n· {"toString":1} {"x":1}  line 3\n')
    expect(text).toContain('the last')
  })

  test("can't repaint the terminal, whatever is in it", async () => {
    const item = (speaker: string, ...blocks: unknown[]) => ['content', { content: { speaker, blocks } }] as const
    const log = writeSession(
      session(
        content(HOSTILE),
        item(
          HOSTILE,
          { type: 'tool_call', id: '1', name: HOSTILE, parameters: { [HOSTILE]: HOSTILE } },
          { type: 'thinking', thought: HOSTILE },
          { type: HOSTILE, x: HOSTILE },
          HOSTILE,
        ),
        item(
          'tool',
          { type: 'tool_response', callId: '1', toolName: HOSTILE, result: HOSTILE, error: { [HOSTILE]: HOSTILE } },
          { type: 'media', mimeType: HOSTILE, caption: HOSTILE },
          { type: 'code', code: HOSTILE, language: HOSTILE },
        ),
        [HOSTILE, HOSTILE],
      ),
    )
    const text = await shown(['view', log, '--text'])
    expect(text).toContain('\\x1b[2J')
    expect(text).not.toMatch(UNSAFE)
  })

  test.skipIf(!hasTerminal)('goes through the pager on a terminal, with colours', async () => {
    const { stdout } = await onTerminal(['view', SAMPLE, '--text'], { env: { PAGER: 'sed s/^/paged:/' } })
    expect(stdout).toMatch(/^paged:.*Human/m)
    expect(stdout).toContain('\u001b[1m')
  })

  test('is plain in a pipe, without a pager', async () => {
    const { stdout, code } = await sessionTape(['view', SAMPLE, '--text'], { env: { PAGER: 'false' }, cwd: '/' })
    expect(code).toBe(0)
    expect(stdout).not.toContain('\u001b')
    expect(stdout.length).toBeGreaterThan(5000)
  })
})
