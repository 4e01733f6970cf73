/** Measures cases. mitata times their sides and repeats what is short; the sides take turns, so that what slows the machine slows both. */
import { readFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { measure } from 'mitata'

/** In nanoseconds: what is shorter is repeated until this is over. */
const LEAST = 30e6

/**
 * @typedef {(() => unknown) | { before?: () => unknown, run: () => unknown, after?: () => unknown }} Side what is timed; only `run` of the second form
 * @typedef {object} Case
 * @property {string} what
 * @property {Side} ours
 * @property {[string, Side]} [other] what ours is compared with, and its name
 * @property {string} [unit] the sides are not timed but return numbers of this unit
 * @property {number} [bytes] what each side goes through, whose throughput is shown
 * @property {number} [rounds] instead of those of the command line
 * @property {string} [target] `≥ 4×` as fast as the other, `≤ 1.3×` of what the other needs, `≤ 16 ms`, `≥ 100 MB/s`
 */

/**
 * The cells of a row: what, ours, the other, ratio, target, whether it is met.
 *
 * @param {Case} one
 */
export async function rowOf(one, rounds) {
  const sides = [one.ours, one.other?.[1]].filter((side) => side !== undefined)
  const found = sides.map(() => [])
  for (let round = 0; round < rounds; round++)
    for (const at of round % 2 === 0 ? found.keys() : [...found.keys()].reverse())
      found[at].push(await (one.unit === undefined ? milliseconds(sides[at]) : sides[at]()))
  const isCost = one.target?.startsWith('≤')
  // More is better of events a second, and worse of everything else.
  const [above, below] = one.unit?.endsWith('/s') || isCost ? [found[0], found[1]] : [found[1], found[0]]
  const ratios = one.other && above.map((value, round) => value / below[round])
  const value = one.bytes === undefined ? median(found[0]) : one.bytes / median(found[0]) / 1000
  const unit = one.bytes === undefined ? (one.unit ?? 'ms') : 'MB/s'
  return [
    one.what,
    shown(value, unit),
    one.other ? `${one.other[0]}: ${shown(median(found[1]), one.unit ?? 'ms')}` : '',
    ratios ? `${median(ratios).toFixed(2)}× (${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)})` : '',
    one.target ?? '',
    one.target ? verdict(one.target, ratios ? median(ratios) : NaN, value) : '',
  ]
}

async function milliseconds(side) {
  const isTimedWithin = typeof side !== 'function'
  const task = isTimedWithin ? () => timedWithin(side) : side
  const { p50 } = await measure(task, { min_samples: 1, min_cpu_time: LEAST, manual: isTimedWithin && 'manual' })
  return p50 / 1e6
}

async function timedWithin({ before, run, after }) {
  await before?.()
  const started = performance.now()
  await run()
  const ms = performance.now() - started
  await after?.()
  return ms * 1e6
}

function verdict(target, ratio, value) {
  const [, sign, number, unit] = /^([≥≤]) ([\d.]+)(×?)/.exec(target)
  const measured = unit === '×' ? ratio : value
  return (sign === '≥' ? measured >= Number(number) : measured <= Number(number)) ? 'yes' : '**no**'
}

function shown(value, unit) {
  if (unit === 'ms' && value < 1) return `${(value * 1000).toPrecision(3)} µs`
  return `${value < 100 ? Number(value.toPrecision(3)) : Math.round(value).toLocaleString('en-US').replaceAll(',', ' ')} ${unit}`
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** Collects twice, for objects that finalizers release. The `gc` of Bun's `--expose-gc` does not wait for the end of the collection. */
export function collectGarbage() {
  const collect = globalThis.Bun ? () => globalThis.Bun.gc(true) : globalThis.gc
  collect()
  collect()
}

/** The longest delay of the event loop while a task runs, in milliseconds. It is sampled every millisecond: a loop without any shows 1. */
export async function longestStop(task) {
  collectGarbage()
  const watcher = monitorEventLoopDelay({ resolution: 1 })
  watcher.enable()
  await sleep(8)
  await task()
  await sleep(8)
  watcher.disable()
  return watcher.max / 1e6
}

/**
 * How long the JavaScript thread has worked since `before`, in milliseconds: processor time where the kernel reports it per thread (Linux), so that
 * other load on the machine does not count; elsewhere, the time that the event loop was not waiting.
 */
export function threadWork(before = { cpu: 0, loop: undefined }) {
  if (process.platform === 'linux') {
    const cpu = Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6
    return { cpu, loop: undefined, ms: cpu - before.cpu }
  }
  // Bun has this since 1.4.
  const loop = performance.eventLoopUtilization(before.loop)
  return { cpu: 0, loop, ms: loop.active }
}
