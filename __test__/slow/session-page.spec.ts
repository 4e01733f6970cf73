// The page of a session in a real browser.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { RECORDINGS, SAMPLE } from '../support/command-line'
import { editedSession } from '../support/edited-session.js'
import { compressed, content, file, rewind, session, start, writeSession } from '../support/session-file.js'
import type { Event } from '../support/session-file.js'
import {
  CHROMIUM,
  linesShown,
  launch,
  open,
  openSessionPage,
  seriousFindings,
  sessionPage,
  settled,
  timeLabels,
  unreadableLabels,
  type Opened,
} from '../support/view-page'

let browser: Browser

const sample = async (hash = ''): Promise<Opened> => open(browser, pathToFileURL(await sessionPage(SAMPLE)).href + hash)

const item = (speaker: string, ...blocks: unknown[]): Event => ['content', { content: { speaker, blocks } }]
const said = (text: string): Event => item('ai', { type: 'text', text })

const isInView = (page: Page, selector: string): Promise<boolean> =>
  page
    .locator(selector)
    .first()
    .evaluate((element) => {
      const { top, bottom } = element.getBoundingClientRect()
      return bottom > document.querySelector('.bar')!.getBoundingClientRect().bottom && top < innerHeight
    })

describe.skipIf(CHROMIUM === undefined)('the page of a session', () => {
  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(() => browser.close())

  test('opens without errors or requests, and shows the conversation in order', async () => {
    const { page, complaints, requests } = await sample()
    expect(await page.locator('h1').textContent()).toBe('Session 3c8e51d7-0b6')
    expect((await linesShown(page)).slice(0, 6)).toEqual([1, 2, 3, 4, 5, 6])
    expect(await page.locator('#line-3 .who b').textContent()).toBe('Human')
    expect(await page.locator('#line-4 .markdown').textContent()).toContain('An offset that appears at a clock change')
    // Rows that are not rendered yet have an estimated height.
    for (let times = 0; times < 2; times++) {
      await page.evaluate('scrollTo(0, document.body.scrollHeight)')
      await settled(page)
    }
    expect(await isInView(page, '#line-49')).toBe(true)
    expect(complaints).toEqual([])
    expect(requests).toEqual([])
  })

  describe('that is long', () => {
    let path: string
    beforeAll(async () => {
      const texts = Array.from({ length: 300 }, (_, at) => said(`item ${at} — ${'naïve ✓ text '.repeat(120)}`))
      path = await sessionPage(writeSession(session(...texts)))
    })

    const last = async (page: Page): Promise<string | null> => {
      await page.locator('main').waitFor()
      await page.evaluate(`location.hash = '#line-301'`)
      return page.locator('#line-301 .markdown').textContent()
    }
    const opened = async (script: string): Promise<Page> => {
      const page = await browser.newPage()
      await page.addInitScript(script)
      await page.goto(pathToFileURL(path).href)
      return page
    }

    test('is compressed, and shows its content', async () => {
      expect(statSync(path).size).toBeLessThan(300 * 120 * 'naïve ✓ text '.length)
      const { page, complaints, requests } = await open(browser, pathToFileURL(path).href)
      expect(await last(page)).toContain('item 299 — naïve ✓ text naïve')
      expect([...complaints, ...requests]).toEqual([])
    })

    test('is unpacked where the browser has no function for base64', async () => {
      expect(await last(await opened('delete Uint8Array.fromBase64'))).toContain('item 299 — naïve ✓ text naïve')
    })

    test('says so where the browser cannot unpack it', async () => {
      const page = await opened('delete globalThis.DecompressionStream')
      expect(await page.locator('body').innerText()).toContain('This browser cannot unpack the data of the page.')
    })
  })

  test('real recordings open (needs ../shared/data/sessions)', async ({ skip }) => {
    skip(!existsSync(RECORDINGS), 'there are no recordings')
    for (const name of readdirSync(RECORDINGS)
      .filter((each) => each.endsWith('.jsonl'))
      .slice(0, 4)) {
      const { page, complaints } = await open(browser, pathToFileURL(await sessionPage(join(RECORDINGS, name))).href)
      expect(complaints, name).toEqual([])
      expect(await page.locator('.verdict').textContent()).toContain('Sound.')
      await page.close()
    }
  })

  test('a call is folded, and opens to arguments and result side by side', async () => {
    const { page } = await sample('#line-13')
    const call = page.locator('#line-13 .call').first()
    expect(await call.locator('summary').textContent()).toMatch(/✗run_command npm test.*failed/)
    expect(await call.locator('.call-part').count()).toBe(0)
    await call.locator('summary').click()
    // The browser reports that the call was opened a moment later.
    await call.locator('.call-part').nth(1).waitFor()
    const [left, right] = await call
      .locator('.call-part')
      .evaluateAll((parts) => parts.map((part) => part.getBoundingClientRect().toJSON()))
    expect(left.right).toBeLessThanOrEqual(right.left)
    expect(left.top).toBe(right.top)
    expect(await call.locator('.call-part').nth(1).textContent()).toContain('Failed, line 14')
  })

  test('shows what compressions and rewinds removed, at the items and at the events', async () => {
    const { page } = await openSessionPage(
      browser,
      session(content('one'), content('two', 'ai'), compressed('both', 2), content('three'), rewind(1)),
    )
    expect(await page.locator('.removal').allTextContents()).toEqual([
      'Compressed: 2 items became this summary (lines 2 to 3)',
      'Rewound: 1 item left the history (line 5)',
    ])
    expect(await page.locator('#line-2 .gone-label').textContent()).toBe('not in the history: compressed at line 4')
    expect(await page.locator('#line-5 .gone-label').textContent()).toBe('not in the history: rewound at line 6')
    expect(await page.locator('#line-4 .gone-label').count()).toBe(0)
    expect(await page.locator('.strip .bar-gone').count()).toBe(2)
  })

  test('shows what edits did to the history, the items they brought, and where those went', async () => {
    const { page, complaints } = await openSessionPage(browser, editedSession())
    expect(await page.locator('.removal').allTextContents()).toEqual([
      'Edited: replaced 2 items, removed 1 (keys 3, 5, 7) (lines 2 to 6)',
      'Inserted: after key 4',
      'Bound: item 2 to key 40, with other content (line 9)',
      'Rewound: 2 items left the history (lines 5 to 7)',
      'Purged media: history of 2 items (lines 3 to 10)',
    ])
    expect(await page.locator('.note-text').allTextContents()).toEqual(
      expect.arrayContaining(['item 0 to key 41', 'of keys 1 to 2, 3 items']),
    )
    expect(await page.locator('#line-8 .markdown').allTextContents()).toEqual(
      ['short 3 word', 'short 5'].map((text) => expect.stringContaining(text)),
    )
    expect(await page.locator('#line-2 .gone-label').textContent()).toBe('not in the history: edited at line 8')
    expect(await page.locator('#line-9 .gone-label').textContent()).toBe('not in the history: replaced at line 10')
    expect(await page.locator('#line-10 .gone-label').textContent()).toBe('not in the history: purged at line 14')
    expect(await page.locator('#line-8 .gone-label').allTextContents()).toEqual(
      Array(2).fill('not in the history: purged at line 14'),
    )
    expect(await page.locator('#line-14 .gone-label').count()).toBe(0)
    expect(complaints).toEqual([])
  })

  test('counts the items that a rewind removed, also those of lines that keep others', async () => {
    const history = ['a', 'b', 'c'].map((text) => ({ speaker: 'ai', blocks: [{ type: 'text', text }] }))
    const { page } = await openSessionPage(
      browser,
      session(
        ['semantic_media_purge', { history, frontier: { contentIndex: 0, blockIndex: 0 } }],
        rewind(2),
        rewind(0),
      ),
    )
    expect(await page.locator('p.removal').allTextContents()).toEqual([
      'Purged media: history of 3 items',
      'Rewound: 2 items left the history',
      'A rewind that removed nothing',
    ])
  })

  test('shows an edit that only removes, with the lines that it removed', async () => {
    const item = (seq: number) => ({
      speaker: 'ai',
      blocks: [{ type: 'text', text: 'x' }],
      metadata: { chronology: { seq } },
    })
    const { page } = await openSessionPage(
      browser,
      session(
        ['content', { content: item(1) }],
        ['content', { content: item(2) }],
        ['density_mutation', { removedSeqs: [1, 2], replacements: [] }],
      ),
    )
    expect(await page.locator('#line-4 .removal').textContent()).toBe(
      'Edited: replaced 0 items, removed 2 (keys 1, 2) (lines 2 to 3)',
    )
    const { page: other } = await openSessionPage(
      browser,
      session(['density_mutation', { removedSeqs: [9], replacements: [] }]),
    )
    expect(await other.locator('#line-2 summary').textContent()).toBe(
      'Edited replaced 0 items, removed 1 (key 9) without effect',
    )
    await page.locator('#line-4 .source').click()
    expect(await page.locator('#line-4').textContent()).toContain('"removedSeqs"')
  })

  test('shows calls that an edit brings again with the results that it brings', async () => {
    const call = (id: string) => ({ type: 'tool_call', id, name: `tool ${id}`, parameters: {} })
    const response = (callId: string, error?: string) => ({ type: 'tool_response', callId, result: 'found', error })
    const history = [
      { speaker: 'ai', blocks: ['a', 'b', 'c'].map(call) },
      { speaker: 'tool', blocks: [response('a'), response('b', 'no such file'), response('d')] },
    ]
    const { page, complaints } = await openSessionPage(
      browser,
      session(['semantic_media_purge', { history, frontier: { contentIndex: 0, blockIndex: 0 } }]),
    )
    expect(await page.locator('#line-2 .call summary').allTextContents()).toEqual(
      [/tool a.*succeeded/, /tool b.*failed/, /tool c.*recorded before/].map((text) => expect.stringMatching(text)),
    )
    expect(await page.locator('#line-2 .response-row').allTextContents()).toEqual(
      [/tool a.*to its call above/, /tool b.*to its call above/, /\(unnamed\)(?!.*call)/].map((text) =>
        expect.stringMatching(text),
      ),
    )
    await page.locator('#line-2 .call summary').nth(1).click()
    expect(await page.locator('#line-2 .call-part').nth(1).textContent()).toContain('no such file')
    expect(complaints).toEqual([])
  })

  test('a link to a line shows it, even if it was filtered out', async () => {
    const { page } = await sample('#line-44')
    await settled(page)
    expect(await isInView(page, '#line-44')).toBe(true)
    expect(await page.evaluate('document.activeElement.id')).toBe('line-44')
    await page.locator('.search input[type=search]').fill('VTIMEZONE')
    await settled(page)
    expect(await linesShown(page)).not.toContain(3)
    await page.evaluate('location.hash = "#line-3"')
    await settled(page)
    expect(await isInView(page, '#line-3')).toBe(true)
  })

  test('search shows the records that contain a text, results included, and marks it', async () => {
    const { page } = await sample()
    await page.locator('.search input[type=search]').fill('heures légales')
    await settled(page)
    expect(await linesShown(page)).toEqual([10, 11])
    expect(await page.locator('.status').textContent()).toBe('2 of 49')
    expect(await page.locator('#line-11 mark').first().textContent()).toBe('Heures légales')
    await page.keyboard.press('Escape')
    expect((await linesShown(page)).length).toBeGreaterThan(10)
  })

  test('filters by speaker, tool and state', async () => {
    const { page } = await sample()
    for (const name of ['AI', 'Tool', 'Other records']) await page.getByLabel(name, { exact: true }).uncheck()
    expect(await linesShown(page)).toEqual([3, 16, 30, 39, 41, 47])
    await page.locator('select').nth(1).selectOption('now')
    expect(await linesShown(page)).toEqual([30, 41, 47])
    await page.keyboard.press('Escape')
    await page.locator('select').nth(0).selectOption('tool search_files')
    expect(await page.locator('.status').textContent()).toBe('6 of 49')
  })

  test('the keys move to the next record, to the next one in the history and to failures', async () => {
    const { page } = await sample()
    const focused = () => page.evaluate('document.activeElement.id')
    await page.keyboard.press('j')
    expect(await focused()).toBe('line-2')
    await page.keyboard.press('k')
    expect(await focused()).toBe('line-1')
    await page.keyboard.press('e')
    expect(await focused()).toBe('line-14')
    await page.keyboard.press('h')
    expect(await focused()).toBe('line-29')
    await page.keyboard.press('/')
    expect(await page.evaluate('document.activeElement.type')).toBe('search')
  })

  const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const image = (data: string) => ({ type: 'media', mimeType: 'image/png', encoding: 'base64', data })

  test('Markdown is rendered, code highlighted, thinking dimmed, images shown', async () => {
    const { page, complaints } = await openSessionPage(
      browser,
      session(
        item(
          'ai',
          { type: 'thinking', thought: 'hmm' },
          {
            type: 'text',
            text: '# Title\n\n**bold** and `code`\n\n| a | b |\n|:-:|--:|\n| 1 | 2 |\n\n```js\nconst one = 1\n```',
          },
          { type: 'code', code: 'def f(): pass', language: 'python' },
          { ...image(pixel), caption: 'A **pixel**', filename: 'pixel.png' },
          { type: 'media', mimeType: 'audio/wav', encoding: 'base64', data: 'AAAA', title: 'A noise' },
        ),
      ),
    )
    expect(await page.locator('figcaption').allTextContents()).toEqual(['pixel.png, A **pixel**'])
    expect(await page.locator('p.media').allTextContents()).toEqual(['python', 'audio/wav, A noise, not shown here'])
    expect(await page.locator('.markdown strong').textContent()).toBe('bold')
    expect(await page.locator('.markdown td').allTextContents()).toEqual(['1', '2'])
    expect(await page.locator('.hljs-keyword').allTextContents()).toEqual(['const', 'def', 'pass'])
    expect(await page.locator('.thinking').textContent()).toMatch(/^Thinkinghmm\s*$/)
    expect(await page.locator('img').evaluate((image: HTMLImageElement) => image.naturalWidth)).toBe(1)
    expect(complaints).toEqual([])
  })

  test('the images of items that edits bring are shown where they belong', async () => {
    const other = 'iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAYAAAD0In+KAAAADklEQVR42mP4z8DwH4QBEfcD/f6tu5kAAAAASUVORK5CYII='
    const keyed = (seq: number, ...blocks: unknown[]) => ({
      speaker: 'ai',
      blocks,
      metadata: { chronology: { seq, userTurn: 1, step: 0, recordedAt: 0 } },
    })
    const { page, complaints } = await openSessionPage(
      browser,
      session(
        ['content', { content: keyed(1, image(pixel)) }],
        [
          'density_mutation',
          {
            removedSeqs: [],
            replacements: [
              { replacedSeq: 9, replacement: keyed(9) },
              { replacedSeq: 1, replacement: keyed(1, { type: 'text', text: 'smaller' }, image(other)) },
            ],
          },
        ],
        ['synthetic_insert', { content: keyed(2, image(pixel)), chronologySeq: 2, afterSeq: 1 }],
        [
          'chronology_bind',
          { rowIndex: 1, chronology: { seq: 3, userTurn: 1, step: 0, recordedAt: 0 }, content: keyed(3, image(other)) },
        ],
        [
          'semantic_media_purge',
          {
            history: [keyed(1, { type: 'text', text: 'both' }), keyed(2, image(other), image(pixel))],
            frontier: { contentIndex: 0, blockIndex: 0 },
          },
        ],
      ),
    )
    const widths = (line: number) =>
      page
        .locator(`#line-${line} img`)
        .evaluateAll((images) => images.map((each) => (each as HTMLImageElement).naturalWidth))
    await settled(page)
    expect(await Promise.all([2, 3, 4, 5, 6].map(widths))).toEqual([[1], [2], [1], [2], [2, 1]])
    // Each image is in the page once.
    expect(await page.evaluate('JSON.parse(document.getElementById("images").textContent).length')).toBe(2)
    expect(complaints).toEqual([])
  })

  describe('what a model reads and Markdown does not show', () => {
    const shown = async (text: string): Promise<string> => {
      const { page } = await openSessionPage(browser, session(said(text)))
      return page.locator('#line-2 .markdown').innerText()
    }

    test.each([
      [
        'cells beyond the header of a table',
        '| a | b |\n|---|---|\n| 1 | 2 | beyond | further |\n| 3 | 4 |',
        ['beyond', 'further'],
      ],
      ['such cells in a quotation', '> | a |\n> |---|\n> | 1 | beyond |', ['beyond']],
      ['all that follows the fence of code', '```js title="x" and more\ncode\n```', ['js title="x" and more']],
      [
        'a definition of a link that nothing uses',
        'before\n\n[unused]: https://example.org/path "the title"\n\nafter',
        ['[unused]: https://example.org/path "the title"'],
      ],
      [
        'a second definition of the same link',
        '[x]\n\n[x]: https://example.org/1\n[x]: https://example.org/2',
        ['[x]: https://example.org/2'],
      ],
      [
        'titles of links and images',
        '[link](https://example.org "of the link") ![image](https://example.org/x.png "of the image") [ref]\n\n[ref]: https://example.org "of the reference"',
        ['of the link', 'of the image', 'of the reference'],
      ],
      ['what is nested more deeply than is rendered', `${'>'.repeat(150)} deep`, ['deep']],
    ])('is in the page: %s', async (_, text, parts) => {
      const all = await shown(text)
      for (const part of parts) expect(all).toContain(part)
    })

    test('adds nothing to tables without such cells, also in lists', async () => {
      const { page } = await openSessionPage(
        browser,
        session(said('- | a | b |\n  |---|---|\n  | 1 | x\\|y |\n\n| c |\n|---|\n| 2 |')),
      )
      expect(await page.locator('.markdown :is(th, td)').allTextContents()).toEqual(['a', 'b', '1', 'x|y', 'c', '2'])
      expect(await page.locator('.markdown .extra').count()).toBe(0)
    })
  })

  test('characters that cannot be seen are marked, but for those of emoji and scripts', async () => {
    const selectors = [...'run'].map((letter) => String.fromCodePoint(0xe0100 + letter.charCodeAt(0))).join('')
    const needed = '👩‍💻 ❤️ 1️⃣ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 می‌خواهم क्‍ष ᠠ᠋'
    const { page } = await openSessionPage(
      browser,
      session(said(`${needed} 😀${selectors}`), said(needed), said('a\u3164b\u115fc\u034fd\u200de\u{1d173}')),
    )
    expect(await page.locator('#line-2 .hidden').allTextContents()).toEqual(['\\u{e0172}', '\\u{e0175}', '\\u{e016e}'])
    expect(await page.locator('#line-3 .hidden').count()).toBe(0)
    expect(await page.locator('#line-3 .markdown').innerText()).toBe(needed)
    expect(await page.locator('#line-4 .hidden').allTextContents()).toEqual([
      '\\u3164',
      '\\u115f',
      '\\u034f',
      '\\u200d',
      '\\u{1d173}',
    ])
  })

  test('a button shows the source of a record, and what it is shown as again', async () => {
    const { page, complaints } = await openSessionPage(
      browser,
      session(
        item('ai', { type: 'text', text: '**bold**\n\n[unused]: https://example.org', note: 'of no use' }),
        content('second'),
      ),
      { bypassCSP: true },
    )
    const row = page.locator('#line-2')
    const source = row.getByRole('button', { name: 'Source of line 2' })
    expect(await source.getAttribute('aria-pressed')).toBe('false')
    await source.click()
    expect(await row.locator('.body').innerText()).toContain('**bold**\n\n[unused]: https://example.org')
    expect(await row.locator('.body').innerText()).toContain('of no use')
    expect(await row.locator('.markdown').count()).toBe(0)
    expect(await page.locator('#line-3 .markdown').innerText()).toBe('second')
    expect(await seriousFindings(page)).toEqual([])
    // The button that was clicked has been replaced, and has the focus.
    expect(await page.evaluate('document.activeElement.getAttribute("aria-pressed")')).toBe('true')
    await page.keyboard.press('Enter')
    expect(await row.locator('.markdown strong').textContent()).toBe('bold')
    expect(complaints).toEqual([])
  })

  test('damage and warnings are shown at their lines', async () => {
    const { page } = await openSessionPage(
      browser,
      file(start(), '{"torn": <script>', content('x'), ['content', { content: 5 }]),
    )
    expect(await page.locator('#line-2 .damage').textContent()).toBe('Not JSON{"torn": <script>')
    expect(await page.locator('#line-2 .warning').textContent()).toBe('Warning: failed to parse JSON')
    expect(await page.locator('#line-4 .warning').textContent()).toBe('Warning: malformed content event, skipping')
    expect(await page.locator('.verdict summary').textContent()).toMatch(/warnings/)
  })

  describe('hostile content', () => {
    const HOSTILE = [
      '<script>window.ran = 1</script><img src=x onerror="window.ran = 2"><svg onload="window.ran = 3"></svg>',
      '[click](javascript:window.ran=4) [data](data:text/html,<script>window.ran=5</script>) [v](vbscript:x) <a href="javascript:window.ran=6">a</a>',
      '![pixel](https://example.invalid/pixel.png) ![x](javascript:alert(1) "t")',
      '</script><script>window.ran = 7</script><!-- ',
      '[google.com](https://evil.example/path)',
      'user\u202egnp.exe \u2066hidden\u2069 \u200bzero \u001b[31mred',
      '```"><img src=x onerror=window.ran=8>\ncode\n```\n\n    <b>indented</b>',
    ]

    test('stays text, runs nothing and loads nothing', async () => {
      const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>window.ran=9</script></svg>').toString(
        'base64',
      )
      const { page, complaints, requests } = await openSessionPage(
        browser,
        session(
          ...HOSTILE.map(said),
          item(
            'ai',
            ...HOSTILE.map((text) => ({
              type: 'tool_call',
              id: text,
              name: text,
              parameters: { [text]: text, n: text },
            })),
            { type: 'media', mimeType: 'image/svg+xml', encoding: 'base64', data: svg },
            { type: 'media', mimeType: 'image/png"onerror="window.ran=10', encoding: 'base64', data: 'AAAA' },
            { type: 'media', mimeType: 'image/png', encoding: 'url', data: 'https://example.invalid/x.png' },
          ),
          item(
            'tool',
            ...HOSTILE.map((text) => ({
              type: 'tool_response',
              callId: text,
              toolName: text,
              result: text,
              error: text,
            })),
          ),
          item(
            '<img src=x onerror=window.ran=11>',
            { type: '__proto__', text: HOSTILE[0] },
            { type: 'constructor' },
            null,
            7,
          ),
          ...HOSTILE.map((text): Event => ['session_event', { severity: 'error', message: text }]),
          [HOSTILE[0]!, { __proto__: 1, toString: HOSTILE[0] }],
        ),
      )
      for (const summary of await page.locator('main summary').all()) await summary.click()
      await settled(page)
      expect(complaints).toEqual([])
      expect(requests).toEqual([])
      expect(await page.evaluate('window.ran')).toBe(undefined)
      expect(
        await page.locator('main script, main svg, main img, main iframe, main [onerror], main [onload]').count(),
      ).toBe(0)
      const links = await page
        .locator('main a:not(.line-link):not(.number)')
        .evaluateAll((all) => all.map((link) => [link.getAttribute('href'), link.getAttribute('rel')]))
      expect(links).toEqual([['https://evil.example/path', 'noopener noreferrer nofollow']])
      expect(await page.locator('.host').textContent()).toBe(' (evil.example)')
      expect(await page.locator('#line-7 .hidden').allTextContents()).toEqual([
        '\\u202e',
        '\\u2066',
        '\\u2069',
        '\\u200b',
        '\\x1b',
      ])
      expect(await page.locator('#line-2').textContent()).toContain('<script>window.ran = 1</script>')
    })

    test('is cut if a line has ten megabytes, and marked as cut', async () => {
      const { page, complaints } = await openSessionPage(
        browser,
        session(said('x'.repeat(10_000_000)), content('after')),
      )
      expect(await page.locator('#line-2 .left-out').textContent()).toMatch(/… 9,9\d\d,\d\d\d characters left out …/)
      expect(await page.locator('#line-3').textContent()).toContain('after')
      expect(complaints).toEqual([])
    })
  })

  test('names its libraries with their licences, and contains the licence texts', async () => {
    const { page } = await sample()
    const made = await page.locator('.made li').allTextContents()
    expect(made).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^markdown-it \d+\.\d+\.\d+, MIT$/),
        expect.stringMatching(/^highlight\.js .*BSD-3-Clause$/),
        expect.stringMatching(/^dompurify .*Apache-2\.0/),
      ]),
    )
    expect(readFileSync(await sessionPage(SAMPLE), 'utf8')).toContain('Permission is hereby granted, free of charge')
  })

  test('time labels never overlap, also after the window has become narrow or wide', async () => {
    const { page } = await open(browser, pathToFileURL(await sessionPage(SAMPLE)).href, {
      viewport: { width: 420, height: 800 },
    })
    expect(await unreadableLabels(page)).toEqual([])
    const ends = (await timeLabels(page)).map(({ text }) => text)
    expect(ends.length).toBeGreaterThanOrEqual(2)
    await page.setViewportSize({ width: 1280, height: 800 })
    await settled(page)
    expect(await unreadableLabels(page)).toEqual([])
    expect((await timeLabels(page)).length).toBeGreaterThan(ends.length)
    await page.setViewportSize({ width: 420, height: 800 })
    await settled(page)
    expect((await timeLabels(page)).map(({ text }) => text)).toEqual(ends)
  })

  test('a time label names its day if the one before it is of another day', async () => {
    const at = (seq: number, ts: string): string =>
      JSON.stringify({ v: 1, seq, ts, type: 'content', payload: { content: { speaker: 'ai', blocks: [] } } })
    const { page } = await openSessionPage(
      browser,
      `${file(start())}${[at(2, '2026-02-12T15:59:01.000Z'), at(3, '2026-02-12T16:00:01.000Z'), at(4, '2026-02-13T16:00:01.000Z')].join('\n')}\n`,
    )
    expect((await timeLabels(page)).map(({ text }) => text)).toEqual([
      '2026-02-11 16:00:01',
      '2026-02-12 15:59:01',
      '2026-02-13 16:00:01',
    ])
    expect(await unreadableLabels(page)).toEqual([])
  })

  test('with ten thousand records few are in the document, and both ends can be reached', async () => {
    const { page, complaints } = await openSessionPage(
      browser,
      session(...Array.from({ length: 10_000 }, (_, at) => content(`turn ${at}`, at % 2 ? 'ai' : 'human'))),
    )
    await page.evaluate('scrollTo(0, document.body.scrollHeight)')
    await settled(page)
    await page.keyboard.press('End')
    await page.evaluate('location.hash = "#line-10001"')
    await settled(page)
    expect(await isInView(page, '#line-10001')).toBe(true)
    expect(await page.locator('li.line').count()).toBeLessThan(500)
    await page.locator('.search input[type=search]').fill('turn 7777')
    await settled(page)
    expect(await linesShown(page)).toEqual([7779])
    expect(complaints).toEqual([])
  })
})
