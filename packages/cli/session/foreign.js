'use strict'

const { unlessAborted } = require('../interruption.js')

/** What `inspect` says of another program's session. The receipt is null if there are several conversations, and none was chosen. */
async function foreignFacts(context, { log, format }) {
  const { conversations } = await unlessAborted(context.tape.listConversations(fileOfLog(log)), context.signal)
  try {
    const receipt = await receiptOf(context, log)
    return { format, version: receipt.sourceVersion ?? null, conversations, receipt }
  } catch (error) {
    if (error.code !== 'EFOREIGNMANY' || log !== fileOfLog(log)) throw error
    return { format, version: null, conversations, receipt: null }
  }

  function fileOfLog(path) {
    return require('node:fs').existsSync(path) ? path : path.slice(0, path.lastIndexOf('#'))
  }
}

/** The summary of a session's receipt. `take` is called with each of its entries. */
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
    await converted.return(undefined)
  }
}

module.exports = { foreignFacts, receiptOf }
