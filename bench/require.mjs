/** Loading the package, each time in a new process (`load.cjs`, `load.mjs`). */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { addonFile } from '../scripts/platform.mjs'
import { inTurn, median } from './measure.mjs'
import { TINY, replayFile } from './workloads.mjs'

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url))
const PROCESSES = 30

export async function benchRequire({ scale, say }) {
  const { filePath } = await replayFile(TINY, 1)
  const processes = Math.max(3, Math.round(PROCESSES * scale))
  const load =
    (script, ...args) =>
    async () => {
      const { stdout } = await promisify(execFile)(process.execPath, [path(script), ...args])
      return JSON.parse(stdout)
    }
  const sides = {
    require: load('load.cjs', 'require'),
    import: load('load.mjs'),
    addon: load('load.cjs', 'addon', path(`../${addonFile()}`)),
    replay: load('load.cjs', 'replay', filePath),
  }
  say(`require: ${processes} processes for each of ${Object.keys(sides).length} ways`)
  const measured = await inTurn(sides, processes)
  return Object.fromEntries(Object.entries(measured).map(([task, list]) => [task, summary(list)]))
}

function summary(list) {
  const ms = list.map((one) => one.ms)
  return { ms: median(ms), lowest: Math.min(...ms), cpuMs: median(list.map(({ cpuMs }) => cpuMs)) }
}
