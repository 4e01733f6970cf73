// A served page: which requests are answered, and with what.
import { appendFileSync, copyFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import type { Browser } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { SAMPLE, sessionTapeProcess } from '../support/command-line'
import { compressed, content, envelope, session, writeSession } from '../support/session-file.js'
import { CHROMIUM, freshFile, launch, linesShown, open, part, settled, sourceOf } from '../support/view-page'

const dataOf = (html: string): any =>
  JSON.parse(/<script type="application\/json" id="page-data">([^]*?)<\/script>/.exec(html)![1]!)

const { serve } = part('serve/server')
const { servedSession } = part('session/served')

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

async function served(log: string, more: object = {}): Promise<URL> {
  const server = await serve(await servedSession({ ...sourceOf(log), ...more }))
  closers.push(() => server.close())
  return new URL(server.url)
}

interface Asked {
  host?: string
  method?: string
}

/** Sends a request. Not with `fetch`, which would not send these hosts, and would normalise the path. */
function ask(
  url: URL,
  path: string,
  { host = url.host, method = 'GET' }: Asked = {},
): Promise<{ status: number; body: string; headers: Record<string, unknown> }> {
  return new Promise((resolve, reject) => {
    request({ host: url.hostname, port: url.port, path, method, headers: { host } }, (response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (text: string) => (body += text))
      response.on('end', () => resolve({ status: response.statusCode!, body, headers: response.headers }))
    })
      .on('error', reject)
      .end()
  })
}

describe('the server', () => {
  test('answers requests with the token, under a host name of this machine', async () => {
    const url = await served(SAMPLE)
    expect(url.hostname).toBe('127.0.0.1')
    expect(url.pathname).toMatch(/^\/[\w-]{32}\/$/)
    expect((await ask(url, url.pathname)).status).toBe(200)
    expect((await ask(url, url.pathname, { host: `localhost:${url.port}` })).status).toBe(200)
    for (const host of [
      'evil.example',
      `evil.example:${url.port}`,
      '127.0.0.1',
      `127.0.0.1:1`,
      `127.0.0.1:${url.port}.evil.example`,
    ]) {
      expect((await ask(url, url.pathname, { host })).status, host).toBe(421)
    }
    for (const path of [
      '/',
      '/index.html',
      `/${'A'.repeat(32)}/`,
      url.pathname.slice(0, -1),
      `${url.pathname.slice(0, -2)}/`,
      `//${url.pathname}`,
    ]) {
      expect((await ask(url, path)).status, path).toBe(404)
    }
  })

  test('serves nothing else, whatever the path or method', async () => {
    const url = await served(SAMPLE)
    for (const path of [
      '../../etc/passwd',
      '%2e%2e/%2e%2e/etc/passwd',
      'toString',
      '__proto__',
      'constructor',
      '/etc/passwd',
      'record/../../x',
      'http://evil.example/',
    ]) {
      expect((await ask(url, `${url.pathname}${path}`)).status, path).toBe(404)
    }
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'HEAD'])
      expect((await ask(url, url.pathname, { method })).status, method).toBe(405)
  })

  test('forbids caching, framing, sniffing and use by other sites', async () => {
    const url = await served(SAMPLE)
    const { headers } = await ask(url, url.pathname)
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'content-security-policy': "frame-ancestors 'none'",
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    })
    expect(headers['access-control-allow-origin']).toBe(undefined)
  })
})

describe('an answer', () => {
  const long = `${'y'.repeat(300_000)}end`

  test('is the whole of a record that the page cuts', async () => {
    const url = await served(writeSession(session(content('short'), content(long))))
    const { body } = await ask(url, `${url.pathname}record?line=3`)
    expect(JSON.parse(body)[0].content.blocks[0].text).toBe(long)
  })

  test('has records by their lines, and the lines that contain a text', async () => {
    const url = await served(writeSession(session(content('one'), content('Two "quoted"'), content('three'))))
    const { body } = await ask(url, `${url.pathname}records?from=2&to=3`)
    expect(JSON.parse(body).map(([line, [payload]]: any) => [line, payload.content.blocks[0].text])).toEqual([
      [2, 'one'],
      [3, 'Two "quoted"'],
    ])
    expect(JSON.parse((await ask(url, `${url.pathname}search?text=${encodeURIComponent('two "')}`)).body)).toEqual([3])
  })

  test('finds a text however it is escaped in the file, and in lines that are not JSON', async () => {
    const escaped = envelope(2, content('bridge')).replace('bridge', String.raw`br\u0069dge`)
    const url = await served(writeSession(session(escaped, content('other'), 'a Bridge {', '', content('a bridge'))))
    expect(JSON.parse((await ask(url, `${url.pathname}search?text=bridge`)).body)).toEqual([2, 4, 6])
    expect(JSON.parse((await ask(url, `${url.pathname}record?line=4`)).body)).toEqual([{ raw: 'a Bridge {', left: 0 }])
  })

  test('is an error if the parameters are invalid', async () => {
    const url = await served(SAMPLE)
    for (const path of [
      'record',
      'record?line=-1',
      'record?line=x',
      'record?line=1e3',
      'record?line=99999',
      'records?from=1&to=999999',
    ]) {
      expect((await ask(url, url.pathname + path)).status, path).toBe(400)
    }
  })
})

describe('a page that is requested again', () => {
  const shownBy = async (url: URL) => dataOf((await ask(url, url.pathname)).body)

  test('has what was recorded in the meantime, and the rows that it changes', async () => {
    const log = writeSession(session(content('one'), content('two', 'ai')))
    const url = await served(log)
    expect((await shownBy(url)).rows.map(([line]: number[]) => line)).toEqual([1, 2, 3])
    appendFileSync(log, `${envelope(4, compressed('all', 2))}\n`)
    const { rows } = await shownBy(url)
    expect(rows.map(([line, , , , flags, removedBy]: number[]) => [line, flags, removedBy])).toEqual([
      [1, 0, 0],
      [2, 16, 4],
      [3, 16, 4],
      [4, 18, 0],
    ])
    expect(JSON.parse((await ask(url, `${url.pathname}record?line=4`)).body)[0].summary.blocks[0].text).toBe('all')
  })

  test('has the file that is there now, whatever became of the one before', async () => {
    const log = writeSession(session(content('one'), content('two')))
    const url = await served(log)
    const linesNow = async () => (await shownBy(url)).rows.length
    writeFileSync(log, session())
    expect(await linesNow()).toBe(1)
    rmSync(log)
    expect((await ask(url, url.pathname)).status).toBe(500)
    renameSync(writeSession(session(content('a'), content('b'), content('c'))), log)
    expect(await linesNow()).toBe(4)
  })

  test("has what another program's session has become", async () => {
    const said = (text: string) =>
      JSON.stringify({
        type: 'response_item',
        payload: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
      })
    const log = freshFile('rollout.jsonl')
    const meta = JSON.stringify({
      type: 'session_meta',
      timestamp: '2026-10-01T10:00:00.000Z',
      payload: { id: 'a1b2', timestamp: '2026-10-01T10:00:00.000Z', cwd: '/home' },
    })
    writeFileSync(log, `${meta}\nno json\n${['one', 'two', 'three'].map((text) => `${said(text)}\n`).join('')}`)
    const url = await served(log, { isForeign: true })
    const chosen = await served(log, { isForeign: true, log: `${log}#a1b2`, file: log })
    const { rows, warnings } = await shownBy(url)
    expect(rows.map(([line]: number[]) => line)).toEqual([1, 2, 3, 4])
    expect((await shownBy(chosen)).rows).toEqual(rows)
    expect(warnings).toEqual([[0, 'Line 2: failed to parse JSON']])
    appendFileSync(log, `${said('four')}\n`)
    expect((await ask(url, url.pathname)).body).toContain('four')
    expect((await ask(chosen, chosen.pathname)).body).toContain('four')
  })
})

describe.skipIf(CHROMIUM === undefined)('in a browser', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(() => browser.close())

  test('records that do not fit into the page are requested when they come into view, and found by the search', async () => {
    const log = writeSession(
      session(...Array.from({ length: 4000 }, (_, at) => content(`${at} ${'word '.repeat(500)} last${at}`))),
    )
    const { page, complaints } = await open(browser, (await served(log)).href)
    await page.locator('#line-2').filter({ hasText: 'last0' }).waitFor()
    await page.locator('.search input[type=search]').fill('last77x'.replace('x', ''))
    await page.locator('.status').filter({ hasText: '11 of 4,001' }).waitFor()
    expect((await linesShown(page))[0]).toBe(79)
    await settled(page)
    expect(complaints).toEqual([])
    await page.goto('about:blank')
  })

  test('a cut record is shown whole on demand', async () => {
    const log = writeSession(session(content(`${'z'.repeat(200_000)}end`)))
    const { page } = await open(browser, (await served(log)).href)
    await page.locator('#line-2 .whole').click()
    await page.locator('#line-2 .whole').waitFor({ state: 'detached' })
    expect((await page.locator('#line-2 .markdown').textContent())!.length).toBe(200_003)
    await page.goto('about:blank')
  })
})

test('the program serves until it is interrupted, and says where', async () => {
  const log = freshFile('session.jsonl')
  copyFileSync(SAMPLE, log)
  let asked: Promise<number> | undefined
  const { code, stdout } = await sessionTapeProcess(['view', log, '--serve', '--json'], {
    env: { BROWSER: 'none' },
    onOutput: (child, text) => {
      if (asked || !text.endsWith('\n')) return
      const url = new URL(JSON.parse(text).url)
      asked = ask(url, url.pathname).then(({ status }) => (child.kill('SIGINT'), status))
    },
  })
  expect(await asked).toBe(200)
  expect(JSON.parse(stdout).opened).toBe(false)
  expect(code).toBe(0)
})
