/**
 * Uses the package while the system refuses threads. Arguments: the directory to work in, and whether a thread of the package exists already (`warm`)
 * or not (`cold`). Prints how each call has ended. The process has to end by itself.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { join } from 'node:path'
import tape from '../../index.js'

const [directory, temperature] = process.argv.slice(2)
const large = join(directory, 'large.jsonl')

const outcomes = {}
async function noted(name, promise) {
  const settled = (value) => (outcomes[name] = value)
  await promise.then(
    (value) => settled(value?.ok === false ? `not ok: ${value.error.code ?? value.error}` : 'resolved'),
    ({ code, message, syscall }) => settled({ code, message, syscall }),
  )
}

const workflow = { name: 'w', version: '1', nodes: [{ id: 'a', kind: 'task' }] }
const warnings = []
const onWarning = ({ code }) => warnings.push(code)

// Node starts its own threads now. It would abort later.
await Promise.all(Array.from({ length: 8 }, () => fs.promises.stat(directory)))
if (temperature === 'warm') await tape.replaySession(large)
const recorder = new tape.SessionRecordingService({
  sessionId: 's',
  projectHash: 'h',
  chatsDir: join(directory, temperature),
  workspaceDirs: [],
  provider: 'p',
  model: 'm',
  onWarning,
})
const run = new tape.RunRecorder({
  directory: join(directory, `run-${temperature}`),
  runId: 'r',
  workflow,
  scheduler: 'external',
  onWarning,
})

// Started now, because no process can be started under the limit.
const raise = spawn('sh', ['-c', 'read _; exec prlimit --pid "$0" --nproc=4000:', String(process.pid)], {
  stdio: ['pipe', 'inherit', 'inherit'],
})
execFileSync('prlimit', ['--pid', String(process.pid), '--nproc=1:'])
recorder.recordContent({ speaker: 'human', blocks: [{ type: 'text', text: 'kept' }] })
await noted('flush', recorder.flush())
run.append({ kind: 'RunStarted', payload: { workers: [] } })
await noted('snapshot', run.snapshot())
await noted('flush of a run', run.flush())
await noted('replaySession', tape.replaySession(large))
await noted('describeSessions', tape.describeSessions(directory))
await noted('readSessionPreview', tape.readSessionPreview(large))
await noted('replayRun', tape.replayRun(join(directory, `run-${temperature}`)))
await noted('diff', tape.diff(large, large, { full: true }))
await noted('exportBundle', tape.exportBundle(large, join(directory, `${temperature}.bundle.tar.zst`)))
await noted('many at once', Promise.all(Array.from({ length: 20 }, () => tape.replaySession(large))))

await noted('dispose of a run', run.dispose())
await noted('dispose', recorder.dispose())

raise.stdin.end('\n')
await once(raise, 'exit')
await noted('afterwards', tape.replaySession(large))
const lines = fs.readFileSync(
  fs.readdirSync(join(directory, temperature)).map((name) => join(directory, temperature, name))[0],
  'utf8',
)
const { length } = (await tape.replaySession(large)).history
console.log(JSON.stringify({ outcomes, warnings, recorded: lines.includes('kept'), length }))
