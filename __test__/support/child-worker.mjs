/** A worker thread that records or finds sessions. `workerData`: job, and what the job needs. */
import { parentPort, workerData } from 'node:worker_threads'
import tape from '../../index.js'

const { job, chatsDir, count, id = 'worker', lastBytes = 0 } = workerData

function record() {
  const recorder = new tape.SessionRecordingService({
    sessionId: id,
    projectHash: 'a3f5c1',
    chatsDir,
    workspaceDirs: [],
    provider: 'p',
    model: 'm',
  })
  recorder.recordContent({ speaker: 'ai', blocks: [{ type: 'text', text: 'first' }] })
  for (let i = 0; i < count; i++) recorder.enqueue('note', { i, text: `é${i}` })
  if (lastBytes > 0) recorder.enqueue('last', 'z'.repeat(lastBytes))
  parentPort.postMessage(recorder.getFilePath())
  return recorder
}

const jobs = {
  /** Blocks its thread after recording, so that the next thing that can happen is the end of the thread. */
  recordThenWait() {
    record()
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  },
  recordAndEnd() {
    record()
  },
  recordAndExit() {
    record()
    // The message to the parent is delivered in the next turn.
    setImmediate(() => process.exit(0))
  },
  async recordAndFlush() {
    await record().flush()
    parentPort.postMessage('flushed')
  },
  async describe() {
    parentPort.postMessage(await tape.describeSessions(chatsDir))
  },
  /** Announces the call before it can have completed. */
  async describeAndWait() {
    const describing = tape.describeSessions(chatsDir)
    parentPort.postMessage('begun')
    await describing
  },
  load() {},
}

await jobs[job]()
