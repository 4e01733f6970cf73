/**
 * Peak memory, each time in a process of its own: what one side leaves behind (free lists, grown heaps) would be the baseline of the next.
 *
 * This file is both: imported, it starts the processes; started as a script, it is such a process.
 */
import { execFile } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { replayFileWithReadline } from '../__test__/support/plain-engine.mjs'
import * as tape from '../index.mjs'
import { collectGarbage } from './measure.mjs'
import { newRecorder } from './parts/recorders.mjs'
import { DATA, TINY, contentPayloads, replayFile } from './workloads.mjs'

const SELF = fileURLToPath(import.meta.url)
const IMAGE_BYTES = 20 << 20

/** What runs in a process of its own, and may be prepared before. */
const JOBS = {
  replay: (path) => tape.replaySession(path),
  plain: (path) => replayFileWithReadline(path),
  archive: (path) => tape.archiveSession(path),
  restore: (path) => tape.restoreSession(path),
  export: (source, bundle) => tape.exportBundle(source, bundle),
  verify: (bundle) => tape.verifyBundle(bundle),
  import: (bundle, directory) => tape.importBundle(bundle, directory),
  diff: (left, right) => tape.diff(left, right),
  run: (directory, verify) => tape.replayRun(directory, { verify }),
  page: (path) => lastPage(path),
  image: (service) => recordImage(service),
  stringify: () => Promise.resolve(JSON.stringify({ v: 1, seq: 1, ts: '', type: 'content', payload: image() })),
}

/** MiB at the peak, above what the process used before; and above what the result still holds as well. */
export const peak = async (...job) => (await measured(job)).peak
export const peakOver = async (...job) => (await measured(job)).over

async function measured(job) {
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', SELF, ...job])
  return JSON.parse(stdout)
}

const image = () => {
  const data = Buffer.alloc((IMAGE_BYTES / 4) * 3, 'image').toString('base64')
  const block = { type: 'media', mimeType: 'image/png', encoding: 'base64', data }
  return { content: { speaker: 'human', blocks: [block] } }
}

async function recordImage(service) {
  service.enqueue('content', image())
  await service.flush()
}

export async function lastPage(path) {
  const opened = await tape.openSession(path)
  if (!opened.ok) throw new Error(opened.error)
  const items = await opened.session.items(-50)
  opened.session.close()
  return items
}

async function peakOf(task) {
  collectGarbage()
  // On Linux, resets the kernel's high-water mark. Elsewhere, that covers the whole life of the process.
  if (process.platform === 'linux') writeFileSync('/proc/self/clear_refs', '5')
  const before = { rss: process.memoryUsage.rss(), held: held() }
  const result = await task()
  const most = peakRss() - before.rss
  collectGarbage()
  const retained = held() - before.held
  return { peak: most / 2 ** 20, over: (most - retained) / 2 ** 20, alive: result !== undefined }
}

/** In Bun, `heapUsed` includes external memory. */
function held() {
  const { heapUsed, external } = process.memoryUsage()
  return process.versions.bun ? heapUsed : heapUsed + external
}

function peakRss() {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS * 1024
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))[1]) * 1024
}

if (process.argv[1] === SELF) {
  const [name, ...args] = process.argv.slice(2)
  // What the first call loads does not count.
  const { filePath } = await replayFile(TINY, 1)
  await (name === 'plain' ? replayFileWithReadline : tape.replaySession)(filePath)
  const service = newRecorder(join(DATA, 'record'))
  if (name === 'image') {
    service.enqueue('content', contentPayloads(1)[0])
    await service.flush()
  }
  process.stdout.write(JSON.stringify(await peakOf(() => JOBS[name](...(name === 'image' ? [service] : args)))))
  await service.dispose()
  if (name === 'image') rmSync(service.getFilePath())
}
