'use strict'

const { failureOf } = require('../complaint.js')
const { printable } = require('../safe-text.js')

/** @import { Context } from '../context.js' */

/**
 * What repair would recover from a damaged session, in one line; null if that is nothing. Scans the file once, so ask only about files that are
 * damaged.
 *
 * @type {(context: Context, filePath: string) => Promise<string | null>}
 */
async function mendingHint({ tape, signal }, filePath) {
  /** @param {string} [projectHash] */
  const dryRun = (projectHash) => tape.repairSession(filePath, filePath, { dryRun: true, projectHash, signal })
  try {
    const { recovered } = await dryRun()
    return hint(filePath, '', recovered)
  } catch (error) {
    if (signal.aborted) throw error
    if (failureOf(error).code !== 'NoStart') return null
  }
  // The first line is lost. Any hash will do to count the records.
  const { recovered } = await dryRun('unknown')
  return hint(filePath, ' --project HASH', recovered)
}

/** @type {(filePath: string, option: string, recovered: number) => string | null} */
function hint(filePath, option, recovered) {
  if (recovered === 0) return null
  return `session-tape repair ${printable(filePath, 1000)}${option} recovers ${recovered === 1 ? '1 record' : `${recovered} records`}`
}

module.exports = { mendingHint }
