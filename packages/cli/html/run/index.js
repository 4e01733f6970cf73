'use strict'

// Writes a self-contained HTML page about a run.

const { writeAtomically } = require('../atomic.js')
const { gather } = require('./gather.js')
const { pageOf } = require('./page.js')

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
  const html = Buffer.from(pageOf(model), 'utf8')
  await writeAtomically(outPath, html, signal)
  return { path: outPath, bytes: html.length, events: model.table.length }
}

module.exports = { writeRunPage }
