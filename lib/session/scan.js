'use strict'

// Scans many sessions to their ends: one job of the addon, on all cores, which builds no item of any history.

const { native, hasOwn, elapsed } = require('../builtins.js')
const { messageText } = require('./assembly.js')
const { SESSION, runJob } = require('../binding/job.js')
const { openSession } = require('./open.js')

/** The minimum time between two reports of progress, in milliseconds. */
const PROGRESS_MS = 100

/**
 * Replays files strictly; with a `projectHash`, a session of another project is an error. Resolves to a report for each file, in order: metadata,
 * `historyLength`, `name` and the other members of a replay result except for the history and session events; or `{ error }`. The caller must have
 * checked `options`.
 */
async function scan(filePaths, projectHash, options) {
  const { snapshot, snapshotDir, signal, onProgress } = options
  const found = filePaths.map(() => undefined)
  const takeBatch = ({ described }) => {
    // The last batch of a failed job has no reports.
    if (described === undefined) return
    for (let at = 0; at < described.length; at++) {
      const element = described[at]
      // An element without a report was too long for a batch.
      if (element.length > 1) found[element[0]] = reportOf(element[1])
    }
  }
  const wanted = { __proto__: null, projectHash, snapshot: snapshot === true, snapshotDir }
  const begin = (onReady) => native.describeSessions(filePaths, wanted, onReady)
  const progress = new ScanProgress(onProgress, filePaths.length)
  const report = onProgress && ((done) => progress.report(done))
  await runJob(SESSION, begin, { __proto__: null, signal, onProgress: report, takeBatch })
  for (let index = 0; index < found.length; index++) {
    found[index] ??= await scanFile(filePaths[index], projectHash, { __proto__: null, snapshot, snapshotDir, signal })
  }
  progress.end()
  // `onProgress` may have aborted the signal.
  if (signal?.aborted) throw signal.reason
  return found
}

function reportOf(described) {
  if (hasOwn(described, 'error')) return { __proto__: null, error: messageText(described.error) }
  return { __proto__: null, ...described, warnings: described.warnings.map(messageText) }
}

/** Returns the report on one file, whatever its size. `options` are those of `scan`, without progress. */
async function scanFile(filePath, projectHash, options) {
  const opened = await openSession(filePath, projectHash, { __proto__: null, ...options, strict: true })
  if (!opened.ok) return { __proto__: null, error: opened.error }
  const { session } = opened
  session.close()
  const { metadata, lastSeq, sequenceCorrupt, eventCount, historyLength, checkpoints, warnings } = session
  return {
    __proto__: null,
    metadata,
    lastSeq,
    sequenceCorrupt,
    eventCount,
    historyLength,
    checkpoints,
    warnings,
    ...(hasOwn(session, 'sessionName') && { name: session.sessionName }),
    ...(hasOwn(session, 'ancestry') && { ancestry: session.ancestry }),
  }
}

/** Calls `onProgress` at intervals of at least `PROGRESS_MS`, and once at the end. */
class ScanProgress {
  #onProgress
  #files
  #reportedAt = -Infinity
  #last

  constructor(onProgress, files) {
    this.#onProgress = onProgress
    this.#files = files
  }

  /** Does not report the end, because some files may have to be scanned again. */
  report(progress) {
    this.#last = progress
    const time = elapsed()
    if (progress.files === this.#files || time - this.#reportedAt < PROGRESS_MS) return
    this.#reportedAt = time
    this.#onProgress(progress)
  }

  end() {
    this.#onProgress?.(this.#last)
  }
}

module.exports = { scan, scanFile }
