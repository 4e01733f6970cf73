/** A real browser, and pages in it. */
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { chromium, type Browser, type Page } from 'playwright-core'
import { onTestFinished } from 'vitest'

/** Path of a Chromium executable: `CHROMIUM_PATH`, or the first one on the path; `undefined` if there is none. */
export const CHROMIUM = [
  process.env['CHROMIUM_PATH'],
  ...['chromium', 'chromium-browser', 'google-chrome'].flatMap((name) =>
    (process.env['PATH'] ?? '').split(delimiter).map((directory) => join(directory, name)),
  ),
].find((path) => {
  try {
    accessSync(path!, constants.X_OK)
    return true
  } catch {
    return false
  }
})

export const NO_CHROMIUM =
  'there is no Chromium: neither in CHROMIUM_PATH nor as chromium, chromium-browser or google-chrome on the path'

const QUIET = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

export function launch(): Promise<Browser> {
  // Its sandbox refuses to run as root, as in a container.
  const args = process.getuid?.() === 0 ? ['--no-sandbox', ...QUIET] : QUIET
  return chromium.launch({ executablePath: CHROMIUM!, args })
}

export interface Opened {
  page: Page
  /** Console messages and uncaught errors. */
  complaints: string[]
  /** URLs that the page requested, except its own and `data:` URLs. */
  requests: string[]
}

type PageOptions = NonNullable<Parameters<Browser['newPage']>[0]>

/** Opens an address in a new page that no other test uses. */
export async function openApart(browser: Browser, url: string, options: PageOptions = {}): Promise<Opened> {
  return openIn(await newPage(browser, options), url, options)
}

/**
 * Opens an address for a test. A new page is a new process, which costs more than the test itself: so pages are reused, unless a test passes
 * options.
 */
export async function open(browser: Browser, url: string, options: PageOptions = {}): Promise<Opened> {
  if (Object.keys(options).length > 0) {
    const opened = await openApart(browser, url, options)
    onTestFinished(() => opened.page.close())
    return opened
  }
  const page = free.get(browser)?.pop() ?? (await newPage(browser, options))
  onTestFinished(() => setFree(browser, page))
  return openIn(page, url, options)
}

/** Pages of each browser that no test is using. */
const free = new WeakMap<Browser, Page[]>()

async function setFree(browser: Browser, page: Page): Promise<void> {
  if (page.isClosed()) return
  page.removeAllListeners()
  await page.emulateMedia({ media: null })
  await page.mouse.move(-1, -1)
  await page.goto('about:blank')
  free.set(browser, [...(free.get(browser) ?? []), page])
}

const newPage = (browser: Browser, options: PageOptions): Promise<Page> =>
  browser.newPage({ viewport: { width: 1280, height: 800 }, ...options })

async function openIn(page: Page, url: string, { javaScriptEnabled = true }: PageOptions): Promise<Opened> {
  const complaints: string[] = []
  const requests: string[] = []
  page.on('console', (message) => complaints.push(`${message.type()}: ${message.text()}`))
  page.on('pageerror', (error) => complaints.push(`thrown: ${error.stack}`))
  page.on('request', (request) => {
    if (request.url() !== url && !request.url().startsWith('data:')) requests.push(request.url())
  })
  await page.goto(url)
  if (javaScriptEnabled) {
    // Wait until the page has unpacked its data, if that is packed.
    await page.waitForFunction(
      `document.querySelector('script[data-packed]') === null || document.querySelector('main') !== null`,
    )
    // Wait two frames, so that everything drawn after the first layout is there.
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
  }
  return { page, complaints, requests }
}
