/**
 * The pictures of the README, made from invented recordings: `node docs/pictures.mjs` writes them to docs/images.
 *
 * - `replay.svg`: what `session-tape replay` prints on a terminal, for the sample session of the demo.
 * - `diff.png`: the page of `session-tape diff --html`, for two runs whose tool answered differently.
 * - `session.png`, `run.png`: the pages of `session-tape view`, for the sample session and for the golden run of the tests.
 *
 * The pages need a Chromium, from CHROMIUM_PATH or /usr/bin/chromium.
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { chromium } from 'playwright-core'
import { PlainRun, sha256 } from '../__test__/support/plain-run-engine.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const PROGRAM = join(here, '..', 'packages', 'cli', 'main.js')
const IMAGES = join(here, 'images')
const CHROMIUM = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium'

const directory = mkdtempSync(join(tmpdir(), 'session-tape-pictures-'))

/** What the program prints on a coloured terminal. An exit code of 1 is an answer of `diff`. */
function printed(...args) {
  const options = {
    cwd: directory,
    encoding: 'utf8',
    env: { ...process.env, FORCE_COLOR: '1', NO_COLOR: '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  }
  try {
    return execFileSync(process.execPath, [PROGRAM, ...args], options)
  } catch (error) {
    if (error.status !== 1) throw error
    return error.stdout
  }
}

// ---- replay.svg --------------------------------------------------------------------------------

function writeReplay(file) {
  copyFileSync(join(here, '..', 'demo', 'sample.jsonl'), join(directory, 'session.jsonl'))
  const output = printed('replay', 'session.jsonl').trim().split('\n')
  writeFileSync(file, terminal(['\u001b[32m$\u001b[39m session-tape replay session.jsonl', '', ...output]))
}

const [CHARACTER, LINE, MARGIN, BAR] = [7.8, 18, 18, 34]
const TEXT_COLOUR = '#d6deeb'
/** Parameters of SGR sequences that set a colour, and the two that the program sets beside them. */
const COLOURS = { 31: '#ff7a85', 32: '#a3d977', 33: '#f2c94c', 36: '#6fd0e8' }

/** A terminal window with these lines, as SVG. Each stretch of text has its place and width, so that columns align in any font. */
function terminal(lines) {
  const rows = lines.map(stretches)
  const columns = Math.max(...rows.flat().map(({ column, text }) => column + text.length))
  const [width, height] = [Math.ceil(columns * CHARACTER + 2 * MARGIN), rows.length * LINE + BAR + MARGIN]
  const dots = ['#ff5f57', '#febc2e', '#28c840'].map(
    (fill, at) => `<circle cx="${MARGIN + at * 18}" cy="17" r="5.5" fill="${fill}"/>`,
  )
  const texts = rows.flatMap((row, at) => row.map((stretch) => textElement(stretch, BAR + (at + 1) * LINE - 5)))
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>session-tape replay session.jsonl</title>
<rect width="${width}" height="${height}" rx="9" fill="#0f1720"/>
${dots.join('')}
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13" fill="${TEXT_COLOUR}" xml:space="preserve">
${texts.join('\n')}
</g>
</svg>
`
}

/** The stretches of a line that look the same, without those that are blank. */
function stretches(line) {
  const found = []
  let [column, bold, dim, colour] = [0, false, false, undefined]
  for (const part of line.split(/(\u001b\[\d+m)/)) {
    const number = /^\u001b\[(\d+)m$/.exec(part)?.[1]
    if (number === undefined) {
      // Two blanks or more separate columns, each of which has a place of its own.
      for (const { 0: text, index } of part.matchAll(/\S+(?: \S+)*/g))
        found.push({ column: column + index, text, bold, dim, colour })
      column += part.length
    } else if (number === '1') bold = true
    else if (number === '2') dim = true
    else if (number === '22') bold = dim = false
    else colour = COLOURS[number]
  }
  return found
}

function textElement({ column, text, bold, dim, colour }, y) {
  const attributes = [
    `x="${rounded(MARGIN + column * CHARACTER)}" y="${y}" textLength="${rounded(text.length * CHARACTER)}" lengthAdjust="spacingAndGlyphs"`,
    ...(bold ? ['font-weight="bold"'] : []),
    ...(dim ? ['opacity="0.6"'] : []),
    ...(colour ? [`fill="${colour}"`] : []),
  ]
  return `<text ${attributes.join(' ')}>${text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</text>`
}

function rounded(number) {
  return Math.round(number * 10) / 10
}

// ---- diff.png ----------------------------------------------------------------------------------

async function writeDiff(file) {
  weeklyRun('monday', { week: 7, total: 18_240, open: 3, late: ['INV-0173'] }, 'One invoice is late.').write(
    join(directory, 'monday'),
  )
  weeklyRun(
    'tuesday',
    { week: 7, total: 21_915, open: 4, late: ['INV-0173', 'INV-0181'] },
    'Two invoices are late.',
  ).write(join(directory, 'tuesday'))
  printed('diff', 'monday', 'tuesday', '--html', 'page.html')
  // The page opens at the divergence; 16 pixels further up its header covers no part of a row.
  await writePicture(file, 'page.html', { height: 776, prepare: (page) => page.evaluate('scrollBy(0, -16)') })
}

// ---- session.png, run.png ----------------------------------------------------------------------

async function writeSession(file) {
  copyFileSync(join(here, '..', 'demo', 'sample.jsonl'), join(directory, 'session.jsonl'))
  printed('view', 'session.jsonl', '--html', 'page.html')
  await writePicture(file, 'page.html', {
    height: 860,
    prepare: (page) => page.locator('#line-4 summary').first().click(),
  })
}

async function writeRun(file) {
  cpSync(join(here, '..', '__test__', 'fixtures', 'run', 'v1', 'golden'), join(directory, 'weekly'), {
    recursive: true,
  })
  printed('view', 'weekly', '--html', 'page.html')
  await writePicture(file, 'page.html#evt_120', { height: 1010 })
}

/** A picture of the top of a page, as it opens. */
async function writePicture(file, page, { height, prepare = async () => {} }) {
  // Chromium's sandbox does not run as root, as in a container.
  const args = process.getuid?.() === 0 ? ['--disable-gpu', '--no-sandbox'] : ['--disable-gpu']
  const browser = await chromium.launch({ executablePath: CHROMIUM, args })
  try {
    const opened = await browser.newPage({ viewport: { width: 1200, height }, colorScheme: 'light' })
    const [name, hash = ''] = page.split(/(?=#)/)
    await opened.goto(pathToFileURL(join(directory, name)).href + hash)
    await prepare(opened)
    await opened.waitForTimeout(300)
    await opened.screenshot({ path: file })
  } finally {
    await browser.close()
  }
  console.log(`${file}: ${Math.round(statSync(file).size / 1000)} kB`)
}

/** A run that asks for the week's invoices and writes a report about them. */
function weeklyRun(runId, invoices, report) {
  const nodes = [
    { id: 'fetch', kind: 'task', tool: 'http' },
    { id: 'write', kind: 'task', tool: 'model', dependsOn: ['fetch'] },
    { id: 'send', kind: 'task', tool: 'mail', dependsOn: ['write'] },
  ]
  const run = new PlainRun({
    runId,
    workflow: { name: 'weekly report', version: '1.0.0', nodes },
    scheduler: 'round-robin',
  })
  run.append('RunStarted', {
    workers: [
      { id: 'w1', capabilities: [] },
      { id: 'w2', capabilities: [] },
    ],
  })
  const fetched = task(run, 'fetch', 'w1', {
    tool: 'http',
    request: 'GET /invoices?week=7',
    answer: JSON.stringify(invoices, null, 2),
  })
  const written = task(run, 'write', 'w2', { tool: 'model', request: fetched, answer: report })
  const sent = task(run, 'send', 'w1', { tool: 'mail', request: written, answer: 'sent' })
  run.append('RunCompleted', { outputs: { send: sent } })
  return run
}

/** One task from its node's scheduling to its completion. Returns the hash of its output. */
function task(run, node, worker, { tool, request, answer }) {
  const named = { task: `${node}#1`, worker }
  run.append('NodeScheduled', { task: named.task, dependsOn: [] })
  run.append('TaskAssigned', named)
  run.append('TaskAccepted', named)
  run.append('NodeStarted', { ...named, inputHash: sha256(request) })
  run.append('ToolInvoked', { tool, call: `${node}-1`, requestHash: sha256(request) }, { node })
  const output = run.putBlob(answer)
  run.append(
    'ToolCompleted',
    { tool, call: `${node}-1`, rawHash: output, outputHash: output, normalizer: 'none' },
    { node },
  )
  run.append('NodeCompleted', { task: named.task, outputHash: output })
  return output
}

try {
  mkdirSync(IMAGES, { recursive: true })
  writeReplay(join(IMAGES, 'replay.svg'))
  await writeDiff(join(IMAGES, 'diff.png'))
  await writeSession(join(IMAGES, 'session.png'))
  await writeRun(join(IMAGES, 'run.png'))
} finally {
  rmSync(directory, { recursive: true, force: true })
}
