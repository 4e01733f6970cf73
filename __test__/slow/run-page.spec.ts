// The page of a run in a real browser.
import { appendFileSync, cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { replayRun, RunRecorder } from '../../index.js'
import { GOLDEN_RUN } from '../support/command-line'
import {
  CHROMIUM,
  freshFile,
  launch,
  open,
  part,
  runPage,
  runSource,
  settled,
  unreadableLabels,
  type Opened,
} from '../support/view-page'

const { serve } = part('serve/server')
const { servedRun } = part('run/served')

let browser: Browser

const openRun = async (at: string, hash = '', options: Parameters<typeof open>[2] = {}): Promise<Opened> =>
  open(browser, pathToFileURL(await runPage(at)).href + hash, options)

/** A copy of the golden run whose log was changed. */
function changedRun(change: (log: string) => string): string {
  const at = freshFile('run')
  cpSync(GOLDEN_RUN, at, { recursive: true })
  const log = join(at, 'events.cath-log')
  writeFileSync(log, change(readFileSync(log, 'utf8')))
  return at
}

const nodeStates = (page: Page): Promise<Record<string, string>> =>
  page
    .locator('.graph .node')
    .evaluateAll((boxes) =>
      Object.fromEntries(
        boxes.map((box) => /^(.*): (\w+)/.exec(box.getAttribute('aria-label')!)!.slice(1, 3) as [string, string]),
      ),
    )

async function engineStates(until: number): Promise<Record<string, string>> {
  const { state } = await replayRun(GOLDEN_RUN, { until })
  return Object.fromEntries(Object.entries(state!.coordinator.nodeStates).map(([id, { status }]) => [id, status]))
}

describe.skipIf(CHROMIUM === undefined)('the page of a run', () => {
  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(() => browser.close())

  test('opens at the last event without errors or requests, and says that the run is sound', async () => {
    const { page, complaints, requests } = await openRun(GOLDEN_RUN)
    expect(await page.locator('h1').textContent()).toBe('weekly report: run golden-1')
    expect(await page.locator('.verdict').textContent()).toBe('Sound. It is what was recorded.')
    expect(await page.locator('.position b').textContent()).toBe('evt_267')
    expect(await page.locator('.graph .node').count()).toBe(25)
    expect(await page.locator('.lane-names span').allTextContents()).toEqual(['w-0', 'w-2', 'w-1', 'w-10'])
    expect(complaints).toEqual([])
    expect(requests).toEqual([])
  })

  test('a large graph is shown as cells: one tab stop, arrow keys between them, and the edges of the current node', async () => {
    const at = freshFile('large')
    const nodes = Array.from({ length: 300 }, (_, n) => ({
      id: `n${n}`,
      kind: 'task',
      dependsOn: n < 100 ? [] : [`n${n - 100}`],
    }))
    const run = new RunRecorder({
      directory: at,
      runId: 'large',
      workflow: { name: 'large', version: '1', nodes },
      scheduler: 'external',
    })
    run.append({ kind: 'RunStarted', payload: { workers: [{ id: 'w', capabilities: [] }] } })
    run.append({ kind: 'NodeSkipped', node: 'n105', payload: { reason: 'not needed' } })
    await run.dispose()
    const { page, complaints } = await openRun(at)
    expect(await page.locator('.cell').count()).toBe(300)
    const named = (selector: string) =>
      page.locator(selector).evaluateAll((cells) => cells.map((cell) => cell.getAttribute('aria-label')!.split(':')[0]))
    expect(await named('.cell.current')).toEqual(['n105'])
    expect([await named('.cell.before'), await named('.cell.after')]).toEqual([['n5'], ['n205']])
    expect(await named('.cell[tabindex="0"]')).toEqual(['n0'])
    await page.locator('.cell[tabindex="0"]').focus()
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowRight', 'ArrowUp', 'ArrowRight', 'ArrowRight', 'ArrowLeft'])
      await page.keyboard.press(key)
    expect([await named('.cell[tabindex="0"]'), await named('.cell:focus')]).toEqual([['n101'], ['n101']])
    expect(complaints).toEqual([])
  })

  test('the slider shows the state after any event, which is that of the engine', async () => {
    const { page } = await openRun(GOLDEN_RUN, '#evt_10')
    for (const event of [10, 120, 60]) {
      await page.locator('.slider').fill(String(event))
      await settled(page)
      expect(await nodeStates(page)).toEqual(await engineStates(event))
      expect(await page.locator('.panel.state h2').textContent()).toBe(`State after evt_${event}`)
    }
    expect(await page.evaluate('location.hash')).toBe('#evt_60')
  })

  test('an event shows its payload and its causal ancestors, which link to their events', async () => {
    const { page } = await openRun(GOLDEN_RUN, '#evt_120')
    expect(await page.locator('.event-panel h2').textContent()).toBe('evt_120 ToolCompleted')
    expect(await page.locator('.event[aria-selected=true] .number').textContent()).toBe('120')
    expect(await page.locator('.event-panel .payload').textContent()).toContain('"call": "call-13"')
    const ancestors = page.locator('.ancestor')
    expect((await ancestors.allTextContents()).slice(0, 2)).toEqual([
      'evt_115 ToolInvoked parse 2',
      'evt_110 NodeStarted parse 2',
    ])
    await ancestors.nth(1).click()
    await settled(page)
    expect(await page.locator('.event-panel h2').textContent()).toBe('evt_110 NodeStarted')
    await page.locator('.node[aria-label^="fetch 3:"]').press('Enter')
    await settled(page)
    expect(await page.locator('.event-panel .facts').textContent()).toContain('fetch 3')
  })

  test('the first failure in a changed log is shown at its event', async () => {
    const at = changedRun((log) =>
      log.replace(/^(.*"time":100,.*"hash":")(.)/m, (_, before, digit) => `${before}${digit === '0' ? '1' : '0'}`),
    )
    const { page } = await openRun(at)
    expect(await page.locator('.verdict').textContent()).toContain('Not what was recorded.')
    await page.keyboard.press('d')
    await settled(page)
    expect(await page.locator('.position b').textContent()).toBe('evt_100')
    expect(await page.locator('.event-panel .problem').textContent()).toMatch(/^Hash chain: ChainBroken/)
    expect(await page.locator('.event[aria-selected=true]').getAttribute('class')).toContain('unsound')
  })

  test('the keys and the list move between events and failures, and a filter hides the others', async () => {
    const { page } = await openRun(GOLDEN_RUN, '#evt_0')
    const position = () => page.locator('.position b').textContent()
    await page.keyboard.press('j')
    expect(await position()).toBe('evt_1')
    await page.keyboard.press('e')
    expect(await page.locator('.event[aria-selected=true]').getAttribute('class')).toContain('failed')
    await page.locator('.events').focus()
    await page.keyboard.press('End')
    expect(await position()).toBe('evt_267')
    await page.locator('.search select').selectOption('kind NodeSkipped')
    expect(await page.locator('.status').textContent()).toBe('2 of 268')
    expect(await page.locator('.event[aria-selected=true]').count()).toBe(0)
    await page.keyboard.press('Escape')
    expect(await position()).toBe('evt_267')
    expect(await page.locator('.event[aria-selected=true]').getAttribute('id')).toBe('event-267')
    await page.locator('.search input').fill('render/pdf')
    await settled(page)
    expect(await page.locator('.event').first().textContent()).toContain('render/pdf')
    await page.locator('.event').first().click()
    await settled(page)
    expect(await nodeStates(page)).not.toEqual(await engineStates(267))
  })

  test('hostile content stays text', async () => {
    const hostile = '<img src=x onerror=window.ran=1></script><script>window.ran=2</script>\u202e'
    const nodes = [{ id: hostile, kind: 'task', tool: hostile }]
    const { RunRecorder } = await import('../../index.js')
    const directory = freshFile('run')
    const recorder = new RunRecorder({
      directory,
      runId: hostile,
      workflow: { name: hostile, version: hostile, nodes },
      scheduler: 'external',
    })
    recorder.append({ kind: 'RunStarted', payload: { workers: [{ id: hostile, capabilities: [] }] } })
    recorder.append({ kind: 'Heartbeat', payload: { worker: hostile, status: hostile } })
    recorder.append({ kind: 'NodeScheduled', payload: { task: `${hostile}#1`, dependsOn: [] } })
    recorder.append({ kind: 'Error', payload: { code: hostile, message: hostile, recoverable: true } })
    await recorder.dispose()
    const { page, complaints, requests } = await openRun(directory)
    await page.locator('.search input').fill('onerror')
    await settled(page)
    expect(await page.evaluate('window.ran')).toBe(undefined)
    expect(await page.locator('main script, main img').count()).toBe(0)
    expect(await page.locator('h1 .hidden').first().textContent()).toBe('\\u202e')
    expect(complaints).toEqual([])
    expect(requests).toEqual([])
  })

  test.each([420, 900, 1280])('at a width of %i time labels do not overlap', async (width) => {
    const { page } = await openRun(GOLDEN_RUN, '', { viewport: { width, height: 800 } })
    expect(await page.locator('.axis span').count()).toBeGreaterThanOrEqual(2)
    expect(await unreadableLabels(page)).toEqual([])
  })

  test('when it is served, the engine rebuilds the state, and a reload shows new events', async () => {
    const lines = readFileSync(join(GOLDEN_RUN, 'events.cath-log'), 'utf8').split('\n')
    const at = changedRun(() => `${lines.slice(0, 100).join('\n')}\n`)
    const server = await serve(await servedRun(runSource(at)))
    try {
      const { page, complaints } = await open(browser, server.url)
      await page.locator('.panel.state h2').filter({ hasText: 'evt_99 rebuilt by the engine' }).waitFor()
      expect(await nodeStates(page)).toEqual(await engineStates(99))
      await page.locator('.verdict strong').waitFor()
      appendFileSync(join(at, 'events.cath-log'), `${lines.slice(100, 200).join('\n')}\n`)
      await page.goto(server.url)
      await page.locator('.panel.state h2').filter({ hasText: 'evt_199 rebuilt by the engine' }).waitFor()
      expect(await nodeStates(page)).toEqual(await engineStates(199))
      expect(complaints).toEqual([])
      await page.close()
    } finally {
      await server.close()
    }
  })
})
