import { existsSync, readFileSync, readdirSync, rmSync, statfsSync, writeFileSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads'
import tape from '../../index.js'
import { mountTmpfs, pause } from './child-parts.mjs'

const [job, directory, ...rest] = isMainThread ? process.argv.slice(2) : workerData

/** Takes longer to write than a process takes to end: unless something waits for the writer, its line is torn. */
const LAST = 'z'.repeat(12 << 20)
const COUNT = 5000

const note = (message) => ({ kind: 'Error', payload: { code: 'E', message, recoverable: true } })
const tell = (value) => (isMainThread ? writeSync(1, `${JSON.stringify(value)}\n`) : parentPort.postMessage(value))

function newRecorder(more = {}) {
  return new tape.RunRecorder({
    directory,
    runId: 'run-7',
    workflow: { name: 'w', version: '1', nodes: [{ id: 'a', kind: 'k' }] },
    scheduler: 'external',
    ...more,
  })
}

/** Appends, in one turn: `COUNT` events, and two large ones. */
function append(recorder) {
  for (let i = 0; i < COUNT; i++) recorder.append(note(`é${i}`))
  recorder.append(note(LAST))
  recorder.append(note(LAST))
}

function record(more) {
  const recorder = newRecorder(more)
  append(recorder)
  tell('recorded')
  return recorder
}

const waitForEver = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)

/** Mounts a file system of this size for the directory of the run. Returns the mount point. */
function mounted(size) {
  const mount = dirname(directory)
  mountTmpfs(mount, size)
  return mount
}

const jobs = {
  exit() {
    record()
    process.exit(0)
  },
  /** Ends while a snapshot is being taken: the events appended before it must still be written. */
  snapshotWithoutAwait() {
    void record().snapshot()
    process.exit(0)
  },
  snapshotAtTheEndOfMain() {
    void record().snapshot()
  },
  /** What an exit listener appends that was registered after the recorder was created. */
  lastWordsBeforeExit() {
    const recorder = newRecorder()
    process.on('exit', () => append(recorder))
    process.exit(0)
  },
  forgottenAndCollected() {
    ;(() => record())()
    globalThis.gc()
    setTimeout(() => globalThis.gc(), 1)
  },
  async awaitedFlush() {
    await record().flush()
    tell('resolved')
    process.kill(process.pid, 'SIGKILL')
  },
  async awaitedDispose() {
    await record().dispose()
    tell('resolved')
    process.kill(process.pid, 'SIGKILL')
  },
  recordThenWait() {
    record()
    waitForEver()
  },
  async terminatedWorker() {
    const worker = new Worker(fileURLToPath(import.meta.url), { workerData: ['recordThenWait', directory] })
    worker.once('message', async () => {
      await worker.terminate()
      tell('terminated')
    })
  },

  /** Acknowledges every flush on standard output, until it is killed. */
  async acknowledging(durability) {
    const recorder = newRecorder({ durability })
    let { logicalTime } = { logicalTime: 0 }
    for (let round = 0; ; round++) {
      for (let i = 0; i <= round % 37; i++)
        ({ logicalTime } = recorder.append(note('€'.repeat((logicalTime * 131) % 600))))
      await recorder.flush()
      tell(logicalTime)
      // One more event, not acknowledged: the kill may interrupt its write.
      recorder.append(note('x'.repeat(30_000)))
      if (round % 10 === 9) void recorder.snapshot()
    }
  },

  /** Prints marks for a tracer, which shows what is synced between them. */
  async traced(durability) {
    const recorder = newRecorder({ durability })
    tell('made')
    for (let i = 0; i < 64; i++) {
      recorder.append(note(`${i}`))
      void recorder.flush()
    }
    await recorder.flush()
    tell('flushed')
    recorder.putBlob('blob')
    tell('stored')
    await recorder.snapshot()
    tell('taken')
    await recorder.dispose()
  },

  /** Holds the lock of the log until it is killed. */
  async hold() {
    const recorder = newRecorder({ resume: true })
    recorder.append(note('held'))
    await recorder.flush()
    tell({ pid: process.pid })
    setInterval(() => recorder.isActive(), 1000)
  },
  tryIt(resume) {
    try {
      void newRecorder({ resume: resume === 'resume' }).dispose()
      tell({ code: null })
    } catch ({ code, owner, path }) {
      tell({ code, owner, path })
    }
  },

  /** A file system that at first has room for events, but not for snapshots, blobs and graphs. */
  async crowded() {
    const mount = mounted('1m')
    const nodes = Array.from({ length: 500 }, (_, i) => ({ id: `node-${i}-${'x'.repeat(100)}`, kind: 'k' }))
    const workflow = { name: 'w', version: '1', nodes }
    const warnings = []
    const recorder = newRecorder({ workflow, onWarning: (warning) => warnings.push(warning) })
    await recorder.flush()
    const first = await recorder.snapshot()
    const { bavail, bsize } = statfsSync(mount)
    writeFileSync(join(mount, 'filler'), Buffer.alloc(bavail * bsize - 16384))
    const tried = (work) => {
      try {
        return work()
      } catch ({ code, syscall }) {
        return { code, syscall }
      }
    }
    const blob = 'b'.repeat(65536)
    const elsewhere = join(mount, 'elsewhere')
    const other = () => newRecorder({ directory: elsewhere, workflow, onWarning: (warning) => warnings.push(warning) })
    const refused = {
      snapshot: await recorder.snapshot().catch(({ code, syscall }) => ({ code, syscall })),
      blob: tried(() => recorder.putBlob(blob)),
      recorder: tried(other),
    }
    const left = {
      snapshots: readdirSync(join(directory, 'snapshots')),
      blobs: readdirSync(join(directory, 'blobs'), { recursive: true }).filter(
        (name) => name.includes('.tmp') || name.length > 60,
      ),
      log: existsSync(join(elsewhere, 'events.cath-log')),
    }
    const { logicalTime } = recorder.append(note('fits'))
    await recorder.flush()
    const active = recorder.isActive()
    const crowded = await tape.verifyRun(directory)
    rmSync(join(mount, 'filler'))
    const second = await recorder.snapshot()
    const stored = recorder.putBlob(blob)
    recorder.append({ kind: 'BlobStored', payload: { blob: stored, size: blob.length } })
    await recorder.dispose()
    await other().dispose()
    const after = await tape.replayRun(directory, { verify: 'full', fromSnapshot: 'latest' })
    const { ok, chain, snapshots } = await tape.verifyRun(directory)
    tell({
      first: first.snapshotId,
      refused,
      left,
      logicalTime,
      active,
      crowded: crowded.ok,
      second: second.snapshotId,
      warnings,
      after: { ok: after.ok, eventCount: after.eventCount, fromSnapshot: after.fromSnapshot, warnings: after.warnings },
      verified: { ok, chain, snapshots },
      other: (await tape.verifyRun(elsewhere)).ok,
    })
  },

  /** A file system that is full, and later has room again. */
  async full() {
    const mount = mounted('256k')
    const warnings = []
    const onWarning = (warning) => warnings.push(warning)
    const recorder = newRecorder({ onWarning })
    recorder.append(note('fits'))
    await recorder.flush()
    const { bavail, bsize } = statfsSync(mount)
    writeFileSync(join(mount, 'filler'), Buffer.alloc(bavail * bsize - 8192))
    for (let i = 0; i < 10; i++) recorder.append(note(`${i}`.repeat(2000)))
    const flush = await recorder.flush().then(
      () => 'resolved',
      (error) => error.code,
    )
    for (let turns = 0; warnings.length === 0 && turns < 1000; turns++) await pause(5)
    const active = recorder.isActive()
    const log = readFileSync(join(directory, 'events.cath-log'), 'utf8')
    // The recorder still checks events, but no longer writes them.
    const later = recorder.append(note('in memory only')).logicalTime
    let refused
    try {
      recorder.append({ kind: 'NodeStarted', payload: {} })
    } catch ({ code }) {
      refused = code
    }
    const snapshot = await recorder.snapshot().then(
      () => 'resolved',
      (error) => ({ code: error.code, syscall: error.syscall }),
    )
    const grown = readFileSync(join(directory, 'events.cath-log'), 'utf8') !== log
    rmSync(join(mount, 'filler'))
    const resumed = newRecorder({ resume: true })
    const next = resumed.append(note('there is room again')).logicalTime
    await resumed.dispose()
    await recorder.dispose()
    const after = await tape.replayRun(directory, { verify: 'full' })
    tell({
      flush,
      active,
      warnings,
      log,
      later,
      refused,
      snapshot,
      grown,
      next,
      after: { ok: after.ok, eventCount: after.eventCount },
    })
  },
}

await jobs[job](...rest)
