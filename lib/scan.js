'use strict'

// Scanning many sessions to their ends: one job of the addon, on all cores, that builds no item of any history.

const { native, hasOwn, elapsed } = require('./native.js')
const { messageText } = require('./assembly.js')
const { SESSION, runJob } = require('./job.js')
const { openSession } = require('./session.js')

/** Progress is reported at most this often. */
const PROGRESS_MS = 100

/**
 * Replays files strictly, in the project if one is given. Resolves to what each replay reports, in the order of the files: the members of a
 * successful result but its history, and `historyLength` and `name`; or `{ error }`. `options` are checked already.
 */
async function scan(filePaths, projectHash, options) {
  const { snapshot, snapshotDir, signal, onProgress } = options
  const found = filePaths.map(() => undefined)
  const takeBatch = ({ described }) => {
    // The end of a job that failed has none.
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
  // `onProgress` may have aborted it.
  if (signal?.aborted) throw signal.reason
  return found
}

function reportOf(described) {
  if (hasOwn(described, 'error')) return { __proto__: null, error: messageText(described.error) }
  return { __proto__: null, ...described, warnings: described.warnings.map(messageText) }
}

/** The report on one file, however much it has to say. `options` as for `scan`, without progress. */
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

/** Calls `onProgress` no more often than it is to be called, and once with the end. */
class ScanProgress {
  #onProgress
  #files
  #reportedAt = -Infinity
  #last

  constructor(onProgress, files) {
    this.#onProgress = onProgress
    this.#files = files
  }

  /** The end is not reported here: some files may have to be scanned once more. */
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
