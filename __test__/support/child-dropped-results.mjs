// Reads a session many times, keeps nothing, and prints the highest resident memory in MiB.
//
//   child-dropped-results.mjs PATH TIMES replay|items|readline|worker
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { isMainThread, Worker, workerData } from 'node:worker_threads'

const [path, times, how] = isMainThread ? process.argv.slice(2) : workerData

const WAYS = {
  async replay() {
    const { replaySession } = await import('../../index.mjs')
    await each(async () => {
      const { ok, history } = await replaySession(path)
      return ok ? history.length : 0
    })
  },

  async items() {
    const { openSession } = await import('../../index.mjs')
    const { session } = await openSession(path)
    await each(async () => {
      let count = 0
      for await (const item of session) count += item.blocks.length
      return count
    })
    session.close()
  },

  /** What CLIs do without this package. */
  readline() {
    return each(async () => {
      const history = []
      for await (const line of createInterface({ input: createReadStream(path) })) history.push(JSON.parse(line))
      return history.length
    })
  },

  worker() {
    const worker = new Worker(fileURLToPath(import.meta.url), { workerData: [path, times, 'replay'] })
    return new Promise((resolve, reject) => worker.on('exit', resolve).on('error', reject))
  },
}

async function each(read) {
  for (let time = 0; time < Number(times); time++) if ((await read()) === 0) throw new Error('nothing was read')
}

await WAYS[how]()
if (isMainThread) process.stdout.write(JSON.stringify({ peak: Math.round(process.resourceUsage().maxRSS / 1024) }))
