'use strict'

// Opens a compared recording as files.

const tape = require('session-tape')
const { recordingAt, sizeOf, withFiles } = require('../source.js')

/** @import { Reader } from '../source.js' */
/** @import { VerifyBundleOptions } from 'session-tape' */
/**
 * `root`: the run's directory, or the session's file; `bytes`: the size of the log.
 *
 * @typedef {{ kind: 'run' | 'session', root: string, bytes: number }} Compared
 */

/**
 * Calls `use` with the recording at a path. An archive is unpacked to a temporary directory during the call.
 *
 * @param {string} given
 * @param {AbortSignal | undefined} signal
 * @param {(source: Compared) => Promise<T>} use
 * @returns {Promise<T>}
 * @template T
 */
async function withSource(given, signal, use) {
  // Signatures are not checked: the diff has already verified the bundle.
  /** @type {VerifyBundleOptions} */
  const options = { signature: 'ignore', ...(signal && { signal }) }
  /** @type {Reader} */
  const context = { tape, during: (task, work) => work(options) }
  const found = await recordingAt(context, given)
  return withFiles(context, found, async ({ kind, at, log }) => {
    return use({ kind, root: kind === 'run' ? at : log, bytes: await sizeOf(log) })
  })
}

module.exports = { withSource }
