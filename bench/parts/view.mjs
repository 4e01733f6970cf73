/** The pages of long recordings, in Chromium (CHROMIUM_PATH or /usr/bin/chromium): written, opened and scrolled. */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { chromium } from 'playwright-core'
import { COMPACTED, replayFile } from '../workloads.mjs'
import { recordedRun } from './run-workloads.mjs'

const require = createRequire(import.meta.url)
const { writeSessionPage } = require('../../packages/cli/html/session')
const { writeRunPage } = require('../../packages/cli/html/run')
const { servedSession } = require('../../packages/cli/html/session/served.js')
const { servedRun } = require('../../packages/cli/html/run/served.js')
const { serve } = require('../../packages/cli/html/serve/server.js')

const FRAMES = 180

export async function* view({ scale }) {
  const args = process.getuid?.() === 0 ? ['--disable-gpu', '--no-sandbox'] : ['--disable-gpu']
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium', args })
  const directory = mkdtempSync(join(tmpdir(), 'session-tape-bench-view-'))
  const out = join(directory, 'page.html')
  try {
    for (const records of [10_000, 60_000]) {
      const { filePath: log } = await replayFile({ ...COMPACTED, records }, scale)
      const source = { log, given: log, size: statSync(log).size }
      yield* pages(
        browser,
        `a session of ${records} records`,
        out,
        () => writeSessionPage(out, source),
        () => servedSession(source),
        'li.line',
      )
    }
    const { directory: at, events } = await recordedRun(1e6 * scale)
    const log = join(at, 'events.cath-log')
    const source = { at, log, given: at, size: statSync(log).size }
    yield* pages(
      browser,
      `a run of ${events} events`,
      out,
      () => writeRunPage(out, source),
      () => servedRun(source),
      '.event',
    )
  } finally {
    await browser.close()
    rmSync(directory, { recursive: true, force: true })
  }
}

async function* pages(browser, what, out, write, served, rows) {
  yield { what: `${what}: page written`, ours: write }
  const url = pathToFileURL(out).href
  yield { what: `${what}: opened`, unit: 'ms', ours: async () => (await look(browser, url, rows)).opened }
  yield {
    what: `${what}: a frame while scrolling, processor`,
    unit: 'ms',
    ours: async () => (await look(browser, url, rows)).frame,
  }
  const opened = async () => {
    const server = await serve(await served())
    const found = await look(browser, server.url, rows)
    await server.close()
    return found.opened
  }
  yield { what: `${what}, served: opened`, unit: 'ms', ours: opened }
}

/** The time until the first rows of a page are shown, and the processor time of its main thread for each frame while it is scrolled. */
async function look(browser, url, rows) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  const cpu = async () =>
    (await session.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'TaskDuration').value * 1000
  const started = performance.now()
  await page.goto(url)
  await page.locator(rows).first().waitFor()
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
  const opened = performance.now() - started
  const before = await cpu()
  await page.evaluate(scroll, [FRAMES, rows === '.event'])
  const frame = ((await cpu()) - before) / FRAMES
  await page.close()
  return { opened, frame }
}

/** In the page. */
function scroll([frames, isList]) {
  const target = isList ? document.querySelector('.events') : document.scrollingElement
  return new Promise((done) => {
    const step = (left) => {
      target.scrollTop += 400
      if (left === 0) done()
      else requestAnimationFrame(() => step(left - 1))
    }
    step(frames)
  })
}
