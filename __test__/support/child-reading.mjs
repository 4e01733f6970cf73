/**
 * Reads a source that may never end. Arguments: the name of a function of the API, the time in milliseconds after which its signal is aborted
 * (or `never`), and its arguments as JSON, one of which may be `"signal"`. Prints the outcome of the call, and how much the memory of the
 * process has grown once nothing is read any more. The process has to end by itself.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import * as tape from '../../index.js'

const [name, abortAfter, json] = process.argv.slice(2)
const before = process.memoryUsage.rss()
const controller = new AbortController()
if (abortAfter !== 'never') setTimeout(() => controller.abort(new Error('as wanted')), Number(abortAfter))

/** The arguments, with the signal in place of its name. */
const given = JSON.parse(json, (key, value) => (value === 'signal' ? controller.signal : value))

const calls = {
  async readRunEvents(...args) {
    const events = []
    for await (const event of tape.readRunEvents(...args)) events.push(event.kind)
    return events
  },
  async readSessionRecords(...args) {
    const lines = []
    for await (const { status, length, inHistory } of tape.readSessionRecords(...args))
      lines.push([status, length, inHistory ?? null])
    return lines
  },
  async openSession(...args) {
    const { history, ...rest } = await tape.openSession(...args)
    return rest
  },
  async resumeSession(request) {
    const { recording, lockHandle, ...rest } = await tape.resumeSession(request)
    await recording?.dispose()
    return rest
  },
  async RunRecorder(config) {
    const warnings = []
    const recorder = new tape.default.RunRecorder({ ...config, onWarning: ({ code }) => warnings.push(code) })
    await recorder.dispose()
    return warnings
  },
}

async function settled() {
  try {
    return { resolved: (await (calls[name] ?? tape[name])(...given)) ?? null }
  } catch (error) {
    return { rejected: { message: error.message, code: error.code } }
  }
}

const bytesRead = () => Number(/rchar: (\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))[1])

/**
 * Resolves when nothing has been read and memory has been stable for a while; never, if reading goes on. A thread that has just read its last
 * byte may still be moving hundreds of megabytes into a larger buffer before it notices that they are not wanted.
 */
async function quiet() {
  if (process.platform !== 'linux') return
  const look = () => ({ read: bytesRead(), memory: process.memoryUsage.rss() })
  let last = look()
  for (let still = 0; still < 3; ) {
    await pause(100)
    const now = look()
    const same = now.read - last.read <= 65_536 && Math.abs(now.memory - last.memory) <= 1 << 20
    still = same ? still + 1 : 0
    last = now
  }
}

const result = await settled()
await quiet()
console.log(JSON.stringify({ ...result, grown: process.memoryUsage.rss() - before }))
