/**
 * A process that records and then ends in one way or another, without waiting for its recorder.
 * Arguments: ending, directory, number of records after the first content.
 */
import { writeSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import tape from '../../index.js'
import { configOf, said } from './child-parts.mjs'

const [ending, chatsDir, count = '5000'] = process.argv.slice(2)

function newRecorder(more = {}) {
  return new tape.SessionRecordingService(configOf(chatsDir, more))
}

/** Takes longer to write than a process takes to end: unless something waits for the writer, its line is torn. */
const LAST = 'z'.repeat(24 << 20)

/** Records, in one turn: the session's start, a content, `count` notes, and a last large one. */
function record(more, recorder = newRecorder(more)) {
  recorder.recordContent(said('first'))
  for (let i = 0; i < Number(count); i++) recorder.enqueue('note', { i, text: `é${i}` })
  recorder.enqueue('last', LAST)
  // Synchronous and unbuffered, so that it is printed before a kill.
  writeSync(1, `${recorder.getFilePath()}\n`)
  return recorder
}

/** Records all of it in an exit listener that is newer than the library's. */
function lastWords(then = () => {}) {
  const recorder = newRecorder()
  process.on('exit', () => {
    record({}, recorder)
    then()
  })
}

const endings = {
  exit() {
    record()
    process.exit(0)
  },

  endOfMain() {
    record()
  },

  uncaughtException() {
    record()
    throw new Error('uncaught on purpose')
  },

  rejectedPromise() {
    record()
    Promise.reject(new Error('rejected on purpose'))
  },

  disposeWithoutAwait() {
    record().dispose()
    process.exit(0)
  },

  disposeAtTheEndOfMain() {
    record().dispose()
  },

  exitInAHandlerOfSigterm() {
    process.on('SIGTERM', () => {
      record()
      process.exit(0)
    })
    process.kill(process.pid, 'SIGTERM')
    setInterval(() => {}, 1000)
  },

  lastWords() {
    const recorder = newRecorder()
    recorder.recordContent(said('first'))
    writeSync(1, `${recorder.getFilePath()}\n`)
    process.on('exit', () => {
      for (let i = 0; i < Number(count); i++) recorder.enqueue('note', { i, text: `é${i}` })
      recorder.enqueue('last', LAST)
    })
  },

  /** What an exit listener records that was registered after the recorder was created. */
  lastWordsBeforeExit() {
    lastWords()
    process.exit(0)
  },

  lastWordsAfterAnException() {
    lastWords()
    throw new Error('uncaught on purpose')
  },

  lastWordsAndAnotherExit() {
    lastWords(() => process.exit(0))
    process.exit(0)
  },

  /** The listener is older than the library's, which never runs. */
  lastWordsOfAnOlderListener() {
    process.on('exit', () => {
      record({}, recorder)
      process.exit(0)
    })
    const recorder = newRecorder()
    process.exit(0)
  },

  firstWordsInAnExitListener() {
    process.on('exit', () => void record())
    process.exit(0)
  },

  warnedInAnExitListener() {
    const recorder = newRecorder({ onWarning: (warning) => writeSync(1, `${JSON.stringify(warning)}\n`) })
    recorder.recordContent(said('first'))
    process.on('exit', () => {
      rmSync(chatsDir, { recursive: true })
      recorder.recordContent(said('lost'))
    })
    process.exit(0)
  },

  execve() {
    record()
    process.execve(process.execPath, [process.execPath, '-e', ''], process.env)
  },

  forgottenAndCollected() {
    ;(() => record())()
    globalThis.gc()
    setTimeout(() => globalThis.gc(), 1)
  },

  /** Nothing else keeps this process alive: the flush must still resolve. */
  async awaitedFlush() {
    await record().flush()
    writeSync(1, 'resolved\n')
    process.kill(process.pid, 'SIGKILL')
  },

  async awaitedDispose() {
    await record().dispose()
    writeSync(1, 'resolved\n')
    process.kill(process.pid, 'SIGKILL')
  },

  /** Acknowledges every flush on standard output, until it is killed. */
  async acknowledging() {
    const recorder = newRecorder({ durability: count === 'fsync' ? 'fsync' : 'os' })
    recorder.recordContent(said('first'))
    writeSync(1, `${recorder.getFilePath()}\n`)
    let seq = 2
    for (let round = 0; ; round++) {
      for (let i = 0; i <= round % 37; i++, seq++)
        recorder.enqueue('note', { seq: seq + 1, text: '€'.repeat((seq * 131) % 600) })
      await recorder.flush()
      writeSync(1, `${seq}\n`)
      // One more record, not acknowledged: the kill may interrupt its write.
      recorder.enqueue('note', { seq: ++seq, text: 'x'.repeat(30_000) })
    }
  },

  /** Blocks the JavaScript thread right after the last record: only the writer can still write. */
  busyForEver() {
    record()
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  },

  terminatedWorker() {
    const worker = new Worker(fileURLToPath(new URL('child-worker.mjs', import.meta.url)), {
      workerData: { job: 'recordThenWait', chatsDir, count: Number(count), lastBytes: LAST.length },
    })
    worker.once('message', async (path) => {
      writeSync(1, `${path}\n`)
      await worker.terminate()
      writeSync(1, 'terminated\n')
    })
  },

  exitWithARecordingWorker() {
    const worker = new Worker(fileURLToPath(new URL('child-worker.mjs', import.meta.url)), {
      workerData: { job: 'recordThenWait', chatsDir, count: Number(count), lastBytes: LAST.length },
    })
    worker.once('message', (path) => {
      writeSync(1, `${path}\n`)
      process.exit(0)
    })
  },

  endOfWorker() {
    const worker = new Worker(fileURLToPath(new URL('child-worker.mjs', import.meta.url)), {
      workerData: { job: 'recordAndEnd', chatsDir, count: Number(count), lastBytes: LAST.length },
    })
    worker.once('message', (path) => writeSync(1, `${path}\n`))
  },

  exitInAWorker() {
    const worker = new Worker(fileURLToPath(new URL('child-worker.mjs', import.meta.url)), {
      workerData: { job: 'recordAndExit', chatsDir, count: Number(count), lastBytes: LAST.length },
    })
    worker.once('message', (path) => writeSync(1, `${path}\n`))
  },

  idle() {
    newRecorder({ onWarning: () => {} })
    newRecorder().recordSessionEvent('info', 'never materialised')
    const used = newRecorder()
    used.recordContent(said('x'))
    writeSync(1, `${used.getFilePath()}\n`)
  },

  async warned() {
    const recorder = newRecorder({ onWarning: (warning) => writeSync(1, `${JSON.stringify(warning)}\n`) })
    recorder.recordContent(said('first'))
    await recorder.flush()
    rmSync(chatsDir, { recursive: true })
    recorder.recordContent(said('lost'))
    // The end of main: the writer has not noticed yet that the file is gone.
  },

  warnedAtOnce() {
    const recorder = newRecorder({ onWarning: (warning) => writeSync(1, `${JSON.stringify(warning)}\n`) })
    rmSync(chatsDir, { recursive: true, force: true })
    recorder.initializeForResume(`${chatsDir}/gone.jsonl`, 3)
    recorder.recordContent(said('lost'))
  },
}

await endings[ending]()
