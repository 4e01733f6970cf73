/**
 * Another process or thread that wants exclusive use of a session file. Arguments: job, session file, and the
 * arguments of the job.
 */
import { appendFileSync } from 'node:fs'
import { parentPort } from 'node:worker_threads'
import tape from '../../index.js'
import { configOf, said } from './child-parts.mjs'

const [job, path, ...rest] = process.argv.slice(2)
const report = (value) => (parentPort ? parentPort.postMessage(value) : console.log(JSON.stringify(value)))
const turn = () => new Promise((resolve) => setImmediate(resolve))

function exclusiveRecorder() {
  const warnings = []
  const recorder = new tape.SessionRecordingService(
    configOf('/nowhere', { exclusive: true, onWarning: (warning) => warnings.push(warning) }),
  )
  recorder.initializeForResume(path, 1)
  return { recorder, warnings }
}

async function hold() {
  const { recorder } = exclusiveRecorder()
  recorder.recordContent(said('held'))
  await recorder.flush()
  report({ pid: process.pid, active: recorder.isActive() })
  return recorder
}

const jobs = {
  /** Holds the file exclusively until it is killed. */
  async holdForever() {
    const recorder = await hold()
    setInterval(() => recorder.isActive(), 1000)
  },
  /** Holds the file without recording anything. */
  async claimForever() {
    const { recorder } = exclusiveRecorder()
    report({ active: recorder.isActive() })
    setInterval(() => recorder.isActive(), 1000)
  },
  /** Holds the file and records all the time. */
  async writeForever() {
    const recorder = await hold()
    setInterval(() => recorder.recordContent(said('x'.repeat(50_000))), 0)
  },
  /** Never releases the file; nothing else keeps the process alive. */
  async holdAndEnd() {
    globalThis.held = await hold()
  },
  async holdAndExit() {
    globalThis.held = await hold()
    setImmediate(() => process.exit(0))
  },
  async tryIt() {
    const { recorder, warnings } = exclusiveRecorder()
    const active = recorder.isActive()
    recorder.recordContent(said('tried'))
    await recorder.flush()
    await turn()
    report({ active, warnings })
    await recorder.dispose()
  },
  /** Acquires and releases the file repeatedly, and notes both in a log that all contenders share. */
  async contend() {
    const [log, times] = rest
    for (let had = 0; had < Number(times); await turn()) {
      const { recorder } = exclusiveRecorder()
      if (recorder.isActive()) {
        appendFileSync(log, `enter ${process.pid}\n`)
        recorder.recordContent(said(`${process.pid}-${had++}`))
        await turn()
        appendFileSync(log, `leave ${process.pid}\n`)
      }
      await recorder.dispose()
    }
  },
}

await jobs[job]()
