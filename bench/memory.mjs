/**
 * Peak memory, each measured in a separate process: what one side leaves behind (free lists, grown heaps) would be the baseline of the other.
 *
 * This file is both: imported, it starts the processes; started as a script, it is such a process.
 */
import { execFile } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { collectGarbage, median } from './measure.mjs'
import { DATA, TINY, contentPayloads, replayFile } from './workloads.mjs'

const SELF = fileURLToPath(import.meta.url)
const CHILDREN = 3
const IMAGE_BYTES = 20 << 20

/** @returns {Promise<{ peak: number, retained: number, over: number }>} bytes; `over` = peak − retained */
export async function peakMemory(side, filePath) {
  return medianOfChildren(['replay', side, filePath])
}

/** The memory of one event with a payload of 20 MiB. */
export async function benchImage() {
  return { tape: await imageMemory('tape'), stringify: await imageMemory('stringify') }
}

/** @returns {Promise<{ peak: number, payload: number }>} */
async function imageMemory(side) {
  return { ...(await medianOfChildren(['image', side])), payload: IMAGE_BYTES }
}

async function medianOfChildren(args) {
  const reports = []
  for (let i = 0; i < CHILDREN; i++) {
    const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', SELF, ...args])
    reports.push(JSON.parse(stdout))
  }
  const of = (key) => median(reports.map((report) => report[key]))
  return {
    peak: of('peak'),
    retained: of('retained'),
    over: median(reports.map(({ peak, retained }) => peak - retained)),
  }
}

/** The memory that a task needs at its peak in addition to what was used before, and the memory that its result retains. */
export async function peakOf(task) {
  collectGarbage()
  forgetPeak()
  const before = { rss: process.memoryUsage.rss(), held: held() }
  const result = await task()
  const peak = peakRss() - before.rss
  collectGarbage()
  const retained = held() - before.held
  return { peak, retained, alive: result !== undefined }
}

/** In Bun, `heapUsed` includes external memory. */
function held() {
  const { heapUsed, external } = process.memoryUsage()
  return process.versions.bun ? heapUsed : heapUsed + external
}

/** On Linux, resets the kernel's high-water mark. Elsewhere, that covers the whole life of the process. */
function forgetPeak() {
  if (process.platform === 'linux') writeFileSync('/proc/self/clear_refs', '5')
}

function peakRss() {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS * 1024
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))[1]) * 1024
}

const measurements = {
  async replay(side, filePath) {
    const { ENGINES } = await import('./engines.mjs')
    const { filePath: tiny } = await replayFile(TINY, 1)
    await ENGINES[side](tiny)
    return peakOf(() => ENGINES[side](filePath))
  },
  async image(side) {
    const data = Buffer.alloc((IMAGE_BYTES / 4) * 3, 'image').toString('base64')
    const payload = {
      content: { speaker: 'human', blocks: [{ type: 'media', mimeType: 'image/png', encoding: 'base64', data }] },
    }
    if (side === 'stringify')
      return peakOf(async () => JSON.stringify({ v: 1, seq: 1, ts: '', type: 'content', payload }))
    return recordImage(payload)
  },
}

async function recordImage(payload) {
  const { SessionRecordingService } = await import('../index.mjs')
  const { newRecorder } = await import('./recorders.mjs')
  const service = newRecorder(SessionRecordingService, join(DATA, 'record'))
  service.enqueue('content', contentPayloads(1)[0])
  await service.flush()
  const report = await peakOf(async () => {
    service.enqueue('content', payload)
    await service.flush()
  })
  await service.dispose()
  rmSync(service.getFilePath())
  return report
}

if (process.argv[1] === SELF) {
  const [kind, ...args] = process.argv.slice(2)
  process.stdout.write(JSON.stringify(await measurements[kind](...args)))
}
