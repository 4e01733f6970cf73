// `npm run bench:view [folder]`: the pages of long recordings. Creates sessions of 10 000 and 100 000 records and a run of a million events, writes
// their pages, opens them in Chromium (CHROMIUM_PATH or /usr/bin/chromium) and scrolls. Prints sizes, times and frames, and in addition to elapsed
// times the processor times, which are the only meaningful ones on a busy machine. With a folder, the recordings are kept there and reused.

import { createWriteStream, existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { chromium } from 'playwright-core'

const require = createRequire(import.meta.url)
const { RunRecorder } = require('../index.js')
const { writeSessionPage } = require('../packages/cli/html/session')
const { writeRunPage } = require('../packages/cli/html/run')
const { servedSession } = require('../packages/cli/html/session/served.js')
const { servedRun } = require('../packages/cli/html/run/served.js')
const { serve } = require('../packages/cli/html/serve/server.js')

const FRAMES = 180
const kept = process.argv[2]
const directory = kept ?? mkdtempSync(join(tmpdir(), 'session-tape-bench-view-'))
mkdirSync(directory, { recursive: true })

const text = (length, salt) => {
  const words = 'the quick brown fox jumps over a lazy dog while `code` and **bold** text appear in src/file.ts'.split(
    ' ',
  )
  let made = ''
  for (let at = salt; made.length < length; at += 7) made += `${words[at % words.length]} `
  return made
}

async function makeSession(file, records) {
  const stream = createWriteStream(file)
  let [seq, time] = [0, Date.UTC(2026, 1, 11, 8)]
  const write = async (type, payload, ms = 3000) => {
    const line = JSON.stringify({ v: 1, seq: ++seq, ts: new Date((time += ms)).toISOString(), type, payload })
    if (!stream.write(`${line}\n`)) await once(stream, 'drain')
  }
  await write('session_start', {
    sessionId: 'long',
    projectHash: 'p',
    workspaceDirs: ['/w'],
    provider: 'acme',
    model: 'large',
    startTime: new Date(time).toISOString(),
  })
  while (seq < records) {
    await write('content', { content: { speaker: 'human', blocks: [{ type: 'text', text: text(300, seq) }] } }, 20_000)
    for (let step = 0; step < 3 && seq < records; step++) {
      const id = `call-${seq}`
      const said = { type: 'text', text: `${text(600, seq)}\n\n\`\`\`js\nconst step = ${seq}\n\`\`\`` }
      await write('content', {
        content: {
          speaker: 'ai',
          blocks: [
            said,
            {
              type: 'tool_call',
              id,
              name: ['read_file', 'run', 'edit'][seq % 3],
              parameters: { path: `src/${seq}.ts`, text: text(100, seq) },
            },
          ],
        },
      })
      if (seq < records)
        await write('content', {
          content: {
            speaker: 'tool',
            blocks: [
              {
                type: 'tool_response',
                callId: id,
                toolName: 'run',
                result: { output: text(1200, seq) },
                ...(seq % 17 === 0 && { error: 'it failed' }),
              },
            ],
          },
        })
    }
    if (seq % 4001 < 7 && seq < records)
      await write('compressed', {
        summary: { speaker: 'ai', blocks: [{ type: 'text', text: text(300, seq) }] },
        itemsCompressed: 10,
      })
  }
  stream.end()
  await once(stream, 'finish')
}

/** Records a run in which the tasks of twenty nodes fail and are tried again. */
async function makeRun(at, events) {
  const nodes = Array.from({ length: 500 }, (_, n) => ({
    id: `node ${n}`,
    kind: 'task',
    tool: 'sh',
    dependsOn: n < 20 ? [] : [`node ${n - 20}`],
  }))
  const run = new RunRecorder({
    directory: at,
    runId: 'long',
    workflow: { name: 'long', version: '1', nodes },
    scheduler: 'external',
  })
  run.append({
    kind: 'RunStarted',
    payload: { workers: Array.from({ length: 8 }, (_, n) => ({ id: `w${n}`, capabilities: [] })) },
  })
  const hash = 'a'.repeat(64)
  for (let count = 2, turn = 0; count < events; count += 7, turn++) {
    const node = `node ${turn % 20}`
    const named = { task: `${node}#${Math.floor(turn / 20) + 1}`, worker: `w${turn % 8}` }
    run.append({ kind: 'NodeScheduled', payload: { task: named.task, dependsOn: [] } })
    run.append({ kind: 'TaskAssigned', payload: named })
    run.append({ kind: 'TaskAccepted', payload: named })
    run.append({ kind: 'NodeStarted', payload: { ...named, inputHash: hash } })
    run.append({ kind: 'ToolInvoked', node, payload: { tool: 'sh', call: `c${count}`, requestHash: hash } })
    run.append({
      kind: 'ToolFailed',
      node,
      payload: { tool: 'sh', call: `c${count}`, code: 'E', message: 'it failed, once more' },
    })
    run.append({ kind: 'NodeFailed', payload: { task: named.task, code: 'E', message: 'failed', willRetry: true } })
    if (count % 70_000 < 7) await run.flush()
  }
  await run.snapshot()
  await run.dispose()
}

/** The result, the elapsed milliseconds, and the processor time of this process in milliseconds. */
async function timed(work) {
  const [start, cpu] = [performance.now(), process.cpuUsage()]
  const result = await work()
  const { user, system } = process.cpuUsage(cpu)
  return [result, performance.now() - start, (user + system) / 1000]
}

/** Opens a page, and measures the time until its first rows are shown, and the frames while it is scrolled. */
async function look(browser, url, rows) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  /** The processor time of the page's main thread, in milliseconds. */
  const cpu = async () =>
    (await session.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'TaskDuration').value * 1000
  const [, ms] = await timed(async () => {
    await page.goto(url)
    await page.locator(rows).first().waitFor()
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
  })
  const opened = await cpu()
  const frames = await page.evaluate(
    ([count, isList]) =>
      new Promise((done) => {
        const target = isList ? document.querySelector('.events') : document.scrollingElement
        const times = []
        const step = (now) => {
          times.push(now)
          target.scrollTop += 400
          if (times.length <= count) requestAnimationFrame(step)
          else
            done(
              times
                .slice(1)
                .map((time, at) => time - times[at])
                .sort((a, b) => a - b),
            )
        }
        requestAnimationFrame(step)
      }),
    [FRAMES, rows === '.event'],
  )
  const scrolled = (await cpu()) - opened
  await page.close()
  return { open: ms, openCpu: opened, median: frames[Math.floor(FRAMES / 2)], frameCpu: scrolled / FRAMES }
}

async function served(routesOf, source) {
  const [routes, ms, cpu] = await timed(() => routesOf(source))
  const server = await serve(routes)
  return { url: server.url, ms, cpu, close: () => server.close() }
}

const seconds = (ms, cpu) => `${(ms / 1000).toFixed(2)} (${(cpu / 1000).toFixed(2)}) s`.padStart(18)

function report(name, { bytes, ms, cpu, open, openCpu, median, frameCpu }) {
  const size = bytes === undefined ? 'served' : `${(bytes / 1e6).toFixed(1)} MB`
  console.log(
    name.padEnd(34) +
      size.padStart(9) +
      seconds(ms, cpu) +
      seconds(open, openCpu) +
      `${median.toFixed(1)} (${frameCpu.toFixed(1)}) ms`.padStart(18),
  )
}

async function measure(browser, name, source, write, routesOf, rows) {
  const out = join(directory, 'page.html')
  const [{ bytes }, ms, cpu] = await timed(() => write(out, source))
  report(name, { bytes, ms, cpu, ...(await look(browser, pathToFileURL(out).href, rows)) })
  const server = await served(routesOf, source)
  report(`${name}, --serve`, { ms: server.ms, cpu: server.cpu, ...(await look(browser, server.url, rows)) })
  await server.close()
}

const made = async (name, make) => {
  const path = join(directory, name)
  if (!existsSync(path)) await make(path)
  return path
}

try {
  const args = process.getuid?.() === 0 ? ['--disable-gpu', '--no-sandbox'] : ['--disable-gpu']
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium', args })
  console.log(
    `${cpus()[0].model}, ${cpus().length} cores, load ${loadavg()[0].toFixed(1)}, Node.js ${process.versions.node}, Chromium ${browser.version()}\n`,
  )
  console.log(
    ''.padEnd(34) +
      'page'.padStart(9) +
      ['made in (CPU)', 'opens in (CPU)', 'a frame (CPU)'].map((title) => title.padStart(18)).join(''),
  )
  for (const records of [10_000, 100_000]) {
    const log = await made(`session-${records}.jsonl`, (file) => makeSession(file, records))
    await measure(
      browser,
      `session, ${records.toLocaleString('en-US')} records`,
      { log, given: log, size: statSync(log).size },
      writeSessionPage,
      servedSession,
      'li.line',
    )
  }
  const at = await made('run', (path) => makeRun(path, 1_000_000))
  const log = join(at, 'events.cath-log')
  await measure(
    browser,
    'run, 1,000,000 events',
    { at, log, given: at, size: statSync(log).size },
    writeRunPage,
    servedRun,
    '.event',
  )
  await browser.close()
} finally {
  if (kept === undefined) rmSync(directory, { recursive: true, force: true })
}
