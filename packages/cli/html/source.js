'use strict'

// Opens a compared recording as files.

const tape = require('session-tape')
const { recordingAt, sizeOf, withFiles } = require('../source.js')

/**
 * Calls `use` with the recording at a path. An archive is unpacked to a temporary directory during the call.
 *
 * @param {(source: { kind: 'run' | 'session', root: string, bytes: number }) => Promise<T>} use `root`: the run's directory, or the session's
 *   file. `bytes`: the size of the log
 * @returns {Promise<T>}
 * @template T
 */
async function withSource(given, signal, use) {
  // Signatures are not checked: the diff has already verified the bundle.
  const options = { signature: 'ignore', ...(signal && { signal }) }
  const context = { tape, during: (task, work) => work(options) }
  const found = await recordingAt(context, given)
  return withFiles(context, found, async ({ kind, at, log }) => {
    return use({ kind, root: kind === 'run' ? at : log, bytes: await sizeOf(log) })
  })
}

module.exports = { withSource }
