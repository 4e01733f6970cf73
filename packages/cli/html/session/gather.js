'use strict'

// Reads all data of a session's page.

const tape = require('session-tape')
const { Conversation } = require('./conversation.js')
const { linesOf } = require('./lines.js')
const { LIMITS, PayloadLimits } = require('./limits.js')

/** @import { SessionHandle, SessionMetadata } from 'session-tape' */
/** @import { CutLimits } from '../cut.js' */
/** @import { Seal } from '../seal.js' */
/** @import { Limits } from './limits.js' */

/**
 * @typedef {{ log: string, given: string, size: number, isForeign?: boolean, seal?: Seal | null, objectAt?: import('./images.js').ObjectAt }} Source
 *   the session's file, the path that the page shows, the size of the file, whether it is another program's session, the seal of the bundle that it is
 *   in, and where the images are that it refers to
 * @typedef {Awaited<ReturnType<typeof gather>>} Model
 * @typedef {Partial<Pick<SessionHandle, 'sequenceCorrupt' | 'sessionName' | 'ancestry' | 'historyLength'>>} Replayed
 * @typedef {Replayed & Pick<SessionHandle, 'warnings' | 'checkpoints'> & { error: string | null, metadata: SessionMetadata | null }} Report
 */

/**
 * @param {Source} source
 * @param {{ signal?: AbortSignal, limits?: Partial<Limits> }} [options]
 * @returns the input of `pageOf`: plain data, deterministic for the same recording
 */
async function gather(source, { signal, limits } = {}) {
  const bounds = { ...LIMITS, ...limits }
  // Runs on other threads. A rejection is handled by the `await` below.
  const replaying = replayed(source.log, signal)
  replaying.catch(() => {})
  const chosen = await payloadLimits(source, bounds, signal)
  const conversation = new Conversation(chosen.limits, chosen.from, source.objectAt)
  for await (const [read, text] of linesOf(source.log, { changes: true, signal })) conversation.add(read, text)
  return { conversation, bounds, excerptsBefore: chosen.from, ...source, ...(await replaying) }
}

/** @type {(source: Source, bounds: Limits, signal: AbortSignal | undefined) => Promise<{ limits: CutLimits, from: number }>} */
async function payloadLimits({ log, size }, { bytes }, signal) {
  const limits = new PayloadLimits()
  // All payloads together are no longer than the file.
  if (size > bytes) for await (const { length } of tape.readSessionRecords(log, { signal })) limits.take(length)
  return limits.chosen(bytes)
}

/**
 * The library's report on the session as a whole. A session that can't be replayed is shown even so.
 *
 * @type {(log: string, signal?: AbortSignal) => Promise<Report>}
 */
async function replayed(log, signal) {
  const opened = await tape.openSession(log, undefined, signal ? { signal } : {})
  if (!opened.ok) return { error: opened.error, warnings: opened.warnings, metadata: null, checkpoints: [] }
  const { session } = opened
  const { metadata, warnings, checkpoints, sequenceCorrupt, sessionName, ancestry, historyLength } = session
  session.close()
  return { error: null, warnings, metadata, checkpoints, sequenceCorrupt, sessionName, ancestry, historyLength }
}

module.exports = { gather }
