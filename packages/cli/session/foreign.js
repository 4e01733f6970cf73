'use strict'

const { failureOf } = require('../complaint.js')
const { unlessAborted } = require('../interruption.js')

/** @import { ConvertOptions, ForeignConversation, ForeignFormat, ReceiptEntry, ReceiptSummary } from 'session-tape' */
/** @import { Context } from '../context.js' */
/** @import { Files } from '../source.js' */

/**
 * @typedef {object} ForeignFacts
 * @property {ForeignFormat} [format]
 * @property {string | null} version
 * @property {ForeignConversation[]} conversations
 * @property {ReceiptSummary | null} receipt
 */

/**
 * What `inspect` says of another program's session. The receipt is null if there are several conversations, and none was chosen.
 *
 * @type {(context: Context, source: Files) => Promise<ForeignFacts>}
 */
async function foreignFacts(context, { log, format }) {
  const { conversations } = await unlessAborted(context.tape.listConversations(fileOfLog(log)), context.signal)
  try {
    const receipt = await receiptOf(context, log)
    return { format, version: receipt.sourceVersion ?? null, conversations, receipt }
  } catch (error) {
    if (failureOf(error).code !== 'EFOREIGNMANY' || log !== fileOfLog(log)) throw error
    return { format, version: null, conversations, receipt: null }
  }

  /** @param {string} path */
  function fileOfLog(path) {
    return require('node:fs').existsSync(path) ? path : path.slice(0, path.lastIndexOf('#'))
  }
}

/**
 * The summary of a session's receipt. `take` is called with each of its entries.
 *
 * @param {Context} context
 * @param {string} log
 * @param {(entry: ReceiptEntry) => Promise<void>} [take]
 * @param {ConvertOptions} [options]
 * @returns {Promise<ReceiptSummary>}
 */
async function receiptOf(context, log, take = (_) => Promise.resolve(), options = {}) {
  const converted = context.tape.convertSession(log, options)
  try {
    for (;;) {
      context.signal.throwIfAborted()
      const { done, value } = await unlessAborted(converted.next(), context.signal)
      if (done) return value
      await take(value.entry)
    }
  } finally {
    await converted.return(/** @type {never} */ (undefined))
  }
}

module.exports = { foreignFacts, receiptOf }
