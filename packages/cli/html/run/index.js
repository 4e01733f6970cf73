'use strict'

// Writes a self-contained HTML page about a run.

const { writePage } = require('../document.js')
const { gather } = require('./gather.js')
const { contentOf } = require('./page.js')

/**
 * Writes the page atomically. The same run gives the same bytes.
 *
 * @param {string} outPath the path of the page; an existing file is replaced
 * @param {import('./gather.js').Source} source
 * @param {{ signal?: AbortSignal, limits?: { bytes?: number } }} [options]
 * @returns {Promise<{ path: string, bytes: number, events: number }>}
 */
async function writeRunPage(outPath, source, { signal, limits } = {}) {
  const model = await gather(source, { signal, limits })
  return { ...(await writePage(outPath, contentOf(model), signal)), events: model.table.length }
}

module.exports = { writeRunPage }
