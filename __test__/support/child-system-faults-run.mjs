/**
 * Records a run while the system fails (`system-faults.c`). Prints one JSON report: the number of events, and the blobs
 * and snapshots, that the recorder acknowledged, its warnings, and the errors that it threw. Argument: the directory of the run.
 */
import tape from '../../index.js'

const report = { events: 0, blobs: [], snapshots: [], warnings: [], thrown: [], isActive: false }
const caught = (error) => void report.thrown.push(error.code ?? String(error))
const note = (message) => ({ kind: 'Error', payload: { code: 'E', message, recoverable: true } })

async function record() {
  const recorder = new tape.RunRecorder({
    directory: process.argv[2],
    runId: 'faults',
    workflow: { name: 'w', version: '1', nodes: [{ id: 'a', kind: 'k' }] },
    scheduler: 'external',
    durability: 'fsync',
    onWarning: ({ code }) => report.warnings.push(code),
  })
  for (let batch = 0; batch < 3; batch++) {
    let last = 0
    for (let event = 0; event <= batch; event++) last = recorder.append(note('x'.repeat(event * 300))).logicalTime
    try {
      report.blobs.push(recorder.putBlob(`the output of ${batch}`))
    } catch (error) {
      caught(error)
    }
    const isFlushed = await recorder.flush().then(() => true, caught)
    if (isFlushed && recorder.isActive()) report.events = last + 1
    const snapshot = await recorder.snapshot().catch(caught)
    if (snapshot !== undefined) report.snapshots.push(snapshot.snapshotId)
  }
  report.isActive = recorder.isActive()
  await recorder.dispose()
  // Callbacks run in a later turn of the event loop.
  await new Promise((resolve) => setTimeout(resolve, 5))
}

await record().catch(caught)
console.log(JSON.stringify(report))
