// The minimum that a replay needs on the runtime that runs this: `node --expose-gc bench/floors.mjs`, or `bun`. Each program does only one thing:
//
// - read a file;
// - or create 150 000 small items with object literals and keep them, 1 300 per turn of the event loop, their texts being slices of one string: no
//   file, no parser, no thread of ours. Its longest stop is that of the runtime's garbage collection.
//
// Reports the median and the lowest of nine times, the processor time of all threads, and the median and maximum of the stops.

import { closeSync, openSync, readSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { collectGarbage, median } from './measure.mjs'
import { REPLAY_WORKLOADS, replayFile } from './workloads.mjs'

const ROUNDS = 9
const ITEMS = 150_000
const ITEMS_A_TURN = 1300
const CHUNK = 1 << 20

async function measured(task) {
  const [times, processor, stops] = [[], [], []]
  for (let round = 0; round < ROUNDS; round++) {
    collectGarbage()
    const watcher = monitorEventLoopDelay({ resolution: 1 })
    watcher.enable()
    await sleep(20)
    const [start, before] = [performance.now(), process.cpuUsage()]
    await task()
    times.push(performance.now() - start)
    const { user, system } = process.cpuUsage(before)
    processor.push((user + system) / 1000)
    await sleep(20)
    watcher.disable()
    stops.push(watcher.max / 1e6)
  }
  return {
    ms: median(times),
    lowest: Math.min(...times),
    cpu: median(processor),
    stop: median(stops),
    worst: Math.max(...stops),
  }
}

function readAll(path) {
  const chunk = Buffer.allocUnsafe(CHUNK)
  const file = openSync(path, 'r')
  while (readSync(file, chunk, 0, CHUNK) > 0);
  closeSync(file)
}

/** Items of the same forms, in the same proportions, as those of the small sessions. Each text is a slice of a page, as a replay makes it. */
async function makeItems() {
  const items = []
  while (items.length < ITEMS) {
    pageAt = 0
    for (let n = 0; n < ITEMS_A_TURN; n++) items.push(makeItem(items.length))
    await nextTurn()
  }
  return items
}

function makeItem(seq) {
  if (seq % 9 === 2) return { speaker: 'human', blocks: [{ type: 'text', text: text(70) }] }
  const id = text(10)
  if (seq % 2 === 1) {
    const call = { type: 'tool_call', id, name: 'read_file', parameters: { path: 'src/history.ts', line: seq % 500 } }
    return { speaker: 'ai', blocks: [{ type: 'text', text: text(44) }, call] }
  }
  return {
    speaker: 'tool',
    blocks: [{ type: 'tool_response', callId: id, toolName: 'read_file', result: { exitCode: 0, stdout: text(45) } }],
  }
}

// By way of a buffer, so that it is one string and not many that are still to be joined.
const PAGE = Buffer.from('history the this be history message'.repeat(8000)).toString('latin1')
let pageAt = 0

function text(length) {
  pageAt += length
  return PAGE.substring(pageAt - length, pageAt)
}

function print(name, { ms, lowest, cpu, stop, worst }) {
  const [wall, low, all, median, most] = [ms, lowest, cpu, stop, worst].map((value) => value.toFixed(1).padStart(6))
  console.log(`${name.padEnd(28)}${wall} ms, lowest ${low}, all threads ${all}, stops ${median} / ${most}`)
}

console.log(process.versions.bun ? `Bun ${process.versions.bun}` : `Node ${process.version}`)
for (const workload of REPLAY_WORKLOADS.filter(
  ({ alphabet, name }) => alphabet === 'wide' && !name.startsWith('tiny'),
)) {
  const { filePath } = await replayFile(workload, 1)
  print(`reads ${workload.name}`, await measured(() => readAll(filePath)))
}
print(`makes ${ITEMS} small items`, await measured(makeItems))
