// Reads the records of a session. Arguments: its path, and what to do. Prints a report.
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { readSessionRecords } from '../../index.js'

const [path, task] = process.argv.slice(2)

/** Bytes that this process has read from files so far. */
const bytesRead = () => Number(/rchar: (\d+)/.exec(readFileSync('/proc/self/io', 'latin1'))[1])

const tasks = {
  /** Reads all lines. Reports their number and how much the memory of the process grew. */
  async all(options) {
    for await (const _ of readSessionRecords(path, { ...options, types: ['none'] }));
    globalThis.gc()
    const { rss } = process.memoryUsage()
    let [lines, growth] = [0, 0]
    for await (const { status } of readSessionRecords(path, options)) {
      if (status === 'ok') lines += 1
      if (lines % 5000 === 0) growth = Math.max(growth, process.memoryUsage().rss - rss)
    }
    return { lines, growth }
  },
  history: () => tasks.all({ history: true }),
  changes: () => tasks.all({ changes: true }),
  /** Takes one line, with plenty of time to read ahead. Reports how many bytes were read. */
  async slow() {
    const before = bytesRead()
    const iterator = readSessionRecords(path)
    await iterator.next()
    await sleep(300)
    const read = bytesRead() - before
    await iterator.return()
    return { read }
  },
  /** Takes one line, and abandons the iterator. */
  async left() {
    const { value } = await readSessionRecords(path).next()
    return value.line
  },
}
console.log(JSON.stringify(await tasks[task]()))
