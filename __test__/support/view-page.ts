/// <reference lib="dom" />
/** Shared by the specs of the pages of single recordings: writes and opens pages, and checks them with axe. */
import { mkdtempSync, readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { open, type Opened } from './browser'
import { sessionDirectory, writeSession } from './session-file'

// Required, not imported: they must run as Node runs them, untouched by the test runner's transforms.
const require = createRequire(import.meta.url)
export const part = (name: string): any => require(`../../packages/cli/html/${name}.js`)

/** A module of the page's script. */
export const viewModule = (name: string): Promise<any> =>
  import(new URL(`../../packages/cli/html/view/${name}.mjs`, import.meta.url).href)

export { launch, open, CHROMIUM, NO_CHROMIUM, type Opened } from './browser'

export const freshFile = (name: string): string => join(mkdtempSync(join(sessionDirectory(), 'page-')), name)

/** A session's file as the source of a page. */
export const sourceOf = (log: string) => ({ kind: 'session', log, given: log, size: statSync(log).size })

/** Writes the page of a session. Returns its path. */
export async function sessionPage(log: string, options: object = {}): Promise<string> {
  const out = freshFile('session.html')
  await part('session/index').writeSessionPage(out, sourceOf(log), options)
  return out
}

/** A run's directory as the source of a page. */
export function runSource(at: string) {
  const log = join(at, 'events.cath-log')
  return { kind: 'run', at, log, given: at, size: statSync(log).size }
}

/** Writes the page of a run. Returns its path. */
export async function runPage(at: string): Promise<string> {
  const out = freshFile('run.html')
  await part('run/index').writeRunPage(out, runSource(at))
  return out
}

/** Opens the page of a session with this text. */
export async function openSessionPage(
  browser: Browser,
  text: string,
  { hash = '', ...options }: Parameters<typeof open>[2] & { hash?: string } = {},
): Promise<Opened> {
  const page = await sessionPage(writeSession(text))
  return open(browser, pathToFileURL(page).href + hash, options)
}

/** The data in a page. */
export function dataIn(page: string): any {
  return JSON.parse(
    /<script type="application\/json" id="page-data">([^]*?)<\/script>/.exec(readFileSync(page, 'utf8'))![1]!,
  )
}

/** The serious and critical violations that axe finds in a page: rules with their elements. */
export async function seriousFindings(page: Page): Promise<string[]> {
  await page.evaluate(readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8'))
  const found = (await page.evaluate(`axe.run(document, { resultTypes: ['violations'] })`)) as {
    violations: { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }[]
  }
  return found.violations
    .filter(({ impact }) => ['serious', 'critical'].includes(impact))
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join('\n')}`)
}

/** Waits for a search, which starts after a moment, and for rows, which are created when they come near the viewport. */
export const settled = (page: Page): Promise<unknown> =>
  page.evaluate(
    'new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 250))',
  )

/** The lines of the rows that are shown. */
export const linesShown = (page: Page): Promise<number[]> =>
  page.locator('li.line').evaluateAll((rows) => rows.map((row) => Number(row.id.slice('line-'.length))))

/** The labels of the time line that are shown, with their left and right edges. */
export const timeLabels = (page: Page): Promise<{ text: string; left: number; right: number }[]> =>
  page.locator('.axis span').evaluateAll((labels) =>
    labels
      .filter((label) => (label as HTMLElement).offsetWidth > 0)
      .map((label) => ({
        text: label.textContent!,
        left: label.getBoundingClientRect().left,
        right: label.getBoundingClientRect().right,
      })),
  )

/** Pairs of neighbouring labels that touch, and labels beyond the window. */
export async function unreadableLabels(page: Page): Promise<string[]> {
  const labels = await timeLabels(page)
  const touching = labels
    .slice(1)
    .flatMap(({ text, left }, at) => (left < labels[at]!.right + 2 ? [`${labels[at]!.text} | ${text}`] : []))
  const { width } = page.viewportSize()!
  return [
    ...touching,
    ...labels.filter(({ left, right }) => left < 0 || right > width).map(({ text }) => `${text} is beyond the window`),
  ]
}
