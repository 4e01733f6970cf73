/** Measures time: collects garbage before, watches the event loop during, and takes medians of rounds after. */
import { readFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'

const MILLISECOND = 1e6

/** Time during which the watcher, which samples every millisecond, runs idle before and after what it watches. */
const MARGIN_MS = 8

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** Collects twice, for objects that finalizers release. The `gc` of Bun's `--expose-gc` does not wait for the end of the collection. */
export function collectGarbage() {
  const collect = globalThis.Bun ? () => globalThis.Bun.gc(true) : globalThis.gc
  if (typeof collect !== 'function') throw new Error('start node with --expose-gc')
  collect()
  collect()
}

/**
 * @template T
 * @param {() => Promise<T>} task
 * @returns {Promise<{ ms: number, cpuMs: number, longestStopMs: number, value: T }>} `cpuMs`: processor time of all threads; `longestStopMs`: the
 * longest time between two samples of the watcher, including its own millisecond
 */
export async function timed(task) {
  collectGarbage()
  const watcher = monitorEventLoopDelay({ resolution: 1 })
  // Not reset before the task: after a reset, the watcher misses what happens before its first sample.
  watcher.enable()
  await sleep(MARGIN_MS)
  const cpuBefore = process.cpuUsage()
  const started = performance.now()
  const value = await task()
  const ms = performance.now() - started
  const cpu = process.cpuUsage(cpuBefore)
  await sleep(MARGIN_MS)
  watcher.disable()
  return { ms, cpuMs: (cpu.user + cpu.system) / 1000, longestStopMs: watcher.max / MILLISECOND, value }
}

/**
 * How long the JavaScript thread has worked since `before`, in milliseconds: processor time where the kernel reports it per thread (Linux), so that
 * other load on the machine does not count; elsewhere, the time that the event loop was not waiting.
 */
export function threadWork(before = { cpu: 0, loop: undefined }) {
  if (process.platform === 'linux') {
    const cpu = Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / MILLISECOND
    return { cpu, loop: undefined, ms: cpu - before.cpu }
  }
  // Bun has this since 1.4.
  const loop = performance.eventLoopUtilization(before.loop)
  return { cpu: 0, loop, ms: loop.active }
}

/**
 * Runs the sides in turn, `rounds` times, each round beginning with another side. An additional first round, which does not count, warms up.
 *
 * @template M
 * @param {Record<string, () => Promise<M>>} sides
 * @returns {Promise<Record<string, M[]>>} the measurements of each side, round by round
 */
export async function inTurn(sides, rounds) {
  const names = Object.keys(sides)
  const measured = Object.fromEntries(names.map((name) => [name, []]))
  for (let round = -1; round < rounds; round++) {
    for (let i = 0; i < names.length; i++) {
      const name = names[(i + round + names.length) % names.length]
      const measurement = await sides[name]()
      // The values of all rounds do not fit into a heap.
      delete measurement.value
      if (round >= 0) measured[name].push(measurement)
    }
  }
  return measured
}

/** The ratio in each round. Its sides ran one after the other, so whatever slows the machine slows both. */
export function ratios(slower, faster) {
  const all = slower.map((ms, round) => ms / faster[round])
  return { median: median(all), lowest: Math.min(...all), highest: Math.max(...all) }
}
