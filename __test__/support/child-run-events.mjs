// Reads the events of a run slowly, then fast. Prints how many bytes were read in each case, the number of events, and how much the heap grew.
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { readRunEvents } from '../../index.js'

/** Bytes that this process has read from files so far. */
const bytesRead = () => Number(/rchar: (\d+)/.exec(readFileSync('/proc/self/io', 'latin1'))[1])

const directory = process.argv[2]
let before = bytesRead()
const iterator = readRunEvents(directory)
await iterator.next()
await sleep(300)
const slow = bytesRead() - before
await iterator.return()

globalThis.gc()
before = bytesRead()
const heap = process.memoryUsage().heapUsed
let events = 0
let heapGrowth = 0
for await (const _ of readRunEvents(directory)) {
  events += 1
  if (events % 2000 === 0) {
    globalThis.gc()
    heapGrowth = Math.max(heapGrowth, process.memoryUsage().heapUsed - heap)
  }
}
console.log(JSON.stringify({ slow, fast: bytesRead() - before, events, heapGrowth }))
