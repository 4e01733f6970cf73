/** Replay: the addon compared with the plain JavaScript engine, on each workload. */
import { deepStrictEqual } from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { peakMemory } from './memory.mjs'
import { inTurn, median, ratios, timed } from './measure.mjs'
import { ENGINES } from './engines.mjs'
import { REPLAY_WORKLOADS, replayFile } from './workloads.mjs'

/** With fewer records than this, a replay is shorter than a tick of the clock, so many are timed together. */
const TOO_SHORT = 1000
const TOGETHER = 200

export async function benchReplay({ rounds, scale, workloads, say }) {
  const results = []
  for (const workload of REPLAY_WORKLOADS.filter(({ name }) => workloads.includes(name))) {
    const { name, shape, title } = workload
    say(`replay: ${title}`)
    const { filePath, records } = await replayFile(workload, scale)
    await checkSame(filePath)
    const measured = await measureWorkload(filePath, records < TOO_SHORT ? TOGETHER : 1, rounds)
    const memory = { plain: await peakMemory('plain', filePath), addon: await peakMemory('addon', filePath) }
    results.push({ name, shape, title, records, bytes: statSync(filePath).size, ...measured, memory })
  }
  return results
}

/** Checks that both results are equal, including the order of keys: a fast replay that is wrong is worthless. */
async function checkSame(filePath) {
  const [plain, addon] = [await ENGINES.plain(filePath), await ENGINES.addon(filePath)]
  if (!plain.ok || !addon.ok) throw new Error(`${filePath} does not replay`)
  deepStrictEqual(addon, plain)
  if (digest(addon.history) !== digest(plain.history)) throw new Error(`${filePath}: the order of keys differs`)
}

/** `deepStrictEqual` ignores the order of keys; the text of each item shows it. */
function digest(history) {
  const hash = createHash('sha256')
  for (const item of history) hash.update(JSON.stringify(item))
  return hash.digest('hex')
}

async function measureWorkload(filePath, repeat, rounds) {
  const replays = (side) => async () => {
    const { ms, cpuMs, longestStopMs } = await timed(() => repeated(() => side(filePath), repeat))
    return { ms: ms / repeat, cpuMs: cpuMs / repeat, longestStopMs }
  }
  const { plain, addon, idle } = await inTurn(
    {
      plain: replays(ENGINES.plain),
      addon: replays(ENGINES.addon),
      idle: () => timed(() => sleep(300)),
    },
    rounds,
  )
  const ms = (list) => list.map((one) => one.ms)
  const cpuMs = (list) => list.map((one) => one.cpuMs)
  return {
    ratio: ratios(ms(plain), ms(addon)),
    cpuRatio: ratios(cpuMs(plain), cpuMs(addon)),
    ms: { plain: median(ms(plain)), addon: median(ms(addon)) },
    stops: { plain: stopsOf(plain), addon: stopsOf(addon), idle: stopsOf(idle) },
  }
}

/** Returns the last result, which keeps it alive during the measurement. */
async function repeated(task, times) {
  let value
  for (let i = 0; i < times; i++) value = await task()
  return value
}

function stopsOf(measurements) {
  const all = measurements.map(({ longestStopMs }) => longestStopMs)
  return { median: median(all), worst: Math.max(...all) }
}
