/**
 * Files larger than any history: reading a page of a 1 GB session, and the memory for 10 GB.
 *
 * Imported, it measures; started as a script, it is the process whose memory is measured.
 */
import { execFile } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { openSession, replaySession } from '../index.mjs'
import { median, timed } from './measure.mjs'
import { peakOf } from './memory.mjs'
import { DATA, contentItem, startLine } from './workloads.mjs'

const SELF = fileURLToPath(import.meta.url)
const VERSION = 'v1'

/** Records in a block of the generated files. Each block begins with a compression. */
const BLOCK = 4000

/** All numbers have the same length, so that a block is created once and only its numbers are overwritten. */
const FIRST_SEQ = 1_000_000_000

const envelope = (seq, type, payload) =>
  `${JSON.stringify({ v: 1, seq, ts: '2026-02-11T16:00:00.000Z', type, payload })}\n`

/** A session of at least `bytes` bytes with a compression every 4 000 records of about 1 400 bytes, the last one near its end. */
export function largeFile(bytes) {
  const filePath = join(DATA, `large-${bytes}.${VERSION}.jsonl`)
  if (existsSync(filePath)) return filePath
  mkdirSync(DATA, { recursive: true })
  const { block, places } = numberedBlock()
  const file = openSync(`${filePath}.part`, 'w')
  let written = writeSync(file, startLine(FIRST_SEQ - 1))
  for (let seq = FIRST_SEQ; written < bytes; seq += BLOCK) {
    places.forEach((place, index) => block.write(String(seq + index), place, 'latin1'))
    written += writeSync(file, block)
  }
  closeSync(file)
  renameSync(`${filePath}.part`, filePath)
  return filePath
}

function numberedBlock() {
  const summary = { speaker: 'ai', blocks: [{ type: 'text', text: 'What happened so far.' }] }
  const lines = Array.from({ length: BLOCK }, (_, index) =>
    index === 0
      ? envelope(FIRST_SEQ, 'compressed', { summary, itemsCompressed: BLOCK })
      : envelope(FIRST_SEQ, 'content', { content: contentItem(index) }),
  ).map((line) => Buffer.from(line))
  const inLine = lines[0].indexOf(String(FIRST_SEQ))
  let at = 0
  const places = lines.map((line) => (at += line.length) - line.length + inLine)
  return { block: Buffer.concat(lines), places }
}

/** The last page of 1 GB and the memory for 10 GB. The files are generated, and deleted afterwards. */
export async function benchLarge({ scale, say }) {
  const page = await inOwnProcess('page', 1e9 * scale, say)
  const memory = await inOwnProcess('memory', 10e9 * scale, say)
  return { page, memory }
}

async function inOwnProcess(kind, bytes, say) {
  say(`large: ${kind} of ${(bytes / 1e9).toFixed(1)} GB`)
  const filePath = largeFile(Math.round(bytes))
  try {
    const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', SELF, kind, filePath])
    return { bytes: statSync(filePath).size, ...JSON.parse(stdout) }
  } finally {
    rmSync(filePath)
  }
}

const measurements = {
  async page(filePath) {
    const times = []
    for (let round = 0; round < 7; round++) times.push((await timed(() => lastPage(filePath))).ms)
    const { peak } = await peakOf(() => lastPage(filePath))
    return { ms: median(times), peak }
  },
  async memory(filePath) {
    const started = performance.now()
    const report = await peakOf(() => replaySession(filePath))
    return { ...report, ms: performance.now() - started }
  },
}

async function lastPage(filePath) {
  const opened = await openSession(filePath)
  if (!opened.ok) throw new Error(opened.error)
  const items = await opened.session.items(-50)
  opened.session.close()
  return items
}

if (process.argv[1] === SELF) {
  const [kind, filePath] = process.argv.slice(2)
  process.stdout.write(JSON.stringify(await measurements[kind](filePath)))
}
