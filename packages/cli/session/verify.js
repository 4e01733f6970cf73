'use strict'

const { opened } = require('./replay.js')
const { sizeOf } = require('../source.js')
const { soundness } = require('./soundness.js')
const { tallyOf } = require('./tally.js')

/** @import { Context } from '../context.js' */
/** @import { Files } from '../source.js' */
/** @import { NotASession } from './replay.js' */

/**
 * Verifies a session by replaying it. `damage` and `notes` are the warnings of the replay; `error` is that of a failed one.
 *
 * @param {Context} context
 * @param {Files} source the session's files, from `withFiles`
 */
async function verifySession(context, source) {
  let session
  try {
    session = await opened(context, source)
  } catch (error) {
    const { code, fields } = /** @type {NotASession} */ (error)
    if (code !== 'NotASession') throw error
    return { ok: false, error: fields.error, damage: fields.warnings, notes: [] }
  }
  session.close()
  const { eventCount, lastSeq, warnings } = session
  const { damage, notes } = soundness(warnings, await tallyFor(context, source, warnings))
  return { ok: damage.length === 0, eventCount, lastSeq, damage, notes }
}

/**
 * Resolves to the tally, which is needed only for a file with many warnings.
 *
 * @type {(context: Context, source: { log: string }, warnings: string[]) => Promise<{ unknown: number }>}
 */
async function tallyFor({ tape, signal, progress }, { log }, warnings) {
  if (warnings.length < 100) return { unknown: 0 }
  const size = await sizeOf(log)
  return tallyOf(tape, log, { size, signal, progress: progress('counting') })
}

module.exports = { verifySession }
