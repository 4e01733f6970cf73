'use strict'

// Reads all data of a session's page.

const tape = require('../../../index.js')
const { lineBatches } = require('../../session/lines.js')
const { Conversation } = require('./conversation.js')
const { LIMITS, PayloadLimits } = require('./limits.js')

/**
 * @param {{ log: string, given: string, size: number }} source
 * @param {{ signal?: AbortSignal, limits?: object, lines?: number }} [options] `lines`: the number of lines to read; all by default
 * @returns the input of `pageOf`: plain data, deterministic for the same recording
 */
async function gather(source, { signal, limits, lines: count = Infinity } = {}) {
  const bounds = { ...LIMITS, ...limits }
  // Runs on other threads. A rejection is handled by the `await` below.
  const replaying = replayed(source.log, signal)
  replaying.catch(() => {})
  const chosen = await payloadLimits(source.log, bounds, signal)
  const conversation = new Conversation(chosen.limits, chosen.from)
  for await (const { lines, tooLong } of lineBatches(source.log)) {
    signal?.throwIfAborted()
    let isMissing = tooLong
    // A line that is too long is an empty string.
    for (const line of lines) if (conversation.lines < count) conversation.add(line, line === '' && isMissing-- > 0)
  }
  return { conversation, bounds, excerptsBefore: chosen.from, ...source, ...(await replaying) }
}

async function payloadLimits(log, { bytes }, signal) {
  const limits = new PayloadLimits()
  for await (const { lines } of lineBatches(log)) {
    signal?.throwIfAborted()
    for (const line of lines) limits.take(line.length)
  }
  return limits.chosen(bytes)
}

/** The library's report on the session as a whole. A session that can't be replayed is shown even so. */
async function replayed(log, signal) {
  const opened = await tape.openSession(log, undefined, signal ? { signal } : {})
  if (!opened.ok) return { error: opened.error, warnings: opened.warnings, metadata: null, checkpoints: [] }
  const { session } = opened
  const { metadata, warnings, checkpoints, sequenceCorrupt, sessionName, ancestry, historyLength } = session
  session.close()
  return { error: null, warnings, metadata, checkpoints, sequenceCorrupt, sessionName, ancestry, historyLength }
}

module.exports = { gather, replayed }
