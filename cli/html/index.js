'use strict'

// One self-contained HTML page about two executions and where they part.

const { gather } = require('./gather.js')
const { pageOf } = require('./page.js')
const { writeAtomically } = require('./atomic.js')

/**
 * Writes the page, whole or not at all.
 *
 * The same inputs give the same bytes: there is no clock in the page, and no path but those that were given.
 *
 * @param {string} outPath where to; what was there is replaced in one step
 * @param {object} what
 * @param {string} what.left path of a run, a session or a bundle of either, as the person gave it: the page shows it
 * @param {string} what.right the same
 * @param {import('../../index.js').Diff | null} what.diff their difference; null where nothing that matters differs. With its
 *   edit list (`full: true`) the page lines up what comes behind the divergence too
 * @param {AbortSignal} [what.signal] aborting it leaves nothing behind and rejects with its reason
 * @param {Partial<import('./limits.js').Limits>} [what.limits] how much the page holds
 * @returns {Promise<{ path: string, bytes: number, shown: { left: number, right: number }, events: { left: number, right: number } }>}
 *   how many events each side has, and how many of them are in the page
 */
async function writeDiffPage(outPath, { left, right, diff, signal, limits }) {
  signal?.throwIfAborted()
  const model = await gather({ left, right, diff, signal, limits })
  const html = Buffer.from(pageOf(model), 'utf8')
  await writeAtomically(outPath, html, signal)
  const both = (number) => ({ left: number(model.left), right: number(model.right) })
  return { path: outPath, bytes: html.length, shown: both((side) => side.events.length), events: both((side) => side.count) }
}

module.exports = { writeDiffPage }
