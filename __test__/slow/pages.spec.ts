// What the pages of a session, of a run and of a diff have in common, in a real browser.
import { existsSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { GOLDEN_RUN, SAMPLE } from '../support/command-line'
import { freshPath, partedRuns, partedSessions, writeDiffPage } from '../support/diff-html.js'
import {
  CHROMIUM,
  launch,
  NO_CHROMIUM,
  open,
  runPage,
  seriousFindings,
  sessionPage,
  settled,
  type Opened,
} from '../support/view-page'

test('a Chromium is available', ({ skip }) => {
  skip(CHROMIUM === undefined, NO_CHROMIUM)
  expect(existsSync(CHROMIUM!)).toBe(true)
})

async function diffPage(sides: Parameters<typeof writeDiffPage>[1]): Promise<string> {
  const out = freshPath('.html')
  await writeDiffPage(out, sides)
  return out
}

/** Each page, and what can be opened in it. */
const PAGES: [name: string, write: () => Promise<string>, parts: string, heading: string][] = [
  ['a session', () => sessionPage(SAMPLE), 'main summary', 'Session 3c8e51d7-0b6'],
  ['a run', () => runPage(GOLDEN_RUN), '.ancestor', 'weekly report: run golden-1'],
  ['a diff of runs', async () => diffPage(await partedRuns()), '.row.divergence .line', 'Two runs of report compared'],
  [
    'a diff of sessions',
    async () => diffPage(partedSessions(8, 4, ['one two three', 'one 2 three'])),
    '.row.divergence .line',
    'Two sessions compared',
  ],
]

async function openParts(page: Page, parts: string): Promise<void> {
  for (const part of (await page.locator(parts).all()).slice(0, 6)) await part.click()
  await settled(page)
}

describe.skipIf(CHROMIUM === undefined).each(PAGES)('the page of %s', (_, write, parts, heading) => {
  let browser: Browser
  let url: string
  beforeAll(async () => {
    browser = await launch()
    url = pathToFileURL(await write()).href
  })
  afterAll(() => browser.close())

  const shown = (options?: Parameters<typeof open>[2]): Promise<Opened> => open(browser, url, options)

  test('opens without errors or requests, also its parts, and names its libraries with their licences', async () => {
    const { page, complaints, requests } = await shown()
    expect(await page.locator('h1').textContent()).toBe(heading)
    expect(await page.locator('body > header, body > main, body > footer').count()).toBe(3)
    await openParts(page, parts)
    expect(await page.locator('.made li').allTextContents()).toContainEqual(
      expect.stringMatching(/^preact \d+\.\d+\.\d+, MIT$/),
    )
    expect(complaints).toEqual([])
    expect(requests).toEqual([])
  })

  test('refuses connections, other scripts and markup from strings by its policy', async () => {
    const { page } = await shown()
    const refused = await page.evaluate(async () => {
      const { document, fetch } = globalThis as any
      const found: string[] = []
      await fetch('https://example.invalid/').catch(() => found.push('fetch'))
      const refuses = (name: string, act: () => void) => {
        try {
          act()
        } catch {
          found.push(name)
        }
      }
      refuses('innerHTML', () => (document.body.innerHTML = '<b>x</b>'))
      refuses('script', () => (document.createElement('script').textContent = 'window.ran = true'))
      const script = document.createElement('script')
      script.append('window.ran = true')
      refuses('appended', () => document.body.append(script))
      return [...found.filter((name) => name !== 'appended'), String((globalThis as any).ran)]
    })
    expect(refused).toEqual(['fetch', 'innerHTML', 'script', 'undefined'])
  })

  test.each(['light', 'dark'] as const)(
    'in %s colours axe finds nothing serious, with parts opened',
    async (scheme) => {
      const { page } = await shown({ colorScheme: scheme, bypassCSP: true })
      await openParts(page, parts)
      expect(await seriousFindings(page)).toEqual([])
      const [paper] = await page.evaluate<number[]>(
        'getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).map(Number)',
      )
      expect(paper! > 128).toBe(scheme === 'light')
    },
  )

  test.each([1280, 760, 400])('at a width of %i nothing overflows', async (width) => {
    const { page } = await shown({ viewport: { width, height: 800 } })
    await openParts(page, parts)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
  })

  test('can be printed, and shows all again afterwards', async () => {
    const { page, complaints } = await shown()
    const rows = () => page.locator('[data-row]').count()
    const before = await rows()
    expect((await page.pdf()).length).toBeGreaterThan(15_000)
    await expect.poll(rows).toBe(before)
    expect(complaints).toEqual([])
  })
})
