// The comparison page in a real browser.

import { createServer } from 'node:http'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CHROMIUM, launch, open, openApart, type Opened } from '../support/browser.js'
import {
  aRun,
  aSession,
  difference,
  freshPath,
  partedRuns,
  partedSessions,
  say,
  writeDiffPage,
  type Sides,
} from '../support/diff-html.js'

const RECORDINGS = fileURLToPath(new URL('../../../shared/data/sessions', import.meta.url))

let browser: Browser

type Options = Parameters<typeof open>[2]

/** Writes a page and opens it. */
async function shown(sides: Sides, options?: Options): Promise<Opened> {
  return open(browser, await written(sides), options)
}

async function written(sides: Sides): Promise<string> {
  const out = freshPath('.html')
  await writeDiffPage(out, sides)
  return pathToFileURL(out).href
}

const isInView = (page: Page, selector: string): Promise<boolean> =>
  page
    .locator(selector)
    .first()
    .evaluate((element: any) => {
      const { top, bottom, left, right } = element.getBoundingClientRect()
      const { innerHeight, innerWidth } = globalThis as any
      const covered = (globalThis as any).document.querySelector('.bar').getBoundingClientRect().bottom
      return top >= 0 && bottom > covered && top < innerHeight && left >= 0 && right <= innerWidth
    })

/** Waits out the delay of a search, and two animation frames, in which rows near the window are rendered. */
const settled = (page: Page): Promise<unknown> =>
  page.evaluate(
    'new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 200))',
  )

/** The browser reports which rows are near the window, and so have to be made, some frames later. */
const expectRows = (page: Page, count: number): Promise<void> =>
  expect.poll(() => page.locator('.row .line').count(), { timeout: 100_000 }).toBe(count)

const focusedRow = (page: Page): Promise<number> => page.evaluate('Number(document.activeElement?.dataset.row ?? -1)')

describe.skipIf(CHROMIUM === undefined)('in a browser', () => {
  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(() => browser.close())

  describe('opening', () => {
    test('two runs: no errors, no requests, and the divergence is in view', async () => {
      const { page, complaints, requests } = await shown(await partedRuns())
      expect(complaints).toEqual([])
      expect(requests).toEqual([])
      expect(await page.title()).toBe('Two runs of report compared')
      expect(await isInView(page, '.row.divergence .line')).toBe(true)
      expect(await isInView(page, '#divergence h2')).toBe(true)
      expect(await page.locator('.verdict').textContent()).toContain(
        'They part at event #14. Same request, different answer.',
      )
      expect(await page.locator('.why').textContent()).toContain('What changed lies outside of the executions')
      expect(await page.locator('.nodes li').allTextContents()).toEqual(['sum'])
    })

    test('two sessions: the words that differ are marked, and no others', async () => {
      const { page, complaints } = await shown(
        partedSessions(60, 40, ['open the file a.py and read it', 'open the file b.py and read it']),
      )
      expect(complaints).toEqual([])
      expect(await isInView(page, '.row.divergence .line')).toBe(true)
      expect(await page.locator('.field .value.left').textContent()).toBe('open the file a.py and read it')
      expect(await page.locator('.field .value.left del').allTextContents()).toEqual(['a'])
      expect(await page.locator('.field .value.right ins').allTextContents()).toEqual(['b'])
    })

    test('over HTTP, only the page itself is requested', async () => {
      const out = freshPath('.html')
      await writeDiffPage(out, await partedRuns())
      const asked: string[] = []
      const server = createServer(({ url }, response) => {
        asked.push(url!)
        response.setHeader('content-type', 'text/html; charset=utf-8').end(readFileSync(out))
      }).listen(0, '127.0.0.1')
      try {
        await new Promise((done) => server.once('listening', done))
        const { page, complaints } = await open(
          browser,
          `http://127.0.0.1:${(server.address() as AddressInfo).port}/page`,
        )
        await page.locator('.row.divergence .line').click()
        await settled(page)
        expect(complaints).toEqual([])
        await page.close()
      } finally {
        server.close()
      }
      expect(asked).toEqual(['/page'])
    })

    test('equal runs: the page says so, shows the time line from its beginning, and marks no divergence', async () => {
      const [left, right] = [await aRun('a', 'x'), await aRun('b', 'x')]
      const { page, complaints } = await shown({ left, right, diff: null })
      expect(complaints).toEqual([])
      expect(await page.locator('.verdict').textContent()).toContain('Equal. Nothing that matters differs')
      expect(await page.locator('#divergence, .row.divergence').count()).toBe(0)
      expect(await page.locator('.row.same').count()).toBe(17)
      await page.keyboard.press('d')
      expect(await focusedRow(page)).toBe(0)
    })

    test('one side has ended: the page says which, and shows what the other has', async () => {
      const { left, right, diff } = partedSessions(10, 6)
      const ended = aSession(
        'ended',
        Array.from({ length: 5 }, (_, i) => say('human', `turn ${i + 1}`)),
      )
      const { page, complaints } = await shown({
        left: ended,
        right,
        diff: { ...diff, kind: 'LeftEnded', left: null, fields: [], likely_cause: 'LogTruncated' },
      })
      expect(complaints).toEqual([])
      expect(left).not.toBe(ended)
      expect(await page.locator('#divergence').textContent()).toContain('The left has ended here; the right goes on.')
      expect(await page.locator('.value.left.absent').textContent()).toBe('has ended')
      expect(await page.locator('.row.divergence .cell.left').textContent()).toBe('')
    })

    test('a divergence that is not an event of the page is described anyway', async () => {
      const { left, right } = await partedRuns()
      const diff = {
        ...difference({ at: 0, right: 0 }),
        kind: 'HeaderMismatch',
        left: null,
        right: null,
        likely_cause: 'WorkflowChanged',
      }
      const { page, complaints } = await shown({ left, right, diff })
      expect(complaints).toEqual([])
      expect(await page.locator('#divergence').textContent()).toContain('Different workflow')
    })

    test.skipIf(!existsSync(RECORDINGS))('real recordings open in pairs (needs ../shared/data/sessions)', async () => {
      const names = readdirSync(RECORDINGS).filter((name) => name.endsWith('.jsonl'))
      for (const [at, name] of names.entries()) {
        const diff = difference({
          at: 2,
          right: 2,
          prefix: 'rec',
          cause: 'Unknown',
          left: [{ event_id: 'rec_1', kind: 'content', evidence: 'inferred' }],
        })
        const { page, complaints } = await shown({
          left: join(RECORDINGS, name),
          right: join(RECORDINGS, names[(at + 1) % names.length]!),
          diff,
        })
        expect(complaints).toEqual([])
        expect(await isInView(page, '.row.divergence .line')).toBe(true)
        await page.close()
      }
    })
  })

  describe('the causal chain', () => {
    test('of a run is drawn solid, from the root to the divergence, and links to its events', async () => {
      const { page } = await shown(await partedRuns())
      const entries = await page.locator('.chain .event').allTextContents()
      expect(entries.map((text) => text.split(',')[0])).toEqual([
        '#0RunCreatedrun-001',
        '#11TaskAcceptedsum',
        '#12NodeStartedsum',
        '#13ToolInvokedweb',
        '#14ToolCompletedweb',
        '#16ToolCompletedweb',
      ])
      expect(await page.locator('.edges path').count()).toBe(6)
      expect(await page.locator('.edges path.recorded').count()).toBe(6)
      // Both rails have the whole chain.
      expect(await page.locator('.rails .bead.left').count()).toBe(9)
      expect(await page.locator('.rails path.rail.right').count()).toBe(8)
      await page.locator('.chain .event', { hasText: 'RunCreated' }).click()
      expect(await focusedRow(page)).toBe(0)
      expect(await isInView(page, '#row-0 .line')).toBe(true)
    })

    test('of a session is drawn dashed: it is inferred', async () => {
      const { page } = await shown(partedSessions(10, 4))
      expect(await page.locator('.edges path').count()).toBeGreaterThan(0)
      expect(await page.locator('.edges path.inferred').count()).toBe(await page.locator('.edges path').count())
      const dashes = await page
        .locator('.rails .rail')
        .first()
        .evaluate((path: any) => (globalThis as any).getComputedStyle(path).strokeDasharray)
      expect(dashes).not.toBe('none')
      expect(await page.locator('.legend').textContent()).toContain('inferred')
    })

    test('stays aligned with its rows when rows above are opened', async () => {
      const { page } = await shown(await partedRuns())
      const distance = (): Promise<number> =>
        page.evaluate(() => {
          const { document } = globalThis as any
          const middle = (selector: string): number => {
            const { top, bottom } = document.querySelector(selector).getBoundingClientRect()
            return (top + bottom) / 2
          }
          return Math.abs(middle('.rails .bead.left.tip') - middle('.row.divergence .line'))
        })
      expect(await distance()).toBeLessThan(2)
      await page.evaluate("document.querySelector('#row-3 .line').click()")
      await settled(page)
      expect(await page.locator('#row-3 .detail').count()).toBe(1)
      expect(await distance()).toBeLessThan(2)
    })
  })

  describe('opening a row', () => {
    test('with the mouse shows both payloads, and closes again', async () => {
      const { page } = await shown(await partedRuns())
      const line = page.locator('.row.divergence .line')
      expect(await line.getAttribute('aria-expanded')).toBe('false')
      await line.click()
      expect(await line.getAttribute('aria-expanded')).toBe('true')
      expect(await page.locator(`#${await line.getAttribute('aria-controls')}`).count()).toBe(1)
      const payloads = await page.locator('.row.divergence .json').allTextContents()
      expect(payloads.map((text) => JSON.parse(text).normalizer)).toEqual(['none', 'none'])
      await line.click()
      expect(await line.getAttribute('aria-expanded')).toBe('false')
      expect(await page.locator('.detail').count()).toBe(0)
    })

    test('with the keys: d, j and k, the arrows, Enter', async () => {
      const { page } = await shown(await partedRuns())
      await page.evaluate('scrollTo(0, 0)')
      await page.keyboard.press('d')
      const row = await focusedRow(page)
      expect(
        await page
          .locator('.row.divergence .line')
          .evaluate((line: any) => line === (globalThis as any).document.activeElement),
      ).toBe(true)
      expect(await isInView(page, '.row.divergence .line')).toBe(true)
      await page.keyboard.press('k')
      expect(await focusedRow(page)).toBe(row - 1)
      await page.keyboard.press('ArrowUp')
      expect(await focusedRow(page)).toBe(row - 2)
      await page.keyboard.press('j')
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('j')
      expect(await focusedRow(page)).toBe(row + 1)
      await page.keyboard.press('Enter')
      expect(await page.locator(`#row-${row + 1} .line`).getAttribute('aria-expanded')).toBe('true')
      expect(await isInView(page, `#row-${row + 1} .line`)).toBe(true)
      await page.keyboard.press('Home')
      expect(await focusedRow(page)).toBe(0)
      await page.keyboard.press('End')
      expect(
        await page
          .locator('#row-18 .line')
          .evaluate((line: any) => line === (globalThis as any).document.activeElement),
      ).toBe(true)
    })

    test('shows a payload once where both sides have the same', async () => {
      const { page } = await shown(await partedRuns())
      await page.evaluate("document.querySelector('#row-3 .line').click()")
      expect(await page.locator('#row-3 .half').count()).toBe(1)
      expect(await page.locator('#row-3 .half h4').textContent()).toBe('Both, with the same payload')
    })

    test('links to the event that caused it', async () => {
      const { page } = await shown(await partedRuns())
      await page.locator('.row.divergence .line').click()
      await page.locator('.row.divergence .half.right .link').click()
      expect(await page.locator('.line:focus .cell.right .number').textContent()).toBe('15')
    })

    test('shows multi-line text as lines, and as exact JSON on request', async () => {
      const path = aSession('s', [say('human', 'one "quoted"\n\ttwo \\n')])
      const { page } = await shown({ left: path, right: path, diff: null })
      await page.locator('#row-1 .line').click()
      expect(await page.locator('#row-1 .json .block').textContent()).toBe('one "quoted"\n\ttwo \\n')
      await page.locator('.toggle').click()
      expect(await page.locator('.toggle').getAttribute('aria-pressed')).toBe('true')
      expect(JSON.parse((await page.locator('#row-1 .json').textContent())!).content.blocks[0].text).toBe(
        'one "quoted"\n\ttwo \\n',
      )
    })

    test('mentions foreign line endings once, and shows them where they are the difference', async () => {
      const [left, right] = ['one\r\ntwo\r\n', 'one\ntwo\n']
      const path = aSession('s', [say('human', left!)])
      const { page } = await shown({
        left: path,
        right: path,
        diff: difference({ at: 1, right: 1, prefix: 'rec', fields: [{ path: '/payload', left, right }] }),
      })
      await page.locator('#row-1 .line').click()
      expect(await page.locator('#row-1 .json .block').first().textContent()).toBe('lines end in \\r\\n\none\ntwo\n')
      expect(await page.locator('.field .value.left').textContent()).toBe('one\\r\ntwo\\r\n')
      expect(await page.locator('.field .value.right').textContent()).toBe('one\ntwo\n')
    })

    test('says how much of a long text or list is left out', async () => {
      const path = aSession('s', [
        say('human', 'x'.repeat(10_000)),
        { payload: { content: { speaker: 'ai', blocks: [], list: Array(20_000).fill(1) } } },
      ])
      const { page } = await shown({ left: path, right: path, diff: null })
      await page.locator('#row-1 .line').click()
      await page.locator('#row-2 .line').click()
      expect(await page.locator('#row-1 .left-out').textContent()).toBe('… 5,904 characters left out …')
      expect(await page.locator('#row-2 .left-out').first().textContent()).toMatch(/^… [\d,]+ more items left out$/)
    })
  })

  describe('hostile content', () => {
    const HOSTILE =
      '<script>window.ran = 1</script></script><!-- <img src=x onerror="window.ran = 2"> ]]> &lt;b&gt; \u2028\u2029'
    const HIDDEN = '\u001b[31mred\u001b[0m \u202eabc\u202c \u2066x\u2069 \u0000 \u200b \ud800'

    test('stays text wherever it is shown', async () => {
      const turns = [
        say(HOSTILE, HOSTILE),
        {
          type: HOSTILE,
          payload: {
            [HOSTILE]: HOSTILE,
            content: { speaker: HOSTILE, blocks: [{ type: 'tool_call', id: '1', name: HOSTILE, parameters: HOSTILE }] },
          },
        },
      ]
      const path = aSession(HOSTILE, turns)
      const edges = [
        { event_id: HOSTILE, kind: HOSTILE, label: HOSTILE, evidence: 'recorded' },
        { event_id: 'rec_0', kind: HOSTILE, evidence: HOSTILE },
      ]
      const diff = difference({
        at: 1,
        right: 1,
        prefix: 'rec',
        left: edges,
        cause: HOSTILE,
        affected: [HOSTILE],
        fields: [{ path: HOSTILE, left: HOSTILE, right: { [HOSTILE]: HOSTILE } }],
      })
      const { page, complaints, requests } = await shown({ left: path, right: path, diff })
      for (const row of [0, 1, 2]) await page.locator(`#row-${row} .line`).click()
      await page.locator('input[type=search]').fill('onerror')
      await settled(page)
      expect(complaints).toEqual([])
      expect(requests).toEqual([])
      expect(await page.evaluate('window.ran')).toBe(undefined)
      expect(await page.locator('main img, main script, main b, header b, .top script').count()).toBe(0)
      expect(await page.locator('.nodes li').textContent()).toContain(
        '<script>window.ran = 1</script></script><!-- <img src=x',
      )
      expect(await page.locator('#row-1 .half .json').first().textContent()).toContain(
        '<script>window.ran = 1</script></script><!-- <img src=x onerror=',
      )
    })

    test('has characters that hide or reverse text shown as escapes', async () => {
      const path = aSession(HIDDEN, [say('human', HIDDEN)])
      const { page, complaints } = await shown({
        left: path,
        right: path,
        diff: difference({
          at: 1,
          right: 1,
          prefix: 'rec',
          fields: [{ path: HIDDEN, left: HIDDEN, right: `${HIDDEN} more` }],
        }),
      })
      await page.locator('#row-1 .line').click()
      expect(complaints).toEqual([])
      const text = (await page.locator('body').evaluate((body: any) =>
        [...body.children]
          .filter((child: any) => child.tagName !== 'SCRIPT')
          .map((child: any) => child.textContent)
          .join(''),
      ))!
      expect(text).not.toMatch(/[\u0000-\u0008\u000e-\u001f\u200b\u202a-\u202e\u2066-\u2069]|\p{Cs}/u)
      expect(await page.locator('.field .value.left').textContent()).toBe(
        '\\x1b[31mred\\x1b[0m \\u202eabc\\u202c \\u2066x\\u2069 \\x00 \\u200b \\ud800',
      )
    })
  })

  describe('the filter', () => {
    test('shows the events that contain a text, payloads included, and marks and counts them', async () => {
      const { page } = await shown(partedSessions(60, 40))
      await page.locator('input[type=search]').fill('TURN 17 ')
      await settled(page)
      await expectRows(page, 1)
      expect(await page.locator('.status').textContent()).toBe('1 of 61')
      expect(await page.locator('.row mark').first().textContent()).toBe('turn 17 ')
      // The divergence stays visible.
      expect(await page.locator('#divergence').count()).toBe(1)
      await page.keyboard.press('Escape')
      await settled(page)
      expect(await page.locator('.status').textContent()).toBe('')
      expect(await page.locator('.row mark').count()).toBe(0)
    })

    test('matches text as shown, not as stored, and treats no character as a pattern', async () => {
      const path = aSession('s', [say('human', 'a "quoted" <b> (.*) \u2028é\nnext'), say('human', 'other')])
      const { page, complaints } = await shown({ left: path, right: path, diff: null })
      for (const [text, found] of [
        ['"quoted" <b>', 1],
        ['(.*)', 1],
        ['.*', 1],
        ['É', 1],
        ['\u2028é', 1],
        ['[a-z]', 0],
        ['other', 1],
        ['o', 3],
        ['\\', 0],
      ] as const) {
        await page.locator('input[type=search]').fill(text)
        await settled(page)
        expect([text, await page.locator('.row .line').count()]).toEqual([text, found])
      }
      expect(complaints).toEqual([])
    })

    test('shows one sort of events, and is cleared by a jump to a hidden row', async () => {
      const { page } = await shown(await partedRuns())
      await page.locator('select').selectOption('kind Heartbeat')
      await expectRows(page, 2)
      await page.locator('select').selectOption('sort chain')
      await expectRows(page, 9)
      await page.locator('select').selectOption('kind Heartbeat')
      await page.locator('.chain .event', { hasText: 'RunCreated' }).click()
      expect(await focusedRow(page)).toBe(0)
      await expectRows(page, 19)
      await page.locator('select').selectOption('sort failed')
      await expectRows(page, 0)
      expect(await page.locator('.status').textContent()).toBe('nothing of 19')
      await page.locator('.back').click()
      expect(
        await page
          .locator('.row.divergence .line')
          .evaluate((line: any) => line === (globalThis as any).document.activeElement),
      ).toBe(true)
      await expectRows(page, 19)
    })

    test('is focused by the / key, and keys typed there are text', async () => {
      const { page } = await shown(await partedRuns())
      await page.keyboard.press('/')
      await page.keyboard.type('djk')
      expect(await page.locator('input[type=search]').inputValue()).toBe('djk')
    })
  })

  describe('ten thousand events per side', () => {
    let big: Opened
    beforeAll(async () => {
      const { left, right, diff } = partedSessions(10_000, 6_000, ['aaa', 'bbb'])
      for (const edges of [diff.ancestors.left, diff.ancestors.right])
        edges.push({ event_id: 'rec_1', kind: 'content', evidence: 'inferred' })
      big = await openApart(browser, await written({ left, right, diff }))
    })

    test('open at the divergence, with only the rows near it in the document', async () => {
      expect(big.complaints).toEqual([])
      expect(await isInView(big.page, '.row.divergence .line')).toBe(true)
      expect(await big.page.locator('.row').count()).toBeLessThan(500)
      expect(await big.page.locator('.row.divergence').getAttribute('aria-setsize')).toBe('10001')
    })

    test('have their chains drawn even where no rows are rendered', async () => {
      const cell = 32
      const [last, before] = await big.page
        .locator('.rails .bead.left')
        .evaluateAll((beads: any[]) => [beads.at(-1), beads.at(-2)].map((bead) => Number(bead.getAttribute('cy'))))
      expect(await big.page.locator('#row-1').count()).toBe(0)
      expect(last).toBe(1.5 * cell)
      expect(before).toBeCloseTo(5960.5 * cell, -2)
    })

    test('can be scrolled to both ends, with few rows in the document', async () => {
      const { page } = big
      await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
      await page.locator('#row-10000').waitFor()
      expect(await isInView(page, '#row-10000 .line')).toBe(true)
      await page.evaluate('scrollTo(0, 0)')
      await page.locator('#row-0').waitFor()
      expect(await page.locator('#row-0 .cell.left .kind').textContent()).toBe('session_start')
      for (const share of [0.2, 0.4, 0.6, 0.8]) {
        await page.evaluate(`scrollTo(0, document.documentElement.scrollHeight * ${share})`)
        await settled(page)
      }
      expect(await page.locator('.row').count()).toBeLessThan(700)
    })

    test('can be searched, down to one', async () => {
      const { page } = big
      await page.locator('input[type=search]').fill('turn 9876 ')
      await settled(page)
      await expectRows(page, 1)
      expect(await page.locator('.row .cell.left .number').textContent()).toBe('9876')
      await page.keyboard.press('Enter')
      expect(await focusedRow(page)).toBe(9876)
      await page.keyboard.press('Escape')
      await page.locator('#row-9876').waitFor()
      expect(await isInView(page, '#row-9876 .line')).toBe(true)
    })

    test('keep opened rows open when they come back into view', async () => {
      const { page } = big
      await page.keyboard.press('d')
      await page.keyboard.press('k')
      await page.keyboard.press('Enter')
      await page.keyboard.press('Home')
      await page.locator('#row-0').waitFor()
      await settled(page)
      await page.locator('#row-5999').waitFor({ state: 'detached' })
      await page.keyboard.press('d')
      await page.locator('#row-5999 .detail').waitFor()
      expect(await page.locator('#row-5999 .line').getAttribute('aria-expanded')).toBe('true')
      expect(big.complaints).toEqual([])
    })
  })

  describe('accessibility', () => {
    test('it has landmarks, a heading for each part, names for all controls, and unique ids', async () => {
      const { page } = await shown(await partedRuns())
      await page.locator('.row.divergence .line').click()
      expect(await page.locator('body > header, body > main, body > footer').count()).toBe(3)
      expect(await page.getByRole('main').count()).toBe(1)
      expect(await page.getByRole('search').count()).toBe(1)
      expect(await page.getByRole('heading', { level: 1 }).count()).toBe(1)
      expect(await page.getByRole('region', { name: 'Here they part' }).count()).toBe(1)
      expect(await page.getByRole('list', { name: 'Behind the divergence' }).count()).toBe(1)
      expect(
        await page
          .getByRole('listitem')
          .filter({ has: page.locator('.line') })
          .count(),
      ).toBe(19)
      expect(await page.locator('html').getAttribute('lang')).toBe('en')
      const wrong = await page.evaluate(() => {
        const { document } = globalThis as any
        const ids = [...document.querySelectorAll('[id]')].map((element: any) => element.id)
        const nameless = [...document.querySelectorAll('button, input, select, section[aria-label=""]')].filter(
          (element: any) => !(element.getAttribute('aria-label') ?? element.textContent).trim(),
        )
        const levels = [...document.querySelectorAll('h1, h2, h3, h4')].map((element: any) =>
          Number(element.tagName[1]),
        )
        const pointsNowhere = [...document.querySelectorAll('[aria-controls], [aria-labelledby]')].filter(
          (element: any) =>
            !document.getElementById(element.getAttribute('aria-controls') ?? element.getAttribute('aria-labelledby')),
        )
        return {
          twice: ids.filter((id, at) => ids.indexOf(id) !== at),
          nameless: nameless.length,
          first: levels[0],
          pointsNowhere: pointsNowhere.length,
        }
      })
      expect(wrong).toEqual({ twice: [], nameless: 0, first: 1, pointsNowhere: 0 })
      // The text that a screen reader reads for a row.
      expect(await page.locator('.row.divergence .line').textContent()).toContain(', here they part')
    })

    test('the Tab key moves from part to part, not from row to row, and the focus is visible', async () => {
      const { page } = await shown(await partedRuns())
      expect(await page.locator('.line[tabindex="0"]').count()).toBe(1)
      await page.keyboard.press('d')
      await page.keyboard.press('k')
      expect(await page.locator('.line[tabindex="0"]').count()).toBe(1)
      const outline = await page
        .locator('.line:focus')
        .evaluate((line: any) => (globalThis as any).getComputedStyle(line).outlineStyle)
      expect(outline).toBe('solid')
      await page.keyboard.press('Tab')
      expect(await focusedRow(page)).toBe(-1)
    })

    test.each([1280, 760, 400])('at a width of %i nothing overflows, and the divergence is in view', async (width) => {
      const { left, right, diff } = partedSessions(60, 40, [`a ${'long '.repeat(200)}${'w'.repeat(300)}`, 'short'])
      const { page } = await shown({ left, right, diff }, { viewport: { width, height: 800 } })
      expect(await isInView(page, '.row.divergence .line')).toBe(true)
      await page.locator('.row.divergence .line').click()
      await settled(page)
      expect(await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')).toBe(0)
      expect(await page.locator('.value.left').evaluate((value: any) => value.scrollWidth - value.clientWidth)).toBe(0)
    })

    test('in print it has the rows around the divergence, and is restored afterwards', async () => {
      const { left, right, diff } = partedSessions(2000, 1000)
      const { page, complaints } = await shown({ left, right, diff })
      const before = await page.evaluate('scrollY')
      const pdf = await page.pdf({ format: 'A4' })
      expect(pdf.subarray(0, 5).toString()).toBe('%PDF-')
      const printed = await page.evaluate(() => {
        const { document, dispatchEvent, Event } = globalThis as any
        dispatchEvent(new Event('beforeprint'))
        const result = {
          rows: document.querySelectorAll('.row').length,
          has: document.querySelector('.row.divergence') !== null,
          note: document.querySelector('.print-note').textContent,
        }
        dispatchEvent(new Event('afterprint'))
        return { ...result, after: document.querySelector('.print-note') }
      })
      expect(printed).toEqual({
        rows: 400,
        has: true,
        note: 'Rows 801 to 1200 of 2,001, around the divergence.',
        after: null,
      })
      expect(complaints).toEqual([])
      await page.keyboard.press('d')
      await settled(page)
      expect(await isInView(page, '.row.divergence .line')).toBe(true)
      expect(typeof before).toBe('number')
    })

    test('without JavaScript it states the result', async () => {
      const { page } = await shown(await partedRuns(), { javaScriptEnabled: false })
      expect(await page.locator('noscript').textContent()).toContain('part at event #14')
    })
  })
})
