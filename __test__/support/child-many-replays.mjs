/**
 * Records a session next to a file, verifies a run, and replays the file many times at once. Prints the lengths of the histories, and the number of threads before the
 * replays and at most.
 */
import { readdirSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import tape from '../../index.js'
import { configOf } from './child-parts.mjs'

const [path, count, run] = process.argv.slice(2)
const threads = () => readdirSync('/proc/self/task').length

const recorder = new tape.SessionRecordingService(configOf(dirname(path)))
recorder.recordContent({ speaker: 'human', blocks: [] })
await recorder.dispose()
const { ok } = await tape.verifyRun(run)

// Node starts its own threads first.
await Promise.all(Array.from({ length: 8 }, () => stat(path)))
const before = threads()
let most = before
const timer = setInterval(() => (most = Math.max(most, threads())), 1)
const replays = Array.from({ length: Number(count) }, () =>
  tape.replaySession(path).then(({ history }) => history.length),
)
most = Math.max(most, threads())
const lengths = await Promise.all(replays)
clearInterval(timer)
console.log(JSON.stringify({ ok, before, most, lengths }))
