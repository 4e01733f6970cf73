'use strict'

const { opened } = require('./replay.js')
const { sizeOf } = require('../source.js')
const { soundness } = require('./soundness.js')
const { tallyOf } = require('./tally.js')

/**
 * Verifies a session by replaying it. `damage` and `notes` are the warnings of the replay; `error` is that of a failed one.
 *
 * @param {{ at: string, log: string }} source the session's files, from `withFiles`
 */
async function verifySession(context, source) {
  let session
  try {
    session = await opened(context, source)
  } catch (error) {
    if (error.code !== 'NotASession') throw error
    return { ok: false, error: error.fields.error, damage: error.fields.warnings, notes: [] }
  }
  session.close()
  const { eventCount, lastSeq, warnings } = session
  const { damage, notes } = soundness(warnings, await tallyFor(context, source, warnings))
  return { ok: damage.length === 0, eventCount, lastSeq, damage, notes }
}

/** Resolves to the tally, which is needed only for a file with many warnings. */
async function tallyFor({ tape, signal, progress }, { log }, warnings) {
  if (warnings.length < 100) return { unknown: 0 }
  const size = await sizeOf(log)
  return tallyOf(tape, log, { size, signal, progress: progress('counting') })
}

module.exports = { verifySession }
