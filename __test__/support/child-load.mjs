/**
 * Loads under which a leak of descriptors, threads or memory would show. Prints one JSON report.
 * Arguments: load, directory.
 */
import { readFileSync, readdirSync, readlinkSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import tape from '../../index.js'
import { configOf, said } from './child-parts.mjs'

const [load, chatsDir] = process.argv.slice(2)
const newRecorder = () => new tape.SessionRecordingService(configOf(chatsDir))

const descriptors = () => readdirSync('/proc/self/fd').length
const threads = () => readdirSync('/proc/self/task').length
const sessionsOpen = () =>
  readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).includes('.jsonl')
    } catch {
      return false
    }
  }).length
const residentKiB = () => Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))[1])

async function recordAndDispose() {
  const recorder = newRecorder()
  recorder.recordContent(said('x'))
  await recorder.flush()
  await recorder.dispose()
}

async function loadInWorker() {
  const worker = new Worker(fileURLToPath(new URL('child-worker.mjs', import.meta.url)), {
    workerData: { job: 'load' },
  })
  return new Promise((resolve, reject) => worker.once('exit', resolve).once('error', reject))
}

const loads = {
  async recorders() {
    await recordAndDispose()
    const before = { descriptors: descriptors(), threads: threads() }
    for (let i = 0; i < 300; i++) await recordAndDispose()
    return { before, after: { descriptors: descriptors(), threads: threads() }, sessionsOpen: sessionsOpen() }
  },

  async workers() {
    await loadInWorker()
    const before = { descriptors: descriptors(), threads: threads() }
    const exitCodes = []
    for (let i = 0; i < 40; i++) exitCodes.push(await loadInWorker())
    return { exitCodes, before, after: { descriptors: descriptors(), threads: threads() } }
  },

  async memory() {
    const recorder = newRecorder()
    recorder.recordContent(said('x'))
    const text = 'm'.repeat(1 << 20)
    const fill = async () => {
      for (let i = 0; i < 40; i++) recorder.enqueue('note', { text })
      await recorder.flush()
      globalThis.gc()
    }
    await fill()
    const before = residentKiB()
    for (let round = 0; round < 5; round++) await fill()
    const after = residentKiB()
    await recorder.dispose()
    return { before, after }
  },
}

console.log(JSON.stringify(await loads[load]()))
