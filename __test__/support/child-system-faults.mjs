/**
 * Records a session while the system fails (`system-faults.c`). Prints one JSON report: the texts whose flush resolved while the recorder was
 * active, the warnings, and how each flush ended. Argument: the directory.
 */
import tape from '../../index.js'
import { configOf } from './child-parts.mjs'

const warnings = []
const unhandled = []
process.on('unhandledRejection', (reason) => unhandled.push(String(reason)))
const recorder = new tape.SessionRecordingService(
  configOf(process.argv[2], {
    durability: 'fsync',
    exclusive: true,
    onWarning: (warning) => warnings.push(warning.code),
  }),
)
const flushed = []
const acknowledged = []
for (let batch = 0; batch < 4; batch++) {
  const texts = Array.from({ length: 1 + batch * 3 }, (_, at) => `${batch}.${at} ${'x'.repeat(at * 100)}`)
  for (const text of texts) recorder.recordContent({ speaker: 'ai', blocks: [{ type: 'text', text }] })
  flushed.push(
    await recorder.flush().then(
      () => 'resolved',
      (error) => error.code,
    ),
  )
  if (flushed.at(-1) === 'resolved' && recorder.isActive()) acknowledged.push(...texts)
}
const isActive = recorder.isActive()
await recorder.dispose()
await new Promise((resolve) => setTimeout(resolve, 5))
console.log(JSON.stringify({ acknowledged, warnings, flushed, isActive, unhandled }))
