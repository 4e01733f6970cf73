import { readdirSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { Worker, isMainThread, workerData } from 'node:worker_threads'
import tape from '../../index.js'
import { mountTmpfs } from './child-parts.mjs'

const { exportBundle, importBundle, verifyBundle, replayRun, replaySession, readRunEvents, openSession } = tape
const [scenario, ...rest] = isMainThread ? process.argv.slice(2) : workerData

const settled = (promise) =>
  promise.then(
    (value) => ({ value }),
    ({ name, code, message, path, syscall, errno }) => ({ error: { name, code, message, path, syscall, errno } }),
  )
const report = (value) => console.log(JSON.stringify(value))

const scenarios = {
  /** Exports with the user, working directory and time zone of this process, and optionally another umask. */
  async export(source, destination, umask) {
    if (umask) process.umask(Number.parseInt(umask, 8))
    report(await settled(exportBundle(source, destination)))
  },

  /** Exports to, and imports to, a file system that is too small. */
  async full(source, directory, size) {
    mountTmpfs(directory, size)
    const { bavail } = statfsSync(directory)
    const reports = []
    for (const name of ['b.cath-bundle', 'b.cath-bundle.tar.zst']) {
      const exported = await settled(exportBundle(source, join(directory, name), { level: 1 }))
      reports.push({ ...exported, left: readdirSync(directory), isFree: statfsSync(directory).bavail === bavail })
    }
    report(reports)
  },

  /** Imports to a file system that is too small, and replays with the temporary directory on it. */
  async fullImport(bundle, directory, size) {
    mountTmpfs(directory, size)
    const { bavail } = statfsSync(directory)
    process.env.TMPDIR = directory
    const imported = await settled(importBundle(bundle, join(directory, 'imported')))
    const replay = await replayRun(bundle)
    report({ imported, replay, left: readdirSync(directory), isFree: statfsSync(directory).bavail === bavail })
  },

  /** Exports, and prints when it has begun: from then on the parent may kill it. */
  async exportSlowly(source, destination) {
    const exporting = settled(exportBundle(source, destination, { level: 19 }))
    console.log('begun')
    report(await exporting)
  },

  /** Ends in the middle of an export, as soon as there is something on the disk. */
  async exitDuringExport(source, destination) {
    const directory = join(destination, '..')
    void settled(exportBundle(source, destination, { level: 19 }))
    setInterval(() => {
      if (readdirSync(directory).length === 0) return
      report('exiting')
      process.exit(0)
    }, 1)
  },

  async exitDuringImport(bundle, directory) {
    void settled(importBundle(bundle, join(directory, 'imported')))
    setInterval(() => {
      if (readdirSync(directory).length === 0) return
      report('exiting')
      process.exit(0)
    }, 1)
  },

  /** Ends while an archive is unpacked for a reader. */
  async exitDuringReplay(bundle, temporary) {
    process.env.TMPDIR = temporary
    void settled(replayRun(bundle))
    setInterval(() => {
      if (readdirSync(temporary).length === 0) return
      report('exiting')
      process.exit(0)
    }, 1)
  },

  /** Ends while an archive is being read. */
  async exitWhileReading(runBundle, sessionBundle, temporary) {
    process.env.TMPDIR = temporary
    globalThis.held = [readRunEvents(runBundle), await openSession(sessionBundle)]
    await globalThis.held[0].next()
    report({ unpacked: readdirSync(temporary).length })
    process.exit(0)
  },

  /** Ends in the turn of the event loop in which it starts to read. */
  async exitAtOnce(bundle, temporary) {
    process.env.TMPDIR = temporary
    void replayRun(bundle)
    // Nothing may be unpacked before the event loop runs again: it would not be removed.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100)
    report({ unpacked: readdirSync(temporary).length })
    process.exit(0)
  },

  /** Ends one or two turns of the event loop later. */
  async exitSoon(bundle, temporary) {
    process.env.TMPDIR = temporary
    void replayRun(bundle)
    setImmediate(() => {
      report({ unpacked: 0 })
      process.exit(0)
    })
  },

  /** Number of listeners for the end of the process that the replay of a session adds. */
  async listeners(path) {
    const before = process.listenerCount('exit')
    const { ok } = await replaySession(path)
    report({ ok, added: process.listenerCount('exit') - before })
  },

  /** Ends by reaching the end of main while archives are being read. */
  async endWhileReading(runBundle, sessionBundle, temporary) {
    process.env.TMPDIR = temporary
    globalThis.held = [readRunEvents(runBundle), await openSession(sessionBundle)]
    await globalThis.held[0].next()
    report({ unpacked: readdirSync(temporary).length })
  },

  /** A worker that is terminated while it reads; the process goes on. */
  async terminatedWorker(runBundle, sessionBundle, temporary) {
    process.env.TMPDIR = temporary
    const worker = new Worker(new URL(import.meta.url), {
      workerData: ['readAndWait', runBundle, sessionBundle],
      stdout: true,
    })
    await new Promise((resolve) => worker.stdout.once('data', resolve))
    const unpacked = readdirSync(temporary).length
    await worker.terminate()
    report({ unpacked, left: readdirSync(temporary).length })
  },

  async readAndWait(runBundle, sessionBundle) {
    globalThis.held = [readRunEvents(runBundle), await openSession(sessionBundle)]
    await globalThis.held[0].next()
    process.stdout.write('reading\n')
    setInterval(() => {}, 1000)
  },

  /** Drops every reference to an open session: the garbage collector must remove what was unpacked. */
  async forgotten(sessionBundle, temporary) {
    process.env.TMPDIR = temporary
    await (async () => {
      await openSession(sessionBundle)
    })()
    const unpacked = readdirSync(temporary).length
    for (let turns = 0; turns < 200 && readdirSync(temporary).length > 0; turns++) {
      globalThis.gc()
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    report({ unpacked, left: readdirSync(temporary).length })
  },

  /** Runs as a user without permission to read a file, list a directory, or write next to the destination. */
  async unprivileged(unreadable, closed, readonly, good) {
    report({
      unreadable: await settled(verifyBundle(unreadable)),
      unreadableImport: await settled(importBundle(unreadable, join(good, '..', 'never'))),
      unreadableReplay: await replayRun(unreadable),
      closed: await settled(verifyBundle(closed)),
      exported: await settled(exportBundle(good, join(readonly, 'b'))),
      imported: await settled(importBundle(good, join(readonly, 'b'))),
      archived: await settled(exportBundle(good, join(readonly, 'b.tar.zst'))),
      left: readdirSync(readonly),
      good: await settled(verifyBundle(good)),
    })
  },
}

await scenarios[scenario](...rest)
