'use strict'

// Writes a self-contained HTML page about a session.

const { writePage } = require('../document.js')
const { gather } = require('./gather.js')
const { contentOf } = require('./page.js')

/**
 * Writes the page atomically. The same recording gives the same bytes.
 *
 * @param {string} outPath the path of the page; an existing file is replaced
 * @param {import('./gather.js').Source} source
 * @param {{ signal?: AbortSignal, limits?: Partial<import('./limits.js').Limits> }} [options]
 * @returns {Promise<{ path: string, bytes: number, records: number, shown: number }>} the number of records in the recording and in the page
 */
async function writeSessionPage(outPath, source, { signal, limits } = {}) {
  const model = await gather(source, { signal, limits })
  const written = await writePage(outPath, contentOf(model), signal)
  const { length } = model.conversation.rows
  return { ...written, records: length, shown: Math.min(length, model.bounds.rows) }
}

module.exports = { writeSessionPage }
